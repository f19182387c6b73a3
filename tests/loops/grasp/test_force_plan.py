"""Contact forces over a path carry the object, stay inside their cones and within the motors' limits, and are least."""

import numpy as np
import pytest
from scipy.optimize import minimize

import phistar as ps

CONTACTS = ["left0", "left1", "right0", "right1"]


def fingers(friction=0.5, mass=1.0):
    """Two fingers that slide toward each other, two points each, and a block between them."""
    builder, still = ps.ModelBuilder("two fingers"), ps.Inertia(1.0, (0, 0, 0), np.eye(3))
    builder.body("lift", joint=ps.Prismatic((0, 0, 1)), inertia=still)
    for name, x, way in (("left", -0.1, 1.0), ("right", 0.1, -1.0)):
        builder.body(name, parent="lift", joint=ps.Prismatic((way, 0, 0)), placement=ps.Pose((x, 0, 0)), inertia=still)
    builder.body("block", joint=ps.Free(), inertia=ps.Inertia(mass, (0, 0, 0), 0.1 * np.eye(3)))
    for name, x, way in (("left", -0.1, -1.0), ("right", 0.1, 1.0)):
        for k, z in enumerate((-0.02, 0.02)):
            builder.frame(f"{name}{k} side", "block", ps.Pose((x, 0, z)))
            builder.frame(f"{name}{k} tip", name, ps.Pose((0, 0, z)))
            touch = ps.loops.PointContact(friction, normal=(way, 0, 0))
            builder.loop(f"{name}{k}", f"{name}{k} side", f"{name}{k} tip", touch)
    return builder.build(strict=False)


def lifting(model, samples=21, lasting=1.0, height=0.3):
    """Up and at rest again: q, v, a."""
    t = np.linspace(0.0, lasting, samples)
    x = t / lasting
    up = height * x**3 * (10 - 15 * x + 6 * x**2)
    rate = height * 30 * x**2 * (1 - x) ** 2 / lasting
    change = height * 60 * x * (1 - x) * (1 - 2 * x) / lasting**2
    q, v, a = np.tile(model.neutral(), (samples, 1)), *np.zeros((2, samples, model.nv))
    block = model.joint("block")
    q[:, 0], v[:, 0], a[:, 0] = up, rate, change
    q[:, block.q_slice.start + 2], v[:, block.v_slice.start + 5], a[:, block.v_slice.start + 5] = up, rate, change
    return q, v, a


def test_the_path_is_what_the_forces_make():
    model = fingers()
    q, v, a = lifting(model)
    plan = ps.loops.plan_forces(model, q, v, a, CONTACTS)
    pushed = np.einsum("tij,ti->tj", ps.loops.closure_jacobian(model, q), plan.rows)
    np.testing.assert_allclose(plan.tau + pushed, ps.inverse_dynamics(model.tree, q, v, a), atol=1e-9)
    assert not np.any(plan.tau[:, model.joint("block").v_slice])


def test_no_contact_pulls_or_slips_and_what_bears_more_presses_more():
    model = fingers()
    q, v, a = lifting(model)
    plan = ps.loops.plan_forces(model, q, v, a, CONTACTS)
    assert plan.slipping.max() <= 1.0 + 1e-9 and plan.pressing.min() > 0.0
    load = 9.81 + a[:, 0]
    least = load / 4 / 0.5  # a quarter on each point, friction 0.5
    assert np.all(plan.pressing.sum(axis=1) >= 4 * least - 1e-6)
    assert np.all(plan.pressing.sum(axis=1) < 1.25 * 4 * least)  # pyramids and splines take some


def test_one_sample_is_the_best_that_another_program_finds():
    model = fingers()
    q, v, a = (x[:1] for x in lifting(model))
    plan = ps.loops.plan_forces(model, q, v, a, CONTACTS)
    B = ps.loops.closure_jacobian(model, q[0])[:, model.joint("block").v_slice].T
    load = ps.inverse_dynamics(model.tree, q[0], v[0], a[0])[model.joint("block").v_slice]

    def inside(x):
        points = x.reshape(4, 3)
        push = points[:, 0] * [-1, -1, 1, 1]
        return 0.5 * push - np.linalg.norm(points[:, 1:], axis=1)

    rules = [{"type": "eq", "fun": lambda x: B @ x - load}, {"type": "ineq", "fun": inside}]
    best = minimize(lambda x: x @ x, plan.rows[0], constraints=rules, method="SLSQP", options={"ftol": 1e-12})
    ours = plan.rows[0] @ plan.rows[0]
    assert best.fun - 1e-6 <= ours <= best.fun / np.cos(np.pi / 8) ** 2 + 1e-6


def test_least_push_and_efforts_are_kept():
    model = fingers()
    q, v, a = lifting(model)
    loose = ps.loops.plan_forces(model, q, v, a, CONTACTS)
    firm = ps.loops.plan_forces(model, q, v, a, CONTACTS, least_push=8.0)
    assert firm.pressing.min() >= 8.0 - 1e-6 > loose.pressing.min()
    held = ps.loops.plan_forces(model, q, v, a, CONTACTS, effort=[100.0, 13.0, 13.0, 1, 1, 1, 1, 1, 1])
    assert np.abs(held.tau[:, 1:3]).max() <= 13.0 + 1e-6


def test_what_cannot_be_is_told_by_limit_sample_and_amount():
    model = fingers()
    q, v, a = lifting(model)
    with pytest.raises(ps.InfeasibleError, match=r"(effort|friction) of .* is missed by .* at sample \d"):
        ps.loops.plan_forces(model, q, v, a, CONTACTS, effort=5.0)
    slippery = fingers(friction=1e-6)
    with pytest.raises(ps.InfeasibleError, match="is missed by"):
        ps.loops.plan_forces(slippery, q, v, a, CONTACTS)


def test_bad_arguments_get_a_sentence():
    model = fingers()
    q, v, a = lifting(model)
    with pytest.raises(ps.ModelError, match="named once each"):
        ps.loops.plan_forces(model, q, v, a, ["left0", "left0"])
    with pytest.raises(ps.ShapeError, match="leading axes"):
        ps.loops.plan_forces(model, q, v[:-1], a, CONTACTS)
    with pytest.raises(ps.ShapeError, match="effort is one number"):
        ps.loops.plan_forces(model, q, v, a, CONTACTS, effort=[1.0, 2.0])
    with pytest.raises(ps.ShapeError, match="must be positive"):
        ps.loops.plan_forces(model, q, v, a, CONTACTS, effort=0.0)
