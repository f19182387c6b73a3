"""A trace as a function of what already lies in lanes: arrays of which every entry is one vector, as compiled loops in
lanes have them (`kernels/widen.py`).

`called(given, lanes)`: at the address `given` lie pointers to the inputs and to the outputs; of these only the lanes
are written whose bits are set.
"""

from __future__ import annotations

from phistar.backends.code.packed import planned_body
from phistar.backends.code.sincos import nearer_inputs, turning_module
from phistar.backends.kernels import (
    F64,
    I64,
    Code,
    Func,
    Local,
    Module,
    Value,
    fill_function,
    kernel_ir,
    llvm_text,
    vector,
)
from phistar.backends.machine.jit import Signature, size
from phistar.backends.traces.trace import Trace


def lane_text(trace: Trace, signature: Signature, lanes: int, fma: bool) -> str:
    """The module of a trace in lanes."""
    fixed = {i: float(trace.outputs[i]) for i, constant in enumerate(trace.output_is_constant) if constant}
    places = [i for i in range(len(trace.outputs)) if i not in fixed]
    body = planned_body(trace, places, sum(signature.inputs), vector(lanes), fma)
    tables, fill = fill_function(fixed, lanes)
    sizes = [*signature.inputs, *(size(shape) for shape in signature.outputs)]
    counts = {"in": sum(signature.inputs), "out": len(trace.outputs), "rows": 1, "scratch": body.slot_count}
    code = Code("called", given=I64, lanes=I64)
    code.inner, code.result = False, I64
    kinds = {name: F64.to.to if name == "rows" else F64.to for name in counts}
    rooms = {x: code.room(max(n, 1) * lanes, 8 * lanes, "block.aside", kinds[x]) for x, n in counts.items()}
    arrays = [code["given"].place(F64.to.to).at(number).load(kind=F64.to) for number in range(len(sizes))]
    inputs = len(signature.inputs)
    _copy_in(code, rooms["in"], arrays[:inputs], sizes[:inputs], lanes)
    nearer_inputs(code, rooms["in"], sorted(body.near), lanes)
    code.call("fill", rooms["out"])
    for name in body.names:
        code.call(name, *(rooms[x] for x in ("in", "out", "rows", "scratch")))
    _copy_out(code, rooms["out"], arrays[inputs:], sizes[inputs:], lanes)
    code.give(code.whole(0))
    doors = Module((fill, code.function, Func("loop", (), (), inner=False)), tuple(tables))
    return llvm_text(turning_module(lanes).with_(body.module(), doors))


def _copy_in(code: Code, packed: Local, arrays: list[Local], sizes: list[int], lanes: int) -> None:
    start = 0
    for array, count in zip(arrays, sizes, strict=True):
        with code.loop(0, count) as entry:
            value = array.at(entry * lanes).load(lanes, 8 * lanes)
            packed.at((entry + start) * lanes).store(value, 8 * lanes)
        start += count


def _copy_out(code: Code, packed: Local, arrays: list[Local], sizes: list[int], lanes: int) -> None:
    whole, start = vector(lanes, "i64"), 0
    one, none = (Local(code, Value(number, whole)) for number in (1, 0))
    bit = code.let(whole, "shl", one, code.let(whole, "lane"))
    asked = code.let(whole, "and", code.let(whole, "every", code["lanes"]), bit)
    mask = code.let(vector(lanes, "i1"), "ne", asked, none)
    for array, count in zip(arrays, sizes, strict=True):
        with code.loop(0, count) as entry:
            value = packed.at((entry + start) * lanes).load(lanes, 8 * lanes)
            code.put(kernel_ir.Masked(value.value, array.at(entry * lanes).value, mask.value))
        start += count
