"""Free-floating rollouts by the midpoint rule: momentum and energy are kept to rounding, and the motion is right."""

import numpy as np
import pytest

import phistar as ps
from tests.freeflying.robots import nine_links, with_wheels

ff = ps.freeflying
STEP = 1e-3


def start(model: ps.Model, seed: int = 1):
    """Tumbling slowly, drifting, joints in motion."""
    rng = np.random.default_rng(seed)
    scale = np.concatenate([np.full(3, 0.3), np.full(3, 0.1), np.full(model.nv - 6, 0.5)])
    return model.random(rng), rng.normal(size=model.nv) * scale


def drifts(model: ps.Model, seconds: float, piece: int = 20_000, every: int = 100):
    """Relative drift of the angular and linear momentum about the world's origin, and energy errors over time."""
    q, v = start(model)
    momentum, energy = ps.momentum(model, q, v), ps.kinetic_energy(model, q, v)
    worst, errors, left = np.zeros(2), [], round(seconds / STEP)
    while left:
        steps = min(piece, left)
        run = ps.rollout(model, q, v, dt=STEP, steps=steps, method="midpoint")
        q, v, left = run.q[-1], run.v[-1], left - steps
        apart = ps.momentum(model, run.q[::every], run.v[::every]) - momentum
        for part, rows in enumerate((slice(0, 3), slice(3, 6))):
            drift = np.linalg.norm(apart[:, rows], axis=-1).max() / np.linalg.norm(momentum[rows])
            worst[part] = max(worst[part], drift)
        errors.append(ps.kinetic_energy(model, run.q[::every], run.v[::every]) / energy - 1.0)
    return worst, np.concatenate(errors)


ROBOTS = {"tree": lambda: nine_links().replace(gravity=(0, 0, 0)), "wheels": with_wheels}
BOTH = pytest.mark.parametrize("name", ROBOTS)


@BOTH
def test_twenty_seconds_keep_momentum_and_energy(name):
    worst, errors = drifts(ROBOTS[name](), 20.0)
    assert worst.max() < 1e-12
    assert np.abs(errors).max() < 1e-13


@pytest.mark.slow
@BOTH
def test_a_thousand_seconds_keep_momentum_and_energy(name):
    """A million steps: momentum to 1e-10, the energy error bounded and without a trend."""
    worst, errors = drifts(ROBOTS[name](), 1000.0)
    assert worst.max() < 1e-10
    assert np.abs(errors).max() < 1e-11
    early, late = np.array_split(errors, 2)
    assert abs(late.mean() - early.mean()) < 1e-12


def test_the_motion_is_that_of_the_accurate_integrator_to_second_order():
    """With gravity, thrust and joint forces held, and a controller that knows q and v."""
    model = nine_links()
    q, v = start(model)
    rng = np.random.default_rng(2)
    pull = rng.normal(size=model.nv) * 2.0

    def controller(t, q, v):
        return pull - 0.5 * np.concatenate([np.zeros(6), v[6:]])

    exact = ps.rollout(model, q, v, dt=2.5e-4, steps=4000, method="rk4", controller=controller)
    errors = []
    for steps in (250, 500):
        run = ps.rollout(model, q, v, dt=1.0 / steps, steps=steps, method="midpoint", controller=controller)
        errors.append(np.abs(model.difference(exact.q[-1], run.q[-1])).max())
    held = ps.rollout(model, q, v, np.broadcast_to(pull, (500, model.nv)), dt=2e-3, method="midpoint")
    same = ps.rollout(model, q, v, dt=2e-3, steps=500, method="midpoint", controller=lambda t, q, v: pull)
    assert np.abs(held.q - same.q).max() < 1e-10
    assert errors[1] < 1e-2  # the controller is held over a step, which is of first order
    assert errors[1] < 0.6 * errors[0]


def test_thrust_and_gravity_change_the_momentum_by_their_impulse():
    model = nine_links().replace(gravity=(0.3, 0.0, -1.0))
    q, v = start(model)
    run = ps.rollout(model, q, v, dt=STEP, steps=2000, method="midpoint")
    before, after = (ff.momentum(model, run.q[k], run.v[k]) for k in (0, -1))
    assert np.abs(after[3:] - before[3:] - 2.0 * model.total_mass * model.gravity).max() < 1e-9
    assert np.abs(after[:3] - before[:3]).max() < 1e-12 * np.abs(before[:3]).max()
    center = [ps.center_of_mass(model, run.q[k]) for k in (0, -1)]
    fallen = 2.0 * before[3:] / model.total_mass + 2.0 * model.gravity
    assert np.abs(center[1] - center[0] - fallen).max() < 1e-9


def test_the_energy_changes_by_the_work_of_the_joint_forces():
    model = with_wheels()
    q, v = start(model)
    tau = np.concatenate([np.zeros(6), 0.2 * np.arange(1.0, model.nv - 5)])
    run = ps.rollout(model, q, v, np.broadcast_to(tau, (1000, model.nv)), dt=STEP, method="midpoint")
    energy = ps.kinetic_energy(model, run.q, run.v)
    work = np.sum(0.5 * (run.v[1:] + run.v[:-1]) @ tau) * STEP
    assert energy[-1] - energy[0] == pytest.approx(work, rel=1e-7)
    momenta = ff.momentum(model, run.q[[0, -1]], run.v[[0, -1]])
    assert np.abs(momenta[1] - momenta[0]).max() < 1e-13 * np.abs(momenta).max()


def test_a_robot_whose_joints_rest_is_a_rigid_body():
    """Locked by nothing, its joints start to move; with the rates all zero at the start nothing divides by zero."""
    model = with_wheels()
    q = model.random(3)
    run = ps.rollout(model, q, np.zeros(model.nv), dt=STEP, steps=50, method="midpoint")
    assert np.abs(run.q - run.q[0]).max() < 1e-14
    assert np.abs(run.v).max() < 1e-15
