"""Blocks of numbers or traced scalars: small dense inverses and solves that take batches and never raise for one bad
row, products and sums. What is zero by structure is None, and nothing is computed with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from phistar.backends.traces.trace import Scalar
from phistar.sweeps.evaluate import Domain, Terms
from phistar.sweeps.ir import Times

SMALLEST_PIVOT = 1e-10
"""Bound relative to the diagonal: below it, an inverse on task space has fewer than six digits and is refused."""


def invert(matrix: np.ndarray) -> np.ndarray:
    """X⁻¹ of a small symmetric positive definite block, (…, r, r): Gauss-Jordan without pivoting."""
    size = matrix.shape[-1]
    if size == 1:
        return 1.0 / matrix
    left: list[list[Any]] = [
        [matrix[..., i, j][()] for j in range(size)] for i in range(size)
    ]  # a traced scalar, not an array of one
    right: list[list[Any]] = [[float(i == j) for j in range(size)] for i in range(size)]
    for pivot in range(size):
        scale = 1.0 / left[pivot][pivot]
        left[pivot] = [scale * x for x in left[pivot]]
        right[pivot] = [scale * x for x in right[pivot]]
        for row in range(size):
            if row != pivot:
                factor = left[row][pivot]
                left[row] = [x - factor * y for x, y in zip(left[row], left[pivot], strict=True)]
                right[row] = [x - factor * y for x, y in zip(right[row], right[pivot], strict=True)]
    whole = [[np.broadcast_to(x, matrix.shape[:-2]) for x in row] for row in right]
    return np.stack([np.stack(row, axis=-1) for row in whole], axis=-2)


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """X⁻¹Y, (…, m, m), (…, m, c): a singular X gives NaN in its own row of the batch only."""
    batch = np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    matrix = np.broadcast_to(matrix, (*batch, *matrix.shape[-2:]))
    right = np.broadcast_to(right, (*batch, *right.shape[-2:]))
    if matrix.dtype == object or right.dtype == object:
        return np.matmul(invert(matrix), right)
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        result = np.full(right.shape, np.nan)
        for index in np.ndindex(*batch):
            if np.linalg.matrix_rank(matrix[index]) == matrix.shape[-1]:
                result[index] = np.linalg.solve(matrix[index], right[index])
        return result


def solve_symmetric(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """X⁻¹Y for symmetric positive X. Traced, the last row is eliminated first: parents stand before children in X, so
    that the zeros of branches stay zeros (Featherstone's LTDL)."""
    if matrix.dtype != object and right.dtype != object:
        return solve(matrix, right)
    return _eliminate(matrix, right, None)


def solve_task(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """X⁻¹Y for a symmetric positive X on a task space: NaN where a direction is all but lost, in that row of the batch.

    A pivot is what is left of a direction once others are held; below SMALLEST_PIVOT of the mean of its three
    diagonal entries (angular or linear, so that units do not matter) most of its digits are rounding errors.
    """
    return _eliminate(matrix, right, SMALLEST_PIVOT * scales(matrix))


def solve_above(matrix: np.ndarray, right: np.ndarray, least: np.ndarray) -> np.ndarray:
    """X⁻¹Y for a symmetric positive X: NaN where a pivot falls below `least` (…, m), in that row of the batch."""
    return _eliminate(matrix, right, least)


def scales(matrix: np.ndarray) -> np.ndarray:
    """The mean of the diagonal over each three rows, (…, rows); where rows do not come in threes, each its own."""
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    if diagonal.shape[-1] % 3:
        return diagonal
    means = (diagonal[..., 0::3] + diagonal[..., 1::3] + diagonal[..., 2::3]) * (1.0 / 3.0)
    return np.repeat(means, 3, axis=-1)


def _eliminate(matrix: np.ndarray, right: np.ndarray, least: np.ndarray | None) -> np.ndarray:
    """X⁻¹Y by X = LᵀDL, entry by entry; pivots below `least` spoil the result."""
    size, columns = right.shape[-2:]
    y = [[np.asarray(right)[..., i, c][()] for c in range(columns)] for i in range(size)]
    inverses: list[Any] = [0.0] * size
    factors: dict[tuple[int, int], Any] = {}

    def inverse(k: int, pivot: Any) -> Any:
        return 1.0 / pivot if least is None else _sound_inverse(pivot, np.asarray(least)[..., k][()])

    for i, k in elimination(matrix, factors, inverses, inverse):
        y[i] = [a - factors[i, k] * b for a, b in zip(y[i], y[k], strict=True)]
    for k in range(size):
        y[k] = [inverses[k] * a for a in y[k]]
        for i in (i for i in range(k) if (i, k) in factors):
            y[k] = [a - factors[i, k] * b for a, b in zip(y[k], y[i], strict=True)]
    return _gather(y, matrix, right)


def elimination(
    matrix: np.ndarray,
    factors: dict[tuple[int, int], Any],
    inverses: list[Any],
    inverse: Callable[[int, Any], Any] = lambda k, pivot: 1.0 / pivot,
) -> Iterator[tuple[int, int]]:
    """X = LᵀDL, the last row first: L's entries go to the `factors` by row and column, where X is not zero by
    structure, and D⁻¹ to the `inverses`. Gives each pair as its row is eliminated."""
    size = matrix.shape[-1]
    x = [[np.asarray(matrix)[..., i, j][()] for j in range(size)] for i in range(size)]
    for k in range(size - 1, -1, -1):
        inverses[k] = inverse(k, x[k][k])
        for i in (i for i in range(k) if not is_zero(x[i][k])):
            factors[i, k] = x[i][k] * inverses[k]
            for j in range(i + 1):
                x[j][i] = x[j][i] - factors[i, k] * x[j][k]
            yield i, k


def _gather(entries: list[list[Any]], matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    batch = np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    result = np.empty((*batch, *right.shape[-2:]), dtype=np.result_type(matrix, right))
    for i, row in enumerate(entries):
        for j, entry in enumerate(row):
            result[..., i, j] = entry
    return result.view(type(matrix))  # traced numbers stay in an array that answers NumPy


def _sound_inverse(pivot: Any, least: Any) -> Any:
    """1/pivot, or NaN where the pivot is below `least`: w/(w·pivot) with the weight w = 1 or 0, without a branch."""
    if is_zero(pivot):  # by structure, in a trace; what is below it is then zero too, or a number of the trace
        return np.nan if is_zero(least) else _sound_inverse(0.5 * least, least)
    margin = pivot - least
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = 0.5 + 0.5 * (margin.sign() if isinstance(margin, Scalar) else np.sign(margin))
        return weight / (weight * pivot)


def is_zero(value: Any) -> bool:
    """Whether a number is zero by structure."""
    return isinstance(value, float) and value == 0.0


Block = Any  # an array (…, rows, columns), a pose, or None


def block_times(left: Block, right: Block) -> Block:
    return None if left is None or right is None else np.matmul(left, right)


def transpose_block(block: Block) -> Block:
    return None if block is None else np.swapaxes(block, -1, -2)


def divide_block(left: Block, matrix: np.ndarray) -> Block:
    """X Y⁻¹ for symmetric Y."""
    return None if left is None else transpose_block(solve_symmetric(matrix, transpose_block(left)))


def block_total(terms: list[tuple[float, Block]]) -> Block:
    scaled = [x if c == 1 else -x if c == -1 else c * x for c, x in terms if x is not None]
    return reduce(np.add, scaled) if scaled else None


class BlockDomain(Domain):
    """Abstract. Domains whose values are blocks: arrays (…, rows, columns), of numbers or of traced scalars."""

    def product(self, left: Block, right: Block, term: Times, at: Any, half: bool) -> Block:
        return block_times(left, right)

    def total(self, terms: Terms, half: bool) -> Block:
        return block_total([(float(c), x) for c, x in terms])

    def transpose(self, x: Block) -> Block:
        return transpose_block(x)

    def invert(self, x: Block) -> Block:
        return invert(x) if x.shape[-1] else x  # over no rates there is nothing to invert

    def divide(self, x: Block, matrix: Block) -> Block:
        return divide_block(x, matrix)

    def solve(self, matrix: Block, right: Block, symmetric: bool) -> Block:
        return (solve_task if symmetric else solve)(matrix, right)
