"""The linear-quadratic regulator over steps: against the definition, scipy."""

import numpy as np
import pytest
from scipy.linalg import block_diag, solve_discrete_are

import phistar as ps

N, n, m = 20, 4, 2


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(N + 1, n + m, n + m))
    whole = root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(n + m)
    made = {"A": np.eye(n) + 0.1 * rng.normal(size=(N, n, n)), "B": rng.normal(size=(N, n, m))}
    made |= {"Q": whole[:-1, :n, :n], "R": whole[:-1, n:, n:], "cross": whole[:-1, :n, n:]}
    made |= {"drift": rng.normal(size=(N, n)), "q": rng.normal(size=(N, n)), "r": rng.normal(size=(N, m))}
    return made | {"terminal": whole[-1, :n, :n]}


def in_controls(problem, x0):
    """The cost ½u*Hu + g*u + … with the states eliminated, by the definition."""
    G, free = np.zeros(((N + 1) * n, N * m)), np.zeros((N + 1) * n)
    free[:n] = x0
    for k in range(N):
        now, after = slice(k * n, (k + 1) * n), slice((k + 1) * n, (k + 2) * n)
        G[after], free[after] = problem["A"][k] @ G[now], problem["A"][k] @ free[now] + problem["drift"][k]
        G[after, k * m : (k + 1) * m] += problem["B"][k]
    Q, R = block_diag(*problem["Q"], problem["terminal"]), block_diag(*problem["R"])
    S = np.vstack([block_diag(*problem["cross"]), np.zeros((n, N * m))])
    q = np.concatenate([problem["q"].reshape(-1), np.zeros(n)])
    hessian = G.T @ Q @ G + R + G.T @ S + S.T @ G
    return hessian, G.T @ (Q @ free + q) + problem["r"].reshape(-1) + S.T @ free


def test_it_is_the_minimum_with_cross_terms_and_drift(problem):
    x0 = np.ones(n)
    hessian, gradient = in_controls(problem, x0)
    found = ps.control.lqr(**problem)
    _, u = found.follow(x0)
    wanted = -np.linalg.solve(hessian, gradient)
    assert np.abs(u.reshape(-1) - wanted).max() <= 1e-11 * np.abs(wanted).max()
    assert found.log_det == pytest.approx(np.linalg.slogdet(hessian)[1], rel=1e-12)


def test_over_many_steps_it_is_scipys_stationary_solution():
    rng = np.random.default_rng(0)
    A, B, Q, R = np.eye(n) + 0.1 * rng.normal(size=(n, n)), rng.normal(size=(n, m)), np.eye(n), 0.5 * np.eye(m)
    P = solve_discrete_are(A, B, Q, R)
    found = ps.control.lqr(A, B, Q, R, steps=400)
    assert np.abs(found.P[0] - P).max() <= 1e-10 * np.abs(P).max()
    gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    assert np.abs(found.gains[0] - gain).max() <= 1e-10 * np.abs(gain).max()


def test_bounds_are_kept_and_are_optimal_in_one_step():
    rng = np.random.default_rng(5)
    for _ in range(20):
        root, r = rng.normal(size=(5, 5)), 3.0 * rng.normal(size=5)
        R = root @ root.T + 0.1 * np.eye(5)
        low, high = -rng.random(5), rng.random(5)
        found = ps.control.lqr(np.eye(5), np.eye(5), np.zeros((5, 5)), R, steps=1, r=r, bounds=(low, high)).offsets[0]
        assert (found >= low).all() and (found <= high).all()
        slope = R @ found + r
        assert (slope[found == low] >= -1e-9).all() and (slope[found == high] <= 1e-9).all()
        assert np.abs(slope[(found > low) & (found < high)]).max(initial=0.0) <= 1e-9


def test_gains_are_zero_where_a_bound_is_met():
    found = ps.control.lqr(np.eye(1), np.eye(1), np.eye(1), np.eye(1), steps=1, r=[5.0], bounds=([-1.0], [1.0]))
    assert found.offsets.tolist() == [[-1.0]] and found.gains.tolist() == [[[0.0]]]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"R": np.zeros((m, m)), "Q": np.zeros((n, n)), "terminal": np.zeros((n, n))}, "not positive"),
        ({"Q": np.triu(np.ones((n, n)))}, "must be symmetric"),
        ({"steps": None}, "How many steps"),
        ({"A": np.full((n, n), np.nan)}, "not finite"),
        ({"B": np.ones((n + 1, m))}, "B has shape"),
        ({"Q": "heavy"}, "must be an array of numbers"),
        ({"bounds": (np.ones(m), -2.0 * np.ones(m))}, "above the greatest by up to 3"),
        ({"bounds": (np.ones(m),)}, "bounds are a pair"),
        ({"bounds": (np.ones(m), np.ones(m + 1))}, "do not fit together"),
        ({"bounds": (np.full(m, np.nan), np.ones(m))}, "no numbers"),
    ],
)
def test_bad_input_gets_a_sentence(changed, said):
    given = {"A": np.eye(n), "B": np.ones((n, m)), "Q": np.eye(n), "R": np.eye(m), "steps": 5} | changed
    with pytest.raises(ps.PhistarError, match=said):
        ps.control.lqr(**given)
