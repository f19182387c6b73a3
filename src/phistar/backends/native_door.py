"""Loops written in Python as a function of arrays: compiled once, kept on disk, called with little ado."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import getsource
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from phistar.backends.code.native import Layout, arrays_used, arrays_written, loops_module, tree_of
from phistar.backends.code.native_arithmetic import (
    BY_ZERO,
    FAULT,
    NEGATIVE,
    NOT_EXACT,
    NOT_FINITE,
    OUTSIDE,
    TOO_LONG,
)
from phistar.backends.kernels import (
    F64,
    I64,
    LANED,
    PLACE,
    Func,
    LaneMemory,
    Module,
    lane_arrays,
    llvm_text,
    vector,
    widen,
)
from phistar.backends.kernels import Code as Function
from phistar.backends.machine.call_doors import method_of
from phistar.backends.machine.jit import Code, Signature, Source, host, machine_code
from phistar.backends.machine.python_entries import entries_module
from phistar.backends.one_state import fresh
from phistar.errors import PhistarError, ShapeError, StatementError

MOST_KEPT = 64  # functions; others are found on disk again
Shapes = Mapping[str, tuple[int, ...]]
Named = tuple[tuple[str, tuple[int, ...]], ...]
Numbers = tuple[tuple[str, float], ...]
_FAULTS = {
    OUTSIDE: "an index was outside its array",
    BY_ZERO: "a number was divided by 0",
    TOO_LONG: "a whole number did not fit into 64 bits",
    NOT_FINITE: "a whole number was made of NaN or infinity",
    NEGATIVE: "the square root of a negative number was taken",
    NOT_EXACT: "a whole number beyond 2⁵³ was taken as a float, which has fewer digits",
}


class LoopError(PhistarError):
    """A compiled loop did what Python raises an exception for."""


def native(
    functions: Sequence[Callable[..., Any]],
    inputs: Shapes,
    outputs: Shapes,
    constants: Mapping[str, float],
    checked: bool = False,
) -> Callable[..., tuple[np.ndarray, ...]]:
    """The last of `functions`, which takes Arrays alone, as `made(*inputs) → outputs`: contiguous float64 vectors, as
    long as the inputs' shapes say, go in, in their order; the outputs are made, and filled by it. `checked`: what
    Python would raise an exception for, and whole numbers beyond 64 bits, raise LoopError."""
    numbers = tuple(sorted(constants.items()))
    return _make(tuple(functions), tuple(inputs.items()), tuple(outputs.items()), numbers, checked)


@lru_cache(maxsize=MOST_KEPT)
def _make(
    functions: tuple[Callable[..., Any], ...], inputs: Named, outputs: Named, constants: Numbers, checked: bool
) -> Callable[..., tuple[np.ndarray, ...]]:
    """Kept, because reading the sources takes longer than loading what was made from them."""
    shapes = dict(inputs) | dict(outputs)
    signature = Signature(tuple(prod(shape) for _, shape in inputs), tuple(shape for _, shape in outputs))
    trees = {function.__name__: tree_of(function) for function in functions}
    main = functions[-1].__name__
    changed = arrays_written(trees[main], trees) & {name for name, _ in inputs}
    if changed:
        raise StatementError(f"{main}: writes to {', '.join(sorted(changed))}, which it is given to read.")
    lengths = {name: prod(shape) for name, shape in shapes.items()} if checked else None
    loops = loops_module(functions, dict(constants), Layout(_columns(shapes), (), lengths))
    doors = _doors(main, arrays_used(trees[main], trees), list(shapes))
    return _load(llvm_text(loops.with_(doors, entries_module(signature))), signature, checked)


@lru_cache(maxsize=MOST_KEPT)
def _load(text: str, signature: Signature, checked: bool) -> Callable[..., tuple[np.ndarray, ...]]:
    code = _code(text)
    single, plain = method_of(code, "native"), _plain(code, signature)
    if checked:
        return plain

    def call(*inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        made = single(*inputs)
        if made is NotImplemented:
            made = single(*(fresh(vector) for vector in inputs))
        if made is NotImplemented:
            return plain(*inputs)
        return (made,) if len(signature.outputs) == 1 else made

    return call


def _code(text: str) -> Code:
    """The machine code of a module: found on disk, or compiled and kept there."""
    return machine_code("native", (text,), host(), lambda: Source("", loops=text))[1]


def _columns(shapes: Shapes) -> dict[str, int]:
    return {name: prod(shape[1:]) for name, shape in shapes.items() if len(shape) > 1}


def _doors(main: str, used: Sequence[str], names: Sequence[str]) -> Module:
    """`block`, which the door for one state calls, and `plain`, for a Python whose arrays are laid out otherwise."""
    given = {key: kind for name in names for key, kind in ((name, F64.to), (f"{name}.s", I64))}
    block, plain = Function("block", **given, first=I64, last=I64), Function("plain", **dict.fromkeys(names, F64.to))
    for code in (block, plain):
        code.call(main, *(code[name] for name in used))
    _give_fault(plain)
    return Module((block.function, plain.function, Func("loop", (), (), inner=False)))


def _give_fault(code: Function) -> None:
    """The end of a function that is called from outside: what was wrong in its loops."""
    code.inner, code.result, code.prefix = False, I64, "e."
    place = code.table(FAULT.name, I64.to)
    wrong = place.load()
    place.store(0)
    code.give(wrong)


def _plain(code: Code, signature: Signature) -> Callable[..., tuple[np.ndarray, ...]]:
    """Through ctypes: arrays of any layout, on any Python."""
    kinds = [ctypes.c_void_p] * signature.arrays
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(code.address_of("plain"))
    function.code = code  # type: ignore[attr-defined]  # ctypes keeps its address alone

    def call(*inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        given = [np.ascontiguousarray(x, dtype=np.float64).reshape(-1) for x in inputs]
        sizes = tuple(x.size for x in given)
        if sizes != signature.inputs:
            raise ShapeError(f"Arrays of {', '.join(map(str, signature.inputs))} entries are needed, not of {sizes}.")
        outputs = tuple(np.zeros(shape) for shape in signature.outputs)
        _check(function(*(x.ctypes.data for x in (*given, *outputs))))
        return outputs

    return call


def _check(fault: int) -> None:
    if fault:
        raise LoopError(f"In a compiled loop {_FAULTS[fault]}.")


def bind_call(
    functions: Sequence[Callable[..., Any]],
    arrays: Mapping[str, np.ndarray],
    constants: Mapping[str, float],
    checked: bool = False,
) -> Callable[[], None]:
    """The last of `functions`, which takes Arrays alone, as a call without arguments that works in place on `arrays`:
    contiguous, float64 or int64, with one axis or two, no two of them in the same memory. The code knows row lengths
    but no array's number of rows (unless `checked`), so that scenes of all sizes share it."""
    wholes = tuple(sorted(name for name, x in arrays.items() if x.dtype == np.int64))
    columns = tuple(sorted((name, x.shape[1]) for name, x in arrays.items() if x.ndim == 2))
    lengths = tuple(sorted((name, x.size) for name, x in arrays.items())) if checked else None
    numbers = tuple(sorted(constants.items()))
    function, used = _entry(tuple(functions), wholes, columns, lengths, numbers)
    held = [arrays[name] for name in used]
    _check_memory(functions[-1].__name__, used, held)
    table = np.array([x.ctypes.data for x in held], dtype=np.int64)
    address = table.ctypes.data

    def call() -> None:
        fault = function(address)
        if fault:
            _check(fault)

    call.kept = (held, table)  # type: ignore[attr-defined]  # the memory that it works on
    return call


