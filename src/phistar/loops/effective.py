"""The effective inertia of closures and its rank: S λ = γ where closures may be redundant, badly conditioned or both.

S = A ℳ⁻¹ A* is Λ_c⁻¹ of RJK91 eq. 26. Rows are compared with `scale`, what a row's own compliance would be if its
frames gave way equally in all directions, so that angles and lengths are judged alike, and rows along which nothing can
move at all (a plane mechanism's out-of-plane rows) are seen to be empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.choice import PIVOTED
from phistar.backends.traces.arrays import sign, traced
from phistar.backends.traces.trace import is_traced
from phistar.spatial import times, transposed

EMPTY = 1e-11  # of the largest scaled eigenvalue: below it a combination of closures is redundant
UNSURE = 100.0  # largest pivots nearer to that than by this factor are in doubt
ZERO, KEPT, CLEAR = 1e-13, 1e-10, 1e-7  # scaled pivots in any order: rounding; taken all the same; above any doubt


class Solved(NamedTuple):
    """λ of least norm (…, m), the rank of S (…), and its condition (…) over that rank."""

    forces: np.ndarray
    rank: np.ndarray
    condition: np.ndarray


class Eliminated(NamedTuple):
    """One λ (m,) of those that solve, the rank, and the number of pivots that are neither clear nor zero."""

    forces: np.ndarray
    rank: Any
    doubt: Any


def solve_by_rank(matrix: np.ndarray, right: np.ndarray, scale: np.ndarray) -> Solved:
    """S⁺γ by the eigenvectors of the scaled S, (…, m, m) and (…, m): floats."""
    weight, values, vectors, kept, good = weighted_eigenvectors(matrix, scale)
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    pushed = inverse * times(transposed(vectors), weight * right)
    forces = weight * times(vectors, pushed)
    rank, condition = _rank_and_condition(values, good)
    if np.any(rank < matrix.shape[-1]):
        forces = _shortest(forces, vectors, kept, weight)
    return Solved(np.where(good[..., None], forces, np.nan), rank, condition)


def rank_and_condition(matrix: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rank of S (…, m, m) and its condition over that rank, by eigenvalues alone."""
    _, scaled, good = _weigh(matrix, scale)
    return _rank_and_condition(np.linalg.eigvalsh(scaled), good)


