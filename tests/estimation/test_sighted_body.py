"""The filter of a sighted body: exact without noise, consistent with it, and touch tells what no sighting does."""

import numpy as np
import pytest

from phistar.capture.prediction import tumble
from phistar.estimation import consistency
from phistar.estimation.free_body import ERRORS, FreeBody, tensor
from phistar.estimation.sighted_body import (
    Base,
    forecast,
    pack_covariance,
    propagate,
    unpack_covariance,
    update_by_sighting,
    update_by_touch,
)
from phistar.spatial import to_quaternion
from phistar.spatial.rotations import exp, log

PLACE, TURN, SPEED, SPIN = 0.002, 0.005, 0.002, 0.002
SIGHTING = np.array([PLACE, TURN, SPIN, SPEED])
QUIET = np.array([1e-6, 1e-6])
BELIEVED = np.repeat([PLACE, TURN, SPEED, SPIN, 0.1, 0.05, 0.02, 0.005], (3, 3, 3, 3, 6, 3, 3, 3))
BASE = Base(exp(np.array([0.3, 0.1, -0.2])), np.array([0.1, 0.2, 0.3]), np.zeros(3), np.zeros(3))


def the_body(rng):
    six = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0]) + 0.1 * rng.standard_normal(6)
    com, shift = 0.05 * rng.standard_normal(3), 0.005 * rng.standard_normal(3)
    spin = 0.25 * rng.standard_normal(3)
    place, velocity = np.array([0.5, 0.1, 0.0]), np.array([0.01, -0.02, 0.0])
    turn = exp(rng.standard_normal(3))
    return FreeBody(turn, place, velocity, spin, six, com, exp(0.02 * rng.standard_normal(3)), shift)


def sightings(body, times, noise, rng):
    """What the base sees of a body, (n, 13), and where the body is at the end."""
    pose, twist = np.eye(4), np.concatenate([body.turn @ body.spin, body.velocity])
    pose[:3, :3], pose[:3, 3] = body.turn, body.place
    path = tumble(pose, twist, times, tensor(body.inertia), body.com)
    rows = []
    for own, motion in zip(path.pose, path.twist, strict=True):
        e = noise * rng.standard_normal(12)
        place = BASE.axes.T @ (own[:3, 3] - BASE.origin) + body.shift + PLACE * e[:3]
        turn = body.misturn @ BASE.axes.T @ own[:3, :3] @ exp(TURN * e[3:6])
        spin, speed = BASE.axes.T @ motion[:3] + SPIN * e[6:9], BASE.axes.T @ motion[3:] + SPEED * e[9:]
        rows.append(np.concatenate([place, to_quaternion(turn), spin, speed]))
    last, end = path.pose[-1], path.twist[-1]
    state = {"turn": last[:3, :3], "place": last[:3, 3], "velocity": end[3:], "spin": last[:3, :3].T @ end[:3]}
    return np.array(rows), body._replace(**state)


def followed(seed, seconds=3.0, step=0.02, noise=1.0, spoiled=1.0):
    rng = np.random.default_rng(seed)
    body = the_body(rng)
    times = step * np.arange(round(seconds / step) + 1)
    seen, truth = sightings(body, times, noise, rng)
    P = np.diag(BELIEVED**2)
    belief, nis = body.moved(spoiled * BELIEVED * rng.standard_normal(ERRORS)), []
    for k, row in enumerate(seen):
        if k:
            belief, P = propagate(belief, P, np.array([step]), QUIET)
        belief, P, own = update_by_sighting(belief, P, row, BASE, SIGHTING)
        nis.append(own[0])
    return belief, P, truth, np.array(nis)


def test_a_belief_that_is_right_stays_right():
    belief, _, truth, _ = followed(0, noise=0.0, spoiled=0.0, step=0.004)
    assert np.abs(belief.away(truth)).max() < 1e-5


def test_errors_and_innovations_are_as_large_as_the_covariance_says():
    runs, nees, nis = 16, [], []
    for seed in range(runs):
        belief, P, truth, own = followed(seed)
        e = belief.away(truth)
        nees.append(e @ np.linalg.solve(P, e))
        nis.append(own[1:].mean())
    assert consistency(nees, ERRORS, 0.99).consistent
    assert abs(np.mean(nis) - 12.0) < 0.3


def test_watching_a_tumble_tells_of_inertia_mass_centre_and_the_turn_of_sightings():
    at = np.sqrt(np.diag(followed(3, seconds=10.0)[1]))
    assert at[12:18].min() < 0.03 and at[18:21].max() < 0.01 and at[21:24].max() < 0.005  # they were 0.1, 0.05, 0.02


def test_what_is_foreseen_is_no_better_than_what_is_known():
    belief, P, _, _ = followed(3)
    turn, place = zip(*(forecast(belief, P, seconds, QUIET) for seconds in (0.0, 5.0, 20.0)), strict=True)
    assert turn[0] < turn[1] < turn[2] and place[0] < place[1] < place[2]


@pytest.mark.parametrize("seed", range(3))
def test_touch_finds_the_constant_error_of_sightings_across_the_faces(seed):
    belief, P, truth, _ = followed(seed)
    planned = np.tile(np.eye(4), (2, 1, 1))
    planned[0, :3, :3] = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    planned[1, :3, :3] = planned[0, :3, :3] @ np.diag([1.0, -1.0, -1.0])
    planned[:, :3, 3] = [-0.2 * planned[0, :3, 2], 0.2 * planned[0, :3, 2]]
    grips = planned.copy()
    for grip in grips:  # on the faces of the true body, as the belief has them
        where = truth.place + truth.turn @ grip[:3, 3]
        grip[:3, :3] = belief.turn.T @ truth.turn @ grip[:3, :3]
        grip[:3, 3] = belief.turn.T @ (where - belief.place)
    after, spread, _ = update_by_touch(belief, P, grips, planned, (0.002, 0.0005))
    normal = planned[0, :3, 2]
    wrong = log(after.turn.T @ truth.turn)
    assert np.linalg.norm(np.cross(normal, wrong)) < 0.006
    assert abs(normal @ after.turn.T @ (truth.place - after.place)) < 0.001
    assert np.linalg.eigvalsh(spread)[0] > 0.0


def test_covariances_pack_and_unpack():
    P = np.arange(ERRORS**2, dtype=float).reshape(ERRORS, ERRORS)
    P = P + P.T
    np.testing.assert_array_equal(unpack_covariance(pack_covariance(P)), P)
