"""Predictive and path-integral control: rollouts against ps.rollout, controllers in closed loop, sentences."""

import numpy as np
import pytest
from scipy.stats import kstest

import phistar as ps
from phistar.optimize.noise_pool import NoisePool

o = ps.optimize
ARM = ps.planar_chain(2)
GOAL = np.array([0.8, -0.4])


def task(**changed):
    given = {"dt": 0.02, "steps": 25, "running": [o.control(1e-3), o.joint_position(GOAL, 20.0), o.joint_velocity(0.5)]}
    given["terminal"] = [o.joint_position(GOAL, 20.0)]
    return o.problem(ARM, [0.0, 0.0], **(given | changed))


def test_sampled_motions_are_rollouts_and_their_costs_the_problems():
    problem, rng = task(), np.random.default_rng(0)
    law = ps.control.PathIntegral(problem, noise=1.0)
    u = rng.normal(size=(9, 25, 2))
    made = law.motions.run(np.array([0.1, 0.2]), np.array([0.3, 0.0]), u)
    run = ps.rollout(ARM, [0.1, 0.2], [0.3, 0.0], u, dt=0.02, method="euler")
    assert np.abs(made.q - run.q).max() < 1e-12 and np.abs(made.v - run.v).max() < 1e-12
    away = run.q[:, :-1] - GOAL
    rates = 1e-3 * np.sum(u**2, axis=-1) + 20.0 * np.sum(away**2, axis=-1) + 0.5 * np.sum(run.v[:, :-1] ** 2, axis=-1)
    wanted = 0.5 * 0.02 * rates.sum(axis=-1) + 10.0 * np.sum((run.q[:, -1] - GOAL) ** 2, axis=-1)
    assert np.allclose(made.cost, wanted, rtol=1e-12)


def test_path_integrals_come_near_the_optimum_without_derivatives():
    problem = task()
    law = ps.control.PathIntegral(problem, noise=6.0, samples=1024, rounds=60, adapt=0.1, seed=3)
    best, held = problem.solve(), problem.guess()[2]
    plan = law.plan([0.0, 0.0], [0.0, 0.0])
    start = law.motions.run(problem.q0, problem.v0, held[None]).cost[0]
    found = law.motions.run(problem.q0, problem.v0, plan.u[None]).cost[0]
    assert best.cost <= found < best.cost + 0.1 * (start - best.cost) and 1.0 <= plan.effective <= 1024
    again = law.plan([0.0, 0.0], [0.0, 0.0])
    assert np.array_equal(plan.u, again.u)


@pytest.mark.parametrize("bounds", [None, ([-1.0, -0.5], [0.8, 2.0])], ids=["free", "bounded"])
@pytest.mark.parametrize("covariance", [[[4.0, 0.0], [0.0, 1.0]], [[4.0, 0.9], [0.9, 1.0]]], ids=["alone", "together"])
def test_costs_and_means_of_noisy_motions_are_those_of_their_controls(covariance, bounds):
    problem, samples = task(limits=bounds), 301
    root, mean = np.linalg.cholesky(covariance), 0.3 * np.random.default_rng(0).normal(size=(25, 2))
    law = ps.control.PathIntegral(problem, noise=covariance, samples=samples)
    pool, q, v = NoisePool(samples, 25, problem.low, problem.high, 0), np.array([0.1, 0.2]), np.array([0.3, 0.0])
    found = law.motions.costs(q, v, mean, root, pool.noise(2))
    u = pool.controls(mean, root, 2)
    wanted = law.motions.run(q, v, u.reshape(-1, 25, 2)).cost
    assert np.abs(found.reshape(-1) - wanted).max() < 1e-13 * np.abs(wanted).max()
    if bounds is not None:
        assert u.min() == -1.0 and u.max() == 2.0
    weights = np.random.default_rng(1).random(found.shape)
    assert np.allclose(pool.average(mean, root, weights), np.einsum("gl,glti->ti", weights, u), rtol=1e-12)
    assert np.isfinite(pool.count(found)).sum() == 302 and np.isfinite(pool.count(found)[:-1]).all()


