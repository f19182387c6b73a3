"""Dry friction as it is: a joint slides, or sticks with whatever force up to the friction's magnitude keeps it at rest.

Between changes of mode the motion is smooth, so that an integrator of high order can follow it; where a rate comes to
zero, or a sticking force to its bound, the modes are decided anew. The forces λ at joints without rate make

    min ½ λ*Aλ + λ*α   within   −friction₊ ≤ λ ≤ friction₋,      A = ℳ⁻¹ at those joints, α their θ̈ without friction,

whose optimality is Coulomb's law: inside the bounds the joint stays, at a bound it leaves against the force. A joint
that rests at a stop has no bound on the stop's side (`joint_stops.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.dynamics import forward_dynamics, mass_matrix_inverse
from phistar.model import Model
from phistar.sim.joint_drives import Drives
from phistar.sim.passive import Passive

EXCESS = 1e-9  # of the friction: a force on the very bound still holds, so that no change is decided by rounding

IDLE = 1e-12  # N m or N: a stop lets go of what pulls away by more

SINGULAR = 1e-12  # of the largest answer of any joint: below it, a force moves nothing

Force = Callable[[float, np.ndarray, np.ndarray], np.ndarray]  # (t, q, v) → joint forces but for dry friction


@dataclass(frozen=True)
class Sticking:
    """The accelerations of a model under smooth joint forces and dry friction. Modes (nv,): 1 and −1 slide, 0 sticks;
    joints without friction have mode 1."""

    model: Model
    force: Force
    drives: Drives | None = None
    control: Force | None = None  # (t, q, v) → what the drives are told
    stops: tuple[float, ...] = ()  # (nv,): −1 at joints that rest at their lower limit, 1 at their upper one

    @cached_property
    def passive(self) -> Passive:
        return Passive(self.model)

    @cached_property
    def dry(self) -> np.ndarray:
        """The dofs that have dry friction, or rest at a stop."""
        rough = np.any(self.bounds > 0.0, axis=0)
        return np.flatnonzero(rough if self.drives is None else rough & ~self.drives.is_prescribed)

    @cached_property
    def bounds(self) -> np.ndarray:
        """(2, nv): the largest forces that hold against positive and against negative rates; infinite at stops."""
        found = np.array(self.passive.friction)
        if self.stops:
            found[0, np.array(self.stops) > 0.0], found[1, np.array(self.stops) < 0.0] = np.inf, np.inf
        return found

    def stuck_joints(self, modes: np.ndarray) -> np.ndarray:
        return self.dry[modes[self.dry] == 0]

    def acceleration(self, t: float, q: np.ndarray, v: np.ndarray, modes: np.ndarray) -> np.ndarray:
        """θ̈, (nv,), zero where a joint sticks."""
        return self.accelerate(t, q, v, modes)[0]

    def accelerate(self, t: float, q: np.ndarray, v: np.ndarray, modes: np.ndarray) -> tuple[np.ndarray, float]:
        """θ̈, and the power of all joint forces but springs."""
        result, at, inverse, forces = self._sliding(t, q, v, modes)
        if len(at):
            result = result + inverse[:, at] @ _least_forces(inverse, at, -result[at])
            result[at] = 0.0
        springs = self.passive.smooth(q, np.zeros(v.shape))
        return result, float(v @ (forces - springs))

    def _sliding(
        self, t: float, q: np.ndarray, v: np.ndarray, modes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """θ̈ as if nothing stuck; the dofs that do; how θ̈ answers to joint forces, ℳ⁻¹ without loops (if any do); and
        the joint forces."""
        forces, at = self.force(t, q, v) + self.passive.coulomb(modes), self.stuck_joints(modes)
        if self.drives is not None and self.control is not None:
            told = self.control(t, q, v)
            found = self.drives.accelerations(q, v, forces, told)
            more = (
                self.drives.accelerations(q, v, forces + np.eye(self.model.nv), told).accelerations if len(at) else 0.0
            )
            return found.accelerations, at, (np.asarray(more) - found.accelerations).T, found.forces
        free = forward_dynamics(self.model, q, v, forces)
        if len(at) and self.model.loops:
            return free, at, (forward_dynamics(self.model, q, v, forces + np.eye(self.model.nv)) - free).T, forces
        inverse = mass_matrix_inverse(self.model, q) if len(at) else np.zeros((0, 0))
        return free, at, inverse, forces

    def answers(self, q: np.ndarray) -> np.ndarray:
        """How rates answer to joint impulses, (nv, nv): ℳ⁻¹, of which loops and prescribed joints take their part."""
        still = np.zeros(self.model.nv)
        if self.drives is not None:
            rows = [
                self.drives.accelerations(q, still, each, still).accelerations
                for each in (0.0 * still, *np.eye(len(still)))
            ]
            return (np.array(rows[1:]) - rows[0]).T
        if self.model.loops:
            free = forward_dynamics(self.model, q, still, still)
            return (forward_dynamics(self.model, q, still, np.eye(len(still))) - free).T
        return mass_matrix_inverse(self.model, q)

    def margin(self, t: float, q: np.ndarray, v: np.ndarray, modes: np.ndarray, dof: int) -> float:
        """How far a dry joint is from a change: its rate where it slides, its force's way to the nearer bound where it
        sticks; positive until the change."""
        if modes[dof] != 0:
            return modes[dof] * v[dof]
        free, at, inverse, _ = self._sliding(t, q, v, modes)
        holding = _least_forces(inverse, at, -free[at])[np.searchsorted(at, dof)]
        ahead, back = self.bounds[:, dof]
        excess = EXCESS * sum(bound for bound in (ahead, back) if np.isfinite(bound))
        return min(holding + ahead, back - holding) + (excess if np.isfinite(ahead + back) else excess + IDLE)

    def decide(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The modes that Coulomb's law allows at this state."""
        from scipy.optimize import lsq_linear

        modes = np.ones(self.model.nv)
        modes[self.dry] = np.sign(v[self.dry])
        free, at, inverse, _ = self._sliding(t, q, v, modes)
        if len(at) == 0:
            return modes
        block, wanted = inverse[np.ix_(at, at)], free[at]
        root, side = square_root(block, wanted, np.abs(inverse).max())
        ahead, back = self.bounds[:, at]
        found = lsq_linear(root, -side, (-ahead, back), method="bvls")
        force, bound = found.x, found.active_mask  # a force on its bound may miss it by the last digit
        leaving = wanted + block @ force
        rounding = 1e-12 * (np.abs(wanted) + np.abs(block) @ np.abs(force))
        ahead_slips, back_slips = (force <= -ahead) | (bound < 0), (force >= back) | (bound > 0)
        modes[at] = 1.0 * (ahead_slips & (leaving > rounding)) - 1.0 * (back_slips & (leaving < -rounding))
        return modes


def square_root(block: np.ndarray, wanted: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """R and R⁻*α with R*R = A, by eigenvectors: in a loop joints hold each other, or one is at its dead centre."""
    values, vectors = np.linalg.eigh(0.5 * (block + block.T))
    roots = np.sqrt(np.maximum(values, SINGULAR * unit))
    return roots[:, None] * vectors.T, (vectors.T @ wanted) / roots


def _least_forces(inverse: np.ndarray, at: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The least forces at these joints with A λ = right."""
    root, side = square_root(inverse[np.ix_(at, at)], right, np.abs(inverse).max())
    return np.linalg.lstsq(root, side, rcond=10.0 * SINGULAR**0.5)[0]
