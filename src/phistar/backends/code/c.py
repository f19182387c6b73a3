"""A trace as C99: straight-line functions over plain arrays, that need nothing but <math.h> and keep no state.

Constants are hexadecimal, hence exact. Long traces are cut into functions as for machine code (`llvm.py`), with the
values that cross a cut in an array on the stack, so that C compilers need linear time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from phistar.backends.code.llvm import cut
from phistar.backends.traces.registers import residence
from phistar.backends.traces.trace import ADD, CONST, COS, DIV, INPUT, MUL, NEG, SIGN, SIN, SQRT, SUB, Trace
from phistar.errors import StatementError

_INFIX = {ADD: "+", SUB: "-", MUL: "*", DIV: "/"}
_CALL = {SIN: "sin", COS: "cos", SQRT: "sqrt"}
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
SCRATCH = "between"  # what crosses from one part to the next


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
            name in _TAKEN or name in (*found, function, SCRATCH) or re.fullmatch(r"x\d+|.*_(expected|part\d+)", name)
        ):
            name += "_"
        found.append(name)
    return found


def plain(text: str) -> str:
    """Text that can stand in a C comment whatever a robot file called its parts: ASCII, one line, no comment marks."""
    printable = "".join(c if " " <= c <= "~" else f"<U+{ord(c):04X}>" for c in text)
    return printable.replace("*/", "* /").replace("/*", "/ *").replace("??/", "?? /").replace("\\", "/")


def number(value: float) -> str:
    """A double exactly."""
    if not math.isfinite(value):
        raise StatementError(f"A constant of the robot comes out as {value}; C has no literal for it.")
    text = value.hex()
    return f"({text})" if text.startswith("-") else text


@dataclass(frozen=True)
class CFunction:
    """void name(const double *argument, …, double *result, …): arrays are contiguous, matrices row by row."""

    name: str
    trace: Trace
    arguments: tuple[tuple[str, int], ...]
    results: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def prototype(self) -> str:
        return f"void {self.name}({self._parameters([name for name, _ in (*self.arguments, *self.results)])})"

    def _parameters(self, names: Sequence[str]) -> str:
        inputs = {name for name, _ in self.arguments}
        return ", ".join(f"const double *{name}" if name in inputs else f"double *{name}" for name in names)

    def header(self, comment: Sequence[str]) -> str:
        """The declaration, under a comment."""
        guard = f"{self.name.upper()}_H"
        lines = ["/*", *(f" * {line}".rstrip() for text in comment for line in wrap(text, 110) or [""]), " */"]
        lines += [f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
        lines += [f"{self.prototype};", "", "#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */"]
        return "\n".join(lines) + "\n"

    def source(self) -> str:
        """The definition."""
        cuts = cut(list(range(len(self.trace.code))))
        plan = residence(cuts, self._operands, lambda index: self.trace.code[index][0] >= INPUT, len(self.trace.code))
        bounds = [(part[0], part[-1] + 1) if part else (0, 0) for part in cuts]  # without an instruction: constants
        parts = [part for part in (_Part(self, plan.slots, *pair) for pair in bounds) if part.lines]
        lines = ["#include <math.h>", "", f'#include "{self.name}.h"', "", *(_APART if len(parts) > 1 else [])]
        apart = "APART " if len(parts) > 1 else ""
        names = [f"{self.name}_part{index}" for index in range(len(parts))]
        for part, name in zip(parts, names, strict=True):
            lines += [f"{apart}static void {name}({part.parameters()})", "{", *part.lines, "}", ""]
        lines += [self.prototype, "{"]
        if plan.slot_count:
            lines.append(f"    double {SCRATCH}[{plan.slot_count}];")
        used = {name for part in parts for name in part.used}
        lines += [f"    (void){name};" for name, _ in self.arguments if name not in used]
        lines += [f"    {name}({', '.join(part.used)});" for part, name in zip(parts, names, strict=True)]
        return "\n".join([*lines, "}"]) + "\n"

    def _operands(self, index: int) -> tuple[int, ...]:
        op, left, right = self.trace.code[index]
        return tuple(x for x in dict.fromkeys((left, right)) if x is not None) if op < INPUT else ()

    def place(self, position: int, arrays: Sequence[tuple[str, int]]) -> tuple[str, str]:
        """(array, element) of a value counted through all arrays."""
        for name, size in arrays:
            if position < size:
                return name, f"{name}[{position}]"
            position -= size
        raise AssertionError(position)

    @property
    def outputs(self) -> tuple[tuple[str, int], ...]:
        return tuple((name, math.prod(shape)) for name, shape in self.results)


class _Part:
    """The statements start … stop of a trace, and the arrays they use, in the order of the prototype."""

    def __init__(self, function: CFunction, slots: dict[int, int], start: int, stop: int) -> None:
        self.function, self.slots, self.start = function, slots, start
        self.lines: list[str] = []
        self.known: set[int] = set()
        self.touched: set[str] = set()
        for index in range(start, stop):
            if function.trace.code[index][0] < INPUT:
                self.instruction(index)
        outputs = zip(function.trace.outputs, function.trace.output_is_constant, strict=True)
        for position, (value, constant) in enumerate(outputs):
            if constant and start == 0:
                self.result(position, number(float(value)))
            elif not constant and start <= int(value) < stop:
                self.result(position, self.operand(int(value)))
        order = [name for name, _ in function.arguments] + [SCRATCH] + [name for name, _ in function.results]
        self.used = [name for name in order if name in self.touched]

    def parameters(self) -> str:
        return self.function._parameters(self.used)

    def instruction(self, index: int) -> None:
        op, left, right = self.function.trace.code[index]
        a = self.operand(left)
        if op in _INFIX:
            value = f"{a} {_INFIX[op]} {self.operand(right)}"
        elif op == SIGN:
            value = f"{a} > 0.0 ? 1.0 : {a} < 0.0 ? -1.0 : {a}"
        else:
            value = f"-{a}" if op == NEG else f"{_CALL[op]}({a})"
        self.lines.append(f"    const double x{index} = {value};")
        self.known.add(index)
        if index in self.slots:
            self.touched.add(SCRATCH)
            self.lines.append(f"    {SCRATCH}[{self.slots[index]}] = x{index};")

    def operand(self, index: int) -> str:
        """A value of this part; what comes from outside is read once."""
        op, value, _ = self.function.trace.code[index]
        if op == CONST:
            return number(value)
        if index not in self.known:
            self.known.add(index)
            if op == INPUT:
                array, element = self.function.place(value, self.function.arguments)
            else:
                array, element = SCRATCH, f"{SCRATCH}[{self.slots[index]}]"
            self.touched.add(array)
            self.lines.append(f"    const double x{index} = {element};")
        return f"x{index}"

    def result(self, position: int, value: str) -> None:
        array, element = self.function.place(position, self.function.outputs)
        self.touched.add(array)
        self.lines.append(f"    {element} = {value};")
