"""Laws with an energy for their proof: desired and actual velocities stand in separate places of the Coriolis terms.

RJK91 §6: "a straightforward application of the recursive Newton-Euler algorithm will not work"; C(θ, θ̇)θ̇_r is an
operator statement here, so it costs two sweeps like any inverse dynamics. Closed chains and grasps, which the paper
leaves to Wen and Kreutz, are mechanisms in independent rates: `model.embedded()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.control.control_law import JointLaw, joint_error, refuse_curved, refuse_loops, set_gains
from phistar.dynamics import kinetic_energy
from phistar.model import Model
from phistar.stated import states


@states(lambda s: s.C_ref)
def coriolis_product(model: Model, q: Any, v: Any, v_ref: Any) -> Array:
    """Coriolis matrix times a reference velocity.

    C(θ, θ̇)θ̇_r, linear in each velocity, with dℳ/dt − 2C skew and C(θ, θ̇)θ̇ = 𝒞 (RJK91 §6). On joints whose rates are
    those of their coordinates, C is Christoffel's: C(θ, x)y = C(θ, y)x.

    Parameters
    ----------
    model : Model
    q, v, v_ref : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and reference rates.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> x, y = np.eye(6)[:2]
    >>> bool(np.allclose(ps.control.coriolis_product(arm, q, x, y), ps.control.coriolis_product(arm, q, y, x)))
    True
    """
    return coriolis_product.evaluate(model, q, {"v": v, "v_ref": v_ref})


@states(lambda s: s.mass @ s.qdd + s.C_ref + s.g)
def reference_dynamics(model: Model, q: Any, v: Any, v_ref: Any, a: Any) -> Array:
    """Inverse dynamics with actual and desired velocities kept apart.

    ℳθ̈_r + C(θ, θ̇)θ̇_r + 𝒢 (RJK91 §6), which passivity-based laws need.

    Parameters
    ----------
    model : Model
    q, v, v_ref, a : (…, nq), (…, nv), (…, nv), (…, nv)
        Joint coordinates, rates, reference rates and reference accelerations.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> v, a = np.ones((2, 6))
    >>> found = ps.control.reference_dynamics(arm, q, v, v, a)
    >>> bool(np.allclose(found, ps.inverse_dynamics(arm, q, v, a)))
    True
    """
    return reference_dynamics.evaluate(model, q, {"v": v, "v_ref": v_ref, "qdd": a})


@final
@dataclass(frozen=True, eq=False)
class PassivityControl(JointLaw):
    """Tracking whose storage function falls whatever the motion.

    T = ℳθ̈_r + C(θ, θ̇)θ̇_r + 𝒢 + k(θ̇_r − θ̇), with θ̇_r = θ̇_d + λ(θ_d − θ) and θ̈_r = θ̈_d + λ(θ̇_d − θ̇). With s =
    θ̇ − θ̇_r the storage ½ s*ℳs falls as −s*ks (Slotine and Li 1987, for which RJK91 §6 wants O(n)). For joints whose
    rates are those of their coordinates; `reference(q_d, v_d, a_d)`.

    Parameters
    ----------
    model : Model
    k, slope : float or (nv,)
        k and λ.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> law = ps.control.PassivityControl(arm)
    >>> law(0.0, q, v, law.reference(q + 0.1)).shape
    (6,)
    """

    model: Model
    k: Any = 10.0
    slope: Any = 10.0

    def __post_init__(self) -> None:
        refuse_loops(self.model, self)
        refuse_curved(self.model, self)
        set_gains(self, dict.fromkeys(("k", "slope"), self.model.nv))

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        rate, change = self.reference_motion(q, v, reference)
        return reference_dynamics(self.model, q, v, rate, change) + self.k * (rate - np.asanyarray(v))

    def reference_motion(self, q: Any, v: Any, reference: Any) -> tuple[Array, Array]:
        """θ̇_r and θ̈_r, (…, nv)."""
        q, v, target, rate, change = self.read_arguments(q, v, reference)
        return rate + self.slope * joint_error(self.model, q, target), change + self.slope * (rate - v)

    def storage(self, q: Any, v: Any, reference: Any) -> Array:
        """½ s*ℳs, (…)."""
        rate, _ = self.reference_motion(q, v, reference)
        return kinetic_energy(self.model, q, np.asanyarray(v) - rate)


@final
@dataclass(frozen=True, eq=False)
class EnergyControl(JointLaw):
    """Tracking in which the energy of the error never rises.

    T = ℳθ̈_d + C(θ, θ̇)θ̇_d + 𝒢 + k_p(θ_d − θ) + k_d(θ̇_d − θ̇). With e = θ − θ_d the energy ½ ė*ℳė + ½ e*k_p e falls
    as −ė*k_d ė (the energy laws of Wen, Kreutz and Bayard 1988 that RJK91 §6 wants in O(n)). At rest, θ̇_d = 0, this is
    gravity compensation and PD. For joints whose rates are those of their coordinates; `reference(q_d, v_d, a_d)`.

    Parameters
    ----------
    model : Model
    kp, kd : float or (nv,)
        Stiffness and damping; kd is critical, 2√kp, by default.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> law = ps.control.EnergyControl(arm)
    >>> bool(np.allclose(law(0.0, q, v, law.reference(q)), ps.gravity_load(arm, q)))
    True
    """

    model: Model
    kp: Any = 100.0
    kd: Any = None

    def __post_init__(self) -> None:
        refuse_loops(self.model, self)
        refuse_curved(self.model, self)
        set_gains(self, dict.fromkeys(("kp", "kd"), self.model.nv))

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        q, v, target, rate, change = self.read_arguments(q, v, reference)
        feedback = self.kp * joint_error(self.model, q, target) + self.kd * (rate - v)
        return reference_dynamics(self.model, q, v, rate, change) + feedback

    def storage(self, q: Any, v: Any, reference: Any) -> Array:
        """½ ė*ℳė + ½ e*k_p e, (…)."""
        q, v, target, rate, _ = self.read_arguments(q, v, reference)
        error = joint_error(self.model, q, target)
        return kinetic_energy(self.model, q, v - rate) + 0.5 * np.sum(self.kp * error * error, axis=-1)
