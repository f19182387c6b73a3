"""The gufunc's inner loop: blocks of states where rows are contiguous, row copies where they are not."""

from __future__ import annotations

from phistar.backends.kernels import I64, Code, Func, Local, Type, kernel_ir
from phistar.backends.machine.jit import Signature, size

APART = "row_by_row"


def entry() -> Code:
    """`void loop(char **args, intp *dimensions, intp *steps, void *data)`, as NumPy calls it."""
    code = Code("loop", args=kernel_ir.TABLES, dimensions=I64.read, steps=I64.read, data=kernel_ir.TABLES)
    code.inner = False
    return code


def loop_functions(signature: Signature, lanes: int) -> list[Func]:
    """`void loop(char **args, intp *dimensions, intp *steps, void *data)` over `block`, and what it calls."""
    code, shapes = entry(), signature.shapes
    count, steps = code["dimensions"].load(), code["steps"]
    arrays: list[Local] = []
    for a in range(signature.arrays):
        arrays += [code["args"].at(a).load(kind=Type(signature.kind).to), steps.at(a).load()]
    strides = [steps.at(signature.arrays + axis).load() for axis in range(len(signature.strides))]
    contiguous = None
    sizes = [n for shape in shapes for n in shape]
    for n, stride, dense in zip(sizes, strides, signature.strides, strict=True):
        if n > 1:
            same = stride.same(dense)
            contiguous = same if contiguous is None else contiguous & same

    def fast() -> None:
        with code.loop(0, count, lanes) as first:
            code.call("block", *arrays, first, count - 1)

    if contiguous is None:
        fast()
    else:
        code.branch(contiguous, fast, lambda: code.call(APART, *arrays, *strides, count))
    return [_row_by_row(signature), code.function] if contiguous is not None else [code.function]


def _row_by_row(signature: Signature) -> Func:
    """One state at a time through contiguous copies of its rows."""
    base = Type(signature.kind).to
    bases = {name: kind for a in range(signature.arrays) for name, kind in ((f"b{a}", base), (f"s{a}", I64))}
    axes = {f"k{a}x{axis}": I64 for a, shape in enumerate(signature.shapes) for axis in range(len(shape))}
    code, inputs = Code(APART, **bases, **axes, count=I64), len(signature.inputs)
    rooms = [code.room(max(size(shape), 1), 64, "loop.aside", base) for shape in signature.shapes]
    with code.loop(0, code["count"]) as j:
        for a in range(inputs):
            _copy(code, a, signature.shapes[a], rooms[a], j, loading=True)
        code.call("block", *(x for room in rooms for x in (room, 0)), 0, 0)
        for a in range(inputs, signature.arrays):
            _copy(code, a, signature.shapes[a], rooms[a], j, loading=False)
    return code.function


def _copy(code: Code, a: int, shape: tuple[int, ...], room: Local, state: Local, loading: bool) -> None:
    """Between the strided entries of an array, the last axis fastest, and a contiguous copy."""
    row = code[f"b{a}"].bytes(state * code[f"s{a}"])
    with code.loop(0, size(shape)) as e:
        rest, offset = e, code.whole(0)
        for axis in range(len(shape) - 1, -1, -1):
            index = rest % shape[axis] if axis else rest
            rest = rest // shape[axis] if axis else rest
            offset = index * code[f"k{a}x{axis}"] + offset if axis < len(shape) - 1 else index * code[f"k{a}x{axis}"]
        outside, inside = row.bytes(offset), room.at(e)
        source, target = (outside, inside) if loading else (inside, outside)
        target.store(source.load())
