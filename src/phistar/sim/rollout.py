"""`ps.rollout`: many states through many steps, with time loop, method and controller in one kernel."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from phistar.backends.code.timeloop import Memory, Phase
from phistar.backends.machine.threads import spread
from phistar.dynamics import forward_dynamics
from phistar.errors import PhistarError, ShapeError
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.sim.closing import check_closed, close_again
from phistar.sim.coordinates import Coordinates
from phistar.sim.feedback import feedback_forces, feedback_phase, feedback_rows
from phistar.sim.floating import MORE
from phistar.sim.integrators import Flow, Method, method_named
from phistar.sim.joint_drives import Drives
from phistar.sim.long_rollout import long_rollout
from phistar.sim.passive import Passive
from phistar.sim.rollout_kernel import compiled_rollout, is_written
from phistar.sim.rollout_stops import Law, joints_stop, stop_joints
from phistar.sim.traced_controller import Controller, compiled_control, control_phase
from phistar.sim.trajectory import Trajectory

FASTEST = 1e6  # rad/s and m/s: what moves so fast has diverged
_log = logging.getLogger("phistar")


def rollout(
    model: Model,
    q0: Any,
    v0: Any,
    controls: Any = None,
    dt: Any = 1e-3,
    steps: int | None = None,
    method: str = "rk4",
    *,
    controller: Controller | None = None,
    parameters: Any = None,
    feedback: Any = None,
    around: Any = None,
    prescribed: Sequence[str] = (),
    locked: Sequence[str] = (),
    passive: Sequence[str] = (),
    limits: str = "stop",
) -> Trajectory:
    """Step many states forward in time at once, in one compiled kernel.

    Passive joint forces (`ps.joint_friction`) act throughout. From where a joint would pass its limit, or one with dry
    friction comes to rest, a motion goes on by the step of a plant, which has stops and friction that sticks; of models
    with bodies that bend, in independent rates, or with joints that are prescribed, locked or passive both are left
    out, friction acting by the sign of the rate alone, and that is reported once to the logger `phistar`. So are states
    that grow beyond 1e6: steps too long for what is stiff. Quaternions stay unit. Loops, which must start
    closed, are closed again after every step, in position and in velocity; in independent rates (`model.embedded()`)
    they stay closed, and from a dead point of those on the motion is NaN.

    Parameters
    ----------
    model : Model
    q0, v0 : (…, nq), (…, nv)
        Where to start.
    controls : (…, steps, nv), optional
        Joint forces held over each step; by default zero.
    dt, steps : float or (steps,), int
        Length of a step [s], and how many; known from `controls`.
    method : "rk4", "euler" or "midpoint"
        Fourth order; semi-implicit, first order; implicit and symmetric, second order, its energy error bounded.
    controller : callable, optional
        controller(t, q, v) → (nv,), written with NumPy for one state, in place of `controls`: evaluated at the start of
        each step, inside the kernel. With parameters, controller(t, q, v, parameters).
    parameters : (…, g), optional
        May change from row to row and call to call without compiling again.
    feedback : (…, steps, nv, 2nv), optional
        Gains K that vary in time, in place of `controls`: u_k − K_k [q ⊖ q_k; v − v_k], inside the kernel.
    around : (q, v, u), with `feedback`
        The motion it holds to, (…, steps, nq) or a row more, (…, steps, nv) or a row more, and (…, steps, nv).
    prescribed, locked, passive : sequences of str, optional
        Joints that controls do not drive by force: of prescribed ones their entries are accelerations, locked ones stay
        at rest, on passive ones springs and damping alone act, as in `ps.simulate`.
    limits : "stop" or "ignore"
        Whether joints stop at limits and stick by dry friction, or both are left out as above.

    Returns
    -------
    Trajectory
        `t` (steps + 1,), `q` (…, steps + 1, nq), `v` (…, steps + 1, nv), the initial state first; `tau` where controls
        were given. `member(i)` is one motion of a batch.

    Examples
    --------
    >>> run = ps.rollout(ps.planar_chain(2), [0, 0], [1, 0], dt=0.01, steps=100)
    >>> run.q.shape
    (101, 2)
    """
    check_robot("rollout", (model,))
    _refuse(controls, controller, parameters, feedback, around)
    start = model.checked_q(q0, "q0"), model.checked(v0, model.nv, "v0")
    check_closed(model, *start)
    drives = Drives(model, tuple(prescribed), tuple(locked), tuple(passive))
    drives.check(start[1])
    stopping = joints_stop(drives, limits, start[0])
    given = None if controls is None else _controls(model, controls, steps)
    fed = None if feedback is None else feedback_rows(model, feedback, around, steps)
    given = given if fed is None else fed
    gains = None if parameters is None else _gains(parameters)
    count = _count(steps if given is None else given.shape[-2])
    times = _times(dt, count)
    _common([x.shape[:-1] for x in start] + [x.shape[:-2] for x in (given,) if x is not None] + _leading(gains))
    sizes = 0 if gains is None else gains.shape[-1], 0 if fed is None else fed.shape[-1]
    memory, floating = Memory(model.nq, model.nv, *sizes), method_named(method).floating(model)
    asked = memory, controller
    if floating is not None:
        _refuse_floating(drives, method, fed)
        start, memory = floating.from_state(*start), replace(memory, nq=model.nq + MORE)
        controller = controller and floating.adapt_controller(controller)
    made = _run(drives, method, memory, controller, start, times, given, gains)
    q, v = map(np.ascontiguousarray, made if floating is None else floating.to_state(*made))
    if stopping and q.size and count:
        stop_joints(model, times, q, v, lambda: _law(model, *asked, times, given, gains, q.shape[:-2]))
    _tell_divergence(model, times, v, start[1])
    if fed is not None:
        given = feedback_forces(model, fed, q[..., :-1, :], v[..., :-1, :])
    return Trajectory(model, times, q, v, None if given is None else _hold_controls(given, q.shape[:-2]))


def _hold_controls(controls: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """Joint forces (…, steps+1, nv) from each sample on; the last step's after it too."""
    after = controls[..., -1:, :] if controls.shape[-2] else np.zeros((*controls.shape[:-2], 1, controls.shape[-1]))
    last = np.concatenate([controls, after], axis=-2)
    return np.broadcast_to(last, (*batch, *last.shape[-2:]))


