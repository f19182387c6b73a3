"""One state at a time: a C function of Python that takes contiguous float64 vectors straight to the kernel's block.

NumPy spends a microsecond on any call of a gufunc; a robot's control loop pays it at every tick. Given anything but
plain arrays, of one state or of many (`many.py`), the function returns NotImplemented and its caller takes the long
way.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

from phistar.backends.machine.compiler import Source, machine_code
from phistar.backends.machine.jit import Code, host, kept_by
from phistar.backends.machine.many import HAS_FLAGS, MOST, many_text
from phistar.backends.machine.rows import Signature

_DATA, _AXES, _SHAPE, _STRIDES, _DTYPE, _TYPE = 16, 24, 32, 40, 56, 8  # where an array object has them, in bytes
_PYTHON = ("PyTuple_New", "PyTuple_SetItem", "Py_IncRef", "Py_DecRef", "PyEval_SaveThread", "PyEval_RestoreThread")
_ARRAY_TYPE, _EMPTY, _NEW, _BASE = 2, 184, 94, 282  # in NumPy's array C API: PyArray_Type, PyArray_Empty, …
_NAMES = ("otherwise", "array", "double", "empty", "new", "base", *_PYTHON)  # what `context` holds
_FASTCALL = 0x80  # METH_FASTCALL
_OFF_UNIT = 1.9e-6  # by which a quaternion's square may differ from one: its length then differs by less than 1e-6


def single_text(signature: Signature, batches: bool = False) -> str:
    """`single(self, args, n)`, METH_FASTCALL, over `block`; `context` is filled in when the code is loaded. `batches`:
    there is a `loop`, to which arrays with two axes go."""
    batches = batches and HAS_FLAGS and not signature.flipped
    inputs, lines = len(signature.inputs), ["define ptr @single(ptr %self, ptr %args, i64 %n) #0 {", "entry:"]
    context = [line for number, name in enumerate(_NAMES) for line in _context(number, name)]
    lines += [*context, f"  %fits = icmp eq i64 %n, {inputs}", "  br i1 %fits, label %in0, label %other"]
    for number, rows in enumerate(signature.inputs):
        following = f"in{number + 1}" if number + 1 < inputs else "units"
        lines += _checked(number, rows, following, "batch" if batches and not number else "other")
    lines += ["units:", *_units(signature.units), "  br i1 %off, label %other, label %made0"]
    for number in range(len(signature.outputs)):
        lines += _made(number, len(signature.outputs), len(signature.outputs[number]), signature.flipped)
    arrays = [f"ptr %i{a}, i64 0" for a in range(inputs)] + [f"ptr %d{a}, i64 0" for a in range(len(signature.outputs))]
    lines += ["run:", f"  call void @block({', '.join(arrays)}, i64 0, i64 0)", *_result(len(signature.outputs))]
    if batches:
        lines += ["batch:", "  %two = icmp eq i32 %x0, 2", "  br i1 %two, label %states, label %other"]
        lines += ["states:", "  %found = call ptr @many(ptr %args)", "  ret ptr %found"]
    lines += ["other:", "  call void %Py_IncRef(ptr %otherwise)", "  ret ptr %otherwise"]
    lines += ["failed:", "  ret ptr null", "}", *_FRAMED]
    lines += [many_text(signature, context, _checked_rows(signature))] if batches else []
    shapes = [
        f"@shape{number} = internal constant [{len(shape)} x i64] [{', '.join(f'i64 {n}' for n in shape)}]"
        for number, shape in enumerate(x[::-1] if signature.flipped else x for x in signature.outputs)
    ]
    return "\n".join([f"@context = global [{len(_NAMES)} x ptr] zeroinitializer", *shapes, *lines])


_FRAMED = (
    "define ptr @framed(ptr %self, ptr %args, i64 %n) #0 {",
    "  %given = getelementptr ptr, ptr %args, i64 1",
    "  %count = sub i64 %n, 2",
    "  %made = call ptr @single(ptr %self, ptr %given, i64 %count)",
    "  ret ptr %made",
    "}",
)
"""`framed(model, *arrays, frame)`: its place on the model says what these two are. A tuple without them would take as
long to make as a third of what a small kernel computes."""


def _context(number: int, name: str) -> list[str]:
    return [
        f"  %{name}p = getelementptr ptr, ptr @context, i64 {number}",
        f"  %{name} = load ptr, ptr %{name}p, align 8",
    ]


def _field(name: str, start: str, offset: int, kind: str) -> list[str]:
    return [f"  %{name}p = getelementptr i8, ptr %{start}, i64 {offset}", f"  %{name} = load {kind}, ptr %{name}p"]


def _checked(number: int, rows: int, following: str, otherwise: str) -> list[str]:
    """Go on if argument `number` is an array of float64 with one axis of `rows` entries, 8 bytes apart."""
    n = str(number)
    lines = _array(n, 1, otherwise)
    lines += [f"  %c{n} = load i64, ptr %h{n}", f"  %b{n} = load i64, ptr %s{n}"]
    lines += [f"  %count{n} = icmp eq i64 %c{n}, {rows}", f"  %dense{n} = icmp eq i64 %b{n}, 8"]
    lines += [f"  %row{n} = and i1 %count{n}, %dense{n}", *_field(f"i{n}", f"a{n}", _DATA, "ptr")]
    return [*lines, f"  br i1 %row{n}, label %{following}, label %other"]


def _checked_rows(signature: Signature) -> list[str]:
    """Go on if all arguments are arrays of float64 with two axes, as many rows in each, entries 8 bytes apart."""
    lines: list[str] = []
    for number, rows in enumerate(signature.inputs):
        n, following = str(number), f"in{number + 1}" if number + 1 < len(signature.inputs) else "units"
        lines += [*_array(n, 2, "other"), f"  %c{n} = load i64, ptr %h{n}", f"  %b{n} = load i64, ptr %s{n}"]
        lines += [*_field(f"m{n}", f"h{n}", 8, "i64"), *_field(f"e{n}", f"s{n}", 8, "i64")]
        lines += [f"  %less{n} = sub i64 %c{n}, 1", f"  %few{n} = icmp ult i64 %less{n}, {MOST - 1}"]
        lines += [f"  %same{n} = icmp eq i64 %c{n}, %c0", f"  %count{n} = icmp eq i64 %m{n}, {rows}"]
        lines += [f"  %dense{n} = icmp eq i64 %e{n}, 8", *_field(f"i{n}", f"a{n}", _DATA, "ptr")]
        lines += [f"  %u{n} = and i1 %few{n}, %same{n}", f"  %w{n} = and i1 %count{n}, %dense{n}"]
        lines += [f"  %row{n} = and i1 %u{n}, %w{n}", f"  br i1 %row{n}, label %{following}, label %other"]
    if not signature.units:
        return [*lines, "units:", "  br label %made"]
    lines += ["units:", "  br label %unit", "unit:", "  %state = phi i64 [0, %units], [%state2, %turned]"]
    lines += [*_units(signature.units, "%state"), "  br i1 %off, label %other, label %turned", "turned:"]
    lines += ["  %state2 = add i64 %state, 1", "  %left = icmp slt i64 %state2, %c0"]
    return [*lines, "  br i1 %left, label %unit, label %made"]


def _units(units: tuple[tuple[int, int], ...], state: str = "") -> list[str]:
    """%off: whether a quaternion of a state is not of length one, and no NaN. Whether it is to be refused is decided by
    the long way."""
    lines, found = [], "false"
    for number, (array, start) in enumerate(units):
        row, total = f"%i{array}", "0.0"
        if state:
            lines += [f"  %u{number}o = mul i64 {state}, %b{array}"]
            lines += [f"  %u{number}r = getelementptr i8, ptr {row}, i64 %u{number}o"]
            row = f"%u{number}r"
        for i in range(4):
            name = f"%u{number}x{i}"
            lines += [f"  {name}p = getelementptr double, ptr {row}, i64 {start + i}"]
            lines += [f"  {name} = load double, ptr {name}p, align 8", f"  {name}s = fmul double {name}, {name}"]
            lines += [f"  {name}t = fadd double {total}, {name}s"]
            total = f"{name}t"
        lines += [f"  %u{number}d = fsub double {total}, 1.0", f"  %u{number}n = fneg double %u{number}d"]
        for name, value in (("a", f"%u{number}d"), ("b", f"%u{number}n")):
            lines += [f"  %u{number}{name} = fcmp ogt double {value}, {_OFF_UNIT}"]
            lines += [f"  %u{number}{name}f = or i1 {found}, %u{number}{name}"]
            found = f"%u{number}{name}f"
    return [*lines, f"  %off = or i1 {found}, false"]


def _array(n: str, axes: int, otherwise: str) -> list[str]:
    """Go on with the shape %h and strides %s of argument n if it is an array of float64 with so many axes."""
    lines = [f"in{n}:", f"  %a{n}p = getelementptr ptr, ptr %args, i64 {n}", f"  %a{n} = load ptr, ptr %a{n}p"]
    lines += _field(f"t{n}", f"a{n}", _TYPE, "ptr")
    lines += [f"  %is{n} = icmp eq ptr %t{n}, %array", f"  br i1 %is{n}, label %look{n}, label %other", f"look{n}:"]
    lines += _field(f"k{n}", f"a{n}", _DTYPE, "ptr") + _field(f"x{n}", f"a{n}", _AXES, "i32")
    lines += [f"  %kind{n} = icmp eq ptr %k{n}, %double", f"  %fit{n} = icmp eq i32 %x{n}, {axes}"]
    lines += [f"  %vector{n} = and i1 %kind{n}, %fit{n}", f"  br i1 %vector{n}, label %size{n}, label %{otherwise}"]
    return [*lines, f"size{n}:", *_field(f"h{n}", f"a{n}", _SHAPE, "ptr"), *_field(f"s{n}", f"a{n}", _STRIDES, "ptr")]


def _made(number: int, count: int, axes: int, flipped: bool) -> list[str]:
    """An array for output `number`; flipped, its columns lie together. Its making takes over one reference to the
    dtype."""
    n, following = str(number), f"made{number + 1}" if number + 1 < count else "run"
    lines = [f"made{n}:", "  call void %Py_IncRef(ptr %double)"]
    lines += [f"  %y{n} = call ptr %empty(i32 {axes}, ptr @shape{n}, ptr %double, i32 {int(flipped)})"]
    lines += [f"  %none{n} = icmp eq ptr %y{n}, null", f"  br i1 %none{n}, label %failed, label %got{n}", f"got{n}:"]
    return [*lines, *_field(f"d{n}", f"y{n}", _DATA, "ptr"), f"  br label %{following}"]


def _result(count: int) -> list[str]:
    if count == 1:
        return ["  ret ptr %y0"]
    lines = [f"  %tuple = call ptr %PyTuple_New(i64 {count})", "  %short = icmp eq ptr %tuple, null"]
    lines += ["  br i1 %short, label %failed, label %filled", "filled:"]
    lines += [f"  %set{n} = call i32 %PyTuple_SetItem(ptr %tuple, i64 {n}, ptr %y{n})" for n in range(count)]
    return [*lines, "  ret ptr %tuple"]


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def single_of(function: Any, entry: str = "single") -> Any:
    """The door of a gufunc's code for plain arrays; where it has none, or this Python does not hold arrays as expected,
    something that always gives NotImplemented. The entry "framed" takes a model first and a frame last."""
    kept = kept_by(function)
    if entry not in kept.entries:
        outside = kept.tables and isinstance(kept.signature, Signature) and layout_is_known()
        code = _door(kept.signature, kept.code, kept.tables) if outside else kept.code
        kept.entries[entry] = method_of(code, function.__name__, kept.memory, entry)
    return kept.entries[entry]


def _door(signature: Signature, code: Code, tables: int) -> Code:
    """The door of code that takes a robot's sizes from tables, and so cannot have one inside."""
    _, made = machine_code("door", (signature,), host(), lambda: Source(door_text(signature)))
    behind = (ctypes.c_void_p * 2).from_address(made.engine.get_global_value_address("behind"))
    behind[:] = code.address, tables
    made.keep.append(code)
    return made


