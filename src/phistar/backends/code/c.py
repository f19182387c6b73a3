"""A trace as C99: straight-line functions over plain arrays, that need nothing but <math.h> and keep no state.

Constants are hexadecimal, hence exact. Long traces are cut into functions as for machine code (`llvm.py`), with the
values that cross a cut in an array on the stack, so that C compilers need linear time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap
from typing import Any

from phistar.backends.code.llvm import cut
from phistar.backends.kernels import Table, c_text, instruction, number
from phistar.backends.traces.registers import residence
from phistar.backends.traces.trace import CONST, INPUT, Trace

_C_WORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"""
_OTHER_WORDS = """sin cos sqrt fabs printf main worst i scale error asm bool catch class constexpr const_cast decltype
delete dynamic_cast explicit export false friend mutable namespace new noexcept nullptr operator private protected
public reinterpret_cast static_assert static_cast template this thread_local throw true try typeid typename using
virtual wchar_t and or not xor"""  # what a function and its example call, their own variables, and the words of C++
_KEYWORDS, _TAKEN = frozenset(_C_WORDS.split()), frozenset(_OTHER_WORDS.split())
LONGEST = 100
# Compilers join functions that are called once, and need quadratic time for what comes of it.
_APART = ["#if defined(__GNUC__)", "#define APART __attribute__((noinline))", "#elif defined(_MSC_VER)"]
_APART += ["#define APART __declspec(noinline)", "#else", "#define APART", "#endif", ""]
SCRATCH, WORK = "between", "work"  # what crosses from one part to the next; where loops keep their numbers
SHORTEST_RUN = 8  # numbers that are copied as they are in a loop
MOST_ON_STACK = 32_768  # doubles of work that a function takes of the stack


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
    """void name(const double *argument, …, double *result, …): arrays are contiguous, matrices row by row. Slots are
    the arguments, then the results of each step; those of the last are the function's."""

    name: str
    steps: tuple[CTrace | CCall, ...]
    arguments: tuple[tuple[str, int], ...]
    results: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def calls(self) -> tuple[CCall, ...]:
        return tuple(step for step in self.steps if isinstance(step, CCall))

    @property
    def work(self) -> int:
        """Doubles that the caller lends, as a last argument, where they are too many for a stack."""
        most = max((call.work for call in self.calls), default=0)
        return most if most > MOST_ON_STACK else 0

    @property
    def prototype(self) -> str:
        names = [name for name, _ in (*self.arguments, *self.results)]
        return f"void {self.name}({self.parameters([*names, *([WORK] if self.work else [])])})"

    def parameters(self, names: Sequence[str], read: Iterable[str] | None = None) -> str:
        """Arrays as parameters; what is only `read`, by default the arguments, is constant."""
        fixed = {name for name, _ in self.arguments} if read is None else set(read)
        return ", ".join(f"const double *{name}" if name in fixed else f"double *{name}" for name in names)

    @cached_property
    def slots(self) -> list[tuple[str, int]]:
        """Names and sizes of the arrays that steps hand on."""
        found, last = list(self.arguments), self.steps[-1]
        for step in self.steps:
            names = [f"slot{len(found) + i}" for i in range(len(step.sizes))]
            found += zip([name for name, _ in self.results] if step is last else names, step.sizes, strict=True)
        return found

    def header(self, comment: Sequence[str]) -> str:
        """The declaration, under a comment."""
        guard = f"{self.name.upper()}_H"
        lines = ["/*", *(f" * {line}".rstrip() for text in comment for line in wrap(text, 110) or [""]), " */"]
        lines += [f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
        lines += [f"{self.prototype};", "", "#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */"]
        return "\n".join(lines) + "\n"

    def source(self) -> str:
        """The definition."""
        phases, calls, at = [], [], len(self.arguments)
        for k, step in enumerate(self.steps):
            given, made = [self.slots[n] for n in step.slots], self.slots[at : at + len(step.sizes)]
            at += len(step.sizes)
            if isinstance(step, CCall):
                names = ", ".join([WORK, *(name for name, _ in (*given, *made))])
                calls.append(f"    {self.name}_call{k}_{step.functions[-1].name}({names});")
            else:
                tag = "" if k + 1 == len(self.steps) else f"_step{k}"
                phases.append(_Phase(self, step.trace, given, made, tag))
                calls += phases[-1].calls()
        several = sum(len(phase.parts) for phase in phases) > 1
        lines = ["#include <math.h>", "", f'#include "{self.name}.h"', "", *(_APART if several else [])]
        for k, step in enumerate(self.steps):
            if isinstance(step, CCall):
                lines.append(c_text(step.functions, step.tables, f"{self.name}_call{k}_"))
        for phase in phases:
            lines += phase.functions("APART " if several else "")
        used = {name for phase in phases for part in phase.parts for name in part.used}
        used |= {self.slots[n][0] for call in self.calls for n in call.slots}
        unused = [f"    (void){name};" for name, _ in self.arguments if name not in used]
        return "\n".join([*lines, self.prototype, "{", *self._locals(phases), *unused, *calls, "}"]) + "\n"

    def _locals(self, phases: Sequence[_Phase]) -> list[str]:
        sizes = {SCRATCH: max(phase.slot_count for phase in phases)}
        sizes |= dict(self.slots[len(self.arguments) : len(self.slots) - len(self.results)])
        sizes[WORK] = 0 if self.work else max((call.work for call in self.calls), default=0)
        return [f"    double {name}[{size}];" for name, size in sizes.items() if size]

    def place(self, position: int, arrays: Sequence[tuple[str, int]]) -> tuple[str, str]:
        """(array, element) of a value counted through all arrays."""
        name, index, _ = self.spot(position, arrays)
        return name, f"{name}[{index}]"

    def spot(self, position: int, arrays: Sequence[tuple[str, int]]) -> tuple[str, int, int]:
        """The array of a value counted through all arrays, its number in that, and how many there are from it on."""
        for name, size in arrays:
            if position < size:
                return name, position, size - position
            position -= size
        raise AssertionError(position)

    @property
    def outputs(self) -> tuple[tuple[str, int], ...]:
        return tuple((name, math.prod(shape)) for name, shape in self.results)


Arrays = Sequence[tuple[str, int]]


class _Phase:
    """A trace as functions, and the arrays its results go to."""

    def __init__(self, function: CFunction, trace: Trace, inputs: Arrays, outputs: Arrays, name: str) -> None:
        self.function, self.trace, self.inputs, self.outputs = function, trace, inputs, outputs
        cuts = cut(list(range(len(trace.code))))
        plan = residence(cuts, self._operands, lambda index: trace.code[index][0] >= INPUT, len(trace.code))
        self.copies = _copies(trace)
        self.copied = {position for start, _, count in self.copies for position in range(start, start + count)}
        bounds = [(part[0], part[-1] + 1) if part else (0, 0) for part in cuts]  # without an instruction: constants
        self.parts = [part for part in (_Part(self, plan.slots, *pair) for pair in bounds) if part.lines]
        self.names = [f"{function.name}{name}_part{index}" for index in range(len(self.parts))]
        self.slot_count = plan.slot_count

    def _operands(self, index: int) -> tuple[int, ...]:
        op, left, right = self.trace.code[index]
        return tuple(x for x in dict.fromkeys((left, right)) if x is not None) if op < INPUT else ()

    def functions(self, apart: str) -> list[str]:
        lines = []
        read = [name for name, _ in self.inputs]
        for part, name in zip(self.parts, self.names, strict=True):
            given = self.function.parameters(part.used, read)
            lines += [f"{apart}static void {name}({given})", "{", *part.lines, "}", ""]
        return lines

    def calls(self) -> list[str]:
        return [f"    {name}({', '.join(part.used)});" for part, name in zip(self.parts, self.names, strict=True)]


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

    def __init__(self, phase: _Phase, slots: dict[int, int], start: int, stop: int) -> None:
        function = phase.function
        self.function, self.phase, self.slots, self.start = function, phase, slots, start
        self.lines: list[str] = []
        self.known: set[int] = set()
        self.touched: set[str] = set()
        for index in range(start, stop):
            if phase.trace.code[index][0] < INPUT:
                self.instruction(index)
        outputs = zip(phase.trace.outputs, phase.trace.output_is_constant, strict=True)
        for position, (value, constant) in enumerate(outputs):
            if position in phase.copied:
                continue
            if constant and start == 0:
                self.result(position, number(float(value)))
            elif not constant and start <= int(value) < stop:
                self.result(position, self.operand(int(value)))
        for run in phase.copies if start == 0 else ():
            self.copy(*run)
        order = [name for name, _ in phase.inputs] + [SCRATCH] + [name for name, _ in phase.outputs]
        self.used = [name for name in order if name in self.touched]

    def copy(self, start: int, first: int, count: int) -> None:
        """Results from `start` on that are inputs from `first` on, array by array."""
        while count:
            source, target = (
                self.function.spot(first, self.phase.inputs),
                self.function.spot(start, self.phase.outputs),
            )
            several = min(count, source[2], target[2])
            self.touched |= {source[0], target[0]}
            places = f"{target[0]}[{target[1]} + k] = {source[0]}[{source[1]} + k]"
            self.lines.append(f"    for (int k = 0; k < {several}; k++) {places};")
            start, first, count = start + several, first + several, count - several

    def instruction(self, index: int) -> None:
        op, left, right = self.phase.trace.code[index]
        a, b = self.operand(left), "" if right is None else self.operand(right)
        value = instruction(op, a, b)
        self.lines.append(f"    const double x{index} = {value};")
        self.known.add(index)
        if index in self.slots:
            self.touched.add(SCRATCH)
            self.lines.append(f"    {SCRATCH}[{self.slots[index]}] = x{index};")

    def operand(self, index: int) -> str:
        """A value of this part; what comes from outside is read once."""
        op, value, _ = self.phase.trace.code[index]
        if op == CONST:
            return number(value)
        if index not in self.known:
            self.known.add(index)
            if op == INPUT:
                array, element = self.function.place(value, self.phase.inputs)
            else:
                array, element = SCRATCH, f"{SCRATCH}[{self.slots[index]}]"
            self.touched.add(array)
            self.lines.append(f"    const double x{index} = {element};")
        return f"x{index}"

    def result(self, position: int, value: str) -> None:
        array, element = self.function.place(position, self.phase.outputs)
        self.touched.add(array)
        self.lines.append(f"    {element} = {value};")
