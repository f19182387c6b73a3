"""Laws of rotations: every representation says the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from phistar.spatial import (
    conjugate,
    exp,
    exp_quaternion,
    exp_translation,
    from_axis_angle,
    from_quaternion,
    from_rpy,
    log,
    log_quaternion,
    log_translation,
    multiply,
    skew,
    to_quaternion,
)

ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 9.9e-3, 1.01e-2, 0.5, 2.0, np.pi - 1e-3, np.pi - 1e-8, np.pi]
vectors = arrays(np.float64, (3,), elements=st.floats(-3, 3))
directions = vectors.filter(lambda x: np.linalg.norm(x) > 1e-3).map(lambda x: x / np.linalg.norm(x))
quaternions = arrays(np.float64, (4,), elements=st.floats(-1, 1)).filter(lambda q: np.linalg.norm(q) > 1e-3)
quaternions = quaternions.map(lambda q: q / np.linalg.norm(q))


@given(directions, st.floats(-10, 10))
def test_axis_angle_is_a_rotation_about_its_axis(axis, angle):
    rotation = from_axis_angle(axis, angle)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), rtol=0, atol=1e-13)
    np.testing.assert_allclose(rotation @ axis, axis, rtol=0, atol=1e-13)
    assert np.trace(rotation) == pytest.approx(1 + 2 * np.cos(angle), abs=1e-13)


def test_quarter_turns_follow_the_right_hand():
    np.testing.assert_allclose(from_axis_angle((0, 0, 1), np.pi / 2) @ [1, 0, 0], [0, 1, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(from_rpy((np.pi / 2, 0, 0)) @ [0, 1, 0], [0, 0, 1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        from_quaternion((0, np.sqrt(0.5), 0, np.sqrt(0.5))) @ [0, 0, 1], [1, 0, 0], rtol=0, atol=1e-15
    )


def test_zeros_of_a_coordinate_axis_stay_zeros():
    rotation = from_axis_angle((0.0, 0.0, 1.0), 0.7)
    assert (rotation[[0, 1, 2, 2], [2, 2, 0, 1]] == 0.0).all() and rotation[2, 2] == 1.0


@given(vectors)
def test_rpy_turns_about_fixed_axes_x_then_y_then_z(rpy):
    x, y, z = (from_axis_angle(axis, angle) for axis, angle in zip(np.eye(3), rpy, strict=True))
    np.testing.assert_allclose(from_rpy(rpy), z @ y @ x, rtol=0, atol=1e-14)


@given(quaternions, quaternions)
def test_quaternion_product_is_matrix_product(p, q):
    np.testing.assert_allclose(
        from_quaternion(multiply(p, q)), from_quaternion(p) @ from_quaternion(q), rtol=0, atol=1e-13
    )
    np.testing.assert_allclose(from_quaternion(conjugate(q)), from_quaternion(q).T, rtol=0, atol=1e-15)


@given(quaternions)
def test_matrix_gives_back_its_quaternion(q):
    back = to_quaternion(from_quaternion(q))
    np.testing.assert_allclose(back * np.sign(back @ q), q, rtol=0, atol=1e-13)


def test_quaternions_are_taken_as_unit_and_not_renormalized():
    q = np.array([0.0, 0.0, 0.2, 1.0])
    expected = [[1 - 2 * 0.04, -0.4, 0.0], [0.4, 1 - 2 * 0.04, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(from_quaternion(q), expected, rtol=0, atol=1e-15)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("angle", ANGLES)
@given(axis=directions)
def test_log_inverts_exp_near_zero_and_near_pi(angle, axis):
    w = angle * axis
    np.testing.assert_allclose(exp(w), from_axis_angle(axis, angle), rtol=0, atol=1e-14)
    back, quaternion_back = log(exp(w)), log_quaternion(exp_quaternion(w))
    if angle > np.pi - 1e-9:  # half turns about a and −a are the same rotation
        back, quaternion_back = back * np.sign(back @ w), quaternion_back * np.sign(quaternion_back @ w)
    np.testing.assert_allclose(back, w, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(quaternion_back, w, rtol=1e-12, atol=1e-14)


@given(quaternions)
def test_quaternion_and_its_negative_have_one_logarithm(q):
    np.testing.assert_allclose(
        from_quaternion(exp_quaternion(log_quaternion(q))), from_quaternion(q), rtol=0, atol=1e-13
    )
    if abs(q[3]) > 1e-9:
        np.testing.assert_array_equal(log_quaternion(q), log_quaternion(-q))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("angle", ANGLES)
@given(axis=directions, v=vectors)
def test_translation_of_a_twist_is_the_integral_of_its_rotation(angle, axis, v):
    w = angle * axis
    nodes, weights = np.polynomial.legendre.leggauss(20)
    turned = exp((0.5 * (nodes + 1.0))[:, None] * w)
    integral = np.einsum("i,ijk->jk", 0.5 * weights, turned)
    np.testing.assert_allclose(exp_translation(w), integral, rtol=0, atol=1e-13)
    np.testing.assert_allclose(log_translation(w) @ exp_translation(w) @ v, v, rtol=0, atol=1e-12)


def test_small_angle_series_meet_the_formulas():
    """Both sides of the switch between series and formula agree to the last digits."""
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    for function in (exp_translation, log_translation):
        below, above = function(axis * (1e-2 - 1e-15)), function(axis * (1e-2 + 1e-15))
        np.testing.assert_allclose(below, above, rtol=0, atol=3e-15)


def test_functions_take_leading_axes():
    rng = np.random.default_rng(1)
    w = rng.normal(size=(2, 4, 3))
    for function in (exp, exp_quaternion, exp_translation, log_translation, from_rpy, skew):
        np.testing.assert_allclose(function(w)[1, 2], function(w[1, 2]), rtol=0, atol=1e-15)
    np.testing.assert_allclose(log(exp(w))[1, 2], log(exp(w[1, 2])), rtol=0, atol=1e-15)


def test_a_bad_row_spoils_only_itself():
    w = np.array([[0.1, 0.2, 0.3], [np.nan, 0.0, 0.0], [0.0, 0.0, 0.0]])
    for result in (exp(w), log_quaternion(exp_quaternion(w)), exp_translation(w), log_translation(w)):
        assert np.isnan(result[1]).any() and np.isfinite(result[[0, 2]]).all()
