"""Means and covariances carried through functions on manifolds: by differences, or at sigma points.

Errors are vectors of the tangent space at an estimate; `away` are the errors between where the estimate went and where
its displaced copies went. The scaled unscented transformation (Julier 2002): weights exact to second order, the copies
near the mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SMALL = 1e-5  # displacements of differences
SCALE = 1e-2  # the unscented filter's α² (n + κ) with κ = 0: sigma points near the mean


def small_displacements(shape: tuple[int, ...]) -> np.ndarray:
    """Displacements along every error, both ways, (2n, …, n), for estimates whose errors are (…, n)."""
    n = shape[-1]
    unit = SMALL * np.eye(n)
    moves = np.concatenate([unit, -unit]).reshape(2 * n, *(1,) * (len(shape) - 1), n)
    return np.broadcast_to(moves, (2 * n, *shape))


def slopes(away: np.ndarray) -> np.ndarray:
    """Derivatives of m numbers by n errors, (…, m, n), from their values at `small_displacements`, (2n, …, m)."""
    n = len(away) // 2
    return np.moveaxis((away[:n] - away[n:]) / (2.0 * SMALL), 0, -1)


def sigma_points(covariance: np.ndarray) -> np.ndarray:
    """Errors (2n, …, n) that have a covariance (…, n, n); the mean itself counts by its weight in `moments`."""
    n = covariance.shape[-1]
    root = np.moveaxis(np.linalg.cholesky(covariance), -1, 0) * np.sqrt(SCALE * n)
    return np.concatenate([root, -root])


def moments(away: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (…, m) and covariance (…, m, m) of a function whose values at sigma points are (2n, …, m) away from that at
    the mean."""
    shift = np.mean(away, axis=0) / SCALE  # Σ w e with w = 1/(2n SCALE), the centre's own being zero
    spread = cross_covariance(away - shift, away - shift)
    correction = (1.0 - 1.0 / SCALE + 3.0 - SCALE) * shift[..., :, None] * shift[..., None, :]
    return shift, spread + correction


def propagate_covariance(covariance: np.ndarray, ends: Any, unscented: bool) -> tuple[np.ndarray, np.ndarray]:
    """Shift of the mean (…, n) and covariance (…, n, n) after a flow that leads displacements (2n, …, n) to errors
    `ends(displacements)` about where the mean goes: at sigma points, or by F P F* with the flow's slopes."""
    if unscented:
        return moments(ends(sigma_points(covariance)))
    F = slopes(ends(small_displacements(covariance.shape[:-1])))
    return np.zeros(covariance.shape[:-1]), F @ covariance @ np.swapaxes(F, -1, -2)


def cross_covariance(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Σ w a b* of values (2n, …, m) and (2n, …, k) at sigma points, their means taken off, (…, m, k)."""
    return np.einsum("k...i,k...j->...ij", left, right) / (len(left) * SCALE)
