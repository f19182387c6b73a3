"""Every kind of joint keeps the same laws: pose, subspace and its rate, integrate and difference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phistar as ps
from phistar.spatial import from_quaternion

SKEWED = (0.3, -1.2, 0.7)
KINDS = {
    "revolute": ps.Revolute(axis=SKEWED),
    "revolute about z": ps.Revolute(axis=(0, 0, 1)),
    "prismatic": ps.Prismatic(axis=SKEWED),
    "helical": ps.Helical(axis=SKEWED, pitch=0.4),
    "universal": ps.Universal(),
    "universal, oblique": ps.Universal(axis1=(1, 0.2, 0.1), axis2=(0.4, 1, 0.6)),
    "spherical": ps.Spherical(),
    "planar": ps.Planar(),
    "planar, oblique": ps.Planar(normal=SKEWED),
    "free": ps.Free(),
    "fixed": ps.Fixed(),
}
STEP = 1e-6
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
seeds = st.integers(0, 2**32 - 1)


def drawn(kind, seed):
    rng = np.random.default_rng(seed)
    return kind.random(rng), rng.normal(size=kind.nv)


def same_configuration(kind, a, b, tolerance=1e-12):
    for one, other in zip(kind.pose(a), kind.pose(b), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


@every_kind
@given(seed=seeds)
def test_pose_is_a_rotation_and_a_place(kind, seed):
    q, _ = drawn(kind, seed)
    rotation, place = kind.pose(q)
    assert rotation.shape == (3, 3) and place.shape == (3,) and q.shape == (kind.nq,)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), rtol=0, atol=1e-13)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


@every_kind
def test_frames_coincide_at_neutral(kind):
    rotation, place = kind.pose(kind.neutral())
    np.testing.assert_array_equal(rotation, np.eye(3))
    np.testing.assert_array_equal(place, np.zeros(3))


@every_kind
@given(seed=seeds)
def test_integrate_inverts_difference(kind, seed):
    rng = np.random.default_rng(seed)
    q0, q1 = kind.random(rng), kind.random(rng)
    same_configuration(kind, kind.integrate(q0, kind.difference(q0, q1)), q1)


@every_kind
@given(seed=seeds)
def test_difference_inverts_integrate(kind, seed):
    q, dv = drawn(kind, seed)
    dv = dv * min(1.0, 3.0 / max(np.linalg.norm(dv), 1e-9))  # within half a turn
    np.testing.assert_allclose(kind.difference(q, kind.integrate(q, dv)), dv, rtol=0, atol=1e-11)


@every_kind
@given(seed=seeds)
def test_half_a_step_twice_is_one_step(kind, seed):
    q, dv = drawn(kind, seed)
    same_configuration(kind, kind.integrate(kind.integrate(q, dv / 2), dv / 2), kind.integrate(q, dv))


@every_kind
@given(seed=seeds)
def test_subspace_is_the_derivative_of_the_pose(kind, seed):
    """H* v is the child's twist in child axes: ω̃ = Rᵀ Ṙ, v = Rᵀ ṗ."""
    q, v = drawn(kind, seed)
    rotation, _ = kind.pose(q)
    ahead, behind = kind.pose(kind.integrate(q, STEP * v)), kind.pose(kind.integrate(q, -STEP * v))
    spin = rotation.T @ (ahead[0] - behind[0]) / (2 * STEP)
    omega = [spin[2, 1], spin[0, 2], spin[1, 0]]
    twist = np.concatenate([omega, rotation.T @ (ahead[1] - behind[1]) / (2 * STEP)])
    assert kind.subspace(q).shape == (6, kind.nv)
    np.testing.assert_allclose(kind.subspace(q) @ v, twist, rtol=0, atol=1e-8)


@every_kind
@given(seed=seeds)
def test_subspace_rate_is_the_derivative_of_the_subspace(kind, seed):
    q, v = drawn(kind, seed)
    ahead, behind = kind.subspace(kind.integrate(q, STEP * v)), kind.subspace(kind.integrate(q, -STEP * v))
    numeric = (ahead - behind) / (2 * STEP)
    rate = kind.subspace_rate(q, v)
    np.testing.assert_allclose(np.zeros((6, kind.nv)) if rate is None else rate, numeric, rtol=0, atol=1e-8)


