"""What the white-noise model of the links (R87 §IX, §XI) makes uncertain, and the inverse of the mass matrix in it.

If the inertial forces on the links were white noise with covariance M(k), the joint forces would have the mass matrix
as their covariance; all that the filter and the smoother then say of their errors is inertia.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.programs.program import AS_WRITTEN, BLOCKS
from phistar.errors import ModelError
from phistar.estimation.blocks import over_joints, over_links
from phistar.identities import smoothing
from phistar.identities.kinematics import rotor_bias
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.stated import states


@dataclass(frozen=True)
class Covariances:
    """Blocks per link k of n: (…, n, 6, 6), or (…, n, r, r) over the joints, r the most dofs of any joint."""

    innovations: np.ndarray
    """D = HPH* + A, of e⁻ (R87 eq. 57)."""
    predicted: np.ndarray
    """P⁻, of the force on a link once the joints outboard of it are known (eq. 56)."""
    updated: np.ndarray
    """P⁺, once its own joint is known too (eq. 58)."""
    smoothed: np.ndarray
    """S = P − PΔP, once all joints are known (eqs. 64, 65)."""
    costates: np.ndarray
    """Δ⁻, of the link's acceleration (eqs. 66, 82); KJR92's Ω."""
    costates_inboard: np.ndarray
    """Δ⁺, of the same on the inboard side of its joint (eq. 81)."""
    accelerations: np.ndarray
    """c = D⁻¹ + G*Δ⁺G, of a joint's own acceleration: the diagonal blocks of ℳ⁻¹, in O(n) (eqs. 71, 83)."""


@states(
    lambda s: {
        "innovations": s.D,
        "predicted": s.P,
        "updated": smoothing.updated_inertia(s),
        "smoothed": smoothing.smoothed_covariance(s),
        "costates": s.Omega,
        "costates_inboard": s.Delta,
        "accelerations": smoothing.own_variance(s),
    },
    matrix=BLOCKS,
    form=AS_WRITTEN,
)
def covariances(model: Model, q: Any) -> Covariances:
    """D, P⁻, P⁺, S, Δ⁻, Δ⁺ and the diagonal blocks of ℳ⁻¹: one inward and one outward pass (R87 eqs. 37-43, 65-82)."""
    found = covariances.evaluate_all(model, q)
    joints = ("innovations", "accelerations")
    shaped = {n: over_joints(model, x) if n in joints else over_links(model, x, True) for n, x in found.items()}
    return Covariances(**shaped)


@dataclass(frozen=True)
class AccelerationParts:
    """θ̈ = joint_forces + link_forces + link_motions, each (…, nv): a¹, a² and a³ of R87 eq. 69."""

    joint_forces: np.ndarray
    link_forces: np.ndarray
    link_motions: np.ndarray


@states(
    lambda s: {
        "joint_forces": s.mass.inv @ s.T,
        "link_forces": -(s.mass.inv @ (s.H @ s.phi @ (s.b + rotor_bias(s)) + s.g)),
        "link_motions": -(s.mass.inv @ (s.H @ s.phi @ s.M @ s.phi.T + s.S.T @ s.phi_tilde.T) @ s.a),
    }
)
def acceleration_parts(model: Model, q: Any, v: Any, tau: Any) -> AccelerationParts:
    """Accelerations due to joint forces, to gyroscopic forces and gravity, and to bias accelerations (R87 eq. 69)."""
    return AccelerationParts(**acceleration_parts.evaluate_all(model, q, {"v": v, "T": tau}))


def _outboard_half(s: Symbols) -> Node:
    """c + K*ψ*d*, d = G*Δ⁺ − cH: the costates of each column run outward from its joint (R87 eqs. 71, 83)."""
    own = smoothing.own_variance(s)
    return own + s.K.T @ s.psi.T @ (s.G.T @ s.Delta - own @ s.H).T


@states(_outboard_half, matrix=True, form=AS_WRITTEN)
def closed_form_inverse(model: Model, q: Any) -> np.ndarray:
    """ℳ⁻¹ = c + dψK + (dψK)*, (…, nv, nv), of a serial chain in O(n²) (R87 eqs. 70-72, 83).

    By count it beats `ps.mass_matrix_inverse`, which holds for trees too, on chains of more than some 25 links.
    """
    if not model.is_serial:
        raise ModelError(f"{model.name} branches, and R87 eq. 70 is about chains; use ps.mass_matrix_inverse.")
    half = closed_form_inverse.evaluate(model, q)
    owner = np.concatenate([np.full(joint.nv, k) for k, joint in enumerate(model.joints)])
    return np.where(owner[:, None] < owner, np.swapaxes(half, -1, -2), half)
