"""The momentum observer against simulated pushes, and the collision test's rate of false alarms."""

import numpy as np
import pytest

import phistar as ps
from phistar.estimation.force_observer import generalized_momentum, momentum_forces
from tests.export.test_export_c import called, compiled, needs_compiler


@pytest.fixture(scope="module")
def arm():
    return ps.load("puma560")


@pytest.mark.sampled(2)
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


@needs_compiler
def test_an_update_in_c_is_the_observers(arm, tmp_path):
    observer = ps.estimation.ForceObserver(arm, gain=np.linspace(20.0, 120.0, 6), period=2e-3)
    update, rng = compiled(observer.export_c(tmp_path)), np.random.default_rng(6)
    memory = observer.start(arm.random(rng), rng.normal(size=6))
    told = np.concatenate(memory)
    for _ in range(4):
        q, v, tau = arm.random(rng), rng.normal(size=6), rng.normal(size=6)
        memory = observer.update(memory, q, v, tau)
        (told,) = called(update, (q, v, tau, told), (18,))
        assert np.allclose(told, np.concatenate(memory), rtol=0, atol=1e-9 * np.abs(told).max())
    assert np.abs(memory.force).max() > 1.0


def test_bad_settings_get_a_sentence(arm):
    with pytest.raises(ps.ShapeError, match="gain must be positive"):
        ps.estimation.ForceObserver(arm, gain=-1.0)
    observer, still = ps.estimation.ForceObserver(arm), np.zeros(arm.nv)
    memory = observer.start(arm.neutral(), still)
    with pytest.raises(ps.PhistarError, match="this sample is not finite"):
        observer.update(memory, arm.neutral(), still, np.nan * still)
