"""Laws in joint coordinates: PD, gravity compensation, and inverse dynamics by the recursion of WD89 §3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.control.control_law import (
    Controller,
    JointLaw,
    check_arguments,
    gain,
    joint_error,
    joint_row,
    refuse_loops,
    row,
    set_gains,
)
from phistar.dynamics import gravity_load
from phistar.errors import ModelError
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.stated import states


@final
@dataclass(frozen=True, eq=False)
class GravityCompensation(Controller):
    """Joint forces that let the robot float where it is put.

    T = 𝒢(θ) (KJR92 eq. 44).

    Parameters
    ----------
    model : Model

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> law = ps.control.GravityCompensation(arm)
    >>> bool(np.allclose(law(0.0, q, v), ps.gravity_load(arm, q)))
    True
    """

    model: Model

    def __post_init__(self) -> None:
        refuse_loops(self.model, self)

    @property
    def rows(self) -> Mapping[str, int]:
        return {}

    def __call__(self, t: Any, q: Any, v: Any) -> Array:
        return gravity_load(self.model, q)


@final
@dataclass(frozen=True, eq=False)
class PDControl(Controller):
    """Springs and dampers from each joint to its reference.

    T = k_p(θ_d ⊖ θ) + k_d(θ̇_d − θ̇), with `reference(q_d, v_d)`.

    Parameters
    ----------
    model : Model
    kp, kd : float or (nv,)
        Stiffness and damping; kd is critical, 2√kp, by default.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> law = ps.control.PDControl(arm, kp=100)
    >>> law(0.0, q, v, law.reference(q + 0.1)).round(9)
    array([10., 10., 10., 10., 10., 10.])
    """

    model: Model
    kp: Any = 100.0
    kd: Any = None

    def __post_init__(self) -> None:
        check_robot("PDControl", (self.model,))
        set_gains(self, dict.fromkeys(("kp", "kd"), self.model.nv))

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": self.model.nq + self.model.nv}

    def reference(self, q: Any, v: Any = None) -> Array:
        return joint_row(self.model, q, v)

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        q, v, target, rate = check_arguments(self.model, q, v, reference, self.model.nq, self.model.nv)
        return self.kp * joint_error(self.model, q, target) + self.kd * (rate - v)


class Feedback(NamedTuple):
    """F̂, (…, 6·bodies): spatial feedback vectors on the links, in their axes; η̂, (…, nv): feedback of the joints."""

    forces: Array
    torques: Array


@states(
    lambda s: {
        "forces": s.M @ s.phi.T @ (s.H.T @ s.qdd + s.bias) + s.b + s.E_phi @ (s.S @ s.qdd + s.b_r),
        "torques": s.A @ s.qdd + s.S.T @ s.phi_tilde.T @ (s.H.T @ s.qdd + s.bias),
    }
)
def dynamic_feedback(model: Model, q: Any, v: Any, a: Any) -> Feedback:
    """Forces on links and joints that inverse dynamics feeds back.

    F̂ = Mα + b with α = φ*(H*θ̈ + ā), and η̂ = Aθ̈ (WD89 §3). `gathered` makes joint forces of them; other forces on
    links or joints are added in between, and share the sweep.

    Parameters
    ----------
    model : Model
    q, v, a : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and accelerations.

    Returns
    -------
    Feedback
        `forces` (…, 6·bodies), each in its link's axes, and `torques` (…, nv).

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> found = ps.control.gathered(arm, q, *ps.control.dynamic_feedback(arm, q, v, np.ones(6)))
    >>> bool(np.allclose(found, ps.inverse_dynamics(arm, q, v, np.ones(6))))
    True
    """
    return Feedback(**dynamic_feedback.evaluate_all(model, q, {"v": v, "qdd": a}))


@states(lambda s: s.H @ s.phi @ s.F + s.T)
def gathered(model: Model, q: Any, forces: Any, torques: Any) -> Array:
    """Joint forces equivalent to feedback forces on the links.

    HφF̂ + η̂: f̂(j) = F̂(j) + Σ φ f̂ over the children, in one inward sweep (WD89 §3).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    forces : (…, 6·bodies)
        F̂, spatial forces on the links, each in its link's axes.
    torques : (…, nv)
        η̂, added at the joints.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> ps.control.gathered(arm, q, np.zeros(36), np.ones(6))
    array([1., 1., 1., 1., 1., 1.])
    """
    return gathered.evaluate(model, q, {"F": forces, "T": torques})


@final
@dataclass(frozen=True, eq=False)
class InverseDynamicsControl(JointLaw):
    """Computed torque: the joint errors obey a linear equation of their own.

    T = HφF̂ + η̂ at θ̈_r = θ̈_d + k_d(θ̇_d − θ̇) + k_p(θ_d ⊖ θ), so that ë + k_d ė + k_p e = 0 (WD89 §3). With
    `reference(q_d, v_d, a_d)`. In a mechanism with loops the primary joints do this, and they alone are driven:
    τ = E(Q)*ρ̂, with θ̇ = E(Q)Q̇ and ρ̂ what the joints of the tree would need; of the reference their entries count.

    Parameters
    ----------
    model : Model
        A tree, a mechanism with loops, or one in independent rates (`model.embedded()`).
    kp, kd : float or (nv,)
        Stiffness and damping; kd is critical, 2√kp, by default.
    damping : float or (nv,), optional
        Estimate of viscous friction, WD89's d̂; by default the model's.
    primary : sequence of str, optional
        Names of the joints that are driven in a mechanism with loops, one for each degree of freedom; by default they
        are chosen where it is assembled.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> law = ps.control.InverseDynamicsControl(arm, kp=100)
    >>> a = ps.forward_dynamics(arm, q, v, law(0.0, q, v, law.reference(q + 0.01)))
    >>> a.round(6)
    array([1., 1., 1., 1., 1., 1.])
    """

    model: Model
    kp: Any = 100.0
    kd: Any = None
    damping: Any = None
    primary: Sequence[str] | None = None
    embedded: Model | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        check_robot("InverseDynamicsControl", (self.model,))
        if self.model.loops and self.model.embedding is None:
            object.__setattr__(self, "embedded", self.model.embedded(self.primary))
        elif self.primary is not None:
            raise ModelError(
                f"{self.model.name} has no loops: every joint of it is driven. `primary` names the joints that are "
                "driven where others follow them."
            )
        set_gains(self, dict.fromkeys(("kp", "kd"), self.model.nv))
        own = self.model.tree.gather(lambda kind: kind.damping)
        if self.model.embedding is not None:
            own = self.model.embedding.joint_values(own, "InverseDynamicsControl's damping")
        value = own if self.damping is None else self.damping
        object.__setattr__(self, "damping", gain(value, self.model.nv, "InverseDynamicsControl's damping"))

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        q, v, target, rate, change = self.read_arguments(q, v, reference)
        wanted = change + self.kd * (rate - v) + self.kp * joint_error(self.model, q, target)
        if self.embedded is not None:
            return self._by_primary_joints(self.embedded, q, v, wanted)
        feedback = dynamic_feedback(self.model, q, v, wanted)
        return gathered(self.model, q, feedback.forces, feedback.torques + self.damping * v)

    def _by_primary_joints(self, inner: Model, q: Any, v: Any, wanted: Any) -> Array:
        """τ = E(Q)*ρ̂ at the primary joints, zero at all others."""
        assert inner.embedding is not None
        driven = list(inner.embedding.independent)
        feedback = dynamic_feedback(inner, q, v[..., driven], wanted[..., driven])
        friction = inner.embedding.independent_forces(q, self.damping * v)
        forces = gathered(inner, q, feedback.forces, feedback.torques) + friction
        nothing = np.zeros((*forces.shape[:-1], 1))
        at = {place: number for number, place in enumerate(driven)}
        columns = [forces[..., at[i] : at[i] + 1] if i in at else nothing for i in range(self.model.nv)]
        return row(*columns)
