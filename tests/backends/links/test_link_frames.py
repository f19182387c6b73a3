"""Link frames on common normals: two screws are the pose between them; the body is where it was."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.links.link_frames import BRANCH, ROOT, SCREW, link_frames
from tests.trees import KINDS, mechanism


def turn(axis, cosine, sine):
    result, i, j = np.zeros((3, 3)), (axis + 1) % 3, (axis + 2) % 3
    result[axis, axis], result[i, i], result[j, j], result[i, j], result[j, i] = 1.0, cosine, cosine, -sine, sine
    return result


MODELS = {
    "a chain in space": ps.chain(20),
    "parallel axes": ps.planar_chain(6),
    "a PUMA, axes that meet": ps.load("puma560"),
    **{f"random {seed}": mechanism(seed, bodies=8, serial=False).model for seed in range(80, 88)},
    **{kind: mechanism(90, kind=kind, bodies=5).model for kind in KINDS},
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_two_screws_are_the_pose_of_a_link_in_its_parent(model):
    frames = link_frames(model)
    for k, role in enumerate(frames.roles):
        if role == SCREW:
            cosine, sine, along, angle, shift = frames.screws[k]
            first = turn(0, cosine, sine)
            rotation = first @ turn(2, np.cos(angle), np.sin(angle))
            np.testing.assert_allclose(rotation, frames.rotation[k], atol=1e-12)
            np.testing.assert_allclose([along, 0.0, 0.0] + first[:, 2] * shift, frames.offset[k], atol=1e-11)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_frames_and_inertias_tell_of_the_same_bodies(model):
    frames = link_frames(model)
    for k, body in enumerate(model.bodies):
        own = ps.Pose(xyz=frames.old_offset[k], rotation=frames.old_rotation[k])
        above = ps.Pose()
        if body.parent >= 0:
            above = ps.Pose(xyz=frames.old_offset[body.parent], rotation=frames.old_rotation[body.parent])
        placed = above.inverse @ body.placement @ own
        np.testing.assert_allclose(frames.rotation[k], placed.rotation, atol=1e-12)
        np.testing.assert_allclose(frames.offset[k], placed.translation, atol=1e-11)
        inertia = body.inertia.transformed(own.inverse).parameters
        np.testing.assert_allclose(frames.inertia[k], inertia, atol=1e-11 * (1.0 + np.abs(inertia).max()))
        point = np.array([0.3, -0.2, 0.5])
        np.testing.assert_allclose(frames.point(k, point), (own.inverse @ ps.Pose(xyz=point)).translation, atol=1e-12)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_an_axis_joint_turns_or_slides_along_z_of_its_frame(model):
    frames = link_frames(model)
    for k, joint in enumerate(model.joints):
        if hasattr(joint.kind, "axis"):
            np.testing.assert_allclose(frames.old_rotation[k] @ [0.0, 0.0, 1.0], joint.kind.axis, atol=1e-13)
            along = frames.old_offset[k]
            np.testing.assert_allclose(np.cross(along, joint.kind.axis), 0.0, atol=1e-11 * (1.0 + np.abs(along).max()))
        else:
            np.testing.assert_array_equal(frames.old_rotation[k], np.eye(3))


def test_all_but_the_first_link_of_a_chain_are_two_screws():
    assert link_frames(ps.chain(20)).roles == (ROOT, *[SCREW] * 19)


def test_a_frame_suits_one_child():
    builder = ps.ModelBuilder("fork")
    inertia = ps.Inertia(1.0, (0.1, 0.0, 0.0), np.eye(3))
    builder.body("stem", parent="world", joint=ps.Revolute(), inertia=inertia)
    for side in (1.0, -1.0):
        place = ps.Pose(xyz=(0.3, side, 0.1), rpy=(0.5, 0.2, side))
        builder.body(f"arm{side}", parent="stem", joint=ps.Revolute(axis=(1, 0, 0)), placement=place, inertia=inertia)
    assert link_frames(builder.build()).roles == (ROOT, SCREW, BRANCH)


def test_nearly_parallel_axes_are_placed_by_their_pose():
    """Their common normal is far away: a screw to it and back would lose digits."""
    builder = ps.ModelBuilder("slender")
    inertia = ps.Inertia(1.0, (0.1, 0.0, 0.0), np.eye(3))
    builder.body("one", parent="world", joint=ps.Revolute(), inertia=inertia)
    place = ps.Pose(xyz=(1.0, 0.5, 0.0), rpy=(1e-7, 0.0, 0.0))
    builder.body("two", parent="one", joint=ps.Revolute(), placement=place, inertia=inertia)
    assert link_frames(builder.build()).roles == (ROOT, BRANCH)
