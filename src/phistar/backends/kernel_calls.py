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

from phistar.backends.machine.compiler import Source, machine_code
from phistar.backends.machine.jit import Code, host, kept_by

_TEXT = """
define i64 @called(i64 %given) {
  %record = inttoptr i64 %given to ptr
  %code = load ptr, ptr %record, align 8
  %args.p = getelementptr ptr, ptr %record, i64 1
  %args = load ptr, ptr %args.p, align 8
  %rows.p = getelementptr ptr, ptr %record, i64 2
  %rows = load ptr, ptr %rows.p, align 8
  %steps.p = getelementptr ptr, ptr %record, i64 3
  %steps = load ptr, ptr %steps.p, align 8
  %data.p = getelementptr ptr, ptr %record, i64 4
  %data = load ptr, ptr %data.p, align 8
  call void %code(ptr %args, ptr %rows, ptr %steps, ptr %data)
  ret i64 0
}
define void @loop() {
  ret void
}
"""


@dataclass(frozen=True, eq=False)
class KernelCall:
    """Address and argument of an `ask`, and what must live as long as they are used."""

    address: int
    given: int
    kept: tuple[Any, ...]


@cache
def _door() -> Code:
    return machine_code("kernel call", (_TEXT,), host(), lambda: Source(_TEXT))[1]


def kernel_call(
    function: Any, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], rows: np.ndarray | None = None
) -> KernelCall:
    """A gufunc's kernel on contiguous arrays of float64, one state; no output shares memory with an input. With `rows`
    (1,), read at each call, so many states: of arrays with two axes a row each."""
    kept, door = kept_by(function), _door()
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
    return KernelCall(door.engine.get_function_address("called"), record.ctypes.data, held)


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
