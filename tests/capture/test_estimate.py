"""The estimate of the object: exact without noise, late sightings made up for, noise averaged as far as the covariance
says, whatever the base does."""

import numpy as np
import pytest

import phistar as ps
from phistar.capture import estimate
from phistar.capture.robot import Arms
from phistar.capture.settings import Settings
from phistar.estimation.free_body import FreeBody
from phistar.estimation.sighted_body import forecast, unpack_covariance
from phistar.spatial.rotations import exp, log, to_quaternion
from tests.capture.grapple_layout import LAYOUT


@pytest.fixture(scope="module")
def sight():
    return estimate.compiled_sight(Arms.of(ps.Scene.load("grapple").setting(0).model, LAYOUT))


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


def followed(sight, seconds, delay=0.0, rng=None, step=0.004, base=lambda t: STILL):
    """The object, its twist, the truth, and its covariance; sensors have no constant error, and are known to."""
    settings = Settings(delay=delay, place_bias=1e-9, turn_bias=1e-9)
    noises, times = estimate.noises(settings, "plan"), np.array([step, delay])
    belief, spread = estimate.first_sight(reading(truth(-delay), base(-delay), rng), base(0.0), settings)
    for k in range(1, round(seconds / step) + 1):
        t = k * step
        seen = reading(truth(t - delay), base(t - delay), rng)
        belief, spread, state, twist, _ = sight.follow(belief, spread, seen, base(t), noises, times, np.zeros(3))
    return state, twist, truth(t), unpack_covariance(spread), belief


def test_without_noise_it_is_exact(sight):
    state, twist, wanted, *_ = followed(sight, 1.0)
    np.testing.assert_allclose(state, wanted, atol=1e-7)
    np.testing.assert_allclose(twist, wanted[12:], atol=1e-7)


def test_late_sightings_are_made_up_for(sight):
    state, _, wanted, *_ = followed(sight, 3.0, delay=0.04)
    assert max(apart(state, wanted)[:2]) < 2e-5


def test_noise_is_averaged_as_far_as_the_covariance_says(sight):
    runs = [followed(sight, 1.5, 0.04, np.random.default_rng(seed)) for seed in range(12)]
    errors = np.sqrt(np.mean([np.square(apart(run[0], run[2])) for run in runs], axis=0))[[0, 2]]  # turn and spin
    P = runs[0][3]
    said = np.array([np.trace(P[at : at + 3, at : at + 3]) ** 0.5 for at in (3, 9)])
    assert np.all(errors < 1.5 * said) and np.all(errors > 0.5 * said)
    assert said[0] < 0.005 / 8 and said[1] < 0.002 / 6  # of 375 sightings


def test_where_the_frame_is_stays_known_though_where_the_mass_centre_is_does_not(sight):
    *_, spread, belief = followed(sight, 1.5, 0.04, np.random.default_rng(0))
    at = forecast(FreeBody.of(belief), spread, 0.0, np.zeros(2))
    assert at[1] < 0.002 / 8 and np.linalg.eigvalsh(spread[18:21, 18:21])[-1] > 0.05**2


def test_what_a_moving_base_sees_becomes_what_the_world_sees(sight):
    def base(t):
        spin, drift = np.array([0.01, 0.02, -0.01]), np.array([0.01, 0.0, 0.02])
        return np.concatenate([drift * t, to_quaternion(exp(spin * t)), spin, drift])

    state, twist, wanted, *_ = followed(sight, 1.0, delay=0.04, base=base)
    np.testing.assert_allclose(state, wanted, atol=1e-6)
    np.testing.assert_allclose(twist, estimate.in_base(wanted, base(1.0))[12:], atol=1e-6)


def test_a_carrier_on_the_base_is_what_the_base_sees(sight):
    rng = np.random.default_rng(3)
    base = np.concatenate([rng.standard_normal(3), to_quaternion(exp(rng.standard_normal(3))), rng.standard_normal(6)])
    state = truth(0.4)
    back = sight.carry(estimate.in_base(state, base), np.array([0.0, 1.0, 0.0]), base)
    np.testing.assert_allclose(back, state, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_an_inertia_that_goes_to_the_planner_is_one_that_a_body_can_have(seed):
    given = np.array(estimate.BALL) + 0.8 * np.random.default_rng(seed).standard_normal(6)
    low, middle, high = np.linalg.eigvalsh(estimate.possible_inertia(given))
    assert low > 0.0 and high < low + middle


def test_a_possible_inertia_stays_as_it_is():
    tensor = estimate.possible_inertia(np.array([1.1, 0.05, 0.9, -0.02, 0.01, 1.0]))
    np.testing.assert_allclose(tensor, [[1.1, 0.05, -0.02], [0.05, 0.9, 0.01], [-0.02, 0.01, 1.0]], atol=1e-12)
