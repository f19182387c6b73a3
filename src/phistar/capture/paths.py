"""Frames that move and hands that move in them: what the law follows, and how far along it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.control.control_law import split
from phistar.spatial import cross, skew
from phistar.spatial.rotations import log

CARRIER_ROWS = 18  # of a frame: rotation (9), position, [ω; ẋ], in the world
PATH_ROWS = 18  # of a hand in it: start pose (12), axis (3) of its turn in its own axes, shift (3) in the frame's
GOING_ON = (0.0, 1.0, 0.0)  # a carrier as it is
AT_END = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # joints at the end of their way
STAYING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # a hand at the start of its path
Progress = tuple[float, float, float]  # how far, how fast, and how that changes

# Of floats or traced numbers


def carry_frame(carrier: Any, coast: Any) -> tuple[Any, Any, Any, Any]:
    """Rotation (3, 3), position (3,), twist (6,) and its rate (6,) of a frame (18,) that has gone on with its twist for
    coast[0] seconds, has coast[1] of the twist left, and loses it at the rate coast[2]."""
    turn, place, omega, speed = split(carrier, 9, 3, 3, 3)
    gone, left, change = (coast[i : i + 1] for i in range(3))
    twist = np.concatenate([omega, speed])
    fast = np.sqrt(np.sum(omega * omega, keepdims=True) + 1e-24)
    turned = np.matmul(_rotation(omega / fast, fast * gone), turn.reshape(3, 3))
    return turned, place + speed * gone, twist * left, twist * change


def coast_carrier(carrier: Any, coast: Any) -> Any:
    """The carrier (18,) itself, after it has coasted."""
    turn, place, twist, _ = carry_frame(carrier, np.asanyarray(coast))
    return np.concatenate([turn.reshape(9), place, twist])


def reference(frame: tuple[Any, Any, Any, Any], path: Any, progress: Any) -> tuple[Any, Any, Any]:
    """Pose row (12,), twist (6,) and its rate (6,) in the world, of a path in a frame that moves.

    The pose in the frame is (R₀ exp(n a), p₀ + d s); `progress` has a, ȧ, ä, s, ṡ, s̈. The twist is that of the frame
    carried there, and its own.
    """
    turn, place, twist, change = frame
    start, origin, axis, shift = split(path, 9, 3, 3, 3)
    a, s = [progress[i : i + 1] for i in range(3)], [progress[i : i + 1] for i in range(3, 6)]
    start = start.reshape(3, 3)
    arm = np.matmul(turn, origin + shift * s[0])
    own_axis, own_shift = np.matmul(turn, np.matmul(start, axis)), np.matmul(turn, shift)
    omega, speed, velocity = twist[:3], twist[3:], own_shift * s[1]
    angular = omega + own_axis * a[1]
    linear = speed + cross(omega, arm) + velocity
    angular_rate = change[:3] + own_axis * a[2] + cross(omega, own_axis * a[1])
    linear_rate = change[3:] + cross(change[:3], arm) + cross(omega, cross(omega, arm) + 2.0 * velocity)
    rotation = np.matmul(turn, np.matmul(start, _rotation(axis, a[0])))
    pose = np.concatenate([rotation.reshape(9), place + arm])
    rates = np.concatenate([angular_rate, linear_rate + own_shift * s[2]])
    return pose, np.concatenate([angular, linear]), rates


def _rotation(axis: Any, angle: Any) -> Any:
    """exp(n a) for a unit n; the identity where n is zero."""
    tilde = skew(axis)
    return np.eye(3) + np.sin(angle) * tilde + (1.0 - np.cos(angle)) * np.matmul(tilde, tilde)


# Of floats


def quintic(x: float, lasting: float) -> Progress:
    """s from 0 to 1 in `lasting` seconds, at rest at both ends, at the part x of the time."""
    if x <= 0.0:
        return 0.0, 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0, 0.0
    y = 1.0 - x
    return x**3 * (10 - 15 * x + 6 * x * x), 30 * (x * y) ** 2 / lasting, 60 * x * y * (y - x) / lasting**2


def leading_out(x: float, lasting: float) -> Progress:
    """e with value, rate and change 0 at the start, 0, 1 and 0 at the end: a way is left with a rate, which goes on."""
    if x >= 1.0:
        return (x - 1.0) * lasting, 1.0, 0.0
    x = max(x, 0.0)
    value, rate, change = (
        x**3 * (-4 + 7 * x - 3 * x * x),
        x * x * (-12 + 28 * x - 15 * x * x),
        -24 + 84 * x - 60 * x * x,
    )
    return value * lasting, rate, x * change / lasting


def fading(elapsed: float, lasting: float) -> Progress:
    """Seconds gone on, part left and its rate, of a twist that fades by a quintic."""
    x = elapsed / lasting
    if x >= 1.0:
        return 0.5 * lasting, 0.0, 0.0
    s, rate, _ = quintic(x, lasting)
    return lasting * (x - x**4 * (2.5 - 3 * x + x * x)), 1.0 - s, -rate


def grip_poses_in(carrier: np.ndarray, grips: np.ndarray) -> np.ndarray:
    """Poses (h, 4, 4) of grips (12 h,) in the frame of a carrier."""
    rows = grips.reshape(-1, 12)
    back, poses = carrier[:9].reshape(3, 3).T, np.tile(np.eye(4), (len(rows), 1, 1))
    for pose, own in zip(poses, rows, strict=True):
        pose[:3, :3], pose[:3, 3] = back @ own[:9].reshape(3, 3), back @ (own[9:] - carrier[9:12])
    return poses


def outward(poses: np.ndarray, distance: float) -> np.ndarray:
    """Poses (h, 4, 4) moved back along their own z."""
    moved = poses.copy()
    moved[:, :3, 3] -= distance * moved[:, :3, 2]
    return moved


def between(starts: np.ndarray, goals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Paths (h, 18) from poses to poses, (h, 4, 4) each, and the angles (h,) they turn by."""
    paths, angles = np.zeros((len(starts), PATH_ROWS)), np.zeros(len(starts))
    for i, (start, goal) in enumerate(zip(starts, goals, strict=True)):
        turn = log(start[:3, :3].T @ goal[:3, :3])
        angles[i] = np.linalg.norm(turn)
        shift = goal[:3, 3] - start[:3, 3]
        paths[i] = np.concatenate([start[:3, :3].ravel(), start[:3, 3], turn / max(angles[i], 1e-12), shift])
    return paths, angles
