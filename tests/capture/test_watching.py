"""Watching a free body tells its inertia up to a factor and its mass centre, as far as its motion shows them."""

import numpy as np
import pytest

from phistar.capture.prediction import tumble
from phistar.capture.watching import Watched
from phistar.spatial.rotations import exp


def watched(inertia, com, seconds, spin, rng=None, step=0.004):
    """Sightings of a body, with the noise of the bundled scenes."""
    pose, made = np.eye(4), Watched.nothing()
    pose[:3, :3] = exp(np.array([0.3, -0.2, 0.5]))
    times = step * np.arange(round(seconds / step))
    ahead = tumble(pose, np.array([*spin, 0.002, 0.0, -0.001]), times, inertia, com)
    for t, own, twist in zip(times, ahead.pose, ahead.twist, strict=True):
        noise = np.zeros(12) if rng is None else rng.standard_normal(12)
        turn = exp(0.005 * noise[:3]) @ own[:3, :3]
        rates = twist + 0.002 * noise[6:]
        made = made.seen(t, np.concatenate([turn.ravel(), own[:3, 3] + 0.002 * noise[3:6], rates]))
    return made


MOMENTS = np.diag([1.0, 1.35, 0.8])
AXES = exp(np.array([0.2, 0.5, -0.4]))
TENSOR = AXES @ MOMENTS @ AXES.T  # principal axes anywhere
COM = np.array([0.06, -0.03, 0.05])
SPIN = np.array([0.2, 0.22, -0.15])


def ratios(inertia):
    return inertia / np.trace(inertia)


def test_without_noise_both_are_found():
    seen = watched(TENSOR, COM, 12.0, SPIN)
    np.testing.assert_allclose(ratios(seen.inertia), ratios(TENSOR), atol=1e-3)
    np.testing.assert_allclose(seen.com, COM, atol=1e-3)


def test_with_noise_the_prediction_is_better_than_with_an_even_spin():
    wrong, right = [], []
    pose, twist, ahead = np.eye(4), np.array([*SPIN, 0.0, 0.0, 0.0]), np.array([6.0])
    truth = tumble(pose, twist, ahead, TENSOR).pose[0, :3, :3]
    for seed in range(6):
        inertia = watched(TENSOR, COM, 6.0, SPIN, np.random.default_rng(seed)).inertia
        for errors, known in ((wrong, None), (right, inertia)):
            turn = tumble(pose, twist, ahead, known).pose[0, :3, :3] @ truth.T
            errors.append(np.arccos(0.5 * (np.trace(turn) - 1.0)))
    assert np.mean(right) < 0.4 * np.mean(wrong) and np.mean(wrong) > 0.2


def test_too_little_seen_is_nothing_known_and_a_body_at_rest_is_a_ball():
    assert watched(TENSOR, COM, 0.5, SPIN).inertia is None
    still = watched(TENSOR, COM, 3.0, np.zeros(3))
    np.testing.assert_allclose(ratios(still.inertia), np.eye(3) / 3, atol=1e-9)
    np.testing.assert_allclose(still.com, 0.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_is_an_inertia_that_a_body_can_have(seed):
    rng = np.random.default_rng(seed)
    made = watched(np.diag([1.0, 1.0, 1.9]), np.zeros(3), 1.2, 0.3 * rng.standard_normal(3), rng)
    low, middle, high = np.linalg.eigvalsh(made.inertia)
    assert low > 0.0 and high < low + middle
