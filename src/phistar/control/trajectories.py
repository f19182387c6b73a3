"""Motions through waypoints, in joint coordinates or as poses of a frame, as slow as their limits ask and no slower."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.control.splines import Spline, checked_points, through
from phistar.errors import InfeasibleError, ModelError, ShapeError
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr
from phistar.spatial import rotations

SAMPLES = 200  # per segment, where a peak has no closed form
TOLERANCE = 1e-9  # of limits, relative


@short_repr
class JointPoint(NamedTuple):
    """q, θ̇ and θ̈, (…, n) each."""

    q: Array
    v: Array
    a: Array


@short_repr
class PosePoint(NamedTuple):
    """A pose (…, 4, 4), its β = [ω; ẋ] and β̇ (…, 6), world axes."""

    pose: Array
    twist: Array
    acceleration: Array


@dataclass(frozen=True, eq=False)
class JointTrajectory:
    """trajectory(t) → JointPoint; t (…) in seconds or a traced number. At rest before 0 and after `duration`."""

    spline: Spline
    limited_by: str  # what keeps it from being faster

    @property
    def duration(self) -> float:
        return self.spline.duration

    def __call__(self, t: Any) -> JointPoint:
        return JointPoint(*self.spline.motion(t))


@dataclass(frozen=True, eq=False)
class PoseTrajectory:
    """trajectory(t) → PosePoint; the spline has the position and a quaternion that is scaled to unit length."""

    spline: Spline
    limited_by: str

    @property
    def duration(self) -> float:
        return self.spline.duration

    def __call__(self, t: Any) -> PosePoint:
        x, rate, change = self.spline.motion(t)
        s, ds, dds = x[..., 3:], rate[..., 3:], change[..., 3:]
        length = np.sum(s * s, axis=-1)[..., None]
        # q = s/|s| gives ω = 2 Im(q̇ ⊗ q*) = 2 Im(ṡ ⊗ s*)/s·s: what changes the length has no vector part.
        omega = 2.0 * _vector_part(ds, s) / length
        turning = 2.0 * (_vector_part(dds, s) - np.sum(s * ds, axis=-1)[..., None] * omega) / length
        pose = _pose(rotations.from_quaternion(s / np.sqrt(length)), x[..., :3])
        twist = np.concatenate([omega, rate[..., :3]], axis=-1)
        return PosePoint(pose, twist, np.concatenate([turning, change[..., :3]], axis=-1))


def joint_trajectory(
    model: Model, waypoints: Any, *, duration: float | None = None, velocity: Any = None, acceleration: Any = None
) -> JointTrajectory:
    """Smooth motion through waypoints of the joints, at rest at both ends.

    It takes `duration`, or the least time that the limits allow. A motion that leaves the joints' limits, or cannot be
    as fast as asked, is refused with the numbers.

    Parameters
    ----------
    model : Model
    waypoints : (m + 1, nq)
    duration : float, optional
        In seconds.
    velocity, acceleration : float or (nv,), optional
        Greatest magnitudes; without `velocity`, the model's own.

    Returns
    -------
    JointTrajectory
        `trajectory(t)` gives q, v and a; `trajectory.duration`.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> path = ps.control.joint_trajectory(arm, [q, q + 0.3], duration=2.0)
    >>> [part.shape for part in path(1.0)]
    [(6,), (6,), (6,)]
    """
    check_robot("joint_trajectory", (model,))
    if not all(joint.kind.flat for joint in model.joints):
        curved = next(joint.name for joint in model.joints if not joint.kind.flat)
        raise ModelError(
            f"Joint {curved!r} has no vector of coordinates to interpolate; plan its frame's poses instead."
        )
    points = _distinct(checked_points(waypoints, model.nq, "Waypoints"))
    names = [f"joint {joint.name!r}" for joint in model.joints for _ in range(joint.nv)]
    fastest = _limits(model.velocity_limits if velocity is None else velocity, model.nv, "velocity")
    hardest = _limits(np.inf if acceleration is None else acceleration, model.nv, "acceleration")
    steps = np.abs(np.diff(points, axis=0))
    curve = through(points, _weights(steps, fastest, hardest))
    wanted = [_Limit(f"the velocity of {name}", 1, curve.peaks(1)[j], fastest[j]) for j, name in enumerate(names)] + [
        _Limit(f"the acceleration of {name}", 2, curve.peaks(2)[j], hardest[j]) for j, name in enumerate(names)
    ]
    factor, reason = _duration_within(wanted, duration)
    _within_limits(model, curve, names)
    return JointTrajectory(curve.stretched(factor), reason)


def pose_trajectory(
    poses: Any,
    *,
    duration: float | None = None,
    velocity: float | None = None,
    acceleration: float | None = None,
    angular_velocity: float | None = None,
    angular_acceleration: float | None = None,
) -> PoseTrajectory:
    """Smooth motion of a frame through poses, at rest at both ends.

    Between two poses the frame turns about one axis; neighbours more than half a turn apart go the shorter way. Limits
    are lengths of the vectors.

    Parameters
    ----------
    poses : (m + 1, 4, 4)
    duration : float, optional
        In seconds; else the least time that the limits allow.
    velocity, acceleration : float, optional
        In m/s and m/s².
    angular_velocity, angular_acceleration : float, optional
        In rad/s and rad/s².

    Returns
    -------
    PoseTrajectory
        `trajectory(t)` gives pose, twist and acceleration.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> pose = ps.forward_kinematics(arm, q, "tool")
    >>> path = ps.control.pose_trajectory([pose, np.eye(4)], duration=1.0)
    >>> path(0.5)[0].shape
    (4, 4)
    """
    points = _distinct(_coordinates(poses))
    limits = [_limits(np.inf if x is None else x, 1, "the motion")[0] for x in (velocity, angular_velocity)]
    harder = [_limits(np.inf if x is None else x, 1, "the motion")[0] for x in (acceleration, angular_acceleration)]
    distances = np.linalg.norm(np.diff(points[:, :3], axis=0), axis=-1)
    angles = 2.0 * np.linalg.norm(np.diff(points[:, 3:], axis=0), axis=-1)
    weights = _weights(np.stack([distances, angles], axis=-1), np.array(limits), np.array(harder))
    trial = PoseTrajectory(through(points, weights), "")
    names = ("the velocity", "the angular velocity", "the acceleration", "the angular acceleration")
    parts = ((1, slice(3, 6)), (1, slice(0, 3)), (2, slice(3, 6)), (2, slice(0, 3)))
    wanted = [
        _Limit(name, order, _peak(trial, order, part), limit)
        for name, (order, part), limit in zip(names, parts, (*limits, *harder), strict=True)
    ]
    factor, reason = _duration_within(wanted, duration)
    return PoseTrajectory(trial.spline.stretched(factor), reason)


class _Limit(NamedTuple):
    """A derivative of some order reaches `peak` in a motion of one second, and may reach `most`."""

    name: str
    order: int
    peak: float
    most: float

    @property
    def time(self) -> float:
        """The shortest duration it allows: speeds fall as 1/T, accelerations as 1/T²."""
        if self.peak == 0.0:
            return 0.0
        return float((self.peak / self.most) ** (1.0 / self.order)) if self.most > 0.0 else np.inf


def _duration_within(limits: list[_Limit], duration: float | None) -> tuple[float, str]:
    """The duration, and what decided it."""
    tightest = max(limits, key=lambda limit: limit.time)
    if not np.isfinite(tightest.time):
        raise InfeasibleError(f"The path needs {tightest.name}, which is limited to zero.")
    if duration is None:
        if tightest.time == 0.0:
            raise InfeasibleError("Nothing limits the motion: give a duration, a velocity or an acceleration.")
        return tightest.time, tightest.name
    if not (np.isfinite(duration) and duration > 0.0):
        raise InfeasibleError(f"A duration is a positive number of seconds, not {duration!r}.")
    if duration < tightest.time * (1.0 - TOLERANCE):
        reached = tightest.peak / duration**tightest.order
        raise InfeasibleError(
            f"In {duration:g} s {tightest.name} would reach {reached:.6g}, and {tightest.most:g} is allowed; "
            f"the shortest duration within the limits is {tightest.time:.6g} s."
        )
    return float(duration), "the duration asked for"


def _within_limits(model: Model, curve: Spline, names: list[str]) -> None:
    low, high = curve.extremes()
    for j, name in enumerate(names):
        least, most = model.lower_limits[j], model.upper_limits[j]
        margin = TOLERANCE * max(1.0, abs(low[j]), abs(high[j]))
        if low[j] < least - margin or high[j] > most + margin:
            raise InfeasibleError(
                f"On its way {name} goes from {low[j]:.6g} to {high[j]:.6g}, outside its limits {least:g} to {most:g}; "
                "move the waypoints inward, or add some where the curve swings out."
            )


def _limits(given: Any, count: int, what: str) -> np.ndarray:
    try:
        limits = np.broadcast_to(np.asarray(given, dtype=float), (count,))
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"Limits of {what} are one number, or {count}; they were given {given!r:.100}.") from None
    if not (limits >= 0.0).all():  # NaN fails too
        raise ShapeError(f"Limits of {what} are magnitudes; {limits.tolist()} has a negative number or NaN.")
    return limits


def _weights(steps: np.ndarray, fastest: np.ndarray, hardest: np.ndarray) -> np.ndarray:
    """How long segments should take next to each other: as long as their slowest coordinate alone would need, and the
    first and last twice that, since they begin or end at rest: evenly spaced points of a circle then give a circle."""
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.maximum(steps / fastest, np.sqrt(steps / hardest))
    found = np.max(np.where(np.isfinite(alone), alone, 0.0), axis=-1)
    weights = np.maximum(found, 0.01 * found.max()) if found.any() else np.linalg.norm(steps, axis=-1)
    if len(weights) > 1:
        weights[[0, -1]] *= 2.0
    return weights


def _distinct(points: np.ndarray) -> np.ndarray:
    still = np.flatnonzero(~np.any(np.diff(points, axis=0), axis=-1))
    if len(still):
        raise ShapeError(f"Waypoints {still[0]} and {still[0] + 1} are the same; leave one out.")
    return points


def _coordinates(poses: Any) -> np.ndarray:
    """Positions and quaternions, (m + 1, 7), neighbouring quaternions on the same side."""
    try:
        array = np.asarray(poses, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"Poses must be numbers, (points, 4, 4); they were given {poses!r:.100}.") from None
    if array.ndim != 3 or array.shape[1:] != (4, 4) or len(array) < 2 or not np.isfinite(array).all():
        raise ShapeError(f"Poses must be finite, (points, 4, 4) with two points or more; the shape is {array.shape}.")
    turn = array[:, :3, :3]
    for i, r in enumerate(turn):
        if np.abs(r @ r.T - np.eye(3)).max() > 1e-6 or np.linalg.det(r) < 0:
            raise ShapeError(f"Pose {i} has no rotation matrix in its upper left: R R* differs from 1, or R mirrors.")
    quaternions = rotations.to_quaternion(turn)
    for i in range(1, len(quaternions)):
        if quaternions[i] @ quaternions[i - 1] < 0.0:
            quaternions[i] = -quaternions[i]
    return np.concatenate([array[:, :3, 3], quaternions], axis=-1)


def _peak(trajectory: PoseTrajectory, order: int, part: slice) -> float:
    """The greatest length of a part of the twist or its rate: sampled, then refined about the greatest sample."""

    def length(t: Any) -> np.ndarray:
        return np.linalg.norm(trajectory(t)[order][..., part], axis=-1)

    times = np.linspace(0.0, trajectory.duration, SAMPLES * (len(trajectory.spline.breaks) - 1) + 1)
    for _ in range(4):
        values = length(times)
        best, step = times[np.argmax(values)], times[1] - times[0]
        times = np.linspace(max(best - step, 0.0), min(best + step, trajectory.duration), SAMPLES)
    return float(np.max(length(times)))


def _vector_part(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Im(p ⊗ q*)."""
    return rotations.multiply(p, rotations.conjugate(q))[..., :3]


def _pose(rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    upper = np.concatenate([rotation, position[..., None]], axis=-1)
    lower = np.broadcast_to(np.array([[0.0, 0.0, 0.0, 1.0]]), (*upper.shape[:-2], 1, 4))
    return np.concatenate([upper, lower], axis=-2)
