"""Feasibility-driven differential dynamic programming with a filter line search.

An iteration makes the quadratics of all knots in one call each, sweeps Riccati's equation backward over the steps, and
tries all step lengths as nonlinear rollouts at once (Mastalli et al. 2020). With gaps between the knots a trial counts
when cost and gaps are not both worse than some iterate before (Fletcher and Leyffer 2002) and the cost rises by no more
than its model says; without gaps when the cost falls as the model says (Armijo).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from time import perf_counter

import numpy as np

from phistar.optimize.constraints import BEYOND
from phistar.optimize.contracted_hessian import add_curvature
from phistar.optimize.control_problem import Problem
from phistar.optimize.solution import Iteration

LENGTHS, FIRST = 0.5 ** np.arange(12), 4  # of steps that are tried, the longest of them first
CLOSED = 1e-10  # a gap that counts as none, rad, m, rad/s, m/s
ARMIJO, RISE = 0.1, 2.0  # what part of an expected decrease there must be, how many times an expected rise there may be
LEAST, MOST = 1e-9, 1e9  # regularization
NEAR = 0.1  # of the cost: an expected decrease from which on second derivatives of the dynamics help
FILTER = 1e-4  # by which part a trial must be better than an iterate of the filter


@dataclass(eq=False)
class Iterate:
    """Knots, their cost and gaps, and the sweep that improves on them; worked on in place."""

    problem: Problem
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    running: np.ndarray  # parameters of the costs, (N, p)
    terminal: np.ndarray  # (1, p)
    shift: float
    cost: float = np.inf
    history: list[Iteration] = field(default_factory=list)
    filter: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        problem = self.problem
        self.sweep = problem.sweep
        self.times = problem.times
        self.rows = np.zeros((problem.steps, problem.trials.rows.length))
        self.values = np.zeros((problem.steps, 1))
        self.parts = problem.trials.rows.parts(self.rows)
        self.parts["low"][:] = np.maximum(problem.low, -BEYOND)
        self.parts["high"][:] = np.minimum(problem.high, BEYOND)
        self.gaps = problem.transition.gaps(self.q, self.v, self.u, problem.h)
        sizes = np.abs(self.gaps)
        self.widest, self.opening = float(sizes.max()), float(sizes.sum())

    def approximate(self) -> None:
        """The quadratic of the cost and the linear step at all knots, in the sweep's memory."""
        problem, sweep, n = self.problem, self.sweep, 2 * self.problem.model.nv
        W, w, cost = sweep.table("W"), sweep.vector("w"), 0.0
        if problem.running_kernel.costs:
            room = self.values, w[:-1], W[:-1]
            problem.running_kernel.quadratic(self.q[:-1], self.v[:-1], self.u, self.running, out=room)
            cost += float(self.values.sum())
        if problem.terminal_kernel.costs:
            nothing = np.zeros((1, problem.controls))
            value, slope, curve = problem.terminal_kernel.quadratic(self.q[-1:], self.v[-1:], nothing, self.terminal)
            W[-1, :n, :n], w[-1, :n] = curve[0, :n, :n], slope[0, :n]
            cost += float(value.sum())
        self.cost = cost
        problem.transition.linear(self.q[:-1], self.v[:-1], self.u, problem.h, sweep)
        sweep.vector("c")[:] = self.gaps
        if problem.is_bounded:
            sweep.vector("low")[:], sweep.vector("high")[:] = problem.low - self.u, problem.high - self.u

    @property
    def first_broken(self) -> int:
        """The first knot whose step is not finite."""
        return int(np.argmax(~np.isfinite(self.gaps).all(axis=1)))

    def free_controls(self) -> str:
        """The controls that cost nothing themselves, in words; "" where there are none."""
        names, n = self.problem.control_names if self.history else (), 2 * self.problem.model.nv
        weights = [self.sweep.table("W")[:-1, n + i, n + i] for i in range(len(names))]
        told = ", ".join(name for name, own in zip(names, weights, strict=True) if not own.any())
        return f"the cost does not depend on the controls of {told}" if told else ""

    def direction(self) -> tuple[float, float] | None:
        """Σ slope and ½Σ curvature of the cost along the step, after the sweep; None where no regularization helps."""
        sweep = self.sweep
        while True:
            failed = sweep.backward(self.problem.is_bounded, self.shift)
            if failed is None and np.isfinite(sweep.vector("p")[0]).all():
                break
            if not self.stiffen():
                return None
        if self.widest <= CLOSED:  # the sweep has summed it up on its way
            return sweep.slope, 0.5 * sweep.curvature(self.problem.is_bounded)
        sweep.forward()
        x, u = sweep.vector("x"), sweep.vector("u")
        slope = float(np.vdot(sweep.vector("q"), x) + np.vdot(sweep.vector("r"), u))
        curve = np.vdot(x, np.matmul(sweep.table("Q"), x[..., None])) + np.vdot(
            u, np.matmul(sweep.table("R"), u[..., None])
        )
        curve += 2.0 * np.vdot(x[:-1], np.matmul(sweep.table("S"), u[..., None]))
        return slope, 0.5 * float(curve)

    def take_curvature(self) -> None:
        """The dynamics' own curvature too, where the optimum is near and it leaves the Hessians positive."""
        if self.history and self.history[-1].expected <= NEAR * abs(self.cost) and self.widest <= CLOSED:
            add_curvature(self.problem, self.q, self.v, self.u)
            if self.sweep.backward(self.problem.is_bounded, self.shift) is not None:
                self.approximate()

    def stiffen(self) -> bool:
        """More regularization, up to the most there is."""
        self.shift = max(10.0 * self.shift, 1e3 * LEAST)
        return self.shift <= MOST

    def try_lengths(self, slope: float, curve: float) -> float:
        """The length of the step that was taken, 0 where none was accepted."""
        problem, parts = self.problem, self.parts
        parts["u"][:], parts["d"][:], parts["gap"][:] = self.u, self.sweep.vector("d"), self.gaps
        parts["q"][:], parts["v"][:] = self.q[:-1], self.v[:-1]
        parts["K"].reshape(problem.steps, problem.controls, -1)[:] = self.sweep.table("K")
        for lengths in (LENGTHS[:FIRST], LENGTHS[FIRST:]):
            made = problem.trials.run(problem.q0, problem.v0, self.times, self.rows, lengths)
            costs = made.cost + self.terminal_cost(made.q[:, -1], made.v[:, -1])
            taken = self._accepted_trial(lengths, costs, slope, curve)
            if taken is not None:
                self.q, self.v, self.u = made.q[taken], made.v[taken], made.u[taken]
                length = float(lengths[taken])
                self.gaps = (1.0 - length) * self.gaps  # which is how the trial was made
                self.widest, self.opening = (1.0 - length) * self.widest, (1.0 - length) * self.opening
                return length
        return 0.0

    def terminal_cost(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The cost of the last states, (…)."""
        if not self.problem.terminal_kernel.costs:
            return np.zeros(q.shape[:-1])
        nothing = np.zeros(self.problem.controls)
        return self.problem.terminal_kernel.value(q, v, nothing, self.terminal[0])[..., 0]

    def total(self) -> float:
        """The cost of the knots."""
        total = float(self.terminal_cost(self.q[-1], self.v[-1]))
        if self.problem.running_kernel.costs:
            total += float(self.problem.running_kernel.value(self.q[:-1], self.v[:-1], self.u, self.running).sum())
        return total

    def _accepted_trial(self, lengths: np.ndarray, costs: np.ndarray, slope: float, curve: float) -> int | None:
        """The trial to take: without gaps the best that lowers the cost, else the longest that the filter lets pass."""
        closed, rounding, best = self.opening <= CLOSED * self.gaps.size, 1e-14 * abs(self.cost), None
        for number, (length, cost) in enumerate(zip(lengths.tolist(), costs.tolist(), strict=True)):
            expected, change = length * (slope + length * curve), cost - self.cost
            good = change <= (ARMIJO if expected < 0.0 else RISE) * expected  # NaN and infinity do not fall
            if closed:
                good = good or (abs(expected) <= rounding and change <= rounding)
                best = number if good and (best is None or cost < costs[best]) else best
            elif good or (change <= 0.0 and self._passes(cost, (1.0 - length) * self.opening)):
                best = number
                break
        if not closed:
            self.filter.append((self.cost, self.opening))
        return best

    def _passes(self, cost: float, left: float) -> bool:
        """Whether no iterate before was better in both, cost and gaps."""
        return isfinite(cost) and all(
            (left <= (1.0 - FILTER) * gaps and cost <= before + FILTER * gaps) or cost <= before - FILTER * gaps
            for before, gaps in self.filter
        )


@dataclass(frozen=True)
class Ends:
    """When to stop: the decrease of the cost, relative to it, that counts as none; the most iterations; how far
    constraints may be violated; seconds from now, if any, after which no iteration begins; and whether iterations take
    the dynamics' own curvature."""

    tolerance: float
    iterations: int
    allowed: float
    deadline: float | None = None
    second_order: bool = False
    began: float = field(default_factory=perf_counter)

    def is_over(self, done: int) -> bool:
        """Whether so many iterations are enough."""
        late = self.deadline is not None and perf_counter() - self.began >= self.deadline
        return done >= self.iterations or (late and done > 0)


def improve(at: Iterate, ends: Ends) -> str:
    """Iterate until the cost is least; the reason why it ended, "" when it is."""
    if not isfinite(at.widest):
        return f"the step from knot {at.first_broken} of the guess is not finite: start from slower rates or less force"
    at.parts["parameters"][:] = at.running
    while not ends.is_over(len(at.history)):
        at.approximate()
        if ends.second_order:
            at.take_curvature()
        if not at.history and not (at.sweep.table("W").any() or at.sweep.vector("w").any()):
            return "no cost depends on the controls or on what they move"
        found = at.direction()
        if found is None:
            return f"{at.free_controls() or 'the cost falls without end'}: its Hessian cannot be made positive"
        slope, curve = found
        gaps = at.widest
        if -(slope + curve) <= ends.tolerance * (1e-3 + abs(at.cost)) and gaps <= CLOSED:
            at.history.append(Iteration(at.cost, gaps, -(slope + curve), 0.0, at.shift))
            return ""
        before, shift = at.cost, at.shift
        length = at.try_lengths(slope, curve)
        at.history.append(Iteration(before, gaps, -(slope + curve), length, shift))
        if length == 0.0 and not at.stiffen():
            return "no step makes the cost fall, however short"
        if length >= 0.5:
            at.shift = max(0.1 * at.shift, LEAST)
        elif 0.0 < length <= 0.02:
            at.stiffen()
    free = at.free_controls()
    return f"it stopped after {len(at.history)} iterations" + (f"; {free}, but for what they move" if free else "")
