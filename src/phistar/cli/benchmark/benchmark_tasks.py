"""Benchmark tasks: public functions on a batch of states, each called as a user calls it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import phistar as ps
from phistar.backends.choice import TRACED
from phistar.model import Model

FORWARD, INVERSE = "forward_dynamics", "inverse_dynamics"
MASS, MASS_INVERSE = "mass_matrix", "mass_matrix_inverse"
DERIVATIVES, TASK_SPACE, ROLLOUT = "forward_dynamics_derivatives", "operational_space", "rollout"
FUNCTIONS = (FORWARD, INVERSE, MASS, MASS_INVERSE, DERIVATIVES, TASK_SPACE, ROLLOUT)

NUMBERS_AT_ONCE = 2**16  # doubles read and written by one call: half a megabyte, which a core's own cache holds
JOINTS_AT_ONCE = 40_000  # states times degrees of freedom (times steps) in one call: a millisecond or less
LARGEST_BATCH, SMALLEST_BATCH = 4096, 8
STEPS, STEP = 32, 1e-3  # of a rollout
TASK_DIMENSIONS = 6
LARGEST_TABLE = 100  # links of which pairs are measured


@dataclass(frozen=True, eq=False)
class States:
    """A batch: q (B, nq); v, tau (B, nv); for rollouts also controls (B, STEPS, nv)."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    controls: np.ndarray | None = None

    @property
    def count(self) -> int:
        return len(self.q)

    def __getitem__(self, rows: slice) -> States:
        controls = None if self.controls is None else self.controls[rows]
        return States(self.q[rows], self.v[rows], self.tau[rows], controls)


def present(function: str) -> bool:
    """Whether this phistar has the function."""
    return hasattr(ps, function)


def applies(function: str, model: Model) -> bool:
    """Whether a task suits the robot: matrices of long chains, or the task space of a pendulum, are not."""
    if function in (FORWARD, INVERSE):
        return True
    if len(model.bodies) > TRACED:
        return function in (MASS, MASS_INVERSE, DERIVATIVES) and len(model.bodies) <= LARGEST_TABLE
    return function != TASK_SPACE or model.nv >= TASK_DIMENSIONS


def states_for(function: str, model: Model, rng: np.random.Generator) -> States:
    """Random states, as many as keep one call within NUMBERS_AT_ONCE and JOINTS_AT_ONCE."""
    n = model.nv
    results = {MASS: n**2, MASS_INVERSE: n**2, DERIVATIVES: 3 * n**2, TASK_SPACE: 48, ROLLOUT: 3 * STEPS * n}
    numbers = model.nq + 2 * n + results.get(function, n)
    fitting = min(NUMBERS_AT_ONCE // numbers, JOINTS_AT_ONCE // (n * (STEPS if function == ROLLOUT else 1)))
    batch = min(max(fitting // SMALLEST_BATCH * SMALLEST_BATCH, SMALLEST_BATCH), LARGEST_BATCH)
    return random_states(model, batch, rng, rollout=function == ROLLOUT)


def random_states(model: Model, batch: int, rng: np.random.Generator, rollout: bool = False) -> States:
    q, v, tau = model.random(rng, (batch,)), rng.standard_normal((batch, model.nv)), rng.standard_normal
    controls = tau((batch, STEPS, model.nv)) if rollout else None
    return States(q, v, tau((batch, model.nv)), controls)


def frame_of(model: Model) -> str:
    """The last frame on the last body."""
    last = len(model.bodies) - 1
    return [name for name, frame in model.frames.items() if frame.body == last][-1]


def ours(function: str, model: Model, states: States) -> Callable[[], Any]:
    """The call that is timed: the public function on all states."""
    call, q, v, tau = getattr(ps, function), states.q, states.v, states.tau
    if function in (FORWARD, INVERSE, DERIVATIVES):
        return lambda: call(model, q, v, tau)
    if function in (MASS, MASS_INVERSE):
        return lambda: call(model, q)
    if function == TASK_SPACE:
        frame = frame_of(model)
        return lambda: call(model, q, v, frame)
    return lambda: call(model, q, v, states.controls, STEP, method="euler")


def evaluations(function: str, states: States) -> int:
    """Number of states in one call; in a rollout every step is one."""
    return states.count * (STEPS if function == ROLLOUT else 1)


def values(function: str, result: Any) -> np.ndarray:
    """A result as one array (B, …), to be compared with a peer's."""
    if function == DERIVATIVES:
        return np.concatenate([result.dq, result.dv, result.dtau], axis=-1)
    if function == TASK_SPACE:
        return result.inertia
    if function == ROLLOUT:
        return np.concatenate([result.q[..., -1, :], result.v[..., -1, :]], axis=-1)
    return np.asarray(result)
