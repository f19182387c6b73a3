"""Kalman's filter and smoother along time: the sweep that along links is forward dynamics (R87 §VIII), and is the
regulator's with time reversed, F* for A, H* for B, W for Q and V for R.

    D = HPH* + V,   e = y − Hx⁻,   x⁻ ← F(x⁻ + PH*D⁻¹e) + c,   P ← F(P − PH*D⁻¹HP)F* + W      (R87 eqs. 36-43)
    λ ← F*λ + H*D⁻¹(e − HPF*λ),   x = x⁻ + Pλ                                                (R87 eqs. 34, 44-47)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.errors import InfeasibleError, ShapeError
from phistar.short_repr import short_repr
from phistar.steps.sweep import RiccatiSweep


@short_repr
@dataclass(frozen=True, eq=False)
class Filter:
    """T measurements of a system with n states. `predicted` (T + 1, n) and `predicted_covariances` (T + 1, n, n) are
    before each measurement, and after the last; `states` (T, n) and `covariances` (T, n, n) after it. `innovations`
    (T, m), NaN where nothing was measured, with covariances `D` (T, m, m)."""

    predicted: Array
    predicted_covariances: Array
    states: Array
    covariances: Array
    innovations: Array
    D: Array

    @property
    def nis(self) -> Array:
        """Normalized innovations squared, e*D⁻¹e, (T,): chi-squared, m degrees of freedom, if consistent."""
        e = np.nan_to_num(self.innovations)
        return np.einsum("ti,ti->t", e, np.linalg.solve(self.D, e[..., None])[..., 0])

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of all measurements under Gaussian noise: −½Σ(e*D⁻¹e + log det 2πD)."""
        measured = np.isfinite(self.innovations).sum()
        return float(-0.5 * (self.nis.sum() + np.linalg.slogdet(self.D)[1].sum() + measured * np.log(2.0 * np.pi)))


@short_repr
@dataclass(frozen=True, eq=False)
class Smoother:
    """The states (T, n) and covariances (T, n, n) given all T measurements, and the filter that they came from;
    `costates` (T, n) are λ of x = x⁻ + Pλ."""

    states: Array
    covariances: Array
    costates: Array
    filter: Filter


def kalman_filter(y: Any, F: Any, H: Any, W: Any, V: Any, x0: Any, P0: Any, *, inputs: Any = None) -> Filter:
    """The states of a linear system from noisy measurements, each from those before it.

    x' = Fx + c + w, y = Hx + v, with white noise of covariances W and V (Kalman 1960; R87 eqs. 35-43 along links). A
    NaN in y is a number that was not measured.

    Parameters
    ----------
    y : (T, m)
        Measurements.
    F, H : (n, n) or (T, n, n), (m, n) or (T, m, n)
        Transition after each measurement, and what is measured.
    W, V : (n, n) or (T, n, n), (m, m) or (T, m, m)
        Covariances of the system's and of the measurements' noise; V positive definite.
    x0, P0 : (n,), (n, n)
        State before the first measurement, and its covariance.
    inputs : (n,) or (T, n), optional
        c, what is added to the state after each measurement.

    Returns
    -------
    Filter
        `states`, `covariances`, `predicted`, `innovations`, `D`, `nis`, `log_likelihood`.

    Examples
    --------
    >>> found = ps.estimation.kalman_filter([[1.0], [2.0]], [[1.0]], [[1.0]], [[0.0]], [[1.0]], [0.0], [[1e6]])
    >>> found.states.round(3).tolist(), found.covariances[-1].round(3).tolist()
    ([[1.0], [1.5]], [[0.5]])
    """
    return _run_filter(_Problem.of(y, F, H, W, V, x0, P0, inputs))


