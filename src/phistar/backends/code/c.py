"""A trace as a C function: kernel programs over plain arrays, that need nothing but <math.h> and keep no state; as a
module of WebAssembly, or an object file for a processor, too.

Constants are hexadecimal, hence exact. Long traces are cut into functions as for machine code (`straight_line.py`),
with the values that cross a cut in an array on the stack, so that C compilers need linear time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from textwrap import wrap
from typing import Any

from phistar.backends.code.plain_trace import PlainTrace
from phistar.backends.code.straight_line import cut
from phistar.backends.kernels import (
    I64,
    LIBRARY,
    Func,
    Let,
    Module,
    Outside,
    Statement,
    Store,
    Table,
    Type,
    Unit,
    Value,
    c_header,
    c_prototype,
    c_source,
    c_text,
    kernel_ir,
    llvm_text,
    wasm_module,
)
from phistar.backends.machine.jit import Target, portable_object
from phistar.backends.traces.registers import residence
from phistar.backends.traces.trace import CONST, INPUT, Trace

_C_WORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"""
# What a function and its example call, their own variables, and the words of C++.
_OTHER_WORDS = """sin cos sqrt sinf cosf sqrtf fabs printf main worst i scale error asm bool catch class
constexpr const_cast decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept
nullptr operator private protected public reinterpret_cast static_assert static_cast template this thread_local
throw true try typeid typename using virtual wchar_t and or not xor"""
_KEYWORDS, _TAKEN = frozenset(_C_WORDS.split()), frozenset(_OTHER_WORDS.split())
LONGEST = 100
SCRATCH, WORK = "between", "work"  # what crosses from one part to the next; where loops keep their numbers
SHORTEST_RUN = 8  # numbers that are copied as they are in a loop
MOST_ON_STACK = 32_768  # numbers of work that a function takes of the stack


