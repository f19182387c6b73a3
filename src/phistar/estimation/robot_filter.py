"""A robot's configuration and rates from noisy sensors: extended and unscented Kalman filters on its manifold.

Errors are [δq; δv] with q ⊕ δq, 2nv numbers, for joints of any kind and free bases. Between samples the state follows
θ̈ = FD(q, v, T) by the midpoint rule; a sensor says how far a measurement is from what a state predicts, y ⊖ h(q, v),
so that poses and directions are compared on their own manifolds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.dynamics import forward_dynamics
from phistar.errors import InfeasibleError, PhistarError, ShapeError
from phistar.estimation.sigma_points import (
    cross_covariance,
    moments,
    propagate_covariance,
    sigma_points,
    slopes,
    small_displacements,
)
from phistar.model import Model, require_tree
from phistar.model.check import check_robot
from phistar.short_repr import short_repr

Sensor = Callable[[Any, Any, Any], Any]  # (q, v, y) → y ⊖ h(q, v), (…, m), of any number of states


@short_repr
@dataclass(frozen=True, eq=False)
class RobotEstimate:
    """A robot at time `t`: `q` (…, nq), `v` (…, nv), `covariance` (…, 2nv, 2nv) of [δq; δv]; `nis` (…) of the last
    measurement, chi-squared with as many degrees of freedom as it has numbers; NaN before the first."""

    model: Model
    t: float
    q: Array
    v: Array
    covariance: Array
    nis: Array

    def moved(self, error: Any) -> RobotEstimate:
        """The estimate with errors (…, 2nv) added."""
        e, nv = np.asarray(error), self.model.nv
        return replace(self, q=self.model.integrate(self.q, e[..., :nv]), v=self.v + e[..., nv:])

    def away(self, q: Any, v: Any) -> Array:
        """The errors (…, 2nv) that take the estimate to a state."""
        rates = np.asarray(v, dtype=float) - self.v
        return np.concatenate([self.model.difference(self.q, np.asarray(q, dtype=float)), rates], axis=-1)

    def nees(self, q: Any, v: Any) -> Array:
        """Normalized error squared (…) against the truth: chi-squared with 2nv degrees of freedom, if consistent."""
        e = self.away(q, v)
        return np.sum(e * np.linalg.solve(self.covariance, e[..., None])[..., 0], axis=-1)


@dataclass(frozen=True, eq=False)
class RobotFilter:
    """A robot's state from noisy measurements, by an extended or unscented Kalman filter; batches of robots at once.

    Parameters
    ----------
    model : Model
        A tree.
    noise : float, (m,) or (m, m)
        Standard deviations of a measurement's numbers, or their covariance.
    sensor : callable, optional
        sensor(q, v, y) → (…, m), y ⊖ h(q, v), for states q (…, nq), v (…, nv): what was measured less what is
        predicted. By default y (…, nq) are the joints' coordinates, a free base's pose among them, and the error is
        y ⊖ q (…, nv).
    acceleration : float or (nv,)
        Spectral density of what else accelerates the joints: rad/s² or m/s² per √Hz.
    method : "ekf" or "ukf"
    longest : float
        Most seconds that a step of the motion between samples takes.

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> found = ps.estimation.RobotFilter(arm, noise=1e-3)
    >>> estimate = found.start([0.1, 0.2], [0.0, 0.0], position=0.1, rate=0.1)
    >>> estimate = found.update(estimate, 0.01, [0.12, 0.2], tau=ps.gravity_load(arm, [0.1, 0.2]))
    >>> estimate.q.round(3).tolist()
    [0.12, 0.2]
    """

    model: Model
    noise: Any
    sensor: Sensor | None = None
    acceleration: Any = 1e-2
    method: str = "ekf"
    longest: float = 0.01

    def __post_init__(self) -> None:
        check_robot("RobotFilter", (self.model,))
        require_tree(self.model, "RobotFilter")
        if self.method not in ("ekf", "ukf"):
            raise PhistarError(f"A robot filter is 'ekf' or 'ukf', not {self.method!r:.50}.")
        noise, extra = np.asarray(self.noise, dtype=float), np.asarray(self.acceleration, dtype=float)
        if noise.ndim > 2 or not np.isfinite(noise).all() or not _is_noise(noise):
            raise ShapeError(
                "A robot filter's noise is positive standard deviations, or a covariance (m, m), symmetric, positive "
                "definite: no number is measured without noise."
            )
        if extra.shape not in ((), (self.model.nv,)) or not ((extra >= 0.0) & np.isfinite(extra)).all():
            raise ShapeError(f"acceleration must be one number or {self.model.nv} of them, none negative.")
        if not 0.0 < self.longest < np.inf:
            raise ShapeError(f"The longest step must be positive; it is {self.longest!r:.50}.")

    def start(self, q: Any, v: Any, *, position: Any, rate: Any, t: float = 0.0) -> RobotEstimate:
        """The first belief: a state, and the standard deviations of its coordinates and rates.

        Parameters
        ----------
        q, v : (…, nq), (…, nv)
        position, rate : float or (nv,)
            Standard deviations: rad or m, and rad/s or m/s.
        t : float

        Returns
        -------
        RobotEstimate
        """
        model = self.model
        place, speed = model.checked_q(q), model.checked(v, model.nv, "v")
        if not (np.isfinite(place).all() and np.isfinite(speed).all() and np.isfinite(t)):
            raise ShapeError("The first belief is a finite state q, v at a finite time; it has numbers that are not.")
        sizes = np.concatenate([np.broadcast_to(np.asarray(x, dtype=float), (model.nv,)) for x in (position, rate)])
        if not ((sizes > 0.0) & np.isfinite(sizes)).all():
            raise ShapeError("Deviations of the start must be positive.")
        batch = np.broadcast_shapes(place.shape[:-1], speed.shape[:-1])
        spread = np.broadcast_to(np.diag(sizes**2), (*batch, len(sizes), len(sizes)))
        states = np.broadcast_to(place, (*batch, model.nq)), np.broadcast_to(speed, (*batch, model.nv))
        return RobotEstimate(model, float(t), *states, spread, np.full(batch, np.nan))

    def predict(self, estimate: RobotEstimate, t: float, tau: Any = 0.0) -> RobotEstimate:
        """The estimate at a later time without a measurement, joint forces tau (…, nv) having been held."""
        h = float(t) - estimate.t
        if not h >= 0.0:
            raise PhistarError(f"Measurements come in the order of time; {t:g} s is before {estimate.t:g} s.")
        if h == 0.0:
            return estimate
        forces = self.model.checked(np.broadcast_to(tau, estimate.v.shape), self.model.nv, "tau")
        if not np.isfinite(forces).all():
            raise PhistarError(
                f"The joint forces before {t:g} s are not finite: a filter needs to know what was driven."
            )
        after = self._flow(estimate, h, forces)

        def ends(displaced: np.ndarray) -> np.ndarray:
            end = self._flow(estimate.moved(displaced), h, forces)
            return after.away(end.q, end.v)

        shift, spread = propagate_covariance(estimate.covariance, ends, self.method == "ukf")
        return replace(after.moved(shift), t=float(t), covariance=spread + self._process(h))

    def update(self, estimate: RobotEstimate, t: float, y: Any, tau: Any = 0.0) -> RobotEstimate:
        """The estimate after a measurement y (…, m) at time t, joint forces tau (…, nv) having been held until then;
        numbers of y that are NaN were not measured."""
        before, measured = self.predict(estimate, t, tau), np.asarray(y, dtype=float)
        if np.isinf(measured).any():
            raise PhistarError(f"The measurement at {t:g} s has infinite numbers; write NaN for what was not measured.")
        missing = np.isnan(measured)
        if missing.all():
            return before
        P = before.covariance
        ukf = self.method == "ukf"
        points = before.moved(sigma_points(P) if ukf else small_displacements(P.shape[:-1]))
        e, others = self._errors(before, measured), self._errors(points, measured)
        if ukf:
            shift, D = moments(others - e)
            across = -cross_covariance(before.away(points.q, points.v), others - e - shift)
            e = e + shift
        else:
            H = -slopes(others)
            across = P @ np.swapaxes(H, -1, -2)
            D = H @ across
        D = D + self._noise(e.shape[-1])
        hidden = np.isnan(e)
        e = np.where(hidden, 0.0, e)
        across = np.where(hidden[..., None, :], 0.0, across)
        D = np.where(hidden[..., None, :] | hidden[..., :, None], np.eye(e.shape[-1]), D)
        try:
            gain = np.swapaxes(np.linalg.solve(D, np.swapaxes(across, -1, -2)), -1, -2)
        except np.linalg.LinAlgError:
            raise InfeasibleError("The innovations' covariance is singular: give every number its noise.") from None
        after = before.moved(np.matmul(gain, e[..., None])[..., 0])
        left = P - gain @ D @ np.swapaxes(gain, -1, -2)
        nis = np.sum(e * np.linalg.solve(D, e[..., None])[..., 0], axis=-1)
        return replace(after, covariance=0.5 * (left + np.swapaxes(left, -1, -2)), nis=nis)

    def run(self, start: RobotEstimate, t: Any, y: Any, tau: Any = 0.0) -> list[RobotEstimate]:
        """The estimates after each of the measurements y (T, …, m) at times t (T,); tau (T, …, nv) held before each."""
        forces, found = np.broadcast_to(tau, (len(t), *start.v.shape)), [start]
        for time, seen, held in zip(t, y, forces, strict=True):
            found.append(self.update(found[-1], time, seen, held))
        return found[1:]

    def _errors(self, x: RobotEstimate, y: np.ndarray) -> np.ndarray:
        if self.sensor is not None:
            return np.asarray(self.sensor(x.q, x.v, y), dtype=float)
        if y.shape[-1:] != (self.model.nq,):
            raise ShapeError(f"y has shape {y.shape}; the joints' coordinates are (…, {self.model.nq}).")
        return np.asarray(self.model.difference(x.q, np.broadcast_to(y, x.q.shape)))

    def _noise(self, count: int) -> np.ndarray:
        noise = np.asarray(self.noise, dtype=float)
        made = noise if noise.ndim == 2 else np.diag(np.broadcast_to(noise, (count,)) ** 2)
        if made.shape != (count, count):
            raise ShapeError(f"The noise is of {len(made)} numbers; the sensor gives {count}.")
        return made

    def _flow(self, x: RobotEstimate, h: float, tau: np.ndarray) -> RobotEstimate:
        """The robot a time h later, by the midpoint rule."""
        count = int(np.ceil(h / self.longest - 1e-9))
        step, q, v = h / count, x.q, x.v
        forces = np.broadcast_to(tau, v.shape)
        for _ in range(count):
            middle = v + 0.5 * step * forward_dynamics(self.model, q, v, forces)
            place = self.model.integrate(q, 0.5 * step * v)
            v = v + step * forward_dynamics(self.model, place, middle, forces)
            q = self.model.integrate(q, step * middle)
        return replace(x, q=q, v=v)

    def _process(self, h: float) -> np.ndarray:
        size = np.broadcast_to(np.asarray(self.acceleration, dtype=float), (self.model.nv,)) ** 2
        mixed = np.diag(size * h**2 / 2.0)
        return np.block([[np.diag(size * h**3 / 3.0), mixed], [mixed, np.diag(size * h)]])


def _is_noise(noise: np.ndarray) -> bool:
    """Whether these are positive deviations, or a covariance that is symmetric and positive definite."""
    if noise.ndim < 2:
        return bool((noise > 0.0).all())
    if noise.shape[0] != noise.shape[1] or not np.allclose(noise, noise.T, rtol=1e-9):
        return False
    return bool(np.linalg.eigvalsh(noise)[0] > 0.0)
