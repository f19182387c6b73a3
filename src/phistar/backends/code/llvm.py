"""Vector LLVM IR for a trace: one state per lane.

Long traces are split into functions with the values that cross between them in memory, which keeps compile time linear;
`registers.py` says what else is in memory. What is fused is decided by `fusing.py`; NaN and infinity keep their
meaning. Where inputs come from and outputs go to is the business of `Places`: rows of arrays (`rows.py`) or the links
of a long chain (`rolled/`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from phistar.backends.code.nearby import Address, Line, lines_text, nearby
from phistar.backends.code.sincos import FUNCTIONS, Angle, less_turns_text, sincos, within_reach
from phistar.backends.traces.fusing import fused_products
from phistar.backends.traces.registers import WRITING, residence
from phistar.backends.traces.trace import ADD, CONST, COS, DIV, INPUT, MUL, NEG, SIGN, SIN, SQRT, SUB, Trace

FLAGS = "contract reassoc nsz arcp"  # of loops
WRITTEN = "nsz arcp"  # of traces: what is fused is decided here, so that any number of lanes gives the same bits
WHOLE, PART, SHORT_PART = 500, 420, 150  # instructions of a trace in one function; in one of several; in one of many
MANY = 12_000  # instructions: so many that compiling takes seconds
ABREAST = 6  # sines and cosines computed side by side,
SPARED = 3  # or, as side by side they do not fit into the registers, so many, and as many more
BEHIND = 12  # steps later
REGISTERS = 13  # vectors held at once, of 16: operands on their way need some too
LOADED = 4  # lanes up to which constants are whole vectors in memory; wider ones come from one number at no cost
Store = Callable[[str, bool], Sequence[Line]]  # lines that store a vector, of which it is told whether it is read again
_INFIX = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}


class Places(Protocol):
    """Where a trace's inputs are and its outputs belong."""

    def parameters(self) -> str:
        """The arguments of every part, as IR."""
        ...

    def lasts(self, number: int) -> bool:
        """Whether input `number` is in memory and stays there: it can be read at any time, as often as needed."""
        ...

    def load(self, target: str, number: int) -> Sequence[Line]:
        """Lines that make input `number` the vector %target."""
        ...

    def store(self, position: int, value: str) -> Sequence[Line]:
        """Lines that put the vector `value` where output `position` belongs."""
        ...

    def again(self, target: str, position: int) -> Sequence[Line]:
        """Lines that make output `position`, once it was put there, the vector %target; none where it is not kept."""
        ...


def declarations(*widths: int) -> str:
    """What bodies with so many lanes call."""
    lines = [FUNCTIONS]
    for lanes in widths:
        vector = f"<{lanes} x double>"
        lines += [
            f"declare {vector} @llvm.fma.v{lanes}f64({vector}, {vector}, {vector})",
            f"declare {vector} @llvm.fmuladd.v{lanes}f64({vector}, {vector}, {vector})",
            f"declare {vector} @llvm.sqrt.v{lanes}f64({vector})",
            f"declare {vector} @llvm.copysign.v{lanes}f64({vector}, {vector})",
            less_turns_text(lanes),
        ]
    return "\n".join(lines)


def splat(value: float, lanes: int) -> str:
    """A constant in every lane, exact."""
    word = f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
    return "<" + ", ".join([f"double {word}"] * lanes) + ">"


