"""Derivatives of closed motion against differences: in every direction, or (redundant) in those that stay closed."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import TRACED
from phistar.loops.assembly import closure_rows
from tests.loops.mechanisms import four_bar, two_arms


def differences(model, q, v, tau, direction, h=1e-5):
    """dθ̈ along (δq, δv, δτ), fourth order."""
    dq, dv, dt = direction

    def at(s):
        return ps.forward_dynamics(model, model.integrate(q, s * dq), v + s * dv, tau + s * dt)

    return (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h)


@pytest.mark.parametrize(
    ("joint", "links"),
    [
        (ps.Distance(1.0), 2),
        pytest.param(ps.Fixed(), 3, marks=pytest.mark.slow),
        pytest.param(ps.Universal(), 3, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_derivatives_are_the_limits_of_differences(joint, links):
    model = two_arms(joint, links=links, couplings=links > 2)
    rng = np.random.default_rng(2)
    q = ps.assemble(model, model.random(rng))
    v = ps.loops.assemble_velocity(model, q, rng.standard_normal(model.nv))
    tau = rng.standard_normal(model.nv)
    made = ps.forward_dynamics_derivatives(model, q, v, tau)
    zero, unit = np.zeros(model.nv), np.eye(model.nv)
    for which, got in enumerate(made):
        for k in (0, 2, model.nv - 1):
            direction = [zero, zero, zero]
            direction[which] = unit[k]
            want = differences(model, q, v, tau, direction)
            np.testing.assert_allclose(got[:, k], want, atol=1e-7 * max(1.0, np.abs(want).max(), np.abs(got).max()))


def test_derivatives_of_a_redundant_mechanism_hold_along_its_motion():
    model = four_bar()
    q, v = np.array([[-1.2, 1.2, -1.2], [0.5, -0.5, 0.5]]), np.array([1.0, -1.0, 1.0])
    tau = np.array([0.5, 0.1, -0.2])
    made = ps.forward_dynamics_derivatives(model, q, v, tau)
    assert made.dq.shape == (2, 3, 3)
    for row in range(2):
        along = np.array([1.0, -1.0, 1.0])
        for which in range(3):
            direction = [0 * along, 0 * along, 0 * along]
            direction[which] = along
            want = differences(model, q[row], v, tau, direction)
            np.testing.assert_allclose(made[which][row] @ along, want, atol=1e-6)
        rows = closure_rows(model, q[row])[1]
        np.testing.assert_allclose(rows @ made.dtau[row], 0.0, atol=1e-12)


def test_the_linearization_of_a_closed_mechanism_is_made_of_them():
    model, q, v = four_bar(), np.array([-1.2, 1.2, -1.2]), np.array([1.0, -1.0, 1.0])
    made, parts = ps.linearize(model, q, v, np.zeros(3)), ps.forward_dynamics_derivatives(model, q, v, np.zeros(3))
    np.testing.assert_array_equal(made.A[3:], np.concatenate([parts.dq, parts.dv], axis=1))
    np.testing.assert_array_equal(made.A[:3], np.concatenate([np.zeros((3, 3)), np.eye(3)], axis=1))
    np.testing.assert_array_equal(made.B, np.concatenate([np.zeros((3, 3)), parts.dtau]))


def long_arm_with_a_parallelogram(links=38):
    """An arm that carries a parallelogram: a loop of three of its many joints."""
    builder, above = ps.ModelBuilder("long arm"), "world"
    inertia = ps.Inertia(1.0, (0.1, 0.02, 0.03), 0.01 * np.eye(3))
    for k in range(links):
        axis = ((0, 0, 1), (0, 1, 0), (1, 0, 0))[k % 3]
        builder.body(f"a{k}", above, ps.Revolute(axis), ps.Pose(xyz=(0.2, 0.05, 0.0)), inertia)
        above = f"a{k}"
    builder.body("b", above, ps.Revolute(), ps.Pose(), inertia)
    builder.body("c", "b", ps.Revolute(), ps.Pose(xyz=(0, 0.2, 0)), inertia)
    builder.body("d", above, ps.Revolute(), ps.Pose(xyz=(0.3, 0, 0)), inertia)
    builder.frame("e", "c", ps.Pose(xyz=(0.3, 0, 0)))
    builder.frame("f", "d", ps.Pose(xyz=(0, 0.2, 0)))
    builder.loop("closed", "e", "f", joint=ps.Revolute())
    return builder.build()


@pytest.mark.slow
def test_derivatives_of_long_mechanisms_hold_along_their_motion():
    model = long_arm_with_a_parallelogram()
    assert len(model.bodies) > TRACED
    rng = np.random.default_rng(3)
    q = ps.assemble(model, 0.3 * rng.standard_normal(model.nq))
    v = ps.loops.assemble_velocity(model, q, rng.standard_normal(model.nv))
    tau, zero = rng.standard_normal(model.nv), np.zeros(model.nv)
    made = ps.forward_dynamics_derivatives(model, q, v, tau)
    for which, along in enumerate((v, v, tau)):
        direction = [zero, zero, zero]
        direction[which] = along / np.linalg.norm(along)
        want = differences(model, q, v, tau, direction)
        np.testing.assert_allclose(made[which] @ direction[which], want, atol=1e-6 * max(1.0, np.abs(want).max()))


def test_a_loop_through_too_many_joints_is_refused_by_name():
    builder, inertia = ps.ModelBuilder("ring"), ps.Inertia(1.0, (0.05, 0.0, 0.0), 0.01 * np.eye(3))
    for k in range(TRACED + 2):
        joint = ps.Revolute((0, 1, 0) if k % 2 else (0, 0, 1))
        builder.body(f"a{k}", f"a{k - 1}" if k else "world", joint, ps.Pose(xyz=(0.1, 0, 0)), inertia)
    builder.frame("end", f"a{TRACED + 1}", ps.Pose(xyz=(0.1, 0, 0)))
    builder.frame("wall", "world", ps.Pose(xyz=(0.1 * (TRACED + 3), 0, 0)))
    builder.loop("shut", "end", "wall", joint=ps.Spherical())
    zero = np.zeros(TRACED + 2)
    with pytest.raises(ps.StatementError, match=rf"shut of ring goes through {TRACED + 2} joints.*model\.tree"):
        ps.forward_dynamics_derivatives(builder.build(), zero, zero, zero)


def test_joints_that_move_no_mass_are_told_by_name_and_independent_rates_need_none():
    hinge, rod = ps.Revolute(axis=(0, 0, 1)), ps.Inertia(1.0, (0.2, 0, 0), 0.1 * np.eye(3))
    nothing = ps.Inertia(0.0, (0, 0, 0), np.zeros((3, 3)))
    b = ps.ModelBuilder("linkage")
    b.body("crank", joint=hinge, inertia=rod)
    b.body("coupler", "crank", hinge, ps.Pose(xyz=(0.5, 0, 0)), nothing)
    b.body("rocker", joint=hinge, placement=ps.Pose(xyz=(1.1, 0, 0)), inertia=rod)
    b.frame("end", "coupler", ps.Pose(xyz=(1.0, 0, 0)))
    b.frame("pin", "rocker", ps.Pose(xyz=(0.9, 0, 0)))
    b.loop("closure", "end", "pin", hinge)
    model = b.build(strict=False)
    q, zero = ps.assemble(model, [0.7, 0.1, 1.0]), np.zeros(3)
    for function in (ps.forward_dynamics, ps.forward_dynamics_derivatives, ps.constraint_forces):
        with pytest.raises(ps.ModelError, match="Joint 'coupler' has no inertia behind it"):
            function(model, q, zero, zero)
    with pytest.raises(ps.ModelError, match="Joint 'coupler' has no inertia behind it"):
        ps.forward_dynamics(model.tree, q, zero, zero)
    alone = model.embedded(independent=["crank"], q=q)
    assert np.isfinite(ps.forward_dynamics(alone, q, [0.0], [1.0])).all()
