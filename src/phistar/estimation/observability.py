"""Redundancy and singularity as observability (R87 §XIV).

A force f on a frame, unknown, runs to the base and every joint reads its share; without noise,

    x(k) = φ(k,k−1) x(k−1),  x(0) = f,    τ(k) = H(k) x(k):    τ = HφBf = J*f

so JJ* = Σ φ*(k,0)H*(k)H(k)φ(k,0) is this model's observability Gramian. Read outward, it is the Gramian of what rates
can make the frame do (controllability): a force that no joint feels is a motion that no joint can make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array, IntArray
from phistar.dynamics import jacobian
from phistar.errors import ShapeError
from phistar.estimation.boundary import SINGULAR
from phistar.estimation.link_arrays import require_joints
from phistar.model import Model, require_tree
from phistar.model.check import check_robot
from phistar.short_repr import short_repr
from phistar.stated import states


@states(lambda s: s.J @ s.U @ s.J.T, matrix=True)
def observability_gramian(model: Model, q: Any, frame: str) -> Array:
    """Gramian of a frame: how strongly forces on it are felt by the joints.

    JJ* = B*ΓB, Γ = ℰφ*Γℰφ + H*H from one outward sweep (R87 §XIV). Forces read with joint noise of unit variance have
    covariance (JJ*)⁻¹; twists β that joint rates of unit length give are those with β*(JJ*)⁻¹β ≤ 1.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    frame : str
        A name in `model.frames`.

    Returns
    -------
    (…, 6, 6)
        In world axes at the frame.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> J = ps.jacobian(arm, q, "tool")
    >>> bool(np.allclose(ps.estimation.observability_gramian(arm, q, "tool"), J @ J.T))
    True
    """
    require_tree(model, "observability_gramian")
    return observability_gramian.evaluate(model, q, frames=(frame,))


@short_repr
@dataclass(frozen=True)
class Observability:
    """Forces on a frame that the joints can feel, and motions they can give it.

    Attributes
    ----------
    gramian : (…, 6, 6)
        JJ*.
    strengths : (…, 6)
        Its singular values σ², largest first.
    directions : (…, 6, 6)
        The columns d that belong to them, [moment; force] or [ω; v] in world axes at the frame.
    rank : (…)
        How many of them count.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> int(ps.estimation.observability(arm, q, "tool").rank)
    5
    """

    gramian: Array
    """JJ*, (…, 6, 6)."""
    strengths: Array
    """σ, (…, 6), largest first: the joint forces that a unit force along a direction gives, ‖J*d‖; the greatest twist
    along it under rates of unit length."""
    directions: Array
    """d, (…, 6, 6), in the columns."""
    rank: IntArray
    """(…): in how many directions a force is felt, which is in how many the frame can move."""

    @property
    def unobservable(self) -> Array:
        """(6, 6 − rank), orthonormal: forces that no joint feels, J*f = 0; motions that the arm has lost."""
        if self.rank.ndim:
            raise ShapeError(
                f"Each state of a batch {self.rank.shape} loses directions of its own; ask one state, or take the "
                "columns of `directions` from `rank` on."
            )
        return self.directions[:, int(self.rank) :]


def observability(model: Model, q: Any, frame: str) -> Observability:
    """Directions in which a frame can be felt and moved by the joints, strongest first.

    JJ* = Σ σ²dd*. A direction counts where σ² is above 1e-11 of the greatest. Moments and forces are measured in N m
    and N: strengths depend on that choice of units, the rank does not.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    frame : str
        A name in `model.frames`.

    Returns
    -------
    Observability

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> ps.estimation.observability(arm, q, "tool").directions.shape
    (6, 6)
    """
    check_robot("observability", (model,))
    _require_moving_tree(model)
    gramian = observability_gramian(model, q, frame)
    values, directions = np.linalg.eigh(gramian)
    values, directions = values[..., ::-1], directions[..., ::-1]
    rank = np.sum(_is_significant(values), axis=-1)
    return Observability(gramian, np.sqrt(np.maximum(values, 0.0)), directions, rank)


def self_motions(model: Model, q: Any, frame: str) -> Array:
    """Projector onto joint rates that leave a frame at rest.

    I − J*(JJ*)⁺J. To the estimator, what readings contain that no force on the frame explains: the residual τ − J*f̂ of
    the least squares f̂ = (JJ*)⁺Jτ. Its trace is nv − rank, the joints in surplus.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    frame : str
        A name in `model.frames`.

    Returns
    -------
    (…, nv, nv)

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> rates = ps.estimation.self_motions(arm, q, "tool") @ np.ones(6)
    >>> bool(np.allclose(ps.jacobian(arm, q, "tool") @ rates, 0))
    True
    """
    check_robot("self_motions", (model,))
    _require_moving_tree(model)
    J, (values, directions) = jacobian(model, q, frame), np.linalg.eigh(observability_gramian(model, q, frame))
    felt = _is_significant(values)
    scale = np.where(felt, 1.0 / np.sqrt(np.where(felt, values, 1.0)), 0.0)
    rows = scale[..., None] * np.matmul(np.swapaxes(directions, -1, -2), J)  # orthonormal, or zero
    return np.eye(model.nv) - np.matmul(np.swapaxes(rows, -1, -2), rows)


def _is_significant(values: np.ndarray) -> np.ndarray:
    return values > SINGULAR * np.max(values, axis=-1, keepdims=True)


def _require_moving_tree(model: Model) -> None:
    require_joints(model)
    require_tree(model, "observability")
