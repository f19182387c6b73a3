"""Forward dynamics is the linear-quadratic regulator: statements about links, evaluated with steps for links."""

import numpy as np
import pytest
from scipy.linalg import block_diag

import phistar as ps
from phistar.errors import StatementError

N, n, m = 25, 4, 2


@pytest.fixture(scope="module")
def system():
    rng = np.random.default_rng(0)
    A, B = np.eye(n) + 0.1 * rng.normal(size=(N, n, n)), rng.normal(size=(N, n, m))
    roots = rng.normal(size=(N, n, n)), rng.normal(size=(N, m, m))
    Q, R = (x @ np.swapaxes(x, -1, -2) for x in roots)
    return A, B, Q, R + np.eye(m)


def response(A, B):
    """G of x = Gu, x after every step, by the definition."""
    G = np.zeros((N * n, N * m))
    for k in range(N):
        if k:
            G[k * n : (k + 1) * n] = A[k] @ G[(k - 1) * n : k * n]
        G[k * n : (k + 1) * n, k * m : (k + 1) * m] += B[k]
    return G


def condensed(A, B, Q, R):
    G = response(A, B)
    return G.T @ block_diag(*Q) @ G + block_diag(*R)


def test_the_mass_matrix_is_the_condensed_hessian(system):
    A, found = ps.algebra(armature=True), ps.control.StepChain(*system)
    hessian = condensed(*system)
    assert np.allclose(found.dense(A.mass), hessian, rtol=1e-13, atol=1e-12 * np.abs(hessian).max())
    assert np.allclose(found.dense(A.phi.T @ A.H.T), response(*system[:2]), rtol=1e-13, atol=1e-12)


def test_forward_dynamics_is_the_regulator(system):
    """R87's filter and smoother over steps solve the condensed problem; the log determinants are equal."""
    A, chain, hessian = ps.algebra(armature=True), ps.control.StepChain(*system), condensed(*system)
    forces = np.random.default_rng(1).normal(size=N * m)
    wanted = np.linalg.solve(hessian, forces)
    assert np.abs(chain.apply(A.mass.inv, forces) - wanted).max() <= 1e-13 * np.abs(wanted).max() * np.linalg.cond(
        hessian
    )
    regulator = ps.control.lqr(*system[:2], *weights_by_start(system), r=-forces.reshape(N, m))
    _, u = regulator.follow(np.zeros(n))
    assert np.abs(u.reshape(-1) - chain.apply(A.mass.inv, forces)).max() <= 1e-12 * np.abs(wanted).max()
    assert regulator.log_det == pytest.approx(np.linalg.slogdet(hessian)[1], rel=1e-13)


def weights_by_start(system):
    """Q by the state before each step, which `lqr` takes, the last being the terminal weight; and R."""
    _, _, Q, R = system
    return np.concatenate([np.zeros((1, n, n)), Q[:-1]]), R, Q[-1]


def test_the_articulated_inertia_is_the_cost_to_go(system):
    A, chain = ps.algebra(armature=True), ps.control.StepChain(*system)
    regulator = ps.control.lqr(*system[:2], *weights_by_start(system))
    D = chain.dense(A.D)
    assert np.allclose(block_diag(*regulator.D), D, rtol=1e-11, atol=1e-11 * np.abs(D).max())
    P = chain.dense(A.P)
    assert np.allclose(block_diag(*regulator.P[1:]), P, rtol=1e-11, atol=1e-11 * np.abs(P).max())


def measurements(T=20, m=2):
    rng = np.random.default_rng(5)
    F, H, roots = (
        np.eye(n) + 0.1 * rng.normal(size=(T, n, n)),
        rng.normal(size=(T, m, n)),
        rng.normal(size=(T, n, n)),
    )
    W, V = roots @ np.swapaxes(roots, -1, -2) + 0.1 * np.eye(n), np.broadcast_to(0.5 * np.eye(m), (T, m, m))
    return rng.normal(size=(T, m)), F, H, W, V


def blocks(matrix, T):
    """Diagonal blocks, the first measurement's first."""
    return np.stack([matrix[k * n : (k + 1) * n, k * n : (k + 1) * n] for k in range(T)])[::-1]


def test_kalmans_filter_and_smoother_are_statements():
    y, F, H, W, V = measurements()
    A, chain, T = ps.algebra(armature=True), ps.control.StepChain.measured(F, H, W, V, 2.0 * np.eye(n)), len(y)
    found, given = ps.estimation.kalman_smoother(y, F, H, W, V, np.zeros(n), 2.0 * np.eye(n)), y[::-1].reshape(-1)

    def states(statement, rows=n):
        return chain.apply(statement, given).reshape(T, rows)[::-1]

    assert np.allclose(states(A.psi @ A.K), found.filter.predicted[:-1], atol=1e-11)
    assert np.allclose(y - states(A.H @ A.psi @ A.K, y.shape[1]), found.filter.innovations, atol=1e-11)
    assert np.allclose(blocks(chain.dense(A.P), T), found.filter.predicted_covariances[:-1], atol=1e-11)
    spread = A.phi @ A.M @ A.phi.T
    smooth = spread @ A.H.T @ A.mass.inv
    assert np.allclose(states(smooth), found.states, atol=1e-11)
    assert np.allclose(blocks(chain.dense(spread - smooth @ A.H @ spread), T), found.covariances, atol=1e-11)
    assert np.linalg.slogdet(chain.dense(A.mass))[1] == pytest.approx(np.linalg.slogdet(found.filter.D)[1].sum())


def test_the_smoother_is_derived_from_the_conditional_mean():
    """E[z|y] = cov(z, y) cov(y)⁻¹ y becomes Bryson and Frazier's two sweeps."""
    A = ps.algebra(armature=True)
    smooth = A.phi @ A.M @ A.phi.T @ A.H.T @ A.mass.inv
    assert str(smooth.derivation()).splitlines()[-1].split("[")[0].strip() == "= Pψ*H*D⁻¹(I − HψK) + ψK"
    text = str(smooth.algorithm())
    assert text.count("end loop") == 2 and "λ(k) = λ⁻(k) + H*(k) (ν(k) − G*(k) λ⁻(k))" in text


def test_the_information_form_is_the_same_sweep():
    y, F, H, W, V = measurements()
    chain = ps.control.StepChain.informed(F, H, W, V)
    found = ps.estimation.information_filter(y, F, H, W, V)
    assert np.allclose(blocks(chain.dense(ps.algebra(armature=True).P), len(y)), found.Y, atol=1e-10)


def test_scaling_the_statement_scales_the_result(system):
    A, chain = ps.algebra(armature=True), ps.control.StepChain(*system)
    forces = np.ones(N * m)
    assert np.allclose(chain.apply(3 * A.mass.inv, forces), 3 * chain.apply(A.mass.inv, forces), rtol=1e-12)


def test_statements_without_armature_or_with_frames_are_refused(system):
    chain = ps.control.StepChain(*system)
    with pytest.raises(StatementError, match="armature=True"):
        chain.dense(ps.algebra().mass)
    with pytest.raises(StatementError, match="no frames"):
        chain.dense(ps.algebra(armature=True).J)


def test_shapes_are_checked(system):
    A, B, Q, R = system
    with pytest.raises(ps.ShapeError, match="Q has shape"):
        ps.control.StepChain(A, B, Q[:-1], R)
    with pytest.raises(ps.ShapeError, match="A and B"):
        ps.control.StepChain(A[0], B, Q, R)
