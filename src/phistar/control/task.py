"""Task coordinates y with β = Πẏ (KJR92 eq. 1): a position, a pose with quaternion or Euler angles, or a user's map.

A map of the pose gives y, the map E with ẏ = Eβ, and Ėβ; Π is E's inverse from the left, where y is the whole pose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.backends.programs.conditioning import OperationalSpace, chosen_inverse
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.solve import solve_symmetric, solve_task
from phistar.backends.traces.trace import is_traced
from phistar.control.casadi_maps import on_arrays
from phistar.dynamics import (
    bias,
    forward_dynamics,
    forward_kinematics,
    gravity_load,
    jacobian,
    jacobian_dot_v,
    mass_matrix_inverse,
    task_mobility,
)
from phistar.errors import InfeasibleError, ModelError, ShapeError, StatementError
from phistar.model import Model
from phistar.short_repr import short_repr
from phistar.spatial import skew, times, transposed
from phistar.spatial.rotations import quaternion_products

GIMBAL_LOCK = 1e-6  # cosine of the pitch below which roll and yaw turn about one axis
_POSE = (4, 4)


class Measured(NamedTuple):
    """Coordinates of a pose that moves with β = [ω; ẋ]: y (…, m), E (…, m, 6) with ẏ = Eβ, and Ėβ (…, m)."""

    y: Array
    map: Array
    drift: Array


@short_repr
class TaskState(NamedTuple):
    """ÿ = Jθ̈ + drift: y and ẏ (…, m), J (…, m, nv), drift = J̇θ̇ (…, m)."""

    y: Array
    rate: Array
    jacobian: Array
    drift: Array


Measure = Callable[[np.ndarray, np.ndarray], Measured]


@dataclass(frozen=True)
class PoseTask:
    """Coordinates of one frame's pose: called with (model, q, v) they give a `TaskState`."""

    frame: str
    rows: int  # m, entries of y
    measure: Measure  # (pose (…, 4, 4), β (…, 6)) → Measured

    def __call__(self, model: Model, q: Any, v: Any) -> TaskState:
        measured, rate, own = self._measure(model, q, v)
        full = np.matmul(measured.map, own)
        change = times(measured.map, jacobian_dot_v(model, q, v, self.frame)) + measured.drift
        return TaskState(measured.y, rate, full, change)

    def _measure(self, model: Model, q: Any, v: Any) -> tuple[Measured, np.ndarray, np.ndarray]:
        own = jacobian(model, q, self.frame)
        beta = times(own, np.asanyarray(v))
        measured = self.measure(forward_kinematics(model, q, self.frame), beta)
        return measured, times(measured.map, beta), own

    def Pi(self, model: Model, q: Any) -> Array:
        """Π with β = Πẏ, (…, 6, m)."""
        return _left_inverse(self.measure(forward_kinematics(model, q, self.frame), np.zeros(6)).map)

    def commanded(self, model: Model, q: Any, v: Any, acceleration: Any) -> Array:
        """u = Π(w − Ėβ) = Πw + Π̇ẏ, (…, 6): the β̇ that makes ÿ = w (KJR92, after eq. 5)."""
        measured, _, _ = self._measure(model, q, v)
        return times(_left_inverse(measured.map), np.asanyarray(acceleration) - measured.drift)


@dataclass(frozen=True)
class JointTask:
    """Coordinates y(q) of the whole mechanism: called with (model, q, v) they give a `TaskState`."""

    rows: int
    coordinates: int  # entries of q
    measure: Callable[..., tuple[Array, ...]]  # (q, v) → y, J, J̇v; each (…, rows, columns)

    def __call__(self, model: Model, q: Any, v: Any) -> TaskState:
        if model.nq != self.coordinates or model.nq != model.nv:
            raise ModelError(
                f"The task map takes {self.coordinates} coordinates and differentiates them as rates; {model.name} has "
                f"nq = {model.nq}, nv = {model.nv}. For free or spherical joints give a map of a frame's pose."
            )
        y, full, change = self.measure(q, v)
        return TaskState(y[..., 0], times(full, np.asanyarray(v)), full, change[..., 0])


