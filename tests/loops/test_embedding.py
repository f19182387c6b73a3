"""Closed mechanisms in independent rates move as their multipliers make them."""

import numpy as np
import pytest

import phistar as ps
from tests.loops.mechanisms import four_bar, random_inertia, two_arms
from tests.trees import relative


def nested():
    """A free base, an arm, a four-bar whose coupler carries another, a tool behind it; cranks with armature."""
    rng, b = np.random.default_rng(0), ps.ModelBuilder("nested", gravity=(0.3, -2.0, -9.0))
    z, driven = ps.Revolute(axis=(0, 0, 1)), ps.Revolute(axis=(0, 0, 1), armature=0.2)
    b.body("base", joint=ps.Free(), inertia=random_inertia(rng))
    b.body("arm", "base", ps.Revolute(axis=(0, 1, 0)), ps.Pose(xyz=(0.1, 0.2, 0)), random_inertia(rng))
    for p, parent, (x, y) in (("a", "arm", (0.1, 0.0)), ("b", "a coupler", (0.2, 0.1))):
        b.body(f"{p} crank", parent, driven, ps.Pose(xyz=(x, y, 0)), random_inertia(rng))
        b.body(f"{p} coupler", f"{p} crank", z, ps.Pose(xyz=(0.5, 0, 0)), random_inertia(rng))
        b.body(f"{p} rocker", parent, z, ps.Pose(xyz=(x + 0.6, y, 0)), random_inertia(rng))
        b.frame(f"{p} end", f"{p} coupler", ps.Pose(xyz=(0.55, 0, 0)))
        b.frame(f"{p} pin", f"{p} rocker", ps.Pose(xyz=(0.45, 0, 0)))
        b.loop(f"{p} loop", f"{p} end", f"{p} pin", joint=z)
    b.body("tool", "b rocker", ps.Revolute(axis=(1, 0, 0)), ps.Pose(xyz=(0.3, 0, 0)), random_inertia(rng))
    b.frame("tip", "tool", ps.Pose(xyz=(0.1, 0.1, 0.1)))
    return b.build()


MECHANISMS = {
    "four-bar": lambda: four_bar((0.5, 1.0, 0.9, 1.1)),
    "ball joint and couplings": lambda: two_arms(ps.Spherical(), links=3, couplings=True),
    "nested four-bars on a free base": nested,
}


@pytest.fixture(scope="module", params=MECHANISMS)
def case(request):
    model, rng = MECHANISMS[request.param](), np.random.default_rng(1)
    q = ps.assemble(model, model.random(rng))
    rates = ps.loops.assemble_velocity(model, q, rng.standard_normal(model.nv))
    return model, model.embedded(q=q), q, rates, rng.standard_normal(model.nv)


@pytest.mark.sampled(2)
def test_there_is_a_rate_for_each_freedom_that_the_loops_leave(case):
    model, embedded, q, rates, _ = case
    maps = embedded.embedding
    assert embedded.nv == ps.loops.loop_report(model, q).freedom and embedded.nq == model.nq
    assert relative(maps.full_rates(q, maps.independent_rates(rates)), rates) < 1e-12
    assert embedded.tree == model.tree and not embedded.loops


@pytest.mark.sampled(2)
def test_accelerations_are_those_that_multipliers_give(case):
    model, embedded, q, rates, tau = case
    maps = embedded.embedding
    v, force = maps.independent_rates(rates), maps.independent_forces(q, tau)
    a = ps.forward_dynamics(embedded, q, v, force)
    assert relative(maps.full_accelerations(q, v, a), ps.forward_dynamics(model, q, rates, tau)) < 1e-9
    assert relative(ps.inverse_dynamics(embedded, q, v, a), force) < 1e-10
    batch = ps.forward_dynamics(embedded, np.stack([q, q]), np.stack([v, v]), np.stack([force, force]))
    assert relative(batch[1], a) < 1e-12


@pytest.mark.sampled(6)
def test_the_factorization_and_operational_space_are_the_closed_chains(case):
    model, embedded, q, rates, _ = case
    v, frame = embedded.embedding.independent_rates(rates), list(model.frames)[-1]
    parts, mass = ps.innovations(embedded, q), ps.mass_matrix(embedded, q)
    assert relative(parts.factor @ parts.D @ parts.factor.T, mass) < 1e-12
    assert ps.kinetic_energy(embedded, q, v) == pytest.approx(ps.kinetic_energy(model, q, rates))
    assert relative(ps.jacobian(embedded, q, frame) @ v, ps.frame_velocity(model.tree, q, rates, frame)) < 1e-12
    ours, theirs = ps.task_mobility(embedded, q, v, frame), ps.task_mobility(model, q, rates, frame)
    for one, other in zip(ours, theirs, strict=True):
        assert np.abs(one - other).max() < 1e-10 * max(1.0, np.abs(other).max())


