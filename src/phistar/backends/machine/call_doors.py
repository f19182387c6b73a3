"""A kernel as its callers hold it and as the disk keeps it, and how Python enters it: public functions and handles as C
functions of Python, which find a kernel's entry and call it at once, and these entries, doors for plain arrays.

A class's `__call__` and the look-ups in it take four times as long as a small kernel. `stated` looks an entry up among
those that a model keeps, by the frame or the one force it is given; `held` has its entries with it, and takes `out=`.
Whatever else they are given goes to the Python function behind them, arguments and all. `door_code.py` and
`python_entries.py` make their code; here it is given what it must know of this Python and NumPy.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache as once
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.machine import cache
from phistar.backends.machine.array_layout import AXES, DATA, DTYPE, NAMES, PYTHON, SHAPE, STRIDES, TYPE
from phistar.backends.machine.jit import (
    Code,
    Signature,
    Source,
    dtype_of,
    gufunc,
    host,
    load_object,
    machine_code,
    objects_of,
)
from phistar.backends.machine.threads import spread

LOOKUPS = (
    *("PyObject_GenericGetDict", "PyDict_GetItem", "PyDict_Size", "PyDict_Next", "PyTuple_GetItem", "PyTuple_Size"),
    *("PyLong_AsSsize_t", "PyObject_Vectorcall", "PyErr_Clear", "Py_DecRef"),
)
KNOWN = ("otherwise", "none", "dict", *LOOKUPS)  # what `known` holds
MOST = 8  # arguments; calls with more go the long way
_TYPE = 8  # where an object has its type, in bytes
_CALL = 0x82  # METH_FASTCALL | METH_KEYWORDS
_FASTCALL = 0x80  # METH_FASTCALL
_ARRAY_TYPE, _EMPTY, _NEW, _BASE = 2, 184, 94, 282  # in NumPy's array C API: PyArray_Type, PyArray_Empty, …


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


@once
def _doors() -> Code:
    """The two functions, compiled or found on disk, once in a process."""

    def source() -> Source:
        from phistar.backends.kernels import llvm_text
        from phistar.backends.machine.door_code import doors_module

        return Source(llvm_text(doors_module()), {"operations": 0})

    _, code = machine_code("doors", (), host(), source, entry="stated")
    known = (ctypes.c_void_p * len(KNOWN)).from_address(code.address_of("known"))
    found = (ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in LOOKUPS)
    known[:] = (id(NotImplemented), id(None), id(dict), *found)
    return code


def single_of(function: Any, entry: str = "single") -> Any:
    """The door of a gufunc's code for plain arrays; where it has none, or this Python does not hold arrays as expected,
    something that always gives NotImplemented. The entry "into" takes the arrays for its results last."""
    kept = objects_of(function)
    if entry not in kept.entries:
        outside = kept.tables and isinstance(kept.signature, Signature) and layout_is_known()
        code = _door(kept.signature, kept.code, kept.tables) if outside else kept.code
        kept.entries[entry] = method_of(code, function.__name__, kept.memory, entry, kept.signature.kind)
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


def method_of(code: Code, name: str, memory: Any = None, entry: str = "single", kind: str = "f64") -> Any:
    """The door for one state of loaded code, of a kind of numbers, and of data that it is given."""
    address = code.address_of(entry) if layout_is_known() else 0
    if not address:
        return _absent
    context = (ctypes.c_void_p * len(NAMES)).from_address(code.address_of("context"))
    python = (_address(getattr(ctypes.pythonapi, name)) for name in PYTHON)
    context[:] = (id(NotImplemented), id(tuple), *_array_pointers(kind), *python)
    return c_function(name, address, _FASTCALL, (code, memory))


def _absent(*arrays: Any) -> Any:
    return NotImplemented


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@once
def _array_pointers(kind: str = "f64") -> tuple[int, ...]:
    """NumPy's array type, a dtype, and its functions: make an array, make one of given memory, keep that alive."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return table[_ARRAY_TYPE] or 0, id(dtype_of(kind)), *(table[place] or 0 for place in (_EMPTY, _NEW, _BASE))


@once
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


@dataclass(frozen=True, eq=False)
class Kernel:
    """`function(q, *inputs)` is a NumPy gufunc; `inputs` and `outputs` name its arguments and results; `counted` are
    its operations per state, or counts them."""

    function: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    counted: int | Callable[[], int]
    shapes: tuple[tuple[int, ...], ...] = ()
    forms: tuple[Any, ...] = ()  # the operations of equal statements, of those that were compiled first

    rows: tuple[int, ...] = ()  # entries of q and of each input
    chosen: Any = None  # the schedule, with what it was compared with
    flipped: bool = False  # whether `single` gives matrices as their transposes
    surrounded: Callable[..., Kernel] | None = None  # makes one kernel of it and of a recording around it

    @cached_property
    def operations(self) -> int:
        """Arithmetic instructions per state."""
        return self.counted() if callable(self.counted) else self.counted

    @cached_property
    def single(self) -> Any:
        """Entry point for one state, or for a plain batch; NotImplemented where it does not fit."""
        return single_of(self.function)

    @cached_property
    def into(self) -> Any:
        """The same for one state with the array, or the tuple of arrays, that the results go to after its arguments."""
        return single_of(self.function, "into")

    def compiled_form(self, wanted: Any) -> Any:
        """The statement that was compiled, of several equal ones."""
        if self.forms:
            return replace(wanted, form=self.forms[0].form, taken=self.forms[0].taken)
        return wanted if self.chosen is None else replace(wanted, taken=self.chosen.forms_taken)

    @property
    def choice(self) -> str:
        """Schedule taken and statement compiled, of several equal ones, with the counts that decided."""
        counted = ", ".join(f"{each.title}: {each.operations} operations" for each in self.forms)
        forms = counted if len(self.forms) < 2 else f"{self.forms[0].title} ({counted})"
        return "\n".join(part for part in (str(self.chosen or ""), forms) if part)

    def __call__(self, q: Any, vectors: Mapping[str, Any]) -> dict[str, np.ndarray]:
        results = spread(self.function, (q, *(vectors[name] for name in self.inputs)), list(self.shapes))
        return dict(zip(self.outputs, results if len(self.outputs) > 1 else (results,), strict=True))


def description(kernel: Kernel) -> dict[str, Any] | None:
    """Plain data that `found_kernel` makes the kernel of again; None of code that is not on disk by itself."""
    if not isinstance(kernel.function, np.ufunc):
        return None
    kept = objects_of(kernel.function)
    if not kept.code.name or kept.tables:
        return None
    rows = kept.signature
    return {
        "code": kept.code.name,
        "signature": [rows.inputs, rows.outputs, rows.units, rows.flipped, rows.kind],
        "inputs": kernel.inputs,
        "outputs": kernel.outputs,
        "operations": kernel.operations,
    }


def found_kernel(told: Mapping[str, Any], title: str) -> Kernel | None:
    """The kernel of a description, unless its code is gone."""
    found = cache.load(told["code"])
    if found is None:
        return None
    inputs, outputs, units, flipped, kind = told["signature"]
    shapes, places = tuple(map(tuple, outputs)), tuple((array, start) for array, start in units)
    signature = Signature(tuple(inputs), shapes, places, flipped, kind)
    function = gufunc(load_object(found[1], name=told["code"]), signature, title, f"{title}, compiled.")
    names, results = tuple(told["inputs"]), tuple(told["outputs"])
    return Kernel(function, names, results, told["operations"], shapes, (), signature.inputs, flipped=flipped)
