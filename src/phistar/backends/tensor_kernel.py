"""Second derivatives of joint forces as one kernel: the entries of ∂²τ that can be nonzero, symmetric ones once.

The tables ∂τ/∂θ, ∂τ/∂θ̇ and ℳ, as the algebra has them in one common frame (`programs/derivative_program.py`), are
recorded, and the recording is differentiated along every joint's motion. What a joint does not move has no instruction:
an entry (i, j, k) is there where each of the three joints carries, or is carried by, the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.code.packed import module_text
from phistar.backends.code.unsolved import Unsolved
from phistar.backends.kernel import units_of
from phistar.backends.links.common_frame import single_axes
from phistar.backends.machine.compiler import Source, machine_code
from phistar.backends.machine.jit import gufunc, host
from phistar.backends.machine.rows import Signature
from phistar.backends.traces.differentiate import Sparse, tangent_map, tangents, values_of
from phistar.backends.traces.trace import Scalar, Tape, Trace, finish
from phistar.model import Model

TENSORS = ("dqdq", "dqdv", "dvdv", "dadq")
LANES = 4  # states at once: with thousands of results, wider vectors spill more than they gain
Places = dict[str, list[tuple[int, int, int]]]
First = Callable[..., Unsolved | tuple[np.ndarray, ...]]


@dataclass(frozen=True, eq=False)
class TensorKernel:
    """`function(q, v, a)` gives the entries of all tensors in one row, `places` says where they belong; `function` is
    None where no entry can be nonzero."""

    function: Any
    places: dict[str, np.ndarray]
    operations: int


def tensor_kernel(model: Model, first: First, stated: list[str]) -> TensorKernel:
    """Compile ∂²τ of a robot from `first(model, q, v, a)`, the tables that are `stated`."""
    target = host()
    lanes = min(target.lanes, LANES)

    def signature(entries: int) -> Signature:
        return Signature((model.nq, model.nv, model.nv), ((entries,),), units_of(model))

    def source() -> Source:
        trace, places = recorded_tensors(model, first)
        header = {"operations": trace.operations, "places": places}
        text = module_text(trace, signature(len(trace.outputs)), lanes, target.fma, None)
        return Source(text, header)

    header, code = machine_code("tensors", (stated, model.key, lanes), target, source)
    places = {name: np.array(header["places"][name], dtype=np.int64).reshape(-1, 3) for name in TENSORS}
    count = sum(map(len, places.values()))
    doc = f"Second derivatives of the joint forces of {model.name}, compiled."
    function = gufunc(code, signature(count), "second_derivatives", doc) if count else None
    return TensorKernel(function, places, header["operations"])


def contracted_kernel(model: Model, first: First, stated: list[str]) -> Any:
    """Compile Σᵢ wᵢ ∂²τᵢ of a robot: function(q, v, a, w) gives ∂²/∂q∂q, ∂²/∂q∂v, ∂²/∂v∂v and ∂²/∂a∂q, (…, nv, nv)
    each."""
    target, nv = host(), model.nv
    lanes = min(target.lanes, LANES)
    signature = Signature((model.nq, nv, nv, nv), ((nv, nv),) * 4, units_of(model))

    def source() -> Source:
        trace = recorded_contraction(model, first)
        text = module_text(trace, signature, lanes, target.fma, None)
        return Source(text, {"operations": trace.operations})

    _, code = machine_code("contracted tensors", (stated, model.key, lanes), target, source)
    doc = f"Second derivatives of weighted joint forces of {model.name}, compiled."
    return gufunc(code, signature, "weighted_second_derivatives", doc)


def recorded_tensors(model: Model, first: First) -> tuple[Trace, Places]:
    """The instructions of all entries, tensor after tensor, and the places of these."""
    tape = Tape()
    known = _known(model, first, *(tape.inputs((n,)) for n in (model.nq, model.nv, model.nv)))
    return _finished(tape, [x for own in known.values() for x in own.values()]), {n: [*own] for n, own in known.items()}


def recorded_contraction(model: Model, first: First) -> Trace:
    """The instructions of all entries times a weight of each joint force, added up where they belong."""
    tape, nv = Tape(), model.nv
    *given, w = (tape.inputs((n,)) for n in (model.nq, nv, nv, nv))
    known = _known(model, first, *given)
    sums = {name: np.full((nv, nv), 0.0, dtype=object) for name in TENSORS}
    for name, own in known.items():
        made = sums[name]
        for (i, j, k), x in own.items():
            made[j, k] = made[j, k] + w[i] * x
            if name == "dadq" and i != j:
                made[i, k] = made[i, k] + w[j] * x
        if name in ("dqdq", "dvdv"):
            made[np.tril_indices(nv, -1)] = made.T[np.tril_indices(nv, -1)]
    return _finished(tape, [x for made in sums.values() for x in made.reshape(-1)])


def _known(model: Model, first: First, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, dict[Any, Any]]:
    """Of each tensor the entries that can be nonzero, by place, on the tape of q, v and a."""
    tape, sizes = Tape(), (model.nq, model.nv, model.nv)
    made = first(model, *(tape.inputs((n,)) for n in sizes))
    tables = made.solved() if isinstance(made, Unsolved) else made
    trace = _finished(tape, [x for table in tables for x in np.asarray(table).reshape(-1)])
    seeds: dict[int, Sparse] = dict(enumerate(tangent_map(model, q)))
    seeds |= {model.nq + i: {model.nv + i: 1.0} for i in range(model.nv)}
    found = tangents(trace, values_of(trace, [*q, *v, *a]), seeds)
    entries = dict(zip(TENSORS, map(dict, _entries(model, found)), strict=True))
    vanishes = vanishing(model)
    return {
        name: {place: x for place, x in own.items() if _can_change(x) and place not in vanishes.get(name, ())}
        for name, own in entries.items()
    }


def _entries(model: Model, found: list[Sparse]) -> Iterator[Iterator[tuple[tuple[int, int, int], Any]]]:
    """Entries of each tensor by place: by q and v twice from the diagonal on, ∂ℳ above it."""
    nv, rates = model.nv, range(model.nv)
    by_q, by_v, mass = ([[found[(table * nv + i) * nv + j] for j in rates] for i in rates] for table in range(3))
    turned = _turning(model)

    def twice(i: int, j: int, k: int) -> Any:
        """By the tangent of q ⊕ δ, in which second derivatives are symmetric: on a quaternion joint the mean of both
        orders, which differ by the bracket of its axes."""
        if j == k or (j, k) not in turned:
            return by_q[i][j].get(k, 0.0)
        return 0.5 * (by_q[i][j].get(k, 0.0) + by_q[i][k].get(j, 0.0))

    yield (((i, j, k), twice(i, j, k)) for i in rates for j in rates for k in range(j, nv))
    yield (((i, j, k), by_v[i][k].get(j, 0.0)) for i in rates for j in rates for k in rates)
    yield (((i, j, k), by_v[i][j].get(nv + k, 0.0)) for i in rates for j in rates for k in range(j, nv))
    yield (((i, j, k), mass[i][j].get(k, 0.0)) for i in rates for j in range(i, nv) for k in rates)


def vanishing(model: Model) -> dict[str, set[tuple[int, int, int]]]:
    """Places (i, j, k) whose terms cancel. ℳ_ij does not change with a joint k that carries both: it moves all that
    either feels of the other. So a joint of one rate i feels no v_i v_k with such a k, by Christoffel's symbols
    ∂ℳ_ii/∂q_k + ∂ℳ_ik/∂q_i − ∂ℳ_ik/∂q_i, nor does ∂τ_i/∂v_i change with q_k."""
    joint, carries = joints_of_rates(model)
    rates = range(len(joint))
    by = {k: [i for i in rates if carries[joint[k], joint[i]]] for k in rates}
    alone = [(i, k) for k in rates for i in by[k] if joint.count(joint[i]) == 1]
    return {
        "dqdv": {(i, k, i) for i, k in alone},
        "dvdv": {place for i, k in alone for place in ((i, i, k), (i, k, i))},
        "dadq": {(i, j, k) for k in rates for i in by[k] for j in by[k]},
    }


def joints_of_rates(model: Model) -> tuple[list[int], np.ndarray]:
    """The joint of each rate, with constant axes; which joints carry which, each of them itself."""
    single = single_axes(model)
    carries = np.eye(len(single.bodies), dtype=bool)
    for body, parent in enumerate(single.parents):
        if parent >= 0:
            carries[:, body] |= carries[:, parent]
    return [body for body, joint in enumerate(single.joints) for _ in range(joint.nv)], carries


def _turning(model: Model) -> set[tuple[int, int]]:
    """Pairs of rates of one quaternion joint."""
    joints = [joint.v_slice for joint in model.joints if not joint.kind.flat]
    return {(j, k) for own in joints for j in range(own.start, own.stop) for k in range(own.start, own.stop)}


def _can_change(x: Any) -> bool:
    return isinstance(x, Scalar) or x != 0.0


def _finished(tape: Tape, values: list[Any]) -> Trace:
    return finish(tape, [x if isinstance(x, Scalar) else float(x) for x in values])
