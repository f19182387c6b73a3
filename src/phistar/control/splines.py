"""Curves through points: quintic splines at rest at both ends, evaluated without branches so that controllers may hold
them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np
from scipy.interpolate import PPoly, make_interp_spline

from phistar.errors import ShapeError

DEGREE = 5  # position, velocity and acceleration at both ends; the jerk is continuous between


@dataclass(frozen=True, eq=False)
class Spline:
    """x(t) on segments i between `breaks` (m + 1,): Σ_k coefficients[i, k] (t − breaks[i])^k, coefficients (m, 6, n).

    Before the first break and after the last it stays where it is.
    """

    breaks: np.ndarray
    coefficients: np.ndarray

    @property
    def duration(self) -> float:
        return float(self.breaks[-1] - self.breaks[0])

    def __call__(self, t: Any, order: int = 0) -> np.ndarray:
        """The derivative of this order at times t (…), (…, n); t may be a traced number.

        Derivatives to the fourth are continuous, so that each is its first value and what every segment adds to it:
        Σ_i p_i(clip(t − b_i, 0, h_i)) − p_i(0). No branch, and the same arithmetic for floats and traced numbers.
        """
        polynomials = self._derivatives[order]
        inside = np.clip(np.asanyarray(t)[..., None] - self.breaks[:-1], 0.0, np.diff(self.breaks))[..., None]
        gained = 0.0 * inside
        for k in range(polynomials.shape[1] - 1, 0, -1):
            gained = (gained + polynomials[:, k]) * inside
        return polynomials[0, 0] + np.sum(gained, axis=-2)

    @cached_property
    def _derivatives(self) -> list[np.ndarray]:
        found = [self.coefficients]
        for _ in range(3):
            last = found[-1]
            found.append(last[:, 1:] * np.arange(1.0, last.shape[1])[None, :, None])
        return found

    def stretched(self, factor: float) -> Spline:
        """The same curve, `factor` times slower."""
        powers = float(factor) ** -np.arange(self.coefficients.shape[1])
        start = self.breaks[0]
        return Spline(start + (self.breaks - start) * factor, self.coefficients * powers[None, :, None])

    def extremes(self, order: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of each component of a derivative, (n,) each, from the roots of the next one."""
        polynomials = np.moveaxis(self._derivatives[order], 1, 0)[::-1]
        lowest, highest = [], []
        for j in range(polynomials.shape[-1]):
            curve = PPoly(np.ascontiguousarray(polynomials[..., j]), self.breaks)
            turns = curve.derivative().roots(extrapolate=False)
            times = np.concatenate([self.breaks, turns[np.isfinite(turns)]])
            values = curve(times)
            lowest.append(values.min())
            highest.append(values.max())
        return np.array(lowest), np.array(highest)

    def peaks(self, order: int) -> np.ndarray:
        """The largest magnitude of each component of a derivative, (n,)."""
        low, high = self.extremes(order)
        return np.maximum(-low, high)


def through(points: Any, weights: np.ndarray) -> Spline:
    """The quintic spline through points (m + 1, n), at rest with zero acceleration at both ends, its segments as long
    as `weights` (m,) say; the whole takes one second."""
    points = np.asarray(points, dtype=float)
    breaks = np.concatenate([[0.0], np.cumsum(weights / np.sum(weights))])
    rest = [(1, np.zeros(points.shape[1:])), (2, np.zeros(points.shape[1:]))]
    curve = make_interp_spline(breaks, points, k=DEGREE, bc_type=(rest, rest))  # type: ignore[arg-type]
    taylor = [curve(breaks[:-1], nu=k) / factorial(k) for k in range(DEGREE + 1)]
    return Spline(breaks, np.stack(taylor, axis=1))


def checked_points(points: Any, columns: int, what: str) -> np.ndarray:
    """Two or more finite rows of `columns` numbers, no two neighbours alike."""
    try:
        array = np.asarray(points, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{what} must be numbers, (points, {columns}); they were given {points!r:.100}.") from None
    if array.ndim != 2 or array.shape[1] != columns or len(array) < 2:
        raise ShapeError(f"{what} must have shape (points, {columns}) with two points or more, not {array.shape}.")
    if not np.isfinite(array).all():
        raise ShapeError(f"{what} must be finite; point {int(np.argmin(np.isfinite(array).all(axis=1)))} is not.")
    return array
