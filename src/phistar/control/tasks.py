"""Tasks and limits as one small quadratic program: tasks add (H, c), limits add (G, h), one solve.

    least ½v*Hv + c*v  with  Gv ≤ h          H = ΣJ*WJ + damping,  c = −ΣJ*W (gain e/dt)

for rates v that take away each task's error e in about dt/gain. The shape is mink's `solve_ik`; the solver is DAQP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.control.pose_search import pose_gap
from phistar.control.reach import checked_targets, target_array
from phistar.dynamics import center_of_mass, center_of_mass_jacobian, forward_kinematics, jacobian
from phistar.errors import InfeasibleError, ShapeError
from phistar.loops.feasible_rates import EMPTY, closure_jacobian
from phistar.loops.least_quadratic import least_quadratic
from phistar.loops.residual import loop_residual
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr
from phistar.spatial import skew

LONGEST = 0.5  # rad or m, that a joint may move at once; half as far wherever the way turns back
WISH = 0.01  # of the greatest weight: what is less is only wished for


class Task(ABC):
    """Objective for rates: `rows(model, q)` gives an error e (m,) and the J (m, nv) by which rates reduce it.

    Examples
    --------
    >>> class Height(ps.control.Task):  # the tip at a height, whatever else it does
    ...     weight, gain = 1.0, 1.0
    ...     def rows(self, model, q):
    ...         pose, J = ps.forward_kinematics(model, q, "tip"), ps.jacobian(model, q, "tip")
    ...         return np.array([0.7]) - pose[1:2, 3], J[4:5]
    >>> arm = ps.planar_chain(2)
    >>> found = ps.control.solve_tasks(arm, [Height()], [0.2, 0.3])
    >>> float(ps.forward_kinematics(arm, found.q, "tip")[1, 3].round(6))
    0.7
    """

    weight: Any
    gain: float

    @abstractmethod
    def rows(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """e and J."""


@final
@dataclass(frozen=True, eq=False)
class FrameTask(Task):
    """A frame at a pose (4, 4), or its origin alone at a place (3,).

    Of a pose's weights (6,), angular part first, zeros leave a direction free.

    Examples
    --------
    >>> ps.control.FrameTask("tool", (0.4, 0.1, 0.3)).gain
    1.0
    """

    frame: str
    pose: Any
    weight: Any = 1.0
    gain: float = 1.0

    def rows(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        target, pose, J = self._target, forward_kinematics(model, q, self.frame), jacobian(model, q, self.frame)
        return (target - pose[:3, 3], J[3:]) if target.ndim == 1 else (pose_gap(pose, target), J)

    @cached_property
    def _target(self) -> np.ndarray:
        what = f"The target of {self.frame}"
        target = target_array(self.pose, "a pose (4, 4) or a place (3,)")
        if target.shape not in ((4, 4), (3,)) or not np.isfinite(target).all():
            raise ShapeError(f"{what} has shape {target.shape}; it must be a finite pose (4, 4) or place (3,).")
        return target if target.ndim == 1 else checked_targets(target)[0]


@final
@dataclass(frozen=True, eq=False)
class LookAtTask(Task):
    """An axis of a frame, given in the frame, points at a place (3,).

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> look = ps.control.LookAtTask("tool", (1.0, 0.5, 0.2))
    >>> ps.control.solve_tasks(arm, [look], [0.1, 0.4, -0.3, 0.2, 0.5, 0.0]).success
    True
    """

    frame: str
    point: Any
    axis: Any = (0.0, 0.0, 1.0)
    weight: Any = 1.0
    gain: float = 1.0

    def rows(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pose, J = forward_kinematics(model, q, self.frame), jacobian(model, q, self.frame)
        line = _place(f"What {self.frame} looks at", self.point) - pose[:3, 3]
        distance = float(np.linalg.norm(line))
        if distance < 1e-9:
            raise InfeasibleError(f"{self.frame} stands where it should look at.")
        wanted, own = line / distance, pose[:3, :3] @ np.asarray(self.axis, dtype=float)
        across = np.eye(3) - np.outer(wanted, wanted)
        return wanted - own, -skew(own) @ J[:3] + across @ J[3:] / distance  # d(own − wanted)


@final
@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """The joints at q (nq,): a posture in the freedom that the other tasks leave, as its weight is small; it disturbs
    them by about that weight.

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> error, J = ps.control.PostureTask([0.5, 0.5]).rows(arm, np.array([0.5, 0.2]))
    >>> error
    array([0. , 0.3])
    """

    q: Any
    weight: Any = 1e-8
    gain: float = 1.0

    def rows(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return model.difference(q, model.checked_q(self.q)), np.eye(model.nv)


@final
@dataclass(frozen=True, eq=False)
class CenterOfMassTask(Task):
    """The centre of mass at a place (3,).

    Examples
    --------
    >>> legs = ps.planar_chain(3)
    >>> ps.control.solve_tasks(legs, [ps.control.CenterOfMassTask((0.4, 0.6, 0.0))], [0.5, 0.5, 0.5]).success
    True
    """

    position: Any
    weight: Any = 1.0
    gain: float = 1.0

    def rows(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted = _place("The centre of mass's place", self.position)
        return wanted - center_of_mass(model, q), center_of_mass_jacobian(model, q)


def _place(what: str, given: Any) -> np.ndarray:
    place = np.asarray(given, dtype=float)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ShapeError(f"{what} must be a place (3,), finite; it was given {given!r:.60}.")
    return place


def _weights(task: Task, error: np.ndarray) -> np.ndarray:
    """The weights of a task's errors (m,), which must be one number or m of them, none negative."""
    weight = np.asarray(task.weight, dtype=float)
    if weight.shape not in ((), error.shape) or not (np.isfinite(weight) & (weight >= 0.0)).all():
        raise ShapeError(
            f"The weight of a {type(task).__name__} is one number or {len(error)} of them, finite and none negative; "
            f"it was given {task.weight!r:.60}."
        )
    return np.broadcast_to(weight, error.shape)


