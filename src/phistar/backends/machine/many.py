"""Many states in one call, straight to the kernel's loop: what `single.py` does for one state, for plain batches.

NumPy's way takes microseconds to look at arguments and to make room for results: a tenth of the time of some hundred
states. All results of a call are made in one piece, which begins where vectors are stored fastest. Given anything but
contiguous rows of float64, as many in every argument, the function returns NotImplemented; so it does where numbers
overflowed or were invalid, which NumPy then says in its own way.
"""

from __future__ import annotations

import platform

from phistar.backends.machine.rows import Signature, size
from phistar.backends.machine.threads import STATES_PER_THREAD

MOST = 2 * STATES_PER_THREAD  # states: from here on threads share them
HAS_FLAGS = platform.machine().lower() in ("x86_64", "amd64")  # where the processor's flags can be asked for
_LINE = 64  # bytes
_RAISED = 0b011101  # invalid, divided by zero, overflow, underflow
_FLAGS = 0b111111
_PLAIN = 0x501  # NPY_ARRAY_CARRAY


def many_text(signature: Signature, context: list[str], checked: list[str]) -> str:
    """`many(args)` over `loop`. `context`: lines that define what of Python and NumPy is used; `checked`: lines from
    `in0` on that define, of each argument n, its data %i{n} and the distance %b{n} of its rows, and the states %c0."""
    lines = ["define internal ptr @many(ptr %args) #0 {", "entry:", *context]
    for name, entries in (("table", signature.arrays), ("steps", len(_steps(signature))), ("dims", 3), ("word", 1)):
        lines.append(f"  %{name} = alloca [{entries} x i64], align 8")
    lines += ["  br label %in0", *checked, "made:"]
    lines += _array(signature) if len(signature.outputs) == 1 else _tuple(signature)
    lines += [*_told(signature), "  %thread = call ptr %PyEval_SaveThread()", *_stored_flags("before")]
    lines += [f"  %cleared = and i32 %before, {~_FLAGS}", "  store i32 %cleared, ptr %word"]
    lines += ["  call void @llvm.x86.sse.ldmxcsr(ptr %word)"]
    lines += ["  call void @loop(ptr %table, ptr %dims, ptr %steps, ptr null)", *_stored_flags("after")]
    lines += ["  call void %PyEval_RestoreThread(ptr %thread)", f"  %raised = and i32 %after, {_RAISED}"]
    lines += ["  %clean = icmp eq i32 %raised, 0", "  br i1 %clean, label %done, label %spoiled"]
    lines += ["done:", "  ret ptr %result", "spoiled:", "  call void %Py_DecRef(ptr %result)", "  br label %other"]
    lines += ["other:", "  call void %Py_IncRef(ptr %otherwise)", "  ret ptr %otherwise", "failed:", "  ret ptr null"]
    flags = [f"declare void @llvm.x86.sse.{name}mxcsr(ptr)" for name in ("st", "ld")]
    return "\n".join([*flags, *lines, "}"])


def _stored_flags(name: str) -> list[str]:
    return ["  call void @llvm.x86.sse.stmxcsr(ptr %word)", f"  %{name} = load i32, ptr %word"]


def _put(table: str, number: int, value: str, kind: str = "i64", use: str = "") -> list[str]:
    """Lines that make `value` entry `number` of a table; `use` tells names apart."""
    name = f"{table}{number}{use}"
    place = f"  %{name} = getelementptr i64, ptr %{table}, i64 {number}"
    return [place, f"  store {kind} {value}, ptr %{name}, align 8"]


def _shaped(number: int, shape: tuple[int, ...]) -> list[str]:
    """The shape of all states of output `number`."""
    sizes = enumerate(("%c0", *map(str, shape)))
    return [line for axis, n in sizes for line in _put("dims", axis, n, use=f"y{number}")]