def test_steps_stay_closed_without_drift(case):
    model, embedded, q, rates, _ = case
    moved = embedded.integrate(q, 0.05 * embedded.embedding.independent_rates(rates))
    assert np.abs(ps.loop_residual(model, moved)).max() < 1e-11


def test_gears_are_the_simplest_loop():
    """A motor on a gear of ratio 3: its inertia counts nine times."""
    b = ps.ModelBuilder("gear", gravity=(0, 0, 0))
    b.body("load", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.Inertia(1.0, (0, 0, 0), 2.0 * np.eye(3)))
    b.body("motor", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.Inertia(1.0, (0, 0, 0), 0.5 * np.eye(3)))
    b.loop("mesh", "motor", "load", joint=ps.Coupling((0.0, 3.0)))
    embedded = b.build().embedded(independent=["load"])
    np.testing.assert_allclose(ps.mass_matrix(embedded, [0.1, 0.3]), [[2.0 + 9 * 0.5]])


def test_the_joints_one_asks_for_are_independent():
    model = four_bar((0.5, 1.0, 0.9, 1.1))
    q = ps.assemble(model, [0.7, 0.1, 1.0])
    for name in ("crank", "rocker"):
        assert model.embedded(independent=[name], q=q).embedding.independent == (model.joint(name).v_slice.start,)
    with pytest.raises(ps.InfeasibleError, match="do not determine"):
        model.embedded(independent=["crank", "rocker"], q=q)


def test_at_a_dead_point_the_map_is_refused_by_name_and_the_loops_still_answer():
    """A parallelogram folded flat: the crank alone does not say where the rocker goes."""
    model = four_bar()
    embedded = model.embedded(independent=["crank"], q=[-1.2, 1.2, -1.2])
    with pytest.raises(ps.InfeasibleError, match="dead point"):
        embedded.embedding.full_rates(np.zeros(3), np.ones(1))
    assert np.isfinite(ps.forward_dynamics(model, np.zeros(3), np.zeros(3), np.zeros(3))).all()


def test_a_singular_position_is_not_taken_for_the_mechanism():
    """A parallelogram folded flat has a rate more than anywhere else, by which it would be wrong everywhere else."""
    model, q = four_bar(), np.array([-1.2, 1.2, -1.2])
    with pytest.raises(ps.InfeasibleError, match=r"singular position of 'closure': 1 .* independent there, 2 nearby"):
        model.embedded(q=np.zeros(3))
    with pytest.raises(ps.InfeasibleError, match="singular position"):
        model.embedded(q=np.zeros(3), null_space=True)
    found = model.embedded()
    assert found.nv == 1 and model.embedded(independent=["crank"]).nv == 1
    full = found.embedding.full_accelerations(q, np.zeros(1), ps.forward_dynamics(found, q, np.zeros(1), np.zeros(1)))
    assert relative(full, ps.forward_dynamics(model, q, np.zeros(3), np.zeros(3))) < 1e-9


def test_what_independent_rates_do_not_have_yet_is_refused():
    model = four_bar((0.5, 1.0, 0.9, 1.1)).embedded(q=[0.7, 0.1, 1.0])
    with pytest.raises(ps.PhistarError, match="independent rates"):
        model.with_loop("more", "crank", "world", ps.Fixed())


def test_joint_forces_are_linear_in_the_bodies_parameters():
    closed = four_bar((0.5, 1.0, 0.9, 1.1))
    q = ps.assemble(closed, [0.7, 0.1, 1.0])
    model = closed.embedded(q=q)
    parameters = np.concatenate([body.inertia.parameters for body in closed.bodies])
    found = ps.regressor(model, q, [0.3], [0.2]) @ parameters
    assert relative(found, ps.inverse_dynamics(model, q, [0.3], [0.2])) < 1e-12


@pytest.mark.slow
def test_the_operational_inertia_of_a_closed_chain_is_a_statement():
    model = two_arms(ps.Revolute(axis=(1, 2, 2)), seed=1, links=6, floating=True)
    q = ps.assemble(model, model.random(2))
    space = ps.operational_space(model, q, np.zeros(model.nv), "left tip")
    inertia = ps.algebra(model.embedded(q=q), frames=["left tip"]).Lambda
    assert relative(inertia.dense(q), space.inertia) < 1e-9
    assert relative(inertia.apply(q, np.arange(6.0)), space.inertia @ np.arange(6.0)) < 1e-9


def test_only_independent_rates_are_degrees_of_freedom_of_a_frame_behind_a_loop():
    closed = four_bar((0.5, 1.0, 0.9, 1.1))
    q = ps.assemble(closed, np.array([0.7, 0.1, 1.0]))
    with pytest.raises(ps.InfeasibleError, match="'coupler_end' of four_bar: 1 degrees of freedom"):
        ps.operational_space(closed.embedded(q=q), q, [0.1], "coupler_end")
