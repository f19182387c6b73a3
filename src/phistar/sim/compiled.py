"""The kernel of a rollout: one step recorded, the time loop around it, compiled or found on disk."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.code.timeloop import Memory, Phase, TimeLoop, TimeSignature, recorded
from phistar.backends.machine import cache
from phistar.backends.machine.jit import Target, compile_object, gufunc, host, load_object
from phistar.backends.traces.arrays import sign
from phistar.dynamics import forward_dynamics
from phistar.model import Model
from phistar.sim.closing import closed_again
from phistar.sim.coordinates import Coordinates
from phistar.sim.integrators import Flow, Method, method_named
from phistar.sim.passive import Passive


def compiled_rollout(
    model: Model,
    method: str,
    memory: Memory,
    control: Phase | None,
    target: Target | None = None,
    lanes: int | None = None,
) -> Any:
    """The gufunc (q0, v0, times[, controls, flat][, parameters]) → (q, v), kept on the model."""
    key = ("rollout", method, memory, control, target, lanes)
    return model.kept(key, lambda: _made(model, method, memory, control, target or host(), lanes))


def _made(model: Model, method: str, memory: Memory, control: Phase | None, target: Target, lanes: int | None) -> Any:
    lanes = lanes or target.lanes
    chosen = method_named(method)
    how = method, chosen.weights, chosen.keeps_momentum
    name = cache.key("rollout", model.key, how, memory, control, target, lanes)
    found = cache.load(name)
    if found is None:
        loop = time_loop(model, method, memory, control)
        code = compile_object(loop.text(lanes, target.fma), target)
        cache.store(name, {"operations": loop.operations}, code)
    else:
        code = found[1]
    signature: Any = TimeSignature(memory, control is None)
    return gufunc(load_object(code), signature, "rollout", f"rollout of {model.name} by {method}, compiled.")


def time_loop(model: Model, method: str, memory: Memory, control: Phase | None) -> TimeLoop:
    """The phases of a step, recorded."""
    chosen = method_named(method)
    flow = traced_flow(model, chosen)

    def stage(x: Any, y: Any, s: Any, u: Any, clock: Any, weights: Any) -> Any:
        return chosen.stage(flow, x, y, s, u, clock[1:], weights[:1], weights[1:])

    def finish(s: Any) -> Any:
        return dict.fromkeys(("x", "y", "s"), closed_again(flow.coordinates, flow.finish(s)))

    stage_phase = recorded(memory, stage, ("x", "y", "s", "u", "clock", "weights"))
    return TimeLoop(memory, stage_phase, recorded(memory, finish, ("s",)), control, chosen.weights)


def traced_flow(model: Model, method: Method) -> Flow:
    """The mechanism in motion, on traced numbers (n,)."""
    passive = Passive(model)

    def acceleration(q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        forces = u + passive.smooth(q, v) + passive.coulomb(sign(v))
        return np.asarray(forward_dynamics(model, q, v, forces))

    return Flow(Coordinates(model), acceleration, method.floating(model))
