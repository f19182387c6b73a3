"""The kernel of a rollout: one step recorded, the time loop around it, compiled or found on disk."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.choice import compilable, is_rollout_written, is_wide_written
from phistar.backends.code.timeloop import Memory, Phase, TimeLoop, TimeSignature, record
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.machine.jit import Source, Target, gufunc, host, machine_code
from phistar.backends.wide_kernel import fewest_operations
from phistar.dynamics import forward_dynamics
from phistar.model import Model
from phistar.sim.closing import close_again
from phistar.sim.coordinates import Coordinates
from phistar.sim.integrators import Flow, Method, method_named
from phistar.sim.joint_drives import Drives
from phistar.sim.passive import Passive


def is_written(model: Model) -> bool:
    """Whether the step of a rollout is straight-line code: of few links, or of compound links as many as compile within
    the budget."""
    if not has_wide_links(model):
        return compilable(model)
    if is_wide_written(model) or model.embedding is None:
        return is_wide_written(model)

    def count() -> bool:
        operations = fewest_operations(forward_dynamics.statements_for(model, ())[0])
        return operations is not None and is_rollout_written(operations)

    return model.kept("rollout is written", count)


def compiled_rollout(
    model: Model,
    method: str,
    memory: Memory,
    control: Phase | None,
    target: Target | None = None,
    lanes: int | None = None,
    drives: Drives | None = None,
) -> Any:
    """The gufunc (q0, v0, times[, controls, flat][, parameters]) → (q, v), kept on the model."""
    drives = drives or Drives(model)
    key = ("rollout", method, memory, control, target, lanes, drives.names)
    return model.kept(key, lambda: _kernel(drives, method, memory, control, target or host(), lanes))


def _kernel(
    drives: Drives, method: str, memory: Memory, control: Phase | None, target: Target, lanes: int | None
) -> Any:
    model, lanes = drives.model, lanes or target.lanes
    chosen = method_named(method)
    how = method, chosen.weights, chosen.keeps_momentum

    def source() -> Source:
        loop = time_loop(model, method, memory, control, drives)
        return Source(loop.text(lanes, target.fma), {"operations": loop.operations})

    _, code = machine_code("rollout", (model.key, how, memory, control, lanes, *drives.names), target, source)
    signature: Any = TimeSignature(memory, control is None or memory.row > 0)
    return gufunc(code, signature, "rollout", f"rollout of {model.name} by {method}, compiled.")


def time_loop(
    model: Model, method: str, memory: Memory, control: Phase | None, drives: Drives | None = None
) -> TimeLoop:
    """The phases of a step, recorded."""
    chosen = method_named(method)
    flow = traced_flow(drives or Drives(model), chosen)

    def stage(x: Any, y: Any, s: Any, u: Any, clock: Any, weights: Any) -> Any:
        return chosen.stage(flow, x, y, s, u, clock[1:], weights[:1], weights[1:])

    def finish(s: Any) -> Any:
        return dict.fromkeys(("x", "y", "s"), close_again(flow.coordinates, flow.finish(s)))

    stage_phase = record(memory, stage, ("x", "y", "s", "u", "clock", "weights"))
    return TimeLoop(memory, stage_phase, record(memory, finish, ("s",)), control, chosen.weights)


def traced_flow(drives: Drives, method: Method) -> Flow:
    """The mechanism in motion, on traced numbers (n,)."""
    model, passive = drives.model, Passive(drives.model)

    def acceleration(q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        forces = drives.forces(u) + passive.smooth(q, v) + passive.sliding(q, v)
        if np.any(drives.is_prescribed):
            return np.asarray(drives.accelerations(q, v, forces, u).accelerations)
        return np.asarray(forward_dynamics(model, q, v, forces))

    return Flow(Coordinates(model), acceleration, method.floating(model))
