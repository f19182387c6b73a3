"""Loops, couplings and welds in a plant's step: they stay closed, and pass momentum on."""

import numpy as np
import pytest

import phistar as ps
from phistar.constraints import columns as c
from tests.plants import body, run


def four_bar():
    b = ps.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
    rod, z = ps.Inertia(1.0, (0.5, 0, 0), np.diag([1e-4, 1 / 12, 1 / 12])), ps.Revolute(axis=(0, 0, 1))
    b.body("crank", parent="world", joint=z, inertia=rod)
    b.body("coupler", parent="crank", joint=z, placement=ps.Pose(xyz=(1, 0, 0)), inertia=rod)
    b.body("rocker", parent="world", joint=z, placement=ps.Pose(xyz=(1, 0, 0)), inertia=rod)
    b.frame("coupler_end", body="coupler", placement=ps.Pose(xyz=(1, 0, 0)))
    b.frame("rocker_end", body="rocker", placement=ps.Pose(xyz=(1, 0, 0)))
    b.loop("closure", "coupler_end", "rocker_end", joint=z)
    return b.build()


def test_a_four_bar_falls_as_forward_dynamics_says_and_stays_closed():
    model = four_bar()
    plant = ps.Plant(gravity=(0, -9.81, 0))
    plant.add(model, "bar")
    q = np.array([-1.2, 1.2, -1.2])
    first = plant.step(plant.state(q=q), h=1e-4)
    np.testing.assert_allclose(first.v / 1e-4, ps.forward_dynamics(model, q, np.zeros(3), np.zeros(3)), rtol=1e-3)
    end = run(plant, 500, state=plant.state(q=q))[-1]
    assert np.abs(ps.loop_residual(plant.model, end.q)).max() < 1e-6


def test_coupled_sliders_do_not_change_a_box_in_flight_beside_them():
    sliders = ps.ModelBuilder("sliders")
    for name in ("left", "right"):
        sliders.body(name, parent="world", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(1.0))
    sliders.loop("gear", "left", "right", joint=ps.Coupling((0.0, -1.0)))
    plant = ps.Plant(gravity=(0, 0, 0))
    plant.add(sliders.build(), "sliders")
    plant.add(body(ps.Box([0.2, 0.1, 0.3])), "box", at=ps.Pose(xyz=(5, 0, 0)))
    v = np.array([0.5, -0.5, 1.0, 2.0, 0.5, 0.2, 0.0, 1.0])
    states = run(plant, 300, state=plant.state(v=v))
    assert abs(states[-1].q[0] + states[-1].q[1]) < 1e-9
    box = plant["box"]
    before, after = (ps.momentum(box.model, box.q(s), box.v(s)) for s in (states[0], states[-1]))
    np.testing.assert_allclose(after, before, atol=1e-12)


def test_a_weld_of_two_free_bodies_keeps_their_momentum_and_holds_them_together():
    plant = ps.Plant(gravity=(0, 0, 0))
    for name in ("a", "b"):
        plant.add(body(ps.Sphere(0.05), name=name), name, collides=False)
    plant.weld("a/a", "b/b")
    v = np.random.default_rng(1).normal(size=12)
    states = run(plant, 100, state=plant.state(v=v))
    before, after = (ps.momentum(plant.model, s.q, s.v) for s in (states[0], states[-1]))
    np.testing.assert_allclose(after, before, atol=1e-11)
    assert np.abs(ps.loop_residual(plant.model, states[-1].q)).max() < 1e-6


def test_welds_of_frames_that_are_not_there_are_refused():
    plant = ps.Plant()
    plant.add(body(ps.Sphere(0.05)), "a")
    with pytest.raises(ps.PhistarError, match="nowhere"):
        plant.weld("a/body", "nowhere")


def test_an_impact_is_passed_on_by_a_loop_and_gives_back_its_restitution():
    y, rod = ps.Revolute(axis=(0, 1, 0)), ps.Inertia(1.0, (0.5, 0, 0), np.diag([1e-3, 1 / 12, 1 / 12]))
    b = ps.ModelBuilder("bar")
    b.body("crank", parent="world", joint=y, placement=ps.Pose(xyz=(0, 0, 1)), inertia=rod)
    b.body("coupler", parent="crank", joint=y, placement=ps.Pose(xyz=(1, 0, 0)), inertia=rod)
    b.body("rocker", parent="world", joint=y, placement=ps.Pose(xyz=(1, 0, 1)), inertia=rod)
    for name in ("coupler", "rocker"):
        b.frame(f"{name}_end", body=name, placement=ps.Pose(xyz=(1, 0, 0)))
    b.loop("closure", "coupler_end", "rocker_end", joint=y)
    material, plant = ps.Material(restitution=0.6, friction=0.0), ps.Plant()
    plant.add(b.build(), "bar")
    plant.add_shape(ps.Plane(), at=ps.Pose(xyz=(0, 0, 0.3)), material=material)
    plant.add_shape(ps.Sphere(0.05), "bar/coupler", at=ps.Pose(xyz=(0.6, 0, 0)), material=material)
    state, h = plant.state(q=[0.6, -0.6, 0.6]), 2e-4
    for _ in range(3000):
        after = plant.step(state, h=h)
        struck, state = (state, after), after
        if plant.session.engine.counts[c.IMPACTS]:
            break
    rates = [(ps.jacobian(plant.model, s.q, "bar/coupler") @ s.v)[5] for s in struck]  # all of it moves alike
    assert rates[0] < -1.0
    np.testing.assert_allclose(rates[1], -0.6 * rates[0], atol=2 * 9.81 * h)
    assert np.abs(ps.loop_residual(plant.model, struck[1].q)).max() < 1e-9