class Limit(ABC):
    """Constraint on rates: `rows(model, q, dt)` gives G (m, nv) and h (m,) of Gv ≤ h.

    Examples
    --------
    >>> class Slow(ps.control.Limit):  # no joint faster than 1 rad/s
    ...     def rows(self, model, q, dt):
    ...         return np.concatenate([np.eye(model.nv), -np.eye(model.nv)]), np.ones(2 * model.nv)
    >>> Slow().rows(ps.planar_chain(2), np.zeros(2), 0.01)[1].shape
    (4,)
    """

    @abstractmethod
    def rows(self, model: Model, q: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """G and h."""


@final
@dataclass(frozen=True, eq=False)
class JointLimits(Limit):
    """Joints within the model's limits after dt, and rates within theirs.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> G, h = ps.control.JointLimits().rows(arm, arm.upper_limits, dt=0.01)
    >>> h[: arm.nv].tolist()  # at their upper limits no joint may go further up
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    def rows(self, model: Model, q: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
        flat_q, flat_v, _ = model.flat
        high, low = model.velocity_limits.copy(), -model.velocity_limits
        high[flat_v] = np.minimum(high[flat_v], np.maximum(model.upper_limits[flat_q] - q[flat_q], 0.0) / dt)
        low[flat_v] = np.maximum(low[flat_v], np.minimum(model.lower_limits[flat_q] - q[flat_q], 0.0) / dt)
        unit = np.eye(model.nv)
        return np.concatenate([unit, -unit]), np.concatenate([high, -low])


@final
@dataclass(frozen=True, eq=False)
class SphereLimit(Limit):
    """A frame's origin outside a sphere, which it may approach but not enter.

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> G, h = ps.control.SphereLimit("tip", (1.0, 1.0, 0.0), 0.5).rows(arm, np.zeros(2), dt=0.1)
    >>> G.shape, h.shape
    ((1, 2), (1,))
    """

    frame: str
    center: Any
    radius: float

    def rows(self, model: Model, q: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
        away = forward_kinematics(model, q, self.frame)[:3, 3] - np.asarray(self.center, dtype=float)
        distance = max(float(np.linalg.norm(away)), 1e-9)
        normal = away / distance
        return -(normal @ jacobian(model, q, self.frame)[3:])[None], np.array([(distance - self.radius) / dt])


def task_rates(
    model: Model,
    q: Any,
    tasks: Sequence[Task],
    dt: float,
    *,
    limits: Sequence[Limit] = (JointLimits(),),
    damping: float = 1e-9,
) -> Array:
    """The joint rates that serve several tasks within limits, by one quadratic program.

    Of a model with loops they are those that keep the loops closed, or close them where they are open.

    Parameters
    ----------
    model : Model
    q : (nq,)
    tasks : sequence of Task
        `FrameTask`, `LookAtTask`, `PostureTask`, `CenterOfMassTask`, or your own.
    dt : float
        For how long the rates are held, s.
    limits : sequence of Limit
        `JointLimits` by default; `SphereLimit`, or your own.
    damping : float
        Weight of every rate.

    Returns
    -------
    (nv,)

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q = np.array([0.0, 0.5, -0.3, 0.0, 0.4, 0.0])
    >>> pose = ps.forward_kinematics(arm, q, "tool")
    >>> bool(np.abs(ps.control.task_rates(arm, q, [ps.control.FrameTask("tool", pose)], 0.01)).max() < 1e-9)
    True
    """
    check_robot("task_rates", (model,))
    place = model.checked_q(q)
    if place.ndim != 1 or not dt > 0.0 or not tasks:
        raise ShapeError(f"task_rates takes one state (nq,), a positive dt and at least one task; q is {place.shape}.")
    if not np.isfinite(place).all():
        raise ShapeError(f"q has numbers that are not finite; {model.name} stands nowhere.")
    if not 0.0 <= damping < np.inf:
        raise ShapeError(f"damping is the weight of every rate, not negative; it is {damping!r:.60}.")
    H, c = damping * np.eye(model.nv), np.zeros(model.nv)
    for task in tasks:
        error, J = task.rows(model, place)
        weighted = _weights(task, error)[:, None] * J
        H += J.T @ weighted
        c -= task.gain / dt * (weighted.T @ error)
    rows = [limit.rows(model, place, dt) for limit in limits]
    G = np.concatenate([np.zeros((0, model.nv)), *(x for x, _ in rows)])
    h = np.concatenate([np.zeros(0), *(x for _, x in rows)])
    kept = np.isfinite(h)
    closing, free = _feasible_rates(model, place, dt)
    slack = h[kept] - G[kept] @ closing
    found = least_quadratic(free.T @ H @ free, free.T @ (c + H @ closing), G[kept] @ free, slack)
    if found is None:
        raise InfeasibleError(f"No rates keep all limits: {_violations_of(limits, rows, dt)}.")
    return closing + free @ found


def _violations_of(limits: Sequence[Limit], rows: list[tuple[np.ndarray, np.ndarray]], dt: float) -> str:
    """The limits that the robot stands beyond, with how far."""
    return _limit_violations(limits, rows, dt, 0.0) or "loops that are open cannot close within them"


def _limit_violations(
    limits: Sequence[Limit], rows: list[tuple[np.ndarray, np.ndarray]], dt: float, allowed: float
) -> str:
    beyond = [(-dt * float(h.min(initial=0.0)), limit) for limit, (_, h) in zip(limits, rows, strict=True)]
    return ", ".join(f"{limit!r:.100} is passed by {far:.3g}" for far, limit in beyond if far > allowed)


def _feasible_rates(model: Model, q: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """The rates that close all loops in dt, zero where they are closed, and a basis (nv, n) of those that leave them
    as they are."""
    if not model.loops:
        return np.zeros(model.nv), np.eye(model.nv)
    left, sizes, right = np.linalg.svd(closure_jacobian(model, q))
    rank = int(np.sum(sizes > EMPTY * sizes.max(initial=0.0)))
    gap = left[:, :rank].T @ loop_residual(model, q)
    return -(right[:rank].T @ (gap / sizes[:rank])) / dt, right[rank:].T


@short_repr
class TaskSolution(NamedTuple):
    """q (nq,); whether every task is met within the limits (`success`), the weighted `error` that is left, and how many
    `iterations`; `reason` says which tasks are missed and which limits passed, and by how much."""

    q: Array
    success: bool
    error: float
    iterations: int
    reason: str


def solve_tasks(
    model: Model,
    tasks: Sequence[Task],
    start: Any = None,
    *,
    limits: Sequence[Limit] = (JointLimits(),),
    tolerance: float = 1e-6,
    iterations: int = 300,
) -> TaskSolution:
    """A configuration that meets several tasks within limits, by repeated `task_rates` from a start.

    Along a path, each solution is the next one's start, so that the motion is continuous. Where tasks contradict each
    other, what is nearest by their weights. A single frame's whole pose is found faster, and from many starts, by
    `inverse_kinematics`.

    Parameters
    ----------
    model : Model
    tasks, limits : as of `task_rates`
    start : (nq,), optional
        By default neutral.
    tolerance : float
        Of the tasks' weighted errors, √Σw e², and of open loops; weights below a hundredth of the greatest are wishes,
        whose errors do not count.
    iterations : int

    Returns
    -------
    TaskSolution

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> target = ps.forward_kinematics(arm, [0.3, 0.4, -0.2, 0.1, 0.5, 0.2], "tool")
    >>> found = ps.control.solve_tasks(arm, [ps.control.FrameTask("tool", target)], [0.0, 0.5, -0.3, 0.0, 0.4, 0.0])
    >>> found.success
    True
    """
    check_robot("solve_tasks", (model,))
    begin = model.neutral() if start is None else model.checked_q(start, "start")
    if begin.ndim != 1 or not tasks:
        raise ShapeError(f"solve_tasks takes one start (nq,) and at least one task; start is {begin.shape}.")
    q, left, count = np.clip(begin, model.lower_limits, model.upper_limits), np.inf, 0
    before_step, most = np.zeros(model.nv), LONGEST
    for count in range(iterations + 1):
        errors, before = _remaining_errors(model, tasks, q), left
        left = float(np.linalg.norm(list(errors.values())))
        met = left <= tolerance and not _limit_violations(
            limits, [limit.rows(model, q, 1.0) for limit in limits], 1.0, tolerance
        )
        if met or count == iterations or (count > 20 and abs(before - left) <= 1e-12 * left):
            break
        step = task_rates(model, q, tasks, 1.0, limits=limits, damping=1e-9 + 1e-4 * min(left, 1.0) ** 2)
        most = 0.5 * most if step @ before_step < 0.0 else min(2.0 * most, LONGEST)
        before_step = step * min(1.0, most / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        q = model.integrate(q, before_step)
    return TaskSolution(q, met, left, count, "reached" if met else _reason(model, errors, limits, q, tolerance))


def _reason(model: Model, errors: dict[str, float], limits: Sequence[Limit], q: np.ndarray, tolerance: float) -> str:
    """Which tasks are missed and which limits passed at the end, and by how much."""
    least = min(tolerance, max(errors.values()))
    missed = ", ".join(
        f"{name} is missed by {error:.3g}" for name, error in errors.items() if error >= least and error > 0.0
    )
    passed = _limit_violations(limits, [limit.rows(model, q, 1.0) for limit in limits], 1.0, tolerance)
    return "; ".join(text for text in (missed, passed) if text)


def _remaining_errors(model: Model, tasks: Sequence[Task], q: np.ndarray) -> dict[str, float]:
    """The weighted error of each task, and of open loops, by name."""
    errors = [task.rows(model, q)[0] for task in tasks]
    weights = [_weights(task, error) for task, error in zip(tasks, errors, strict=True)]
    least = WISH * max(float(weight.max(initial=0.0)) for weight in weights)
    if not least:
        raise ShapeError("All weights of the tasks are zero: nothing is asked for.")
    found = {}
    for number, (task, error, weight) in enumerate(zip(tasks, errors, weights, strict=True)):
        frame = getattr(task, "frame", "")
        name = f"task {number} ({type(task).__name__}{' of ' + frame if frame else ''})"
        found[name] = float(np.sqrt(np.sum(np.where(weight >= least, weight, 0.0) * error**2)))
    return found | ({"the closing of the loops": float(np.linalg.norm(loop_residual(model, q)))} if model.loops else {})
