"""Vector LLVM IR for a trace: one state per lane.

Long traces are split into functions with the values that cross between them in memory, which keeps compile time linear.
Signs, sums and products may be contracted and reassociated; NaN and infinity keep their meaning. Where inputs come from
and outputs go to is the business of `Places`: rows of arrays (`rows.py`) or the links of a long chain (`rolled.py`).
"""

from __future__ import annotations

import struct
from itertools import chain, islice
from typing import Protocol

from phistar.backends.fusing import fused_products
from phistar.backends.sincos import sincos
from phistar.backends.trace import ADD, CONST, COS, DIV, INPUT, MUL, NEG, SIGN, SIN, SQRT, SUB, Trace

FLAGS = "contract reassoc nsz arcp"
WHOLE, PART, SHORT_PART = 600, 400, 150  # instructions of a trace in one function; in one of several; in one of many
MANY = 12_000  # instructions: so many that compiling takes seconds
ABREAST = 6  # sines and cosines computed side by side
_INFIX = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}


class Places(Protocol):
    """Where a trace's inputs are and its outputs belong."""

    def parameters(self) -> str:
        """The arguments of every part, as IR."""
        ...

    def load(self, target: str, number: int) -> list[str]:
        """Lines that make input `number` the vector %target."""
        ...

    def store(self, position: int, value: str) -> list[str]:
        """Lines that put the vector `value` where output `position` belongs."""
        ...


def declarations(lanes: int) -> str:
    vector = f"<{lanes} x double>"
    return "\n".join(
        [
            f"declare {vector} @llvm.fma.v{lanes}f64({vector}, {vector}, {vector})",
            f"declare {vector} @llvm.fmuladd.v{lanes}f64({vector}, {vector}, {vector})",
            f"declare {vector} @llvm.sqrt.v{lanes}f64({vector})",
        ]
    )


def splat(value: float, lanes: int) -> str:
    """A constant in every lane, exact."""
    word = f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
    return "<" + ", ".join([f"double {word}"] * lanes) + ">"


