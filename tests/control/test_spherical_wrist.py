"""Arms with a spherical wrist: all solutions, and none where there is none."""

import numpy as np
import pytest

import phistar as ps
from phistar.control.spherical_wrist import SphericalWrist
from phistar.errors import ModelError


def test_every_way_to_bend_an_arm_is_found_and_meets_the_pose():
    model = ps.load("puma560")
    arm = SphericalWrist.of(model, "tool", "world")
    q = model.random(np.random.default_rng(0), (200,))
    pose = ps.forward_kinematics(model, q, "tool")
    found = arm.solutions(pose)
    assert found.shape == (200, 8, 6) and np.isfinite(found).all()
    np.testing.assert_allclose(
        ps.forward_kinematics(model, found, "tool"), np.broadcast_to(pose[:, None], (200, 8, 4, 4)), atol=1e-9
    )
    apart = np.abs(np.mod(found - q[:, None] + np.pi, 2 * np.pi) - np.pi).max(axis=-1)
    assert np.all(apart.min(axis=1) < 1e-6)
    far = pose.copy()
    far[..., :3, 3] *= 10.0
    assert np.isnan(arm.solutions(far)).all()


def test_arms_of_another_kind_are_refused():
    with pytest.raises(ModelError, match="six"):
        SphericalWrist.of(ps.chain(5), ps.chain(5).bodies[-1].name, "world")
    with pytest.raises(ModelError, match="meet"):
        SphericalWrist.of(_skewed(), "link6", "world")


def _skewed():
    """Six axes, none of which meet."""
    builder, parent = ps.ModelBuilder("skewed"), "world"
    for number in range(1, 7):
        axis = np.eye(3)[number % 3]
        builder.body(
            f"link{number}",
            parent,
            ps.Revolute(axis),
            ps.Pose(xyz=[0.1, 0.2, 0.3]),
            ps.Inertia(1, [0, 0, 0], np.eye(3)),
        )
        parent = f"link{number}"
    return builder.build()
