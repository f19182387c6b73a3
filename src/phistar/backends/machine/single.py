"""The doors of a kernel for plain arrays, as Python calls them: `python_entries.py` makes their code, here it is given
what it must know of this Python and NumPy."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

from phistar.backends.machine.array_layout import AXES, DATA, DTYPE, NAMES, PYTHON, SHAPE, STRIDES, TYPE
from phistar.backends.machine.call_doors import c_function
from phistar.backends.machine.compiler import Source, machine_code
from phistar.backends.machine.jit import Code, host, objects_of
from phistar.backends.machine.rows import Signature

_ARRAY_TYPE, _EMPTY, _NEW, _BASE = 2, 184, 94, 282  # in NumPy's array C API: PyArray_Type, PyArray_Empty, …
_FASTCALL = 0x80  # METH_FASTCALL


def single_of(function: Any, entry: str = "single") -> Any:
    """The door of a gufunc's code for plain arrays; where it has none, or this Python does not hold arrays as expected,
    something that always gives NotImplemented. The entry "into" takes the arrays for its results last."""
    kept = objects_of(function)
    if entry not in kept.entries:
        outside = kept.tables and isinstance(kept.signature, Signature) and layout_is_known()
        code = _door(kept.signature, kept.code, kept.tables) if outside else kept.code
        kept.entries[entry] = method_of(code, function.__name__, kept.memory, entry)
    return kept.entries[entry]


def _door(signature: Signature, code: Code, tables: int) -> Code:
    """The door of code that takes a robot's sizes from tables, and so cannot have one inside."""

    def source() -> Source:
        from phistar.backends.kernels import llvm_text
        from phistar.backends.machine.python_entries import door_module

        return Source(llvm_text(door_module(signature)))

    _, made = machine_code("door", (signature,), host(), source)
    behind = (ctypes.c_void_p * 2).from_address(made.address_of("behind"))
    behind[:] = code.address, tables
    made.keep.append(code)
    return made


def method_of(code: Code, name: str, memory: Any = None, entry: str = "single") -> Any:
    """The door for one state of loaded code, and of data that it is given."""
    address = code.address_of(entry) if layout_is_known() else 0
    if not address:
        return _absent
    context = (ctypes.c_void_p * len(NAMES)).from_address(code.address_of("context"))
    python = (_address(getattr(ctypes.pythonapi, name)) for name in PYTHON)
    context[:] = (id(NotImplemented), id(tuple), *_array_pointers(), *python)
    return c_function(name, address, _FASTCALL, (code, memory))


def _absent(*arrays: Any) -> Any:
    return NotImplemented


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _array_pointers() -> tuple[int, ...]:
    """NumPy's array type, its float64, and its functions: make an array, make one of given memory, keep that alive."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return table[_ARRAY_TYPE] or 0, id(np.dtype(np.float64)), *(table[place] or 0 for place in (_EMPTY, _NEW, _BASE))


@cache
def layout_is_known() -> bool:
    """Whether objects of this Python and NumPy are laid out as `single` reads them: tried on an array."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    array = np.arange(3.0)
    word = lambda offset: ctypes.c_size_t.from_address(id(array) + offset).value  # noqa: E731
    first = lambda offset: ctypes.c_int64.from_address(word(offset)).value  # noqa: E731
    kind, double, *_ = _array_pointers()
    found = (word(TYPE), word(DATA), word(DTYPE), ctypes.c_int.from_address(id(array) + AXES).value)
    return found == (kind, array.ctypes.data, double, 1) and (first(SHAPE), first(STRIDES)) == (3, 8)
