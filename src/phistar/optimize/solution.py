"""Solution of an optimal-control problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.model import Model
from phistar.short_repr import short_repr
from phistar.sim.trajectory import Trajectory


class Iteration(NamedTuple):
    """One iteration: the cost and the sum of the gaps before it, the decrease that was expected, the step's length and
    the regularization.

    Examples
    --------
    >>> stop = ps.optimize.problem(
    ...     ps.planar_chain(1), [0.3], [1.0], dt=0.05, steps=10, running=[ps.optimize.control(1.0)]
    ... )
    >>> stop.solve().history[0].length
    1.0
    """

    cost: float
    gaps: float
    expected: float
    length: float
    regularization: float


@short_repr
@dataclass(frozen=True, eq=False)
class Solution:
    """The motion of least cost: `t` (N + 1,), `q` (N + 1, nq), `v` (N + 1, nv), controls `u` (N, nu), joint forces
    `tau` (N, nv); `gains` (N, nv, 2nv) hold it: tau − K [q ⊖ q_k; v − v_k]. `cost`; `converged` and the `reason` why it
    ended; `violation`, the greatest of the constraints'; `gaps`, the greatest; `history`, a row for each iteration."""

    model: Model
    t: Array
    q: Array
    v: Array
    u: Array
    tau: Array
    gains: Array
    cost: float
    converged: bool
    reason: str
    violation: float
    gaps: float
    history: tuple[Iteration, ...]

    @property
    def iterations(self) -> int:
        return len(self.history)

    @property
    def trajectory(self) -> Trajectory:
        """The motion as every simulation gives it, for the viewer, files and plots."""
        held = np.concatenate([self.tau, self.tau[-1:]])
        return Trajectory(self.model, self.t, self.q, self.v, held)
