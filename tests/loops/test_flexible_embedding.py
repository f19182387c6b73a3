"""Loops with links that bend in independent rates: the motion of the same mechanism with multipliers."""

import numpy as np
import pytest

import phistar as ps
from tests.dynamics.test_flexible_linkages import EXUDYN, ROD, STEP, TIMES, linkage, places, pushes, start

PIN = ps.Revolute(axis=(0, 0, 1))
BAR = ps.Inertia(0.4, (0.25, 0, 0), np.diag([1e-3, 2e-2, 2e-2]))


def bar(modes=2):
    return ps.beam(0.5, EI=(20.0, 30.0), mass_per_length=0.8, modes=modes, axial_inertia=1e-3)


def window(at="bars", free=False):
    """A four-bar on a body, and a link behind it: its bars bend, or the body that carries it, or the link behind it."""
    b = ps.ModelBuilder(f"window, {at}", gravity=(0.3, -9.81, 0.2))
    heavy = ps.Inertia(3.0, (0, 0.1, 0), np.diag([0.2, 0.3, 0.4]))
    b.body("base", joint=ps.Free() if free else ps.Revolute(axis=(0, 1, 0), armature=0.1), inertia=heavy)
    b.body("ground", "base", PIN, inertia=bar() if at in ("ground", "one node") else BAR)
    bent, tip, carried = (bar(), ".tip", 0.0) if at == "bars" else (BAR, "", 0.5)
    if at in ("ground", "one node"):
        ends = "ground.tip", "ground.tip" if at == "one node" else "ground"
    else:
        ends = "ground", "ground"
    far = ps.Pose(xyz=(0.0 if at == "ground" else 0.4, 0, 0))
    b.body("crank", ends[0], ps.Revolute(axis=(0, 0, 1), armature=0.05), far, bent)
    b.body("coupler", f"crank{tip}", PIN, ps.Pose(xyz=(carried, 0, 0)), bent)
    b.body("rocker", ends[1], PIN, inertia=BAR)
    b.frame("end", f"coupler{tip}", ps.Pose(xyz=(carried, 0, 0)))
    b.frame("pin", "rocker", ps.Pose(xyz=(0.5, 0, 0)))
    b.loop("window", "end", "pin", joint=PIN)
    b.body("behind", "coupler", ps.Spherical(), ps.Pose(xyz=(0.2, 0.1, 0)), bar() if at == "behind" else BAR)
    return b.build()


def closed_state(model, seed=0):
    """The model in independent rates about a closed position, that position, bent, and rates."""
    rng, q = np.random.default_rng(seed), model.neutral()
    for body, angle in {"crank": 1.9, "coupler": 2.0, "rocker": 1.2, "ground": 0.3}.items():
        q[model.joint(body).q_slice] = angle
    for body in model.bodies:
        q[body.mode_q_slice] = rng.uniform(-0.02, 0.02, body.modes)
    q = ps.assemble(model, q)
    made = model.embedded(q=q)
    return made, q, rng.standard_normal(made.nv)


CARRIERS = [("bars", False), ("ground", True), ("one node", False), ("behind", True)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("at", "free"), CARRIERS)
def test_it_moves_as_with_multipliers(at, free):
    model = window(at, free)
    made, q, v = closed_state(model)
    full = made.embedding.full_rates(q, v)
    tau = np.random.default_rng(1).standard_normal(model.nv)
    forces = made.embedding.independent_forces(q, tau)
    expected = ps.forward_dynamics(model, q, full, tau)
    found = ps.forward_dynamics(made, q, v, forces)
    np.testing.assert_allclose(made.embedding.full_accelerations(q, v, found), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ps.inverse_dynamics(made, q, v, found), forces, rtol=1e-9, atol=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("at", "free"), CARRIERS)
