"""Every way an arm can bend: each solution brings the frame to its pose, and the way it came from is among them."""

import numpy as np
import pytest

import phistar as ps
from phistar.control.arm_solutions import ParallelElbow, SearchedArm, SphericalShoulder, arm_solutions
from phistar.control.spherical_wrist import SphericalWrist
from phistar.errors import ModelError

ARMS = {
    "puma560": ("world", "tool", SphericalWrist),
    "ur5": ("base_link", "tool0", ParallelElbow),
    "panda": ("panda_link0", "panda_hand", SphericalShoulder),
}


def apart(a, b):
    return np.abs(np.mod(a - b + np.pi, 2.0 * np.pi) - np.pi).max(axis=-1)


@pytest.mark.parametrize("name", ARMS)
def test_solutions_bring_the_frame_there_and_have_the_one_it_came_from(name):
    base, frame, kind = ARMS[name]
    model = ps.load(name)
    arm = arm_solutions(model, frame, base)
    assert isinstance(arm, kind)
    count = 7 if kind is SphericalShoulder else 6
    q = model.random(np.random.default_rng(0), (40,))
    if kind is SphericalShoulder:  # whose last joint is taken at eight angles
        q[:, 6] = np.pi / 8 * (2 * np.random.default_rng(1).integers(-3, 3, 40) + 1)
    poses = np.linalg.inv(ps.forward_kinematics(model, q, base)) @ ps.forward_kinematics(model, q, frame)
    found = arm.solutions(poses)
    good = np.isfinite(found).all(axis=-1)
    whole = np.broadcast_to(model.neutral(), (*found.shape[:-1], model.nq)).copy()
    whole[..., :count] = np.where(good[..., None], found, 0.0)
    placed = np.linalg.inv(ps.forward_kinematics(model, q, base))[:, None] @ ps.forward_kinematics(model, whole, frame)
    np.testing.assert_allclose(placed[good], np.broadcast_to(poses[:, None], placed.shape)[good], atol=1e-9)
    nearest = np.nanmin(np.where(good, apart(found, q[:, None, :count]), np.nan), axis=1)
    assert nearest.max() < 1e-6


@pytest.mark.parametrize("name", ARMS)
def test_what_is_out_of_reach_has_none(name):
    base, frame, _ = ARMS[name]
    far = ps.Pose(xyz=(5.0, 0.0, 0.0)).matrix
    assert not np.isfinite(arm_solutions(ps.load(name), frame, base).solutions(far)).any()


def crooked(joints=6):
    """An arm without a closed form: no three axes meet or are parallel."""
    builder, parent = ps.ModelBuilder("crooked"), "world"
    rng = np.random.default_rng(5)
    for number in range(joints):
        axis = rng.standard_normal(3)
        joint = ps.Revolute(axis / np.linalg.norm(axis), limits=(-3.0, 3.0))
        place = ps.Pose(xyz=(0.05, 0.1 * (-1) ** number, 0.3))
        builder.body(f"l{number}", parent, joint, place, ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
        parent = f"l{number}"
    builder.frame("tip", parent, ps.Pose(xyz=(0.0, 0.0, 0.2)))
    return builder.build()


def test_another_arm_is_searched_and_one_with_five_joints_refused():
    model = crooked()
    arm = arm_solutions(model, "tip", "world")
    assert isinstance(arm, SearchedArm)
    poses = ps.forward_kinematics(model, model.random(np.random.default_rng(2), (5,)), "tip")
    found = arm.solutions(poses)
    good = np.isfinite(found).all(axis=-1)
    assert good.any(axis=-1).sum() >= 4  # a search may miss
    placed = ps.forward_kinematics(model, np.where(good[..., None], found, 0.0), "tip")
    np.testing.assert_allclose(placed[good], np.broadcast_to(poses[:, None], placed.shape)[good], atol=1e-6)
    with pytest.raises(ModelError, match="5 joints move 'tip'; a hand needs six"):
        arm_solutions(crooked(5), "tip", "world")
