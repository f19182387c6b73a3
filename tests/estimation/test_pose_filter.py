"""The pose filter of a tumbling body, against bodies that ps.rollout moves: consistency, spin, moments of inertia."""

import numpy as np
import pytest

import phistar as ps
from phistar.estimation import consistency
from phistar.estimation.free_body import FreeBody
from phistar.estimation.pose_filter import PoseEstimate
from phistar.spatial.rotations import exp

MOMENTS, PERIOD = np.array([1.3, 1.0, 0.7]), 0.1
PLACE, TURN = 0.01, np.radians(1.0)


def tumbling(runs, samples, spin, rng):
    """Poses (T, runs, 4, 4), noisy ones, and the truth at the last, of bodies that nothing touches."""
    builder = ps.ModelBuilder("body", gravity=(0, 0, 0))
    builder.body("body", joint=ps.Free(), inertia=ps.Inertia(2.0, (0, 0, 0), np.diag(MOMENTS)))
    model = builder.build()
    start = np.concatenate([spin * rng.normal(size=(runs, 3)), 0.1 * rng.normal(size=(runs, 3))], axis=-1)
    run = ps.rollout(model, model.random(rng, (runs,)), start, dt=PERIOD / 10, steps=10 * (samples - 1))
    q, v = run.q[:, ::10], run.v[:, ::10]
    poses = np.moveaxis(ps.forward_kinematics(model, q, "body"), 1, 0)
    seen = poses.copy()
    seen[..., :3, 3] += PLACE * rng.normal(size=(samples, runs, 3))
    seen[..., :3, :3] = poses[..., :3, :3] @ exp(TURN * rng.normal(size=(samples, runs, 3)))
    turn = poses[-1, :, :3, :3]
    velocity = np.matmul(turn, v[:, -1, 3:, None])[..., 0]
    six, none = np.zeros((runs, 6)), np.zeros((runs, 3))
    six[:, [0, 2, 5]] = MOMENTS
    body = FreeBody(turn, poses[-1, :, :3, 3], velocity, v[:, -1, :3], six, none, np.eye(3) + 0.0 * turn, none)
    return PERIOD * np.arange(samples), seen, PoseEstimate(0.0, body, np.zeros(0), np.zeros(0))


@pytest.mark.parametrize("method", ["ukf", pytest.param("ekf", marks=pytest.mark.slow)])
def test_estimates_are_as_good_as_they_say(method):
    t, seen, truth = tumbling(30, 60, 1.0, np.random.default_rng(0))
    body = ps.estimation.PoseFilter(PLACE, TURN, 1e-6, 1e-6, speed=0.1, spin=1.0, moment=0.3, window=45, method=method)
    found = body.run(t, seen)
    assert consistency(found[-1].nees(truth), 14, 0.99).consistent
    assert consistency([estimate.nis for estimate in found[10:]], 6, 0.99).consistent


@pytest.mark.slow
def test_two_hundred_bodies_are_consistent_and_their_spin_is_found():
    runs = 200
    t, seen, truth = tumbling(runs, 201, 0.8, np.random.default_rng(1))
    found = ps.estimation.PoseFilter(PLACE, TURN, 1e-6, 1e-6, speed=0.1, spin=0.8, moment=0.3, window=250)
    found = found.run(t, seen)[-1]
    assert consistency(found.nees(truth), 14).consistent
    sizes = [np.linalg.norm(x, axis=-1) for x in (found.spin, truth.spin)]
    angle = np.degrees(np.arccos(np.clip(np.sum(found.spin * truth.spin, axis=-1) / sizes[0] / sizes[1], -1, 1)))
    assert np.median(angle) < 0.15 and np.abs(np.median(found.moments, axis=0) - MOMENTS).max() < 0.01


def test_later_poses_tell_of_earlier_states_and_the_last_is_the_filters():
    t, seen, truth = tumbling(12, 24, 1.0, np.random.default_rng(5))
    body = ps.estimation.PoseFilter(PLACE, TURN, 1e-6, 1e-6, speed=0.1, spin=1.0, moment=0.3, window=60)
    smooth, found = body.smooth(t, seen), body.run(t, seen)
    assert consistency(smooth[-1].nees(truth), 14, 0.99).consistent
    for k in (3, 12):
        sizes = [np.trace(x[k].covariance[:, 9:12, 9:12], axis1=-2, axis2=-1) for x in (smooth, found)]
        assert np.all(sizes[0] < sizes[1])
    away = smooth[-1].away(found[-1])
    assert np.all(np.abs(away) < 0.5 * np.sqrt(np.diagonal(found[-1].covariance, axis1=-2, axis2=-1)))
    with pytest.raises(ps.PhistarError, match="two poses or more"):
        body.smooth([], [])


def test_one_body_is_a_batch_of_one_and_time_goes_forward():
    t, seen, _ = tumbling(2, 12, 0.5, np.random.default_rng(3))
    body = ps.estimation.PoseFilter(PLACE, TURN, window=6)
    both, one = body.run(t, seen), body.run(t, seen[:, 0])
    assert np.allclose(both[-1].pose[0], one[-1].pose, atol=1e-9) and one[-1].spin.shape == (3,)
    assert np.allclose(both[-1].covariance[0], one[-1].covariance, rtol=1e-5, atol=1e-12)
    with pytest.raises(ps.PhistarError, match="order of time"):
        body.update(one[-1], 0.0, seen[0, 0])


def test_bad_sightings_and_settings_get_a_sentence():
    body = ps.estimation.PoseFilter(PLACE, TURN)
    for pose, said in (
        (np.eye(3), r"\(…, 4, 4\)"),
        (np.full((4, 4), np.nan), "not seen"),
        (2.0 * np.eye(4), "orthogonal"),
    ):
        with pytest.raises(ps.ShapeError, match=said):
            body.start(pose)
    log = np.tile(np.eye(4), (5, 1, 1))
    log[3, 0, 3] = np.nan
    for follow in (body.run, body.smooth):
        with pytest.raises(ps.PhistarError, match="not finite in 1 samples, the first is 3"):
            follow(np.arange(5.0), log)
    with pytest.raises(ps.PhistarError, match="the first is 2"):
        body.run([0.0, 1.0, np.nan], log[:3])
    with pytest.raises(ps.PhistarError, match="'ukf' or 'ekf'"):
        ps.estimation.PoseFilter(PLACE, TURN, method="particles")
    with pytest.raises(ps.ShapeError, match="position_noise must be positive"):
        ps.estimation.PoseFilter(0.0, TURN)
