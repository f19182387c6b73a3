"""LLVM IR of the types, numbers and operations of the kernel language, what stands right of `=`; and of a function's
working memory: on the stack while it is small, else on the heap.

A thread's stack may be as small as 64 kB, a third of which Python and NumPy take, and a kernel is called from any
thread. To take large memory anew at each call costs the system a fault per page, so a function lays one piece aside for
its next call; a thread that finds none there takes its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from ctypes import c_float
from dataclasses import dataclass
from functools import cache
from typing import Any

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.kernel_ir import Type, Value

_KINDS = {"f64": "double", "f32": "float", "i64": "i64", "i32": "i32", "u32": "i32", "i1": "i1"}
_FREEDOMS = {
    kernel_ir.EXACT: "",
    kernel_ir.PLANNED: "nsz arcp ",
    kernel_ir.FREE: "contract reassoc nsz arcp ",
    kernel_ir.ANY_ORDER: "contract reassoc arcp ",
    kernel_ir.IN_ORDER: "contract arcp ",
}
_ALONE = {"memset": "void @llvm.memset.p0.i64(ptr, i8, i64, i1)", "malloc": "ptr @malloc(i64)"}
_ALONE |= {"free": "void @free(ptr)"}
_ALONE |= {"cttz": "i64 @llvm.cttz.i64(i64, i1)", "anew": "ptr @llvm.ptrmask.p0.i64(ptr, i64)"}
_ALONE |= {x: f"{{i64, i1}} @llvm.s{x}.with.overflow.i64(i64, i64)" for x in ("add", "sub", "mul")}


@cache
def type_text(kind: Type) -> str:
    """A type as IR names it."""
    if kind.pointers:
        return "ptr"
    return f"<{kind.lanes} x {_KINDS[kind.kind]}>" if kind.lanes else _KINDS[kind.kind]


def number_text(value: float) -> str:
    """A double exactly."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def single_text(value: float) -> str:
    """The nearest float of 32 bits, told as a double."""
    return number_text(c_float(value).value)


_WORDS: dict[str, Callable[[Any], str]] = {"f64": number_text, "f32": single_text, "i1": lambda x: str(bool(x)).lower()}
_WORDS |= dict.fromkeys(("i64", "i32", "u32"), lambda x: str(int(x)))


def operand(value: Value) -> str:
    """A value without its type."""
    name, kind = value
    if name.__class__ is str:
        return f"%{name}"
    if kind.pointers:
        return "null"
    word = _WORDS[kind.kind](name)
    return "<" + ", ".join([f"{_KINDS[kind.kind]} {word}"] * kind.lanes) + ">" if kind.lanes else word


def with_type(value: Value) -> str:
    """A value with its type."""
    return f"{type_text(value[1])} {operand(value)}"


_ONE_TURN = (
    '!0 = !{!"llvm.loop.unroll.runtime.disable"}',
    '!1 = !{!"llvm.loop.vectorize.enable", i1 false}',
)


