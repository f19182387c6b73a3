"""Optimal control through contact: the steps are the plant's own, and so are their derivatives."""

import numpy as np
import pytest

import phistar as ps
from phistar.optimize.plant_steps import PlantTransition
from phistar.steps.sweep import RiccatiSweep

o = ps.optimize


def hand_and_box(kind="force", **settings):
    plant = ps.Plant()
    for name, x, damping in (("hand", -0.201, 0.0), ("box", 0.0, 8.0)):
        builder = ps.ModelBuilder(name)
        slide = ps.Prismatic(axis=(1, 0, 0), damping=damping)
        builder.body(name, joint=slide, inertia=ps.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3)))
        plant.add(builder.build(), name, at=ps.Pose(xyz=(x, 0, 0.1)))
    plant.add_shape(ps.Sphere(0.1), "hand/hand")
    plant.add_shape(ps.Box((0.2, 0.2, 0.2)), "box/box")
    plant.actuate("hand", kind, **settings)
    return plant


def push(plant, **more):
    costs = {"running": [o.control(1e-2), o.joint_velocity(0.1)]}
    costs["terminal"] = [o.joint_position([0.3, 0.3], [10.0, 1e3]), o.joint_velocity(1.0)]
    return o.problem(plant, dt=0.02, steps=40, **costs | more)


def test_a_hand_that_does_not_touch_a_box_finds_out_how_to_push_it():
    plant = hand_and_box()
    found = push(plant).solve(iterations=12)
    assert abs(found.q[-1, 1] - 0.3) < 2e-3 and found.gaps < 1e-12
    state = plant.state()
    for command in found.u:
        state = plant.step(plant.state(state.q, state.v), command, 0.02)
    assert np.allclose(state.q, found.q[-1], atol=1e-12) and np.allclose(state.v, found.v[-1], atol=1e-12)
    assert np.allclose(found.tau[:, 0], found.u[:, 0]) and not found.tau[:, 1].any()


def test_steps_in_contact_have_the_derivatives_of_differences():
    plant, h = hand_and_box(), np.array([0.01])
    transition, sweep = PlantTransition(plant), RiccatiSweep(1, 4, 1)
    q, v, u = np.array([[0.0015, 0.0]]), np.array([[0.2, 0.1]]), np.array([[3.0]])
    transition.linear(q, v, u, h, sweep)
    made, eps = np.concatenate([sweep.table("A")[0], sweep.table("B")[0]], axis=1), 1e-6

    def after(x):
        return np.concatenate(transition.after(x[None, :2], x[None, 2:4], x[None, 4:], h), axis=1)[0]

    x = np.concatenate([q[0], v[0], u[0]])
    wanted = np.stack([(after(x + eps * e) - after(x - eps * e)) / (2 * eps) for e in np.eye(5)], axis=1)
    assert np.abs(wanted[3, 4]) > 1e-4  # the push is felt by the box
    assert np.allclose(made, wanted, atol=1e-6)


def test_servos_begin_where_they_stand_and_keep_their_ranges():
    plant = hand_and_box("position", stiffness=400.0, damping=40.0)
    problem = push(plant, limits=([-0.1], [0.25]))
    q, _, u = problem.guess([0.05, 0.0])
    assert np.allclose(u[1:], 0.05) and np.allclose(q[0], 0.0)
    found = problem.solve(iterations=5)
    assert found.u.max() <= 0.25 and found.cost < problem.solve(iterations=1).cost


def test_predictive_control_pushes_in_the_simulator():
    plant = hand_and_box()
    costs = [o.control(1e-2), o.joint_position([0.3, 0.3], [0.1, 100.0])]
    law = ps.control.ModelPredictiveControl(o.problem(plant, dt=0.02, steps=15, running=costs), iterations=2)
    run = ps.simulate(plant, 0.3, control=law, step=0.02)
    assert run.q[-1, 1] > 0.2


def test_what_a_plant_cannot_do_is_said():
    plant = hand_and_box()
    with pytest.raises(ps.PhistarError, match="commands of its actuators"):
        push(plant, actuated=["hand"])
    with pytest.raises(ps.PhistarError, match="inside one kernel"):
        ps.control.PathIntegral(push(plant), noise=1.0)
    with pytest.raises(ps.PhistarError, match="second_order=False"):
        push(plant).solve(second_order=True, iterations=12)
    still = ps.Plant()
    still.add(ps.load("planar2"), "arm")
    with pytest.raises(ps.PhistarError, match="no actuators"):
        push(still)
