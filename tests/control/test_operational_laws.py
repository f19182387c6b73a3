"""Operational-space control (KJR92 eq. 4) with a posture, and resolved acceleration, which is equal to it."""

import numpy as np
import pytest

import phistar as ps
from phistar.spatial import log
from tests.control.closed_loop import run, second_order
from tests.trees import relative

PUMA, ARM = ps.load("puma560_akb"), ps.chain(7)
FRAMES = {"puma560_akb": "tool", "chain7": "tip"}
Q = {
    "puma560_akb": np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]),
    "chain7": np.array([0.3, -0.5, 0.6, 0.4, -0.7, 0.5, 0.3]),
}
BOTH = pytest.mark.parametrize("model", [PUMA, ARM], ids=["six", "seven"])


def place(model):
    return FRAMES[model.name], Q[model.name]


def parts(model, seed=0):
    """frame, q, v, θ̈₀, u, f."""
    rng = np.random.default_rng(seed)
    frame, q = place(model)
    return frame, q, rng.normal(size=model.nv), rng.normal(size=model.nv), rng.normal(size=6), rng.normal(size=6)


@BOTH
def test_the_frame_accelerates_as_commanded_under_any_force(model):
    frame, q, v, posture, u, force = parts(model)
    tau = ps.control.operational_forces(model, q, v, posture, u, force, frame)
    a = ps.forward_dynamics(model, q, v, tau, {frame: force})
    assert relative(ps.jacobian(model, q, frame) @ a + ps.jacobian_dot_v(model, q, v, frame), u) < 1e-9


@BOTH
def test_the_forces_are_equation_4_and_a_posture_in_the_null_space(model):
    """T = J*(Λu + c + g − f) + (I − J*J̄*)T₀, from dense matrices."""
    frame, q, v, posture, u, force = parts(model)
    space = ps.operational_space(model, q, v, frame)
    jacobian, mass = ps.jacobian(model, q, frame), ps.mass_matrix(model, q)
    consistent = np.linalg.solve(mass, jacobian.T) @ space.inertia
    own = ps.inverse_dynamics(model, q, v, posture)
    free = np.eye(model.nv) - jacobian.T @ consistent.T
    expected = jacobian.T @ (space.inertia @ u + space.coriolis + space.gravity - force) + free @ own
    assert relative(ps.control.operational_forces(model, q, v, posture, u, force, frame), expected) < 1e-9


def test_four_sweeps_are_enough_for_the_whole_law():
    """Velocities out, articulated inertias in, the task out, its force in (KJR92 §5)."""
    directions = [sweep.direction for sweep in ps.control.operational_forces.statement.sweeps]
    assert directions == ["outward", "inward", "outward", "inward"]


@BOTH
def test_resolved_acceleration_moves_the_tip_the_same(model):
    frame, q, v, posture, u, _ = parts(model, 1)
    a = ps.control.resolved_acceleration(model, q, v, posture, u, frame)
    assert relative(ps.jacobian(model, q, frame) @ a + ps.jacobian_dot_v(model, q, v, frame), u) < 1e-9
    jacobian = ps.jacobian(model, q, frame)
    assert relative(a - posture, np.linalg.pinv(jacobian) @ (jacobian @ (a - posture))) < 1e-9  # the nearest one


def laws(model):
    frame, _ = place(model)
    gains = {"kp": 60, "kd": 17, "posture_kp": 5}
    return [
        ps.control.OperationalSpaceControl(model, frame, **gains),
        ps.control.ResolvedAccelerationControl(model, frame, **gains),
    ]


def test_on_six_degrees_of_freedom_resolved_acceleration_is_operational_space_control():
    frame, q = place(PUMA)
    first, second = laws(PUMA)
    rng = np.random.default_rng(2)
    q, v = q + 0.2 * rng.normal(size=(50, 6)), rng.normal(size=(50, 6))
    pose = ps.forward_kinematics(PUMA, Q["puma560_akb"], frame)
    reference = first.reference(pose, rng.normal(size=6), rng.normal(size=6), Q["puma560_akb"])
    assert relative(first(0.0, q, v, reference), second(0.0, q, v, reference)) < 1e-9


def test_with_the_same_null_space_motion_they_are_equal_on_seven_too():
    """Operational-space control that is given resolved acceleration's joints as its posture has nothing to correct."""
    frame, q, v, posture, u, _ = parts(ARM, 3)
    a = ps.control.resolved_acceleration(ARM, q, v, posture, u, frame)
    tau = ps.control.operational_forces(ARM, q, v, a, u, np.zeros(6), frame)
    assert relative(tau, ps.inverse_dynamics(ARM, q, v, a)) < 1e-9


@pytest.mark.parametrize("kind", [0, 1], ids=["operational", "resolved"])
@BOTH
def test_the_tip_error_falls_as_its_linear_equation_says(model, kind):
    frame, q = place(model)
    law = laws(model)[kind]
    start = ps.forward_kinematics(model, q, frame)
    goal = start.copy()
    goal[:3, 3] += [0.03, -0.04, 0.05]
    reference = law.reference(goal, posture=q + 0.3)
    fast = ps.compile(law)
    found = run(model, lambda t, q, v: fast(t, q, v, reference), q, np.zeros(model.nv), steps=400)
    poses = ps.forward_kinematics(model, found.q, frame)
    error = goal[:3, 3] - poses[:, :3, 3]
    expected = second_order(found.t, error[0], np.zeros(3), 60, 17)
    assert np.abs(error - expected).max() < 1e-5 * np.abs(error[0]).max()
    assert np.abs(poses[:, :3, :3] - goal[:3, :3]).max() < 1e-7  # the orientation stays
    moved = np.abs(found.q[-1] - q).max()
    assert moved > 0.01


