"""Kalman's filter, smoother and information form: against the definition and statsmodels."""

import numpy as np
import pytest

import phistar as ps

T, n, m = 40, 3, 2


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(2)
    F, H = np.eye(n) + 0.2 * rng.normal(size=(T, n, n)), rng.normal(size=(T, m, n))
    W, V = np.diag([0.1, 0.2, 0.3]), np.array([[0.5, 0.1], [0.1, 0.4]])
    y = rng.normal(size=(T, m))
    y[5, 0], y[7] = np.nan, np.nan
    return {"y": y, "F": F, "H": H, "W": W, "V": V, "x0": np.ones(n), "P0": 2.0 * np.eye(n)}


def gaussian(series):
    """States and covariances from the joint Gaussian of all states and measurements, by the definition."""
    F, H, seen = series["F"], series["H"], ~np.isnan(series["y"]).reshape(-1)
    mean, spread = [series["x0"]], np.zeros((n * T, n * T))
    spread[:n, :n] = series["P0"]
    for t in range(1, T):
        now, before = slice(t * n, (t + 1) * n), slice((t - 1) * n, t * n)
        mean.append(F[t - 1] @ mean[-1])
        spread[now, : t * n] = F[t - 1] @ spread[before, : t * n]
        spread[: t * n, now] = spread[now, : t * n].T
        spread[now, now] = F[t - 1] @ spread[before, before] @ F[t - 1].T + series["W"]
    whole = np.zeros((T * m, T * n))
    for t in range(T):
        whole[t * m : (t + 1) * m, t * n : (t + 1) * n] = H[t]
    whole = whole[seen]
    cov = whole @ spread @ whole.T + np.kron(np.eye(T), series["V"])[np.ix_(seen, seen)]
    gain = np.linalg.solve(cov, whole @ spread).T
    mean = np.concatenate(mean)
    rest = series["y"].reshape(-1)[seen] - whole @ mean
    likelihood = -0.5 * (rest @ np.linalg.solve(cov, rest) + np.linalg.slogdet(2 * np.pi * cov)[1])
    return (mean + gain @ rest).reshape(T, n), spread - gain @ whole @ spread, likelihood


def test_the_smoother_is_the_conditional_gaussian(series):
    states, covariance, likelihood = gaussian(series)
    found = ps.estimation.kalman_smoother(**series)
    assert np.allclose(found.states, states, rtol=0, atol=1e-10 * np.abs(states).max())
    for t in range(T):
        assert np.allclose(found.covariances[t], covariance[t * n : (t + 1) * n, t * n : (t + 1) * n], atol=1e-10)
    assert found.filter.log_likelihood == pytest.approx(likelihood, rel=1e-11)


def test_filter_and_smoother_are_statsmodels(series):
    tsa = pytest.importorskip("statsmodels.tsa.statespace.kalman_smoother")
    peer = tsa.KalmanSmoother(k_endog=m, k_states=n, k_posdef=n)
    peer.bind(np.asfortranarray(series["y"].T))
    peer["transition"], peer["design"] = np.moveaxis(series["F"], 0, -1), np.moveaxis(series["H"], 0, -1)
    peer["selection"], peer["state_cov"], peer["obs_cov"] = np.eye(n), series["W"], series["V"]
    peer.initialize_known(series["x0"], series["P0"])
    told = peer.smooth()
    found = ps.estimation.kalman_smoother(**series)
    assert np.allclose(found.filter.states, told.filtered_state.T, rtol=0, atol=1e-10)
    assert np.allclose(found.filter.predicted, told.predicted_state.T, rtol=0, atol=1e-10)
    assert np.allclose(found.states, told.smoothed_state.T, rtol=0, atol=1e-10)
    assert np.allclose(found.covariances, np.moveaxis(told.smoothed_state_cov, -1, 0), rtol=0, atol=1e-10)
    assert found.filter.log_likelihood == pytest.approx(told.llf, rel=1e-10)


def test_the_information_form_is_the_filter(series):
    given = {name: series[name] for name in ("y", "F", "H", "W", "V")}
    inverse = np.linalg.inv(series["P0"])
    found = ps.estimation.information_filter(**given, Y0=inverse, z0=inverse @ series["x0"])
    filtered = ps.estimation.kalman_filter(**series)
    assert np.allclose(found.states, filtered.states, rtol=0, atol=1e-10)
    assert np.allclose(found.covariances, filtered.covariances, rtol=0, atol=1e-10)


def test_the_information_form_starts_from_nothing(series):
    given = {name: series[name] for name in ("y", "F", "H", "W", "V")}
    found = ps.estimation.information_filter(**given)
    assert not found.known[0] and found.known[2:].all() and np.isnan(found.states[0]).all()
    vague = ps.estimation.kalman_filter(**{**series, "P0": 1e8 * np.eye(n)})
    assert np.allclose(found.states[-1], vague.states[-1], atol=1e-6)


def test_innovations_of_a_true_model_are_consistent():
    rng, steps = np.random.default_rng(0), 4000
    F, H, W, V = np.array([[1.0, 0.1], [-0.1, 0.98]]), np.array([[1.0, 0.0]]), 0.01 * np.eye(2), np.array([[0.2]])
    x, y = np.zeros(2), np.empty((steps, 1))
    for t in range(steps):
        y[t] = H @ x + np.sqrt(0.2) * rng.normal()
        x = F @ x + 0.1 * rng.normal(size=2)
    nis = ps.estimation.kalman_filter(y, F, H, W, V, np.zeros(2), 0.01 * np.eye(2)).nis
    assert abs(nis.mean() - 1.0) < 4 * np.sqrt(2 / steps)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"V": np.zeros((m, m)), "P0": np.zeros((n, n))}, "measurement 0 is not positive"),
        ({"F": np.eye(n + 1)}, "F has shape"),
        ({"y": np.full((T, m), np.inf)}, "infinite"),
        ({"W": np.full((n, n), np.nan)}, "not finite"),
        ({"y": np.zeros(T)}, r"\(T, m\)"),
        ({"y": "a log"}, "must be numbers"),
        ({"W": np.triu(np.ones((n, n)))}, "W must be symmetric"),
        ({"P0": np.triu(np.ones((n, n)))}, "P0 must be symmetric"),
    ],
)
def test_bad_input_gets_a_sentence(series, changed, said):
    with pytest.raises(ps.PhistarError, match=said):
        ps.estimation.kalman_filter(**{**series, **changed})


def test_a_singular_noise_has_no_information_form(series):
    given = {name: series[name] for name in ("y", "F", "H", "V")}
    with pytest.raises(ps.InfeasibleError, match="W is singular"):
        ps.estimation.information_filter(**given, W=np.zeros((n, n)))
