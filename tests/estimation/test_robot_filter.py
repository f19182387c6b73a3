"""Kalman filters of robots: consistency over many runs, what is not measured, sensors on manifolds, sentences."""

import numpy as np
import pytest
from scipy.stats import chi2

import phistar as ps
from phistar.estimation import consistency
from phistar.spatial.rotations import exp, log

PERIOD, NOISE, DRIFT = 0.02, 2e-3, 0.05


def floating():
    builder = ps.ModelBuilder("floating", gravity=(0, 0, 0))
    builder.body("base", joint=ps.Free(), inertia=ps.Inertia(2.0, (0, 0, 0), np.diag([0.3, 0.4, 0.5])))
    rod = ps.Inertia(0.5, (0, 0, 0.3), 0.02 * np.eye(3))
    builder.body("arm", parent="base", joint=ps.Revolute(axis=(0, 1, 0)), inertia=rod)
    return builder.build()


def driven(model, runs, samples, rng):
    """States (T, runs, …) of robots that white accelerations of density DRIFT push, at steps much finer than T."""
    fine, h = 10, PERIOD / 10
    q, v = model.random(rng, (runs,)), 0.3 * rng.normal(size=(runs, model.nv))
    tau, log = np.sin(np.arange(samples))[:, None, None] * np.ones((runs, model.nv)), [(q, v)]
    for k in range(1, samples):
        for _ in range(fine):
            pushed = DRIFT / np.sqrt(h) * rng.normal(size=v.shape)
            middle = v + 0.5 * h * (ps.forward_dynamics(model, q, v, tau[k]) + pushed)
            place = model.integrate(q, 0.5 * h * v)
            v = v + h * (ps.forward_dynamics(model, place, middle, tau[k]) + pushed)
            q = model.integrate(q, h * middle)
        log.append((q, v))
    return PERIOD * np.arange(samples), *(np.stack(x) for x in zip(*log, strict=True)), tau


@pytest.mark.parametrize("method", ["ekf", "ukf"])
@pytest.mark.parametrize("make", [lambda: ps.planar_chain(2, gravity=(0, -9.81, 0)), floating], ids=["arm", "floating"])
def test_estimates_of_robots_are_as_good_as_they_say(make, method):
    model, rng, runs = make(), np.random.default_rng(0), 60
    t, q, v, tau = driven(model, runs, 25, rng)
    seen = model.integrate(q, NOISE * rng.normal(size=v.shape))
    robot = ps.estimation.RobotFilter(model, NOISE, acceleration=DRIFT, method=method, longest=0.01)
    errors = rng.normal(size=(runs, 2 * model.nv)) * np.repeat([0.05, 0.3], model.nv)
    start = robot.start(
        model.integrate(q[0], errors[:, : model.nv]), v[0] + errors[:, model.nv :], position=0.05, rate=0.3
    )
    found = robot.run(start, t, seen, tau)
    assert consistency(found[-1].nees(q[-1], v[-1]), 2 * model.nv, 0.99).consistent
    assert consistency([estimate.nis for estimate in found[5:]], model.nv, 0.99).consistent


def test_a_linear_robot_has_kalmans_filter():
    cart = ps.ModelBuilder("cart", gravity=(0, 0, 0))
    cart.body("cart", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(2.0, (0, 0, 0), np.eye(3)))
    robot = ps.estimation.RobotFilter(cart.build(), 0.1, acceleration=0.5, method="ekf")
    rng, h = np.random.default_rng(1), 0.05
    y = rng.normal(size=(20, 1))
    found = robot.run(robot.start([0.0], [0.0], position=1.0, rate=2.0), h * np.arange(20), y)
    F, W = np.array([[1.0, h], [0.0, 1.0]]), 0.25 * np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])
    wanted = ps.estimation.kalman_filter(y, F, [[1.0, 0.0]], W, [[0.01]], np.zeros(2), np.diag([1.0, 4.0]))
    states = np.stack([np.concatenate([x.q, x.v]) for x in found])
    assert np.allclose(states, wanted.states, atol=1e-9)
    assert np.allclose([x.covariance for x in found], wanted.covariances, atol=1e-9)
    assert np.allclose([x.nis for x in found], wanted.nis, atol=1e-8)


