"""Public functions and handles as C functions of Python: they find a kernel's entry and call it at once.

A class's `__call__` and the look-ups in it take four times as long as a small kernel. `stated` looks an entry up among
those that a model keeps, by the frame or the one force it is given; `held` has its entries with it, and takes `out=`.
Whatever else they are given goes to the Python function behind them, arguments and all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from phistar.backends.machine.jit import Code as Loaded
from phistar.backends.machine.jit import host

PYTHON = (
    *("PyObject_GenericGetDict", "PyDict_GetItem", "PyDict_Size", "PyDict_Next", "PyTuple_GetItem", "PyTuple_Size"),
    *("PyLong_AsSsize_t", "PyObject_Vectorcall", "PyErr_Clear", "Py_DecRef"),
)
NAMES = ("otherwise", "none", "dict", *PYTHON)  # what `known` holds
MOST = 8  # arguments; calls with more go the long way
_TYPE = 8  # where an object has its type, in bytes
_CALL = 0x82  # METH_FASTCALL | METH_KEYWORDS


def stated_door(slot: str, slow: Callable[..., Any], frame: int, forces: int) -> Any:
    """`f(model, *arrays)` as a C function: the entry is `model.__dict__[slot][key]`, called with the arrays alone.

    `frame` is the place of the argument that is the key, `forces` that of a dictionary {key: array}; 0 where there is
    none, and without either the key is None. `slow(…)` is called where there is no entry, or it does not fit.
    """
    return _function("stated", (slot, slow, frame, forces, "f_ext"))


def held_door(single: Any, into: Any, slow: Callable[..., Any]) -> Any:
    """`f(*arrays, out=None)` as a C function: `single(*arrays)`, or `into(*arrays, out)`, or `slow`."""
    return _function("held", (single, slow, into, "out"))


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def c_function(name: str, address: int, flags: int, kept: tuple[Any, ...]) -> Any:
    """Loaded code as a function of Python whose `self` is the tuple `kept`, its own description at the end."""
    method = _Method(name.encode(), address, flags, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(method), (*kept, method), None)  # Python keeps a pointer to it


def _function(name: str, kept: tuple[Any, ...]) -> Any:
    code = _doors()
    return c_function(name, code.address_of(name), _CALL, (*kept, code))


@cache
def _doors() -> Loaded:
    """The two functions, compiled or found on disk, once in a process."""
    from phistar.backends.machine.compiler import Source, machine_code

    def source() -> Source:
        from phistar.backends.kernels import llvm_text
        from phistar.backends.machine.door_code import doors_module

        return Source(llvm_text(doors_module()), {"operations": 0})

    _, code = machine_code("doors", (), host(), source, entry="stated")
    known = (ctypes.c_void_p * len(NAMES)).from_address(code.address_of("known"))
    found = (ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in PYTHON)
    known[:] = (id(NotImplemented), id(None), id(dict), *found)
    return code
