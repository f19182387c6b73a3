"""The estimate of the object: exact without noise, late sightings made up for, noise averaged, constant errors found by
touch."""

import numpy as np
import pytest

import phistar as ps
from phistar.capture import estimate
from phistar.capture.robot import Arms
from phistar.spatial import cross
from phistar.spatial.rotations import exp, log, to_quaternion
from tests.capture.grapple_layout import LAYOUT


@pytest.fixture(scope="module")
def sight():
    return estimate.compiled_sight(Arms.of(ps.Scene.load("grapple").setting(0).model, LAYOUT))


BALL = estimate.body_row(np.zeros(3), None)
STILL = np.array([*[0.0] * 6, 1.0, *[0.0] * 6])  # a base that does not move


def truth(t, spin=(0.05, -0.08, 0.03), drift=(0.002, 0.0, -0.001)):
    turn = exp(np.array(spin) * t) @ exp(np.array([0.2, 0.1, -0.3]))
    return np.concatenate([turn.ravel(), np.array([0.46, 0.0, 0.0]) + np.array(drift) * t, spin, drift])


def reading(state, base=STILL, rng=None):
    seen = estimate.in_base(state, base)
    noise = np.zeros(12) if rng is None else rng.standard_normal(12)
    turn = exp(0.005 * noise[:3]) @ seen[:9].reshape(3, 3)
    rates = seen[12:] + 0.002 * noise[6:]
    return np.concatenate([seen[9:12] + 0.002 * noise[3:6], to_quaternion(turn), rates])


def apart(a, b):
    """Angle, distance, and the difference of twists."""
    turn = np.linalg.norm(log(a[:9].reshape(3, 3) @ b[:9].reshape(3, 3).T))
    return turn, np.linalg.norm(a[9:12] - b[9:12]), np.linalg.norm(a[12:15] - b[12:15]), np.linalg.norm(a[15:] - b[15:])


def followed(sight, seconds, delay=0.0, rng=None, step=0.004, base=lambda t: STILL, memory=125):
    state = estimate.first_sight(reading(truth(-delay), base(-delay), rng), base(0.0))
    for k in range(1, round(seconds / step) + 1):
        t = k * step
        timing = estimate.timing(min(k + 1, memory), step, delay)
        seen = reading(truth(t - delay), base(t - delay), rng)
        state, twist, _ = sight.follow(state, seen, base(t), np.zeros(6), BALL, timing)
    return state, twist, truth(t)


def test_without_noise_it_is_exact(sight):
    state, twist, wanted = followed(sight, 1.0)
    np.testing.assert_allclose(state, wanted, atol=1e-7)
    np.testing.assert_allclose(twist, wanted[12:], atol=1e-7)


def test_late_sightings_are_made_up_for(sight):
    state, _, wanted = followed(sight, 3.0, delay=0.04)
    assert max(apart(state, wanted)[:2]) < 2e-5


def test_noise_is_averaged(sight):
    errors = np.array([apart(*followed(sight, 1.5, 0.04, np.random.default_rng(seed))[::2]) for seed in range(8)])
    turn, place, spin, drift = np.sqrt(np.mean(errors**2, axis=0))
    one = 3**0.5 / 125**0.5  # of a sighting's three numbers, averaged
    assert turn < 1.5 * 0.005 * one and place < 1.5 * 0.002 * one
    assert spin < 1.5 * 0.002 * one and drift < 1.5 * 0.002 * one


def test_what_a_moving_base_sees_becomes_what_the_world_sees(sight):
    def base(t):
        spin, drift = np.array([0.01, 0.02, -0.01]), np.array([0.01, 0.0, 0.02])
        return np.concatenate([drift * t, to_quaternion(exp(spin * t)), spin, drift])

    state, twist, wanted = followed(sight, 1.0, base=base)
    np.testing.assert_allclose(state, wanted, atol=1e-6)
    np.testing.assert_allclose(twist, estimate.in_base(wanted, base(1.0))[12:], atol=1e-6)


def test_a_carrier_on_the_base_is_what_the_base_sees(sight):
    rng = np.random.default_rng(3)
    base = np.concatenate([rng.standard_normal(3), to_quaternion(exp(rng.standard_normal(3))), rng.standard_normal(6)])
    state = truth(0.4)
    back = sight.carry(estimate.in_base(state, base), np.array([0.0, 1.0, 0.0]), base)
    np.testing.assert_allclose(back, state, atol=1e-12)


def test_touch_finds_the_normal_and_the_shift_of_a_constant_error(sight):
    """A sensor that turns and shifts what it sees: where the hands lie on the faces tells by how much."""
    wrong, moved, true = np.array([0.03, -0.02, 0.01]), np.array([0.004, 0.008, -0.003]), truth(0.0)
    seen = true.copy()
    seen[:9], seen[9:12] = (exp(wrong) @ true[:9].reshape(3, 3)).ravel(), true[9:12] + moved
    planned = np.tile(np.eye(4), (2, 1, 1))
    planned[0, :3, :3] = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]).T[[0, 1, 2]]
    planned[1, :3, :3] = planned[0, :3, :3] @ np.diag([1.0, -1.0, -1.0])
    planned[:, :3, 3] = [-0.2 * planned[0, :3, 2], 0.2 * planned[0, :3, 2]]
    turn, place = true[:9].reshape(3, 3), true[9:12]
    real = [(turn @ pose[:3, :3], place + turn @ pose[:3, 3]) for pose in planned]
    back = seen[:9].reshape(3, 3).T
    grips = planned.copy()
    for grip, (axes, where) in zip(grips, real, strict=True):
        grip[:3, :3], grip[:3, 3] = back @ axes, back @ (where - seen[9:12])
    correction = estimate.touched(np.zeros(6), STILL, seen, grips, planned)
    where, _, _, rotation = estimate.in_world(reading(seen), STILL, correction)
    normal = turn @ planned[0, :3, 2]
    found = rotation @ planned[0, :3, 2]
    assert np.linalg.norm(cross(found, normal)) < 1e-3  # it was 0.03
    assert abs((where - place) @ normal) < 5e-4  # it was 0.008
