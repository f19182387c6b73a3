"""Control by sampled motions: thousands of rollouts with noisy controls in one kernel, their cost inside it.

    u ← Σ w_i u_i,   w_i ∝ exp(−(S_i − min S)/λ)          (path-integral control, Kappen 2005; Williams et al. 2017)

S is the cost of the problem, λ the temperature: Boltzmann's weights, which RJK91 §6 foresees for planning motions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.backends.code.timeloop import Memory, TimeLoop, TimeSignature, record
from phistar.backends.machine.jit import Source, gufunc, host, machine_code
from phistar.backends.machine.threads import spread
from phistar.backends.traces.arrays import traced
from phistar.control.sampled import Command
from phistar.errors import PhistarError, ShapeError
from phistar.optimize.control_problem import Problem
from phistar.optimize.noise_pool import NoisePool
from phistar.optimize.noisy_loop import GROUP, NoisyLoop, NoisySignature
from phistar.optimize.predictive import step_length
from phistar.optimize.trial_rows import Motions
from phistar.optimize.trials import Trials
from phistar.short_repr import short_repr
from phistar.sim.coordinates import Coordinates
from phistar.sim.integrators import METHODS


@dataclass(frozen=True, eq=False)
class SampledMotions:
    """Rollouts of a problem's robot under given controls, with their running cost."""

    problem: Problem

    @cached_property
    def memory(self) -> Memory:
        problem = self.problem
        gains = problem.running_kernel.rows[-1]
        return Memory(problem.model.nq + 1, problem.model.nv, gains=gains, row=problem.controls, noted=1)

    @cached_property
    def trials(self) -> Trials:
        """The robot's step as instructions."""
        found = self.problem.trials
        if not isinstance(found, Trials):
            raise PhistarError(
                "Path-integral control samples motions of a robot inside one kernel, where a plant's steps are not: "
                "give the problem the robot's model, or take ModelPredictiveControl."
            )
        return found

    @cached_property
    def parameters(self) -> np.ndarray:
        """Targets and weights (p,), the same at every knot."""
        kernel = self.problem.running_kernel
        if any(cost.target.ndim > 1 for cost in kernel.costs):
            raise PhistarError("Sampled motions take costs whose targets are the same at every knot.")
        weights = sum(kernel.sizes)
        made = kernel.parameters(1)[0]
        made[len(made) - weights :] *= self.problem.h[0]
        return made

    def _control(self, x: Any, gains: Any, row: Any) -> dict[str, Any]:
        q, _, v = self.trials.split(x)
        u = traced(row)
        cost = self.problem.running_kernel.record(q, v, u, traced(gains))
        return {"u": np.matmul(self.problem.actuation, u), "noted": cost}

    def _finish(self, s: Any, noted: Any) -> dict[str, Any]:
        q, cost, v = self.trials.split(s)
        place = Coordinates(self.problem.model).unit(np.asarray(q))
        return dict.fromkeys(("x", "y", "s"), np.concatenate([place, cost + noted, v]))

    def _loop(self) -> TimeLoop:
        memory = self.memory
        stage = record(memory, self.trials.stage, ("x", "y", "s", "u", "clock"))
        finish = record(memory, self._finish, ("s", "noted"))
        control = record(memory, self._control, ("x", "gains", "row"))
        return TimeLoop(memory, stage, finish, control, METHODS["euler"].weights)

    @cached_property
    def _kernel(self) -> Callable[..., Any]:
        target, problem = host(), self.problem
        about = problem.model.key, problem.actuation.tobytes(), problem.passive
        made_from = (*about, problem.running_kernel.trace, target.lanes)

        def source() -> Source:
            loop = self._loop()
            return Source(loop.text(target.lanes, target.fma), {"operations": loop.operations})

        _, code = machine_code("sampled motions", made_from, target, source)
        signature: Any = TimeSignature(self.memory, True)
        return gufunc(code, signature, "motions", f"sampled motions of {problem.model.name}, compiled.")

    def run(self, q0: np.ndarray, v0: np.ndarray, u: np.ndarray) -> Motions:
        """The motions under controls (s, N, nu), with their whole cost (s,)."""
        problem, nq = self.problem, self.problem.model.nq
        start, times = np.zeros(self.memory.nq), problem.times
        start[:nq] = q0
        arrays = (start, v0, times, u.reshape(len(u), -1), self.parameters)
        shapes = [(len(times), self.memory.nq), (len(times), problem.model.nv)]
        q, v = spread(self._kernel, arrays, shapes)
        return Motions(q[..., :nq], v, u, q[:, -1, nq] + self._terminal_cost(q[:, -1, :nq], v[:, -1]))

    def costs(
        self, q0: np.ndarray, v0: np.ndarray, mean: np.ndarray, root: np.ndarray, noise: np.ndarray
    ) -> np.ndarray:
        """The whole cost (items, 2 · GROUP) of motions under controls mean ± root · noise between their bounds; noise
        (items, N · nu · GROUP)."""
        problem, diagonal = self.problem, np.array_equal(root, np.diag(np.diag(root)))
        start = np.concatenate([q0, [0.0], v0])
        factors = np.diag(root) if diagonal else root[np.tril_indices(len(root))]
        terminal = problem.terminal_kernel.parameters(1)[0]
        given = np.concatenate([self.parameters, terminal, problem.low, problem.high, factors])
        kernel = self._diagonal_kernel if diagonal else self._correlated_kernel
        return spread(kernel, (start, problem.times, mean.reshape(-1), noise, given), [(2 * GROUP,)])

    @cached_property
    def _diagonal_kernel(self) -> Callable[..., Any]:
        return self._noisy_kernel(diagonal=True)

    @cached_property
    def _correlated_kernel(self) -> Callable[..., Any]:
        return self._noisy_kernel(diagonal=False)

    def _noisy_kernel(self, diagonal: bool) -> Callable[..., Any]:
        """(first state, times, mean controls, noise, parameters) → costs."""
        target, problem = host(), self.problem
        about = problem.model.key, problem.actuation.tobytes(), problem.passive, problem.is_bounded
        traces = problem.running_kernel.trace, problem.terminal_kernel.trace

        def source() -> Source:
            loop = self._noisy_loop(diagonal)
            return Source(loop.text(target.lanes, target.fma), {"operations": loop.operations})

        _, code = machine_code("noisy motions", (*about, *traces, diagonal, target.lanes), target, source)
        signature: Any = NoisySignature()
        return gufunc(code, signature, "noisy", f"costs of noisy motions of {problem.model.name}, compiled.")

    def _noisy_loop(self, diagonal: bool) -> NoisyLoop:
        problem, trials = self.problem, self.trials
        nu, p = problem.controls, problem.running_kernel.rows[-1]
        rows, columns = np.diag_indices(nu) if diagonal else np.tril_indices(nu)
        sizes = [p, problem.terminal_kernel.rows[-1], nu, nu, len(rows)]
        edges = np.cumsum(sizes)[:-1]
        memory = Memory(self.memory.nq, self.memory.nv, gains=sum(sizes), row=2 * nu + 1, noted=1)

        def control(x: Any, gains: Any, row: Any) -> dict[str, Any]:
            running, _, low, high, factors = (traced(part) for part in np.split(np.asarray(gains), edges))
            z, mean, sign = (traced(part) for part in np.split(np.asarray(row), (nu, 2 * nu)))
            root = np.zeros((nu, nu), dtype=object)
            root[rows, columns] = np.asarray(factors)
            u = mean + sign * np.matmul(traced(root), z)
            if problem.is_bounded:
                u = np.minimum(np.maximum(u, low), high)
            q, _, v = trials.split(x)
            cost = problem.running_kernel.record(q, v, u, running)
            return {"u": np.matmul(problem.actuation, u), "noted": cost}

        def end(x: Any, gains: Any) -> dict[str, Any]:
            q, cost, v = trials.split(x)
            terminal = np.split(np.asarray(gains), edges)[1]
            still = traced(np.zeros(nu))
            return {"noted": cost + problem.terminal_kernel.record(q, v, still, traced(terminal))}

        stage = record(memory, trials.stage, ("x", "y", "s", "u", "clock"))
        finish = record(memory, self._finish, ("s", "noted"))
        acting = record(memory, control, ("x", "gains", "row"))
        loop = TimeLoop(memory, stage, finish, acting, METHODS["euler"].weights)
        return NoisyLoop(loop, record(memory, end, ("x", "gains")), nu)

    def _terminal_cost(self, q: np.ndarray, v: np.ndarray) -> np.ndarray | float:
        if not self.problem.terminal_kernel.costs:
            return 0.0
        given = np.zeros(self.problem.controls), self.problem.terminal_kernel.parameters(1)[0]
        return self.problem.terminal_kernel.value(q, v, *given)[..., 0]


