"""Tasks and limits of robots: tasks give errors and Jacobians, limits rows that rates keep.

`task_program.py` makes one quadratic program of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.control.pose_search import pose_gap
from phistar.control.reach import checked_targets, target_array
from phistar.dynamics import center_of_mass, center_of_mass_jacobian, forward_kinematics, jacobian
from phistar.errors import InfeasibleError, ShapeError
from phistar.model import Model
from phistar.spatial import skew


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
    def rows(self, model: Model, q: Array) -> tuple[Array, Array]:
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

    def rows(self, model: Model, q: Array) -> tuple[Array, Array]:
        target, pose, J = self._target, forward_kinematics(model, q, self.frame), jacobian(model, q, self.frame)
        return (target - pose[:3, 3], J[3:]) if target.ndim == 1 else (pose_gap(pose, target), J)

    @cached_property
    def _target(self) -> Array:
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

    def rows(self, model: Model, q: Array) -> tuple[Array, Array]:
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

    def rows(self, model: Model, q: Array) -> tuple[Array, Array]:
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

    def rows(self, model: Model, q: Array) -> tuple[Array, Array]:
        wanted = _place("The centre of mass's place", self.position)
        return wanted - center_of_mass(model, q), center_of_mass_jacobian(model, q)


def _place(what: str, given: Any) -> Array:
    place = np.asarray(given, dtype=float)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ShapeError(f"{what} must be a place (3,), finite; it was given {given!r:.60}.")
    return place


def checked_weights(task: Task, error: Array) -> Array:
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
    def rows(self, model: Model, q: Array, dt: float) -> tuple[Array, Array]:
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

    def rows(self, model: Model, q: Array, dt: float) -> tuple[Array, Array]:
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

    def rows(self, model: Model, q: Array, dt: float) -> tuple[Array, Array]:
        away = forward_kinematics(model, q, self.frame)[:3, 3] - np.asarray(self.center, dtype=float)
        distance = max(float(np.linalg.norm(away)), 1e-9)
        normal = away / distance
        return -(normal @ jacobian(model, q, self.frame)[3:])[None], np.array([(distance - self.radius) / dt])