def task_space(
    model: Model, q: Any, v: Any, task: PoseTask | JointTask, *, damping: float = 0.0, truncation: float = 0.0
) -> OperationalSpace:
    """Inertia, Coriolis and gravity forces in the coordinates of a task.

    Λ_y ÿ + c_y + g_y = F_y with T = J_y*F_y and Λ_y = (EΩ(0)E*)⁻¹. NaN, `rank`, `condition`, `damping` and `truncation`
    are as in `ps.operational_space`.

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.
    task : PoseTask or JointTask
        As `position_task`, `euler_task`, `quaternion_task` and `casadi_task` make them.
    damping, truncation : float
        How singular positions are regularized; not at all by default.

    Returns
    -------
    OperationalSpace
        `inertia` (…, m, m), `coriolis` and `gravity` (…, m), `rank`, `condition`.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> ps.control.task_space(arm, q, v, ps.control.position_task("tool")).gravity.shape
    (3,)
    """
    mobility, coriolis, gravity = _open_form(model, q, v, task)
    if damping or truncation:
        inverse = chosen_inverse(mobility, damping, truncation)
    elif task.rows > 6 and isinstance(task, PoseTask):
        raise InfeasibleError(
            f"{task.rows} coordinates describe 6 directions, so Λ does not exist for all of them; give truncation=…, "
            "or use operational_space with the task's Pi."
        )
    else:
        inverse = solve_task(mobility, np.broadcast_to(np.eye(task.rows), mobility.shape))
    forces = np.matmul(inverse, np.stack([coriolis, gravity], axis=-1))
    return OperationalSpace(inverse, forces[..., 0], forces[..., 1], lambda: mobility)