def identifier(text: str) -> str:
    """A C name that resembles the text, not too long for a file."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", text[-LONGEST:]).strip("_") or "robot"
    return f"_{name}" if name[0].isdigit() or name in _KEYWORDS else name


def variables(names: Iterable[str], function: str) -> list[str]:
    """C names for the arguments and results of a function, all different, that mean nothing else inside it."""
    found: list[str] = []
    for text in names:
        name = identifier(text)
        while (
            name in _TAKEN
            or name in (*found, function, SCRATCH, WORK)
            or re.fullmatch(r"x\d+|slot\d+|.*_(expected|part\d+)", name)
        ):
            name += "_"
        found.append(name)
    return found


def plain(text: str) -> str:
    """Text that can stand in a C comment whatever a robot file called its parts: ASCII, one line, no comment marks."""
    printable = "".join(c if " " <= c <= "~" else f"<U+{ord(c):04X}>" for c in text)
    return printable.replace("*/", "* /").replace("/*", "/ *").replace("??/", "?? /").replace("\\", "/")


@dataclass(frozen=True, eq=False)
class CTrace:
    """Instructions: the slots that they read, the sizes of their results."""

    trace: Trace
    slots: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CCall:
    """A kernel with loops: the slots that it is given, the sizes of its results, its functions and tables, the last
    function first given so many doubles of `work`."""

    slots: tuple[int, ...]
    sizes: tuple[int, ...]
    functions: tuple[Any, ...]
    tables: tuple[Table, ...]
    work: int


@dataclass(frozen=True)
class CFunction:
    """A function of its arguments, then its results: arrays are contiguous, matrices row by row. Slots are
    the arguments, then the results of each step; those of the last are the function's. `kind`: of the numbers, 32 bits
    only without loops; `most_on_stack`: of them, beyond which the caller lends the memory to work in."""

    name: str
    steps: tuple[CTrace | CCall, ...]
    arguments: tuple[tuple[str, int], ...]
    results: tuple[tuple[str, tuple[int, ...]], ...]
    kind: str = "f64"
    most_on_stack: int = MOST_ON_STACK

    @property
    def calls(self) -> tuple[CCall, ...]:
        return tuple(step for step in self.steps if isinstance(step, CCall))

    @property
    def work(self) -> int:
        """Numbers that the caller lends, as a last argument, where they are too many for a stack."""
        total = sum(self._rooms.values())
        return total if total > self.most_on_stack else 0

    @property
    def stacked(self) -> int:
        """Numbers that wait on the stack between the function's parts."""
        return 0 if self.work else sum(self._rooms.values())

    @cached_property
    def slots(self) -> list[tuple[str, int]]:
        """Names and sizes of the arrays that steps hand on."""
        found, last = list(self.arguments), self.steps[-1]
        for step in self.steps:
            names = [f"slot{len(found) + i}" for i in range(len(step.sizes))]
            found += zip([name for name, _ in self.results] if step is last else names, step.sizes, strict=True)
        return found

    @property
    def prototype(self) -> str:
        return c_prototype(self.function)

    def header(self, comment: Sequence[str]) -> str:
        """The declaration, under a comment."""
        return c_header(self.function, [line for text in comment for line in wrap(text, 110) or [""]])

    @cached_property
    def phases(self) -> dict[int, Phase]:
        """The traces among the steps, as functions."""
        made, at = {}, len(self.arguments)
        for k, step in enumerate(self.steps):
            given, results = [self.slots[n] for n in step.slots], self.slots[at : at + len(step.sizes)]
            at += len(step.sizes)
            if isinstance(step, CTrace):
                tag = "" if k + 1 == len(self.steps) else f"_step{k}"
                made[k] = Phase(f"{self.name}{tag}", step.trace, given, results, self.kind)
        return made

    @cached_property
    def function(self) -> Func:
        """The function itself, which calls those of its steps."""
        entry = Type(self.kind)
        names = {name: Value(name, entry.read) for name, _ in self.arguments}
        made = {name: Value(name, entry.to) for name, _ in (*self.slots[len(self.arguments) :],)}
        made |= {name: Value(name, entry.to) for name in (SCRATCH, WORK)}
        known, results = names | made, [made[name] for name, _ in self.results]
        body, start = list[Statement](), 0
        for name, n in self._rooms.items():
            if not self.work:
                body.append(Let(made[name], "room", (), (n, 8, "")))
            elif name != WORK:
                body.append(Let(made[name], "at", (made[WORK], Value(start, I64))))
            start += n
        at = len(self.arguments)
        for k, step in enumerate(self.steps):
            if isinstance(step, CCall):
                given = [
                    *(self.slots[n][0] for n in step.slots),
                    *(x for x, _ in self.slots[at : at + len(step.sizes)]),
                ]
                body.append(kernel_ir.Call(self._kernel(k, step), tuple(known[name] for name in (WORK, *given))))
            else:
                body += [kernel_ir.Call(x.name, tuple(known[y] for y in x.used)) for x in self.phases[k].parts]
            at += len(step.sizes)
        lent = [made[WORK]] if self.work else []
        return Func(self.name, (*names.values(), *results, *lent), tuple(body), inner=False)

    def _kernel(self, number: int, step: CCall) -> str:
        return f"{self._prefix(number)}{step.functions[-1].name}"

    def _prefix(self, number: int) -> str:
        return f"{self.name}_call{number}_"

    @property
    def loops(self) -> list[Unit]:
        """The kernels with loops among the steps."""
        calls = ((k, step) for k, step in enumerate(self.steps) if isinstance(step, CCall))
        return [Unit(step.functions, step.tables, self._prefix(k)) for k, step in calls]

    @property
    def parts(self) -> list[_Part]:
        """The traces among the steps, cut into functions."""
        return [part for phase in self.phases.values() for part in phase.parts]

    @property
    def _rooms(self) -> dict[str, int]:
        """Memory to work in: the numbers in each of its parts, in order."""
        sizes = {WORK: max((call.work for call in self.calls), default=0)}
        sizes[SCRATCH] = max(phase.slot_count for phase in self.phases.values())
        sizes |= dict(self.slots[len(self.arguments) : len(self.slots) - len(self.results)])
        return {name: size for name, size in sizes.items() if size}

    def source(self) -> str:
        """The definition."""
        split = len(self.parts) > 1
        elsewhere = [Outside(f"{unit.prefix}{unit.functions[-1].name}", _types(unit)) for unit in self.loops]
        own = [part.function(split) for part in self.parts]
        texts = [c_text(*unit) for unit in self.loops]
        return c_source(self.name, [*texts, c_text([*own, self.function], outside=elsewhere)], split)

    def object_code(self, target: Target) -> bytes:
        """The definition as an object file for a processor."""
        elsewhere = (Outside(f"{unit.prefix}{unit.functions[-1].name}", _types(unit)) for unit in self.loops)
        own = (*(part.function(False) for part in self.parts), self.function)
        modules = [Module(own, outside=(*elsewhere, *LIBRARY))]
        for unit in self.loops:
            *others, last = unit.functions
            entry = replace(last, name=f"{unit.prefix}{last.name}", inner=False)
            modules.append(Module((*others, entry), unit.tables, outside=LIBRARY))
        return portable_object([llvm_text(module, heap=False) for module in modules], target)

    def web_module(self) -> bytes:
        """The definition as a module of WebAssembly."""
        own = Unit((*(part.function(False) for part in self.parts), self.function))
        return wasm_module([*self.loops, own], self.name)

    @property
    def outputs(self) -> tuple[tuple[str, int], ...]:
        return tuple((name, math.prod(shape)) for name, shape in self.results)


Arrays = Sequence[tuple[str, int]]


def _types(unit: Unit) -> tuple[Type, ...]:
    """Types of the parameters of a unit's entry."""
    return tuple(x.type for x in unit.functions[-1].parameters)


