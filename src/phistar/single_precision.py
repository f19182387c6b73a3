"""Functions of floats of 32 bits: twice the states at a time, where rounding loses no more than is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phistar.backends.choice import VARIABLE, is_single_written
from phistar.backends.kernel import compile_trace, units_of
from phistar.backends.machine import cache
from phistar.backends.machine.call_doors import Kernel
from phistar.backends.traces.roundoff import rounding_bound, states_worth
from phistar.errors import StatementError
from phistar.model import Model
from phistar.recording import Recording, record

ACCURACY = 1e-3


def is_single(dtype: Any, accuracy: float | None) -> bool:
    """Whether a dtype is float32; others than float64 are refused, and an accuracy that nothing is held to."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or dtype is None or found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise StatementError(f"Kernels are of float64 or float32; {dtype!r:.100} is neither.")
    single = found == np.dtype(np.float32)
    if accuracy is not None and not single:
        raise StatementError("`accuracy` is what float32 is held to: give dtype=np.float32 with it, or leave it away.")
    if accuracy is not None and not 0.0 < float(accuracy) < 1.0:
        raise StatementError(f"`accuracy` is a part of the result, between 0 and 1; it is {accuracy!r:.100}.")
    return single


def record_short(
    function: Any,
    model: Model,
    frame: str | Sequence[str] | None,
    parameters: Sequence[str],
    matrix: bool,
    rows: Mapping[str, int] | None,
) -> Recording:
    """The instructions of a function or a statement, all of them written out."""
    found = record(function, model, frame, parameters, matrix, rows, calls=True)
    if not found.steps:
        return found
    if not is_single_written(model, sum(step.operations for step in found.steps)):
        raise StatementError(
            f"{found.name} of {model.name} runs as loops over the links, which are of float64; written out for float32 "
            f"it would compile longer than {VARIABLE} allows. Leave dtype away, or allow more seconds."
        )
    return record(function, model, frame, parameters, matrix, rows)


def bounded_error(found: Recording, accuracy: float) -> float:
    """The bound on what a recording loses; refused where it is more than the accuracy asked for."""
    error = _bound(found)
    if not error <= accuracy:
        lost = "all digits" if not error < 1.0 else f"up to {error:.1e} of a result"
        raise StatementError(
            f"{found.name} of {found.model.name} in float32 may lose {lost}; {accuracy:.1e} is asked for. Light links "
            "that carry heavy ones, and states near singular ones, take more digits: use float64, or allow more with "
            "`accuracy`."
        )
    return error


def single_kernel(found: Recording, accuracy: float) -> tuple[Kernel, float]:
    """The kernel of a recording, and the bound on what it loses, which is at most the accuracy asked for."""
    error = bounded_error(found, accuracy)
    entries, shapes = [n for _, n in found.arguments], [shape for _, shape in found.results]
    outputs, names = tuple(name for name, _ in found.results), [name for name, _ in found.arguments]
    units = units_of(found.model, names.index("q")) if "q" in names else ()
    return compile_trace(found.trace, entries, shapes, found.name, outputs, units, kind="f32"), error


def _bound(found: Recording) -> float:
    """The bound at random states, kept on disk: configurations as `model.random` gives them, all else normally
    distributed in SI units."""
    shapes = [shape for _, shape in found.results]
    name = cache.key("rounding", found.trace, found.arguments, shapes, found.model.key)
    known = cache.load(name, cache.PROGRAM)
    if known is None:
        error = rounding_bound(found.trace, _random_states(found, states_worth(found.trace)), shapes)
        known = {"error": error}, b""
        cache.store(name, known[0], b"", cache.PROGRAM)
    return float(known[0]["error"])


def _random_states(found: Recording, count: int) -> np.ndarray:
    """Rows of all arguments of a recorded function."""
    rng, model = np.random.default_rng(0), found.model
    fixed = {
        "inertia": lambda: np.concatenate([body.inertia.parameters for body in model.bodies]),
        "gravity": lambda: model.gravity,
    }

    def columns(name: str, size: int) -> np.ndarray:
        if name == "q":
            return model.random(rng, (count,))
        return np.tile(fixed[name](), (count, 1)) if name in fixed else rng.normal(size=(count, size))

    return np.concatenate([columns(name, size) for name, size in found.arguments], axis=1)
