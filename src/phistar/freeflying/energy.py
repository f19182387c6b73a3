"""What of a motion is that of the robot as one rigid body, and what is its joints' (RJ2W §4)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.programs.program import AS_WRITTEN
from phistar.freeflying.free_base import check_free_base
from phistar.identities.two_way import joint_forces, moved_by_joints
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.stated import states

HALF = Fraction(1, 2)


def whole_mass(s: Symbols) -> Node:
    """π_f r π_f*, RJ2W's r_f(N+1): the robot as one body, as its base sees it."""
    return s.pi_f @ s.r @ s.pi_f.T


def momentum_at_base(s: Symbols) -> Node:
    """π_fφ(MV + ℰφSθ̇)."""
    return s.pi_f @ s.phi @ (s.M @ s.V + s.E_phi @ s.S @ s.v)


def joint_momentum_at_base(s: Symbols) -> Node:
    """π_fφ(rH* + ℰφS)N*: what the joints' rates add to it while the base keeps still."""
    motions, rotors = moved_by_joints(s)
    return s.pi_f @ s.phi @ (s.r @ motions + rotors)


def wiggle(s: Symbols) -> Node:
    """−r⁻¹(N+1)CRH* (RJ2W eq. 23)."""
    return -(whole_mass(s).inv @ joint_momentum_at_base(s))


@states(lambda s: wiggle(s) @ s.v_i, form=AS_WRITTEN)
def wiggle_velocity(model: Model, q: Any, joint_rates: Any) -> np.ndarray:
    """V_WIGGLE = −r⁻¹(N+1)CRH*θ̇, (…, 6): how the base moves when only the joints do and there is no momentum; [ω; v]
    in the base's frame (RJ2W eq. 23). joint_rates (…, n)."""
    check_free_base(model)
    return wiggle_velocity.evaluate(model, q, {"v_i": joint_rates})


@states(wiggle, matrix=True, form=AS_WRITTEN)
def wiggle_jacobian(model: Model, q: Any) -> np.ndarray:
    """−r⁻¹(N+1)CRH*, (…, 6, n), with V_WIGGLE = wiggle_jacobian · joint_rates (RJ2W eq. 23)."""
    check_free_base(model)
    return wiggle_jacobian.evaluate(model, q)


@states(lambda s: s.M_i @ s.v_i)
def joint_momentum(model: Model, q: Any, joint_rates: Any) -> np.ndarray:
    """ℳ_iθ̇ = (HR̄H* + A)θ̇, (…, n): the momenta of the joints' own motion; no mass matrix is formed (RJ2W Table 3)."""
    check_free_base(model)
    return joint_momentum.evaluate(model, q, {"v_i": joint_rates})


@states(lambda s: whole_mass(s).inv @ momentum_at_base(s), form=AS_WRITTEN)
def rigid_velocity(model: Model, q: Any, v: Any) -> np.ndarray:
    """V_RIGID, (…, 6): the motion of the robot, frozen, that has its momentum; with V_WIGGLE it adds up to the base's
    own [ω; v], in the base's frame (RJ2W eq. 25)."""
    check_free_base(model)
    return rigid_velocity.evaluate(model, q, {"v": v})


class Energy(NamedTuple):
    """Kinetic energy of the robot moving as one body, and of its joints' motion; each (…)."""

    rigid: np.ndarray
    articulated: np.ndarray


def _articulated(s: Symbols) -> Node:
    forces = joint_forces(s, s.H.T @ s.v, s.E_phi @ s.S @ s.v)
    return HALF * (s.v.T @ (forces + s.A @ s.v))


@states(
    lambda s: {
        "momentum": momentum_at_base(s),
        "velocity": whole_mass(s).inv @ momentum_at_base(s),
        "articulated": _articulated(s),
    },
    form=AS_WRITTEN,
)
def energy(model: Model, q: Any, v: Any) -> Energy:
    """½V_RIGID*r(N+1)V_RIGID and ½θ̇*(HR̄H* + A)θ̇, (…) each: their sum is the kinetic energy (RJ2W eq. 26)."""
    check_free_base(model)
    made = energy.evaluate_all(model, q, {"v": v})
    return Energy(0.5 * np.sum(made["momentum"] * made["velocity"], axis=-1), made["articulated"])
