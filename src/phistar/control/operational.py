"""Laws at the tip: operational-space control (KJR92 eq. 4) with a posture, and resolved acceleration, its equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.link_sizes import freedoms
from phistar.backends.programs.conditioning import damp
from phistar.control.control_law import (
    POSE_ROWS,
    Controller,
    check_arguments,
    entries,
    gain,
    joint_error,
    pose_error,
    pose_row,
    refuse_loops,
    row,
    set_gains,
    split,
)
from phistar.dynamics import forward_kinematics, frame_velocity, inverse_dynamics
from phistar.errors import InfeasibleError, UnknownNameError
from phistar.model import Model, require_tree
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.spatial import times
from phistar.stated import states

TIP_ROWS = POSE_ROWS + 6 + 6  # pose, [ω; ẋ] and its rate


def inertia(s: Symbols) -> Node:
    """Λ = (Jℳ⁻¹J*)⁻¹ (KJR92 eq. 12)."""
    return (s.J @ s.mass.inv @ s.J.T).inv


@states(lambda s: {"mobility": s.J @ s.mass.inv @ s.J.T, "drift": s.Jdot_v + s.J @ s.qdd}, matrix=True)
def _task_terms(model: Model, q: Any, v: Any, a: Any, frame: str) -> dict[str, np.ndarray]:
    """Ω(0) = Jℳ⁻¹J*, (…, 6, 6), and J̇θ̇ + Jθ̈₀, (…, 6): with them Λ is solved for outside the statement."""
    return _task_terms.evaluate_all(model, q, {"v": v, "qdd": a}, (frame,))


@states(lambda s: s.mass @ s.qdd + s.C + s.g + s.J.T @ (inertia(s) @ (s.u - s.Jdot_v - s.J @ s.qdd) - s.f))
def operational_forces(
    model: Model, q: Any, v: Any, a: Any, u: Any, force: Any, frame: str, *, damping: float = 0.0
) -> Array:
    """Joint forces that give a frame an acceleration, and to the null space of the task joint accelerations.

    J*(Λu + c + g − f) + (I − J*J̄*)T₀ with T₀ = ℳθ̈₀ + 𝒞 + 𝒢 and J̄ = ℳ⁻¹J*Λ (KJR92 eqs. 4, 16), written as T₀ + J*(Λ(u
    − J̇θ̇ − Jθ̈₀) − f), which is the same. Where a direction is lost Λ does not exist and the forces are NaN.

    Parameters
    ----------
    model : Model
    q, v, a : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates, and accelerations θ̈₀ wanted where the task leaves them free.
    u, force : (…, 6), (…, 6)
        Acceleration wanted of the frame, and the force on it, in world axes.
    frame : str
        A name in `model.frames`.
    damping : float
        δ of (Ω + δs)⁻¹ in place of Λ near singular positions, as in `ps.operational_space`.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> u = np.array([0.1, 0, 0, 0, 0, 1])
    >>> tau = ps.control.operational_forces(arm, q, v, v, u, np.zeros(6), "tool")
    >>> a = ps.forward_dynamics(arm, q, v, tau)
    >>> bool(np.allclose(ps.frame_acceleration(arm, q, v, a, "tool"), u))
    True
    """
    require_tree(model, "operational_forces")
    if damping:
        terms = _task_terms(model, q, v, a, frame)
        pull = np.asanyarray(u) - terms["drift"]
        push = times(damp(terms["mobility"], damping), pull) - force
        return inverse_dynamics(model, q, v, a, {frame: -push})
    return operational_forces.evaluate(model, q, {"v": v, "qdd": a, "u": u, "f": force}, frames=(frame,))


@states(lambda s: s.qdd + s.U @ s.J.T @ (s.J @ s.U @ s.J.T).inv @ (s.u - s.Jdot_v - s.J @ s.qdd))
def resolved_acceleration(model: Model, q: Any, v: Any, a: Any, u: Any, frame: str) -> Array:
    """Joint acceleration nearest to a given one that gives a frame its acceleration.

    θ̈ = θ̈₀ + J⁺(u − J̇θ̇ − Jθ̈₀), J⁺ = J*(JJ*)⁻¹ (Luh, Walker and Paul 1980; KJR92 §2).

    Parameters
    ----------
    model : Model
    q, v, a : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and accelerations θ̈₀.
    u : (…, 6)
        Acceleration wanted of the frame, in world axes.
    frame : str
        A name in `model.frames`.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> u = np.array([0.1, 0, 0, 0, 0, 1])
    >>> a = ps.control.resolved_acceleration(arm, q, v, v, u, "tool")
    >>> bool(np.allclose(ps.frame_acceleration(arm, q, v, a, "tool"), u))
    True
    """
    require_tree(model, "resolved_acceleration")
    return resolved_acceleration.evaluate(model, q, {"v": v, "qdd": a, "u": u}, frames=(frame,))


def tip_row(pose: Any, twist: Any = None, acceleration: Any = None) -> Array:
    """Pose (…, 4, 4), [ω; ẋ] and its rate (…, 6) as a reference has them, (…, 24); zeros where None."""
    given = {"The twist of the reference": twist, "The acceleration of the reference": acceleration}
    return row(pose_row(pose), *(np.zeros(6) if x is None else entries(x, 6, what) for what, x in given.items()))


@short_repr
class TipError(NamedTuple):
    """The tip against its reference: error and rate (…, 6), [rotation; position], the acceleration to follow, and the
    tip's own velocity."""

    error: Array
    rate: Array
    acceleration: Array
    velocity: Array


