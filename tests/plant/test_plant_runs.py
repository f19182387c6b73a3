"""Plants through time: `ps.simulate` gives a Trajectory, control is asked once a step, what cannot go on is told."""

import numpy as np
import pytest

import phistar as ps
from phistar.model.geometry import Geometry
from tests.plants import body, plant_of, run

BOX = ps.Box([0.2, 0.2, 0.2])


def test_at_rest_contacts_do_to_joints_what_weight_and_motors_leave():
    builder, tip = ps.ModelBuilder("arm"), Geometry(ps.Sphere(0.05), ps.Pose(xyz=(0.5, 0, 0)), "tip", role="collision")
    inertia = ps.Inertia(1.0, (0.25, 0, 0), np.eye(3) * 0.02)
    builder.body("upper", parent="world", joint=ps.Revolute((0, 1, 0)), inertia=inertia)
    at = ps.Pose(xyz=(0.5, 0, 0))
    builder.body("lower", parent="upper", joint=ps.Revolute((0, 1, 0)), inertia=inertia, placement=at, geometry=[tip])
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), at=ps.Pose(xyz=(0, 0, -0.4)))
    plant.add(builder.build(), "arm")
    plant.actuate("arm", kind="position", stiffness=20.0, damping=4.0)
    plant.add(body(BOX, 3.0), "box", at=ps.Pose(xyz=(3, 0, -0.29)))
    run = ps.simulate(plant, 4.0, control=lambda t, q, v: [0.6, 0.3])
    assert len(set(run.contacts.pair[-1].tolist()) - {-1}) == 2  # the arm leans on the floor, the box stands there
    left = ps.gravity_load(plant.model, run.q[-1]) - run.tau[-1]
    np.testing.assert_allclose(plant.contact_torques(run)[-1], left, atol=1e-4)
    with pytest.raises(ps.PhistarError, match="another system"):
        other = ps.Plant(name="other")
        other.add(ps.load("planar2"), "arm")
        other.contact_torques(run)


def test_a_run_is_the_steps_and_knows_its_contacts():
    plant = plant_of([ps.Sphere(0.1)], [(0, 0, 0.11)])
    made = ps.simulate(plant, 1.0, step=0.002)
    np.testing.assert_allclose(made.q[-1], run(plant, 500)[-1].q, atol=1e-12)
    assert made.t.shape == (501,) and len(repr(made)) < 500
    np.testing.assert_allclose(made.contacts.normal[-1], 9.81, rtol=1e-6)
    assert [event.what for event in made.events] == ["touch"]
    assert made["b0"].q.shape == (501, 7)


def test_control_is_asked_once_a_step_forward_in_time_and_may_remember():
    builder = ps.ModelBuilder("hinge")
    builder.body(
        "link", parent="world", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3))
    )
    plant = ps.Plant()
    plant.add(builder.build(), "hinge")
    with pytest.raises(ps.PhistarError, match="no actuators"):
        ps.simulate(plant, 0.1, control=lambda t, q, v: [0.0])
    plant.actuate("hinge", "force")
    times = []

    def control(t, q, v):
        times.append(t)
        return [2.0]

    made = ps.simulate(plant, 0.5, control=control, step=0.01)
    np.testing.assert_allclose(times, 0.01 * np.arange(51), atol=1e-12)  # for the forces from the last sample on, too
    np.testing.assert_allclose(made.v[-1], 1.0)
    np.testing.assert_allclose(made.tau[:, 0], 2.0)


def test_a_run_starts_where_it_is_told_and_bad_lengths_are_refused():
    plant = plant_of([BOX], [(0, 0, 0.5)], gravity=(0, 0, 0))
    made = ps.simulate(plant, 0.1, v0=[0, 0, 0, 1.0, 0, 0], step=0.01)
    np.testing.assert_allclose(made.q[-1, 0], 0.1)
    for wrong in ({"duration": -1.0}, {"duration": 1.0, "step": 0.0}):
        with pytest.raises(ps.ShapeError, match="greater than 0"):
            ps.simulate(plant, **wrong)
    with pytest.raises(ps.PhistarError, match="a Model or a Plant"):
        ps.simulate(3, 1.0)


