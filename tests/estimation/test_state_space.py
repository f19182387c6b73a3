"""Someone else's smoother computes joint accelerations, and white noise has the mass matrix as its covariance."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar import estimation
from phistar.errors import ModelError, ShapeError
from phistar.identities.two_way_laws import two_way_kernel
from tests.estimation import r87
from tests.loops.test_flexible_embedding import closed_state, window
from tests.trees import mechanism, relative


def smoothed(space, tau):
    """statsmodels' Kalman smoother, told only matrices; tau is tip first."""
    smoother = pytest.importorskip("statsmodels.tsa.statespace.kalman_smoother")
    n = len(tau)
    later = lambda x: np.moveaxis(np.concatenate([x[1:], np.zeros_like(x[:1])]), 0, -1)  # noqa: E731
    filter_ = smoother.KalmanSmoother(
        k_endog=1,
        k_states=space.transition.shape[-1],
        initialization="known",
        initial_state=space.state_input[0],
        initial_state_cov=space.state_covariance[0],
        tolerance=0,
    )
    filter_.bind(np.ascontiguousarray(tau[:, None]))
    filter_["design"] = np.moveaxis(space.design, 0, -1)
    filter_["obs_cov"] = space.noise.reshape(1, 1, n)
    filter_["transition"] = later(space.transition)
    filter_["state_cov"] = later(space.state_covariance)
    filter_["state_intercept"] = later(space.state_input)
    filter_["selection"] = np.eye(space.transition.shape[-1])
    return filter_.smooth()


@pytest.fixture(scope="module", params=["chain", "puma560", "puma560 at rest"])
def arm(request):
    if request.param == "chain":
        return r87.arm(5, seed=5)
    q, v, tau = np.random.default_rng(6).normal(size=(3, 6))
    return ps.load("puma560"), q, 0 * v if "rest" in request.param else v, 5 * tau


@pytest.fixture(scope="module")
def outside(arm):
    model, q, v, tau = arm
    return smoothed(estimation.state_space(model, q, v), tau[::-1])


def test_the_smoothing_errors_are_the_joint_accelerations(arm, outside):
    assert relative(outside.smoothing_error[0, ::-1], ps.forward_dynamics(*arm)) < 1e-9


def test_the_forecast_variances_are_the_joint_inertias(arm, outside):
    model, q, *_ = arm
    D = np.diagonal(ps.innovations(model, q).D)
    assert relative(outside.forecasts_error_cov[0, 0, ::-1], D) < 1e-11


def test_predicted_covariances_are_articulated_inertias_and_smoothed_ones_are_s(arm, outside):
    model, q, *_ = arm
    ours = estimation.covariances(model, q)
    n = len(model.bodies)
    assert relative(np.moveaxis(outside.predicted_state_cov[:, :, :n], -1, 0)[::-1], ours.predicted) < 1e-10
    error = np.moveaxis(outside.smoothed_state_cov, -1, 0)[::-1] - ours.smoothed
    assert np.abs(error).max() < 1e-10 * np.abs(ours.predicted).max()


def test_smoothed_states_are_the_forces_on_the_links(arm, outside):
    forces = estimation.forward_dynamics(*arm, keep=["states"]).states
    assert relative(outside.smoothed_state.T[::-1], forces) < 1e-9


def test_the_filter_needs_the_bias_accelerations_of_a_moving_arm():
    """R87 §IX sets n = 0: b alone is wrong for a moving arm."""
    model, q, v, tau = r87.arm(5, seed=5)
    space = estimation.state_space(model, q, v)
    chain = r87.Chain(model, q, v)
    only_b = np.stack([b[:, 0] for b in chain.b[1:]])
    wrong = replace(space, state_input=only_b)
    error = relative(smoothed(wrong, tau[::-1]).smoothing_error[0, ::-1], ps.forward_dynamics(model, q, v, tau))
    assert error > 1e-2


