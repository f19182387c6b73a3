"""Operators of one's own whose numbers are inputs of compiled code: the entries on their blocks, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.errors import ShapeError, StatementError

_SLACK = 1e-10  # of the largest entry: what rounding leaves of symmetry


@dataclass(frozen=True)
class OperatorInput:
    """An operator that is given with the state: `entries` are those that can differ from zero."""

    name: str
    shape: tuple[int, int]
    entries: tuple[tuple[int, int], ...]
    symmetric: bool = False
    positive: bool = False

    def as_matrix(self, numbers: np.ndarray) -> np.ndarray:
        """The matrix of its entries, zero elsewhere; of traced numbers."""
        matrix = np.zeros(self.shape, dtype=object)
        for (i, j), x in zip(self.entries, numbers, strict=True):
            matrix[i, j] = x
        return matrix

    def entries_of(self, value: Any) -> np.ndarray:
        """The entries (…, n) of a matrix (…, rows, columns), or as they are, (…, n); the structure is checked."""
        try:
            matrix = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ShapeError(
                f"{self.name} must be an array of real numbers of shape (…, {self._shape_text})."
            ) from None
        if matrix.shape[-2:] != self.shape:
            if matrix.shape[-1:] == (len(self.entries),):
                return matrix
            raise ShapeError(
                f"{self.name} has shape {matrix.shape}; it takes (…, {self._shape_text}), or its {len(self.entries)} "
                "entries row by row."
            )
        size = float(np.abs(matrix).max(initial=0.0))
        rows, columns = np.array(self.entries, dtype=int).reshape(-1, 2).T
        outside = np.array(matrix)
        outside[..., rows, columns] = 0.0
        if np.any(outside):
            raise StatementError(f"{self.name} was declared block-diagonal, but has numbers between links or joints.")
        if self.symmetric and np.abs(matrix - np.swapaxes(matrix, -1, -2)).max(initial=0.0) > _SLACK * size:
            raise StatementError(f"{self.name} was declared symmetric, but is not.")
        if self.positive and not _is_positive(matrix):
            raise StatementError(f"{self.name} was declared positive, but its least eigenvalue is not above zero.")
        return matrix[..., rows, columns]

    @property
    def _shape_text(self) -> str:
        return ", ".join(map(str, self.shape))


def _is_positive(matrices: np.ndarray) -> bool:
    """Whether all of some symmetric matrices (…, n, n) have a Cholesky factor."""
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return False
    return True
