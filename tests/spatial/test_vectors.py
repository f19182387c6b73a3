"""Laws of the vector functions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from phistar.spatial import Inertia, Pose, axial, cross, exp, force_transform, mass_moment, skew, times, transposed

vectors = arrays(np.float64, (3,), elements=st.floats(-10, 10))
poses = st.builds(lambda xyz, rpy: Pose(xyz=xyz, rpy=rpy), vectors, vectors)


@given(vectors, vectors)
def test_skew_times_vector_is_cross_product(a, b):
    np.testing.assert_allclose(skew(a) @ b, np.cross(a, b), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(cross(a, b), np.cross(a, b))


def test_leading_axes_are_batches():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 5, 3)), rng.normal(size=(5, 3))
    assert skew(a).shape == (2, 5, 3, 3)
    np.testing.assert_array_equal(skew(a)[1, 3], skew(a[1, 3]))
    np.testing.assert_array_equal(cross(a, b)[1, 3], cross(a[1, 3], b[3]))


@given(vectors)
def test_the_axial_vector_undoes_skew_and_tells_the_axis_of_a_rotation(a):
    np.testing.assert_array_equal(axial(skew(a)), 2.0 * a)
    angle = np.linalg.norm(a)
    np.testing.assert_allclose(axial(exp(a)), 2.0 * np.sin(angle) * a / max(angle, 1e-300), rtol=0, atol=1e-13)


def test_a_matrix_times_a_vector_and_its_transpose_over_leading_axes():
    rng = np.random.default_rng(1)
    matrices, vector = rng.normal(size=(4, 1, 2, 3)), rng.normal(size=(5, 3))
    assert times(matrices, vector).shape == (4, 5, 2)
    np.testing.assert_allclose(times(matrices, vector)[2, 3], matrices[2, 0] @ vector[3], rtol=1e-14)
    np.testing.assert_array_equal(transposed(matrices)[2, 0], matrices[2, 0].T)


@given(vectors)
def test_mass_times_mass_centre_is_read_off_a_spatial_inertia(com):
    np.testing.assert_array_equal(mass_moment(Inertia(2.0, com, np.eye(3)).matrix), 2.0 * com + 0.0)


@given(poses, poses)
def test_force_transforms_compose_as_poses_do(first, second):
    both = first @ second
    product = force_transform(first.rotation, first.translation) @ force_transform(second.rotation, second.translation)
    np.testing.assert_allclose(force_transform(both.rotation, both.translation), product, rtol=0, atol=1e-12)


@given(poses, vectors)
def test_spatial_inertia_moves_by_force_transform_and_its_transpose(pose, com):
    inertia = Inertia(2.0, com, np.diag([0.3, 0.4, 0.5]))
    phi = force_transform(pose.rotation, pose.translation)
    expected = phi @ inertia.matrix @ phi.T
    np.testing.assert_allclose(inertia.transformed(pose).matrix, expected, rtol=0, atol=1e-11)
