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
