"""Poses are a group, checked on the way in."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from phistar import ModelError, Pose
from phistar.spatial import from_rpy

vectors = arrays(np.float64, (3,), elements=st.floats(-5, 5))
poses = st.builds(lambda xyz, rpy: Pose(xyz=xyz, rpy=rpy), vectors, vectors)


def assert_same(a: Pose, b: Pose):
    np.testing.assert_allclose(a.matrix, b.matrix, rtol=0, atol=1e-12)


@given(poses, poses, poses)
def test_composition_is_associative(a, b, c):
    assert_same((a @ b) @ c, a @ (b @ c))


@given(poses)
def test_inverse_and_identity(a):
    assert_same(a @ a.inverse, Pose.identity())
    assert_same(a.inverse @ a, Pose.identity())
    assert a @ Pose.identity() == a == Pose.identity() @ a


@given(poses, poses)
def test_matrix_of_a_product_is_the_product_of_matrices(a, b):
    np.testing.assert_allclose((a @ b).matrix, a.matrix @ b.matrix, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.inverse.matrix, np.linalg.inv(a.matrix), rtol=0, atol=1e-12)


def test_rotation_given_in_three_ways_is_one_pose():
    rotation = from_rpy((0.0, 0.0, np.pi / 2))
    quarter = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))
    assert_same(Pose(rotation=rotation), Pose(rpy=(0, 0, np.pi / 2)))
    assert_same(Pose(quaternion=quarter), Pose(rpy=(0, 0, np.pi / 2)))
    assert_same(Pose(quaternion=2.0 * np.array(quarter)), Pose(rpy=(0, 0, np.pi / 2)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rotation": np.eye(3) * 1.001}, "orthonormal"),
        ({"rotation": np.diag([1.0, 1.0, -1.0])}, "determinant"),
        ({"rotation": np.eye(4)}, "shape \\(3, 3\\)"),
        ({"rotation": np.full((3, 3), np.nan)}, "finite"),
        ({"rpy": (0, 0)}, "rpy in shape \\(3,\\)"),
        ({"xyz": (0, 0, np.inf)}, "finite"),
        ({"xyz": ("a", 0, 0)}, "numbers for xyz"),
        ({"quaternion": (0, 0, 0, 0)}, "no direction"),
        ({"rpy": (0, 0, 0), "quaternion": (0, 0, 0, 1)}, "several rotations"),
    ],
)
def test_impossible_poses_are_refused_with_a_sentence(arguments, words):
    with pytest.raises(ModelError, match=words):
        Pose(**arguments)


@given(poses)
def test_poses_compare_hash_pickle_and_copy_by_content(a):
    again = Pose(xyz=a.translation, rotation=a.rotation)
    assert again == a and hash(again) == hash(a)
    assert pickle.loads(pickle.dumps(a)) == a and copy.deepcopy(a) == a
    assert a != Pose(xyz=a.translation + 1.0, rotation=a.rotation)


def test_minus_zero_is_zero():
    assert Pose(xyz=(-0.0, 0.0, 0.0)) == Pose()


def test_poses_cannot_be_written_to():
    a = pickle.loads(pickle.dumps(Pose(xyz=(1, 2, 3))))
    with pytest.raises(ValueError, match="read-only"):
        a.translation[0] = 5.0
    with pytest.raises(AttributeError):
        a.translation = np.zeros(3)


@given(st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6))
@example([0.0, 0.0, 0.0, 0.3, np.pi / 2, 0.4])
@example([0.0, 0.0, 0.0, 0.3, -np.pi / 2, 0.4])
@example([1.0, 2.0, 3.0, 0.0, 0.0, 0.0])
def test_the_printed_form_is_one_that_the_constructor_takes_and_that_means_the_same(numbers):
    pose = Pose(xyz=numbers[:3], rpy=numbers[3:])
    again = eval(repr(pose), {"Pose": Pose})
    np.testing.assert_allclose(again.matrix, pose.matrix, atol=2e-5)


def test_a_quaternion_of_no_length_is_refused():
    with pytest.raises(ModelError, match="has no direction"):
        Pose(quaternion=(0.0, 0.0, 0.0, 0.0))
