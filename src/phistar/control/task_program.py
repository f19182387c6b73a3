"""Tasks and limits as one small quadratic program: tasks add (H, c), limits add (G, h), one solve.

    least ½v*Hv + c*v  with  Gv ≤ h          H = ΣJ*WJ + damping,  c = −ΣJ*W (gain e/dt)

for rates v that take away each task's error e in about dt/gain. The shape is mink's `solve_ik`; the solver is DAQP.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.control.tasks import JointLimits, Limit, Task, checked_weights
from phistar.errors import InfeasibleError, ShapeError
from phistar.loops.feasible_rates import EMPTY, closure_jacobian
from phistar.loops.least_quadratic import least_quadratic
from phistar.loops.residual import loop_residual
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr

LONGEST = 0.5  # rad or m, that a joint may move at once; half as far wherever the way turns back
WISH = 0.01  # of the greatest weight: what is less is only wished for


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
        weighted = checked_weights(task, error)[:, None] * J
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
    weights = [checked_weights(task, error) for task, error in zip(tasks, errors, strict=True)]
    least = WISH * max(float(weight.max(initial=0.0)) for weight in weights)
    if not least:
        raise ShapeError("All weights of the tasks are zero: nothing is asked for.")
    found = {}
    for number, (task, error, weight) in enumerate(zip(tasks, errors, weights, strict=True)):
        frame = getattr(task, "frame", "")
        name = f"task {number} ({type(task).__name__}{' of ' + frame if frame else ''})"
        found[name] = float(np.sqrt(np.sum(np.where(weight >= least, weight, 0.0) * error**2)))
    return found | ({"the closing of the loops": float(np.linalg.norm(loop_residual(model, q)))} if model.loops else {})
