"""Machine code for the maps q ⊕ dv and q₁ ⊖ q₀ of the configuration manifold, shared by robots with the same joints."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel, compile_trace, units_of
from phistar.backends.machine.call_doors import held_door, layout_is_known
from phistar.backends.machine.recent import Recent
from phistar.backends.machine.threads import spread
from phistar.backends.traces.arrays import record
from phistar.model import Model

_made: Recent[Kernel] = Recent(256)


def compiled_map(
    model: Model, name: str, formula: Callable[..., np.ndarray], slow: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., np.ndarray]]:
    """`formula(model, q, dv)` or `formula(model, q0, q1)` as an entry for one state, as a door that leaves all else to
    the `slow` way, and as a function of any batch. One state has code of its own: so little is computed that to copy it
    to several lanes would take as long."""
    key = name, tuple((type(body.joint.kind).__name__, body.modes) for body in model.bodies)

    def on(lanes: int | None) -> Kernel:
        return _made.get((*key, lanes), lambda: _kernel(model, name, formula, lanes))

    def whole(*arrays: np.ndarray) -> np.ndarray:
        kernel = on(None)
        return spread(kernel.function, arrays, list(kernel.shapes))

    single = on(1).single
    return single, held_door(single, slow, slow) if layout_is_known() else slow, whole


def _kernel(model: Model, name: str, formula: Callable[..., np.ndarray], lanes: int | None) -> Kernel:
    sizes = (model.nq, model.nv) if name == "integrate" else (model.nq, model.nq)
    trace = record(partial(formula, model), sizes)
    units = units_of(model) + (units_of(model, 1) if name == "difference" else ())
    return compile_trace(trace, sizes, [(len(trace.outputs),)], name, (name,), units, lanes)