@every_kind
def test_leading_axes_are_batches(kind):
    rng = np.random.default_rng(5)
    q, v = kind.random(rng, (2, 3)), rng.normal(size=(2, 3, kind.nv))
    rotation, place = kind.pose(q)
    assert q.shape == (2, 3, kind.nq) and rotation.shape == (2, 3, 3, 3) and place.shape == (2, 3, 3)
    at = (1, 2)
    np.testing.assert_allclose(rotation[at], kind.pose(q[at])[0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(place[at], kind.pose(q[at])[1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(kind.integrate(q, v)[at], kind.integrate(q[at], v[at]), rtol=0, atol=1e-15)
    np.testing.assert_allclose(kind.difference(q, q[0, 0])[at], kind.difference(q[at], q[0, 0]), rtol=0, atol=1e-15)
    subspace = np.broadcast_to(kind.subspace(q), (2, 3, 6, kind.nv))
    np.testing.assert_allclose(subspace[at], kind.subspace(q[at]), rtol=0, atol=1e-15)
    rate = kind.subspace_rate(q, v)
    if rate is not None:
        assert rate.shape == (2, 3, 6, kind.nv)
        np.testing.assert_allclose(rate[at], kind.subspace_rate(q[at], v[at]), rtol=0, atol=1e-15)


def test_free_twists_are_applied_in_the_body_frame():
    kind = ps.Free()
    q = np.array([1.0, 2.0, 3.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])  # a quarter turn about z
    moved = kind.integrate(q, [0, 0, 0, 1, 0, 0])
    np.testing.assert_allclose(moved[:3], [1.0, 3.0, 3.0], rtol=0, atol=1e-15)
    turned = kind.integrate(kind.neutral(), [0, 0, np.pi, 1, 0, 0])  # a half circle of radius 1/π
    np.testing.assert_allclose(turned[:3], [0, 2 / np.pi, 0], rtol=0, atol=1e-15)


def test_free_integration_is_pinocchios():
    pin = pytest.importorskip("pinocchio")
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    rng = np.random.default_rng(2)
    kind = ps.Free()
    for _ in range(20):
        q, dv = kind.random(rng), rng.normal(size=6)
        theirs = pin.integrate(model, q, np.concatenate([dv[3:], dv[:3]]))
        same_configuration(kind, kind.integrate(q, dv), theirs)
        back = pin.difference(model, q, theirs)
        np.testing.assert_allclose(kind.difference(q, theirs), np.concatenate([back[3:], back[:3]]), rtol=0, atol=1e-10)


def test_spherical_rates_turn_about_child_axes():
    kind = ps.Spherical()
    q = kind.integrate(kind.integrate(kind.neutral(), [0, 0, np.pi / 2]), [np.pi / 2, 0, 0])
    expected = from_quaternion([0, 0, np.sqrt(0.5), np.sqrt(0.5)]) @ from_quaternion([np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    np.testing.assert_allclose(kind.pose(q)[0], expected, rtol=0, atol=1e-15)


def test_integrated_quaternions_stay_unit():
    rng = np.random.default_rng(3)
    kind, q = ps.Spherical(), ps.Spherical().neutral()
    for _ in range(2000):
        q = kind.integrate(q, rng.normal(size=3))
    assert abs(np.linalg.norm(q) - 1.0) < 1e-15


@pytest.mark.parametrize(
    ("normal", "first", "second"),
    [((0, 0, 1), (1, 0, 0), (0, 1, 0)), ((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 1, 0), (0, 0, 1), (1, 0, 0))],
)
def test_planar_axes_follow_their_normal_cyclically(normal, first, second):
    np.testing.assert_array_equal(ps.Planar(normal=normal).axes, [first, second])


def test_planar_moves_in_parent_axes():
    rotation, place = ps.Planar().pose([1.0, 2.0, np.pi / 2])
    np.testing.assert_array_equal(place, [1.0, 2.0, 0.0])
    np.testing.assert_allclose(rotation @ [1, 0, 0], [0, 1, 0], rtol=0, atol=1e-15)


def test_helical_advances_by_its_pitch_per_radian():
    _, place = ps.Helical(axis=(0, 0, 2), pitch=0.25).pose([2.0])
    np.testing.assert_allclose(place, [0, 0, 0.5], rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", [ps.Revolute(axis=(1, 1, 0)), ps.Prismatic(axis=(0, 0, -3))], ids=repr)
def test_axes_are_normalised(kind):
    assert np.linalg.norm(kind.axis) == pytest.approx(1.0, abs=1e-15)


def test_tiny_and_huge_axes_keep_their_direction():
    for size in (1e-200, 1e200):
        np.testing.assert_allclose(ps.Revolute(axis=(3 * size, 0, 4 * size)).axis, [0.6, 0, 0.8], rtol=0, atol=1e-15)
