"""The memoryless functions of two velocities, θ̇ and a reference θ̇_r, and of blocks in turning axes (RJK91 §6).

With A_k the map from joint rates to the velocity of link k, [ω; v], and dots as inertial axes see them, the sum over
the links of A*(M dA/dt + X)A is a matrix C(θ, θ̇) with dℳ/dt − 2C skew where X + X* = [ω̃ω̃]M − M[ω̃ω̃] = dM/dt. Of these
X, the one here needs no linear velocity and makes C symmetric in its two velocities (Christoffel's) on joints whose
rates are those of coordinates:

    X [ω_r; v_r] = [ω × (I − ½ tr I)ω_r; ω_r × (ω × m p)].

For θ̇_r = θ̇ everything falls back to the functions of KJR92 eqs. 47, 48 in `values.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.links.values import Links
from phistar.spatial import cross, skew


@dataclass(frozen=True, eq=False)
class TwoMotions:
    """A link's velocity V and joint rates θ̇, the same of the reference, and both velocities of the link that carries
    it, which are None on the world."""

    velocity: np.ndarray
    rates: np.ndarray
    reference: np.ndarray
    reference_rates: np.ndarray
    above: Any
    reference_above: Any

    @property
    def own(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """V, θ̇, V_r and θ̇_r."""
        return self.velocity, self.rates, self.reference, self.reference_rates


def reference_acceleration(
    links: Links, k: int, velocity: np.ndarray, v: np.ndarray, reference: np.ndarray, v_r: np.ndarray
) -> np.ndarray:
    """a_r(k), (…, 6, 1): the inertial rate of V_r(k) that neither dθ̇_r/dt nor its parent's rate explains."""
    spin, slide = _parts(np.matmul(links.subspace[k], v))
    spin_r, slide_r = _parts(np.matmul(links.subspace[k], v_r))
    omega, omega_r = _parts(velocity)[0], _parts(reference)[0]
    omega_parent, omega_r_parent = omega - spin, omega_r - spin_r
    reach = np.matmul(np.swapaxes(links.rotation[k], -1, -2), links.offset[k][..., None])[..., 0]
    angular = cross(omega_parent, spin_r) + cross(spin, spin_r)
    linear = cross(omega_r_parent, cross(omega_parent, reach) + slide) + cross(omega, slide_r)
    result = _column(angular, linear)
    rate = links.subspace_rate(k, v[..., 0])
    return result if rate is None else result + np.matmul(rate, v_r)


def reference_turning(
    links: Links, k: int, velocity: np.ndarray, v: np.ndarray, reference: np.ndarray, v_r: np.ndarray
) -> np.ndarray:
    """n_r(k), (…, 6, 1): −[ω × ω_r; ω × v_r] − dH*/dt θ̇_r, from inertial rates to those in link axes, joint aside."""
    omega, (omega_r, linear_r) = _parts(velocity)[0], _parts(reference)
    result = -_column(cross(omega, omega_r), cross(omega, linear_r))
    rate = links.subspace_rate(k, v[..., 0])
    return result if rate is None else result - np.matmul(rate, v_r)


def reference_rotor_moment(links: Links, k: int, velocity: np.ndarray, v: np.ndarray, v_r: np.ndarray) -> np.ndarray:
    """(…, 6, 1): ω × Sθ̇_r of the link that carries the rotor, in the axes of the link it drives."""
    omega_parent = _parts(velocity)[0] - _parts(np.matmul(links.subspace[k], v))[0]
    moment = cross(omega_parent, _parts(np.matmul(links.rotor(k), v_r))[0])
    return _column(moment, np.zeros(moment.shape))


def reference_force(mass: np.ndarray, velocity: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """b_r(k) = [ω × (I − ½ tr I)ω_r; ω_r × (ω × m p)], (…, 6, 1)."""
    omega, omega_r = _parts(velocity)[0], _parts(reference)[0]
    inertia = mass[..., :3, :3]
    half = np.asarray(0.5 * np.trace(inertia, axis1=-2, axis2=-1))
    spun = np.matmul(inertia, omega_r[..., None])[..., 0] - half[..., None] * omega_r
    swept = np.matmul(mass[..., 3:, :3], omega[..., None])[..., 0]
    return _column(cross(omega, spun), cross(omega_r, swept))


def turning(links: Links, k: int, block: np.ndarray, v: np.ndarray) -> np.ndarray:
    """[H*θ̇]× X + X [H*θ̇]×*, (…, 6, 6): what the turn of the joint does to a symmetric X seen by the parent."""
    spin, slide = _parts(np.matmul(links.subspace[k], v))
    turn, shift = skew(spin), skew(slide)
    upper = np.matmul(turn, block[..., :3, :]) + np.matmul(shift, block[..., 3:, :])
    half = np.concatenate([upper, np.matmul(turn, block[..., 3:, :])], axis=-2)
    return half + np.swapaxes(half, -1, -2)


def _parts(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angular and linear part of a column (…, 6, 1), each (…, 3)."""
    return column[..., :3, 0], column[..., 3:, 0]


def _column(angular: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """[angular; linear], (…, 6, 1), of parts that may have different leading axes."""
    shape = np.broadcast_shapes(angular.shape, linear.shape)
    parts = [np.broadcast_to(angular, shape), np.broadcast_to(linear, shape)]
    return np.concatenate(parts, axis=-1)[..., None]