def _rank_and_condition(values: np.ndarray, good: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank and condition by the eigenvalues of the weighted S, where it is of finite numbers."""
    kept = _nonempty(values)
    rank = np.where(good, kept.sum(axis=-1), 0)
    smallest = np.min(np.where(kept, values, np.inf), axis=-1, initial=np.inf)
    condition = np.where(rank > 0, np.max(values, axis=-1, initial=0.0) / smallest, 1.0)
    return rank, np.where(good, condition, np.nan)


def _nonempty(values: np.ndarray) -> np.ndarray:
    """Eigenvalues, in rising order, that count as not zero."""
    return values > EMPTY * values[..., -1:]


def generalized_inverse(matrix: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """X with S X S = S, (…, m, m): the inverse over the rank of S."""
    weight, values, vectors, kept, _ = weighted_eigenvectors(matrix, scale)
    sides = weight[..., :, None] * vectors
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return np.matmul(sides * inverse[..., None, :], transposed(sides))


def weighted_eigenvectors(matrix: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, ...]:
    """The weight 1/√scale of each row, eigenvalues and -vectors of the weighted S, which of them are not empty, and
    which matrices of a batch are of finite numbers."""
    weight, scaled, good = _weigh(matrix, scale)
    values, vectors = np.linalg.eigh(scaled)
    return weight, values, vectors, _nonempty(values), good


def _weigh(matrix: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The weights 1/√scale, the weighted S, zero where it is not of finite numbers, and where it is."""
    weight = np.where(scale > 0.0, 1.0 / np.sqrt(np.where(scale > 0.0, scale, 1.0)), 0.0)
    scaled = weight[..., :, None] * matrix * weight[..., None, :]
    good = np.asarray(np.isfinite(scaled).all(axis=(-1, -2)))
    return weight, np.where(good[..., None, None], scaled, 0.0), good


def _shortest(forces: np.ndarray, vectors: np.ndarray, kept: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """λ less its part in the null space of S; that is spanned by W⁻¹ of the empty eigenvectors, and by empty rows."""
    free = weight == 0.0
    stretched = np.where(free, 0.0, 1.0 / np.where(free, 1.0, weight))[..., None] * vectors
    empty = np.where(kept[..., None, :], 0.0, stretched)
    basis, sizes, _ = np.linalg.svd(empty)
    spanning = sizes > 1e-9 * np.max(sizes, axis=-1, keepdims=True, initial=0.0)
    null = np.where(spanning[..., None, :] & (sizes[..., None, :] > 0.0), basis, 0.0)
    return forces - times(null, times(transposed(null), forces))


def eliminate(matrix: np.ndarray, right: np.ndarray, scale: np.ndarray) -> Eliminated:
    """S = L D L*, empty pivots left out: (m, m) and (m,) of traced scalars, or floats (…, m, m).

    Any λ that solves gives the same motion. Traced, a few closures are eliminated largest pivot first, which tells the
    rank. Others come in their order; where `doubt` is not zero the rank has then to be found by `solve_by_rank`.
    """
    size = matrix.shape[-1]
    matrix, right, scale = np.asarray(matrix), np.asarray(right), np.asarray(scale)
    s: list[list[Any]] = [[matrix[..., i, j][()] for j in range(size)] for i in range(size)]
    y: list[Any] = [right[..., i][()] for i in range(size)]
    units: list[Any] = [scale[..., i][()] for i in range(size)]
    if not size:
        return Eliminated(right, 0.0, 0.0)
    if size <= PIVOTED and is_traced(matrix):
        return _largest_first(s, y, units)
    return _in_order(s, y, units)


class ReducedRows(NamedTuple):
    """S⁺E (m, e), E*S⁺E (e, e), the rank of S and the number of pivots in doubt."""

    forces: np.ndarray
    reduced: np.ndarray
    rank: Any
    doubt: Any


def eliminated_rows(matrix: np.ndarray, right: np.ndarray, scale: list[Any]) -> ReducedRows:
    """The same for many right sides E (m, e), traced: closures that have nothing to do with each other are eliminated
    each by themselves, largest pivot first where they are few."""
    size, width = right.shape
    forces, reduced = np.zeros((size, width), dtype=object), np.zeros((width, width), dtype=object)
    rank, doubt = 0.0, 0.0
    for rows in _connected_rows(matrix):
        s = matrix[np.ix_(rows, rows)].copy()
        steps, kept, unsure = _pivots(s, right[rows].copy(), [scale[i] for i in rows], len(rows) <= PIVOTED)
        rank, doubt = rank + kept, doubt + unsure
        own = np.zeros((len(rows), width), dtype=object)
        for chosen, column, inverse, level in reversed(steps):
            reduced = reduced + np.outer(level * inverse, level)
            own = own + np.outer(chosen, (level - np.matmul(column, own)) * inverse)
        forces[rows] = own
    return ReducedRows(forces, reduced, rank, doubt)


def _connected_rows(matrix: np.ndarray) -> list[list[int]]:
    """Rows of S that entries join, without those that give nothing at all."""
    found: list[list[int]] = []
    left = [i for i in range(len(matrix)) if not _is_nothing(matrix[i, i])]
    while left:
        own = [left.pop(0)]
        for i in own:
            joined = [j for j in left if not _is_nothing(matrix[i, j])]
            own += joined
            left = [j for j in left if j not in joined]
        found.append(sorted(own))
    return found


def _pivots(
    s: np.ndarray, right: np.ndarray, units: list[Any], largest_first: bool
) -> tuple[list[tuple[Any, ...]], Any, Any]:
    """Steps of an elimination: which row was chosen, as weights, its column of what is left of S, one over its pivot,
    and its right sides; the rank and the pivots in doubt."""
    size, rank, doubt, steps = len(s), 0.0, 0.0, list[tuple[Any, ...]]()
    empty, unsure = (EMPTY, (EMPTY / UNSURE, EMPTY * UNSURE)) if largest_first else (KEPT, (ZERO, CLEAR))
    inverses = [over(1.0, unit, above(unit, 0.0)) for unit in units]
    for k in range(size):
        if largest_first:
            weights, largest = _choose_largest({i: s[i, i] * inverses[i] for i in range(size)})
            chosen = np.array([weights[i] for i in range(size)], dtype=object)
        else:
            chosen, largest = np.array([float(i == k) for i in range(size)], dtype=object), s[k, k] * inverses[k]
        column, level = np.matmul(chosen, s), np.matmul(chosen, right)
        kept = above(largest, empty)
        doubt = doubt + above(largest, unsure[0]) * (1.0 - above(largest, unsure[1]))
        inverse, rank = over(kept, np.sum(chosen * column), kept), rank + kept
        steps.append((chosen, column, inverse, level))
        part = column * inverse
        s = s - np.outer(part, column)
        s = np.where(np.tri(size, dtype=bool), s.T, s)
        if not largest_first:
            s[k], s[:, k] = 0.0, 0.0
        right = right - np.outer(part, level)
    return steps, rank, doubt


class PseudoInverse(NamedTuple):
    """S⁺ (…, m, m), the rank (…) of S, and its condition (…) over that rank, ‖S‖‖S⁺‖ by Frobenius' norm."""

    inverse: np.ndarray
    rank: Any
    condition: Any


def pseudo_inverse(matrix: np.ndarray) -> PseudoInverse:
    """S⁺ of a symmetric positive S (…, m, m), floats or traced scalars (m, m): of all λ that solve, S⁺γ is the
    shortest."""
    return _by_pivots(matrix) if is_traced(matrix) else _by_eigenvalues(matrix)


def _by_eigenvalues(matrix: np.ndarray) -> PseudoInverse:
    good = np.isfinite(matrix).all(axis=(-1, -2), keepdims=True)
    values, vectors = np.linalg.eigh(np.where(good, matrix, 0.0))
    kept = values > EMPTY * np.maximum(values[..., -1:], 0.0)
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    result = np.where(good, np.matmul(vectors * inverse[..., None, :], transposed(vectors)), np.nan)
    return PseudoInverse(result, np.count_nonzero(kept, axis=-1), _condition(matrix, result))


def _by_pivots(matrix: np.ndarray) -> PseudoInverse:
    """S = CWC* by pivots, largest first, and C = QU with orthogonal columns, so that S⁺ = Z*W⁻¹Z with UZ = (Q*Q)⁻¹Q*.

    A column that is left out is 0, and so is its row of Z. No square roots: S⁺ has derivatives at any rank."""
    size, matrix = len(matrix), np.array(matrix)
    scale = [sum(matrix[i, i] for i in range(size))] * size
    steps, rank, _ = _pivots(matrix.copy(), np.zeros((size, 0), dtype=object), scale, True)
    rows, upper, weights = list[np.ndarray](), np.zeros((size, size), dtype=object), list[Any]()
    directions: list[tuple[np.ndarray, Any]] = []
    for k, (_, column, inverse, _) in enumerate(steps):
        kept = above(inverse, 0.0)
        left = column * kept
        for j, (direction, square) in enumerate(directions):
            upper[j, k] = np.sum(direction * left) * square
            left = left - direction * upper[j, k]
        square = over(kept, np.sum(left * left), kept)
        directions.append((left, square))
        rows.append(left * square)
        weights.append(over(kept, inverse, kept))
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            rows[k] = rows[k] - rows[j] * upper[k, j]
    inverse = sum(np.outer(row * weight, row) for row, weight in zip(rows, weights, strict=True))
    return PseudoInverse(traced(inverse), traced(rank), _condition(traced(matrix), traced(inverse)))


def _condition(matrix: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """‖S‖‖S⁺‖."""
    return np.sqrt(
        np.sum(np.sum(matrix * matrix, axis=-1), axis=-1) * np.sum(np.sum(inverse * inverse, axis=-1), axis=-1)
    )


def _in_order(s: list[list[Any]], y: list[Any], units: list[Any]) -> Eliminated:
    """Pivots from the first to the last row; the lower half of `s` and `y` are overwritten."""
    size, inverses = len(y), []
    rank, doubt = 0.0, 0.0
    for k in range(size):
        pivot, unit = s[k][k], units[k]
        doubt = doubt + above(pivot, ZERO * unit) * (1.0 - above(pivot, CLEAR * unit))
        kept = above(pivot, KEPT * unit)
        rank = rank + kept
        inverses.append(kept / (pivot * kept + (1.0 - kept)))
        for i in range(k + 1, size):
            factor = s[i][k] * inverses[k]
            for j in range(k + 1, i + 1):
                s[i][j] = s[i][j] - factor * s[j][k]
            y[i] = y[i] - factor * y[k]
    for k in range(size - 1, -1, -1):
        y[k] = inverses[k] * y[k]
        for i in range(k + 1, size):
            y[k] = y[k] - inverses[k] * s[i][k] * y[i]
    return Eliminated(np.stack(y, axis=-1), rank, doubt)


def _largest_first(s: list[list[Any]], y: list[Any], units: list[Any]) -> Eliminated:
    """Pivots in falling order of what they are of their scale, chosen by weights of which one is 1 and the others 0:
    S = Σ c c*/d, where c is the chosen column of what is left of S. What is left is never larger than the last pivot,
    so that one which is small is so by itself and not by rounding (Higham, Accuracy and Stability, §10.3)."""
    size, rank = len(y), 0.0
    rows = [i for i in range(size) if not _is_nothing(s[i][i])]
    inverses = {i: over(1.0, units[i], above(units[i], 0.0)) for i in rows}
    steps: list[tuple[dict[int, Any], dict[int, Any], Any, Any]] = []
    for _ in rows:
        chosen, largest = _choose_largest({i: s[i][i] * inverses[i] for i in rows})
        column = {i: sum(chosen[j] * s[max(i, j)][min(i, j)] for j in rows) for i in rows}
        kept = above(largest, EMPTY)
        inverse = over(kept, sum(chosen[i] * s[i][i] for i in rows), kept)
        level = inverse * sum(chosen[i] * y[i] for i in rows)
        rank = rank + kept
        steps.append((chosen, column, inverse, level))
        for i in rows:
            factor = column[i] * inverse
            for j in (j for j in rows if j <= i):
                s[i][j] = s[i][j] - factor * column[j]
            y[i] = y[i] - column[i] * level
    forces: list[Any] = [0.0] * size
    for chosen, column, inverse, level in reversed(steps):
        own = level - inverse * sum(column[i] * forces[i] for i in rows)
        for i in rows:
            forces[i] = forces[i] + chosen[i] * own
    return Eliminated(np.stack(forces), rank, 0.0)


def _choose_largest(sizes: dict[int, Any]) -> tuple[dict[int, Any], Any]:
    """The weight of each, 1 for the first of the largest and 0 for the others, and the largest."""
    first, *others = sizes
    larger, largest = {first: 1.0}, sizes[first]
    for i in others:
        larger[i] = above(sizes[i], largest)
        largest = largest + larger[i] * (sizes[i] - largest)
    weights, still = {}, 1.0
    for i in reversed(sizes):
        weights[i], still = still * larger[i], still * (1.0 - larger[i])
    return weights, largest


def over(value: Any, divisor: Any, kept: Any) -> Any:
    """value/divisor where `kept` is 1; where it is 0, value."""
    return value / (divisor * kept + (1.0 - kept))


def _is_nothing(value: Any) -> bool:
    return isinstance(value, float | int) and value == 0.0


def above(value: Any, bound: Any) -> Any:
    """1 where value > bound, else 0, on floats and on traced scalars."""
    return 0.5 + 0.5 * sign(np.asarray(value - bound - 1e-300))
