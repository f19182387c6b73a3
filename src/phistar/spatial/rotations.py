"""Rotations: matrices (…, 3, 3), quaternions (…, 4) as (x, y, z, w), rotation vectors (…, 3).

All but `to_quaternion` and `log`, which compare numbers, also take traced scalars.
"""

from typing import Any

import numpy as np

from phistar.spatial.vectors import cross, skew

TINY = 1e-30  # added to squared angles: beyond all digits, and no division by zero
ARCTANGENT = 12  # terms of its series that tan(π/16) needs


def from_axis_angle(axis: Any, angle: Any) -> np.ndarray:
    """R = aaᵀ + cos(θ)(1 − aaᵀ) + sin(θ) ã for unit a.

    Written so that zeros of the axis stay zeros of R when θ is a traced scalar.
    """
    axis, angle = np.asarray(axis), np.asarray(angle)
    along = axis[..., :, None] * axis[..., None, :]
    cosine = np.asarray(np.cos(angle))[..., None, None]
    sine = np.asarray(np.sin(angle))[..., None, None]
    return along + cosine * (np.eye(3) - along) + sine * skew(axis)


def from_rpy(rpy: Any) -> np.ndarray:
    """R = Rz(yaw) Ry(pitch) Rx(roll), URDF's fixed-axis angles, (…, 3) → (…, 3, 3)."""
    rpy = np.asarray(rpy)
    x, y, z = np.eye(3)
    about_x, about_y = from_axis_angle(x, rpy[..., 0]), from_axis_angle(y, rpy[..., 1])
    return np.matmul(from_axis_angle(z, rpy[..., 2]), np.matmul(about_y, about_x))


def from_quaternion(q: Any) -> np.ndarray:
    """R = 1 + 2w ṽ + 2 ṽṽ for q = (v, w) taken as unit; it is not renormalized."""
    q = np.asarray(q)
    x, y, z, w = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_products(rotation: Any) -> np.ndarray:
    """4 q qᵀ, (…, 3, 3) → (…, 4, 4), for the unit quaternion q of R; also for traced scalars."""
    r = np.asanyarray(rotation)
    xx, yy, zz = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    xy, xz, yz = r[..., 0, 1] + r[..., 1, 0], r[..., 0, 2] + r[..., 2, 0], r[..., 1, 2] + r[..., 2, 1]
    wx, wy, wz = r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]
    rows = [
        [1.0 + xx - yy - zz, xy, xz, wx],
        [xy, 1.0 - xx + yy - zz, yz, wy],
        [xz, yz, 1.0 - xx - yy + zz, wz],
        [wx, wy, wz, 1.0 + xx + yy + zz],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def to_quaternion(rotation: Any) -> np.ndarray:
    """The unit quaternion of R with its largest entry positive (Shepperd's choice of pivot keeps all digits)."""
    outer = quaternion_products(np.asarray(rotation, dtype=np.float64))
    pivot = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    row = np.take_along_axis(outer, pivot[..., None, None], axis=-2)[..., 0, :]
    return row / np.linalg.norm(row, axis=-1, keepdims=True)


def multiply(p: Any, q: Any) -> np.ndarray:
    """p ⊗ q: the rotation q followed, in the outer frame, by p; from_quaternion(p ⊗ q) = R(p) R(q)."""
    p, q = np.asarray(p), np.asarray(q)
    vector = p[..., 3:] * q[..., :3] + q[..., 3:] * p[..., :3] + cross(p[..., :3], q[..., :3])
    scalar = p[..., 3:] * q[..., 3:] - np.sum(p[..., :3] * q[..., :3], axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def conjugate(q: Any) -> np.ndarray:
    """(−v, w): the inverse rotation."""
    return np.asarray(q) * np.array([-1.0, -1.0, -1.0, 1.0])


def exp_quaternion(w: Any) -> np.ndarray:
    """(sin(θ/2) w/θ, cos(θ/2)) with θ = |w|."""
    w = np.asanyarray(w)
    angle = _angle(w)
    return np.concatenate([np.sin(0.5 * angle) / angle * w, np.cos(0.5 * angle)], axis=-1)


def log_quaternion(q: Any) -> np.ndarray:
    """The rotation vector of least length, |w| ≤ π; q and −q give the same.

    θ/sin(θ/2) is 16 arctan(x)/sin(θ/2) with x = tan(θ/16): two halvings of an angle within π/4, then the series.
    """
    q = np.asanyarray(q)
    way = _sign(q[..., 3:])
    cosine, vector = way * q[..., 3:], way * q[..., :3]
    square = np.sum(vector * vector, axis=-1, keepdims=True)
    per_sine = 1.0 / (cosine + _root(square + cosine * cosine))
    for _ in range(2):
        per_sine = per_sine / (1.0 + _root(1.0 + square * per_sine * per_sine))
    power = square * per_sine * per_sine
    series = 1.0 / (2 * ARCTANGENT + 1)
    for k in range(ARCTANGENT - 1, -1, -1):
        series = 1.0 / (2 * k + 1) - power * series
    return 16.0 * per_sine * series * vector


def _angle(w: np.ndarray) -> np.ndarray:
    """|w|, (…, 1), never zero."""
    return _root(np.sum(w * w, axis=-1, keepdims=True) + TINY)


def _sign(x: np.ndarray) -> Any:
    """1 where x is zero or more, −1 below."""
    sign = np.sign(x) if x.dtype != object else _TRACED_SIGN(np.asarray(x))
    return sign + (1.0 - sign * sign)


def _root(x: np.ndarray) -> Any:
    """√x; among traced numbers there may be floats."""
    return np.sqrt(x) if x.dtype != object else _TRACED_ROOT(np.asarray(x))


_TRACED_SIGN = np.frompyfunc(lambda x: x.sign() if hasattr(x, "sign") else float(np.sign(x)), 1, 1)
_TRACED_ROOT = np.frompyfunc(lambda x: x.sqrt() if hasattr(x, "sqrt") else float(np.sqrt(x)), 1, 1)


def exp(w: Any) -> np.ndarray:
    """R = exp(w̃), (…, 3) → (…, 3, 3)."""
    return from_quaternion(exp_quaternion(w))


def log(rotation: Any) -> np.ndarray:
    """w with exp(w̃) = R and |w| ≤ π, accurate near 0 and near π."""
    return log_quaternion(to_quaternion(rotation))


def exp_translation(w: Any) -> np.ndarray:
    """V(w) = 1 + (1 − cos θ)/θ² w̃ + (θ − sin θ)/θ³ w̃²: exp of the twist [w; v] moves the origin by V(w) v.

    Of a small angle the last factor has few digits, but as few of what it multiplies are among those of 1.
    """
    w = np.asanyarray(w)
    angle = _angle(w)[..., None]
    sine, tilde = np.sin(0.5 * angle) / angle, skew(w)
    curve = (angle - np.sin(angle)) / (angle * angle * angle)
    return np.eye(3) + 2.0 * sine * sine * tilde + curve * np.matmul(tilde, tilde)


def log_translation(w: Any) -> np.ndarray:
    """V(w)⁻¹ = 1 − w̃/2 + (1 − (θ/2) cot(θ/2))/θ² w̃²."""
    w = np.asanyarray(w)
    angle = _angle(w)[..., None]
    half, tilde = 0.5 * angle, skew(w)
    curve = (1.0 - half * np.cos(half) / np.sin(half)) / (angle * angle)
    return np.eye(3) - 0.5 * tilde + curve * np.matmul(tilde, tilde)