def test_its_operators_are_those_of_the_tree_seen_by_independent_rates(at, free):
    model = window(at, free)
    made, q, v = closed_state(model)
    x, inverse = made.embedding.rate_map(q), ps.mass_matrix_inverse(made, q)
    mass = x.T @ ps.mass_matrix(model.tree, q) @ x
    np.testing.assert_allclose(ps.mass_matrix(made, q), mass, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(inverse @ mass, np.eye(made.nv), atol=1e-9)
    jacobian = ps.jacobian(made, q, "behind")
    np.testing.assert_allclose(jacobian, ps.jacobian(model.tree, q, "behind") @ x, rtol=1e-12, atol=1e-12)
    mobility = ps.operational_space(made, q, v, "behind").mobility
    np.testing.assert_allclose(mobility, jacobian @ inverse @ jacobian.T, rtol=1e-9, atol=1e-9)


def test_only_a_body_that_bends_between_a_loops_ends_belongs_to_the_loop():
    names = {}
    for at in ("ground", "one node"):
        model = window(at)
        groups = model.embedded().embedding.groups
        (names[at],) = ({model.bodies[b].name for b in g.bodies} for g in groups if len(g.bodies) > 1)
    assert names["ground"] - names["one node"] == {"ground"}


@pytest.mark.parametrize("kind", EXUDYN)
def test_modes_are_independent_where_joints_can_follow(kind):
    model = linkage(kind)
    modes = model.bodies[1].mode_slice
    assert set(range(modes.start, modes.stop)) <= set(model.embedded(q=start(model)).embedding.independent)


def test_its_derivatives_are_differences():
    model = window("bars")
    made, q, v = closed_state(model)
    tau, step = np.random.default_rng(2).standard_normal(made.nv), 1e-6
    found = ps.forward_dynamics_derivatives(made, q, v, tau)
    for k, change in enumerate(step * np.eye(made.nv)):
        ahead, back = (ps.forward_dynamics(made, made.integrate(q, s * change), v, tau) for s in (1.0, -1.0))
        scale = 1.0 + np.abs(found.dq).max()
        np.testing.assert_allclose(found.dq[:, k], (ahead - back) / (2.0 * step), atol=1e-6 * scale)


@pytest.mark.slow
def test_a_long_mast_runs_link_by_link():
    b, parent = ps.ModelBuilder("mast", gravity=(0.3, -9.81, 0.2)), "base"
    b.body("base", joint=ps.Free(), inertia=ps.Inertia(3.0, (0, 0.1, 0), np.diag([0.2, 0.3, 0.4])))
    for k in range(8):
        b.body(f"crank{k}", parent, PIN, ps.Pose(xyz=(0.0, 0, 0)), BAR)
        b.body(f"coupler{k}", f"crank{k}", PIN, ps.Pose(xyz=(0.5, 0, 0)), bar())
        b.body(f"rocker{k}", parent, PIN, ps.Pose(xyz=(0.4, 0, 0)), BAR)
        b.frame(f"pin{k}", f"rocker{k}", ps.Pose(xyz=(0.5, 0, 0)))
        b.loop(f"window{k}", f"coupler{k}.tip", f"pin{k}", joint=PIN)
        parent = f"coupler{k}"
    model = b.build()
    q = model.neutral()
    for k in range(8):
        for name, angle in ((f"crank{k}", 1.3), (f"coupler{k}", -1.1), (f"rocker{k}", 1.6)):
            q[model.joint(name).q_slice] = angle
    q = ps.assemble(model, q)
    made = model.embedded(q=q)
    rng = np.random.default_rng(0)
    v, tau = rng.standard_normal(made.nv), rng.standard_normal(model.nv)
    full = made.embedding.full_rates(q, v)
    found = ps.forward_dynamics(made, q, v, made.embedding.independent_forces(q, tau))
    expected = ps.forward_dynamics(model, q, full, tau)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(made.embedding.full_accelerations(q, v, found), expected, atol=1e-9 * scale)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", EXUDYN)
def test_linkages_in_independent_rates_are_exudyns_too(kind):
    model, count = linkage(kind), round(TIMES[-1] / STEP)
    q, driven = start(model), pushes(model, count)
    made = model.embedded(independent=["crank"], q=q)
    forces = driven[:, list(made.embedding.independent)]
    run = ps.rollout(made, q, np.zeros(made.nv), forces, dt=STEP)
    found = np.array([places(model, x) for x in run.q[[round(t / STEP) for t in TIMES]]])
    assert np.abs(found - EXUDYN[kind]).max() < 1e-3 * ROD
    other = ps.rollout(model, q, np.zeros(model.nv), driven, dt=STEP)
    np.testing.assert_allclose(run.q, other.q, atol=1e-9)


@pytest.mark.slow
def test_a_flexible_four_bar_in_independent_rates_keeps_its_energy():
    model = window("bars").replace(gravity=(0, 0, 0))
    made, q, v = closed_state(model)
    run = ps.simulate(made, q, 0.3 * v, duration=0.1, rtol=1e-11, atol=1e-12)
    energy = run.energy
    assert np.ptp(energy) < 1e-9 * abs(energy[0])
