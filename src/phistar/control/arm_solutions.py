"""Every way an arm can bend to bring a frame to a pose: closed forms where the arm has one, a search where not.

    arm = arm_solutions(model, "left/grip", "base")
    angles = arm.solutions(poses)                    # (…, branches, n), NaN where there is none

Arms with a spherical wrist (PUMA) and arms with three parallel axes (UR) have eight ways. Arms of seven axes whose
first three meet and whose fifth and sixth meet (Panda, iiwa) have eight for each angle of the last joint; read
backwards, from the hand to the base, such an arm has a spherical wrist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from phistar.array_types import Array, IntArray
from phistar.control.kinematics import inverse_kinematics
from phistar.control.reach import checked_targets
from phistar.control.spherical_wrist import BRANCHES, SphericalWrist, angle_about, meeting_point, screw_axes
from phistar.dynamics import forward_kinematics
from phistar.errors import ModelError
from phistar.model import Model
from phistar.spatial import cross
from phistar.spatial.rotations import from_axis_angle

PARALLEL = 1e-6
LAST_ANGLES = 8  # of the last joint of an arm with seven axes, evenly around
SEARCHES = 6  # of an arm without a closed form


class ArmSolutions(Protocol):
    """An arm of n joints."""

    def solutions(self, target: Any) -> Array:
        """Joint coordinates (…, branches, n) that bring the frame to poses (…, 4, 4); NaN where it cannot come."""
        ...


def arm_solutions(model: Model, frame: str, seen_from: str) -> ArmSolutions:
    """The solutions of the arm that moves `frame` against `seen_from`.

    Parameters
    ----------
    model : Model
    frame, seen_from : str
        The frame that is placed, and the one that poses are seen from.
    """
    try:
        axes, points, home = screw_axes(model, frame, seen_from)
    except ModelError:
        return SearchedArm.of(model, frame, seen_from)
    whose = f"{model.name}: the axes that move {frame!r}"
    for kind, count in ((SphericalWrist, 6), (ParallelElbow, 6), (SphericalShoulder, 7)):
        if len(axes) == count:
            try:
                return kind.through(axes, points, home, whose)
            except ModelError:
                continue
    return SearchedArm.of(model, frame, seen_from)


@dataclass(frozen=True, eq=False)
class ParallelElbow:
    """Six axes at q = 0 of which the second to fourth are parallel and the last two meet at `wrist` (UR's arms)."""

    axes: Array
    points: Array
    wrist: Array
    home: Array
    ways: Array  # (6,) ±1: which joints turn against the axes as they are taken here

    @staticmethod
    def through(axes: Array, points: Array, home: Array, whose: str) -> ParallelElbow:
        """The arm of six axes (6, 3) through points (6, 3); another kind is refused."""
        wrist = meeting_point(points[4:], axes[4:])
        if wrist is None or np.abs(cross(axes[1], axes[2:4])).max() > PARALLEL:
            raise ModelError(f"{whose}: the second to fourth are not parallel, or the last two do not meet.")
        if abs(axes[0] @ axes[1]) > PARALLEL or abs(axes[4] @ axes[1]) > PARALLEL:
            raise ModelError(f"{whose}: the first and the fifth are not at right angles to the second.")
        ways = np.array([1.0, 1.0, *np.copysign(1.0, axes[2:4] @ axes[1]), 1.0, 1.0])
        return ParallelElbow(axes * ways[:, None], points, wrist, home, ways)

    def solutions(self, target: Any) -> Array:
        """Joint angles in (−π, π], (…, 8, 6)."""
        poses, _ = checked_targets(target)
        whole = poses @ np.linalg.inv(self.home)
        n, turn = self.axes[1], whole[..., :3, :3]
        seen = turn @ self.wrist + whole[..., :3, 3] - self.points[0]
        first = _height(self.axes[0], n, seen, n @ (self.wrist - self.points[0]), -1.0)  # (…, 2)
        back = from_axis_angle(self.axes[0], -first)  # (…, 2, 3, 3)
        inner = back @ turn[..., None, :, :]
        fifth = _height(self.axes[4], n, np.broadcast_to(self.axes[5], inner.shape[:-1]), inner @ self.axes[5] @ n, 1.0)
        bent = from_axis_angle(self.axes[4], fifth)  # (…, 2, 2, 3, 3)
        inner = np.broadcast_to(inner[..., None, :, :], bent.shape)
        sixth = -angle_about(
            self.axes[5], np.swapaxes(bent, -1, -2) @ n, np.swapaxes(inner, -1, -2) @ n
        )  # R₆⁻¹R₅⁻¹n = R⁻¹n
        last = from_axis_angle(self.axes[5], sixth)
        planar = inner @ np.swapaxes(bent @ last, -1, -2)  # a turn about n by q₂ + q₃ + q₄
        across = _across(n)
        total = angle_about(n, across, planar @ across)
        place = self._fourth_axis(whole, back, bent, last)
        return self._planar(place, first, fifth, sixth, total, poses.shape[:-2])

    def _fourth_axis(self, whole: np.ndarray, back: Array, bent: Array, last: Array) -> Array:
        """Point of the fourth axis after e₂e₃, (…, 2, 2, 3): e₁⁻¹ X e₆⁻¹ e₅⁻¹ p₄."""
        point = self.points[3] - self.wrist
        point = np.swapaxes(bent @ last, -1, -2) @ point + self.wrist
        outer = (whole[..., None, None, :3, :3] @ point[..., None])[..., 0] + whole[..., None, None, :3, 3]
        inner = back[..., None, :, :] @ (outer - self.points[0])[..., None]
        return inner[..., 0] + self.points[0]

    def _planar(self, place: Array, first: Array, fifth: Array, sixth: Array, total: Array, batch: Any) -> Array:
        """The two elbows of the plane: |e₃p₄ − p₂| = |place − p₂|, then the second and the fourth joint."""
        n = self.axes[1]
        upper = _flat(self.points[2] - self.points[1], n)
        fore = _flat(self.points[3] - self.points[2], n)
        away = _flat(place - self.points[1], n)
        far = np.sum(away * away, axis=-1)
        a, b = np.linalg.norm(upper), np.linalg.norm(fore)
        straight = angle_about(n, fore, upper)
        with np.errstate(invalid="ignore"):
            bend = np.arccos((far - a * a - b * b) / (2.0 * a * b))
        third = np.stack([straight + bend, straight - bend], axis=-1)  # (…, 2, 2, 2)
        reached = upper + (from_axis_angle(n, third) @ fore)
        second = angle_about(n, reached, away[..., None, :])
        fourth = total[..., None] - second - third
        shape = third.shape
        early = np.broadcast_to(first[..., None, None], shape)
        parts = [early, second, third, fourth, *(np.broadcast_to(x[..., None], shape) for x in (fifth, sixth))]
        angles = np.stack(parts, axis=-1)
        angles = self.ways * np.where(np.isfinite(angles).all(axis=-1, keepdims=True), angles, np.nan)
        return np.pi - np.mod(np.pi - angles.reshape(*batch, BRANCHES, 6), 2.0 * np.pi)


@dataclass(frozen=True, eq=False)
class SphericalShoulder:
    """Seven axes of which the first three meet, and the fifth and sixth: `reverse` is the arm of six from the hand to
    the base, the `last` axis (3,) through `point` (3,) stands still at LAST_ANGLES angles in turn."""

    reverse: SphericalWrist
    last: Array
    point: Array
    home: Array

    @staticmethod
    def through(axes: Array, points: Array, home: Array, whose: str) -> SphericalShoulder:
        """The arm of seven axes (7, 3) through points (7, 3); another kind is refused."""
        reverse = SphericalWrist.through(-axes[5::-1], points[5::-1], np.eye(4), whose)
        return SphericalShoulder(reverse, axes[6], points[6], home)

    def solutions(self, target: Any) -> Array:
        """Joint angles in (−π, π], (…, 64, 7)."""
        poses, _ = checked_targets(target)
        whole, found = poses @ np.linalg.inv(self.home), []
        for angle in np.pi * (2.0 * np.arange(LAST_ANGLES) / LAST_ANGLES - 1.0 + 1.0 / LAST_ANGLES):
            turn = np.eye(4)
            turn[:3, :3] = from_axis_angle(self.last, np.array(-angle))
            turn[:3, 3] = self.point - turn[:3, :3] @ self.point
            six = self.reverse.solutions(np.linalg.inv(whole @ turn))[..., ::-1]
            found.append(np.concatenate([six, np.full((*six.shape[:-1], 1), angle)], axis=-1))
        every = np.concatenate(found, axis=-2)
        return np.where(np.isfinite(every).all(axis=-1, keepdims=True), every, np.nan)


@dataclass(frozen=True, eq=False)
class SearchedArm:
    """An arm without a closed form: searches from several places, each with its own end."""

    model: Model
    frame: str
    seen_from: str
    places: IntArray  # which entries of q its joints are

    @staticmethod
    def of(model: Model, frame: str, seen_from: str) -> SearchedArm:
        """The joints between both frames; fewer than six cannot bring a hand to any pose."""
        body, stop, own = model.frame(frame).body, model.frame(seen_from).body, []
        while body not in (stop, -1):
            own.insert(0, model.joints[body].q_slice.start)
            body = model.parents[body]
        if len(own) < 6:
            raise ModelError(f"{model.name}: {len(own)} joints move {frame!r}; a hand needs six to come to a pose.")
        return SearchedArm(model, frame, seen_from, np.array(own))

    def solutions(self, target: Any) -> Array:
        """Joint coordinates (…, 6, n), the ends of six searches."""
        poses, _ = checked_targets(target)
        outer = forward_kinematics(self.model, self.model.neutral(), self.seen_from) @ poses
        rng, found = np.random.default_rng(0), []
        for _ in range(SEARCHES):
            made = inverse_kinematics(self.model, outer, self.frame, self.model.random(rng), starts=1, tolerance=1e-7)
            found.append(np.where(made.success[..., None], made.q[..., self.places], np.nan))
        return np.stack(found, axis=-2)


def _height(axis: Array, normal: Array, point: Array, height: Any, way: float) -> Array:
    """The angles (…, 2) by which points (…, 3) must turn about an axis, times `way`, to come to a height along a
    normal: Paden and Kahan's fourth subproblem."""
    along = (normal @ axis) * (point @ axis)
    cosine = point @ normal - along
    sine = cross(axis, point) @ normal
    size = np.sqrt(cosine**2 + sine**2)
    middle = np.arctan2(sine, cosine)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = np.arccos((height - along) / size)
    return way * np.stack([middle + half, middle - half], axis=-1)


def _flat(vector: Array, normal: Array) -> Array:
    """Component of vectors (…, 3) orthogonal to a unit normal."""
    return vector - (vector @ normal)[..., None] * normal


def _across(axis: Array) -> Array:
    """A unit vector orthogonal to another."""
    made = cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    return made / np.linalg.norm(made)
