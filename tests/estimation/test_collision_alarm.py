"""Collisions: as many false alarms as stated, touches found, and the touched link among those left possible."""

import numpy as np
import pytest

import phistar as ps


@pytest.mark.sampled(2)
@pytest.mark.parametrize("draw", ["normal", "laplace", "uniform"])
def test_false_alarms_are_as_many_as_stated(draw):
    rng, mixing = np.random.default_rng(7), np.random.default_rng(0).normal(size=(6, 6))

    def noise(windows):
        return getattr(rng, draw)(size=(5 * windows, 6)) @ mixing.T

    test = ps.estimation.CollisionTest.calibrated(noise(100_000), window=5, false_alarms=0.01)
    assert test.check(noise(100_000)).alarm.mean() == pytest.approx(0.01, rel=0.1)


def test_a_touch_is_found_and_isolated():
    rng = np.random.default_rng(0)
    test = ps.estimation.CollisionTest.calibrated(0.1 * rng.normal(size=(20_000, 6)), window=10, false_alarms=0.01)
    touched = 0.1 * rng.normal(size=(1000, 6))
    touched[:, :4] += 0.3  # a force on the fourth link is felt by no joint beyond
    found = test.check(touched)
    assert found.alarm.all() and np.mean(found.joint == 3) > 0.97


@pytest.mark.sampled(2)
@pytest.mark.parametrize("draw", ["normal", "laplace", "uniform"])
def test_the_touched_link_is_passed_over_as_often_as_stated(draw):
    arm, rng = ps.load("puma560"), np.random.default_rng(3)
    mixing = np.diag([1.0, 1.0, 0.5, 0.2, 0.1, 0.1]) @ (np.eye(6) + 0.2 * rng.normal(size=(6, 6)))
    test = ps.estimation.CollisionTest.calibrated(getattr(rng, draw)(size=(20_000, 6)) @ mixing.T, 5, 0.05)
    q, among, runs = arm.random(rng), 0, 400
    J = ps.jacobian(arm, q, "link3")
    for _ in range(runs):
        force = 30.0 * rng.normal(size=3)
        window = (
            getattr(rng, draw)(size=(5, 6)) @ mixing.T + np.concatenate([np.cross([0.1, 0, 0.05], force), force]) @ J
        )
        among += "link3" in test.isolate(arm, q, window).possible
    assert among / runs == pytest.approx(0.95, abs=0.03)


def test_a_push_tells_its_link_and_its_line():
    arm, rng = ps.load("puma560"), np.random.default_rng(0)
    test = ps.estimation.CollisionTest.calibrated(0.02 * rng.normal(size=(20_000, 6)))
    q, force, arm_of_force = (
        np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]),
        np.array([20.0, 5.0, -10.0]),
        [0.03, 0.02, 0.05],
    )
    for link in ("link3", "link4", "link6"):
        wrench = np.concatenate([np.cross(arm_of_force, force), force])
        window = 0.02 * rng.normal(size=(10, 6)) + wrench @ ps.jacobian(arm, q, link)
        assert test.check(window).alarm.all()
        found = test.isolate(arm, q, window)
        assert found.link == link and found.possible[0] == link
    sizes = np.sqrt(np.diag(found.covariance))
    assert np.all(np.abs(found.wrench - wrench) < 4 * sizes) and np.all(sizes < 1.0)
    away = found.point - ps.forward_kinematics(arm, q, link)[:3, 3] - arm_of_force
    along = force / np.linalg.norm(force)
    assert np.linalg.norm(away - along * (along @ away)) < 0.03
    assert np.isnan(test.isolate(arm, q, np.zeros((10, 6)) + ps.jacobian(arm, q, "link2")[4] * 50).wrench).all()


def test_bad_settings_get_a_sentence():
    rng = np.random.default_rng(0)
    with pytest.raises(ps.ShapeError, match="at least 1000 are needed"):
        ps.estimation.CollisionTest.calibrated(rng.normal(size=(500, 6)))
    spoiled = rng.normal(size=(20_000, 6))
    spoiled[77, 2] = np.nan
    with pytest.raises(ps.PhistarError, match="not finite in 1 samples, the first is 77"):
        ps.estimation.CollisionTest.calibrated(spoiled)
    with pytest.raises(ps.ShapeError, match="no noise of its own"):
        ps.estimation.CollisionTest.calibrated(np.ones((20_000, 6)))
    test = ps.estimation.CollisionTest.calibrated(rng.normal(size=(20_000, 6)))
    with pytest.raises(ps.ShapeError, match="are isolated"):
        test.isolate(ps.load("planar2"), [0.0, 0.0], rng.normal(size=(10, 6)))
