"""The momentum observer against simulated pushes, and the collision test's rate of false alarms."""

import numpy as np
import pytest

import phistar as ps
from phistar.estimation.force_observer import generalized_momentum, momentum_forces
from tests.export.test_export_c import called, compiled, needs_compiler


@pytest.fixture(scope="module")
def arm():
    return ps.load("puma560")


@pytest.mark.parametrize("robot", [ps.chain(5), ps.chain(45), ps.load("puma560")], ids=lambda robot: robot.name)
def test_momentum_and_its_forces_are_the_matrices(robot):
    rng = np.random.default_rng(0)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    assert np.allclose(generalized_momentum(robot, q, v), ps.mass_matrix(robot, q) @ v, atol=1e-9)
    wanted = ps.coriolis_matrix(robot, q, v).T @ v - ps.gravity_load(robot, q)
    assert np.allclose(momentum_forces(robot, q, v), wanted, atol=1e-8 * np.abs(wanted).max())


def test_the_statement_costs_a_constant_per_link():
    count = [momentum_forces.statement.cost(n).total for n in (10, 20, 30)]
    assert count[2] - count[1] == count[1] - count[0]


def pushed(arm, force, steps=400, h=1e-3):
    """A log of an arm that a force [moment; force] pushes at its tool from the middle on."""
    rng = np.random.default_rng(1)
    q, v, log = arm.random(rng), np.zeros(arm.nv), []
    for k in range(steps):
        tau = ps.gravity_load(arm, q) + np.sin(0.01 * k) - 5.0 * v
        log.append((q, v, tau, ps.jacobian(arm, q, "tool").T @ force * (k >= steps // 2)))
        run = ps.rollout(arm, q, v, (tau + log[-1][3])[None, :], dt=h, steps=1)
        q, v = run.q[-1], run.v[-1]
    return [np.stack(x) for x in zip(*log, strict=True)]


def test_a_push_is_found_and_where_it_acts(arm):
    arm = arm.replace(
        joints={j.name: type(j.kind)(axis=j.kind.axis, armature=j.kind.armature_diagonal) for j in arm.joints}
    )
    force = np.array([0.0, 0.0, 0.0, 10.0, -5.0, 20.0])
    q, v, tau, wanted = pushed(arm, force)
    observer = ps.estimation.ForceObserver(arm, gain=100.0, period=1e-3)
    found = observer.run(q, v, tau)
    assert np.abs(found[150:200]).max() < 0.02
    assert np.abs(found[-1] - wanted[-1]).max() < 0.02 * np.abs(wanted[-1]).max()
    assert np.allclose(observer.wrench(q[-1], found[-1], "tool"), force, atol=0.5)
    memory = observer.start(q[0], v[0])
    for k in range(1, 30):
        memory = observer.update(memory, q[k], v[k], tau[k - 1])
    assert np.allclose(memory.force, found[29], atol=1e-10)


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


def test_bad_settings_get_a_sentence(arm):
    with pytest.raises(ps.ShapeError, match="gain must be positive"):
        ps.estimation.ForceObserver(arm, gain=-1.0)
    with pytest.raises(ps.ShapeError, match="at least 1000 are needed"):
        ps.estimation.CollisionTest.calibrated(np.random.default_rng(0).normal(size=(500, 6)))
    with pytest.raises(ps.ShapeError, match="finite"):
        ps.estimation.CollisionTest.calibrated(np.full((20_000, 6), np.nan))


@needs_compiler
def test_the_observer_in_c_finds_the_same_forces(arm, tmp_path):
    observer, rng = ps.estimation.ForceObserver(arm, gain=80.0, period=2e-3), np.random.default_rng(4)
    code = compiled(observer.export_c(tmp_path))
    q, v, tau = arm.random(rng, (6,)), rng.normal(size=(6, arm.nv)), rng.normal(size=(6, arm.nv))
    memory = observer.start(q[0], v[0])
    row = np.concatenate(memory)
    for k in range(1, 6):
        memory = observer.update(memory, q[k], v[k], tau[k - 1])
        (row,) = called(code, (q[k], v[k], tau[k - 1], row), (3 * arm.nv,))
        assert np.allclose(row, np.concatenate(memory), rtol=1e-10, atol=1e-9)


def test_a_log_with_holes_says_where(arm):
    q = np.zeros((5, arm.nv))
    q[3, 1] = np.nan
    with pytest.raises(ps.PhistarError, match="q is not finite in 1 samples, the first is 3"):
        ps.estimation.ForceObserver(arm).run(q, np.zeros((5, arm.nv)), np.zeros((5, arm.nv)))