class Body:
    """The straight-line functions of one trace: `name0`, `name1`, … called in order with the places' arguments and a
    scratch pointer with room for `slot_count` vectors. `registers`: how many vectors are held at once; `writing`: as
    `residence` has it; `sparing`: where multipliers, not results, are waited for, few instructions are to move values:
    one register more is trusted, sums and products are made again instead of written, fewer sines go side by side, and
    constants are read where they are used; `sums_of_angles`: an angle that is a sum is exact, as if it were not
    rounded; `near`: inputs, angles within the reach of `sincos`."""

    def __init__(
        self,
        name: str,
        trace: Trace,
        places: Places,
        lanes: int,
        fma: bool,
        registers: int | None = None,
        writing: float = WRITING,
        sparing: bool = False,
        sums_of_angles: bool = False,
        near: frozenset[int] = frozenset(),
    ) -> None:
        self.name, self.trace, self.places, self.lanes = name, trace, places, lanes
        self.vector = f"<{lanes} x double>"
        self.fma = "fma" if fma else "fmuladd"
        self.fused = fused_products(trace) if fma else {}
        self.stores: dict[int, list[int]] = {}
        for position, (value, constant) in enumerate(zip(trace.outputs, trace.output_is_constant, strict=True)):
            self.stores.setdefault(-1 if constant else int(value), []).append(position)
        self.parts = cut(self._sequence())
        held = registers or (REGISTERS + sparing if lanes <= 4 else 2 * REGISTERS)  # wide vectors have twice as many
        found = {index for index in range(len(trace.code)) if self.is_found(index)}
        self.sums_of_angles, self.near = sums_of_angles, near
        is_cheap, self.sparing = self.is_plain if sparing else None, sparing
        self.plan = residence(self.parts, self.operands, found.__contains__, held, writing, is_cheap)
        self.reads, self.slots, self.slot_count = self.plan.reads, self.plan.slots, self.plan.slot_count
        self.read = {value for values in self.plan.touched.values() for value in values}
        self.constants: dict[str, int] = {}  # the places in memory of those that the text has so far

    def _sequence(self) -> list[int]:
        """What is computed, in order; inputs that are outputs too, or can be read only once, are read in their turn."""
        absorbed = set(self.fused.values())
        code = enumerate(self.trace.code)
        return [
            i
            for i, (op, _, _) in code
            if (op < INPUT and i not in absorbed) or (op == INPUT and (i in self.stores or not self.is_at_hand(i)))
        ]

    def operands(self, index: int) -> tuple[int, ...]:
        """What an instruction needs, constants aside."""
        code = self.trace.code
        op, left, right = code[index]
        if op >= INPUT:
            return ()
        needed: tuple[int | None, ...] = (left, right)
        if index in self.fused:
            product = self.fused[index]
            needed = (*code[product][1:], right if left == product else left)
        return tuple(x for x in dict.fromkeys(needed) if x is not None and code[x][0] != CONST)

    def is_at_hand(self, index: int) -> bool:
        """Whether a value is an input that can be read at any time."""
        op, number, _ = self.trace.code[index]
        return op == INPUT and self.places.lasts(number)

    def is_remade(self, index: int) -> bool:
        """Whether a value is a sum or product of inputs: to make it again costs less than to write it down."""
        return self.is_plain(index) and all(self.is_at_hand(x) for x in self.operands(index))

    def is_plain(self, index: int) -> bool:
        """Whether a value is a sum or a product alone."""
        return self.trace.code[index][0] in (ADD, SUB, MUL) and index not in self.fused

    def is_found(self, index: int) -> bool:
        """Whether a value need not be written to be at hand later: an input, a result, or made again."""
        return self.is_at_hand(index) or self.result(index) is not None or self.is_remade(index)

    def result(self, index: int) -> int | None:
        """A place of the results where a value can be read again."""
        return next((position for position in self.stores.get(index, ()) if self.places.again("", position)), None)

    @property
    def traffic(self) -> int:
        """Vectors read from memory and written to it, results aside."""
        return len(self.slots) + self.plan.read_count

    def functions(
        self, opening: Sequence[str] = (), stores: Mapping[int, Store] | None = None, near: bool = False
    ) -> list[str]:
        """The text; `opening` comes first in each function, `stores` has other ways to store some outputs; `near`:
        addresses are to be short."""
        made = [PartText(self, number, opening, stores or {}).text(near) for number in range(len(self.parts))]
        return [self._table(), *made] if self.constants else made

    def _table(self) -> str:
        """The constants as vectors: what is added or multiplied straight from memory needs no instruction of its own,
        but a number that is to be repeated in every lane does."""
        rows = ", ".join(f"{self.vector} {value}" for value in self.constants)
        kind = f"[{len(self.constants)} x {self.vector}]"
        return f"@{self.name}.constants = internal constant {kind} [{rows}], align {8 * self.lanes}"

    def constant(self, value: float) -> str:
        """Where a constant is, as IR."""
        place = 8 * self.lanes * self.constants.setdefault(splat(value, self.lanes), len(self.constants))
        return f"getelementptr (i8, ptr @{self.name}.constants, i64 {place})"

    @property
    def names(self) -> tuple[str, ...]:
        """Of its functions, in the order in which they are to be called."""
        return tuple(f"{self.name}{number}" for number in range(len(self.parts)))

    def calls(self, arguments: str) -> list[str]:
        return [f"  call void @{name}({arguments})" for name in self.names]


