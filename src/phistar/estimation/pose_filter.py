"""A free body from noisy poses: place, attitude, velocity, spin and moments of inertia, by a Kalman filter on its
manifold.

Between sightings the body (`free_body.py`) drifts and tumbles about its origin, its principal axes those of its frame.
Of its 27 errors 14 are unknown here, [δp; δθ; δv; δω; δJ₁; δJ₂] with J₁ + J₂ + J₃ = 3; the flow is followed at states
moved along them: by differences for the extended filter, at sigma points for the unscented one.

While spin and moments are barely known, a filter that linearizes each sighting once takes for knowledge what is not.
So the first sightings are kept, and now and then the state at the first of them is found from all, linearized anew
(by Gauss and Newton's method); after `window` sightings the filter goes on alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.errors import PhistarError, ShapeError
from phistar.estimation.body_kernels import errors_between, flow
from phistar.estimation.free_body import FreeBody
from phistar.estimation.sighted_body import accelerations, correct, off
from phistar.estimation.sigma_points import propagate_covariance, slopes, small_displacements
from phistar.short_repr import short_repr
from phistar.spatial.vectors import require_finite

ERRORS = 14
KNOWN_BY = np.array([*range(12), 12, 14])  # which errors of a free body they are: of J its xx and yy
SPREAD = np.eye(27)[:, KNOWN_BY]  # and how a free body changes with them: zz makes up for both
SPREAD[17, 12:] = -1.0
TURN = 0.1  # rad, that an integration step may turn by
NEWTON_STEPS = 10


@dataclass(frozen=True, eq=False)
class Beginning:
    """The first sightings: the state before them as it was believed, what it is by all of them, and times, places and
    attitudes seen since."""

    believed: PoseEstimate
    found: PoseEstimate
    sightings: tuple[tuple[float, Array, Array], ...]


@short_repr
@dataclass(frozen=True, eq=False)
class PoseEstimate:
    """A body at time `t`: `pose` (…, 4, 4), `velocity` (…, 3) in world axes, `spin` (…, 3) in the body's, `moments`
    (…, 3) of inertia over their mean; `covariance` (…, 14, 14) of [p; θ; v; ω; J₁; J₂], θ and ω in the body's axes;
    `nis` (…) of the last pose, chi-squared with six degrees of freedom. `begin`: the first sightings while kept."""

    t: float
    body: FreeBody
    covariance: Array
    nis: Array
    begin: Beginning | None = None

    @property
    def pose(self) -> Array:
        made = np.zeros((*self.body.place.shape[:-1], 4, 4))
        made[..., :3, :3], made[..., :3, 3], made[..., 3, 3] = self.body.turn, self.body.place, 1.0
        return made

    @property
    def velocity(self) -> Array:
        return self.body.velocity

    @property
    def spin(self) -> Array:
        return self.body.spin

    @property
    def moments(self) -> Array:
        return self.body.inertia[..., [0, 2, 5]]

    def moved(self, error: Any) -> PoseEstimate:
        """The estimate with its errors (…, 14) added."""
        return replace(self, body=self.body.moved(np.asarray(error) @ SPREAD.T))

    def away(self, other: PoseEstimate) -> Array:
        """The errors (…, 14) that take this estimate to another."""
        return errors_between(self.body, other.body)[..., KNOWN_BY]

    def nees(self, truth: PoseEstimate) -> Array:
        """Normalized error squared (…) against the true state: chi-squared with 14 degrees of freedom, if
        consistent."""
        e = self.away(truth)
        return np.sum(e * np.linalg.solve(self.covariance, e[..., None])[..., 0], axis=-1)


@dataclass(frozen=True)
class PoseFilter:
    """A tumbling body's pose, velocity, spin and moments of inertia, from noisy poses; batches of bodies at once.

    Parameters
    ----------
    position_noise, rotation_noise : float
        Standard deviations of each coordinate of a sighting: m, and rad about the body's axes.
    acceleration, angular_acceleration : float
        Spectral densities of what else moves the body: m/s² and rad/s² per √Hz.
    speed, spin, moment : float
        Standard deviations at the start: m/s, rad/s, and of each moment of inertia over their mean, about one.
    gravity : (3,)
        m/s²; none by default.
    method : "ukf" or "ekf"
    window : int
        How many of the first sightings are kept and fitted together.

    Examples
    --------
    >>> body = ps.estimation.PoseFilter(position_noise=0.01, rotation_noise=0.02)
    >>> estimate = body.start(np.eye(4))
    >>> later = np.eye(4)
    >>> later[0, 3] = 0.1
    >>> for k in range(1, 50):
    ...     later[0, 3] = 0.1 * k
    ...     estimate = body.update(estimate, 0.1 * k, later)
    >>> (estimate.velocity.round(2) + 0.0).tolist()
    [1.0, 0.0, 0.0]
    """

    position_noise: float
    rotation_noise: float
    acceleration: float = 1e-4
    angular_acceleration: float = 1e-5
    speed: float = 1.0
    spin: float = 1.0
    moment: float = 0.3
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    method: str = "ukf"
    window: int = 150

    def __post_init__(self) -> None:
        if self.method not in ("ukf", "ekf"):
            raise PhistarError(f"A pose filter is 'ukf' or 'ekf', not {self.method!r:.50}.")
        for name in ("position_noise", "rotation_noise", "speed", "spin", "moment"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ShapeError(f"A pose filter's {name} must be positive; it is {getattr(self, name)!r:.50}.")

    def start(self, pose: Any, t: float = 0.0) -> PoseEstimate:
        """The estimate at the first sighting: there, at rest as far as is known."""
        place, turn = _check_sighting(pose)
        batch, nothing = place.shape[:-1], np.zeros(place.shape)
        unit = np.broadcast_to(np.eye(3), turn.shape)
        six = np.broadcast_to([1.0, 0.0, 1.0, 0.0, 0.0, 1.0], (*batch, 6))
        body = FreeBody(turn, place, nothing, nothing, six, nothing, unit, nothing)
        sizes = [self.position_noise, self.rotation_noise, self.speed, self.spin, self.moment]
        spread = np.diag(np.repeat(np.square(sizes), (3, 3, 3, 3, 2)))
        spread[12, 13] = spread[13, 12] = -0.5 * self.moment**2  # of three alike whose sum is known
        spread = np.broadcast_to(spread, (*batch, ERRORS, ERRORS)).copy()
        made = PoseEstimate(float(t), body, spread, np.full(batch, np.nan))
        return replace(made, begin=Beginning(made, made, ())) if self.window > 1 else made

    def predict(self, estimate: PoseEstimate, t: float) -> PoseEstimate:
        """The estimate at a later time without a new pose."""
        h = float(t) - estimate.t
        if not h >= 0.0:
            raise PhistarError(f"Sightings come in the order of time; {t:g} s is before {estimate.t:g} s.")
        if h == 0.0:
            return estimate
        after = self.flow(estimate, h)

        def ends(displaced: np.ndarray) -> np.ndarray:
            return after.away(self.flow(estimate.moved(displaced), h))

        shift, spread = propagate_covariance(estimate.covariance, ends, self.method == "ukf")
        return replace(after.moved(shift), t=float(t), covariance=spread + self._noise(h))

    def update(self, estimate: PoseEstimate, t: float, pose: Any) -> PoseEstimate:
        """The estimate after a sighting (…, 4, 4) at time t."""
        before = self.predict(estimate, t)
        place, turn = _check_sighting(pose)
        seen, sizes = np.eye(6, ERRORS), np.repeat([self.position_noise, self.rotation_noise], 3)
        step, spread, nis = correct(before.covariance, seen, off(before.body, place, turn), sizes)
        nis = nis[..., 0]
        after, begin = replace(before.moved(step), covariance=spread, nis=nis), estimate.begin
        if begin is None or len(begin.sightings) + 2 > self.window:
            return replace(after, begin=None)
        begin = replace(begin, sightings=(*begin.sightings, (float(t), place, turn)))
        if not _is_due(len(begin.sightings)):
            return replace(after, begin=begin)
        return self._fit(self._fit(begin, nis).begin or begin, nis)

    def _fit(self, begin: Beginning, nis: np.ndarray) -> PoseEstimate:
        """The estimate at the last sighting from all of them, and the belief before."""
        step, spread, path = self._newton_step(begin)
        ahead, F = path[-1]
        after = ahead.moved(np.matmul(F, step)[..., 0])
        begin = replace(begin, found=begin.found.moved(step[..., 0]))
        total = sum((self._noise(two.t - one.t) for (one, _), (two, _) in pairwise(path)), np.zeros((ERRORS, ERRORS)))
        return replace(after, covariance=F @ spread @ np.swapaxes(F, -1, -2) + total, nis=nis, begin=begin)

    def _newton_step(self, begin: Beginning) -> tuple[np.ndarray, np.ndarray, list[tuple[PoseEstimate, np.ndarray]]]:
        """The step (…, 14, 1) of Gauss and Newton's method on the state before all sightings, its covariance, and the
        way from there: states, and how they change with it, (…, 14, 14)."""
        believed, found = begin.believed, begin.found
        weight = np.repeat(1.0 / np.square([self.position_noise, self.rotation_noise]), 3)
        curve = np.linalg.inv(believed.covariance)
        slope = np.matmul(curve, found.away(believed)[..., None])[..., 0]
        ends, ahead, F = found.moved(small_displacements(found.covariance.shape[:-1])), found, np.eye(ERRORS)
        path = [(ahead, F)]
        for time, place, turn in begin.sightings:
            h, ends = time - ahead.t, self.flow(ends, time - ahead.t)
            ahead = replace(self.flow(ahead, h), t=time)
            e = off(ahead.body, place, turn)
            F = slopes(ahead.away(ends))
            path.append((ahead, F))
            weighted = weight[:, None] * F[..., :6, :]
            slope = slope + np.matmul(np.swapaxes(weighted, -1, -2), e[..., None])[..., 0]
            curve = curve + np.matmul(np.swapaxes(F[..., :6, :], -1, -2), weighted)
        return np.linalg.solve(curve, slope[..., None]), np.linalg.inv(curve), path

    def smooth(self, t: Any, poses: Any) -> list[PoseEstimate]:
        """The estimates at each of the times t (T,) from all of the poses (T, …, 4, 4), those that came later too.

        Nothing else is to move the body: of all motions left to itself the one that fits best (least squares on the
        manifold), with the covariance of each of its states.
        """
        begin = replace(self, window=len(t) + 1).run(t, poses)[-1].begin if np.size(t) > 1 else None
        if begin is None:
            raise PhistarError(f"A body is followed through two poses or more; it was given {np.size(t)}.")
        for _ in range(NEWTON_STEPS):
            step, spread, path = self._newton_step(begin)
            begin = replace(begin, found=begin.found.moved(step[..., 0]))
            if np.max(np.abs(step), initial=0.0) < 1e-9:
                break
        _, spread, path = self._newton_step(begin)
        return [replace(x, covariance=F @ spread @ np.swapaxes(F, -1, -2), begin=None) for x, F in path]

    def run(self, t: Any, poses: Any) -> list[PoseEstimate]:
        """The estimates after each of the poses (T, …, 4, 4) at times t (T,)."""
        if np.ndim(t) != 1 or not len(t) or len(t) != len(poses):
            raise ShapeError(f"Times are (T,), one for each pose; they are {np.shape(t)}, with {len(poses)} poses.")
        log = np.reshape(np.asarray(poses, dtype=float), (len(t), -1)), np.reshape(np.asarray(t, dtype=float), (-1, 1))
        require_finite(np.concatenate(log, axis=1), "The log of poses and times")
        found = [self.start(poses[0], t[0])]
        for time, pose in zip(t[1:], poses[1:], strict=True):
            found.append(self.update(found[-1], time, pose))
        return found

    def flow(self, x: PoseEstimate, h: float) -> PoseEstimate:
        """The body a time h later, left to itself."""
        fastest = float(np.max(np.linalg.norm(x.spin, axis=-1), initial=0.0))
        count = min(max(1, int(np.ceil(fastest * h / TURN))), 200)
        return replace(x, body=flow(x.body, h, count, self.gravity))

    def _noise(self, h: float) -> np.ndarray:
        return accelerations(np.array([h]), np.array([self.acceleration, self.angular_acceleration]), ERRORS)


def _is_due(count: int) -> bool:
    """Whether so many sightings are fitted together: each one at first, then at every quarter more."""
    return count <= 5 or int(np.log(count) / np.log(1.25)) > int(np.log(count - 1) / np.log(1.25))


def _check_sighting(pose: Any) -> tuple[np.ndarray, np.ndarray]:
    """Place and attitude of a sighting, checked."""
    found = np.asarray(pose, dtype=float)
    if found.shape[-2:] != (4, 4) or not np.isfinite(found).all():
        raise ShapeError(
            f"A sighting is a finite pose (…, 4, 4); it has shape {found.shape}. Leave out what was not seen."
        )
    turn = found[..., :3, :3]
    if np.abs(np.matmul(turn, np.swapaxes(turn, -1, -2)) - np.eye(3)).max() > 1e-6:
        raise ShapeError("A sighting's rotation is not orthogonal.")
    return found[..., :3, 3].copy(), turn.copy()
