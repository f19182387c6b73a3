"""Laws in contact: impedance, and hybrid control of force and position, both on operational-space dynamics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.control.control_law import check_arguments, entries, gain, row, set_gains
from phistar.control.operational import TIP_ROWS, TipLaw, check_tip, operational_forces, tip_error
from phistar.errors import ShapeError
from phistar.model import Model


@final
@dataclass(frozen=True, eq=False)
class ImpedanceControl(TipLaw):
    """A frame that answers forces like a mass on a spring and a damper.

    M_d ë + D ė + K e = −f (Hogan 1985, on KJR92 eq. 4). With `mass` None, M_d is the arm's own Λ and f need not be
    measured: T = J*(Λβ̇_d + c + g + Dė + Ke). With `mass`, u = β̇_d + M_d⁻¹(Dė + Ke + f) and the reference has the
    measured f. With `reference(pose, twist, acceleration, posture, force)`.

    Parameters
    ----------
    model : Model
    frame : str
        The frame that is controlled.
    stiffness, damping : float or (6,)
        K and D, angular first [N m/rad, N/m and per second].
    mass : float or (6,), optional
        M_d, angular first.
    posture_kp, posture_kd : float or (nv,)
        Gains of the posture in the null space of the task.
    task_damping : float
        As `damping` of `operational_forces`.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> pose = ps.forward_kinematics(arm, q, "tool")
    >>> law = ps.control.ImpedanceControl(arm, "tool", stiffness=500)
    >>> law(0.0, q, v, law.reference(pose)).shape
    (6,)
    """

    model: Model
    frame: str
    stiffness: Any = 500.0
    damping: Any = 50.0
    mass: Any = None
    posture_kp: Any = 10.0
    posture_kd: Any = None
    task_damping: float = 0.0

    def __post_init__(self) -> None:
        check_tip(self, self.task_damping)
        nv = self.model.nv
        set_gains(self, {"stiffness": 6, "damping": 6, "posture_kp": nv, "posture_kd": nv})
        if self.mass is not None:
            object.__setattr__(self, "mass", _masses(self.mass, "ImpedanceControl's mass"))

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": TIP_ROWS + self.model.nq + 6 * (self.mass is not None)}

    def reference(
        self, pose: Any, twist: Any = None, acceleration: Any = None, posture: Any = None, force: Any = None
    ) -> Array:
        tip = super().reference(pose, twist, acceleration, posture)
        if self.mass is None:
            if force is not None:
                raise ShapeError("ImpedanceControl takes no measured force unless it is given a mass to shape.")
            return tip
        return row(tip, np.zeros(6) if force is None else entries(force, 6, "The measured force"))

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        sizes = TIP_ROWS, self.model.nq, *([] if self.mass is None else [6])
        q, v, tip, posture, *measured = check_arguments(self.model, q, v, reference, *sizes)
        at, back = tip_error(self.model, q, v, self.frame, tip), self.resting(q, v, posture)
        spring = self.damping * at.rate + self.stiffness * at.error
        if self.mass is None:
            return self._forces(q, v, back, at.acceleration, -spring)
        u = at.acceleration + (spring + measured[0]) / self.mass
        return self._forces(q, v, back, u, measured[0])

    def _forces(self, q: Any, v: Any, a: Any, u: Any, force: Any) -> np.ndarray:
        return operational_forces(self.model, q, v, a, u, force, self.frame, damping=self.task_damping)


@final
@dataclass(frozen=True, eq=False)
class HybridControl(TipLaw):
    """Force along some directions of a frame, position along the others.

    u = (1 − S)(β̇_d + k_d ė + k_p e) + S((f_d − f)/m − k_f β), and T takes the measured f out (Khatib 1987, on KJR92
    eq. 4): motions do not feel the force, and where a wall answers with stiffness k the force obeys m(f̈ + k_f ḟ) + k(f
    − f_d) = 0. f and f_d are what the tip exerts, in world axes. With `reference(pose, force, measured, twist,
    acceleration, posture)`.

    Parameters
    ----------
    model : Model
    frame : str
        The frame that is controlled.
    selection : (6,)
        1 where force is controlled, 0 where position is; angular first.
    axes : (3, 3), optional
        The constant axes of the selection; the world's by default.
    kp, kd : float or (6,)
        Gains of the motion; kd is critical by default.
    force_mass, force_kd : float or (6,)
        m and k_f.
    posture_kp, posture_kd : float or (nv,)
        Gains of the posture in the null space of the task.
    task_damping : float
        As `damping` of `operational_forces`.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> pose = ps.forward_kinematics(arm, q, "tool")
    >>> law = ps.control.HybridControl(arm, "tool", selection=[0, 0, 0, 0, 0, 1])
    >>> law(0.0, q, v, law.reference(pose, np.zeros(6), np.zeros(6))).shape
    (6,)
    """

    model: Model
    frame: str
    selection: Any
    axes: Any = None
    kp: Any = 100.0
    kd: Any = None
    force_mass: Any = 10.0
    force_kd: Any = 50.0
    posture_kp: Any = 10.0
    posture_kd: Any = None
    task_damping: float = 0.0

    def __post_init__(self) -> None:
        check_tip(self, self.task_damping)
        nv = self.model.nv
        set_gains(self, {"kp": 6, "kd": 6, "force_kd": 6, "posture_kp": nv, "posture_kd": nv})
        object.__setattr__(self, "force_mass", _masses(self.force_mass, "HybridControl's force_mass"))
        chosen = gain(self.selection, 6, "HybridControl's selection")
        if not np.isin(chosen, (0.0, 1.0)).all():
            raise ShapeError(f"HybridControl's selection must be six of 0 and 1; it was given {self.selection!r:.100}.")
        object.__setattr__(self, "selection", chosen)
        object.__setattr__(self, "axes", _turn(np.eye(3) if self.axes is None else self.axes))

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": TIP_ROWS + self.model.nq + 12}

    @property
    def projector(self) -> Array:
        """S, (6, 6)."""
        turn = np.kron(np.eye(2), self.axes)
        return turn @ np.diag(self.selection) @ turn.T

    def reference(
        self,
        pose: Any,
        force: Any,
        measured: Any,
        twist: Any = None,
        acceleration: Any = None,
        posture: Any = None,
    ) -> Array:
        pushes = entries(force, 6, "The force to exert"), entries(measured, 6, "The measured force")
        return row(super().reference(pose, twist, acceleration, posture), *pushes)

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        q, v, tip, posture, wanted, exerted = check_arguments(
            self.model, q, v, reference, TIP_ROWS, self.model.nq, 6, 6
        )
        at, back = tip_error(self.model, q, v, self.frame, tip), self.resting(q, v, posture)
        motion = at.acceleration + self.kd * at.rate + self.kp * at.error
        push = (wanted - exerted) / self.force_mass - self.force_kd * at.velocity
        u = motion + np.matmul(push - motion, self.projector)
        return operational_forces(self.model, q, v, back, u, -exerted, self.frame, damping=self.task_damping)


def _turn(axes: Any) -> np.ndarray:
    """A rotation matrix (3, 3)."""
    try:
        turn = np.asarray(axes, dtype=float)
    except (TypeError, ValueError, OverflowError):
        turn = np.zeros(0)
    if turn.shape != (3, 3) or not np.abs(turn @ turn.T - np.eye(3)).max() <= 1e-9 or np.linalg.det(turn) < 0.0:
        raise ShapeError(f"HybridControl's axes must be a rotation matrix (3, 3); it was given {axes!r:.100}.")
    return turn


def _masses(value: Any, what: str) -> np.ndarray:
    masses = gain(value, 6, what)
    if not masses.all():
        raise ShapeError(f"{what} must be positive; it was given {value!r:.100}.")
    return masses
