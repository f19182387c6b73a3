"""Functions of a grasp as kernels: recorded once for each grasp, compiled where the arms are short."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phistar.backends.recorded import Recorded
from phistar.backends.traces.trace import is_traced
from phistar.model import Model

if TYPE_CHECKING:
    from phistar.loops.grasp.holding import Grasp

FORCES = "forces"


class CompiledFunction(NamedTuple):
    """A function of a grasp: its name, its vectors, what it gives, and the function of (grasp, arrays…). `forces` are
    (…, 6l), those of all contacts."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    function: Callable[..., tuple[np.ndarray, ...]]


def call_compiled(grasp: Grasp, what: CompiledFunction, *arrays: Any) -> tuple[Any, ...]:
    """Call a function of a grasp: its kernel where the arms are short, else on arrays."""
    model = grasp.model
    recorded = model.kept((what.name, grasp.object, grasp.contacts), lambda: _record(grasp, what))
    pairs = zip(what.inputs, arrays, strict=True)
    sizes = {name: recorded.size(model, name) for name in what.inputs}
    given = [model.checked_q(x) if name == "q" else model.checked(x, sizes[name], name) for name, x in pairs]
    if is_traced(*given) or not recorded.is_written(model, 8 * len(grasp.loops)):
        return what.function(grasp, *given)
    with np.errstate(invalid="ignore", divide="ignore"):  # a NaN spoils its own row
        made = recorded(model, *given)
    return made if len(what.outputs) > 1 else (made,)


def _record(grasp: Grasp, what: CompiledFunction) -> Recorded:
    shapes = {"acceleration": (grasp.model.nv,), "object": (6,), FORCES: (len(grasp.loops), 6)}
    shapes |= dict.fromkeys(("rank", "condition"), ())

    def of_model(_: Model, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        return what.function(grasp, *arrays)

    return Recorded(
        f"{what.name}: {grasp.object} held by {grasp.contacts}",
        what.inputs,
        what.outputs,
        of_model,
        lambda _: tuple(shapes.get(x, (6, 6)) for x in what.outputs),
        rows=((FORCES, 6 * len(grasp.loops)),),
    )