@pytest.mark.parametrize("method", ["ekf", "ukf"])
def test_sensors_of_frames_find_joints_that_have_none(method):
    arm, rng = ps.load("puma560"), np.random.default_rng(2)
    truth = np.array([0.3, 0.4, -0.2, 0.1, 0.5, 0.2])

    def sensor(q, v, y):
        pose = ps.forward_kinematics(arm, q, "tool")
        turn = log(np.swapaxes(pose[..., :3, :3], -1, -2) @ y[:9].reshape(3, 3))
        return np.concatenate([turn, y[9:] - pose[..., :3, 3]], axis=-1)

    pose = ps.forward_kinematics(arm, truth, "tool")
    robot = ps.estimation.RobotFilter(arm, 1e-3, sensor, method=method)
    found = robot.start(truth + 0.05 * rng.normal(size=6), np.zeros(6), position=0.05, rate=1e-3)
    for k in range(12):
        turn = pose[:3, :3] @ exp(1e-3 * rng.normal(size=3))
        y = np.concatenate([turn.ravel(), pose[:3, 3] + 1e-3 * rng.normal(size=3)])
        found = robot.update(found, 1e-3 * k, y, ps.gravity_load(arm, truth))
    assert np.abs(found.q - truth).max() < 6e-3 and found.nees(truth, np.zeros(6)) < chi2.ppf(0.9999, 12)


def test_what_was_not_measured_changes_nothing():
    arm = ps.planar_chain(2)
    robot = ps.estimation.RobotFilter(arm, 0.01)
    start = robot.start([0.1, 0.2], [0.0, 0.0], position=0.1, rate=0.1)
    blind, alone = robot.update(start, 0.01, [np.nan, np.nan]), robot.predict(start, 0.01)
    assert np.array_equal(blind.q, alone.q) and np.array_equal(blind.covariance, alone.covariance)
    half = robot.update(start, 0.0, [0.3, np.nan])
    assert half.q[1] == pytest.approx(0.2) and half.q[0] > 0.29
    assert half.covariance[1, 1] == pytest.approx(0.01) and half.covariance[0, 0] < 1.01e-4


def test_bad_settings_and_measurements_get_a_sentence():
    arm = ps.planar_chain(2)
    robot = ps.estimation.RobotFilter(arm, 0.01)
    start = robot.start([0, 0], [0, 0], position=0.1, rate=0.1, t=1.0)
    with pytest.raises(ps.PhistarError, match="order of time"):
        robot.update(start, 0.0, [0.0, 0.0])
    with pytest.raises(ps.ShapeError, match="coordinates are"):
        robot.update(start, 2.0, [0.0, 0.0, 0.0])
    with pytest.raises(ps.ShapeError, match="noise is of"):
        ps.estimation.RobotFilter(arm, np.eye(3)).update(start, 2.0, [0.0, 0.0])
    for state in ([np.nan, 0.0], [0.0, np.inf]):
        with pytest.raises(ps.ShapeError, match="a finite state"):
            robot.start(state, [0, 0], position=0.1, rate=0.1)
    with pytest.raises(ps.PhistarError, match=r"at 2 s has infinite numbers"):
        robot.update(start, 2.0, [np.inf, 0.0])
    with pytest.raises(ps.PhistarError, match="before 2 s are not finite"):
        robot.update(start, 2.0, [0.0, 0.0], tau=[np.nan, 0.0])
    wrong = ({"noise": x} for x in (-1.0, np.zeros((2, 2)), -np.eye(2), [[1.0, 0.5], [0.0, 1.0]], np.ones((2, 3))))
    for settings in (*wrong, {"noise": 1.0, "acceleration": -1.0}, {"noise": 1.0, "longest": 0.0}):
        with pytest.raises(ps.ShapeError):
            ps.estimation.RobotFilter(arm, **settings)
    with pytest.raises(ps.PhistarError, match="'ekf' or 'ukf'"):
        ps.estimation.RobotFilter(arm, 1.0, method="pf")
    with pytest.raises(ps.ShapeError, match="positive"):
        robot.start([0, 0], [0, 0], position=0.0, rate=1.0)