def _spot(position: int, arrays: Arrays) -> tuple[str, int, int]:
    """The array of a value counted through all arrays, its number in that, and how many there are from it on."""
    for name, size in arrays:
        if position < size:
            return name, position, size - position
        position -= size
    raise AssertionError(position)


class Phase:
    """A trace as functions, and the arrays its results go to."""

    def __init__(self, name: str, trace: Trace, inputs: Arrays, outputs: Arrays, kind: str) -> None:
        self.trace, self.inputs, self.outputs, self.kind = trace, inputs, outputs, kind
        cuts = cut(list(range(len(trace.code))))
        plan = residence(cuts, self._operands, lambda index: trace.code[index][0] >= INPUT, len(trace.code))
        self.copies = _copies(trace)
        self.copied = {position for start, _, count in self.copies for position in range(start, start + count)}
        bounds = [(part[0], part[-1] + 1) if part else (0, 0) for part in cuts]  # without an instruction: constants
        made = (_Part(self, plan.slots, *pair) for pair in bounds)
        self.parts = [part for part in made if part.plain.lines]
        for number, part in enumerate(self.parts):
            part.name = f"{name}_part{number}"
        self.slot_count = plan.slot_count

    def _operands(self, index: int) -> tuple[int, ...]:
        op, left, right = self.trace.code[index]
        return tuple(x for x in dict.fromkeys((left, right)) if x is not None) if op < INPUT else ()


def _copies(trace: Trace) -> list[tuple[int, int, int]]:
    """Runs of outputs that are neighbouring inputs: the first of each, and how many, where that is worth a loop."""
    runs: list[tuple[int, int, int]] = []
    for position, (value, constant) in enumerate(zip(trace.outputs, trace.output_is_constant, strict=True)):
        op, number, _ = (CONST, 0, 0) if constant else trace.code[int(value)]
        if op != INPUT:
            continue
        start, first, count = runs[-1] if runs else (0, 0, 0)
        if count and (start + count, first + count) == (position, number):
            runs[-1] = start, first, count + 1
        else:
            runs.append((position, number, 1))
    return [run for run in runs if run[2] >= SHORTEST_RUN]


class _Part:
    """The statements start … stop of a trace, and the arrays they use, in the order of the prototype."""

    def __init__(self, phase: Phase, slots: dict[int, int], start: int, stop: int) -> None:
        self.phase, self.slots, self.name = phase, slots, ""
        self.touched: set[str] = set()
        self.plain, trace = PlainTrace(phase.trace, self._locate_input, phase.kind), phase.trace
        for index in range(start, stop):
            if trace.code[index][0] < INPUT:
                made = self.plain.make(index)
                if index in slots:
                    self.plain.store(made, self._array(SCRATCH), slots[index])
        outputs = zip(trace.outputs, trace.output_is_constant, strict=True)
        for position, (value, constant) in enumerate(outputs):
            here = start == 0 if constant else start <= int(value) < stop
            if here and position not in phase.copied:
                name, entry, _ = _spot(position, phase.outputs)
                self.plain.store(self.plain.output(position), self._array(name), entry)
        for run in phase.copies if start == 0 else ():
            self._copy(*run)
        order = [name for name, _ in phase.inputs] + [SCRATCH] + [name for name, _ in phase.outputs]
        self.used = [name for name in order if name in self.touched]

    def function(self, called: bool) -> Func:
        return Func(self.name, tuple(map(self._array, self.used)), tuple(self.plain.lines), called=called)

    def _array(self, name: str) -> Value:
        self.touched.add(name)
        entry = Type(self.phase.kind)
        return Value(name, entry.read if name in dict(self.phase.inputs) else entry.to)

    def _locate_input(self, index: int) -> tuple[Value, int]:
        """Address of an input value."""
        op, number, _ = self.phase.trace.code[index]
        name, entry = _spot(number, self.phase.inputs)[:2] if op == INPUT else (SCRATCH, self.slots[index])
        return self._array(name), entry

    def _copy(self, start: int, first: int, count: int) -> None:
        """Results from `start` on that are inputs from `first` on, array by array."""
        while count:
            source, target = _spot(first, self.phase.inputs), _spot(start, self.phase.outputs)
            several = min(count, source[2], target[2])
            tag = len(self.plain.lines)
            k, value = Value(f"k{tag}", I64), Value(f"copied{tag}", self.plain.kind)
            places = [self._array(x[0]) for x in (source, target)]
            moved = [Value(f"{name}{tag}", x.type) for name, x in zip(("from", "to"), places, strict=True)]
            body: list[Statement] = [Let(x, "at", (y, k)) for x, y in zip(moved, places, strict=True)]
            body.append(Let(value, "read", (moved[0],), self.plain.place(source[1])))
            body.append(Store(value, moved[1], self.plain.kind.size, offset=self.plain.place(target[1])[0]))
            self.plain.lines.append(kernel_ir.For(k, Value(0, I64), Value(several, I64), 1, tuple(body)))
            start, first, count = start + several, first + several, count - several
