"""The memoryless functions that programs call, one row each: the block at link k of the blocks that it is given.

How each is printed and counted is the row of the same name in `phistar/sweeps/primitives.py`. Blocks are floats with
leading axes or traced scalars; None is what is zero by structure. `pose` and the functions of all links at once are
not among them: they belong to how a reader goes along the links.

The sums Mα + b and φ*α + a(k) of KJR92 eqs. 45 to 48 are made through U = ω̇~ + ω~ω~, a point at x of a link
accelerating by a + Ux; apart, their terms would form the products of ω twice (Khalil and Kleinfinger, IEEE Journal of
Robotics and Automation 1987).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.backends.links import brackets, two_velocities, values
from phistar.backends.links.moves import Move
from phistar.backends.links.values import Links
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


Block = Any  # an array, or None


def _subspace_rate(links: Links, k: int, v: np.ndarray) -> Block:
    return links.subspace_rate(k, v[..., 0])


def _joint_acceleration(links: Links, k: int, velocity: np.ndarray, v: np.ndarray) -> np.ndarray:
    return values.bias_acceleration(links, k, velocity, v, reaching=False)


def _own_bracket(links: Links, k: int, v: np.ndarray) -> Block:
    h = links.subspace[k]
    return brackets.own_bracket(np.matmul(h, v), h) if h.shape[-1] > 1 else None


def _coriolis_block(links: Links, k: int, velocity: np.ndarray) -> np.ndarray:
    return brackets.coriolis_block(*links.mass_parts(k)[:2], links.second_moment(k), velocity)


def _without(links: Links, k: int, whole: Block, part: np.ndarray) -> Block:
    return None if whole is None else whole - part


def _of_blocks(function: Callable[..., np.ndarray]) -> Callable[..., Block]:
    """A function of its blocks alone, zero by structure where one of them is."""
    return lambda links, k, *blocks: None if any(x is None for x in blocks) else function(*blocks)


FORMULAS: dict[str, Callable[..., Block]] = {
    "bias_acceleration": values.bias_acceleration,
    "joint_acceleration": _joint_acceleration,
    "bias_force": _of_blocks(values.bias_force),
    "rotor_moment": values.rotor_moment,
    "reference_acceleration": two_velocities.reference_acceleration,
    "reference_turning": two_velocities.reference_turning,
    "reference_rotor_moment": two_velocities.reference_rotor_moment,
    "reference_force": _of_blocks(two_velocities.reference_force),
    "turning": two_velocities.turning,
    "subspace_rate": _subspace_rate,
    "diagonal": _of_blocks(values.diagonal),
    "motion_bracket": _of_blocks(brackets.bracket),
    "force_bracket": _of_blocks(brackets.force_bracket),
    "own_bracket": _own_bracket,
    "coriolis_block": _coriolis_block,
    "frame_turn": _of_blocks(brackets.frame_turn),
    "frame_sweep": _of_blocks(brackets.frame_sweep),
    "axial": _of_blocks(brackets.axial),
    "axes_axial": brackets.axes_axial,
    "root": _of_blocks(brackets.root),
    "parameter_forces": _of_blocks(values.parameter_forces),
    "without": _without,
}
