"""Laws in contact: impedance, and hybrid control of force and position, both on operational-space dynamics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.control.law import Controller, gain, joint_error, row, set_gains, split
from phistar.control.operational import TIP_ROWS, check_tip, operational_forces, tip_error, tip_row
from phistar.errors import ShapeError
from phistar.model import Model


@final
@dataclass(frozen=True, eq=False)
class ImpedanceControl(Controller):
    """M_d ë + D ė + K e = −f: to a force f, the tip is a mass on a spring and a damper (Hogan 1985, on KJR92 eq. 4).

    With `mass` None M_d is the arm's own Λ, and f need not be measured: T = J*(Λβ̇_d + c + g + Dė + Ke). With `mass` (a
    number or six, angular first) u = β̇_d + M_d⁻¹(Dė + Ke + f), and the reference has the measured f. A posture moves in
    the null space; `task_damping` as in operational-space control. `reference(pose, twist, acceleration, posture,
    force)`.
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
        check_tip(self.model, self.frame, self)
        nv = self.model.nv
        set_gains(self, {"stiffness": 6, "damping": 6, "posture_kp": nv, "posture_kd": nv})
        if self.mass is not None:
            object.__setattr__(self, "mass", _masses(self.mass, "ImpedanceControl's mass"))

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": TIP_ROWS + self.model.nq + 6 * (self.mass is not None)}

    def reference(
        self, pose: Any, twist: Any = None, acceleration: Any = None, posture: Any = None, force: Any = None
    ) -> np.ndarray:
        posture = self.model.neutral() if posture is None else posture
        parts = [tip_row(pose, twist, acceleration), self.model.checked(posture, self.model.nq, "the posture")]
        if self.mass is None and force is not None:
            raise ShapeError("ImpedanceControl takes no measured force unless it is given a mass to shape.")
        return row(*parts, *([] if self.mass is None else [np.zeros(6) if force is None else force]))

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> np.ndarray:
        tip, posture, *measured = split(reference, TIP_ROWS, self.model.nq, *([] if self.mass is None else [6]))
        at = tip_error(self.model, q, v, self.frame, tip)
        back = self.posture_kp * joint_error(self.model, q, posture) - self.posture_kd * np.asanyarray(v)
        spring = self.damping * at.rate + self.stiffness * at.error
        if self.mass is None:
            return self._forces(q, v, back, at.acceleration, -spring)
        u = at.acceleration + (spring + measured[0]) / self.mass
        return self._forces(q, v, back, u, measured[0])

    def _forces(self, q: Any, v: Any, a: Any, u: Any, force: Any) -> np.ndarray:
        return operational_forces(self.model, q, v, a, u, force, self.frame, damping=self.task_damping)


@final
@dataclass(frozen=True, eq=False)
class HybridControl(Controller):
    """Force along some directions, position along the others (Khatib 1987, on KJR92 eq. 4).

    u = (1 − S)(β̇_d + k_d ė + k_p e) + S((f_d − f)/m − k_f β), and T takes the measured f out: motions do not feel the
    force, and where a wall answers with stiffness k the force obeys m(f̈ + k_f ḟ) + k(f − f_d) = 0. f and f_d are what
    the tip exerts, world axes. S projects on the directions `selection` (six of 0 or 1, angular first) of the constant
    axes `axes` (3, 3); `task_damping` as in operational-space control. `reference(pose, force, measured, twist,
    acceleration, posture)`.
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
        check_tip(self.model, self.frame, self)
        nv = self.model.nv
        set_gains(self, {"kp": 6, "kd": 6, "force_kd": 6, "posture_kp": nv, "posture_kd": nv})
        object.__setattr__(self, "force_mass", _masses(self.force_mass, "HybridControl's force_mass"))
        chosen = gain(self.selection, 6, "HybridControl's selection")
        if not np.isin(chosen, (0.0, 1.0)).all():
            raise ShapeError(f"HybridControl's selection must be six of 0 and 1; it was given {self.selection!r:.100}.")
        turn = np.eye(3) if self.axes is None else np.asarray(self.axes, dtype=float)
        if turn.shape != (3, 3) or np.abs(turn @ turn.T - np.eye(3)).max() > 1e-9:
            raise ShapeError(f"HybridControl's axes must be a rotation matrix (3, 3); it was given {self.axes!r:.100}.")
        object.__setattr__(self, "selection", chosen)
        object.__setattr__(self, "axes", turn)

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": TIP_ROWS + 12 + self.model.nq}

    @property
    def projector(self) -> np.ndarray:
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
    ) -> np.ndarray:
        posture = self.model.neutral() if posture is None else posture
        return row(tip_row(pose, twist, acceleration), force, measured, posture)

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> np.ndarray:
        tip, wanted, exerted, posture = split(reference, TIP_ROWS, 6, 6, self.model.nq)
        at = tip_error(self.model, q, v, self.frame, tip)
        twist = split(tip, TIP_ROWS - 12, 6, 6)[1] - at.rate
        back = self.posture_kp * joint_error(self.model, q, posture) - self.posture_kd * np.asanyarray(v)
        motion = at.acceleration + self.kd * at.rate + self.kp * at.error
        push = (wanted - exerted) / self.force_mass - self.force_kd * twist
        u = motion + np.matmul(push - motion, self.projector)
        return operational_forces(self.model, q, v, back, u, -exerted, self.frame, damping=self.task_damping)


def _masses(value: Any, what: str) -> np.ndarray:
    masses = gain(value, 6, what)
    if not masses.all():
        raise ShapeError(f"{what} must be positive; it was given {value!r:.100}.")
    return masses
