"""Searches for joint coordinates that meet poses, many at once: Levenberg and Marquardt's method, each with its own
damping, starts and end.

One kernel call evaluates all poses that are still worked on: where the frame is, what it misses, and the next step. A
search that ends far from its target begins anew at a random place at once, while the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.traces.solve import solve_symmetric
from phistar.compiled import compile
from phistar.control.reach import Stop
from phistar.dynamics import forward_kinematics, jacobian
from phistar.model import Model
from phistar.spatial import axial, rotations, transposed
from phistar.stated import states

LOCKED = 1e12  # weight of a joint that must not move, next to which J*J is nothing
LEAST_DAMPING, MOST_DAMPING = 1e-12, 1e8
AT_LIMIT = 1e-12  # rad or m
FLAT = 1e-10  # of the error: a slope below which no joint brings the frame nearer
NEARLY = 1e-12  # of 1 + tr R: nearer to a half turn its axis has no digits
PLACES, GROUP, ARM = 6400, 128, 0.5  # random places, of which as many are looked at for a start; m that are a radian
PATIENCE, SLOW = 8, 0.5  # a search whose squared error is not halved in so many steps gives way to another start


@states(lambda s: (s.J.T @ s.U_task @ s.J + s.R).inv @ s.J.T @ s.U_task @ s.u)
def damped_rates(model: Model, q: Any, twist: Any, weights: Any, frame: str) -> Array:
    """(J*J + R)⁻¹J*β, (…, nv): the rates that come nearest to a twist β (…, 6) at the price θ̇*Rθ̇, R = diag weights."""
    return damped_rates.evaluate(model, q, {"u": twist, "R": weights}, frames=(frame,))


def pose_gap(pose: np.ndarray, target: np.ndarray) -> Array:
    """[rotation vector; position] from a pose to a target, world axes, (…, 6)."""
    turn = np.matmul(target[..., :3, :3], transposed(pose[..., :3, :3]))
    return np.concatenate([rotations.log(turn), target[..., :3, 3] - pose[..., :3, 3]], axis=-1)


def position_rates(J: Any, e: Any, weights: Any) -> Any:
    """(J*J + R)⁻¹J*e = R⁻¹J*(JR⁻¹J* + I)⁻¹e, (nv,), of the three rows J (3, nv) of a frame's origin: the step where
    attitude is free."""
    lightened = J / weights
    return np.matmul(np.swapaxes(lightened, 0, 1), solve_symmetric(np.matmul(lightened, J.T) + np.eye(3), e[:, None]))[
        :, 0
    ]


@lru_cache(maxsize=16)
def _step_kernel(model: Model, frame: str, turns: bool) -> Callable[..., dict[str, np.ndarray]]:
    """(q (…, nq), target (…, 12), damping (…, 1)) → `error` (…, 6), [2 sin(θ/2) n; position], `rates` (…, nv) of the
    next step, `slope` (…, 1), |J*e|² of the joints that may move, and `held` (…, nv), 1 where a limit holds a joint and
    for every mode. Where attitude does not count, without `turns`, its errors are zero."""
    flat, modal, place = _rates(model)
    lower, upper = model.lower_limits[place], model.upper_limits[place]

    def step(q: Any, target: Any, damping: Any) -> dict[str, Any]:
        pose, J = forward_kinematics(model, q, frame), jacobian(model, q, frame)
        turn = np.matmul(target[:9].reshape(3, 3), np.swapaxes(pose[:3, :3], 0, 1))
        trace = turn[:1, 0] + turn[1:2, 1] + turn[2:, 2] + 1.0
        angles, away = axial(turn) / np.sqrt(np.maximum(trace, NEARLY)), target[9:] - pose[:3, 3]
        error = np.concatenate([angles if turns else 0.0 * away, away])
        slope = np.matmul(np.swapaxes(J, 0, 1), error)
        downward, held = 0.5 - 0.5 * np.sign(slope), []
        for i in range(model.nv):
            locked: Any = 0.0 * slope[i : i + 1] + modal[i]
            if flat[i] and np.isfinite(lower[i]):
                low = 0.5 - 0.5 * np.sign(q[place[i] : place[i] + 1] - (lower[i] + AT_LIMIT))
                locked = locked + low * downward[i : i + 1]
            if flat[i] and np.isfinite(upper[i]):
                high = 0.5 + 0.5 * np.sign(q[place[i] : place[i] + 1] - (upper[i] - AT_LIMIT))
                locked = locked + high * (1.0 - downward[i : i + 1])
            held.append(locked)
        stops = np.concatenate(held)
        price = np.maximum(damping * (0.5 * np.sum(error * error, keepdims=True)), LEAST_DAMPING)
        weights = price + LOCKED * stops
        rates = damped_rates(model, q, error, weights, frame) if turns else position_rates(J[3:], away, weights)
        free = slope * (1.0 - stops)
        return {
            "error": error,
            "rates": (1.0 - modal) * rates,
            "slope": np.sum(free * free, keepdims=True),
            "held": stops,
        }

    return compile(step, model, rows={"target": 12, "damping": 1})


def _rates(model: Model) -> tuple[list[bool], np.ndarray, list[int]]:
    """Rate by rate: whether it has a coordinate of its own, 1 for modes or 0 for joints, and its index."""
    entries = [(body.joint, i) for body in model.bodies for i in range(len(body.rates))]
    order = range(model.nv) if model.embedding is None else model.embedding.independent
    found = [entries[rate] if rate >= 0 else None for rate in order]  # None: a combination, which nothing limits
    flat = [own is not None and own[0].kind.flat and own[1] < own[0].nv for own in found]
    modal = np.array([float(own is not None and own[1] >= own[0].nv) for own in found])
    return flat, modal, [0 if own is None else own[0].q_slice.start + own[1] for own in found]


@lru_cache(maxsize=16)
def _places(model: Model, frame: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random coordinates (p, nq), nothing bent, and the poses that they bring the frame to, as rows (p, 12) of
    `_row`."""
    q = model.random(np.random.default_rng(seed), (PLACES,))
    q[:, _modal(model)] = 0.0
    return q, _row(forward_kinematics(model, q, frame))


