"""Rotations: matrices (…, 3, 3), quaternions (…, 4) as (x, y, z, w), rotation vectors (…, 3).

The from_* functions and `quaternion_products` also take traced scalars; the others compare numbers and are for floats.
"""

from typing import Any

import numpy as np

from phistar.spatial.vectors import cross, skew

SMALL = 1e-2  # below this angle, series are exact to the last digit


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
    w = np.asarray(w, dtype=np.float64)
    half = 0.5 * np.linalg.norm(w, axis=-1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(half / np.pi) * w, np.cos(half)], axis=-1)


def log_quaternion(q: Any) -> np.ndarray:
    """The rotation vector of least length, |w| ≤ π; q and −q give the same."""
    q = np.asarray(q, dtype=np.float64)
    q = np.where(q[..., 3:] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    safe = np.where(sine == 0.0, 1.0, sine)
    return np.where(sine == 0.0, 2.0, 2.0 * np.arctan2(sine, q[..., 3:]) / safe) * q[..., :3]


def exp(w: Any) -> np.ndarray:
    """R = exp(w̃), (…, 3) → (…, 3, 3)."""
    return from_quaternion(exp_quaternion(w))


def log(rotation: Any) -> np.ndarray:
    """w with exp(w̃) = R and |w| ≤ π, accurate near 0 and near π."""
    return log_quaternion(to_quaternion(rotation))


def exp_translation(w: Any) -> np.ndarray:
    """V(w) = 1 + (1 − cos θ)/θ² w̃ + (θ − sin θ)/θ³ w̃²: exp of the twist [w; v] moves the origin by V(w) v."""
    w = np.asarray(w, dtype=np.float64)
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    big = np.where(angle < SMALL, 1.0, angle)
    first = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    series = 1.0 / 6.0 - angle**2 / 120.0 + angle**4 / 5040.0
    second = np.where(angle < SMALL, series, (big - np.sin(big)) / big**3)
    tilde = skew(w)
    return np.eye(3) + first * tilde + second * np.matmul(tilde, tilde)


def log_translation(w: Any) -> np.ndarray:
    """V(w)⁻¹ = 1 − w̃/2 + (1 − (θ/2) cot(θ/2))/θ² w̃²."""
    w = np.asarray(w, dtype=np.float64)
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    big = np.where(angle < SMALL, 1.0, angle)
    series = 1.0 / 12.0 + angle**2 / 720.0 + angle**4 / 30240.0
    exact = (1.0 - 0.5 * big / np.tan(0.5 * big)) / big**2
    tilde = skew(w)
    return np.eye(3) - 0.5 * tilde + np.where(angle < SMALL, series, exact) * np.matmul(tilde, tilde)