def _law(
    model: Model,
    memory: Memory,
    controller: Controller | None,
    times: np.ndarray,
    given: np.ndarray | None,
    gains: np.ndarray | None,
    batch: tuple[int, ...],
) -> Law:
    """Joint forces of some motions of a batch, numbered one after the other, at a step and their states."""
    if controller is None:
        if given is None:
            return lambda step, rows, q, v: np.zeros(v.shape)
        numbers = np.broadcast_to(np.arange(math.prod(given.shape[:-2])).reshape(given.shape[:-2]), batch).reshape(-1)
        table = given.reshape(-1, *given.shape[-2:])
        if memory.row:
            return lambda step, rows, q, v: feedback_forces(model, table[numbers[rows], step], q, v)
        return lambda step, rows, q, v: table[numbers[rows], step]
    asked = compiled_control(control_phase(controller, memory), memory)
    own = [] if gains is None else [np.broadcast_to(gains, (*batch, gains.shape[-1])).reshape(-1, gains.shape[-1])]

    def law(step: int, rows: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        clock = np.array([times[step], times[step + 1] - times[step]])
        return asked(clock, np.concatenate([q, v], axis=-1), *(table[rows] for table in own))

    return law


def _tell_divergence(model: Model, times: np.ndarray, v: np.ndarray, start: np.ndarray) -> None:
    """Rows that end beyond all sense though they started within it: when the first did."""
    with np.errstate(invalid="ignore"):
        ended = ~(np.max(np.abs(v[..., -1, :]), axis=-1, initial=0.0) < FASTEST)
        if not ended.any():
            return
        began = (
            np.max(np.abs(np.broadcast_to(v[..., 0, :], v.shape[:-2] + v.shape[-1:])), axis=-1, initial=0.0) < FASTEST
        )
        rows = v.reshape(-1, *v.shape[-2:])[(ended & began).reshape(-1)]
        if len(rows):
            first = int(np.argmax(~(np.max(np.abs(rows), axis=(0, 2)) < FASTEST)))
            told = "ps.rollout of %s: %d of %d motions diverge, the first at t = %.6g s; take a shorter dt."
            _log.warning(told, model.name, len(rows), ended.size, times[first])


def _run(
    drives: Drives,
    method: str,
    memory: Memory,
    controller: Controller | None,
    start: tuple[np.ndarray, np.ndarray],
    times: np.ndarray,
    given: np.ndarray | None,
    gains: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """q and v over time: by the kernel written out, by that which runs link by link, or in NumPy."""
    model = drives.model
    written = is_written(model) and Passive(model).traceable
    held = given is not None or not (written or controller)
    control = None if held else control_phase(controller or _nothing(model), memory)
    if memory.row:
        control = feedback_phase(model, memory)
    if written:
        function = compiled_rollout(model, method, memory, control, drives=drives)
    elif memory.row:
        function = None
    else:
        function = None if drives.any else long_rollout(model, method, memory, control, given is not None)
    if function is None:
        return _step_in_numpy(drives, method, memory, control, start, times, given, gains)
    count = len(times) - 1
    arrays = [*start, times, *([] if given is None else [given.reshape(*given.shape[:-2], count * given.shape[-1])])]
    arrays += [] if gains is None or not memory.gains else [gains]
    return spread(function, tuple(arrays), [(count + 1, memory.nq), (count + 1, model.nv)])


def _step_in_numpy(
    drives: Drives,
    method: str,
    memory: Memory,
    control: Phase | None,
    start: tuple[np.ndarray, np.ndarray],
    times: np.ndarray,
    given: np.ndarray | None,
    gains: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The same step by step in NumPy, around the compiled forward dynamics: for what no kernel does."""
    model, chosen = drives.model, method_named(method)
    flow = numeric_flow(drives, chosen)
    leading = [x.shape[:-1] for x in start] + [x.shape[:-2] for x in (given,) if x is not None] + _leading(gains)
    batch = np.broadcast_shapes(*leading)
    x = np.concatenate([np.broadcast_to(part, (*batch, part.shape[-1])) for part in start], axis=-1)
    law, u = control and not memory.row and compiled_control(control, memory), np.zeros((*batch, model.nv))
    q, v = (np.empty((*batch, len(times), size)) for size in (memory.nq, model.nv))
    q[..., 0, :], v[..., 0, :] = x[..., : memory.nq], x[..., memory.nq :]
    for k, h in enumerate(np.diff(times)):
        if memory.row and given is not None:
            u = feedback_forces(model, given[..., k, :], x[..., : memory.nq], x[..., memory.nq :])
        elif given is not None:
            u = given[..., k, :]
        elif law:
            u = law([times[k], h], x, *([gains] if memory.gains else []))
        x = close_again(flow.coordinates, chosen.step(flow, x, u, h))
        q[..., k + 1, :], v[..., k + 1, :] = x[..., : memory.nq], x[..., memory.nq :]
    return q, v


def numeric_flow(drives: Drives, method: Method) -> Flow:
    """The mechanism in motion, on floats (…, n)."""
    model, passive = drives.model, Passive(drives.model)

    def acceleration(q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        forces = drives.forces(u)
        if passive.acts:
            forces = forces + passive.smooth(q, v) + passive.sliding(q, v)
        if np.any(drives.is_prescribed):
            return np.asarray(drives.accelerations(q, v, forces, u).accelerations)
        return forward_dynamics(model, q, v, forces)

    return Flow(Coordinates(model), acceleration, method.floating(model))


def _nothing(model: Model) -> Controller:
    return lambda t, q, v: np.zeros(model.nv)


def _refuse_floating(drives: Drives, method: str, fed: np.ndarray | None) -> None:
    """Refuse what a method that works on the momentum of a floating robot cannot do."""
    if fed is not None:
        name = drives.model.name
        raise PhistarError(f'{name} floats, and "{method}" works on its momentum: feedback needs another method.')
    if drives.any:
        raise PhistarError("The midpoint method of a floating robot drives all joints by force; take 'rk4'.")


def _refuse(controls: Any, controller: Any, parameters: Any, feedback: Any, around: Any) -> None:
    if sum(x is not None for x in (controls, controller, feedback)) > 1:
        raise PhistarError("rollout was given more than one of controls, a controller and feedback; give one of them.")
    if around is not None and feedback is None:
        raise PhistarError("rollout was given a motion to stay around, but no feedback that keeps it there.")
    if parameters is not None and controller is None:
        raise PhistarError("rollout was given parameters, but no controller to take them.")


def _count(steps: Any) -> int:
    if steps is None:
        raise PhistarError("rollout needs to know how many steps to take: give steps, or controls (…, steps, nv).")
    if not isinstance(steps, int | np.integer) or steps < 0:
        raise PhistarError(f"steps must be a whole number from 0 on; it is {steps!r:.100}.")
    return int(steps)


def _controls(model: Model, controls: Any, steps: int | None) -> np.ndarray:
    array = model.checked(controls, model.nv, "controls")
    if array.ndim < 2 or (steps is not None and array.shape[-2] != steps):
        wanted = "steps" if steps is None else steps
        raise ShapeError(f"controls has shape {array.shape}; {model.name} needs (…, {wanted}, {model.nv}).")
    return array


def _gains(parameters: Any) -> np.ndarray:
    try:
        array = np.asarray(parameters, dtype=np.float64)
    except (TypeError, ValueError):
        raise ShapeError("parameters must be an array of numbers, (…, g).") from None
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ShapeError(f"parameters has shape {array.shape}; it must be (…, g) with g ≥ 1.")
    return array


def _times(dt: Any, steps: int) -> np.ndarray:
    """(steps+1,): 0, dt, 2 dt, … or the running sum of dt."""
    try:
        array = np.asarray(dt, dtype=np.float64)
    except (TypeError, ValueError):
        raise ShapeError("dt must be a number, or one number per step.") from None
    if array.shape not in ((), (steps,)):
        raise ShapeError(f"dt has shape {array.shape}; it must be a number, or one per step: ({steps},).")
    if not np.isfinite(array).all():
        raise PhistarError("dt must be finite.")
    return array * np.arange(steps + 1) if array.ndim == 0 else np.concatenate([[0.0], np.cumsum(array)])


def _leading(gains: np.ndarray | None) -> list[tuple[int, ...]]:
    return [] if gains is None else [gains.shape[:-1]]


def _common(shapes: list[tuple[int, ...]]) -> None:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(str(shape) for shape in shapes)
        raise ShapeError(f"The leading axes {listed} do not broadcast; make them equal, or 1.") from None