@pytest.mark.parametrize("name", ["chain", "puma560", "rj2w_tree"])
def test_the_sample_covariance_of_white_noise_approaches_the_mass_matrix(name):
    """Within what so many samples allow: errors of √((m(i,i) m(k,k) + m(i,k)²)/count), five of them."""
    model = ps.chain(4) if name == "chain" else ps.load(name)
    rng, count = np.random.default_rng(1), 40_000
    q = model.random(rng)
    mass = ps.mass_matrix(model, q)
    drawn = estimation.sample_joint_forces(model, q, count, rng)
    spread = np.sqrt((np.outer(np.diag(mass), np.diag(mass)) + mass**2) / count)
    assert drawn.shape == (count, model.nv)
    assert np.all(np.abs(drawn.T @ drawn / count - mass) < 5 * spread)
    assert np.any(np.abs(drawn.T @ drawn / count - mass) > 0.1 * spread)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
def test_trees_and_joints_of_any_dof_are_series_too(seed):
    """Where branches meet their forces are added; the rates of a joint are measured one after the other."""
    model = mechanism(seed, serial=False, rotors=False, varying=False).model
    rng = np.random.default_rng(seed)
    q, v, tau = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    space = estimation.state_space(model, q, v)
    assert sorted(space.rates) == list(range(model.nv))
    errors = smoothed(space, tau[space.rates]).smoothing_error[0]
    accelerations = np.empty(model.nv)
    accelerations[space.rates] = errors
    assert relative(accelerations, ps.forward_dynamics(model, q, v, tau)) < 1e-7


@pytest.mark.parametrize("at", ["bars", "ground"])
def test_mechanisms_in_independent_rates_are_series_scans_and_noise_too(at):
    """A step for each independent rate; compound links, whose bars bend, are as wide as their members together."""
    model, q, v = closed_state(window(at, at != "bars"))
    rng, count = np.random.default_rng(2), 40_000
    tau, mass = rng.normal(size=model.nv), ps.mass_matrix(model, q)
    wanted, found = ps.forward_dynamics(model, q, v, tau), np.empty(model.nv)
    space = estimation.state_space(model, q, v)
    found[space.rates] = smoothed(space, tau[space.rates]).smoothing_error[0]
    assert relative(found, wanted) < 1e-10
    assert relative(estimation.scanned_forward_dynamics(model, q, v, tau), wanted) < 1e-10
    drawn = estimation.sample_joint_forces(model, q, count, rng)
    spread = np.sqrt((np.outer(np.diag(mass), np.diag(mass)) + mass**2) / count)
    assert np.all(np.abs(drawn.T @ drawn / count - mass) < 5 * spread)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("free_base", [False, True])
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_link_forces_are_sampled_with_the_kernels_covariance(seed, free_base):
    """φMφ*, or the two-way R̄ of a base that nothing holds: RJ2W's bridge in six dimensions on a tree."""
    model = mechanism(seed, serial=False, rotors=False).model
    q, count = model.random(np.random.default_rng(seed)), 40_000
    a = ps.algebra(model)
    held = (a.phi @ a.M @ a.phi.T).dense(q)
    expected = a.expression(two_way_kernel(a.symbols)).dense(q) if free_base else held
    drawn = estimation.sample_link_forces(model, q, count, np.random.default_rng(1), free_base=free_base)
    assert drawn.shape == (count, len(model.bodies), 6)
    flat = drawn.reshape(count, -1)
    spread = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / count)
    slack = 1e-9 * np.abs(held).max()
    assert np.all(np.abs(flat.T @ flat / count - expected) < 5 * spread + slack)
    if free_base:
        assert np.abs(drawn[:, 0]).max() < 1e-9 * np.abs(drawn).max()


def test_what_is_no_time_series_is_refused():
    two = mechanism(1, serial=False, rotors=False).model
    with pytest.raises(ModelError, match="tied down at one"):
        estimation.sample_link_forces(two, two.neutral(), 10, np.random.default_rng(0), free_base=True)
    with pytest.raises(ShapeError, match="one state"):
        estimation.state_space(ps.chain(2), np.zeros((3, 2)), np.zeros(2))