def _array(signature: Signature) -> list[str]:
    """Room for one output: an array of its own."""
    (shape,) = signature.outputs
    lines = [*_shaped(0, shape), "  call void %Py_IncRef(ptr %double)"]
    lines += [f"  %result = call ptr %empty(i32 {1 + len(shape)}, ptr %dims, ptr %double, i32 0)"]
    lines += ["  %none = icmp eq ptr %result, null", "  br i1 %none, label %failed, label %run", "run:"]
    return [*lines, "  %datap = getelementptr i8, ptr %result, i64 16", "  %o0 = load ptr, ptr %datap"]


def _tuple(signature: Signature) -> list[str]:
    """Room for several outputs: parts of one array, on whole lines of the cache where their sizes are."""
    sizes = [size(shape) for shape in signature.outputs]
    lines = [f"  %entries = mul i64 %c0, {sum(sizes)}", f"  %room = add i64 %entries, {_LINE // 8}"]
    lines += [*_put("dims", 0, "%room", use="all"), "  call void %Py_IncRef(ptr %double)"]
    lines += ["  %whole = call ptr %empty(i32 1, ptr %dims, ptr %double, i32 0)", "  %none = icmp eq ptr %whole, null"]
    lines += ["  br i1 %none, label %failed, label %place", "place:"]
    lines += ["  %datap = getelementptr i8, ptr %whole, i64 16", "  %data = load i64, ptr %datap"]
    lines += [f"  %beyond = add i64 %data, {_LINE - 1}", f"  %line = and i64 %beyond, {-_LINE}"]
    lines += ["  %o0 = inttoptr i64 %line to ptr", f"  %result = call ptr %PyTuple_New(i64 {len(sizes)})"]
    lines += ["  %missing = icmp eq ptr %result, null", "  br i1 %missing, label %lost, label %y0"]
    for number, shape in enumerate(signature.outputs):
        following = f"y{number + 1}" if number + 1 < len(sizes) else "run"
        lines += _part(number, shape, f"y{number}", following)
        lines += [f"  %n{number} = mul i64 %c0, {8 * sizes[number]}"]
        lines += [f"  %o{number + 1} = getelementptr i8, ptr %o{number}, i64 %n{number}", f"  br label %{following}"]
    release = "  call void %Py_DecRef(ptr %whole)"
    lines += ["short:", "  call void %Py_DecRef(ptr %result)", "  br label %lost"]
    return [*lines, "lost:", release, "  br label %failed", "run:", release]


def _part(number: int, shape: tuple[int, ...], label: str, following: str) -> list[str]:
    """Output `number` as a part of %whole, which it keeps alive, put into the tuple."""
    axes = f"i32 {1 + len(shape)}, ptr %dims, ptr null"
    given = f"ptr %array, ptr %double, {axes}, ptr %o{number}, i32 {_PLAIN}, ptr null"
    lines = [f"{label}:", *_shaped(number, shape), "  call void %Py_IncRef(ptr %double)"]
    lines += [f"  %p{number} = call ptr %new({given})", f"  %none{number} = icmp eq ptr %p{number}, null"]
    lines += [f"  br i1 %none{number}, label %short, label %got{number}", f"got{number}:"]
    lines += ["  call void %Py_IncRef(ptr %whole)", f"  %kept{number} = call i32 %base(ptr %p{number}, ptr %whole)"]
    return [*lines, f"  %set{number} = call i32 %PyTuple_SetItem(ptr %result, i64 {number}, ptr %p{number})"]


def _steps(signature: Signature) -> list[str]:
    """As NumPy tells a gufunc: from state to state in each array, then between the entries of each."""
    outer = [f"%b{n}" for n in range(len(signature.inputs))] + [str(8 * size(shape)) for shape in signature.outputs]
    return outer + [str(n) for n in signature.strides]


def _told(signature: Signature) -> list[str]:
    """Tables of arguments, counts and steps for `loop`."""
    arrays = [f"%i{n}" for n in range(len(signature.inputs))] + [f"%o{n}" for n in range(len(signature.outputs))]
    lines = [line for number, array in enumerate(arrays) for line in _put("table", number, array, "ptr")]
    lines += [line for number, step in enumerate(_steps(signature)) for line in _put("steps", number, step)]
    return [*lines, *_put("dims", 0, "%c0")]