def test_a_run_keeps_the_impulses_of_impacts_beside_forces():
    plant = plant_of([ps.Sphere(0.1)], [(0, 0, 0.5)], restitution=0.5)
    run = ps.simulate(plant, duration=0.4, step=0.01)
    speed = np.sqrt(2 * 9.81 * 0.4)
    given = run.signals["impulse"].sum(axis=1)
    assert run.signals["impulse"].shape == (len(run.t), len(run.contacts.pairs))
    np.testing.assert_allclose(given.max(), 1.5 * speed, rtol=1e-2)  # 1 kg that goes up with half of its speed
    change = run.v[-1, 5] - run.v[0, 5] + 9.81 * run.t[-1]
    np.testing.assert_allclose(given.sum(), change, rtol=1e-9)


def test_gravity_that_is_set_later_acts():
    plant = ps.Plant()
    plant.add_body("ball", ps.Sphere(0.1), inertia=2.0)
    assert plant.model.gravity[2] == -9.81
    plant.gravity = (0.0, 0.0, -1.62)
    run = ps.simulate(plant, 0.1, step=1e-3)
    assert abs(run.v[-1, 5] + 0.162) < 1e-12


def test_contacts_of_shapes_with_one_name_act_on_their_own_bodies():
    builder, inertia = ps.ModelBuilder("r"), ps.Inertia(2.0, (0, 0, 0), 0.01 * np.eye(3))
    builder.body("base", "world", ps.Prismatic((1, 0, 0)), inertia=inertia)
    for name, place in (("u", 0.0), ("w", 5.0)):
        builder.body(name, "base", ps.Prismatic((0, 0, 1)), ps.Pose(xyz=(place, 0, 0)), inertia)
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), name="floor")
    plant.add(builder.build(), "r", at=ps.Pose(xyz=(0, 0, 0.1)))
    for on, shift in (("r/u", 0.0), ("r/w", 3.0)):
        plant.add_shape(ps.Sphere(0.1), on, at=ps.Pose(xyz=(0, 0, shift)), name="tip")
    run = ps.simulate(plant, 0.5)
    assert [pair for pair in run.contacts.pairs if "r/u:tip" in pair] == list(run.contacts.pairs)
    np.testing.assert_allclose(plant.contact_torques(run)[-1], [0.0, 19.62, 0.0], atol=1e-2)


def test_a_run_whose_last_sample_takes_the_last_room_ends():
    plant = plant_of([BOX, BOX], [(0, 0, 0.1), (0.2, 0, 0.1)])  # a dozen contacts in every sample, and room for so many
    made = ps.simulate(plant, 0.5)
    assert len(made) == 251 and (np.diff(made.t) > 0.0).all()
    assert ps.simulate(plant, 0.126).t[-1] == pytest.approx(0.126)  # 64 samples, as many as are kept at once


def test_the_audit_and_the_compiled_loop_of_a_plant_tell_the_same_run():
    plant = plant_of([ps.Sphere(0.1), BOX], [(0, 0, 0.4), (0.5, 0, 0.11)])
    plain, audited = ps.simulate(plant, 0.6), ps.simulate(plant, 0.6, audit=True)
    np.testing.assert_allclose(plain.q, audited.q, atol=1e-9)  # forces settle to 1e-9
    assert plain.contacts.pairs == audited.contacts.pairs and "energy" not in plain.signals
    np.testing.assert_allclose(plain.contacts.normal, audited.contacts.normal, atol=1e-5)
    np.testing.assert_allclose(plain.signals["impulse"], audited.signals["impulse"], atol=1e-8)
    assert [event[1:] for event in plain.events] == [event[1:] for event in audited.events]
    assert abs(audited.summary["energy_residual"]) < 1e-9 and audited.summary["numerical_loss"] > 0.0
