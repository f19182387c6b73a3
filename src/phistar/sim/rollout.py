"""`ps.rollout`: many states through many steps, with time loop, method and controller in one kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.code.timeloop import Memory, Phase
from phistar.backends.kernel import compilable
from phistar.backends.machine.threads import spread
from phistar.backends.traces.arrays import sign
from phistar.dynamics import forward_dynamics
from phistar.errors import PhistarError, ShapeError
from phistar.model import Model
from phistar.sim.closing import check_closed, closed_again
from phistar.sim.compiled import compiled_rollout
from phistar.sim.controller import Controller, compiled_control, control_phase
from phistar.sim.coordinates import Coordinates
from phistar.sim.floating import MORE
from phistar.sim.integrators import Flow, Method, method_named
from phistar.sim.long_rollout import long_rollout
from phistar.sim.passive import Passive


class Rollout(NamedTuple):
    """t (steps+1,), q (…, steps+1, nq), v (…, steps+1, nv); the initial state comes first."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


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
) -> Rollout:
    """States over time from q0 (…, nq), v0 (…, nv), all rows at once; dt is a number, or (steps,).

    `controls` (…, steps, nv) are joint forces held over each step. Instead, a `controller(t, q, v)` → (nv,), written
    with NumPy for one state, is evaluated at the start of each step, inside the kernel; with `parameters` (…, g) it is
    `controller(t, q, v, parameters)`, and they may change from row to row and call to call without compiling again.
    With neither the joint forces are zero. Passive joint forces (`ps.joint_friction`) act throughout.

    Methods: "rk4", fourth order; "euler", semi-implicit, first order; "midpoint", implicit and symmetric, second order:
    its energy error stays bounded, and a robot on a free base keeps its momentum and energy to rounding. Quaternions
    stay unit. Loops, which must start closed, are closed again after every step, in position and in velocity.

    Robots of any length have one kernel, controller included; long ones run link by link. What is stepped in NumPy:
    long robots with loops, or by "midpoint" on a free base, and springs on spherical and free joints.
    """
    _refuse(controls, controller, parameters)
    start = model.checked(q0, model.nq, "q0"), model.checked(v0, model.nv, "v0")
    check_closed(model, *start)
    given = None if controls is None else _controls(model, controls, steps)
    gains = None if parameters is None else _gains(parameters)
    count = _count(steps if given is None else given.shape[-2])
    times = _times(dt, count)
    _common([x.shape[:-1] for x in start] + [x.shape[:-2] for x in (given,) if x is not None] + _leading(gains))
    memory = Memory(model.nq, model.nv, 0 if gains is None else gains.shape[-1])
    floating = method_named(method).floating(model)
    if floating is not None:
        start, memory = floating.entered(*start), replace(memory, nq=model.nq + MORE)
        controller = controller and floating.seen_by(controller)
    made = _run(model, method, memory, controller, start, times, given, gains)
    return Rollout(times, *(made if floating is None else floating.left(*made)))


def _run(
    model: Model,
    method: str,
    memory: Memory,
    controller: Controller | None,
    start: tuple[np.ndarray, np.ndarray],
    times: np.ndarray,
    given: np.ndarray | None,
    gains: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """q and v over time: by the kernel written out, by that which runs link by link, or in NumPy."""
    written = compilable(model) and Passive(model).traceable
    held = given is not None or not (written or controller)
    control = None if held else control_phase(controller or _nothing(model), memory)
    if written:
        function = compiled_rollout(model, method, memory, control)
    else:
        function = long_rollout(model, method, memory, control, given is not None)
    if function is None:
        return _stepped(model, method, memory, control, start, times, given, gains)
    count = len(times) - 1
    arrays = [*start, times, *([] if given is None else [given.reshape(*given.shape[:-2], count * model.nv)])]
    arrays += [] if gains is None or not memory.gains else [gains]
    return spread(function, tuple(arrays), [(count + 1, memory.nq), (count + 1, model.nv)])


def _stepped(
    model: Model,
    method: str,
    memory: Memory,
    control: Phase | None,
    start: tuple[np.ndarray, np.ndarray],
    times: np.ndarray,
    given: np.ndarray | None,
    gains: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The same step by step in NumPy, around the compiled forward dynamics: for what no kernel does."""
    chosen = method_named(method)
    flow = numeric_flow(model, chosen)
    leading = [x.shape[:-1] for x in start] + [x.shape[:-2] for x in (given,) if x is not None] + _leading(gains)
    batch = np.broadcast_shapes(*leading)
    x = np.concatenate([np.broadcast_to(part, (*batch, part.shape[-1])) for part in start], axis=-1)
    law, u = control and compiled_control(control, memory), np.zeros((*batch, model.nv))
    q, v = (np.empty((*batch, len(times), size)) for size in (memory.nq, model.nv))
    q[..., 0, :], v[..., 0, :] = x[..., : memory.nq], x[..., memory.nq :]
    for k, h in enumerate(np.diff(times)):
        if given is not None:
            u = given[..., k, :]
        elif law is not None:
            u = law([times[k], h], x, *([gains] if memory.gains else []))
        x = closed_again(flow.coordinates, chosen.step(flow, x, u, h))
        q[..., k + 1, :], v[..., k + 1, :] = x[..., : memory.nq], x[..., memory.nq :]
    return q, v


def numeric_flow(model: Model, method: Method) -> Flow:
    """The mechanism in motion, on floats (…, n)."""
    passive = Passive(model)
    acts = any(np.any(x) for x in (passive.damping, passive.stiffness, passive.friction))

    def acceleration(q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        if not acts:
            return forward_dynamics(model, q, v, u)
        return forward_dynamics(model, q, v, u + passive.smooth(q, v) + passive.coulomb(sign(v)))

    return Flow(Coordinates(model), acceleration, method.floating(model))


def _nothing(model: Model) -> Controller:
    return lambda t, q, v: np.zeros(model.nv)


def _refuse(controls: Any, controller: Any, parameters: Any) -> None:
    if controls is not None and controller is not None:
        raise PhistarError("rollout was given both controls and a controller; give one of them.")
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
