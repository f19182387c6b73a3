"""Small dense inverses and solves that take batches and traced scalars, and never raise for one bad row."""

from __future__ import annotations

import numpy as np


def invert(matrix: np.ndarray) -> np.ndarray:
    """X⁻¹ of a small symmetric positive definite block, (…, r, r): Gauss-Jordan without pivoting."""
    size = matrix.shape[-1]
    if size == 1:
        return 1.0 / matrix
    left = [[matrix[..., i, j][()] for j in range(size)] for i in range(size)]  # a traced scalar, not an array of one
    right = [[float(i == j) for j in range(size)] for i in range(size)]
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
    if matrix.dtype == object:
        return np.matmul(invert(matrix), right)
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        result = np.full(right.shape, np.nan)
        for index in np.ndindex(*batch):
            if np.linalg.matrix_rank(matrix[index]) == matrix.shape[-1]:
                result[index] = np.linalg.solve(matrix[index], right[index])
        return result
