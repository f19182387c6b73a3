"""Small dense inverses and solves that take batches and traced scalars, and never raise for one bad row."""

from __future__ import annotations

from typing import Any

import numpy as np


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
    size, columns = right.shape[-2:]
    x = [[matrix[i, j] for j in range(size)] for i in range(size)]
    y = [[right[i, c] for c in range(columns)] for i in range(size)]
    scales: list[Any] = [0.0] * size
    factors: dict[tuple[int, int], Any] = {}
    for k in range(size - 1, -1, -1):
        scales[k] = 1.0 / x[k][k]
        for i in (i for i in range(k) if not _is_zero(x[i][k])):
            factors[i, k] = x[i][k] * scales[k]
            for j in range(i + 1):
                x[j][i] = x[j][i] - factors[i, k] * x[j][k]
            y[i] = [a - factors[i, k] * b for a, b in zip(y[i], y[k], strict=True)]
    for k in range(size):
        y[k] = [scales[k] * a for a in y[k]]
        for i in (i for i in range(k) if (i, k) in factors):
            y[k] = [a - factors[i, k] * b for a, b in zip(y[k], y[i], strict=True)]
    result = np.empty((size, columns), dtype=object)
    for index in np.ndindex(size, columns):
        result[index] = y[index[0]][index[1]]
    return result


def _is_zero(value: Any) -> bool:
    return isinstance(value, float) and value == 0.0
