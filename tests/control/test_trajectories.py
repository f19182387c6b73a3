"""Trajectories meet every waypoint, keep every limit, and reach one of them; what cannot be is refused with numbers."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import InfeasibleError, ModelError, ShapeError
from phistar.spatial import rotations

PUMA = ps.load("puma560")
RNG = np.random.default_rng(5)
WAYPOINTS = RNG.uniform(-0.7, 0.7, (4, 6))
POSES = ps.forward_kinematics(PUMA, WAYPOINTS, "tool")


def slopes(values, t):
    return np.gradient(values, t, axis=0, edge_order=2)


# Joint coordinates


def test_joint_motion_passes_every_waypoint_at_rest_at_the_ends():
    motion = ps.control.joint_trajectory(PUMA, WAYPOINTS, duration=4.0)
    assert np.allclose(motion(motion.spline.breaks).q, WAYPOINTS, atol=1e-12)
    ends = motion(np.array([0.0, motion.duration]))
    assert np.allclose(ends.v, 0, atol=1e-10) and np.allclose(ends.a, 0, atol=1e-9)


@pytest.mark.parametrize("bounds", [{"velocity": 1.5}, {"velocity": 9.0, "acceleration": [1, 2, 3, 4, 5, 6]}])
def test_joint_motion_is_as_fast_as_its_limits_allow(bounds):
    motion = ps.control.joint_trajectory(PUMA, WAYPOINTS, **bounds)
    point = motion(np.linspace(0, motion.duration, 20001))
    speed = np.abs(point.v).max(axis=0) / bounds["velocity"]
    push = np.abs(point.a).max(axis=0) / np.asarray(bounds.get("acceleration", np.inf))
    worst = max(speed.max(), push.max())
    assert worst <= 1 + 1e-9
    assert worst > 1 - 1e-5
    assert ("acceleration" in motion.limited_by) == ("acceleration" in bounds)


def test_half_the_speed_takes_twice_the_time_and_half_the_push_takes_the_root_of_it():
    fast, slow = (ps.control.joint_trajectory(PUMA, WAYPOINTS, velocity=v).duration for v in (2.0, 1.0))
    assert np.isclose(slow, 2 * fast)
    hard, soft = (ps.control.joint_trajectory(PUMA, WAYPOINTS, acceleration=a).duration for a in (2.0, 1.0))
    assert np.isclose(soft, np.sqrt(2) * hard)


def test_the_models_own_velocities_are_the_limits_where_none_are_given():
    builder = ps.ModelBuilder("slider")
    builder.body("car", joint=ps.Prismatic(axis=(1, 0, 0), velocity=0.5), inertia=ps.Inertia(1.0, tensor=np.eye(3)))
    motion = ps.control.joint_trajectory(builder.build(), [[0.0], [1.0]])
    assert np.isclose(motion.duration, 15 / 8 / 0.5)  # the quintic's greatest speed is 15/8 of its mean
    assert motion.limited_by == "the velocity of joint 'car'"


# Poses


def test_pose_motion_passes_every_pose():
    motion = ps.control.pose_trajectory(POSES, duration=3.0)
    assert np.allclose(motion(motion.spline.breaks).pose, POSES, atol=1e-12)


def test_twist_and_acceleration_are_the_derivatives_of_the_pose():
    motion = ps.control.pose_trajectory(POSES, duration=3.0)
    t = np.linspace(0.3, 2.7, 4001)
    point = motion(t)
    spin = np.matmul(slopes(point.pose[:, :3, :3], t), np.swapaxes(point.pose[:, :3, :3], -1, -2))
    omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
    assert np.allclose(omega, point.twist[:, :3], atol=1e-5)
    assert np.allclose(slopes(point.pose[:, :3, 3], t), point.twist[:, 3:], atol=1e-5)
    assert np.allclose(slopes(point.twist, t), point.acceleration, atol=2e-4)


@pytest.mark.parametrize("limit", ["velocity", "acceleration", "angular_velocity", "angular_acceleration"])
def test_pose_motion_is_as_fast_as_its_limit_allows(limit):
    motion = ps.control.pose_trajectory(POSES, **{limit: 0.8})
    point = motion(np.linspace(0, motion.duration, 30001))
    vector = (point.twist if "velocity" in limit else point.acceleration)[
        :, slice(0, 3) if "ang" in limit else slice(3, 6)
    ]
    assert np.isclose(np.linalg.norm(vector, axis=-1).max(), 0.8, rtol=1e-6)
    assert motion.limited_by == f"the {limit.replace('_', ' ')}"


def test_between_two_poses_the_frame_turns_about_one_axis_the_shorter_way():
    axis = np.array([1.0, 2.0, -2.0]) / 3
    ends = np.stack([np.eye(4), np.eye(4)])
    ends[1, :3, :3] = rotations.exp(1.9 * np.pi * axis)  # the shorter way is 0.1 π back
    twist = ps.control.pose_trajectory(ends, duration=1.0)(np.linspace(0.1, 0.9, 9)).twist[:, :3]
    assert np.allclose(np.cross(twist, axis), 0, atol=1e-12)
    assert np.all(twist @ axis < 0)


def test_points_of_a_circle_give_a_circle():
    angles, poses = np.linspace(0, 2 * np.pi, 9), np.stack([np.eye(4)] * 9)
    poses[:, :2, 3] = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    path = ps.control.pose_trajectory(poses, duration=1.0)(np.linspace(0, 1, 500)).pose[:, :3, 3]
    assert np.abs(np.linalg.norm(path, axis=-1) - 1.0).max() < 3e-3


@pytest.mark.parametrize("kind", ["joints", "poses"])
def test_a_trajectory_can_be_part_of_a_compiled_function(kind):
    made = {
        "joints": ps.control.joint_trajectory(PUMA, WAYPOINTS, duration=2),
        "poses": ps.control.pose_trajectory(POSES, duration=2),
    }
    motion = made[kind]
    compiled = ps.compile(lambda t, q: motion(t), PUMA)
    t = np.linspace(-0.2, 2.2, 25)
    for ours, theirs in zip(compiled(t, np.zeros((25, 6))), motion(t), strict=True):
        assert np.allclose(ours, theirs, rtol=0, atol=1e-11)


# Refusals


def test_a_duration_that_breaks_a_limit_is_refused_with_the_shortest_that_does_not():
    least = ps.control.joint_trajectory(PUMA, WAYPOINTS, velocity=1.0).duration
    with pytest.raises(
        InfeasibleError, match=r"In 0\.1 s the velocity of joint .* would reach .*, and 1 is allowed"
    ) as e:
        ps.control.joint_trajectory(PUMA, WAYPOINTS, velocity=1.0, duration=0.1)
    assert f"{least:.6g} s" in str(e.value)
    assert ps.control.joint_trajectory(PUMA, WAYPOINTS, velocity=1.0, duration=least).duration == least


def test_waypoints_outside_the_joints_limits_are_refused_with_numbers():
    beyond = WAYPOINTS.copy()
    beyond[2, 1] = 9.0
    with pytest.raises(InfeasibleError, match=r"goes from .* to 11\.6.*, outside its limits -1\.9"):
        ps.control.joint_trajectory(PUMA, beyond, duration=5.0)


def test_what_makes_no_motion_is_refused():
    with pytest.raises(InfeasibleError, match="Nothing limits the motion"):
        ps.control.pose_trajectory(POSES)
    with pytest.raises(InfeasibleError, match="limited to zero"):
        ps.control.joint_trajectory(PUMA, WAYPOINTS, velocity=0.0)
    with pytest.raises(InfeasibleError, match="positive number of seconds"):
        ps.control.joint_trajectory(PUMA, WAYPOINTS, duration=-1.0)
    with pytest.raises(ShapeError, match="Waypoints 1 and 2 are the same"):
        ps.control.joint_trajectory(PUMA, WAYPOINTS[[0, 1, 1]], duration=1.0)
    with pytest.raises(ShapeError, match=r"shape \(points, 6\)"):
        ps.control.joint_trajectory(PUMA, WAYPOINTS[:, :3], duration=1.0)
    with pytest.raises(ShapeError, match="finite; point 1"):
        ps.control.joint_trajectory(PUMA, [np.zeros(6), np.full(6, np.nan)], duration=1.0)
    with pytest.raises(ShapeError, match="Pose 0 has no rotation matrix"):
        ps.control.pose_trajectory(2 * POSES, duration=1.0)
    with pytest.raises(ShapeError, match="magnitudes"):
        ps.control.joint_trajectory(PUMA, WAYPOINTS, velocity=-1.0)
    with pytest.raises(ModelError, match="no vector of coordinates"):
        ps.control.joint_trajectory(ps.load("freeflyer"), np.zeros((2, 7)), duration=1.0)