class LaneLoops:
    """The last of `functions` in `lanes` lanes at once, as a call without arguments that works in place: of the arrays
    that it writes, but for those that are `plain`, every lane has its own, a last axis of `own`, which begin as the
    arrays are; the others are read where they lie (`kernels/widen.py`). What is asked outside writes to `outside`."""

    def __init__(
        self,
        functions: Sequence[Callable[..., Any]],
        arrays: Mapping[str, np.ndarray],
        constants: Mapping[str, float],
        lanes: int,
        plain: Sequence[str] = (),
        outside: Sequence[str] = (),
    ) -> None:
        wholes = tuple(sorted(name for name, x in arrays.items() if x.dtype == np.int64))
        columns = tuple(sorted((name, x.shape[1]) for name, x in arrays.items() if x.ndim == 2))
        numbers = tuple(sorted(constants.items()))
        apart = tuple(plain), tuple(outside)
        self._function, self.used = _entry(tuple(functions), wholes, columns, None, numbers, lanes, *apart)
        self.lanes, self.name = lanes, functions[-1].__name__
        self.own = {name.removesuffix(LANED): np.zeros(0) for name in self.used if name.endswith(LANED)}
        self._held, self._table = [np.zeros(0)] * len(self.used), np.zeros(len(self.used), np.int64)
        self.bind(arrays)

    def bind(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Work on these arrays from now on; what lanes have of arrays that keep their shape stays. Whether some did
        not."""
        grown = [name for name, kept in self.own.items() if kept.shape[:-1] != arrays[name].shape]
        for name in grown:
            self.own[name] = aligned_zeros((*arrays[name].shape, self.lanes), arrays[name].dtype)
            self.own[name][...] = arrays[name][..., None]
        held = [self.own[n.removesuffix(LANED)] if n.endswith(LANED) else arrays[n] for n in self.used]
        others = [i for i, (x, y) in enumerate(zip(held, self._held, strict=True)) if x is not y]
        _check_memory(self.name, [self.used[i] for i in others], [held[i] for i in others], 3)
        self._table[others], self._held = [held[i].ctypes.data for i in others], held
        return bool(grown)

    def __call__(self) -> None:
        fault = self._function(self._table.ctypes.data)
        if fault:
            _check(fault)


def aligned_zeros(shape: tuple[int, ...], kind: Any) -> np.ndarray:
    """Zeros that begin where whole vectors are read at once."""
    raw = np.zeros(prod(shape) + 8, kind)
    start = -(raw.ctypes.data // 8) % 8
    return raw[start : start + prod(shape)].reshape(shape)


def _check_memory(main: str, names: Sequence[str], arrays: Sequence[np.ndarray], axes: int = 2) -> None:
    for name, x in zip(names, arrays, strict=True):
        if x.dtype not in (np.float64, np.int64) or not x.flags.c_contiguous or not 1 <= x.ndim <= axes:
            raise StatementError(f"{main}: {name} is no contiguous vector or table of float64 or int64.")
    spans = sorted((x.ctypes.data, x.nbytes, name) for name, x in zip(names, arrays, strict=True))
    for (start, size, name), (other, _, second) in pairwise(spans):
        if start + size > other:
            raise StatementError(f"{main}: {name} and {second} lie in the same memory.")


@lru_cache(maxsize=MOST_KEPT)
def _entry(
    functions: tuple[Callable[..., Any], ...],
    wholes: tuple[str, ...],
    columns: tuple[tuple[str, int], ...],
    lengths: tuple[tuple[str, int], ...] | None,
    constants: Numbers,
    lanes: int = 0,
    plain: tuple[str, ...] = (),
    outside: tuple[str, ...] = (),
) -> tuple[Any, tuple[str, ...]]:
    """`run(table)`, the table being of pointers to the arrays that are used, and their names. Names of functions of the
    package say enough: the cache knows its sources."""
    own = [f"{f.__module__}.{f.__name__}" for f in functions if f.__module__.startswith("phistar.")]
    others = [getsource(f) for f in functions if not f.__module__.startswith("phistar.")]

    def source() -> Source:
        layout = Layout(dict(columns), wholes, None if lengths is None else dict(lengths), calls=True)
        made, main = loops_module(functions, dict(constants), layout), functions[-1].__name__
        used = [str(array.name) for array in made.functions[-1].parameters]
        if lanes:
            memory = LaneMemory.of(made, dict(columns), plain, outside)
            made = widen(made, lanes, memory)
            used = [each for name in used for each in lane_arrays(name, memory)]
        return Source("", {"used": used}, llvm_text(made.with_(_run(main, used, wholes, lanes))))

    made_from = own, others, wholes, columns, lengths, constants, lanes, plain, outside
    header, code = machine_code("loops in place", made_from, host(), source)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(code.address_of("run"))
    function.code = code  # type: ignore[attr-defined]  # ctypes keeps its address alone
    return function, tuple(header["used"])


def _run(main: str, used: Sequence[str], wholes: Sequence[str], lanes: int) -> Module:
    """`run(table)` of pointers to the arrays that are used, in all lanes."""
    code = Function("run", table=PLACE.to)
    kinds = [vector(lanes * x.endswith(LANED), "i64" if x.removesuffix(LANED) in wholes else "f64").to for x in used]
    given = [code["table"].at(number).load(kind=kind) for number, kind in enumerate(kinds)]
    code.call(main, *given, *([code.like(True, vector(lanes, "i1"))] if lanes else []))
    _give_fault(code)
    return Module((code.function, Func("loop", (), (), inner=False)))
