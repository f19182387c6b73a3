"""Explicit matrices of terms in two velocities, straight from the definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from phistar.backends.links import two_velocities
from phistar.operators.nodes import Node
from phistar.spatial import cross, skew

if TYPE_CHECKING:
    from phistar.backends.dense.definitions import Dense


def _split(dense: Dense, name: str) -> list[np.ndarray]:
    """A velocity joint by joint, (r, 1) each."""
    return [np.reshape(dense.vectors[name], (-1, 1))[joint.v_slice] for joint in dense.model.joints]


def _reference_velocities(dense: Dense) -> np.ndarray:
    return (dense._phi().T @ dense._H().T @ np.reshape(dense.vectors["v_ref"], -1)).reshape(dense.n, 6, 1)


def _velocities(dense: Dense) -> list[tuple[np.ndarray, ...]]:
    """V, θ̇, V_r, θ̇_r of each link."""
    found = dense.velocities, _split(dense, "v"), _reference_velocities(dense), _split(dense, "v_ref")
    return list(zip(*found, strict=True))


def _a_ref(dense: Dense) -> np.ndarray:
    return np.vstack(
        [two_velocities.reference_acceleration(dense.links, k, *x) for k, x in enumerate(_velocities(dense))]
    )


def _n_ref(dense: Dense) -> np.ndarray:
    return np.vstack([two_velocities.reference_turning(dense.links, k, *x) for k, x in enumerate(_velocities(dense))])


def _b_r_ref(dense: Dense) -> np.ndarray:
    rows = [(velocity, v, v_r) for velocity, v, _, v_r in _velocities(dense)]
    return np.vstack([two_velocities.reference_rotor_moment(dense.links, k, *x) for k, x in enumerate(rows)])


def _b_ref(dense: Dense, mass: Node) -> np.ndarray:
    blocks = [dense(mass)[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(dense.n)]
    pairs = zip(blocks, dense.velocities, _reference_velocities(dense), strict=True)
    return np.vstack([two_velocities.reference_force(*x) for x in pairs])


def _V_ref(dense: Dense) -> np.ndarray:
    return _reference_velocities(dense).reshape(-1, 1)


# C(θ, θ̇)θ̇_r, each body on its own at its centre of mass, in world axes


def _reference_motions(dense: Dense) -> list[tuple[np.ndarray, np.ndarray]]:
    """A body's twist of θ̇_r and its rate along θ̇, world axes at the world's origin: a screw moves with its body."""
    result: list[tuple[np.ndarray, np.ndarray]] = []
    for k, parent in enumerate(dense.model.parents):
        v, v_r = _split(dense, "v")[k], _split(dense, "v_ref")[k]
        twist, rate = result[parent] if parent >= 0 else (np.zeros(6), np.zeros(6))
        own, motion = (dense.screws[k] @ v_r)[:, 0], dense.accelerations[k][0]
        angular = cross(motion[:3], own[:3])
        rate = rate + np.concatenate([angular, cross(motion[:3], own[3:]) + cross(motion[3:], own[:3])])
        turned = dense.links.subspace_rate(k, v[:, 0])
        if turned is not None:
            turn, place = dense.poses[k]
            spin, slide = turn @ turned[:3] @ v_r, turn @ turned[3:] @ v_r
            rate = rate + np.concatenate([spin, slide + skew(place) @ spin])[:, 0]
        result.append((twist + own, rate))
    return result


def _C_ref(dense: Dense) -> np.ndarray:
    result, motions = np.zeros(dense.model.nv), _reference_motions(dense)
    for k in range(dense.n):
        (motion, _), (twist, rate), centre = dense.accelerations[k], motions[k], dense.centre(k)
        speed = motion[3:] + cross(motion[:3], centre)
        linear = rate[3:] + cross(rate[:3], centre) + cross(twist[:3], speed)
        force = dense.world_mass(k) @ np.concatenate([rate[:3], linear])
        inertia = dense.world_mass(k)[:3, :3]
        force[:3] += cross(motion[:3], inertia @ twist[:3] - 0.5 * np.trace(inertia) * twist[:3])
        result += dense.point_jacobian(k, centre).T @ force
    for k, joint in enumerate(dense.model.joints):
        carrier = dense.model.parents[k]
        if carrier >= 0:
            motion, rate = dense.accelerations[carrier][0], motions[carrier][1]
            momentum = (dense.spin_axes(k) @ _split(dense, "v_ref")[k])[:, 0]
            result += dense.point_jacobian(carrier, np.zeros(3))[:3].T @ cross(motion[:3], momentum)
            result[joint.v_slice] += dense.spin_axes(k).T @ rate[:3]
    return result[:, None]


MIXED: dict[str, Callable[..., np.ndarray]] = {
    "V_ref": _V_ref,
    "a_ref": _a_ref,
    "n_ref": _n_ref,
    "b_ref": _b_ref,
    "b_r_ref": _b_r_ref,
    "C_ref": _C_ref,
}
"""Matrix of each symbol, computed from a `Dense`."""
