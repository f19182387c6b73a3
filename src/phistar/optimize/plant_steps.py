"""Steps of a plant in optimal control: contact, limits, servos and all, with the derivatives of the plant's own step.

A knot is q and v alone, so every step begins without what contacts remember (bristles), as its derivative does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.errors import PhistarError
from phistar.optimize.quadratic import CostKernel
from phistar.optimize.trial_rows import Motions, TrialRows
from phistar.plant.plant import Plant
from phistar.plant.session import Diverged
from phistar.steps.sweep import RiccatiSweep


@dataclass(frozen=True, eq=False)
class PlantTransition:
    """The step of a plant under a command, and its derivatives at all knots."""

    plant: Plant
    places: None = None
    curved: int = 0

    def after(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The states after a step, (…, nq) and (…, nv)."""
        made = [self._step(*knot) for knot in zip(q, v, u, h.tolist(), strict=True)]
        return np.stack([x for x, _ in made]), np.stack([x for _, x in made])

    def _step(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        after = self.plant.step(self.plant.state(q, v), u, h)
        return after.q, after.v

    def gaps(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, h: np.ndarray) -> np.ndarray:
        """f(x_k, u_k) ⊖ x_{k+1}, (N, 2nv)."""
        after, rates = self.after(q[:-1], v[:-1], u, h)
        return np.concatenate([self.plant.model.difference(q[1:], after), rates - v[1:]], axis=-1)

    def linear(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, h: np.ndarray, sweep: RiccatiSweep) -> None:
        """∂x'/∂x and ∂x'/∂u at all knots, into a sweep."""
        A, B = sweep.table("A"), sweep.table("B")
        for k, (each, rates, command) in enumerate(zip(q, v, u, strict=True)):
            try:
                made = self.plant.step_derivatives(self.plant.state(each, rates), command, float(h[k]))
            except PhistarError as error:
                raise PhistarError(f"At knot {k} the plant's step has no derivative: {error}") from error
            A[k], B[k] = made.state, made.command


@dataclass(frozen=True, eq=False)
class PlantTrials:
    """Trial motions of a plant, step by step under u = u_k + α d_k − K_k (x ⊖ x_k)."""

    plant: Plant
    costs: CostKernel

    @cached_property
    def rows(self) -> TrialRows:
        return TrialRows(self.plant.model, self.plant.nu, self.costs.rows[-1])

    def run(self, q0: np.ndarray, v0: np.ndarray, times: np.ndarray, rows: np.ndarray, lengths: np.ndarray) -> Motions:
        """The motions of a step lengths; rows (N, r). The cost of one that diverges is infinite."""
        made = [self._one(q0, v0, np.diff(times), self.rows.parts(rows), float(a)) for a in lengths]
        q, v, u, cost = (np.stack(x) for x in zip(*made, strict=True))
        return Motions(q, v, u, cost)

    def _one(
        self, q0: np.ndarray, v0: np.ndarray, h: np.ndarray, part: dict[str, np.ndarray], length: float
    ) -> tuple[np.ndarray, ...]:
        model, N, nv = self.plant.model, len(h), self.plant.model.nv
        q, v, u = np.empty((N + 1, model.nq)), np.empty((N + 1, nv)), np.empty((N, self.plant.nu))
        q[0], v[0] = q0, v0
        gains = part["K"].reshape(N, -1, 2 * nv)
        for k in range(N):
            away = np.concatenate([model.difference(part["q"][k], q[k]), v[k] - part["v"][k]])
            u[k] = np.clip(part["u"][k] + length * part["d"][k] - gains[k] @ away, part["low"][k], part["high"][k])
            try:
                after = self.plant.step(self.plant.state(q[k], v[k]), u[k], float(h[k]))
            except Diverged:
                q[k + 1 :], v[k + 1 :], u[k + 1 :] = q[k], v[k], u[k]
                return q, v, u, np.array(np.inf)
            left = (length - 1.0) * part["gap"][k]
            q[k + 1], v[k + 1] = model.integrate(after.q, left[:nv]), after.v + left[nv:]
        if not self.costs.costs:
            return q, v, u, np.array(0.0)
        return q, v, u, self.costs.value(q[:-1], v[:-1], u, part["parameters"]).sum()


def force_map(plant: Plant) -> np.ndarray:
    """The joint forces (nv, nu) that commands of force actuators make; those of servos are their own affair."""
    made, column = np.zeros((plant.model.nv, plant.nu)), 0
    for actuator in plant.actuators:
        if actuator.kind == "force" and actuator.rate >= 0:
            made[actuator.rate, column] = actuator.gear
        column += actuator.entries
    return made


def command_ranges(plant: Plant) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest commands (nu,), by the actuators' own ranges."""
    low, high = np.full(plant.nu, -np.inf), np.full(plant.nu, np.inf)
    column = 0
    for actuator in plant.actuators:
        if actuator.entries:
            low[column], high[column] = actuator.command_range
        column += actuator.entries
    return low, high


def holding_command(plant: Plant, q: np.ndarray) -> np.ndarray:
    """The command (nu,) by which servos of positions stay where they are; zero of the others."""
    made, column = np.zeros(plant.nu), 0
    for actuator in plant.actuators:
        if actuator.kind in ("position", "impedance") and actuator.rate >= 0:
            made[column] = (q[actuator.coordinate] - actuator.offset) / actuator.gear
        column += actuator.entries
    return made
