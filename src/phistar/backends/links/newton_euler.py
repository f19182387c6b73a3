"""Accelerations and inertial forces of links through U = ω̇~ + ω~ω~: a point at x of a link accelerates by a + Ux.

The sums Mα + b and φ*α + a(k) of KJR92 eqs. 45 to 48 are the same numbers as below; apart, their terms would form the
products of ω twice (Khalil and Kleinfinger, IEEE Journal of Robotics and Automation 1987).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.links.moves import Move
from phistar.backends.traces.trace import Scalar
from phistar.spatial import cross


def point_acceleration(velocity: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """U = ω̇~ + ω~ω~, (…, 3, 3), of a link with velocity and acceleration (…, 6, 1)."""
    x, y, z = (velocity[..., i, 0][()] for i in range(3))
    dx, dy, dz = (alpha[..., i, 0][()] for i in range(3))
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    rows = [[-(yy + zz), xy - dz, xz + dy], [xy + dz, -(xx + zz), yz - dx], [xz - dy, yz + dx, -(xx + yy)]]
    entries = np.broadcast_arrays(*(entry for row in rows for entry in row))
    return np.stack(entries, axis=-1).reshape(*entries[0].shape, 3, 3)


def centripetal(omega: np.ndarray, x: np.ndarray) -> np.ndarray:
    """ω × (ω × x) = ω(ω·x) − x|ω|², (…, 3)."""
    along, square = np.sum(omega * x, axis=-1, keepdims=True), np.sum(omega * omega, axis=-1, keepdims=True)
    return omega * along - x * square


def carry_acceleration(path: tuple[Move, ...], velocity: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """R*[ω̇; a + Up], (…, 6, 1): the parent's acceleration where the child's origin p is, in the child's axes."""
    linear = alpha[..., 3:, :] + _swing(velocity, alpha, path[0][1])
    angular = alpha[..., :3, :]
    for turn, _ in path:
        back = np.swapaxes(turn, -1, -2)
        angular, linear = np.matmul(back, angular), np.matmul(back, linear)
    return np.concatenate([angular, linear], axis=-2)


def _swing(velocity: np.ndarray, alpha: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Up, (…, 3, 1)."""
    if _is_steady(alpha):
        return centripetal(velocity[..., :3, 0], offset)[..., None]
    return np.matmul(point_acceleration(velocity, alpha), offset[..., None])


def inertial_force(mass: np.ndarray, velocity: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Mα + b = [h × a + ∫ x × Ux dm; m a + U h], (…, 6, 1), for the inertia (…, 6, 6) of a rigid body."""
    linear, omega = alpha[..., 3:, 0], velocity[..., :3, 0]
    moment = np.stack([mass[..., 2, 4], mass[..., 0, 5], mass[..., 1, 3]], axis=-1)
    if _is_steady(alpha):
        turning, pulling = _gyroscopic(omega, mass[..., :3, :3]), centripetal(omega, moment)
    else:
        u = point_acceleration(velocity, alpha)
        turning, pulling = _stirring(u, mass[..., :3, :3]), np.matmul(u, moment[..., None])[..., 0]
    torque = cross(moment, linear) + turning
    force = mass[..., 3, 3][..., None] * linear + pulling
    return np.concatenate(np.broadcast_arrays(torque, force), axis=-1)[..., None]


def _stirring(u: np.ndarray, tensor: np.ndarray) -> np.ndarray:
    """∫ x × Ux dm, (…, 3): entry i is U_k·Σ_j − U_j·Σ_k for i, j, k in cyclic order, with Σ = tr(J)/2 − J."""
    g, t = _entries(u), _entries(tensor)
    half = 0.5 * (t[0][0] + t[1][1] + t[2][2])
    s = [[half - t[i][i] if i == j else -t[i][j] for j in range(3)] for i in range(3)]
    turning = []
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        across = g[k][i] * s[i][j] - g[j][i] * s[i][k]
        turning.append(across + (g[k][j] * s[j][j] - g[j][k] * s[k][k]) + (g[k][k] - g[j][j]) * s[j][k])
    return np.stack(np.broadcast_arrays(*turning), axis=-1)


def _gyroscopic(omega: np.ndarray, tensor: np.ndarray) -> np.ndarray:
    """ω × Jω, (…, 3); the same for J − c, whatever the number c: of three diagonal entries one is made zero."""
    if tensor.dtype != object:
        tensor = tensor - tensor[..., 2:, 2:] * np.eye(3)
    return cross(omega, np.matmul(tensor, omega[..., None])[..., 0])


def _is_steady(alpha: np.ndarray) -> bool:
    """Whether ω̇ is zero by structure."""
    return alpha.dtype == object and all(type(x) is not Scalar and x == 0.0 for x in alpha[:3, 0])


def _entries(block: np.ndarray) -> list[list[Any]]:
    return [[block[..., i, j][()] for j in range(3)] for i in range(3)]
