"""The chain as a state space model, for filters that know nothing of mechanics (R87 §IX).

    x(k) = φ(k,k−1) x(k−1) + w(k),  w(k) ~ (b(k), M(k)),    τ(k) = H(k) x(k) + noise of variance A(k)    (52), (53)

"Time" runs from the tip to the base. The smoothed measurement errors, scaled by their variance, are the joint
accelerations. R87 sets n = 0; a moving arm's bias accelerations enter as the forces Mφ*n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.values import has_rotors, links_at
from phistar.backends.programs.program import AS_WRITTEN
from phistar.errors import ModelError, ShapeError
from phistar.estimation.blocks import over_links, require_joints
from phistar.estimation.square_root import mass_factor
from phistar.identities import smoothing
from phistar.model import Model, require_tree
from phistar.model.check import check_robot
from phistar.short_repr import short_repr
from phistar.spatial import force_transform
from phistar.stated import states


@short_repr
@dataclass(frozen=True)
class StateSpace:
    """A serial chain as a state-space model over its links, for filters of other packages.

    Arrays over k = 1 … n, tip first.

    Attributes
    ----------
    transition : (n, 6, 6)
        φ(k,k−1), of which the first is I.
    design : (n, 1, 6)
        H.
    state_covariance : (n, 6, 6)
        M.
    state_input : (n, 6)
        b.
    noise : (n,)
        A, the armature as measurement noise.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> ps.estimation.state_space(arm, q, v).transition.shape
    (6, 6, 6)
    """

    transition: Array
    design: Array
    state_covariance: Array
    state_input: Array
    noise: Array


@states(lambda s: smoothing.known_forces(s) + s.M @ s.phi.T @ s.a, form=AS_WRITTEN)
def link_forces(model: Model, q: Any, v: Any) -> Array:
    """b + Mφ*n, (…, n, 6): the forces that moving with θ̈ = 0 takes, link by link (R87 eqs. 7, 24; ERRATA of §IX)."""
    return over_links(model, link_forces.evaluate(model, q, {"v": v}), columns=False)


def state_space(model: Model, q: Any, v: Any) -> StateSpace:
    """State-space model of a serial chain over its links, as R87's filter sees it.

    Parameters
    ----------
    model : Model
        A serial chain whose joints have one freedom each.
    q, v : (nq,), (nv,)
        One state.

    Returns
    -------
    StateSpace

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> ps.estimation.state_space(arm, q, v).design.shape
    (6, 1, 6)
    """
    require_tree(model, "state_space")
    if not model.is_serial or any(joint.nv != 1 for joint in model.joints) or has_rotors(model):
        raise ModelError(
            f"{model.name} is not a serial chain of one-dof joints without gyroscopic rotors; a time series is one."
        )
    q, v = model.checked_q(q), model.checked(v, model.nv, "v")
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
def propagated(model: Model, q: Any, w: Any) -> Array:
    """Hφw, (…, nv): the joint forces that hold link forces w, (…, 6n)."""
    return propagated.evaluate(model, q, {"F": w})


def sample_joint_forces(model: Model, q: Any, count: int, rng: np.random.Generator) -> Array:
    """Joint forces of random link forces, whose covariance is the mass matrix.

    τ = Hφw + noise with white w of covariance M(k) (R87 eq. 28).

    Parameters
    ----------
    model : Model
    q : (nq,)
        One configuration.
    count : int
        How many samples.
    rng : numpy.random.Generator

    Returns
    -------
    (count, nv)

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> ps.estimation.sample_joint_forces(arm, q, 1000, np.random.default_rng(0)).shape
    (1000, 6)
    """
    check_robot("sample_joint_forces", (model,))
    require_joints(model)
    if has_rotors(model):
        raise ModelError(f"{model.name} has gyroscopic rotors, which no white noise is like.")
    n = len(model.bodies)
    factors = np.stack([mass_factor(model, k) for k in range(n)])
    white = np.matmul(factors, rng.normal(size=(count, n, 6, 1))).reshape(count, 6 * n)
    return propagated(model, q, white) + np.sqrt(model.armature) * rng.normal(size=(count, model.nv))