def _modal(model: Model) -> list[int]:
    """Indices of the modal coordinates in q."""
    return [i for body in model.bodies for i in range(body.mode_q_slice.start, body.mode_q_slice.stop)]


def _row(poses: np.ndarray) -> np.ndarray:
    """[R; x/ARM] (n, 12): half the squared distance of two rows is |2 sin(θ/2)|² + ½|x|²/ARM²."""
    return np.concatenate([poses[:, :3, :3].reshape(-1, 9), poses[:, :3, 3] / ARM], axis=-1)


@dataclass(eq=False)
class PoseSearch:
    """Targets (n, 4, 4) of a frame, whether their attitudes count (`turns`), and when a search ends."""

    model: Model
    frame: str
    poses: np.ndarray
    turns: bool
    tolerance: float
    iterations: int
    seed: int

    def __post_init__(self) -> None:
        turn = np.nan_to_num(self.poses[:, :3, :3]).reshape(-1, 9)
        self.rows = np.concatenate([turn, np.nan_to_num(self.poses[:, :3, 3])], axis=-1)
        self.kernel = _step_kernel(self.model, self.frame, self.turns)
        self.modal = _modal(self.model)
        self.bent = np.zeros((len(self.poses), len(self.modal)))

    def bend(self, first: np.ndarray) -> None:
        """Let bodies stay bent as they are at configurations (n, nq), one a target."""
        self.bent = first[:, self.modal]

    def near(self, rows: np.ndarray, tries: np.ndarray) -> np.ndarray:
        """The random places (n, nq) that bring the frame nearest to some targets, each time of others."""
        q, places = _places(self.model, self.frame, self.seed)
        counted = slice(None) if self.turns else slice(9, None)
        groups = places.reshape(-1, GROUP, 12)[..., counted]
        chosen, found = tries % len(groups), np.empty(len(rows), int)
        poses = _row(np.nan_to_num(self.poses[rows]))[:, counted]
        for number in np.unique(chosen).tolist():
            own, group = chosen == number, groups[number]
            apart = 0.5 * np.sum(group**2, axis=-1) - poses[own] @ group.T
            found[own] = number * GROUP + np.argmin(apart, axis=-1)
        begun = q[found]
        begun[:, self.modal] = self.bent[rows]
        return begun

    def run(self, first: np.ndarray, good: np.ndarray, starts: int) -> Stop:
        """The ends of the searches from `first` (n, nq) of the `good` targets (n,): the nearest of up to `starts`."""
        result, at = Stop.of(first, self.model.nv), _Searches(self, np.flatnonzero(good), first)
        while len(at.rows):
            over, met = at.endings(starts)
            result.take(at, over, met)
            again = over & ~met & (at.tries < starts)
            at.restart(again)
            at.keep(again | ~over)
            if len(at.rows):
                at.advance()
        exact = pose_gap(forward_kinematics(self.model, result.q, self.frame), self.poses)
        exact[:, :3] *= self.turns
        result.error[good], result.done = exact[good], result.done & self.is_met(exact)
        return result

    def is_met(self, error: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.all(np.sum(error.reshape(-1, 2, 3) ** 2, axis=-1) <= self.tolerance**2, axis=-1)


class _Searches:
    """The searches that go on: a row of each array is one, `rows` says of which target."""

    def __init__(self, search: PoseSearch, rows: np.ndarray, first: np.ndarray) -> None:
        self.search, self.rows, self.q = search, rows, first[rows]
        count = len(rows)
        self.damping, self.age, self.tries = np.ones(count), np.zeros(count, int), np.ones(count, int)
        self.fresh, self.before = np.zeros(count, bool), np.full(count, np.inf)
        self.error, self.rates, self.slope, self.held = self._evaluate(self.q, np.arange(count), self.damping)

    def _evaluate(self, q: np.ndarray, which: np.ndarray, damping: np.ndarray) -> tuple[np.ndarray, ...]:
        made = self.search.kernel(q, self.search.rows[self.rows[which]], damping[:, None])
        return made["error"], made["rates"], made["slope"][:, 0], made["held"] > 0.5

    def endings(self, starts: int) -> tuple[np.ndarray, np.ndarray]:
        """Searches that are over, and those among them that met their target."""
        size = np.sum(self.error**2, axis=-1)
        met = self.search.is_met(self.error)
        self.flat = (self.slope <= FLAT**2 * size) | (self.damping > MOST_DAMPING)
        due = (self.age > 0) & (self.age % PATIENCE == 0) & ~self.fresh
        slow = due & (size > SLOW * self.before) & (self.tries < starts)
        self.before = np.where(due, size, self.before)
        over = ~self.fresh & (met | self.flat | slow | (self.age >= self.search.iterations))
        return over, met & over

    def restart(self, which: np.ndarray) -> None:
        """Begin some of them anew at other places, which the next `advance` evaluates."""
        if which.any():
            self.q[which] = self.search.near(self.rows[which], self.tries[which])
            self.damping[which], self.age[which], self.before[which] = 1.0, 0, np.inf
            self.fresh[which] = True
            self.tries[which] += 1

    def keep(self, which: np.ndarray) -> None:
        """Leave out the others."""
        if not which.all():
            for name in ("rows", "q", "damping", "age", "tries", "fresh", "before", "error", "rates", "slope", "held"):
                setattr(self, name, getattr(self, name)[which])

    def advance(self) -> None:
        """One step of each, kept only where the error falls."""
        model = self.search.model
        trial = np.clip(model.integrate(self.q, self.rates), model.lower_limits, model.upper_limits)
        trial[self.fresh] = self.q[self.fresh]
        damping = np.where(self.fresh, 1.0, np.maximum(0.2 * self.damping, 1e-6))
        error, rates, slope, held = self._evaluate(trial, np.arange(len(trial)), damping)
        nearer = self.fresh | (np.sum(error**2, axis=-1) < np.sum(self.error**2, axis=-1))
        self.age += ~self.fresh
        self.fresh[:] = False
        for name, made in (("q", trial), ("error", error), ("rates", rates), ("slope", slope), ("held", held)):
            getattr(self, name)[nearer] = made[nearer]
        self.damping = np.where(nearer, damping, 10.0 * self.damping)
        back = np.flatnonzero(~nearer)
        if len(back):
            self.rates[back] = self._evaluate(self.q[back], back, self.damping[back])[1]
