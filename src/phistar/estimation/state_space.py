"""The chain as a state space model, for filters that know nothing of mechanics (R87 §IX).

    x(k) = φ(k,k−1) x(k−1) + w(k),  w(k) ~ (b(k), M(k)),    τ(k) = H(k) x(k) + noise of variance A(k)    (52), (53)

"Time" runs from the tip to the base. The smoothed measurement errors, scaled by their variance, are the joint
accelerations. R87 sets n = 0; a moving arm's bias accelerations enter as the forces Mφ*n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.links.values import has_rotors, links_at
from phistar.backends.programs.program import AS_WRITTEN
from phistar.errors import ModelError, ShapeError
from phistar.estimation.blocks import over_links, require_joints
from phistar.estimation.square_root import mass_factor
from phistar.identities import smoothing
from phistar.model import Model
from phistar.spatial import force_transform
from phistar.stated import states


@dataclass(frozen=True)
class StateSpace:
    """Arrays over k = 1 … n, tip first: `transition` φ(k,k−1), (n, 6, 6), of which the first is I; `design` H,
    (n, 1, 6); `state_covariance` M, (n, 6, 6); `state_input` b, (n, 6); `noise` A, (n,)."""

    transition: np.ndarray
    design: np.ndarray
    state_covariance: np.ndarray
    state_input: np.ndarray
    noise: np.ndarray


@states(lambda s: smoothing.known_forces(s) + s.M @ s.phi.T @ s.a, form=AS_WRITTEN)
def link_forces(model: Model, q: Any, v: Any) -> np.ndarray:
    """b + Mφ*n, (…, n, 6): the forces that moving with θ̈ = 0 takes, link by link (R87 eqs. 7, 24; ERRATA of §IX)."""
    return over_links(model, link_forces.evaluate(model, q, {"v": v}), columns=False)


def state_space(model: Model, q: Any, v: Any) -> StateSpace:
    """The model of one state, q (nq,) and v (nv,), of a serial chain of joints with one dof each."""
    if not model.is_serial or any(joint.nv != 1 for joint in model.joints) or has_rotors(model):
        raise ModelError(
            f"{model.name} is not a serial chain of one-dof joints without gyroscopic rotors; a time series is one."
        )
    q, v = model.checked(q, model.nq, "q"), model.checked(v, model.nv, "v")
    if q.ndim != 1 or v.ndim != 1:
        raise ShapeError(f"A state space model is of one state; q has shape {q.shape}, v {v.shape}.")
    links, n = links_at(model, q), len(model.bodies)
    inward = range(n - 1, -1, -1)
    moves = [force_transform(links.rotation[k + 1], links.offset[k + 1]) if k + 1 < n else np.eye(6) for k in inward]
    return StateSpace(
        transition=np.stack(moves),
        design=np.stack([links.subspace[k].T for k in inward]),
        state_covariance=np.stack([links.mass(k) for k in inward]),
        state_input=link_forces(model, q, v)[::-1],
        noise=np.array([model.armature[k] for k in inward]),
    )


@states(lambda s: s.H @ s.phi @ s.F)
def propagated(model: Model, q: Any, w: Any) -> np.ndarray:
    """Hφw, (…, nv): the joint forces that hold link forces w, (…, 6n)."""
    return propagated.evaluate(model, q, {"F": w})


def sample_joint_forces(model: Model, q: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """τ = Hφw + noise, (count, nv), of white w with covariance M(k); that of τ is the mass matrix (R87 eq. 28)."""
    require_joints(model)
    if has_rotors(model):
        raise ModelError(f"{model.name} has gyroscopic rotors, which no white noise is like.")
    n = len(model.bodies)
    factors = np.stack([mass_factor(model, k) for k in range(n)])
    white = np.matmul(factors, rng.normal(size=(count, n, 6, 1))).reshape(count, 6 * n)
    return propagated(model, q, white) + np.sqrt(model.armature) * rng.normal(size=(count, model.nv))
