"""Kernels that compiled loops call: `ask(address, given)` runs one in place on arrays, without Python.

`given` is where a record lies of the kernel's inner loop and of what NumPy would hand to it: pointers to the arrays,
one row of each, and their strides.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from phistar.backends.kernels import I64, PLACE, Func, Module, llvm_text
from phistar.backends.kernels import Code as Function
from phistar.backends.machine.jit import Code, Source, host, machine_code, objects_of
from phistar.backends.one_state import Formula


@dataclass(frozen=True, eq=False)
class KernelCall:
    """Address and argument of an `ask`, and what must live as long as they are used."""

    address: int
    given: int
    kept: tuple[Any, ...]


@cache
def _door() -> Code:
    return machine_code("kernel call", (), host(), lambda: Source(llvm_text(_module())))[1]


def _module() -> Module:
    """`called(given)`: the record at an address says which code is called, and with what."""
    code = Function("called", given=I64)
    code.inner, code.result = False, I64
    record = code["given"].place(PLACE.to)
    called, *given = (record.at(number).load(kind=PLACE) for number in range(5))
    code.call(called, *given)
    code.give(code.whole(0))
    return Module((code.function, Func("loop", (), (), inner=False)))


def kernel_call(
    function: Any, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], rows: np.ndarray | None = None
) -> KernelCall:
    """A gufunc's kernel on contiguous arrays of float64, one state; no output shares memory with an input. With `rows`
    (1,), read at each call, so many states: of arrays with two axes a row each."""
    kept, door = objects_of(function), _door()
    given = (*inputs, *outputs)
    sizes = [(x.size if rows is None or x.ndim == 1 else x.shape[1], x.dtype, x.flags.c_contiguous) for x in given]
    assert sizes == [(int(np.prod(shape)), np.float64, True) for shape in kept.signature.shapes]
    arrays = np.array([x.ctypes.data for x in given], dtype=np.int64)
    outer = [0 if rows is None or x.ndim == 1 else x.strides[0] for x in given]
    rows = np.ones(1, np.int64) if rows is None else rows
    steps = np.array([*outer, *kept.signature.strides], dtype=np.int64)
    pointers = [kept.code.address, arrays.ctypes.data, rows.ctypes.data, steps.ctypes.data, kept.tables]
    record = np.array(pointers, dtype=np.int64)
    held = function, door, inputs, outputs, arrays, rows, steps, record
    return KernelCall(door.address_of("called"), record.ctypes.data, held)


def lane_call(formula: Formula, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> KernelCall:
    """The same in lanes: arrays (…, lanes) of contiguous float64 that begin where whole vectors are read at once."""
    lanes = outputs[0].shape[-1]
    sizes = [*formula.sizes, *(int(np.prod(shape)) for shape in formula.shapes)]
    given = (*inputs, *outputs)
    assert [(x.size, x.dtype, x.flags.c_contiguous) for x in given] == [(n * lanes, np.float64, True) for n in sizes]
    code, record = formula.in_lanes(lanes), np.array([x.ctypes.data for x in given], dtype=np.int64)
    held = code, inputs, outputs, record
    return KernelCall(code.address_of("called"), record.ctypes.data, held)


def python_call(
    function: Callable[..., Sequence[Any]],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    failed: Callable[[Exception], None],
) -> KernelCall:
    """The same of a function that is no kernel; what it raises goes to `failed`: nothing passes compiled code."""

    def call(_: int) -> int:
        try:
            for output, value in zip(outputs, function(*(x.copy() for x in inputs)), strict=True):
                output[...] = np.asarray(value).reshape(output.shape)
        except Exception as error:
            failed(error)
        return 0

    door = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(call)
    return KernelCall(ctypes.cast(door, ctypes.c_void_p).value or 0, 0, (door,))