def _open_form(model: Model, q: Any, v: Any, task: PoseTask | JointTask) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ω_y, Ω_y c_y and Ω_y g_y."""
    if isinstance(task, PoseTask):
        measured, _, _ = task._measure(model, q, v)
        found = task_mobility(model, q, v, task.frame)
        mobility = np.matmul(np.matmul(measured.map, found.mobility), transposed(measured.map))
        return mobility, times(measured.map, found.coriolis) - measured.drift, times(measured.map, found.gravity)
    state = task(model, q, v)
    spread = np.matmul(state.jacobian, mass_matrix_inverse(model, q))
    weight = gravity_load(model, q)
    mobility = np.matmul(spread, transposed(state.jacobian))
    if model.loops:  # the closures drift with the velocities too, which ℳ⁻¹𝒞 alone does not know
        weightless = forward_dynamics(model, q, v, weight)
        return mobility, -times(state.jacobian, weightless) - state.drift, times(spread, weight)
    return mobility, times(spread, bias(model, q, v) - weight) - state.drift, times(spread, weight)


def position_task(frame: str) -> PoseTask:
    """A task in the position of a frame alone.

    y = x, the frame's origin in the world.

    Parameters
    ----------
    frame : str

    Returns
    -------
    PoseTask
        Of three coordinates.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> ps.control.task_space(arm, q, v, ps.control.position_task("tool")).inertia.shape
    (3, 3)
    """
    select = np.concatenate([np.zeros((3, 3)), np.eye(3)], axis=-1)

    def measure(pose: np.ndarray, beta: np.ndarray) -> Measured:
        y = pose[..., :3, 3]
        return Measured(y, np.broadcast_to(select, (*y.shape[:-1], 3, 6)), 0.0 * y)

    return PoseTask(frame, 3, measure)


def quaternion_task(frame: str, near: Any = (0.0, 0.0, 0.0, 1.0)) -> PoseTask:
    """A task in position and quaternion of a frame.

    y = (x, quaternion (x, y, z, w)) with q̇ = ½ ω ⊗ q.

    Parameters
    ----------
    frame : str
    near : (4,)
        Of the two quaternions ±q, the one on the side of this is taken.

    Returns
    -------
    PoseTask
        Of seven coordinates.

    Examples
    --------

    >>> type(ps.control.quaternion_task("tool")).__name__
    'PoseTask'
    """
    near = np.asarray(near, dtype=float)
    if near.shape != (4,) or not np.linalg.norm(near) > 0:
        raise ShapeError(f"`near` is a quaternion (x, y, z, w); {near} is not one.")

    def measure(pose: np.ndarray, beta: np.ndarray) -> Measured:
        q = _quaternion(pose[..., :3, :3], near)
        vector, scalar, omega = q[..., :3], q[..., 3:], beta[..., :3]
        turning = 0.5 * (scalar[..., None] * np.eye(3) - skew(vector))
        rates = np.concatenate([turning, -0.5 * vector[..., None, :]], axis=-2)
        drift = -0.25 * np.sum(omega * omega, axis=-1)[..., None] * q
        return _of_pose(pose, q, rates, drift)

    return PoseTask(frame, 7, measure)


def euler_task(frame: str) -> PoseTask:
    """A task in position and roll, pitch and yaw of a frame.

    y = (x, roll, pitch, yaw) with R = Rz(yaw)Ry(pitch)Rx(roll); NaN in gimbal lock. Not traceable: angles need the arc
    tangent.

    Parameters
    ----------
    frame : str

    Returns
    -------
    PoseTask
        Of six coordinates.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> ps.control.task_space(arm, q, v, ps.control.euler_task("tool")).inertia.shape
    (6, 6)
    """

    def measure(pose: np.ndarray, beta: np.ndarray) -> Measured:
        r = pose[..., :3, :3]
        cosine = np.hypot(r[..., 0, 0], r[..., 1, 0])
        roll, yaw = np.arctan2(r[..., 2, 1], r[..., 2, 2]), np.arctan2(r[..., 1, 0], r[..., 0, 0])
        angles = np.stack([roll, np.arctan2(-r[..., 2, 0], cosine), yaw], axis=-1)
        inverse = _euler_rates(angles)
        rates = times(inverse, beta[..., :3])
        # ω = Tė, so ë = T⁻¹(ω̇ − Ṫė); T depends on pitch and yaw, whose axes turn as T's own columns say.
        return _of_pose(pose, angles, inverse, -times(inverse, _euler_drift(angles, rates)))

    return PoseTask(frame, 6, measure)


def casadi_task(function: Any, frame: str | None = None) -> PoseTask | JointTask:
    """A task whose coordinates are a CasADi function of a frame's pose, or of q.

    CasADi differentiates it; it is evaluated as NumPy, or traced and compiled where it is made of sin, cos, sqrt and
    arithmetic.

    Parameters
    ----------
    function : casadi.Function
        Of a pose (4, 4), or of q; its result is one column.
    frame : str, optional
        The frame whose pose is meant; without it the function is of q.

    Returns
    -------
    PoseTask or JointTask

    Examples
    --------

    >>> import casadi
    >>> pose = casadi.SX.sym("pose", 4, 4)
    >>> task = ps.control.casadi_task(casadi.Function("height", [pose], [pose[2, 3]]), "tool")
    >>> type(task).__name__
    'PoseTask'
    """
    import casadi

    if not isinstance(function, casadi.Function) or function.n_in() != 1 or function.size_out(0)[1] != 1:
        raise StatementError("A task map is a casadi.Function of one argument with one column of results.")
    if frame is None:
        return JointTask(function.size_out(0)[0], function.size_in(0)[0], on_arrays(_of_coordinates(casadi, function)))
    if function.size_in(0) != _POSE:
        raise ShapeError(
            f"A task map at a frame takes its pose, (4, 4); {function.name()} takes {function.size_in(0)}."
        )
    walk = on_arrays(_of_moving_pose(casadi, function))

    def measure(pose: np.ndarray, beta: np.ndarray) -> Measured:
        y, rates, drift = walk(pose, beta)
        return Measured(y[..., 0], rates, drift[..., 0])

    return PoseTask(frame, function.size_out(0)[0], measure)


def _of_moving_pose(casadi: Any, function: Any) -> Any:
    """(pose, β) → y, E, Ėβ: the derivative of the map along Ṫ = [ω̃R, ẋ; 0, 0], twice."""
    pose, beta, other = casadi.SX.sym("pose", 4, 4), casadi.SX.sym("beta", 6), casadi.SX.sym("other", 6)

    def motion(twist: Any) -> Any:
        turned = casadi.mtimes(casadi.skew(twist[:3]), pose[:3, :3])
        return casadi.vertcat(casadi.horzcat(turned, twist[3:]), casadi.SX.zeros(1, 4))

    y = function(pose)
    rates = casadi.jacobian(casadi.jtimes(y, pose, motion(other)), other)
    drift = casadi.jtimes(casadi.mtimes(rates, beta), pose, motion(beta))
    return casadi.Function(function.name(), [pose, beta], [y, casadi.densify(rates), casadi.densify(drift)])


def _of_coordinates(casadi: Any, function: Any) -> Any:
    """(q, v) → y, J, J̇v."""
    q, v = casadi.SX.sym("q", function.size_in(0)[0]), casadi.SX.sym("v", function.size_in(0)[0])
    y = function(q)
    rates = casadi.jacobian(y, q)
    drift = casadi.jtimes(casadi.mtimes(rates, v), q, v)
    return casadi.Function(function.name(), [q, v], [y, casadi.densify(rates), casadi.densify(drift)])


def _of_pose(pose: np.ndarray, turn: np.ndarray, rates: np.ndarray, drift: np.ndarray) -> Measured:
    """Position and a description of orientation, together."""
    place = pose[..., :3, 3]
    zeros = np.zeros((*place.shape[:-1], 3, 3))
    unit = np.broadcast_to(np.eye(3), zeros.shape)
    upper = np.concatenate([zeros, unit], axis=-1)
    lower = np.concatenate([rates, np.zeros((*rates.shape[:-1], 3))], axis=-1)
    y, both = np.concatenate([place, turn], axis=-1), np.concatenate([upper, lower], axis=-2)
    still = np.broadcast_to(0.0 * place, (*drift.shape[:-1], 3))
    return Measured(y, both, np.concatenate([still, drift], axis=-1))


def _quaternion(rotation: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The quaternion of R on the side of `near`, without a branch: the largest row of 4qq* is picked by signs."""
    outer = quaternion_products(rotation)
    outer = traced(outer) if is_traced(outer) else outer
    row, largest = outer[..., 0, :], outer[..., 0, 0]
    for i in range(1, 4):
        square = outer[..., i, i]
        larger = np.maximum(np.sign(square - largest), 0.0)[..., None]
        row = row + larger * (outer[..., i, :] - row)
        largest = np.maximum(largest, square)
    q = row / (2.0 * np.sqrt(largest))[..., None]
    side = np.maximum(np.sign(np.sum(q * near, axis=-1)), 0.0)[..., None]
    return (2.0 * side - 1.0) * q