def test_a_small_turn_falls_as_the_same_equation():
    frame, q = place(PUMA)
    law = laws(PUMA)[0]
    start = ps.forward_kinematics(PUMA, q, frame)
    goal = start.copy()
    goal[:3, :3] = ps.Pose(rpy=(0.02, -0.01, 0.03)).rotation @ start[:3, :3]
    reference = law.reference(goal, posture=q)
    found = run(PUMA, lambda t, q, v: law(t, q, v, reference), q, np.zeros(6), steps=300)
    turns = log(goal[:3, :3] @ np.swapaxes(ps.forward_kinematics(PUMA, found.q, frame)[:, :3, :3], -1, -2))
    expected = second_order(found.t, turns[0], np.zeros(3), 60, 17)
    assert np.abs(turns - expected).max() < 1e-3 * np.abs(turns[0]).max()


def test_the_elbow_moves_in_the_null_space_and_the_tip_stays():
    frame, q = place(ARM)
    law = ps.control.OperationalSpaceControl(ARM, frame, kp=100, posture_kp=20)
    pose = ps.forward_kinematics(ARM, q, frame)
    reference = law.reference(pose, posture=q + 0.5)
    fast = ps.compile(law)
    found = run(ARM, lambda t, q, v: fast(t, q, v, reference), q, np.zeros(7), steps=600)
    assert np.abs(ps.forward_kinematics(ARM, found.q, frame) - pose).max() < 1e-8
    assert np.abs(found.q[-1] - q).max() > 0.1


def test_a_moving_pose_is_tracked_to_a_millionth_at_one_kilohertz():
    """A circle, the law inside the integrator's stages."""
    frame, q = place(ARM)
    law = ps.control.OperationalSpaceControl(ARM, frame, kp=400)
    fast, centre = ps.compile(law), ps.forward_kinematics(ARM, q, frame)
    radius, pace = 0.05, 3.0

    def path(t):
        pose, twist, change = centre.copy(), np.zeros(6), np.zeros(6)
        pose[0, 3] += radius * (np.cos(pace * t) - 1)
        pose[1, 3] += radius * np.sin(pace * t)
        twist[3:5] = radius * pace * np.array([-np.sin(pace * t), np.cos(pace * t)])
        change[3:5] = -radius * pace**2 * np.array([np.cos(pace * t), np.sin(pace * t)])
        return pose, twist, change

    v = np.linalg.pinv(ps.jacobian(ARM, q, frame)) @ path(0.0)[1]
    found = run(ARM, lambda t, x, v: fast(t, x, v, law.reference(*path(t), q)), q, v)
    wanted = np.array([path(t)[0] for t in found.t])
    assert np.abs(ps.forward_kinematics(ARM, found.q, frame) - wanted).max() < 1e-6


WRIST = np.array([0.1, 0.2, 0.3, 0.4, 0.0, 0.2])  # the PUMA's fourth and sixth axes in line


def test_where_a_direction_is_lost_the_forces_are_nan_unless_damped():
    plain, kept = (ps.control.OperationalSpaceControl(PUMA, "tool", task_damping=d) for d in (0.0, 1e-3))
    pose = ps.forward_kinematics(PUMA, WRIST, "tool")
    reference = plain.reference(pose, acceleration=[0.1, 0.2, -0.1, 0.5, 0.3, 1.0], posture=WRIST)
    with np.errstate(invalid="ignore"):
        assert np.isnan(plain(0.0, WRIST, np.zeros(6), reference)).all()
    forces = kept(0.0, WRIST, np.zeros(6), reference)
    assert np.isfinite(forces).all() and np.abs(forces).max() < 200
    np.testing.assert_allclose(ps.compile(kept)(0.0, WRIST, np.zeros(6), reference), forces, rtol=1e-9)


def test_far_from_there_damping_changes_little_and_less_with_less_of_it():
    frame, q, v, posture, u, force = parts(PUMA)
    exact = ps.control.operational_forces(PUMA, q, v, posture, u, force, frame)
    gaps = [
        relative(ps.control.operational_forces(PUMA, q, v, posture, u, force, frame, damping=d), exact)
        for d in (1e-6, 1e-9)
    ]
    assert gaps[0] < 1e-3 and gaps[1] < 1e-2 * gaps[0]


def test_a_tip_that_too_few_joints_move_is_refused_with_a_way_out():
    arm = ps.chain(4)
    for law in (
        ps.control.OperationalSpaceControl,
        ps.control.ResolvedAccelerationControl,
        ps.control.ImpedanceControl,
    ):
        with pytest.raises(ps.PhistarError, match="4 degrees of freedom"):
            law(arm, "tip")
    law = ps.control.OperationalSpaceControl(arm, "tip", task_damping=0.1)
    forces = law(0.0, np.full(4, 0.3), np.zeros(4), law.reference(np.eye(4)))
    assert np.isfinite(forces).all()
