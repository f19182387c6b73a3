"""Second derivatives of joint forces as one kernel: the entries of ∂²τ that can be nonzero, symmetric ones once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.choice import TABLE_LANES
from phistar.backends.code.packed import module_text
from phistar.backends.kernel import units_of
from phistar.backends.machine.jit import Signature, Source, gufunc, host, machine_code
from phistar.backends.programs.triple_tables import TENSORS
from phistar.backends.traces.trace import Scalar, Tape, Trace, finish
from phistar.model import Model

Places = Mapping[str, np.ndarray]
Entries = Callable[[np.ndarray, np.ndarray, np.ndarray], Mapping[str, np.ndarray]]
"""From q, v and a to the entries of each tensor."""


@dataclass(frozen=True, eq=False)
class TensorKernel:
    """`function(q, v, a)` gives the entries of all tensors in one row, `places` says where they belong."""

    function: Any
    places: Places
    operations: int


def tensor_kernel(model: Model, entries: Entries, places: Places, stated: list[str]) -> TensorKernel:
    """Compile ∂²τ of a robot: the `entries` at `places` of what is `stated`."""
    target = host()
    lanes = min(target.lanes, TABLE_LANES)

    def signature(count: int) -> Signature:
        return Signature((model.nq, model.nv, model.nv), ((count,),), units_of(model))

    def source() -> Source:
        trace, kept = recorded_tensors(model, entries, places)
        header = {"operations": trace.operations, "places": {name: own.tolist() for name, own in kept.items()}}
        return Source(module_text(trace, signature(len(trace.outputs)), lanes, target.fma, None), header)

    header, code = machine_code("tensors", (stated, model.key, lanes), target, source)
    kept = {name: np.array(header["places"][name], dtype=np.int64).reshape(-1, 3) for name in TENSORS}
    count = sum(map(len, kept.values()))
    doc = f"Second derivatives of the joint forces of {model.name}, compiled."
    function = gufunc(code, signature(count), "second_derivatives", doc) if count else _nothing
    return TensorKernel(function, kept, header["operations"])


def _nothing(q: np.ndarray, *vectors: np.ndarray) -> np.ndarray:
    return np.zeros((*np.broadcast_shapes(*(x.shape[:-1] for x in (q, *vectors))), 0))


def contracted_kernel(model: Model, entries: Entries, places: Places, stated: list[str]) -> Any:
    """Compile Σᵢ wᵢ ∂²τᵢ of a robot: function(q, v, a, w) gives ∂²/∂q∂q, ∂²/∂q∂v, ∂²/∂v∂v and ∂²/∂a∂q, (…, nv, nv)
    each."""
    target, nv = host(), model.nv
    lanes = min(target.lanes, TABLE_LANES)
    signature = Signature((model.nq, nv, nv, nv), ((nv, nv),) * 4, units_of(model))

    def source() -> Source:
        trace = recorded_contraction(model, entries, places)
        text = module_text(trace, signature, lanes, target.fma, None)
        return Source(text, {"operations": trace.operations})

    _, code = machine_code("contracted tensors", (stated, model.key, lanes), target, source)
    doc = f"Second derivatives of weighted joint forces of {model.name}, compiled."
    return gufunc(code, signature, "weighted_second_derivatives", doc)


def recorded_tensors(model: Model, entries: Entries, places: Places) -> tuple[Trace, dict[str, np.ndarray]]:
    """The instructions of all entries, tensor after tensor, and the places of those that are not zero."""
    tape = Tape()
    found = entries(*(tape.inputs((n,)) for n in (model.nq, model.nv, model.nv)))
    kept = {name: np.array([can_change(x) for x in found[name]], dtype=bool) for name in TENSORS}
    trace = finish(tape, [x for name in TENSORS for x in found[name][kept[name]]])
    return trace, {name: places[name][kept[name]] for name in TENSORS}


def recorded_contraction(model: Model, entries: Entries, places: Places) -> Trace:
    """The instructions of all entries times a weight of each joint force, added up where they belong."""
    tape, nv = Tape(), model.nv
    *given, w = (tape.inputs((n,)) for n in (model.nq, nv, nv, nv))
    found = entries(*given)
    sums = {name: np.full((nv, nv), 0.0, dtype=object) for name in TENSORS}
    for name, made in sums.items():
        for (i, j, k), x in zip(places[name].tolist(), found[name], strict=True):
            made[j, k] = made[j, k] + w[i] * x
            if name == "dadq" and i != j:
                made[i, k] = made[i, k] + w[j] * x
        if name in ("dqdq", "dvdv"):
            made[np.tril_indices(nv, -1)] = made.T[np.tril_indices(nv, -1)]
    return finish(tape, [x for made in sums.values() for x in made.reshape(-1)])


def can_change(x: Any) -> bool:
    return isinstance(x, Scalar) or x != 0.0
