"""Curves through points: quintic splines at rest at both ends, which controllers may hold: they can be traced."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np
from scipy.interpolate import PPoly, make_interp_spline

from phistar.backends.traces.trace import is_traced
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
        """The derivative of this order, to the third, at times t (…), (…, n); t may be a traced number."""
        return self._sum_segments(t, order) if is_traced(t) else self._evaluate(t, slice(order, order + 1))[..., 0, :]

    def motion(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, ẋ and ẍ at times t (…), (…, n) each."""
        if is_traced(t):
            return self._sum_segments(t, 0), self._sum_segments(t, 1), self._sum_segments(t, 2)
        found = self._evaluate(t, slice(0, 3))
        return found[..., 0, :], found[..., 1, :], found[..., 2, :]

    def _evaluate(self, t: Any, orders: slice) -> np.ndarray:
        """Some derivatives at times t, (…, orders, n), each from its segment."""
        times = np.clip(np.asarray(t, dtype=float), self.breaks[0], self.breaks[-1])
        segment = np.minimum(np.searchsorted(self.breaks, times, side="right") - 1, len(self.breaks) - 2)
        powers = (times - self.breaks[segment])[..., None] ** np.arange(DEGREE + 1.0)
        return np.matmul(powers[..., None, None, :], self._table[segment, orders])[..., 0, :]

    def _sum_segments(self, t: Any, order: int) -> np.ndarray:
        """The same without looking a segment up, which would be a branch. Derivatives to the fourth are continuous, so
        each is its first value and what every segment adds to it: Σ_i p_i(clip(t − b_i, 0, h_i)) − p_i(0)."""
        polynomials = self._table[:, order]
        inside = np.clip(np.asanyarray(t)[..., None] - self.breaks[:-1], 0.0, np.diff(self.breaks))[..., None]
        gained = 0.0 * inside
        for k in range(DEGREE - order, 0, -1):
            gained = (gained + polynomials[:, k]) * inside
        return polynomials[0, 0] + np.sum(gained, axis=-2)

    @cached_property
    def _table(self) -> np.ndarray:
        """Coefficients of the derivatives to the third, (m, 4, 6, n)."""
        found = [self.coefficients]
        for _ in range(3):
            slopes = found[-1][:, 1:] * np.arange(1.0, DEGREE + 1.0)[None, :, None]
            found.append(np.concatenate([slopes, np.zeros_like(slopes[:, :1])], axis=1))
        return np.stack(found, axis=1)

    def stretched(self, factor: float) -> Spline:
        """The same curve, `factor` times slower."""
        powers = float(factor) ** -np.arange(self.coefficients.shape[1])
        start = self.breaks[0]
        return Spline(start + (self.breaks - start) * factor, self.coefficients * powers[None, :, None])

    def extremes(self, order: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of each component of a derivative, (n,) each, from the roots of the next one."""
        polynomials = np.moveaxis(self._table[:, order, : DEGREE + 1 - order], 1, 0)[::-1]
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
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{what} must be numbers, (points, {columns}); they were given {points!r:.100}.") from None
    if array.ndim != 2 or array.shape[1] != columns or len(array) < 2:
        raise ShapeError(f"{what} must have shape (points, {columns}) with two points or more, not {array.shape}.")
    if not np.isfinite(array).all():
        raise ShapeError(f"{what} must be finite; point {int(np.argmin(np.isfinite(array).all(axis=1)))} is not.")
    return array