def _euler_rates(angles: np.ndarray) -> np.ndarray:
    """T⁻¹ with ė = T⁻¹ω, (…, 3, 3)."""
    sp, cp = np.sin(angles[..., 1]), np.cos(angles[..., 1])
    sy, cy = np.sin(angles[..., 2]), np.cos(angles[..., 2])
    cp = np.where(np.abs(cp) < GIMBAL_LOCK, np.nan, cp)
    zero, one = np.zeros_like(cp), np.ones_like(cp)
    rows = [[cy / cp, sy / cp, zero], [-sy, cy, zero], [cy * sp / cp, sy * sp / cp, one]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _euler_drift(angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Ṫė, (…, 3)."""
    sp, cp = np.sin(angles[..., 1]), np.cos(angles[..., 1])
    sy, cy = np.sin(angles[..., 2]), np.cos(angles[..., 2])
    roll, pitch, yaw = rates[..., 0], rates[..., 1], rates[..., 2]
    x = (-sy * yaw * cp - cy * sp * pitch) * roll - cy * yaw * pitch
    y = (cy * yaw * cp - sy * sp * pitch) * roll - sy * yaw * pitch
    return np.stack([x, y, -cp * pitch * roll], axis=-1)


def _left_inverse(rates: np.ndarray) -> np.ndarray:
    """(E*E)⁻¹E* where y is at least the pose; E*(EE*)⁻¹, the least motion, where it is less."""
    flipped = transposed(rates)
    if rates.shape[-2] >= 6:
        return solve_symmetric(np.matmul(flipped, rates), flipped)
    return np.swapaxes(solve_symmetric(np.matmul(rates, flipped), rates), -1, -2)
