"""Derivatives of steps of bodies that bend agree with differences of the step: in flight, in contact, pulled, tied."""

import numpy as np
import pytest

import phistar as ps
from phistar.constraints import columns as c
from tests.dynamics.test_flexible_linkages import linkage, start
from tests.plant.test_bending_bodies import arm, ball, boom, plant_of, satellite
from tests.plant.test_step_derivatives import STEP, agrees, run


def spread(model, size=0.2, seed=0):
    """A configuration and rates at random, bent; `size` in rad and m."""
    rng = np.random.default_rng(seed)
    q = model.integrate(model.neutral(), size * rng.normal(size=model.nv))
    return q, 0.5 * rng.normal(size=model.nv)


def twins():
    """A base that floats with two bent arms, whose balls meet."""
    b = ps.ModelBuilder("twins", gravity=(0, 0, 0))
    b.body("bus", joint=ps.Free(), inertia=ps.Inertia(5.0, (0, 0, 0), np.diag([0.5, 0.6, 0.7])))
    beam = boom(EI=(3.0, 5.0), modes=4, damping=0.01, axial_inertia=0.02)
    for side, y in (("left", 0.06), ("right", -0.06)):
        shapes = [ball(x, 0.059, f"{side}{x}") for x in (0.5, 1.0)]
        b.body(side, "bus", ps.Revolute(axis=(0, 0, 1)), ps.Pose((0, y, 0)), beam, geometry=shapes)
    return b.build()


def pressed(plant, states):
    """Those states whose step is of one part and has contacts that push."""
    found, engine = [], plant.session.engine
    for state in states:
        plant.step(state, None, STEP)
        contacts = engine.tables["contacts"][: engine.counts[c.CONTACTS], c.IMPULSE + 2]
        if contacts.any() and engine.counts[c.SUBSTEPS] == 1 and not engine.counts[c.IMPACTS]:
            found.append(state)
    return found


@pytest.mark.parametrize("model", [arm(), satellite()], ids=["an arm", "a free flyer"])
def test_in_flight(model):
    plant = plant_of(model)
    agrees(plant, plant.state(*spread(model)))


def test_a_tip_that_slides_and_one_that_rests_on_the_floor():
    plant = plant_of(arm(damping=0.3, joint_damping=2.0), at=ps.Pose((0, 0, 0.5)))
    plant.add_shape(ps.Plane())
    moving = plant.state(v=np.array([1.0, 0.2, -0.3, 0.1, 2.0, 0.1, 0.3, -0.2]))
    states = pressed(plant, run(plant, 500, state=moving))
    for state in (states[5], states[-1]):
        agrees(plant, state, eps=1e-7)


def test_two_arms_of_one_base_that_press_against_each_other():
    model = twins()
    plant, v = plant_of(model), np.zeros(model.nv)
    v[:6], v[[6, 11]] = 0.1, (-0.5, 0.5)
    states = pressed(plant, run(plant, 60, state=plant.state(v=v)))
    for state in (states[1], states[-1]):
        agrees(plant, state, eps=1e-7)


def test_strings_between_tips_pull_and_stop():
    plant = plant_of(satellite())
    plant.add_tendon("stay", ["satellite/left.tip", "satellite/bus", "satellite/right.tip"], 30.0, 1.0, rest=3.0)
    plant.add_tendon("stop", ["satellite/left.tip", "satellite/right.tip"], limits=(0.0, 4.55), friction=0.5)
    plant.actuate_tendon("stay", "position", stiffness=20.0)
    agrees(plant, run(plant, 10, state=plant.state(*spread(satellite())), command=[0.1])[-1], [0.2], eps=1e-6)


def test_optimal_control_brings_a_bending_arm_to_rest_where_it_should_be():
    plant, o = plant_of(arm()), ps.optimize
    plant.actuate("arm", "force", ["upper", "fore"])
    goal, weights = np.zeros(8), np.zeros(8)
    goal[[0, 4]], weights[[0, 4]] = (-0.2, 0.1), 1e3
    terminal = [o.joint_position(goal, weights), o.joint_velocity(1.0)]
    found = o.problem(plant, dt=0.01, steps=20, running=[o.control(1e-4)], terminal=terminal).solve(iterations=25)
    assert found.converged and np.abs(found.q[-1, [0, 4]] - goal[[0, 4]]).max() < 1e-2
    assert np.abs(found.v[-1, [0, 4]]).max() < 0.2 < np.abs(found.v[:, [0, 4]]).max()


@pytest.mark.parametrize("kind", ["slider-crank", "four-bar"])
def test_loops_whose_rod_bends(kind):
    model = linkage(kind)
    plant = plant_of(model)
    plant.actuate(model.name, "force", ["crank"])
    agrees(plant, run(plant, 30, state=plant.state(start(model)), command=[0.3])[-1], [0.3], eps=1e-4)
