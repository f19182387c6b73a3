"""Constraints by multipliers: solve, read how far each constraint is violated, change λ and ρ, solve again."""

from __future__ import annotations

import numpy as np

from phistar.optimize.constraints import Constraint
from phistar.optimize.control_problem import Problem
from phistar.optimize.quadratic import CostKernel
from phistar.optimize.solution import Solution
from phistar.optimize.solver import Ends, Iterate, improve

ROUNDS = 25  # of multipliers
FIRST, FACTOR, HEAVIEST = 10.0, 10.0, 1e8  # the penalty ρ, how it grows, and its greatest
SLOWER = 0.25  # a violation that falls less than this makes the penalty grow


def solve_constrained(
    problem: Problem,
    guess: tuple[np.ndarray, np.ndarray, np.ndarray],
    ends: Ends,
    regularization: float,
) -> Solution:
    """The motion of least cost that keeps the constraints."""
    with np.errstate(all="ignore"):  # trials may diverge
        return _solve(problem, guess, ends, regularization)


def _solve(
    problem: Problem, guess: tuple[np.ndarray, np.ndarray, np.ndarray], ends: Ends, regularization: float
) -> Solution:
    kernels = problem.running_kernel, problem.constraint_values
    running = _Multipliers(*kernels, problem.constraints, problem.steps, problem.h)
    kernels = problem.terminal_kernel, problem.terminal_constraint_values
    terminal = _Multipliers(*kernels, problem.terminal_constraints, 1, np.ones(1))
    at = Iterate(problem, *guess, running.parameters, terminal.parameters, regularization)
    groups = [group for group in (running, terminal) if group.constraints]
    reason, worst, before = improve(at, ends), 0.0, np.inf
    for _ in range(ROUNDS if groups else 0):
        nothing = np.zeros((1, problem.controls))
        running.measure(at.q[:-1], at.v[:-1], at.u)
        terminal.measure(at.q[-1:], at.v[-1:], nothing)
        worst = max(group.worst for group in groups)
        if worst <= ends.allowed or ends.is_over(len(at.history)):
            break
        for group in groups:
            group.update(heavier=worst > SLOWER * before)
        before, at.shift = worst, regularization
        at.filter.clear()
        reason = improve(at, ends)
    if worst > ends.allowed:
        told = [each for group in groups for each in group.violations_above(ends.allowed)]
        reason = "constraints cannot be met: " + ", ".join(told)
    cost = _plain_cost(at, running, terminal) if groups or reason else at.cost
    return _solution(problem, at, reason, worst, cost)


class _Multipliers:
    """The multipliers of constraints at some knots, in the parameters of their costs, which are changed in place."""

    def __init__(
        self,
        kernel: CostKernel,
        own_values: CostKernel,
        constraints: tuple[Constraint, ...],
        knots: int,
        h: np.ndarray,
    ) -> None:
        self.kernel, self.constraints, self.penalty = kernel, constraints, FIRST
        self.own_values, self.edges = own_values, np.cumsum([len(c.lower) for c in constraints[:-1]])
        self.parameters = kernel.parameters(knots)
        plain, sizes = len(kernel.costs) - len(constraints), [len(constraint.lower) for constraint in constraints]
        self.own = kernel.weight_places[plain:]
        starts = [place.start for place in kernel.target_places[plain:]]
        self.shift = [slice(a + 2 * m, a + 3 * m) for a, m in zip(starts, sizes, strict=True)]
        width, first = self.parameters.shape[1], sum(kernel.sizes[:plain])
        weights = self.parameters[:, width - sum(kernel.sizes) :]
        weights[:, :first] *= h[:, None]  # running costs are rates
        weights[:, first:] = self.penalty
        self.values = [np.zeros((knots, m)) for m in sizes]
        self.rest = [np.zeros((knots, m)) for m in sizes]

    def measure(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> None:
        """g at all knots."""
        if self.constraints:
            self.values = np.split(self.own_values.residuals(q, v, u), self.edges, axis=1)

    @property
    def worst(self) -> float:
        return max((float(np.abs(x).max()) for x in self._violations()), default=0.0)

    def _violations(self) -> list[np.ndarray]:
        pairs = zip(self.values, self.constraints, strict=True)
        return [g - np.clip(g, c.lower, c.upper) for g, c in pairs]

    def update(self, heavier: bool) -> None:
        """λ/ρ ← (g + λ/ρ) − its projection, then ρ."""
        penalty = min(self.penalty * FACTOR, HEAVIEST) if heavier else self.penalty
        for shift, own, g, c in zip(self.shift, self.own, self.values, self.constraints, strict=True):
            moved = g + self.parameters[:, shift]
            self.parameters[:, shift] = (moved - np.clip(moved, c.lower, c.upper)) * (self.penalty / penalty)
            self.parameters[:, own] = penalty
        self.penalty = penalty

    def violations_above(self, allowed: float) -> list[str]:
        """Which constraints are violated by more, by how much at most, and where."""
        told = []
        for x, constraint in zip(self._violations(), self.constraints, strict=True):
            sizes = np.abs(x).max(axis=1)
            knot = int(np.argmax(sizes))
            where = "at the end" if len(sizes) == 1 else f"at knot {knot}"
            if not sizes[knot] <= allowed:
                told.append(f"{constraint.name!r} is violated by {sizes[knot]:.3g} {where}")
        return told


def _plain_cost(at: Iterate, running: _Multipliers, terminal: _Multipliers) -> float:
    """The cost without what stands for constraints."""
    for group in (running, terminal):
        for own in group.own:
            group.parameters[:, own] = 0.0
    return at.total()


def _solution(problem: Problem, at: Iterate, reason: str, worst: float, cost: float) -> Solution:
    gains = np.matmul(problem.actuation, at.sweep.table("K"))
    told = reason or "the cost is least"
    tau = at.u @ problem.actuation.T
    gaps = float(np.abs(problem.transition.gaps(at.q, at.v, at.u, problem.h)).max())
    return Solution(
        problem.model, at.times, at.q, at.v, at.u, tau, gains, cost, not reason, told, worst, gaps, tuple(at.history)
    )