def door_text(signature: Signature) -> str:
    """`single` over a `loop` and tables elsewhere, whose addresses `behind` is to hold."""
    arrays, steps = signature.arrays, [*[0] * signature.arrays, *signature.strides]
    given = [f"ptr %a{n}, i64 %s{n}" for n in range(arrays)]
    lines = ["@behind = global [2 x ptr] zeroinitializer", "@one = internal constant i64 1"]
    lines += [f"@steps = internal constant [{len(steps)} x i64] [{', '.join(f'i64 {n}' for n in steps)}]"]
    lines += ["define internal void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %none) #0 {", "entry:"]
    lines += ["  %code = load ptr, ptr @behind", "  %next = getelementptr ptr, ptr @behind, i64 1"]
    lines += ["  %tables = load ptr, ptr %next"]
    lines += ["  call void %code(ptr %args, ptr %dimensions, ptr %steps, ptr %tables)", "  ret void", "}"]
    lines += [f"define internal void @block({', '.join(given)}, i64 %first, i64 %last) #0 {{", "entry:"]
    lines += [f"  %table = alloca [{arrays} x ptr], align 8"]
    for n in range(arrays):
        lines += [f"  %p{n} = getelementptr ptr, ptr %table, i64 {n}", f"  store ptr %a{n}, ptr %p{n}, align 8"]
    lines += ["  call void @loop(ptr %table, ptr @one, ptr @steps, ptr null)", "  ret void", "}"]
    return "\n".join([*lines, single_text(signature, batches=True), "attributes #0 = { nounwind }"])


def method_of(code: Code, name: str, memory: Any = None, entry: str = "single") -> Any:
    """The door for one state of loaded code, and of data that it is given."""
    address = code.engine.get_function_address(entry) if layout_is_known() else 0
    if not address:
        return _absent
    context = (ctypes.c_void_p * len(_NAMES)).from_address(code.engine.get_global_value_address("context"))
    python = (_address(getattr(ctypes.pythonapi, name)) for name in _PYTHON)
    context[:] = (id(NotImplemented), *_array_pointers(), *python)
    method = _Method(name.encode(), address, _FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(method), (method, code, memory), None)  # its `self`: Python keeps pointers


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
    found = (word(_TYPE), word(_DATA), word(_DTYPE), ctypes.c_int.from_address(id(array) + _AXES).value)
    return found == (kind, array.ctypes.data, double, 1) and (first(_SHAPE), first(_STRIDES)) == (3, 8)
