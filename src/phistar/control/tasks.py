"""Tasks and limits as one small quadratic program: tasks add (H, c), limits add (G, h), one solve.

    least ½v*Hv + c*v  with  Gv ≤ h          H = ΣJ*WJ + damping,  c = −ΣJ*W (gain e/dt)

for rates v that take away each task's error e in about dt/gain. The shape is mink's `solve_ik`; the solver is DAQP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.control.pose_search import pose_gap
from phistar.dynamics import center_of_mass, center_of_mass_jacobian, forward_kinematics, jacobian
from phistar.errors import InfeasibleError, ShapeError
from phistar.loops.feasible_rates import EMPTY, closure_jacobian
from phistar.loops.least_quadratic import least_quadratic
from phistar.loops.residual import loop_residual
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr
from phistar.spatial import skew

FAR = 1e30  # what DAQP takes for no bound


class Task(ABC):
    """Objective for rates: `rows(model, q)` gives an error e (m,) and the J (m, nv) by which rates reduce it."""

    weight: Any
    gain: float

    @abstractmethod
    def rows(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """e and J."""


@final
@dataclass(frozen=True, eq=False)
class FrameTask(Task):
    """A frame at a pose (4, 4); of weights (6,), angular part first, zeros leave a direction free.

    Examples
    --------
    >>> ps.control.FrameTask("tool", np.eye(4), weight=(0, 0, 0, 1, 1, 1)).gain  # the position alone
    1.0
    """

    frame: str
    pose: Any
    weight: Any = 1.0
    gain: float = 1.0

    def rows(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        target = np.asarray(self.pose, dtype=float)
        if target.shape != (4, 4):
            raise ShapeError(f"The pose of {self.frame} has shape {target.shape}; it must be (4, 4).")
        return pose_gap(forward_kinematics(model, q, self.frame), target), jacobian(model, q, self.frame)


@final
@dataclass(frozen=True, eq=False)
class LookAtTask(Task):
    """An axis of a frame, given in the frame, points at a place (3,)."""

    frame: str
    point: Any
    axis: Any = (0.0, 0.0, 1.0)
    weight: Any = 1.0
    gain: float = 1.0

    def rows(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pose, J = forward_kinematics(model, q, self.frame), jacobian(model, q, self.frame)
        line = np.asarray(self.point, dtype=float) - pose[:3, 3]
        distance = float(np.linalg.norm(line))
        if distance < 1e-9:
            raise InfeasibleError(f"{self.frame} stands where it should look at.")
        wanted, own = line / distance, pose[:3, :3] @ np.asarray(self.axis, dtype=float)
        across = np.eye(3) - np.outer(wanted, wanted)
        return wanted - own, -skew(own) @ J[:3] + across @ J[3:] / distance  # d(own − wanted)


@final
@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """The joints at q (nq,); with a small weight, what a redundant robot does with the rest."""

    q: Any
    weight: Any = 1e-3
    gain: float = 1.0

    def rows(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return model.difference(q, model.checked_q(self.q)), np.eye(model.nv)


@final
@dataclass(frozen=True, eq=False)
class CenterOfMassTask(Task):
    """The centre of mass at a place (3,)."""

    position: Any
    weight: Any = 1.0
    gain: float = 1.0

    def rows(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.position, dtype=float) - center_of_mass(model, q), center_of_mass_jacobian(model, q)


class Limit(ABC):
    """Constraint on rates: `rows(model, q, dt)` gives G (m, nv) and h (m,) of Gv ≤ h."""

    @abstractmethod
    def rows(self, model: Model, q: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """G and h."""


@final
@dataclass(frozen=True, eq=False)
class JointLimits(Limit):
    """Joints within the model's limits after dt, and rates within theirs."""

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
    """A frame's origin outside a sphere: what is left of the distance is approached, not passed."""

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
    H, c = damping * np.eye(model.nv), np.zeros(model.nv)
    for task in tasks:
        error, J = task.rows(model, place)
        weighted = np.broadcast_to(np.asarray(task.weight, dtype=float), error.shape)[:, None] * J
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
        raise InfeasibleError("No rates keep all limits: the robot already stands beyond one of them.")
    return closing + free @ found


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
    """q (nq,); whether every task is met (`success`), the weighted `error` that is left, and how many `iterations`."""

    q: Array
    success: bool
    error: float
    iterations: int


def solve_tasks(
    model: Model,
    tasks: Sequence[Task],
    start: Any = None,
    *,
    limits: Sequence[Limit] = (JointLimits(),),
    tolerance: float = 1e-6,
    iterations: int = 300,
) -> TaskSolution:
    """A configuration that meets several tasks within limits: `task_rates` again and again, from a start.

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
        Of the tasks' weighted errors, √Σw e², of those with a weight of at least 0.1, and of open loops.
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
    q, left, count = np.clip(begin, model.lower_limits, model.upper_limits), np.inf, 0
    for count in range(iterations + 1):
        left, before = _remaining_error(model, tasks, q), left
        if left <= tolerance or count == iterations or (count > 20 and abs(before - left) <= 1e-12 * left):
            break
        step = task_rates(model, q, tasks, 1.0, limits=limits, damping=1e-9 + 1e-4 * min(left, 1.0) ** 2)
        longest = float(np.abs(step).max(initial=0.0))
        q = model.integrate(q, step * min(1.0, 0.5 / max(longest, 1e-300)))
    return TaskSolution(q, left <= tolerance, left, count)


def _remaining_error(model: Model, tasks: Sequence[Task], q: np.ndarray) -> float:
    total = float(np.sum(loop_residual(model, q) ** 2)) if model.loops else 0.0
    for task in tasks:
        error = task.rows(model, q)[0]
        weight = np.broadcast_to(np.asarray(task.weight, dtype=float), error.shape)
        total += float(np.sum(np.where(weight >= 0.1, weight, 0.0) * error**2))
    return float(np.sqrt(total))
