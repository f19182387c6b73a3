"""Error covariances in the white-noise model of the links (R87 §IX, §XI), and the inverse of the mass matrix in it.

If the inertial forces on the links were white noise with covariance M(k), the joint forces would have the mass matrix
as their covariance; all that the filter and the smoother then say of their errors is inertia.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.link_sizes import link_rows
from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.backends.programs.program import BLOCKS
from phistar.estimation.link_arrays import over_joints, over_links
from phistar.identities import smoothing
from phistar.identities.kinematic_laws import rotor_bias
from phistar.model import Model, require_tree
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.stated import states


@short_repr
@dataclass(frozen=True)
class Covariances:
    """Covariances of R87's estimation problem, a block for each link or joint.

    Where bodies bend, a link is 6 + m wide: in place of 6 stands the width of the widest link, [modes; moment; force],
    and a joint's freedoms are followed by its body's modes; what a link does not have is zero.

    Attributes
    ----------
    innovations : (…, n, r, r)
        D of each joint; r is the largest number of freedoms of a joint.
    predicted, updated : (…, n, 6, 6)
        P⁻ and P⁺: the articulated inertia before and after its joint.
    smoothed : (…, n, 6, 6)
        S, of the link forces once every joint force is known.
    costates, costates_inboard : (…, n, 6, 6)
        Δ⁻ and Δ⁺ of the outward pass.
    accelerations : (…, n, r, r)
        Diagonal blocks of ℳ⁻¹.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> ps.estimation.covariances(arm, q).predicted.shape
    (6, 6, 6)
    """

    innovations: Array
    """D = HPH* + A, of e⁻ (R87 eq. 57)."""
    predicted: Array
    """P⁻, of the force on a link once the joints outboard of it are known (eq. 56)."""
    updated: Array
    """P⁺, once its own joint is known too (eq. 58)."""
    smoothed: Array
    """S = P − PΔP, once all joints are known (eqs. 64, 65)."""
    costates: Array
    """Δ⁻, of the link's acceleration (eqs. 66, 82); KJR92's Ω."""
    costates_inboard: Array
    """Δ⁺, of the same on the inboard side of its joint (eq. 81)."""
    accelerations: Array
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
    """Covariances of link forces and joint accelerations before and after the joint forces are known.

    D, P⁻, P⁺, S, Δ⁻, Δ⁺ and the diagonal blocks of ℳ⁻¹ by one inward and one outward pass (R87 eqs. 37-43, 65-82).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    Covariances

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> blocks = ps.estimation.covariances(arm, q).accelerations[:, 0, 0]
    >>> bool(np.allclose(blocks, np.diag(ps.mass_matrix_inverse(arm, q))))
    True
    """
    require_tree(model, "covariances")
    found = covariances.evaluate_all(model, q)
    joints = ("innovations", "accelerations")
    shaped = {n: over_joints(model, x) if n in joints else over_links(model, x, True) for n, x in found.items()}
    return Covariances(**shaped)


@short_repr
@dataclass(frozen=True)
class AccelerationParts:
    """Joint accelerations by their causes, as `acceleration_parts` returns them.

    θ̈ = joint_forces + link_forces + link_motions. The parts belong to a convention of accelerations. These take KJR92's
    inertial one, with its pair of biases (a, b). R87 differentiates velocities in the links' axes, with another pair
    (n, b): `joint_forces` is its a¹ (eq. 69), the sum of the other two is its a² + a³, and each of them its own only at
    rest.

    Attributes
    ----------
    joint_forces, link_forces, link_motions : (…, nv)

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> parts = ps.estimation.acceleration_parts(arm, q, v, tau)
    >>> total = parts.joint_forces + parts.link_forces + parts.link_motions
    >>> bool(np.allclose(total, ps.forward_dynamics(arm, q, v, tau)))
    True
    """

    joint_forces: Array
    link_forces: Array
    link_motions: Array


@states(
    lambda s: {
        "joint_forces": s.mass.inv @ s.T,
        "link_forces": -(s.mass.inv @ (s.H @ s.phi @ (s.b + rotor_bias(s)) + s.g)),
        "link_motions": -(s.mass.inv @ (s.H @ s.phi @ s.M @ s.phi.T + s.S.T @ s.phi_tilde.T) @ s.a),
    }
)
def acceleration_parts(model: Model, q: Any, v: Any, tau: Any) -> AccelerationParts:
    """Joint accelerations due to joint forces, to gyroscopic forces and gravity, and to bias accelerations.

    The split of R87 eq. 69 with the biases of KJR92 eqs. 47, 48; see `AccelerationParts`.

    Parameters
    ----------
    model : Model
    q, v, tau : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and forces.

    Returns
    -------
    AccelerationParts

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> ps.estimation.acceleration_parts(arm, q, v, tau).joint_forces + 0.0
    array([0., 0., 0., 0., 0., 0.])
    """
    require_tree(model, "acceleration_parts")
    return AccelerationParts(**acceleration_parts.evaluate_all(model, q, {"v": v, "T": tau}))


def _outboard_half(s: Symbols) -> Node:
    """c + K*ψ*d*, d = G*Δ⁺ − cH: the costates of each column run outward from its joint (R87 eqs. 71, 83)."""
    own = smoothing.own_variance(s)
    return own + s.K.T @ s.psi.T @ (s.G.T @ s.Delta - own @ s.H).T


@states(lambda s: s.psi @ s.K, matrix=True, form=AS_WRITTEN)
def _gains_along(model: Model, q: Any) -> Array:
    """ψK, (…, 6n, nv): what a link hears of the joints outboard of it."""
    return _gains_along.evaluate(model, q)


@states(lambda s: s.Omega @ s.psi @ s.K, matrix=True, form=AS_WRITTEN)
def _costates_along(model: Model, q: Any) -> Array:
    """ΩψK, (…, 6n, nv)."""
    return _costates_along.evaluate(model, q)


@states(_outboard_half, matrix=True, form=AS_WRITTEN)
def closed_form_inverse(model: Model, q: Any) -> Array:
    """Inverse of the mass matrix in closed form.

    ℳ⁻¹ = c + dψK + (dψK)* in O(n²) (R87 eqs. 70-72, 83) along every path from a tip to the base; joints on different
    branches meet at the link a where these part, m⁻¹(i,j) = (ψK)*(a,i) Ω(a) (ψK)(a,j), of which R87, about chains, says
    nothing. By count it beats `ps.mass_matrix_inverse` on chains of more than some 25 links.

    Parameters
    ----------
    model : Model
        A tree without loops; joints of any dof.
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    (…, nv, nv)

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> bool(np.allclose(ps.estimation.closed_form_inverse(arm, q), ps.mass_matrix_inverse(arm, q)))
    True
    """
    require_tree(model, "closed_form_inverse")
    half = closed_form_inverse.evaluate(model, q)
    owner = np.repeat(np.arange(len(model.bodies)), link_rows(model, "joints"))
    whole = np.where(owner[:, None] < owner, np.swapaxes(half, -1, -2), half)
    return whole if model.is_serial else _with_branches(model, q, whole, owner)


def _with_branches(model: Model, q: Any, whole: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """The blocks between joints on different branches, at the links where these part."""
    gains, costates = _gains_along(model, q), _costates_along(model, q)
    starts = np.cumsum([0, *link_rows(model, "links")])
    for link, children in enumerate(model.children):
        if len(children) < 2:
            continue
        rows = slice(starts[link], starts[link + 1])
        branch = np.full(len(model.bodies), -1)
        for k in range(link + 1, len(model.bodies)):
            above = model.parents[k]
            branch[k] = k if above == link else branch[above] if above > link else -1
        at = branch[owner]
        apart = (at[:, None] >= 0) & (at >= 0) & (at[:, None] != at)
        met = np.matmul(np.swapaxes(gains[..., rows, :], -1, -2), costates[..., rows, :])
        whole = np.where(apart, met, whole)
    return whole