def test_momentum_of_a_floating_four_bar_that_a_ball_strikes_is_kept():
    z, rod = ps.Revolute(axis=(0, 0, 1)), ps.Inertia(1.0, (0.5, 0, 0), np.diag([1e-2, 1 / 12, 1 / 12]))
    b, end = ps.ModelBuilder("ring", gravity=(0, 0, 0)), ps.Pose(xyz=(1, 0, 0))
    b.body("a", parent="world", joint=ps.Free(), inertia=rod)
    b.body("b", parent="a", joint=z, placement=end, inertia=rod)
    b.body("c", parent="b", joint=z, placement=end, inertia=rod)
    b.body("d", parent="a", joint=z, inertia=rod)
    for name in ("c", "d"):
        b.frame(f"{name}_end", body=name, placement=end)
    b.loop("closure", "c_end", "d_end", joint=z)
    material, plant = ps.Material(restitution=0.5), ps.Plant(gravity=(0, 0, 0))
    plant.add(b.build(), "ring")
    plant.add_shape(ps.Sphere(0.05), "ring/c", at=ps.Pose(xyz=(0.5, 0, 0)), material=material)
    plant.add(body(ps.Sphere(0.1)), "ball", at=ps.Pose(xyz=(0.5, 2.0, 0.02)), material=material)
    q, v = plant.state().q.copy(), np.zeros(plant.model.nv)
    q[7:10], v[:6], v[-2] = 0.5 * np.pi, 0.2 * np.random.default_rng(0).normal(size=6), -3.0
    state, impacts, found = plant.state(q, v), 0, []
    for _ in range(600):
        found.append(ps.momentum(plant.model, state.q, state.v))
        state = plant.step(state, h=0.002)
        impacts += int(plant.session.engine.counts[c.IMPACTS])
    assert impacts > 0 and np.abs(ps.loop_residual(plant.model, state.q)).max() < 1e-7
    np.testing.assert_allclose(found, np.broadcast_to(found[0], (600, 6)), atol=1e-12 * np.abs(found).max())


@pytest.mark.slow
def test_loops_of_many_robots_are_kernels_and_each_is_as_it_is_alone():
    """Six arms with a coupled finger have more rates than one kernel takes; their loops are six."""
    panda, alone, many = ps.load("panda"), ps.Plant(), ps.Plant()
    alone.add(panda, "p0", collides=False)
    for k in range(6):
        many.add(panda, f"p{k}", collides=False)
    assert many.model.nv > 48 and many.session.engine.moves.uncompiled_parts == ()
    q = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.785, 0.02, 0.02])
    one, six = alone.state(q), many.state(np.tile(q, 6))
    for _ in range(20):
        one, six = alone.step(one), many.step(six)
    np.testing.assert_allclose(six.q.reshape(6, -1), np.tile(one.q, (6, 1)), atol=1e-12)
    assert np.abs(ps.loop_residual(many.model, six.q)).max() < 1e-9


@pytest.mark.slow
def test_loops_that_are_no_kernel_are_named(caplog):
    builder, parent = ps.ModelBuilder("rope"), "world"
    for i in range(60):
        place = ps.Pose(xyz=(0.1, 0, 0))
        joint, inertia = ps.Revolute(axis=(0, 1, 0)), ps.Inertia(1.0, (0.05, 0, 0), np.eye(3))
        builder.body(f"b{i}", parent=parent, joint=joint, placement=place, inertia=inertia)
        parent = f"b{i}"
    builder.loop("belt", "b0", "b59", joint=ps.Coupling((0.0, 1.0)))
    plant = ps.Plant()
    plant.add(builder.build(), "rope")
    with caplog.at_level("WARNING", "phistar"):
        plant.step(plant.state())
    assert "the loops rope/belt is too large for a kernel; every step calls Python" in caplog.text


@pytest.mark.parametrize("h", [0.001, 0.004])
def test_forces_of_a_coupling_settle_however_fast_its_joints_are(h):
    plant = ps.Plant()
    plant.add(ps.load("panda"), "panda", collides=False)
    plant.actuate("panda", "force", [f"panda_joint{i}" for i in range(1, 8)])
    session, q = plant.session, np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.785, 0.02, 0.02])
    session.load(plant.state(q))
    session.drive(np.ones(7), h=h)
    for _ in range(500):
        session.advance(h)
        assert session.engine.numbers[c.RESIDUAL] < 1e-8
