"""Laws in joint coordinates: PD, gravity compensation, and inverse dynamics by the recursion of WD89 §3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from phistar.control.law import Controller, JointLaw, gain, joint_error, joint_row, refuse_loops, set_gains, taken
from phistar.dynamics import gravity_load
from phistar.model import Model
from phistar.stated import states


@final
@dataclass(frozen=True, eq=False)
class GravityCompensation(Controller):
    """T = 𝒢(θ): the arm floats where it is put (KJR92 eq. 44)."""

    model: Model

    def __post_init__(self) -> None:
        refuse_loops(self.model, self)

    @property
    def rows(self) -> Mapping[str, int]:
        return {}

    def __call__(self, t: Any, q: Any, v: Any) -> np.ndarray:
        return gravity_load(self.model, q)


@final
@dataclass(frozen=True, eq=False)
class PDControl(Controller):
    """T = k_p(θ_d ⊖ θ) + k_d(θ̇_d − θ̇); `reference(q_d, v_d)`."""

    model: Model
    kp: Any = 100.0
    kd: Any = None

    def __post_init__(self) -> None:
        set_gains(self, dict.fromkeys(("kp", "kd"), self.model.nv))

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": self.model.nq + self.model.nv}

    def reference(self, q: Any, v: Any = None) -> np.ndarray:
        return joint_row(self.model, q, v)

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> np.ndarray:
        q, v, target, rate = taken(self.model, q, v, reference, self.model.nq, self.model.nv)
        return self.kp * joint_error(self.model, q, target) + self.kd * (rate - v)


class Feedback(NamedTuple):
    """F̂, (…, 6·bodies): spatial feedback vectors on the links, in their axes; η̂, (…, nv): feedback of the joints."""

    forces: np.ndarray
    torques: np.ndarray


@states(
    lambda s: {
        "forces": s.M @ s.phi.T @ (s.H.T @ s.qdd + s.bias) + s.b + s.E_phi @ (s.S @ s.qdd + s.b_r),
        "torques": s.A @ s.qdd + s.S.T @ s.phi_tilde.T @ (s.H.T @ s.qdd + s.bias),
    }
)
def dynamic_feedback(model: Model, q: Any, v: Any, a: Any) -> Feedback:
    """F̂ = Mα + b with α = φ*(H*θ̈ + ā), η̂ = Aθ̈: the feedback of inverse dynamics (WD89 §3).

    `gathered(model, q, *dynamic_feedback(model, q, v, a))` is ℳθ̈ + 𝒞 + 𝒢; other forces on links or joints are added
    in between, and share the sweep.
    """
    return Feedback(**dynamic_feedback.evaluate_all(model, q, {"v": v, "qdd": a}))


@states(lambda s: s.H @ s.phi @ s.F + s.T)
def gathered(model: Model, q: Any, forces: Any, torques: Any) -> np.ndarray:
    """HφF̂ + η̂, (…, nv): the joint forces that feedback vectors ask for, f̂(j) = F̂(j) + Σ φ f̂ over the children, in
    one inward sweep (WD89 §3)."""
    return gathered.evaluate(model, q, {"F": forces, "T": torques})


@final
@dataclass(frozen=True, eq=False)
class InverseDynamicsControl(JointLaw):
    """T = Hφ F̂ + η̂ at θ̈_r = θ̈_d + k_d(θ̇_d − θ̇) + k_p(θ_d ⊖ θ), so that ë + k_d ė + k_p e = 0 (WD89 §3).

    `damping` is WD89's d̂, an estimate of viscous friction, by default the model's. `reference(q_d, v_d, a_d)`.
    """

    model: Model
    kp: Any = 100.0
    kd: Any = None
    damping: Any = None

    def __post_init__(self) -> None:
        refuse_loops(self.model, self)
        set_gains(self, dict.fromkeys(("kp", "kd"), self.model.nv))
        own = [joint.kind.damping for joint in self.model.joints]
        value = np.concatenate([np.zeros(0), *own]) if self.damping is None else self.damping
        object.__setattr__(self, "damping", gain(value, self.model.nv, "InverseDynamicsControl's damping"))

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> np.ndarray:
        q, v, target, rate, change = self.taken(q, v, reference)
        wanted = change + self.kd * (rate - v) + self.kp * joint_error(self.model, q, target)
        feedback = dynamic_feedback(self.model, q, v, wanted)
        return gathered(self.model, q, feedback.forces, feedback.torques + self.damping * v)