class Declared:
    """The functions of LLVM and of the C library that a module uses, in the order of their use."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}
        self.loops = 0

    def alone(self, name: str) -> None:
        """One that there is for one type alone."""
        self.lines[f"declare {_ALONE[name]}"] = None

    def short_loop(self) -> str:
        """The note of another loop that is to stay one turn at a time."""
        self.lines |= dict.fromkeys(_ONE_TURN)
        self.loops += 1
        name = f"!{self.loops + 1}"
        self.lines[f"{name} = distinct !{{{name}, !0, !1}}"] = None
        return name

    def declared_name(self, name: str, kind: Type, operands: int) -> str:
        """The name of one that there is for any number of lanes."""
        text, full = type_text(kind), f"@llvm.{name}.{_short(kind)}"
        self.lines[f"declare {text} {full}({', '.join([text] * operands)})"] = None
        return full

    def general(self, name: str, result: Type, *given: str) -> str:
        """The name of one that is named by the type of its result and by those it is given, these as they are told."""
        first, *others = name.split(" ")
        full = f"@llvm.{first}.{'.'.join([_short(result), *others])}"
        self.lines[f"declare {type_text(result)} {full}({', '.join(given)})"] = None
        return full


def _short(kind: Type) -> str:
    """A type in the name of an intrinsic."""
    return (f"v{kind.lanes}" if kind.lanes else "") + kind.kind


Right = Callable[[Declared, Value, tuple[Value, ...], Any], str]
_INFIX = ("fadd", "fsub", "fmul", "fdiv")


def _infix(operation: str) -> Right:
    def text(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
        a, b = operands
        return f"{operation} {_FREEDOMS[detail]}{type_text(target[1])} {operand(a)}, {operand(b)}"

    return text


def _intrinsic(operation: str) -> Right:
    def text(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
        kind, name = type_text(target[1]), declared.declared_name(operation, target[1], len(operands))
        return f"call {_FREEDOMS[detail]}{kind} {name}({', '.join(f'{kind} {operand(x)}' for x in operands)})"

    return text


def _whole(operation: str) -> Right:
    def text(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
        how = " nsw" if detail == "fits" else ""
        return f"{operation}{how} {with_type(operands[0])}, {operand(operands[1])}"

    return text


def _test(how: str, operation: str) -> Right:
    def text(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
        return f"{how} {operation} {with_type(operands[0])}, {operand(operands[1])}"

    return text


def _cast(word: str) -> Right:
    def text(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
        return f"{word} {with_type(operands[0])} to {type_text(target[1])}"

    return text


def _load(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    return f"load {type_text(target[1])}, ptr {operand(operands[0])}, align {detail}"


def _constant(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    (name, number), kind = detail, target[1]
    size = kind.size * max(kind.lanes, 1)
    place = f"getelementptr (i8, ptr @{name}, i64 {size * number})"
    return f"load {type_text(kind)}, ptr {place}, align {size}, !invariant.load !{{}}"


def _at(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    kind, lanes, pointers, _ = target[1]
    inside = "inbounds " if detail == "fits" else ""
    entry = type_text(Type(kind, lanes, pointers - 1)) if kind != "any" or pointers > 1 else "i8"
    return f"getelementptr {inside}{entry}, ptr {operand(operands[0])}, {with_type(operands[1])}"


def _bytes(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    return f"getelementptr i8, ptr {operand(operands[0])}, i64 {operand(operands[1])}"


def _anew(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    declared.alone("anew")
    return f"call ptr @llvm.ptrmask.p0.i64(ptr {operand(operands[0])}, i64 -8)"


def _cut(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    full = declared.general(f"fptosi.sat {_short(operands[0][1])}", target[1], type_text(operands[0][1]))
    return f"call {type_text(target[1])} {full}({with_type(operands[0])})"


def _sadd_sat(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    kind = type_text(target[1])
    return f"call {kind} {declared.general('sadd.sat', target[1], kind, kind)}({', '.join(map(with_type, operands))})"


def _select(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    return f"select {', '.join(map(with_type, operands))}"


def _put(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    into = operand(operands[0]) if len(operands) == 2 else "poison"
    return f"insertelement {type_text(target[1])} {into}, {with_type(operands[-1])}, i32 {detail}"


def _take(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    return f"extractelement {with_type(operands[0])}, i32 {detail}"


def _pick(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    return f"extractelement {with_type(operands[0])}, {with_type(operands[1])}"


def _lane(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    numbers = ", ".join(f"i64 {lane}" for lane in range(target[1].lanes))
    return f"add {type_text(target[1])} <{numbers}>, zeroinitializer"


def _shuffle(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    chosen = ", ".join(f"i32 {'poison' if i < 0 else i}" for i in detail)
    return f"shufflevector {with_type(operands[0])}, {with_type(operands[1])}, <{len(detail)} x i32> <{chosen}>"


def _table(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    return f"getelementptr i8, ptr @{detail}, i64 0"


def call_text(result: str, function: str | Value, arguments: tuple[Value, ...]) -> str:
    """A call by name or by address."""
    named = f"@{function}" if isinstance(function, str) else operand(function)
    return f"call {result} {named}({', '.join(map(with_type, arguments))})"


def _call(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    function, given = (detail, operands) if detail else (operands[0], operands[1:])
    return call_text(type_text(target[1]), function, given)


def _negate(declared: Declared, target: Value, operands: tuple[Value, ...], detail: Any) -> str:
    return f"fneg {_FREEDOMS[detail]}{with_type(operands[0])}"


RIGHT: dict[str, Right] = {
    **{x: _whole(x) for x in kernel_ir.WHOLE},
    **{x: _infix(x) if x in _INFIX else _intrinsic(x) for x in kernel_ir.FLOATING},
    **{x: _test("icmp", x) for x in kernel_ir.TESTS},
    **{x: _test("fcmp", x) for x in kernel_ir.FLOAT_TESTS},
    **{x: _cast(y) for x, y in (("wide", "zext"), ("float", "sitofp"))},
    **{x: _cast(y) for x, y in (("address", "ptrtoint"), ("place", "inttoptr"))},
    "fneg": _negate,
    "load": _load,
    "constant": _constant,
    "at": _at,
    "bytes": _bytes,
    "anew": _anew,
    "cut": _cut,
    "sadd_sat": _sadd_sat,
    "select": _select,
    "put": _put,
    "take": _take,
    "pick": _pick,
    "lane": _lane,
    "shuffle": _shuffle,
    "table": _table,
    "call": _call,
}
"""The line of IR of each operation that is a single line; the emitter writes the others itself."""


MOST_ON_STACK = 32 * 1024  # bytes that one function of a kernel takes of the stack, at most: half of 64 kB
MOST_LAID_ASIDE = 4 * 1024 * 1024  # bytes; more is given back at once


@dataclass(frozen=True)
class Scratch:
    """Pieces of memory, `entries` doubles in each, that begin at multiples of `align` bytes. `aside` names the global,
    one of `jit.ASIDE`, that points to what the function lays aside; without a name it lays nothing aside."""

    entries: Mapping[str, int]
    align: int
    aside: str = ""
    heap: bool = True  # whether large memory is taken of it

    @property
    def is_on_heap(self) -> bool:
        return self.heap and 8 * sum(self.entries.values()) > MOST_ON_STACK

    @property
    def _rooms(self) -> dict[str, int]:
        return {name: -(-8 * n // self.align) * self.align for name, n in self.entries.items()}

    @property
    def _size(self) -> int:
        return sum(self._rooms.values()) + self.align

    @property
    def _keeps(self) -> bool:
        return bool(self.aside) and self._size <= MOST_LAID_ASIDE

    def declarations(self) -> list[str]:
        """Lines for the module."""
        return [f"@{self.aside} = global i64 0, align 8"] if self.is_on_heap and self._keeps else []

    def opening(self) -> list[str]:
        """Lines that make each piece a pointer of its name."""
        if not self.is_on_heap:
            return [f"  %{name} = alloca [{n} x double], align {self.align}" for name, n in self.entries.items()]
        lines = self._take() if self._keeps else [self._allocate("heap"), "  %heap.i = ptrtoint ptr %heap to i64"]
        lines += [f"  %heap.u = add i64 %heap.i, {self.align - 1}", f"  %heap.e = and i64 %heap.u, {-self.align}"]
        lines += ["  %heap.p = inttoptr i64 %heap.e to ptr"]
        start = 0
        for name, room in self._rooms.items():
            lines.append(f"  %{name} = getelementptr i8, ptr %heap.p, i64 {start}")
            start += room
        return lines

    def _allocate(self, name: str) -> str:
        return f"  %{name} = call ptr @malloc(i64 {self._size})"

    def _take(self) -> list[str]:
        """Lines that take the memory laid aside, or allocate some if another thread has it."""
        return [
            *("  br label %heap.look", "heap.look:"),
            f"  %heap.found = atomicrmw xchg ptr @{self.aside}, i64 0 acq_rel",
            "  %heap.none = icmp eq i64 %heap.found, 0",
            "  br i1 %heap.none, label %heap.make, label %heap.have",
            *("heap.make:", self._allocate("heap.made"), "  %heap.new = ptrtoint ptr %heap.made to i64"),
            *("  br label %heap.have", "heap.have:"),
            "  %heap.i = phi i64 [%heap.found, %heap.look], [%heap.new, %heap.make]",
        ]

    def closing(self) -> list[str]:
        """Lines that lay the memory aside or give it back; the function's last, before it returns."""
        if not self.is_on_heap:
            return []
        if not self._keeps:
            return ["  call void @free(ptr %heap)"]
        return [
            f"  %heap.other = atomicrmw xchg ptr @{self.aside}, i64 %heap.i acq_rel",
            "  %heap.left = inttoptr i64 %heap.other to ptr",
            "  call void @free(ptr %heap.left)",  # of nothing, nothing
        ]