class PartText:
    """One function of a body as it is written."""

    def __init__(self, body: Body, number: int, opening: Sequence[str], stores: Mapping[int, Store]) -> None:
        self.body, self.number, self.sequence = body, number, body.parts[number]
        self.code, self.lanes, self.vector, self.fma = body.trace.code, body.lanes, body.vector, body.fma
        self.lines: list[Line] = list(opening)
        self.stores = stores
        self.names: dict[int, str] = {}
        self.turned: set[int] = set()
        self.time = 0

    def text(self, near: bool) -> str:
        body, places = self.body, self.body.places
        for position in body.stores.get(-1, []) if self.number == 0 else []:
            self.lines += places.store(position, splat(float(body.trace.outputs[position]), self.lanes))
        for time, index in enumerate(self.sequence):
            self.time = time
            for value in body.reads[index]:
                self.read(value)
            self.instruction(f"v{index}", index)
            self.names[index] = f"%v{index}"
            if index in body.slots:
                self.lines += self.slot(f"t{index}", index)
                self.lines.append(f"  store {self.vector} %v{index}, ptr %t{index}, align {8 * self.lanes}")
            for position in body.stores.get(index, []):  # at once: what waits for the end takes a register
                store = self.stores.get(position)
                value, is_read = f"%v{index}", index in body.read
                self.lines += store(value, is_read) if store else places.store(position, value)
        parameters = ", ".join(filter(None, (places.parameters(), "ptr %scratch")))  # a step may be zero by structure
        opening = f"define internal void @{body.name}{self.number}({parameters}) #0 {{"
        lines = lines_text(nearby(self.lines) if near else self.lines)
        return "\n".join([opening, *lines, "  ret void", "}"])

    def slot(self, name: str, index: int) -> list[Address]:
        return [Address(name, "scratch", 8 * self.lanes * self.body.slots[index])]

    def read(self, index: int) -> None:
        """A value from memory, under a new name."""
        op, number, _ = self.code[index]
        name = f"v{index}.{len(self.lines)}"
        if op == INPUT:
            self.lines += self.body.places.load(name, number)
        elif index not in self.body.slots and (position := self.body.result(index)) is not None:
            self.lines += self.body.places.again(name, position)
        elif index not in self.body.slots:
            self.make_again(name, index)
        else:
            self.lines += self.slot(f"{name}.p", index)
            self.lines.append(f"  %{name} = load {self.vector}, ptr %{name}.p, align {8 * self.lanes}")
        self.names[index] = f"%{name}"

    def make_again(self, name: str, index: int) -> None:
        """A sum or product whose operands are read anew for it alone."""
        before = dict(self.names)
        for operand in self.body.operands(index):
            self.read(operand)
        self.instruction(name, index)
        self.names = before

    def instruction(self, name: str, index: int) -> None:
        op, left, right = self.code[index]
        if index in self.body.fused:
            self.lines += self.fused_sum(name, index)
        elif op == INPUT:
            self.lines += self.body.places.load(name, left)
        elif op in _INFIX:
            a, b = self.operand(left), self.operand(right)
            self.lines.append(f"  %{name} = {_INFIX[op]} {WRITTEN} {self.vector} {a}, {b}")
        elif op == NEG:
            self.lines.append(f"  %{name} = fneg {WRITTEN} {self.vector} {self.operand(left)}")
        elif op == SQRT:
            call = f"@llvm.sqrt.v{self.lanes}f64({self.vector} {self.operand(left)})"
            self.lines.append(f"  %{name} = call {self.vector} {call}")
        elif op == SIGN:
            self.lines += self.sign(name, self.operand(left))
        elif op in (SIN, COS):
            if left not in self.turned:
                self.turn(left)
            which = "sin" if op == SIN else "cos"
            self.lines.append(f"  %{name} = fadd nsz {self.vector} %x{left}.{which}, {splat(-0.0, self.lanes)}")

    def operand(self, index: int) -> str:
        op, value, _ = self.code[index]
        if op != CONST:
            return self.names[index]
        if self.lanes > LOADED or not self.body.sparing:
            return splat(value, self.lanes)
        name = f"%c{index}.{len(self.lines)}"
        place = f"ptr {self.body.constant(value)}, align {8 * self.lanes}"
        self.lines.append(f"  {name} = load {self.vector}, {place}, !invariant.load !{{}}")
        return name

    def turn(self, first: int) -> None:
        """Sines and cosines of angles that are inputs, step by step side by side: each is a chain of twenty
        operations, in which a processor would wait."""
        ahead = (self.code[index][1] for index in self.sequence[self.time :] if self.code[index][0] in (SIN, COS))
        others = (angle for angle in ahead if angle not in self.turned and self.body.is_at_hand(angle))
        angles = list(dict.fromkeys((first, *others)))[:ABREAST]
        for angle in angles[1:]:
            self.read(angle)
        known = {f"x{angle}": self.names[angle] for angle in angles if self.is_near(angle)}
        others = {
            f"x{angle}": Angle(self.names[angle], self.terms(angle)) for angle in angles if not self.is_near(angle)
        }
        self.lines += within_reach(f"turn{first}", others, self.lanes) if others else []
        side = SPARED if self.body.sparing else ABREAST
        steps = [
            (step + BEHIND * (number // side), number, line)
            for number, x in enumerate(angles)
            for step, line in enumerate(sincos(f"x{x}", known.get(f"x{x}", f"%x{x}"), self.lanes, self.fma))
        ]
        self.lines += [line for _, _, line in sorted(steps)]
        self.turned.update(angles)

    def is_near(self, angle: int) -> bool:
        """Whether an angle is an input from which whole turns were taken before the body runs."""
        op, number, _ = self.code[angle]
        return op == INPUT and number in self.body.near

    def terms(self, angle: int) -> tuple[str, ...]:
        """The terms of an angle that is a sum, where these are to be exact."""
        op, left, right = self.code[angle]
        known = self.body.sums_of_angles and op == ADD and angle not in self.body.fused
        return tuple(self.names[x] for x in (left, right)) if known and {left, right} <= self.names.keys() else ()

    def fused_sum(self, name: str, index: int) -> list[str]:
        """A sum with a product: ±xy ± z."""
        op, left, right = self.code[index]
        product = self.body.fused[index]
        x, y = (self.operand(factor) for factor in self.code[product][1:])
        z = self.operand(right if left == product else left)
        result, minus = [], f"%{name}.n"
        if op == SUB:
            result.append(f"  {minus} = fneg {self.vector} {x if right == product else z}")
            x, z = (minus, z) if right == product else (x, minus)
        given = ", ".join(f"{self.vector} {value}" for value in (x, y, z))
        return [*result, f"  %{name} = call {WRITTEN} {self.vector} @llvm.fma.v{self.lanes}f64({given})"]

    def sign(self, name: str, x: str) -> list[str]:
        """±1 where x is beyond zero; zero and NaN stay what they are, NaN without a flag: `one` compares quietly."""
        given = f"{self.vector} {splat(1.0, self.lanes)}, {self.vector} {x}"
        return [
            f"  %{name}.o = fcmp one {self.vector} {x}, {splat(0.0, self.lanes)}",
            f"  %{name}.s = call {self.vector} @llvm.copysign.v{self.lanes}f64({given})",
            f"  %{name} = select <{self.lanes} x i1> %{name}.o, {self.vector} %{name}.s, {self.vector} {x}",
        ]


def cut(sequence: list[int]) -> list[list[int]]:
    """The sequence in parts as equal as can be, as few as compiling allows."""
    count = len(sequence)
    longest = WHOLE if count <= WHOLE else PART if count <= MANY else SHORT_PART
    parts = max(1, -(-count // longest))
    return [sequence[count * k // parts : count * (k + 1) // parts] for k in range(parts)]
