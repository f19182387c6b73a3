"""Poses as another frame sees them, of floats or traced numbers of one state."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.traces.arrays import sign, traced
from phistar.backends.traces.trace import is_traced
from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.model import Model
from phistar.spatial import cross, multiply

TINY, TIE = 1e-300, 1e-9
NOTHING = np.zeros(6)


def seen_pose(model: Model, q: Any, v: Any, of: str, seen_from: str, noise: Any = NOTHING, bias: Any = NOTHING) -> Any:
    """[xyz, quaternion, ω, v] of a frame as another one sees it, in its axes, (13,); xyz shifted and the quaternion
    turned by two errors, (6,) each: a shift and a rotation vector."""
    pose, eye = forward_kinematics(model, q, of), forward_kinematics(model, q, seen_from)
    motion, turning = frame_velocity(model, q, v, of), frame_velocity(model, q, v, seen_from)
    turn, away = np.swapaxes(eye[:3, :3], 0, 1), pose[:3, 3] - eye[:3, 3]
    drift = motion[3:] - turning[3:] - cross(turning[:3], away)
    wrong = multiply(small_turn(noise[3:6]), small_turn(bias[3:6]))
    place = np.matmul(turn, away) + (bias + noise)[:3]
    seen = upright(multiply(wrong, quaternion(np.matmul(turn, pose[:3, :3]))))
    return np.concatenate([place, seen, np.matmul(turn, motion[:3] - turning[:3]), np.matmul(turn, drift)])


# Quaternions without branches, of floats or traced numbers.


def small_turn(vector: Any) -> Any:
    """The quaternion of a rotation vector."""
    angle = np.sqrt(np.sum(vector * vector, keepdims=True) + TINY)
    return np.concatenate([vector * (np.sin(0.5 * angle) / angle), np.cos(0.5 * angle)])


def quaternion(rotation: Any) -> Any:
    """The unit quaternion of R: the row of 4 q q* whose diagonal entry is largest, made unit (Shepperd 1978)."""
    if all(isinstance(entry, float) for entry in np.asarray(rotation).flat):  # traced, of what never turns
        rotation = np.asarray(rotation, dtype=float)
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = ([rotation[i, j] for j in range(3)] for i in range(3))
    rows = [
        [1.0 + xx - yy - zz, xy + yx, xz + zx, zy - yz],
        [xy + yx, 1.0 - xx + yy - zz, yz + zy, xz - zx],
        [xz + zx, yz + zy, 1.0 - xx - yy + zz, yx - xy],
        [zy - yz, xz - zx, yx - xy, 1.0 + xx + yy + zz],
    ]
    table = np.stack([np.stack(row) for row in rows])
    sizes = np.stack([table[i, i] + TIE * i for i in range(4)])  # no two are as large
    sizes = traced(sizes) if is_traced(sizes) else sizes
    largest = np.maximum(np.maximum(sizes[0], sizes[1]), np.maximum(sizes[2], sizes[3]))
    row = np.matmul(0.5 + 0.5 * sign(np.asarray(sizes - largest + 0.5 * TIE)), table)
    return row / np.sqrt(np.sum(row * row, keepdims=True))


def upright(turn: Any) -> Any:
    """The same rotation's quaternion whose scalar is not negative."""
    return turn * sign(np.asarray(turn[3:] + TINY))
