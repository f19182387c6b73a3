"""Model predictive control: an optimal-control problem solved anew in every sample, from where the robot is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.control.sampled import Command
from phistar.errors import PhistarError
from phistar.optimize.control_problem import Problem
from phistar.short_repr import short_repr


class Plan(NamedTuple):
    """Knots q (N + 1, nq), v (N + 1, nv), u (N, nu) of the last solution, and when it began, s."""

    q: Array
    v: Array
    u: Array
    t: float


def step_length(problem: Problem) -> float:
    """The length that all steps of a problem have, which is then a controller's period, s."""
    if not np.allclose(problem.h, problem.h[0], rtol=1e-9):
        raise PhistarError("A controller's problem needs steps of one length: its period.")
    return float(problem.h[0])


@final
@short_repr
@dataclass(frozen=True, eq=False)
class ModelPredictiveControl:
    """A sampled controller that solves an optimal-control problem from the sensed state and applies its first step.

    Each sample starts from the last solution, a step on; the period is the problem's step.

    Parameters
    ----------
    problem : Problem
        What to do from any state: where it starts is replaced in each sample.
    iterations : int
        Most iterations in a sample.
    deadline : float, optional
        Seconds of computing after which no new iteration begins. What is computed then depends on the machine.

    Examples
    --------
    >>> arm, o = ps.planar_chain(2), ps.optimize
    >>> costs = [o.control(1e-3), o.joint_position([0.5, 0.0], 10.0)]
    >>> task = o.problem(arm, [0.1, 0.2], dt=0.02, steps=20, running=costs)
    >>> law = ps.control.ModelPredictiveControl(task, iterations=3)
    >>> run = ps.simulate(arm, [0.1, 0.2], [0, 0], 0.1, control=law)
    >>> bool(abs(run.q[-1, 0] - 0.5) < 0.4)
    True
    """

    problem: Problem
    iterations: int = 5
    deadline: float | None = None

    def __post_init__(self) -> None:
        step_length(self.problem)
        if self.iterations < 1 or (self.deadline is not None and not self.deadline > 0.0):
            raise PhistarError("A predictive controller needs at least one iteration, and a positive deadline if any.")

    @property
    def period(self) -> float:
        return step_length(self.problem)

    def start(self) -> Plan | None:
        """No plan yet."""
        return None

    def command(self, memory: Plan | None, t: float, sensed: Mapping[str, Any]) -> tuple[Plan, Command]:
        """The plan from the sensed q and v on, and its first joint forces, or a plant's first command."""
        problem = self.problem.starting_from(sensed["q"], sensed["v"])
        guess = problem.guess() if memory is None else _shift_plan(memory, round((t - memory.t) / self.period))
        found = problem.solve(*guess, iterations=self.iterations, deadline=self.deadline)
        first = found.tau[0] if problem.plant is None else found.u[0]
        facts = {"cost": found.cost, "iterations": float(found.iterations), "gaps": found.gaps}
        return Plan(found.q, found.v, found.u, t), Command(first, "tracking", facts=facts)


def _shift_plan(plan: Plan, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A plan some steps later: its end stands still."""
    steps = min(max(steps, 0), len(plan.u) - 1)
    q, v, u = (np.concatenate([x[steps:], np.repeat(x[-1:], steps, axis=0)]) for x in plan[:3])
    return q, v, u
