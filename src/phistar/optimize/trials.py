"""Trial motions of a line search: several step lengths at once, through time in one kernel, their cost inside it.

    u = clip(u_k + α d_k − K_k (x ⊖ x_k)),   x' = f(x, u) ⊕ (α − 1) gap_k,   c' = c + ℓ(x, u)

so that a step α < 1 keeps (1 − α) of each gap between the knots (feasibility-driven DDP, Mastalli et al. 2020). Cost
and controls stand among the coordinates of the kernel's state: [q; c; u; v].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.code.timeloop import Memory, TimeLoop, TimeSignature, record
from phistar.backends.machine.jit import Source, gufunc, host, machine_code
from phistar.backends.traces.arrays import traced
from phistar.dynamics import forward_dynamics
from phistar.model import Model
from phistar.model.manifold import between
from phistar.optimize.quadratic import CostKernel
from phistar.optimize.trial_rows import Motions, TrialRows
from phistar.sim.coordinates import Coordinates
from phistar.sim.integrators import METHODS
from phistar.sim.passive import Passive


@dataclass(frozen=True, eq=False)
class Trials:
    """Rollouts of a robot whose controls u (nu,) become joint forces by `actuation` (nv, nu), columns of a unit."""

    model: Model
    actuation: np.ndarray
    passive: bool
    costs: CostKernel

    @cached_property
    def rows(self) -> TrialRows:
        return TrialRows(self.model, self.actuation.shape[1], self.costs.rows[-1])

    @cached_property
    def memory(self) -> Memory:
        more = 1 + self.actuation.shape[1]
        return Memory(self.model.nq + more, self.model.nv, gains=1, row=self.rows.length, noted=more)

    def split(self, x: Any) -> tuple[Any, Any, Any]:
        """q, what stands with it (the cost so far first), and v of a state."""
        nq, end = self.model.nq, len(x) - self.model.nv
        return traced(x[:nq]), traced(x[nq:end]), traced(x[end:])

    def _control(self, x: Any, gains: Any, row: Any) -> dict[str, Any]:
        q, _, v = self.split(x)
        part, nv = self.rows.parts(traced(row)), self.model.nv
        away = np.concatenate([between(self.model, part["q"], q), v - part["v"]])
        u = part["u"] + gains * part["d"] - np.matmul(part["K"].reshape(-1, 2 * nv), away)
        u = np.minimum(np.maximum(u, part["low"]), part["high"])
        cost = self.costs.record(q, v, u, part["parameters"])
        return {"u": np.matmul(self.actuation, u), "noted": np.concatenate([cost, u])}

    def stage(self, x: Any, y: Any, s: Any, u: Any, clock: Any) -> dict[str, Any]:
        """v' = v + h θ̈, q' = q ⊕ h v'."""
        q, beside, v = self.split(x)
        forces = u + Passive(self.model).smooth(q, v) if self.passive else u
        after = v + clock[1:] * np.asarray(forward_dynamics(self.model, q, v, forces))
        moved = Coordinates(self.model).add(q, clock[1:] * after)
        return {"y": y, "s": np.concatenate([moved, beside, after])}

    def _finish(self, s: Any, gains: Any, row: Any, noted: Any) -> dict[str, Any]:
        """The next state, less what is kept of the gap; the cost with this step's; its controls."""
        coordinates, nv = Coordinates(self.model), self.model.nv
        q, beside, v = self.split(s)
        left = self.rows.parts(traced(row))["gap"] * (gains - 1.0)
        q = coordinates.unit(coordinates.add(coordinates.unit(np.asarray(q)), left[:nv]))
        return dict.fromkeys(("x", "y", "s"), np.concatenate([q, beside[:1] + noted[:1], noted[1:], v + left[nv:]]))

    def _loop(self) -> TimeLoop:
        memory = self.memory
        stage = record(memory, self.stage, ("x", "y", "s", "u", "clock"))
        finish = record(memory, self._finish, ("s", "gains", "row", "noted"))
        control = record(memory, self._control, ("x", "gains", "row"))
        return TimeLoop(memory, stage, finish, control, METHODS["euler"].weights)

    @cached_property
    def _kernel(self) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        target = host()
        made_from = self.model.key, self.actuation.tobytes(), self.passive, self.costs.trace, target.lanes

        def source() -> Source:
            loop = self._loop()
            return Source(loop.text(target.lanes, target.fma), {"operations": loop.operations})

        _, code = machine_code("trial rollouts", made_from, target, source)
        signature: Any = TimeSignature(self.memory, True)
        return gufunc(code, signature, "trials", f"trial motions of {self.model.name}, compiled.")

    def run(self, q0: np.ndarray, v0: np.ndarray, times: np.ndarray, rows: np.ndarray, lengths: np.ndarray) -> Motions:
        """The motions of a step lengths; rows (N, r)."""
        nq, start = self.model.nq, np.zeros(self.memory.nq)
        start[:nq] = q0
        q, v = self._kernel(start, v0, times, rows.reshape(-1), lengths[:, None])
        return Motions(q[..., :nq], v, q[:, 1:, nq + 1 :], q[:, -1, nq])