def tip_error(model: Model, q: Any, v: Any, frame: str, reference: np.ndarray) -> TipError:
    """The error of a frame against a row of `tip_row`."""
    target, twist, acceleration = split(reference, POSE_ROWS, 6, 6)
    error = pose_error(forward_kinematics(model, q, frame), target)
    velocity = frame_velocity(model, q, v, frame)
    return TipError(error, twist - velocity, acceleration, velocity)


def check_tip(law: TipLaw, task_damping: float = 0.0) -> None:
    """A frame that exists on an arm without loops, moved by six degrees of freedom unless Λ is damped."""
    model, frame, kind = law.model, law.frame, type(law).__name__
    refuse_loops(model, law)
    if not isinstance(frame, str):
        raise UnknownNameError(f"{kind} takes one frame, by its name; {frame!r:.100} is not one.")
    gain(task_damping, 1, f"{kind}'s task_damping")
    moved_by = freedoms(model, (frame,))
    if moved_by < 6 and not task_damping:
        remedy = "Give task_damping=…, or" if hasattr(law, "task_damping") else "Choose"
        raise InfeasibleError(
            f"{kind} moves a frame in six directions, and {moved_by} degrees of freedom move '{frame}' of "
            f"{model.name}. {remedy} a frame farther out."
        )


class TipLaw(Controller):
    """A law of a tip with a posture beside it, `reference(pose, twist, acceleration, posture)`. Abstract."""

    frame: str
    kp: Any
    kd: Any
    posture_kp: Any
    posture_kd: Any

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": TIP_ROWS + self.model.nq}

    def reference(self, pose: Any, twist: Any = None, acceleration: Any = None, posture: Any = None) -> Array:
        posture = self.model.neutral() if posture is None else posture
        return row(tip_row(pose, twist, acceleration), self.model.checked_q(posture, "the posture"))

    def resting(self, q: np.ndarray, v: np.ndarray, posture: np.ndarray) -> Array:
        """θ̈₀ = κ_p(θ_p ⊖ θ) − κ_d θ̇, (…, nv)."""
        return self.posture_kp * joint_error(self.model, q, posture) - self.posture_kd * v

    def command(self, q: Any, v: Any, reference: Any) -> tuple[Array, ...]:
        """θ and θ̇ as given, the accelerations of the posture (…, nv) and of the tip (…, 6)."""
        q, v, tip, posture = check_arguments(self.model, q, v, reference, TIP_ROWS, self.model.nq)
        at = tip_error(self.model, q, v, self.frame, tip)
        return q, v, self.resting(q, v, posture), at.acceleration + self.kd * at.rate + self.kp * at.error


@final
@dataclass(frozen=True, eq=False)
class OperationalSpaceControl(TipLaw):
    """Tracking of a frame's pose through the inertia that is felt there, with a posture in the null space.

    T = J*(Λu + c + g) + (I − J*J̄*)T₀ with β̇ = u = β̇_d + k_d(β_d − β) + k_p e (KJR92 eqs. 4, 5) and θ̈₀ = κ_p(θ_p −
    θ) − κ_d θ̇. The tip needs six degrees of freedom in a regular position; in a singular one the forces are NaN unless
    `task_damping` is given. With `reference(pose, twist, acceleration, posture)`.

    Parameters
    ----------
    model : Model
    frame : str
        The frame that is controlled.
    kp, kd : float or (6,)
        Gains of the frame, angular first; kd is critical by default.
    posture_kp, posture_kd : float or (nv,)
        Gains of the posture in the null space of the task.
    task_damping : float
        As `damping` of `operational_forces`.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> pose = ps.forward_kinematics(arm, q, "tool")
    >>> law = ps.control.OperationalSpaceControl(arm, "tool")
    >>> law(0.0, q, v, law.reference(pose)).shape
    (6,)
    """

    model: Model
    frame: str
    kp: Any = 100.0
    kd: Any = None
    posture_kp: Any = 10.0
    posture_kd: Any = None
    task_damping: float = 0.0

    def __post_init__(self) -> None:
        check_tip(self, self.task_damping)
        nv = self.model.nv
        set_gains(self, {"kp": 6, "kd": 6, "posture_kp": nv, "posture_kd": nv})

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        q, v, posture, u = self.command(q, v, reference)
        return operational_forces(self.model, q, v, posture, u, np.zeros(6), self.frame, damping=self.task_damping)


@final
@dataclass(frozen=True, eq=False)
class ResolvedAccelerationControl(TipLaw):
    """Tracking of a frame's pose by joint accelerations that give it.

    T = ℳθ̈ + 𝒞 + 𝒢 at θ̈ = θ̈₀ + J⁺(u − J̇θ̇ − Jθ̈₀), u and θ̈₀ as in `OperationalSpaceControl` (Luh, Walker and Paul
    1980). The tip moves the same; on an arm with six degrees of freedom the forces are the same too (KJR92 §2).

    Parameters
    ----------
    model : Model
    frame : str
        The frame that is controlled.
    kp, kd : float or (6,)
        Gains of the frame, angular first; kd is critical by default.
    posture_kp, posture_kd : float or (nv,)
        Gains of the posture in the null space of the task.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> pose = ps.forward_kinematics(arm, q, "tool")
    >>> law = ps.control.ResolvedAccelerationControl(arm, "tool")
    >>> law(0.0, q, v, law.reference(pose)).shape
    (6,)
    """

    model: Model
    frame: str
    kp: Any = 100.0
    kd: Any = None
    posture_kp: Any = 10.0
    posture_kd: Any = None

    def __post_init__(self) -> None:
        check_tip(self)
        nv = self.model.nv
        set_gains(self, {"kp": 6, "kd": 6, "posture_kp": nv, "posture_kd": nv})

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        q, v, posture, u = self.command(q, v, reference)
        acceleration = resolved_acceleration(self.model, q, v, posture, u, self.frame)
        return inverse_dynamics(self.model, q, v, acceleration)