def test_noise_is_normal_mirrored_bounded_and_that_of_its_round():
    low, high, mean = np.array([-np.inf, -0.5]), np.array([np.inf, 0.5]), np.array([[1.0, 0.0]] * 40)
    root = np.array([[2.0, 0.0], [0.6, 0.8]])
    pool = NoisePool(1000, 40, low, high, seed=0)
    u = pool.controls(mean, root, 3)
    assert np.allclose(u[:, :8, :, 0] + u[:, 8:, :, 0], 2.0) and np.abs(u[..., 1]).max() == 0.5
    free = NoisePool(1000, 40, -high * np.inf, high * np.inf, seed=0)

    def drawn(number):
        return free.controls(0.0 * mean, root, number)[:, :8].reshape(-1, 40, 2)[:500] @ np.linalg.inv(root).T

    noise, other = drawn(3), drawn(4)
    assert np.allclose(np.cov(noise.reshape(-1, 2).T), np.eye(2), atol=0.03)
    assert kstest(noise[:, :, 0].ravel(), "norm").pvalue > 0.01
    assert abs(np.corrcoef(noise.ravel(), other.ravel())[0, 1]) < 0.02
    assert np.array_equal(drawn(3), noise)
    across = np.corrcoef(noise.reshape(500, -1))[np.triu_indices(500, 1)]
    assert np.std(across) == pytest.approx(1 / np.sqrt(80), rel=0.05)


def test_the_covariance_follows_the_samples_that_count():
    problem = task(running=[o.residual(lambda q, v, u: u[:1] - u[1:2], 10.0)], terminal=[])
    law = ps.control.PathIntegral(problem, noise=1.0, samples=512, rounds=6, adapt=0.5, temperature=0.05)
    found = law.plan([0.0, 0.0], [0.0, 0.0]).covariance
    assert found[0, 1] > 0.0 and found[0, 0] + found[1, 1] - 2 * found[0, 1] < 0.9 * (found[0, 0] + found[1, 1])


@pytest.mark.parametrize(
    "law",
    [
        ps.control.ModelPredictiveControl(task(), iterations=3),
        ps.control.PathIntegral(task(), noise=4.0, samples=512, rounds=4),
    ],
    ids=["predictive", "path integral"],
)
def test_controllers_bring_the_arm_to_its_goal(law):
    run = ps.simulate(ARM, [0.0, 0.0], [0.0, 0.0], 1.2, control=law, rtol=1e-6)
    assert np.abs(run.q[-1] - GOAL).max() < 0.25
    memory, first = law.command(law.start(), 0.0, {"q": np.zeros(2), "v": np.zeros(2)})
    again = law.command(law.start(), 0.0, {"q": np.zeros(2), "v": np.zeros(2)})[1]
    assert np.array_equal(first.tau, again.tau) and np.isfinite(list(first.facts.values())).all()
    assert law.command(memory, law.period, {"q": np.zeros(2), "v": np.zeros(2)})[1].tau.shape == (2,)


def test_predictive_control_keeps_limits_and_its_deadline():
    law = ps.control.ModelPredictiveControl(task(limits=([-3.0, -3.0], [3.0, 3.0])), iterations=50, deadline=1e-9)
    _, command = law.command(None, 0.0, {"q": np.zeros(2), "v": np.zeros(2)})
    assert np.abs(command.tau).max() <= 3.0 and command.facts["iterations"] == 1.0
    longer = ps.control.ModelPredictiveControl(task(), iterations=50).command(
        None, 0.0, {"q": np.zeros(2), "v": np.zeros(2)}
    )
    assert longer[1].facts["iterations"] > 1.0


def test_bad_controllers_get_a_sentence():
    uneven = task(dt=np.linspace(0.01, 0.03, 25), steps=None)
    with pytest.raises(ps.PhistarError, match="steps of one length"):
        ps.control.ModelPredictiveControl(uneven)
    with pytest.raises(ps.ShapeError, match="noise must be positive"):
        ps.control.PathIntegral(task(), noise=0.0)
    limited = task(constraints=[o.constraint(lambda q, v, u: v[:1], -1.0, 1.0)])
    at_end = task(terminal_constraints=[o.constraint(lambda q, v, u: v[:1], -1.0, 1.0)])
    for constrained in (limited, at_end):
        with pytest.raises(ps.PhistarError, match="no constraints"):
            ps.control.PathIntegral(constrained, noise=1.0)
    with pytest.raises(ps.ShapeError, match="noise must be positive"):
        ps.control.PathIntegral(task(), noise=1e200)
    with pytest.raises(ps.PhistarError, match="at least one iteration"):
        ps.control.ModelPredictiveControl(task(), iterations=0)
