"""Rollouts of a plant: many scenes at once take the very steps that one takes alone, memory and delays included."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import TREE_RATES
from phistar.constraints import columns as c
from tests.plants import plant_of, run

BOX = ps.Box([0.2, 0.2, 0.2])


def arm(**given):
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), at=ps.Pose(xyz=(0, 0, -0.8)))
    plant.add(ps.load("planar2"), "arm")
    plant.actuate("arm", **given)
    return plant


def stepped(plant, state, commands, h):
    """Alone, one step after the other."""
    states = [state]
    for command in commands:
        states.append(plant.step(states[-1], command, h))
    return states


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_scenes_with_contact_take_the_steps_that_each_takes_alone(threads):
    plant = plant_of([BOX, ps.Sphere(0.1)], [(0, 0, 0.12), (0, 0, 0.35)])
    random = np.random.default_rng(0)
    q = np.tile(plant.state().q, (5, 1))
    v = 0.3 * random.normal(size=(5, plant.model.nv))
    made = plant.rollout((q, v), step=0.004, steps=40, threads=threads)
    assert made.q.shape == (5, 41, plant.model.nq) and made.signals["residual"].shape == (5,)
    for scene in range(5):
        alone = run(plant, 40, h=0.004, state=plant.state(q[scene], v[scene]))
        np.testing.assert_array_equal(made.q[scene], [state.q for state in alone])
        np.testing.assert_array_equal(made.v[scene], [state.v for state in alone])


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "force", "gear": 2.0, "limits": 3.0},
        {"kind": "position", "stiffness": 50.0, "damping": 4.0, "command_range": (-0.5, 0.5)},
        {"kind": "velocity", "damping": 4.0, "delay": 0.01},
        {"kind": "impedance", "stiffness": 30.0, "damping": 4.0, "limits": 20.0},
    ],
)
def test_commands_drive_scenes_as_they_drive_one(given):
    plant = arm(**given)
    commands = np.random.default_rng(1).normal(size=(3, 12, plant.nu))
    states = [plant.step(plant.state([0.1 * i, 0.2]), commands[i, 0], 0.005) for i in range(3)]
    made = plant.rollout(states, commands, step=0.005)
    for scene in range(3):
        alone = stepped(plant, states[scene], commands[scene], 0.005)
        np.testing.assert_array_equal(made.q[scene], [state.q for state in alone])
    held = plant.rollout(states, commands[:, 0], step=0.005, steps=12)
    alone = stepped(plant, states[1], [commands[1, 0]] * 12, 0.005)
    np.testing.assert_array_equal(held.q[1], [state.q for state in alone])


def test_a_late_actuator_does_what_one_in_time_was_told_before():
    builder = ps.ModelBuilder("slider")
    builder.body("b", parent="world", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(2.0, (0, 0, 0), np.eye(3)))
    plant = ps.Plant()
    plant.add(builder.build(), "slider")
    plant.actuate("slider", "force", delay=0.03)
    forces = np.arange(10.0)
    states = stepped(plant, plant.state(), forces[:, None], 0.01)
    gained = 2.0 * np.diff([state.v[0] for state in states]) / 0.01
    np.testing.assert_allclose(gained, [0, 0, 0, 0, 1, 2, 3, 4, 5, 6], atol=1e-12)
    again = stepped(plant, states[6], forces[6:, None], 0.01)  # what is on its way is part of a state
    np.testing.assert_array_equal([s.v for s in again], [s.v for s in states[6:]])
    with pytest.raises(ps.PhistarError, match=r"0\.03 s late.*whole number of steps"):
        plant.step(plant.state(), [1.0], 0.007)


def test_an_impedance_is_its_spring_its_damper_and_its_force_within_its_limit():
    builder = ps.ModelBuilder("slider")
    builder.body("b", parent="world", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(2.0, (0, 0, 0), np.eye(3)))
    plant = ps.Plant()
    plant.add(builder.build(), "slider")
    plant.actuate("slider", "impedance", stiffness=10.0, damping=3.0, limits=6.0)
    assert plant.nu == 3
    h, mass = 1e-3, 2.0
    for command in ([0.1, 0.5, 1.0], [0.0, -0.3, 0.2]):
        v = plant.step(plant.state(), command, h).v[0]
        force = 10.0 * (command[0] - h * v) + 3.0 * (command[1] - v) + command[2]
        np.testing.assert_allclose(mass * v / h, force, rtol=1e-9)
    np.testing.assert_allclose(plant.step(plant.state(), [9.0, 0, 5.0], h).v[0], 6.0 * h / mass)
    named = plant.step(plant.state(), {"slider/b": (0.1, 0.5, 1.0)}, h).v[0]
    np.testing.assert_array_equal(named, plant.step(plant.state(), [0.1, 0.5, 1.0], h).v[0])


def test_scenes_in_lanes_take_the_steps_that_each_takes_alone():
    """As many scenes at once as a vector has numbers: they fall, bounce and come to rest at different times."""
    plant = plant_of([BOX, ps.Sphere(0.1), ps.Capsule(0.05, 0.2)], [(0, 0, 0.12), (0, 0, 0.35), (0.4, 0, 0.1)])
    plant.add_shape(ps.Box([0.1, 0.1, 0.1]), at=ps.Pose(xyz=(0, 0.3, 0.05)), material=ps.Material(restitution=0.6))
    plant.add(ps.load("planar2"), "arm", at=ps.Pose(xyz=(-1, 0, 0.7)))
    plant.actuate("arm", kind="position", stiffness=50.0, damping=4.0, delay=0.004)
    random, count = np.random.default_rng(0), 37
    q, v = np.tile(plant.state().q, (count, 1)), 0.3 * random.normal(size=(count, plant.model.nv))
    commands = random.normal(size=(count, 30, plant.nu))
    made = plant.rollout((q, v), commands, step=0.004, threads=1)
    for scene in range(0, count, 3):
        alone = stepped(plant, plant.state(q[scene], v[scene]), commands[scene], 0.004)
        np.testing.assert_allclose(made.q[scene], [state.q for state in alone], atol=1e-10)
        np.testing.assert_allclose(made.v[scene], [state.v for state in alone], atol=1e-8)


@pytest.mark.parametrize("states, controls", [((), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((), ())])
def test_states_and_controls_broadcast(states, controls):
    plant, random = arm(kind="force"), np.random.default_rng(2)
    q, commands = random.normal(size=(*states, 2)), random.normal(size=(*controls, 4, plant.nu))
    made = plant.rollout((q, np.zeros(2)), commands, step=0.005)
    shape = np.broadcast_shapes(states, controls)
    assert made.q.shape == (*shape, 5, 2)
    all_q, all_commands = np.broadcast_to(q, (*shape, 2)), np.broadcast_to(commands, (*shape, 4, plant.nu))
    for scene in np.ndindex(shape):
        alone = stepped(plant, plant.state(all_q[scene]), all_commands[scene], 0.005)
        np.testing.assert_array_equal(made.q[scene], [state.q for state in alone])


def test_a_state_with_memory_is_rolled_out_under_many_commands():
    plant = arm(kind="force")
    state = plant.step(plant.state([0.3, 0.2]), [0.1, 0.0], 0.005)
    commands = np.random.default_rng(3).normal(size=(3, plant.nu))
    made = plant.rollout(state, commands, step=0.005, steps=6)
    for scene in range(3):
        alone = stepped(plant, state, [commands[scene]] * 6, 0.005)
        np.testing.assert_array_equal(made.q[scene], [each.q for each in alone])


@pytest.mark.slow
def test_scenes_that_are_not_stepped_side_by_side_are_reported(caplog):
    plant = ps.Plant()
    plant.add(ps.chain(TREE_RATES + 4), "rope")
    with caplog.at_level("WARNING", "phistar"):
        plant.rollout((np.zeros((16, plant.model.nq)), np.zeros(plant.model.nv)), steps=1)
    assert "stepped one by one" in caplog.text and "link by link" in caplog.text


@pytest.mark.slow
def test_rollouts_one_after_the_other_need_no_more_room():
    plant = plant_of([BOX], [(0, 0, 0.12)])
    start = np.tile(plant.state().q, (20, 1)), np.zeros((20, plant.model.nv))
    for _ in range(4):
        plant.rollout(start, steps=20, threads=1)
    assert plant.sessions(1)[0].engine.counts[c.ROOM] == 16


def test_more_contacts_than_there_was_room_for_change_nothing():
    places = [(0.25 * i, 0, 0.101) for i in range(8)]
    plant = plant_of([BOX] * 8, places)
    made = plant.rollout((np.tile(plant.state().q, (2, 1)), np.zeros(plant.model.nv)), steps=20)
    fresh = plant_of([BOX] * 8, places)
    alone = run(fresh, 20)
    np.testing.assert_allclose(made.q[1, -1], alone[-1].q, atol=1e-12)


def test_rollouts_that_cannot_be_are_refused_in_a_sentence():
    plant = arm(kind="force")
    start = plant.state()
    for states, controls, given, match in (
        (start, None, {}, "steps="),
        (start, None, {"steps": 0}, "from 1 on"),
        (start, np.zeros((4, 3)), {}, "they have shape"),
        (start, np.full((4, 2), np.nan), {}, "finite"),
        (3.0, None, {"steps": 2}, "starts from"),
        (start, np.zeros((4, 2)), {"step": -1.0}, "greater than 0"),
        ((np.zeros((0, 2)), np.zeros((0, 2))), None, {"steps": 2}, "a scene at least"),
    ):
        with pytest.raises(ps.PhistarError, match=match):
            plant.rollout(states, controls, **given)
    passive = ps.Plant()
    passive.add(ps.load("planar2"), "arm")
    with pytest.raises(ps.PhistarError, match="no actuators"):
        passive.rollout(passive.state(), np.zeros((3, 2)))
