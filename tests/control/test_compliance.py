"""Impedance, and hybrid control of force and position."""

import numpy as np
import pytest

import phistar as ps
from phistar.control.control_law import pose_error, pose_row
from tests.control.closed_loop import run, second_order

PUMA = ps.load("puma560_akb")
FRAME, Q = "tool", np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2])
POSE = ps.forward_kinematics(PUMA, Q, FRAME)
PUSH = np.array([0.0, 0.0, 0.0, 6.0, -4.0, 5.0])


def test_without_a_mass_the_tip_rests_where_its_spring_balances_the_force():
    law = ps.control.ImpedanceControl(PUMA, FRAME, stiffness=400, damping=80)
    goal, q = POSE.copy(), Q
    goal[:3, 3] += PUSH[3:] / 400
    for _ in range(8):  # where K e = −f
        away = pose_error(ps.forward_kinematics(PUMA, q, FRAME), pose_row(goal))
        q = q + np.linalg.solve(ps.jacobian(PUMA, q, FRAME), away)
    tau = law(0.0, q, np.zeros(6), law.reference(POSE, posture=Q))
    np.testing.assert_allclose(ps.forward_dynamics(PUMA, q, np.zeros(6), tau, {FRAME: PUSH}), 0.0, atol=1e-9)


def test_with_a_mass_the_tip_is_that_mass_on_that_spring():
    """M_d ë + Dė + Ke = −f from rest: e + f/K obeys the equation without force."""
    law = ps.control.ImpedanceControl(PUMA, FRAME, stiffness=200, damping=30, mass=4)
    fast = ps.compile(law)
    reference = law.reference(POSE, posture=Q, force=PUSH)
    found = run(PUMA, lambda t, q, v: fast(t, q, v, reference), Q, np.zeros(6), steps=400,
                force=lambda t, q, v: {FRAME: PUSH})  # fmt: skip
    error = POSE[:3, 3] - ps.forward_kinematics(PUMA, found.q, FRAME)[:, :3, 3]
    expected = second_order(found.t, PUSH[3:] / 200, np.zeros(3), 200 / 4, 30 / 4) - PUSH[3:] / 200
    assert np.abs(error - expected).max() < 1e-5 * np.abs(error).max()


def test_an_arm_without_a_mass_to_shape_takes_no_measured_force():
    with pytest.raises(ps.ShapeError, match="mass"):
        ps.control.ImpedanceControl(PUMA, FRAME).reference(POSE, force=PUSH)
    with pytest.raises(ps.ShapeError, match="positive"):
        ps.control.ImpedanceControl(PUMA, FRAME, mass=0)


WALL = 2000.0  # N/m


def contact(model, q):
    """What the wall does to the tip: a spring along y from where the tip starts."""
    depth = ps.forward_kinematics(model, q, FRAME)[1, 3] - POSE[1, 3]
    return np.array([0.0, 0.0, 0.0, 0.0, -WALL * max(depth, 0.0), 0.0])


def hybrid_run(steps=500):
    law = ps.control.HybridControl(PUMA, FRAME, selection=(0, 0, 0, 0, 1, 0), kp=100, force_mass=5, force_kd=60)
    fast, wanted = ps.compile(law), np.array([0.0, 0, 0, 0, 20.0, 0])
    goal = POSE.copy()
    goal[[0, 2], 3] += [0.05, -0.04]

    def control(t, q, v):
        return fast(t, q, v, law.reference(goal, wanted, -contact(PUMA, q), posture=Q))

    start = run(PUMA, control, Q, np.zeros(6), steps=steps, force=lambda t, q, v: {FRAME: contact(PUMA, q)})
    return start, goal


def test_the_force_comes_to_what_is_wanted_as_its_equation_says_and_the_motion_does_not_feel_it():
    found, goal = hybrid_run()
    places = ps.forward_kinematics(PUMA, found.q, FRAME)[:, :3, 3]
    force = WALL * (places[:, 1] - POSE[1, 3])
    expected = 20.0 + second_order(found.t, np.array([-20.0]), np.zeros(1), WALL / 5, 60)[:, 0]
    assert np.abs(force - expected).max() < 1e-3 * 20
    error = (goal[:3, 3] - places)[:, [0, 2]]
    motion = second_order(found.t, error[0], np.zeros(2), 100, 20)
    assert np.abs(error - motion).max() < 1e-4 * np.abs(error[0]).max()


def test_selection_and_axes_are_checked():
    with pytest.raises(ps.ShapeError, match="0 and 1"):
        ps.control.HybridControl(PUMA, FRAME, selection=(0, 0, 0, 0, 0.5, 0))
    with pytest.raises(ps.ShapeError, match="rotation"):
        ps.control.HybridControl(PUMA, FRAME, selection=(0, 0, 0, 0, 1, 0), axes=np.ones((3, 3)))


def test_directions_are_those_of_the_axes():
    turn = ps.Pose(rpy=(0.3, -0.4, 0.5)).rotation
    law = ps.control.HybridControl(PUMA, FRAME, selection=(0, 0, 0, 0, 0, 1), axes=turn)
    normal = np.concatenate([np.zeros(3), turn[:, 2]])
    np.testing.assert_allclose(law.projector, np.outer(normal, normal), atol=1e-15)