def kalman_smoother(y: Any, F: Any, H: Any, W: Any, V: Any, x0: Any, P0: Any, *, inputs: Any = None) -> Smoother:
    """The states of a linear system from noisy measurements, each from all of them.

    x = x⁻ + Pλ with the costates λ swept backward in time, and covariance P − PΛP (Bryson and Frazier; R87 eqs. 34,
    44-47, 65).

    Parameters
    ----------
    y, F, H, W, V, x0, P0, inputs
        As of `kalman_filter`.

    Returns
    -------
    Smoother
        `states`, `covariances`, `costates` and the `filter`.

    Examples
    --------
    >>> found = ps.estimation.kalman_smoother([[1.0], [2.0]], [[1.0]], [[1.0]], [[0.0]], [[1.0]], [0.0], [[1e6]])
    >>> found.states.round(3).tolist()
    [[1.5], [1.5]]
    """
    problem = _Problem.of(y, F, H, W, V, x0, P0, inputs)
    forward = _run_filter(problem)
    sweep = problem.sweep
    sweep.forward()
    costates = sweep.vector("x")[:0:-1].copy()
    A, B, K, D = (sweep.table(name) for name in "ABKD")
    closed, spreads = A - B @ K, B @ np.linalg.solve(D, np.swapaxes(B, -1, -2))
    for k in range(1, sweep.steps):
        spreads[k] += closed[k] @ spreads[k - 1] @ closed[k].T  # R87 eqs. 81, 82
    P = forward.predicted_covariances[:-1]
    covariances = P - P @ spreads[::-1] @ P  # R87 eq. 65
    states = forward.predicted[:-1] + np.einsum("tij,tj->ti", P, costates)
    return Smoother(states, covariances, costates, forward)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The regulator whose sweep is the filter: its last step is the first measurement."""

    sweep: RiccatiSweep
    y: np.ndarray
    H: np.ndarray

    @staticmethod
    def of(y: Any, F: Any, H: Any, W: Any, V: Any, x0: Any, P0: Any, inputs: Any) -> _Problem:
        measured = measurements(y)
        (T, m), n = measured.shape, np.asarray(x0, dtype=float).shape[-1]
        F, H = by_time("F", F, (T, n, n)), by_time("H", H, (T, m, n))
        W, V = covariance_by_time("W", W, (T, n, n)), covariance_by_time("V", V, (T, m, m))
        missing = np.isnan(measured)
        seen = np.where(missing[..., None], 0.0, H)
        noise = np.where(missing[:, :, None] | missing[:, None, :], np.eye(m) * 1.0, V)
        sweep = RiccatiSweep(T, n, m)
        for name, array in {"A": np.swapaxes(F, -1, -2), "B": np.swapaxes(seen, -1, -2), "R": noise}.items():
            sweep.table(name)[:] = array[::-1]
        sweep.vector("r")[:] = -np.nan_to_num(measured)[::-1]
        sweep.table("Q")[:-1], sweep.table("Q")[-1] = W[::-1], covariance_by_time("P0", P0, (n, n))
        sweep.vector("q")[-1] = x0
        if inputs is not None:
            sweep.vector("q")[:-1] = by_time("inputs", inputs, (T, n))[::-1]
        return _Problem(sweep, measured, seen)


def _run_filter(problem: _Problem) -> Filter:
    sweep = problem.sweep
    failed = sweep.backward()
    if failed is not None:
        raise InfeasibleError(
            f"The covariance of measurement {sweep.steps - 1 - failed} is not positive definite: V, W and P0 must be "
            "covariances, and V positive definite where H P H* does not make it so."
        )
    predicted, P = sweep.vector("p")[::-1].copy(), sweep.table("P")[::-1].copy()
    D, H = sweep.table("D")[::-1].copy(), problem.H
    e = problem.y - np.einsum("tij,tj->ti", H, predicted[:-1])
    across = np.matmul(P[:-1], np.swapaxes(H, -1, -2))
    gain = np.swapaxes(np.linalg.solve(D, np.swapaxes(across, -1, -2)), -1, -2)
    states = predicted[:-1] + np.einsum("tij,tj->ti", gain, np.nan_to_num(e))
    return Filter(predicted, P, states, P[:-1] - np.matmul(gain, np.swapaxes(across, -1, -2)), e, D)


def measurements(y: Any) -> np.ndarray:
    """Measurements (T, m), NaN where there was none, checked."""
    try:
        measured = np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"y must be numbers (T, m); it was given {y!r:.60}.") from None
    if measured.ndim != 2 or not measured.size:
        raise ShapeError(f"y has shape {measured.shape}; measurements are (T, m).")
    if np.isinf(measured).any():
        raise ShapeError("y has infinite entries; write NaN for what was not measured.")
    return measured


def by_time(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An argument that may be the same at all times, (T, …), checked."""
    try:
        array = np.broadcast_to(np.asarray(value, dtype=float), shape)
    except (TypeError, ValueError):
        given = np.shape(value)
        raise ShapeError(f"{name} has shape {given}; it must be {shape[1:]} or {shape}.") from None
    if not np.isfinite(array).all():
        raise ShapeError(f"{name} has entries that are not finite.")
    return array


def covariance_by_time(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The same of a covariance, which must be symmetric."""
    array = by_time(name, value, shape)
    if not np.allclose(array, np.swapaxes(array, -1, -2), rtol=1e-9, atol=1e-12 * np.abs(array).max(initial=0.0)):
        raise ShapeError(f"{name} must be symmetric.")
    return array