class Body:
    """The straight-line functions of one trace: `name0`, `name1`, … called in order with the places' arguments and a
    scratch pointer with room for `slot_count` vectors."""

    def __init__(self, name: str, trace: Trace, places: Places, lanes: int, fma: bool) -> None:
        self.name, self.trace, self.places, self.lanes = name, trace, places, lanes
        self.vector = f"<{lanes} x double>"
        self.fma = "fma" if fma else "fmuladd"
        self.slots, self.slot_count, self.ranges = _plan(trace)
        self.fused = fused_products(trace, self.ranges) if fma else {}
        self.absorbed = set(self.fused.values())
        self.stores: dict[int, list[int]] = {}
        for position, (value, constant) in enumerate(zip(trace.outputs, trace.output_is_constant, strict=True)):
            self.stores.setdefault(-1 if constant else int(value), []).append(position)
        self.loaded: set[int] = set()
        self.turned: set[int] = set()
        self.stop = 0

    def functions(self) -> list[str]:
        return [self.part(number, *bounds) for number, bounds in enumerate(self.ranges)]

    def calls(self, arguments: str) -> list[str]:
        return [f"  call void @{self.name}{number}({arguments})" for number in range(len(self.ranges))]

    def part(self, number: int, start: int, stop: int) -> str:
        lines = [f"define internal void @{self.name}{number}({self.places.parameters()}, ptr noalias %scratch) #0 {{"]
        self.loaded, self.turned, self.stop = set(), set(), stop
        for position in self.stores.get(-1, []) if number == 0 else []:
            lines += self.places.store(position, splat(float(self.trace.outputs[position]), self.lanes))
        for index in range(start, stop):
            self.instruction(index, start, lines)
            if index in self.slots:
                place = 8 * self.lanes * self.slots[index]
                lines.append(f"  %t{index} = getelementptr i8, ptr %scratch, i64 {place}")
                lines.append(f"  store {self.vector} %v{index}, ptr %t{index}, align {8 * self.lanes}")
            for position in self.stores.get(index, []):  # at once: what waits for the end takes a register
                lines += self.places.store(position, self.operand(index, start, lines))
        return "\n".join([*lines, "  ret void", "}"])

    def instruction(self, index: int, start: int, lines: list[str]) -> None:
        op, left, right = self.trace.code[index]
        if index in self.absorbed:
            return
        if index in self.fused:
            lines += self.fused_sum(index, start, lines)
        elif op == INPUT:
            lines += self.places.load(f"v{index}", left)
        elif op in _INFIX:
            a, b = self.operand(left, start, lines), self.operand(right, start, lines)
            lines.append(f"  %v{index} = {_INFIX[op]} {FLAGS} {self.vector} {a}, {b}")
        elif op == NEG:
            lines.append(f"  %v{index} = fneg {FLAGS} {self.vector} {self.operand(left, start, lines)}")
        elif op == SQRT:
            x = self.operand(left, start, lines)
            lines.append(f"  %v{index} = call {self.vector} @llvm.sqrt.v{self.lanes}f64({self.vector} {x})")
        elif op == SIGN:
            lines += self.sign(index, self.operand(left, start, lines))
        elif op in (SIN, COS):
            if left not in self.turned:
                self.turn(index, start, lines)
            which = "sin" if op == SIN else "cos"
            lines.append(f"  %v{index} = fadd nsz {self.vector} %x{left}.{which}, {splat(-0.0, self.lanes)}")

    def turn(self, index: int, start: int, lines: list[str]) -> None:
        """Sines and cosines of the angles that are known by now, step by step side by side: each is a chain of twenty
        operations, in which a processor would wait."""
        ahead = (left for op, left, _ in self.trace.code[index : self.stop] if op in (SIN, COS) and left < index)
        angles = list(islice(dict.fromkeys(left for left in ahead if left not in self.turned), ABREAST))
        named = [(f"x{left}", self.operand(left, start, lines)) for left in angles]
        steps = zip(*(sincos(name, x, self.lanes, self.fma) for name, x in named), strict=True)
        lines += chain.from_iterable(steps)
        self.turned.update(angles)

    def fused_sum(self, index: int, start: int, lines: list[str]) -> list[str]:
        """A sum with a product that several sums share: ±xy ± z."""
        op, left, right = self.trace.code[index]
        product = self.fused[index]
        x, y = (self.operand(factor, start, lines) for factor in self.trace.code[product][1:])
        z = self.operand(right if left == product else left, start, lines)
        result, name = [], f"%v{index}.n"
        if op == SUB:
            result.append(f"  {name} = fneg {self.vector} {x if right == product else z}")
            x, z = (name, z) if right == product else (x, name)
        given = ", ".join(f"{self.vector} {value}" for value in (x, y, z))
        return [*result, f"  %v{index} = call {FLAGS} {self.vector} @llvm.fma.v{self.lanes}f64({given})"]

    def sign(self, index: int, x: str) -> list[str]:
        """±1 where x is beyond zero; zero and NaN stay what they are."""
        zero, flags = splat(0.0, self.lanes), f"<{self.lanes} x i1>"
        one, minus = splat(1.0, self.lanes), splat(-1.0, self.lanes)
        return [
            f"  %v{index}.g = fcmp ogt {self.vector} {x}, {zero}",
            f"  %v{index}.l = fcmp olt {self.vector} {x}, {zero}",
            f"  %v{index}.n = select {flags} %v{index}.l, {self.vector} {minus}, {self.vector} {x}",
            f"  %v{index} = select {flags} %v{index}.g, {self.vector} {one}, {self.vector} %v{index}.n",
        ]

    def operand(self, index: int, start: int, lines: list[str]) -> str:
        op, value, _ = self.trace.code[index]
        if op == CONST:
            return splat(value, self.lanes)
        if index < start and index not in self.loaded:
            self.loaded.add(index)
            if op == INPUT:
                lines += self.places.load(f"v{index}", value)
            else:
                place = 8 * self.lanes * self.slots[index]
                lines.append(f"  %s{index} = getelementptr i8, ptr %scratch, i64 {place}")
                lines.append(f"  %v{index} = load {self.vector}, ptr %s{index}, align {8 * self.lanes}")
        return f"%v{index}"


def _plan(trace: Trace) -> tuple[dict[int, int], int, list[tuple[int, int]]]:
    """Where the trace is cut, and the scratch slots of the values that cross a cut; slots are used again when free."""
    count = len(trace.code)
    part = WHOLE if count <= WHOLE else PART if count <= MANY else SHORT_PART
    ranges = [(start, min(start + part, len(trace.code))) for start in range(0, max(len(trace.code), 1), part)]
    part_of = [index // part for index in range(len(trace.code))]
    last_use: dict[int, int] = {}
    for index, (op, left, right) in enumerate(trace.code):
        if op < INPUT:
            for argument in (left, right):
                if argument is not None and part_of[argument] != part_of[index] and trace.code[argument][0] < INPUT:
                    last_use[argument] = part_of[index]
    slots: dict[int, int] = {}
    free: list[int] = []
    expiring: dict[int, list[int]] = {}
    count = 0
    for number, (start, stop) in enumerate(ranges):
        free += expiring.pop(number - 1, [])
        for index in range(start, stop):
            if index in last_use:
                slots[index] = free.pop() if free else count
                count = max(count, slots[index] + 1)
                expiring.setdefault(last_use[index], []).append(slots[index])
    return slots, count, ranges
