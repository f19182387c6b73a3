"""Kinematics straight from the definition, to hold models against."""

import numpy as np
import pytest

from phistar import Pose


def _body_poses(model, q):
    poses = []
    for body in model.bodies:
        rotation, place = body.joint.kind.pose(q[body.joint.q_slice])
        local = body.placement @ Pose(xyz=place, rotation=rotation)
        poses.append(local if body.parent < 0 else poses[body.parent] @ local)
    return poses


@pytest.fixture
def frame_pose():
    """frame_pose(model, q, name): the frame in the world, as a product of placements and joint poses."""

    def pose(model, q, name):
        frame = model.frame(name)
        return frame.placement if frame.body < 0 else _body_poses(model, q)[frame.body] @ frame.placement

    return pose


@pytest.fixture
def world_inertia():
    """world_inertia(model, q): the inertia of all moving bodies as one, in the world frame."""

    def inertia(model, q):
        parts = [body.inertia.transformed(pose) for body, pose in zip(model.bodies, _body_poses(model, q), strict=True)]
        return sum(parts[1:], parts[0]).matrix

    return inertia


@pytest.fixture
def twists():
    """twists(model, q, v): each body's twist in its own frame, [ω; v], (bodies, 6)."""

    def all_twists(model, q, v):
        result = []
        for body in model.bodies:
            joint = body.joint
            rotation, place = joint.kind.pose(q[joint.q_slice])
            local = body.placement @ Pose(xyz=place, rotation=rotation)
            above = np.zeros(6) if body.parent < 0 else result[body.parent]
            carried = above[3:] + np.cross(above[:3], local.translation)
            moved = np.concatenate([local.rotation.T @ above[:3], local.rotation.T @ carried])
            result.append(moved + joint.kind.subspace(q[joint.q_slice]) @ v[joint.v_slice])
        return np.array(result)

    return all_twists
