"""The effective inertia of closures: the elimination that is compiled, against the rank and the forces it must find."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import PIVOTED
from phistar.loops import forward
from phistar.loops.effective import Eliminated, eliminate, pseudo_inverse, rank_and_condition, solve_by_rank
from tests.loops.mechanisms import four_bar

ROWS = 6


@pytest.fixture(scope="module")
def compiled():
    def solve(table, right):
        matrix = table.reshape(ROWS, ROWS)
        found = eliminate(matrix, right, np.stack([matrix[i, i] for i in range(ROWS)]))
        return Eliminated(found.forces, np.asarray(found.rank), np.asarray(found.doubt))

    return ps.compile(solve, ps.chain(1), rows={"table": ROWS * ROWS, "right": ROWS})


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rank", range(ROWS + 1))
@pytest.mark.parametrize("smallest", [1.0, 1e-4, 1e-9])
def test_a_few_closures_are_eliminated_with_their_rank_and_without_doubt(compiled, rank, smallest):
    rng = np.random.default_rng(rank)
    vectors = np.linalg.qr(rng.standard_normal((40, ROWS, ROWS)))[0]
    values = np.zeros(ROWS)
    values[:rank] = np.geomspace(1.0, smallest, rank)
    units = np.geomspace(1e3, 1e-3, ROWS)  # angles and lengths: the scale of each row is its own
    matrix = np.einsum("i,bik,k,bjk,j->bij", units, vectors, values, vectors, units)
    right = np.einsum("bij,bj->bi", matrix, rng.standard_normal((40, ROWS)) / units)
    forces, found, doubt = compiled(matrix.reshape(40, -1), right)
    assert (found == rank).all() and (doubt == 0.0).all()
    left = (np.einsum("bij,bj->bi", matrix, forces) - right) / units
    assert np.abs(left).max() <= 1e-13 * np.abs(units * forces).max(initial=1.0)


@pytest.fixture(scope="module")
def inverse():
    return ps.compile(lambda table: pseudo_inverse(table.reshape(12, 12)), ps.chain(1), rows={"table": 144})


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rank", [1, 6, 9, 12])
def test_the_compiled_pseudo_inverse_is_that_of_the_eigenvectors(inverse, rank):
    rng = np.random.default_rng(rank)
    vectors = np.linalg.qr(rng.standard_normal((20, 12, 12)))[0][..., :rank]
    matrix = np.matmul(vectors * np.geomspace(1.0, 1e-4, rank), np.swapaxes(vectors, -1, -2))
    matrix[3] *= np.nan
    found, kept, condition = inverse(matrix.reshape(20, -1))
    want = pseudo_inverse(matrix)
    good = np.arange(20) != 3
    assert (kept[good] == rank).all() and (want.rank[good] == rank).all()
    exact = np.matmul(vectors / np.geomspace(1.0, 1e-4, rank), np.swapaxes(vectors, -1, -2))
    for made, at_most in ((found, 1e-11), (want.inverse, 1e-11)):
        assert np.isnan(made[3]).all() and np.abs(made - exact)[good].max() < at_most * np.abs(exact).max()
    np.testing.assert_allclose(condition[good], want.condition[good], rtol=1e-10)


def test_a_state_all_but_singular_is_solved_by_the_kernel_alone(monkeypatch):
    model = four_bar()
    angle = np.array([[1e-3], [1e-4], [1.0]])  # of a parallelogram whose bars lie in one line at zero
    q, v = angle * [1.0, -1.0, 1.0], np.array([1.0, -1.0, 1.0])
    want = forward.closed_motion(model, q, v, np.zeros(3))
    assert want.condition[1] > 1e6
    monkeypatch.setattr(forward, "closed_motion", None)
    got = ps.forward_dynamics(model, q, v, np.zeros(3))
    np.testing.assert_allclose(got, want.acceleration, rtol=0, atol=1e-14 * want.condition.max())


def test_many_closures_keep_their_doubt():
    matrix = np.eye(PIVOTED + 1)
    matrix[-1, -1] = 1e-10
    assert eliminate(matrix, np.ones(len(matrix)), np.ones(len(matrix))).doubt == 1.0


def test_rank_and_condition_by_eigenvalues_alone_are_those_of_the_solution():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(5, 7, 4)) * np.array([1.0, 1e-3, 10.0, 1.0])
    matrix = factors @ np.swapaxes(factors, -1, -2)
    matrix[3, 0, 0] = np.nan
    scale = np.abs(np.diagonal(matrix, axis1=-2, axis2=-1))
    solved = solve_by_rank(matrix, np.ones((5, 7)), scale)
    rank, condition = rank_and_condition(matrix, scale)
    np.testing.assert_array_equal(rank, solved.rank)
    np.testing.assert_allclose(condition, solved.condition, rtol=1e-6)
    assert rank.tolist() == [4, 4, 4, 0, 4] and np.isnan(condition[3])
