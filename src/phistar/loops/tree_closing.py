"""Mechanisms with many loops in O(n): each loop is closed at the link where its ways meet, on the way inward
(`closing_program.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.block_kernel import compile_calls
from phistar.backends.kernel import Kernel, units_of
from phistar.backends.links.values import has_rotors
from phistar.backends.machine.jit import Signature
from phistar.backends.machine.threads import spread
from phistar.backends.traces.trace import TooLong
from phistar.loops.closing_program import ARGUMENTS, CORRECTION, FORCES, MOTION, ROWS, closing_program
from phistar.loops.closure import row_count
from phistar.model import Model
from phistar.model.parts import CoupledJoints
from phistar.stated_arguments import broadcast_state


def fits_along_tree(model: Model) -> bool:
    """Whether the links of a mechanism are rigid bodies without spinning rotors."""
    return bool(model.nv) and not model.is_flexible and not has_rotors(model)


def acceleration_along_tree(model: Model, q: Any, v: Any, tau: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """θ̈ (…, nv) that keeps every loop closed, the rank of the closures and the doubts about it (…)."""
    return _run(model, MOTION, *_states(model, q, v, tau))


def forces_along_tree(model: Model, q: Any, v: Any, tau: Any) -> dict[str, np.ndarray] | None:
    """Closing forces of each loop, as `constraint_forces` has them, if unique at all states; else None."""
    forces, rank, doubt = _run(model, FORCES, *_states(model, q, v, tau))
    if np.any(rank != row_count(model)) or np.any(doubt):
        return None
    widths = [1 if isinstance(loop, CoupledJoints) else 6 for loop in model.loops]
    parts = np.split(forces, np.cumsum(widths)[:-1], axis=-1)
    return {loop.name: np.ascontiguousarray(x) for loop, x in zip(model.loops, parts, strict=True)}


def corrections_along_tree(model: Model, q: Any, v: Any) -> tuple[np.ndarray, ...]:
    """g and ġ (…, m), ℳ⁻¹A*S⁻¹g and ℳ⁻¹A*S⁻¹ġ (…, nv), and the doubts about the rank of S (…)."""
    residual, rate, shift, change, doubt = _run(model, CORRECTION, *_states(model, q, v)[:2])
    return residual, rate, -shift, -change, doubt


def rows_along_tree(model: Model, q: Any) -> tuple[np.ndarray, np.ndarray]:
    """g (…, m) and A = QJ + C (…, m, nv)."""
    return _run(model, ROWS, *_states(model, q, np.zeros(model.nv))[:1])


def _states(model: Model, q: Any, v: Any, tau: Any = None) -> tuple[np.ndarray, ...]:
    q, v = broadcast_state(model, q, v)
    return (q, v) if tau is None else (q, v, model.checked(tau, model.nv, "tau"))


def _run(model: Model, name: str, *arrays: np.ndarray) -> Any:
    kernel = closing_kernel(model, name)
    return spread(kernel.function, arrays, list(kernel.shapes))


_RESULTS = {
    MOTION: ("acceleration", "rank", "doubt"),
    FORCES: ("forces", "rank", "doubt"),
    CORRECTION: ("residual", "rate", "shift", "change", "doubt"),
    ROWS: ("residual", "rows"),
}


def closing_kernel(model: Model, name: str) -> Kernel:
    """The kernel of a program along the tree, kept on the model."""
    return model.kept(("along the tree", name), lambda: _kernel(model, name))


def _kernel(model: Model, name: str) -> Kernel:
    m, nv = row_count(model), model.nv
    forces = sum(1 if isinstance(loop, CoupledJoints) else 6 for loop in model.loops)
    shapes = {
        MOTION: ((nv,), (), ()),
        FORCES: ((forces,), (), ()),
        CORRECTION: ((m,), (m,), (nv,), (nv,), ()),
        ROWS: ((m,), (m, nv)),
    }
    signature = Signature((model.nq, nv, nv)[: ARGUMENTS[name]], shapes[name], units_of(model))
    title = f"{name} of {model.name} along the tree"
    return compile_calls(
        ("closing", name, model.key), lambda: closing_program(model, name), signature, title, _RESULTS[name]
    )


def count_along_tree(model: Model, most: int) -> tuple[int, int] | None:
    """Operations of a state's motion, and the instructions that are compiled; None where there are more than `most`."""
    try:
        program = closing_program(model, MOTION, most)
    except TooLong:
        return None
    return program.operations, program.instructions
