"""Inverse kinematics of six-axis arms with a spherical wrist, every solution of many poses at once.

For arms whose first two axes meet and whose last three meet (PUMA 560 and most of its kind): T = e^S₁q₁ … e^S₆q₆ T₀
falls apart into Paden and Kahan's subproblems (Murray, Li, Sastry, A Mathematical Introduction to Robotic Manipulation,
1994, §3.3): the third joint by a distance, the first two and the wrist by directions; 2 · 2 · 2 solutions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.control.reach import checked_targets
from phistar.dynamics import forward_kinematics, jacobian
from phistar.errors import ModelError
from phistar.model import Model
from phistar.spatial import cross
from phistar.spatial.rotations import from_axis_angle

BRANCHES = 8
MEETING = 1e-6  # m: axes that pass each other nearer than this meet


@dataclass(frozen=True, eq=False)
class SphericalWrist:
    """The axes of six joints at q = 0, seen from a frame that carries the first: directions `axes` (6, 3), where the
    first two meet, `shoulder` (3,), where the last three meet, `wrist` (3,), a point of the third, `elbow` (3,), and
    the pose `home` (4, 4) of the frame that is to be placed."""

    axes: Array
    shoulder: Array
    elbow: Array
    wrist: Array
    home: Array

    @staticmethod
    def of(model: Model, frame: str, seen_from: str) -> SphericalWrist:
        """The arm that moves `frame` against `seen_from`; an arm that is not of this kind is refused."""
        axes, points, home = screw_axes(model, frame, seen_from)
        if len(axes) != 6:
            raise ModelError(
                f"{model.name}: {frame!r} is moved against {seen_from!r} by {len(axes)} turning joints, not by six."
            )
        return SphericalWrist.through(axes, points, home, f"{model.name}: the axes that move {frame!r}")

    @staticmethod
    def through(axes: Array, points: Array, home: Array, whose: str) -> SphericalWrist:
        """The arm of six axes (6, 3) through points (6, 3); `whose` begins the sentence where they do not meet."""
        shoulder, wrist = meeting_point(points[:2], axes[:2]), meeting_point(points[3:], axes[3:])
        for name, point in (("first two", shoulder), ("last three", wrist)):
            if point is None:
                raise ModelError(f"{whose}: the {name} do not meet in one point.")
        assert shoulder is not None and wrist is not None
        return SphericalWrist(axes, shoulder, points[2], wrist, home)

    def solutions(self, target: Any) -> Array:
        """Joint angles in (−π, π], (…, 8, 6), that bring the frame to poses (…, 4, 4); NaN where it cannot come. Order
        of the solutions: two elbows, for each two shoulders, for each two wrists."""
        poses, _ = checked_targets(target)
        whole = poses @ np.linalg.inv(self.home)
        place = whole[..., :3, :3] @ self.wrist + whole[..., :3, 3]
        third = self._elbow(place)  # (…, 2)
        bent = self._rotate_about(2, third, self.wrist, self.elbow)
        first, second = _two_axes(
            self.axes[0], self.axes[1], bent - self.shoulder, (place - self.shoulder)[..., None, :]
        )
        third = np.broadcast_to(third[..., None], first.shape)
        arm = self._rotation(0, first) @ self._rotation(1, second) @ self._rotation(2, third)  # (…, 2, 2, 3, 3)
        hand = np.swapaxes(arm, -1, -2) @ whole[..., None, None, :3, :3]
        fourth, fifth = _two_axes(self.axes[3], self.axes[4], self.axes[5], (hand @ self.axes[5]))
        turn = self._rotation(3, fourth) @ self._rotation(4, fifth)
        left = np.swapaxes(turn, -1, -2) @ hand[..., None, :, :]
        across = _across(self.axes[5])
        sixth = angle_about(self.axes[5], across, left @ across)
        early = [np.broadcast_to(x[..., None], sixth.shape) for x in (first, second, third)]
        angles = np.stack([*early, fourth, fifth, sixth], axis=-1)
        angles = np.where(np.isfinite(angles).all(axis=-1, keepdims=True), angles, np.nan)
        return np.pi - np.mod(np.pi - angles.reshape(*poses.shape[:-2], BRANCHES, 6), 2.0 * np.pi)

    def _elbow(self, place: np.ndarray) -> np.ndarray:
        """|e^S₃q₃ wrist − shoulder| = |place − shoulder|: subproblem 3, (…, 2)."""
        axis = self.axes[2]
        u, v = self.wrist - self.elbow, self.shoulder - self.elbow
        flat_u, flat_v = u - axis * (axis @ u), v - axis * (axis @ v)
        far = np.sum((place - self.shoulder) ** 2, axis=-1) - (axis @ (u - v)) ** 2
        long_u, long_v = np.linalg.norm(flat_u), np.linalg.norm(flat_v)
        middle = angle_about(axis, flat_u, flat_v)
        with np.errstate(invalid="ignore"):
            half = np.arccos((long_u**2 + long_v**2 - far) / (2.0 * long_u * long_v))
        return np.stack([middle + half, middle - half], axis=-1)

    def _rotation(self, joint: int, angle: np.ndarray) -> np.ndarray:
        return from_axis_angle(self.axes[joint], angle)

    def _rotate_about(self, joint: int, angle: np.ndarray, point: np.ndarray, center: np.ndarray) -> np.ndarray:
        return self._rotation(joint, angle) @ (point - center) + center


def screw_axes(model: Model, frame: str, seen_from: str) -> tuple[Array, Array, Array]:
    """Axes of the revolute joints that move `frame` relative to `seen_from`, at neutral q and in `seen_from`:
    directions (n, 3), a point on each (n, 3), and the pose (4, 4) of the frame. Other joints are refused."""
    q = model.neutral()
    back = np.linalg.inv(forward_kinematics(model, q, seen_from))
    home = back @ forward_kinematics(model, q, frame)
    own, first = jacobian(model, q, frame), jacobian(model, q, seen_from)
    moved = np.flatnonzero(np.abs(own[:3] - first[:3]).max(axis=0) > 1e-9)
    sliding = np.flatnonzero(np.abs(own - first).max(axis=0) > 1e-9)
    free = [at for at in sliding.tolist() if at not in moved.tolist() and np.abs(first[:, at]).max() < 1e-9]
    if free or not np.allclose(np.linalg.norm(own[:3, moved], axis=0), 1.0):
        raise ModelError(f"{model.name}: {frame!r} is moved against {seen_from!r} by joints that do not turn alone.")
    axes = (back[:3, :3] @ own[:3, moved]).T
    return axes, home[:3, 3] + cross(axes, (back[:3, :3] @ own[3:, moved]).T), home


def _two_axes(one: np.ndarray, two: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e^(a₁θ₁) e^(a₂θ₂) start = end: subproblem 2, both angles (…, 2); start and end (…, 3) are of one length."""
    both, normal = one @ two, cross(one, two)
    p, r = np.sum(two * start, axis=-1), np.sum(one * end, axis=-1)
    alpha, beta = (both * p - r) / (both**2 - 1.0), (both * r - p) / (both**2 - 1.0)
    square = np.sum(start * start, axis=-1) - alpha**2 - beta**2 - 2.0 * alpha * beta * both
    with np.errstate(invalid="ignore"):
        gamma = np.sqrt(square / (normal @ normal))
    signed = np.stack([gamma, -gamma], axis=-1)[..., None]
    middle = alpha[..., None, None] * one + beta[..., None, None] * two + signed * normal  # between the two turns
    start, end = np.broadcast_arrays(start[..., None, :], end[..., None, :])
    return angle_about(one, middle, end), angle_about(two, start, middle)


def angle_about(axis: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Angle by which start must turn about the axis to come to end: subproblem 1."""
    u, v = start - axis * np.sum(axis * start, axis=-1)[..., None], end - axis * np.sum(axis * end, axis=-1)[..., None]
    return np.arctan2(np.sum(axis * cross(u, v), axis=-1), np.sum(u * v, axis=-1))


def _across(axis: np.ndarray) -> np.ndarray:
    """A unit vector orthogonal to another."""
    made = cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    return made / np.linalg.norm(made)


def meeting_point(points: np.ndarray, axes: np.ndarray) -> np.ndarray | None:
    """The point nearest to all lines, by least squares, if they pass through it."""
    across = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    point = np.linalg.lstsq(np.concatenate(across), (across @ points[..., None]).reshape(-1), rcond=None)[0]
    missed = np.linalg.norm(across @ (point - points)[..., None], axis=(-1, -2))
    return point if np.all(missed < MEETING) else None
