"""The information form of Kalman's filter: what is known, Y = P⁻¹ and Yx, in place of what is not.

    Y ← Y⁻ + H*V⁻¹H,   z ← z⁻ + H*V⁻¹y,   Y⁻ ← M − M(M + W⁻¹)⁻¹M with M = F⁻*YF⁻¹

which is the regulator's sweep with F⁻¹ for A and for B, and the noise w as its control. It starts from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array, BoolArray
from phistar.errors import InfeasibleError
from phistar.estimation.kalman import by_time, covariance_by_time, measurements
from phistar.short_repr import short_repr
from phistar.steps.sweep import RiccatiSweep


@short_repr
@dataclass(frozen=True, eq=False)
class InformationFilter:
    """After each of T measurements: the information matrix `Y` (T, n, n) and vector `z` (T, n)."""

    Y: Array
    z: Array

    @property
    def known(self) -> BoolArray:
        """States (T,) that the measurements so far determine: those at which Y can be inverted."""
        values = np.linalg.eigvalsh(self.Y)
        return values[:, 0] > 1e-12 * np.maximum(values[:, -1], 1e-300)

    @property
    def states(self) -> Array:
        """x = Y⁻¹z, (T, n); NaN until it is known."""
        made = np.full(self.z.shape, np.nan)
        known = self.known
        made[known] = np.linalg.solve(self.Y[known], self.z[known][..., None])[..., 0]
        return made

    @property
    def covariances(self) -> Array:
        """Y⁻¹, (T, n, n); NaN until it is known."""
        made = np.full(self.Y.shape, np.nan)
        made[self.known] = np.linalg.inv(self.Y[self.known])
        return made


def information_filter(y: Any, F: Any, H: Any, W: Any, V: Any, *, Y0: Any = None, z0: Any = None) -> InformationFilter:
    """The information that measurements give about the states of a linear system, from none at all if need be.

    Y = P⁻¹ and z = Yx of `kalman_filter`, by Riccati's sweep with F⁻¹ for A and B and W⁻¹ for R.

    Parameters
    ----------
    y : (T, m)
        Measurements; NaN for what was not measured.
    F, H, W, V : as of `kalman_filter`
        F invertible; W and V positive definite.
    Y0, z0 : (n, n), (n,), optional
        Information before the first measurement, by default none.

    Returns
    -------
    InformationFilter
        `Y`, `z`, and `states`, `covariances` where they are `known`.

    Examples
    --------
    >>> found = ps.estimation.information_filter([[1.0], [2.0]], [[1.0]], [[1.0]], [[1.0]], [[1.0]])
    >>> found.states.round(3).tolist()
    [[1.0], [1.667]]
    """
    measured = measurements(y)
    (T, m), n = measured.shape, np.shape(H)[-1]
    F, H = by_time("F", F, (T, n, n)), by_time("H", H, (T, m, n))
    W, V = covariance_by_time("W", W, (T, n, n)), covariance_by_time("V", V, (T, m, m))
    missing = np.isnan(measured)
    seen = np.where(missing[..., None], 0.0, H)
    noise = np.where(missing[:, :, None] | missing[:, None, :], np.eye(m), V)
    weighted = np.swapaxes(_inverse_times("V", noise, seen), -1, -2)
    sweep = RiccatiSweep(T, n, n)
    back = _inverse_times("F", F, np.broadcast_to(np.eye(n), (T, n, n)))[::-1]
    sweep.table("A")[:], sweep.table("B")[:] = back, back
    sweep.table("R")[:] = _inverse_times("W", W, np.broadcast_to(np.eye(n), (T, n, n)))[::-1]
    each = np.matmul(weighted, seen)
    sweep.table("Q")[1:] = each[::-1]
    sweep.vector("q")[1:] = -np.einsum("tij,tj->ti", weighted, np.nan_to_num(measured))[::-1]
    if Y0 is not None:
        sweep.table("Q")[-1] += covariance_by_time("Y0", Y0, (n, n))
    if z0 is not None:
        sweep.vector("q")[-1] -= by_time("z0", z0, (n,))
    if sweep.backward() is not None:
        raise InfeasibleError("The information is not positive: W, V and Y0 must be positive (Y0 may be zero).")
    return InformationFilter(sweep.table("P")[:0:-1].copy(), -sweep.vector("p")[:0:-1])


def _inverse_times(name: str, matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        raise InfeasibleError(f"{name} is singular; the information form needs its inverse.") from None