LOUDEST = 1e100  # a deviation whose square is a number


class Believed(NamedTuple):
    """Controls (N, nu) and the covariance (nu, nu) of their noise, when they begin, s, and the rounds so far."""

    u: Array
    covariance: Array
    t: float
    count: int


@short_repr
class SampledPlan(NamedTuple):
    """Controls `u` (N, nu), the `covariance` (nu, nu) of their noise, the `cost` of the best sample, and `effective`,
    1/Σw², how many samples count."""

    u: Array
    covariance: Array
    cost: float
    effective: float


@final
@short_repr
@dataclass(frozen=True, eq=False)
class PathIntegral:
    """A sampled controller that averages thousands of noisy rollouts, weighted by their cost (path-integral control).

    Needs no derivatives: costs may be of any shape. The period is the problem's step.

    Parameters
    ----------
    problem : Problem
        What it costs; bounds on controls are kept, constraints are refused.
    noise : float, (nu,) or (nu, nu)
        Standard deviations of the controls' noise, or its covariance. It is normal, independent from step to step.
    samples : int
        Rollouts in a round; half of them mirror the others.
    temperature : float
        λ, as a part of the mean cost above the least.
    rounds : int
        How often in a sample.
    adapt : float
        How much of the samples' own weighted covariance goes into that of the next: 0 keeps it.
    seed : int

    Examples
    --------
    >>> arm, o = ps.planar_chain(2), ps.optimize
    >>> costs = [o.control(1e-3), o.joint_position([0.5, 0.0], 10.0)]
    >>> task = o.problem(arm, [0.1, 0.2], dt=0.02, steps=20, running=costs)
    >>> plan = ps.control.PathIntegral(task, noise=2.0, samples=256).plan([0.1, 0.2], [0, 0])
    >>> plan.u.shape
    (20, 2)
    """

    problem: Problem
    noise: Any
    samples: int = 1024
    temperature: float = 0.1
    rounds: int = 1
    adapt: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        step_length(self.problem)
        assert self.motions.trials and self._covariance is not None  # which say what is wrong with them
        if self.problem.constraints or self.problem.terminal_constraints:
            raise PhistarError("Sampled motions keep bounds on controls, no constraints; make costs of them.")
        if self.samples < 2 or self.rounds < 1 or not self.temperature > 0.0 or not 0.0 <= self.adapt <= 1.0:
            raise PhistarError(
                "Path-integral control needs two samples, a round, a positive temperature, 0 ≤ adapt ≤ 1."
            )

    @property
    def period(self) -> float:
        return step_length(self.problem)

    @cached_property
    def motions(self) -> SampledMotions:
        return SampledMotions(self.problem)

    @cached_property
    def _covariance(self) -> np.ndarray:
        noise, nu = np.asarray(self.noise, dtype=float), self.problem.controls
        if noise.shape == (nu, nu) and nu > 1:
            good = np.isfinite(noise).all() and np.allclose(noise, noise.T) and np.linalg.eigvalsh(noise)[0] > 0.0
        else:
            good = noise.shape in ((), (nu,), (1, 1)) and bool(((noise > 0.0) & (noise < LOUDEST)).all())
        if not good:
            raise ShapeError(f"noise must be positive: one number, {nu} of them, or a covariance ({nu}, {nu}).")
        if noise.ndim == 2:
            return noise
        return np.diag(np.broadcast_to(noise, (nu,)) ** 2)

    def start(self) -> None:
        """No belief yet."""

    def command(self, memory: Believed | None, t: float, sensed: Mapping[str, Any]) -> tuple[Believed, Command]:
        """The belief from the sensed q and v on, and its first joint forces."""
        u, covariance, count = None, self._covariance, 0
        if memory is not None:
            steps = min(max(round((t - memory.t) / self.period), 0), self.problem.steps - 1)
            u = np.concatenate([memory.u[steps:], np.repeat(memory.u[-1:], steps, axis=0)])
            covariance, count = memory.covariance, memory.count
        made = self._plan(sensed["q"], sensed["v"], u, covariance, count)
        facts = {"cost": made.cost, "effective": made.effective}
        tau = self.problem.actuation @ made.u[0]
        return Believed(made.u, made.covariance, t, count + self.rounds), Command(tau, "sampling", facts=facts)

    def plan(self, q: Any, v: Any, u: Any = None) -> SampledPlan:
        """Controls from a state on, by `rounds` rounds of samples.

        Parameters
        ----------
        q, v : (nq,), (nv,)
        u : (N, nu), optional
            Controls to begin with, by default what holds the robot still.

        Returns
        -------
        SampledPlan
        """
        return self._plan(q, v, u, self._covariance, 0)

    @cached_property
    def _pool(self) -> NoisePool:
        problem = self.problem
        return NoisePool(self.samples, problem.steps, problem.low, problem.high, self.seed)

    def _plan(self, q: Any, v: Any, u: Any, covariance: np.ndarray, count: int) -> SampledPlan:
        problem = self.problem.starting_from(q, v)
        controls, cost, effective = problem.guess(u=u)[2], np.inf, 0.0
        for number in range(count, count + self.rounds):
            root = np.linalg.cholesky(covariance)
            with np.errstate(all="ignore"):
                found = self.motions.costs(problem.q0, problem.v0, controls, root, self._pool.noise(number))
            costs = self._pool.count(found)
            finite = np.isfinite(costs)
            if not finite.any():
                raise PhistarError("Every sampled motion diverges; take less noise or shorter steps.")
            cost = float(costs[finite].min())
            above = np.where(finite, costs - cost, np.inf)
            weights = np.exp(-above / max(self.temperature * float(above[finite].mean()), 1e-300))
            weights /= weights.sum()
            fresh = self._pool.average(controls, root, weights)
            if self.adapt:
                away = self._pool.controls(controls, root, number) - fresh
                spread = np.einsum("gl,glti,gltj->ij", weights, away, away, optimize=True) / problem.steps
                covariance = (1.0 - self.adapt) * covariance + self.adapt * spread
            controls, effective = fresh, float(1.0 / np.sum(weights**2))
        return SampledPlan(controls, covariance, cost, effective)
