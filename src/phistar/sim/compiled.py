"""The kernel of a rollout: one step recorded, the time loop around it, compiled or found on disk."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends import cache
from phistar.backends.jit import Target, compile_object, gufunc, host, load_object
from phistar.backends.kernel import Statements, trace_statements
from phistar.backends.symbolic import replay
from phistar.backends.timeloop import Memory, Phase, TimeLoop, TimeSignature, recorded
from phistar.backends.trace import Trace
from phistar.dynamics import forward_dynamics
from phistar.expression import algebra
from phistar.model import Model
from phistar.sim.coordinates import Coordinates, as_array
from phistar.sim.integrators import Flow, method_named
from phistar.sim.passive import Passive
from phistar.sim.traced import sign
from phistar.sweeps.lower import GIVEN


def compiled_rollout(
    model: Model,
    method: str,
    memory: Memory,
    control: Phase | None,
    target: Target | None = None,
    lanes: int | None = None,
) -> Any:
    """The gufunc (q0, v0, times[, controls, flat][, parameters]) → (q, v), kept on the model."""
    store = model.__dict__.setdefault("_kernels", {})
    key = ("rollout", method, memory, control, target, lanes)
    if key not in store:
        store[key] = _made(model, method, memory, control, target or host(), lanes)
    return store[key]


def _made(model: Model, method: str, memory: Memory, control: Phase | None, target: Target, lanes: int | None) -> Any:
    lanes = lanes or target.lanes
    chosen = method_named(method)
    name = cache.key("rollout", model.key, method, chosen.weights, memory, control, target, lanes)
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
    chosen, flow = method_named(method), traced_flow(model)

    def stage(x: Any, y: Any, s: Any, u: Any, clock: Any, weights: Any) -> Any:
        return chosen.stage(flow, x, y, s, u, clock[1:], weights[:1], weights[1:])

    def finish(s: Any) -> Any:
        return dict.fromkeys(("x", "y", "s"), flow.finish(s))

    stage_phase = recorded(memory, stage, ("x", "y", "s", "u", "clock", "weights"))
    return TimeLoop(memory, stage_phase, recorded(memory, finish, ("s",)), control, chosen.weights)


def traced_flow(model: Model) -> Flow:
    """The mechanism in motion, on traced numbers (n,)."""
    passive = Passive(model)
    trace, names = _forward_dynamics(model)

    def acceleration(q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        forces = u + passive.smooth(q, v) + passive.coulomb(sign(v))
        given = {GIVEN["v"]: v, GIVEN["T"]: forces}
        return as_array(replay(trace, [*q, *(entry for name in names for entry in given[name])]))

    return Flow(Coordinates(model), acceleration)


def _forward_dynamics(model: Model) -> tuple[Trace, list[str]]:
    """The cheapest of equal forms, as for `ps.forward_dynamics`, and the vectors it takes after q."""
    bound = algebra(model)
    nodes = tuple(forward_dynamics._nodes(bound.symbols).items())
    wanted = Statements(nodes, bound.symbols, bound.setting, False, model, {})
    traces = [trace_statements(form)[:2] for form in wanted.forms()]
    return min(traces, key=lambda found: found[0].operations)
