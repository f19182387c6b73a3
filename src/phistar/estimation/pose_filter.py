"""A free body from noisy poses: place, attitude, velocity, spin and inertia ratios, by a Kalman filter on the manifold.

Between sightings the body drifts and tumbles: ω̇ = J⁻¹(Jω × ω) with J's principal axes those of the body and its scale
unknown, J ~ diag(e^k₁, e^k₂, 1). Errors are [δp; δθ; δv; δω; δk], attitudes q ⊗ exp(δθ), 14 numbers; the flow is
followed at states moved along them: by differences for the extended filter, at sigma points for the unscented one.

While spin and ratios are barely known, a filter that linearizes each sighting once takes for knowledge what is not.
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
from phistar.estimation.sigma_points import moments, sigma_points, slopes, small_displacements
from phistar.short_repr import short_repr
from phistar.spatial import conjugate, cross, from_quaternion, multiply, to_quaternion
from phistar.spatial.rotations import exp_quaternion, log_quaternion

ERRORS = 14
TURN = 0.05  # rad, that an integration step may turn by
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
    """A body at time `t`: `pose` (…, 4, 4), `velocity` (…, 3) in world axes, `spin` (…, 3) in the body's, `ratios`
    (…, 2) = ln J₁/J₃, ln J₂/J₃; `covariance` (…, 14, 14) of [p; θ; v; ω; ratios], θ and ω in the body's axes; `nis`
    (…) of the last pose, chi-squared with six degrees of freedom. `begin`: the first sightings while kept."""

    t: float
    position: Array
    quaternion: Array
    velocity: Array
    spin: Array
    ratios: Array
    covariance: Array
    nis: Array
    begin: Beginning | None = None

    @property
    def pose(self) -> Array:
        made = np.zeros((*self.position.shape[:-1], 4, 4))
        made[..., :3, :3], made[..., :3, 3], made[..., 3, 3] = from_quaternion(self.quaternion), self.position, 1.0
        return made

    def moved(self, error: Any) -> PoseEstimate:
        """The estimate with its errors (…, 14) added."""
        e = np.asarray(error)
        turned = multiply(self.quaternion, exp_quaternion(e[..., 3:6]))
        velocity, spin = self.velocity + e[..., 6:9], self.spin + e[..., 9:12]
        parts = {"position": self.position + e[..., :3], "quaternion": turned, "velocity": velocity, "spin": spin}
        return replace(self, **parts, ratios=self.ratios + e[..., 12:])

    def away(self, other: PoseEstimate) -> Array:
        """The errors (…, 14) that take this estimate to another."""
        turn = _turn(self.quaternion, other.quaternion)
        parts = other.position - self.position, turn, other.velocity - self.velocity, other.spin - self.spin
        return np.concatenate([*parts, other.ratios - self.ratios], axis=-1)


@dataclass(frozen=True)
class PoseFilter:
    """A tumbling body's pose, velocity, spin and inertia ratios, from noisy poses; batches of bodies at once.

    Parameters
    ----------
    position_noise, rotation_noise : float
        Standard deviations of each coordinate of a sighting: m, and rad about the body's axes.
    acceleration, angular_acceleration : float
        Spectral densities of what else moves the body: m/s² and rad/s² per √Hz.
    speed, spin, ratio : float
        Standard deviations at the start: m/s, rad/s, and of ln J₁/J₃.
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
    >>> estimate.velocity.round(2).tolist()
    [1.0, 0.0, 0.0]
    """

    position_noise: float
    rotation_noise: float
    acceleration: float = 1e-4
    angular_acceleration: float = 1e-5
    speed: float = 1.0
    spin: float = 1.0
    ratio: float = 0.5
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    method: str = "ukf"
    window: int = 150

    def __post_init__(self) -> None:
        if self.method not in ("ukf", "ekf"):
            raise PhistarError(f"A pose filter is 'ukf' or 'ekf', not {self.method!r:.50}.")
        for name in ("position_noise", "rotation_noise", "speed", "spin", "ratio"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ShapeError(f"A pose filter's {name} must be positive; it is {getattr(self, name)!r:.50}.")

    def start(self, pose: Any, t: float = 0.0) -> PoseEstimate:
        """The estimate at the first sighting: there, at rest as far as is known."""
        position, quaternion = _sighted(pose)
        sizes = [self.position_noise, self.rotation_noise, self.speed, self.spin, self.ratio]
        diagonal = np.repeat(np.square(sizes), (3, 3, 3, 3, 2))
        batch, nothing = position.shape[:-1], np.zeros(position.shape)
        spread = np.broadcast_to(np.diag(diagonal), (*batch, ERRORS, ERRORS)).copy()
        ratios, nis = np.zeros((*batch, 2)), np.full(batch, np.nan)
        made = PoseEstimate(float(t), position, quaternion, nothing, nothing.copy(), ratios, spread, nis)
        return replace(made, begin=Beginning(made, made, ())) if self.window > 1 else made

    def predict(self, estimate: PoseEstimate, t: float) -> PoseEstimate:
        """The estimate at a later time without a new pose."""
        h = float(t) - estimate.t
        if not h >= 0.0:
            raise PhistarError(f"Sightings come in the order of time; {t:g} s is before {estimate.t:g} s.")
        if h == 0.0:
            return estimate
        mean, spread = (self._unscented if self.method == "ukf" else self._extended)(estimate, h)
        return replace(mean, t=float(t), covariance=spread + self._noise(h))

    def update(self, estimate: PoseEstimate, t: float, pose: Any) -> PoseEstimate:
        """The estimate after a sighting (…, 4, 4) at time t."""
        before = self.predict(estimate, t)
        position, quaternion = _sighted(pose)
        turn = _turn(before.quaternion, quaternion)
        e = np.concatenate([position - before.position, turn], axis=-1)
        noise = np.diag(np.repeat(np.square([self.position_noise, self.rotation_noise]), 3))
        P = before.covariance
        D = P[..., :6, :6] + noise
        gain = np.swapaxes(np.linalg.solve(D, P[..., :6, :]), -1, -2)
        nis = np.sum(e * np.linalg.solve(D, e[..., None])[..., 0], axis=-1)
        kept = np.eye(ERRORS) - np.concatenate([gain, np.zeros((*gain.shape[:-1], ERRORS - 6))], axis=-1)
        spread = kept @ P @ np.swapaxes(kept, -1, -2) + gain @ noise @ np.swapaxes(gain, -1, -2)  # R87 eq. 51
        after = before.moved(np.matmul(gain, e[..., None])[..., 0])
        after, begin = replace(after, covariance=spread, nis=nis), estimate.begin
        if begin is None or len(begin.sightings) + 2 > self.window:
            return replace(after, begin=None)
        begin = replace(begin, sightings=(*begin.sightings, (float(t), position, quaternion)))
        if not _is_due(len(begin.sightings)):
            return replace(after, begin=begin)
        return self._fitted(self._fitted(begin, nis).begin or begin, nis)

    def _fitted(self, begin: Beginning, nis: np.ndarray) -> PoseEstimate:
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
        for time, position, quaternion in begin.sightings:
            h, ends = time - ahead.t, self.flow(ends, time - ahead.t)
            ahead = replace(self.flow(ahead, h), t=time)
            e = np.concatenate([position - ahead.position, _turn(ahead.quaternion, quaternion)], axis=-1)
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
        begin = replace(self, window=len(t) + 1).run(t, poses)[-1].begin if len(t) > 1 else None
        if begin is None:
            raise PhistarError(f"A body is followed through two poses or more; it was given {len(t)}.")
        for _ in range(NEWTON_STEPS):
            step, spread, path = self._newton_step(begin)
            begin = replace(begin, found=begin.found.moved(step[..., 0]))
            if np.max(np.abs(step), initial=0.0) < 1e-9:
                break
        _, spread, path = self._newton_step(begin)
        return [replace(x, covariance=F @ spread @ np.swapaxes(F, -1, -2), begin=None) for x, F in path]

    def run(self, t: Any, poses: Any) -> list[PoseEstimate]:
        """The estimates after each of the poses (T, …, 4, 4) at times t (T,)."""
        found = [self.start(poses[0], t[0])]
        for time, pose in zip(t[1:], poses[1:], strict=True):
            found.append(self.update(found[-1], time, pose))
        return found

    def flow(self, x: PoseEstimate, h: float) -> PoseEstimate:
        """The body a time h later, left to itself: by Runge and Kutta's method on spin and attitude."""
        fall = np.asarray(self.gravity, dtype=float)
        fastest = float(np.max(np.linalg.norm(x.spin, axis=-1), initial=0.0))
        count = min(max(1, int(np.ceil(fastest * h / TURN))), 200)
        moments = np.concatenate([np.exp(x.ratios), np.ones((*x.ratios.shape[:-1], 1))], axis=-1)

        def rates(turn: np.ndarray, spin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            around = np.concatenate([spin, np.zeros((*spin.shape[:-1], 1))], axis=-1)
            return 0.5 * multiply(turn, around), cross(moments * spin, spin) / moments

        turn, spin, step = x.quaternion, x.spin, h / count
        for _ in range(count):
            a = rates(turn, spin)
            b = rates(turn + 0.5 * step * a[0], spin + 0.5 * step * a[1])
            c = rates(turn + 0.5 * step * b[0], spin + 0.5 * step * b[1])
            d = rates(turn + step * c[0], spin + step * c[1])
            turn = turn + step / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0])
            spin = spin + step / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])
            turn = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
        position = x.position + h * x.velocity + 0.5 * h * h * fall
        return replace(x, position=position, quaternion=turn, velocity=x.velocity + h * fall, spin=spin)

    def _extended(self, x: PoseEstimate, h: float) -> tuple[PoseEstimate, np.ndarray]:
        after = self.flow(x, h)
        F = slopes(after.away(self.flow(x.moved(small_displacements(x.covariance.shape[:-1])), h)))
        return after, F @ x.covariance @ np.swapaxes(F, -1, -2)

    def _unscented(self, x: PoseEstimate, h: float) -> tuple[PoseEstimate, np.ndarray]:
        ends, center = self.flow(x.moved(sigma_points(x.covariance)), h), self.flow(x, h)
        shift, spread = moments(center.away(ends))
        return center.moved(shift), spread

    def _noise(self, h: float) -> np.ndarray:
        made, unit = np.zeros((ERRORS, ERRORS)), np.eye(3)
        for at, size in ((0, self.acceleration), (3, self.angular_acceleration)):
            place, rate_at = slice(at, at + 3), slice(at + 6, at + 9)
            made[place, place] = size**2 * h**3 / 3.0 * unit
            made[place, rate_at] = made[rate_at, place] = size**2 * h**2 / 2.0 * unit
            made[rate_at, rate_at] = size**2 * h * unit
        return made


def _is_due(count: int) -> bool:
    """Whether so many sightings are fitted together: each one at first, then at every quarter more."""
    return count <= 5 or int(np.log(count) / np.log(1.25)) > int(np.log(count - 1) / np.log(1.25))


def _turn(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The rotation vector, in the first one's axes, between two attitudes."""
    return log_quaternion(multiply(conjugate(before), after))


def _sighted(pose: Any) -> tuple[np.ndarray, np.ndarray]:
    """Place and attitude of a sighting, checked."""
    found = np.asarray(pose, dtype=float)
    if found.shape[-2:] != (4, 4) or not np.isfinite(found).all():
        raise ShapeError(
            f"A sighting is a finite pose (…, 4, 4); it has shape {found.shape}. Leave out what was not seen."
        )
    turn = found[..., :3, :3]
    if np.abs(np.matmul(turn, np.swapaxes(turn, -1, -2)) - np.eye(3)).max() > 1e-6:
        raise ShapeError("A sighting's rotation is not orthogonal.")
    return found[..., :3, 3].copy(), to_quaternion(turn)
