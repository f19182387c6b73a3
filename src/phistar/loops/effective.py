"""The effective inertia of closures and its rank: S λ = γ where closures may be redundant, badly conditioned or both.

S = A ℳ⁻¹ A* is Λ_c⁻¹ of RJK91 eq. 26. Rows are compared with `scale`, what a row's own compliance would be if its
frames gave way equally in all directions, so that angles and lengths are judged alike, and rows along which nothing can
move at all (a plane mechanism's out-of-plane rows) are seen to be empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.arrays import sign

EMPTY = 1e-11  # of the largest scaled eigenvalue: below it a combination of closures is redundant
ZERO, KEPT, CLEAR = 1e-13, 1e-10, 1e-7  # scaled pivots: rounding; taken all the same; above any doubt


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
    weight, values, vectors, kept, good = _scaled(matrix, scale)
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    pushed = inverse * _dot(np.swapaxes(vectors, -1, -2), weight * right)
    forces = weight * _dot(vectors, pushed)
    rank = np.where(good, kept.sum(axis=-1), 0)
    if np.any(rank < matrix.shape[-1]):
        forces = _shortest(forces, vectors, kept, weight)
    smallest = np.min(np.where(kept, values, np.inf), axis=-1, initial=np.inf)
    condition = np.where(rank > 0, np.max(values, axis=-1, initial=0.0) / smallest, 1.0)
    return Solved(np.where(good[..., None], forces, np.nan), rank, np.where(good, condition, np.nan))


def generalized_inverse(matrix: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """X with S X S = S, (…, m, m): the inverse over the rank of S."""
    weight, values, vectors, kept, _ = _scaled(matrix, scale)
    sides = weight[..., :, None] * vectors
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return np.matmul(sides * inverse[..., None, :], np.swapaxes(sides, -1, -2))


def _scaled(matrix: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, ...]:
    """The weight 1/√scale of each row, eigenvalues and -vectors of the weighted S, which of them are not empty, and
    which matrices of a batch are of finite numbers."""
    weight = np.where(scale > 0.0, 1.0 / np.sqrt(np.where(scale > 0.0, scale, 1.0)), 0.0)
    scaled = weight[..., :, None] * matrix * weight[..., None, :]
    good = np.asarray(np.isfinite(scaled).all(axis=(-1, -2)))
    values, vectors = np.linalg.eigh(np.where(good[..., None, None], scaled, 0.0))
    return weight, values, vectors, values > EMPTY * values[..., -1:], good


def _shortest(forces: np.ndarray, vectors: np.ndarray, kept: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """λ less its part in the null space of S; that is spanned by W⁻¹ of the empty eigenvectors, and by empty rows."""
    free = weight == 0.0
    stretched = np.where(free, 0.0, 1.0 / np.where(free, 1.0, weight))[..., None] * vectors
    empty = np.where(kept[..., None, :], 0.0, stretched)
    basis, sizes, _ = np.linalg.svd(empty)
    spanning = sizes > 1e-9 * np.max(sizes, axis=-1, keepdims=True, initial=0.0)
    null = np.where(spanning[..., None, :] & (sizes[..., None, :] > 0.0), basis, 0.0)
    return forces - _dot(null, _dot(np.swapaxes(null, -1, -2), forces))


def eliminated(matrix: np.ndarray, right: np.ndarray, scale: np.ndarray) -> Eliminated:
    """S = L D L* without pivoting, empty pivots left out: (m, m) and (m,) of traced scalars, or floats (…, m, m).

    Any λ that solves gives the same motion. Where `doubt` is not zero the rank has to be found by `solve_by_rank`.
    """
    size = matrix.shape[-1]
    matrix, right, scale = np.asarray(matrix), np.asarray(right), np.asarray(scale)
    s: list[list[Any]] = [[matrix[..., i, j][()] for j in range(size)] for i in range(size)]
    y: list[Any] = [right[..., i][()] for i in range(size)]
    inverses: list[Any] = []
    rank, doubt = 0.0, 0.0
    for k in range(size):
        pivot, unit = s[k][k], scale[..., k][()]
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
    return Eliminated(np.stack(y, axis=-1) if size else right, rank, doubt)


def above(value: Any, bound: Any) -> Any:
    """1 where value > bound, else 0, on floats and on traced scalars."""
    return 0.5 + 0.5 * sign(np.asarray(value - bound - 1e-300))


def _dot(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.matmul(matrix, vector[..., None])[..., 0]
