"""A controller as instructions: run once on traced numbers, then part of the compiled step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.backends.code.timeloop import Memory, Phase, record
from phistar.backends.kernel import compile_trace
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import Scalar
from phistar.errors import PhistarError, ShapeError

Controller = Callable[..., Any]  # (t, q, v) or (t, q, v, parameters) → tau


def control_phase(controller: Controller, memory: Memory) -> Phase:
    """u = controller(t, q, v[, parameters]), recorded."""

    def control(clock: np.ndarray, x: np.ndarray, gains: np.ndarray) -> dict[str, np.ndarray]:
        given = [clock[0], x[: memory.nq], x[memory.nq :], *([gains] if memory.gains else [])]
        return {"u": _forces(_run(controller, [traced(value) for value in given]), memory.nv)}

    return record(memory, control, ("clock", "x", "gains"))


def _run(controller: Controller, arguments: list[Any]) -> Any:
    try:
        return controller(*arguments)
    except (TypeError, AttributeError) as error:
        raise PhistarError(
            f"The controller cannot be compiled: {error}. It is run once on symbols, so it must not branch on values "
            "or turn them into floats; write it with NumPy arithmetic, @, sin, cos, tan, sqrt, abs, sign, minimum, "
            "maximum and clip, and build arrays with np.stack or np.concatenate."
        ) from error


def _forces(made: Any, nv: int) -> np.ndarray:
    try:
        forces = np.asarray(made, dtype=object)
    except ValueError:
        forces = np.empty(0, dtype=object)
    if forces.shape != (nv,):
        raise ShapeError(f"The controller gives shape {forces.shape}; it must give the joint forces, ({nv},).")
    result = np.empty(nv, dtype=object)
    for i, entry in enumerate(forces):
        plain = entry.item() if isinstance(entry, np.ndarray) and entry.ndim == 0 else entry
        result[i] = plain if type(plain) is Scalar else _number(plain)
    return result


def _number(entry: Any) -> float:
    try:
        return float(entry)
    except (TypeError, ValueError):
        raise PhistarError(f"The controller gives {entry!r:.100} as a joint force; it must give numbers.") from None


def compiled_control(phase: Phase, memory: Memory) -> Callable[..., np.ndarray]:
    """The recorded controller of (t, h) (…, 2), states (…, nq + nv) and, where there are any, gains (…, g): (…, nv)."""
    rows = [2, memory.n, *([memory.gains] if memory.gains else [])]
    return compile_trace(phase.trace, rows, [(memory.nv,)], "controller", ("u",)).function
