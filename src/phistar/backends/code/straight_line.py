"""A trace as functions of the kernel language without loops: one state per lane.

Long traces are split into functions with the values that cross between them in memory, which keeps compile time linear;
`registers.py` says what else is in memory. What is fused is decided by `order.py`; NaN and infinity keep their
meaning. Where inputs come from and outputs go to is the business of `Places`: rows of arrays (`packed.py`) or the links
of a long chain (`rolled/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import copysign
from typing import Any, Protocol

from phistar.backends.choice import longest_function
from phistar.backends.code.short_addresses import nearby
from phistar.backends.code.sincos import Angle, sincos, within_reach
from phistar.backends.kernels import F64, PLANNED, Code, Func, Let, Module, Statement, Store, Table, Type, Value, vector
from phistar.backends.traces.order import fused_products
from phistar.backends.traces.registers import WRITING, residence
from phistar.backends.traces.trace import ADD, CONST, COS, DIV, INPUT, MUL, NEG, SIGN, SIN, SUB, Trace

ABREAST = 6  # sines and cosines computed side by side,
SPARED = 3  # or, as side by side they do not fit into the registers, so many, and as many more
BEHIND = 12  # steps later
REGISTERS = 13  # vectors held at once, of 16: operands on their way need some too
LOADED = 32  # bytes of a vector up to which constants are whole vectors in memory; wider ones come from one number at
# no cost, and there are twice as many registers
Opening = Callable[[Code], Any]  # writes what comes first in a function; gives what stores need of it
Finish = Callable[[Code, Any, Value, bool], None]  # stores a vector, of which it is told whether it is read again
NOTHING = Value("", F64)
_MEMORIES = ("in", "out", "scratch")  # of a packed block
_INFIX = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}


class Places(Protocol):
    """Addresses of a trace's inputs and outputs."""

    @property
    def parameters(self) -> tuple[Value, ...]:
        """Parameters of every part."""
        ...

    @property
    def apart(self) -> frozenset[str]:
        """Pointers among them that alias no other."""
        ...

    def lasts(self, number: int) -> bool:
        """Whether input `number` is in memory and stays there: it can be read at any time, as often as needed."""
        ...

    def load(self, target: Value, number: int) -> Sequence[Statement]:
        """Statements that define the target as input `number`."""
        ...

    def store(self, position: int, value: Value) -> Sequence[Statement]:
        """Statements that store a vector where output `position` belongs."""
        ...

    def again(self, target: Value, position: int) -> Sequence[Statement]:
        """Statements that define the target as output `position`, once stored; none where it is not kept."""
        ...


@dataclass(frozen=True)
class PackedPlaces:
    """`in` and `out` hold entries in order, a vector of lanes each; `entries` says where in `out` outputs belong."""

    kind: Type  # of a vector
    entries: tuple[int, ...]
    apart: frozenset[str] = frozenset(("in", "out", "rows"))

    @property
    def parameters(self) -> tuple[Value, ...]:
        memory = Type(self.kind.kind).to
        return Value("in", memory), Value("out", memory), Value("rows", memory.to)

    @cached_property
    def _memory(self) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
        given, made, _ = self.parameters
        return (given,), (made,)

    @cached_property
    def _width(self) -> int:
        """Bytes of a vector."""
        return self.kind.size * self.kind.lanes

    def lasts(self, number: int) -> bool:
        return True

    def load(self, target: Value, number: int) -> list[Statement]:
        return [Let(target, "read", self._memory[0], (self._width * number, self._width))]

    def store(self, position: int, value: Value) -> list[Statement]:
        return [Store(value, self._memory[1][0], self._width, offset=self._width * self.entries[position])]

    def again(self, target: Value, position: int) -> list[Statement]:
        return [Let(target, "read", self._memory[1], (self._width * self.entries[position], self._width))]


class Body:
    """The straight-line functions of one trace: `name0`, `name1`, … called in order with the places' arguments and a
    scratch pointer with room for `slot_count` vectors. `registers`: how many vectors are held at once; `writing`: as
    `residence` has it; `sparing`: where multipliers, not results, are waited for, few instructions are to move values:
    one register more is trusted, sums and products are made again instead of written, fewer sines go side by side, and
    constants are read where they are used; `sums_of_angles`: an angle that is a sum is exact, as if it were not
    rounded; `near`: inputs, angles within the reach of `sincos`; `kind`: of the numbers."""

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
        kind: str = "f64",
    ) -> None:
        self.name, self.trace, self.places, self.lanes = name, trace, places, lanes
        self.kind, self.fma = vector(lanes, kind), "fma" if fma else "fmuladd"
        self.width, self.scratch = self.kind.size * lanes, Value("scratch", Type(kind).to)
        self.fused = fused_products(trace) if fma else {}
        self.stores: dict[int, list[int]] = {}
        for position, (value, constant) in enumerate(zip(trace.outputs, trace.output_is_constant, strict=True)):
            self.stores.setdefault(-1 if constant else int(value), []).append(position)
        self.parts = cut(self._sequence())
        held = registers or (
            REGISTERS + sparing if self.width <= LOADED else 2 * REGISTERS
        )  # wide vectors have twice as many
        found = {index for index in range(len(trace.code)) if self.is_found(index)}
        self.sums_of_angles, self.near = sums_of_angles, near
        is_cheap, self.sparing = self.is_plain if sparing else None, sparing
        self.plan = residence(self.parts, self.operands, found.__contains__, held, writing, is_cheap)
        self.reads, self.slots, self.slot_count = self.plan.reads, self.plan.slots, self.plan.slot_count
        self.read = {value for values in self.plan.touched.values() for value in values}
        self.constants: dict[tuple[float, float], int] = {}  # the places in memory of those that were used so far

    def _sequence(self) -> list[int]:
        """Instructions in execution order; inputs that are outputs too, or can be read only once, take their turn."""
        absorbed = set(self.fused.values())
        code = enumerate(self.trace.code)
        return [
            i
            for i, (op, _, _) in code
            if (op < INPUT and i not in absorbed) or (op == INPUT and (i in self.stores or not self.is_at_hand(i)))
        ]

    def operands(self, index: int) -> tuple[int, ...]:
        """Operands of an instruction, constants excluded."""
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
        """Whether a value is a sum or product of inputs, which costs less to recompute than to store."""
        return self.is_plain(index) and all(self.is_at_hand(x) for x in self.operands(index))

    def is_plain(self, index: int) -> bool:
        """Whether a value is a sum or a product alone."""
        return self.trace.code[index][0] in (ADD, SUB, MUL) and index not in self.fused

    def is_found(self, index: int) -> bool:
        """Whether a value can be read later without being stored: an input, a result, or recomputed."""
        return self.is_at_hand(index) or self.result(index) is not None or self.is_remade(index)

    def result(self, index: int) -> int | None:
        """A place of the results where a value can be read again."""
        return next((position for position in self.stores.get(index, ()) if self.places.again(NOTHING, position)), None)

    @property
    def traffic(self) -> int:
        """Vectors read from memory and written to it, results aside."""
        return len(self.slots) + self.plan.read_count

    def module(
        self, opening: Opening | None = None, stores: Mapping[int, Finish] | None = None, near: bool = False
    ) -> Module:
        """The functions and the constants that they read; `opening` comes first in each function, `stores` has other
        ways to store some outputs; `near`: addresses are to be short."""
        made = [Part(self, number, opening, stores or {}).function(near) for number in range(len(self.parts))]
        return Module(tuple(made), self._tables())

    def _tables(self) -> tuple[Table, ...]:
        """Constants as vectors: an operand added or multiplied straight from memory needs no instruction of its own,
        but a number broadcast to every lane does."""
        entries = tuple(value for value, _ in self.constants)
        return (Table(f"{self.name}.constants", self.kind, entries),) if entries else ()

    def constant(self, value: float) -> tuple[str, int]:
        """Table and entry of a constant; zero has two signs."""
        key = (value, copysign(1.0, value))
        return f"{self.name}.constants", self.constants.setdefault(key, len(self.constants))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions, in calling order."""
        return tuple(f"{self.name}{number}" for number in range(len(self.parts)))


class Part:
    """One function of a body, under construction."""

    def __init__(self, body: Body, number: int, opening: Opening | None, stores: Mapping[int, Finish]) -> None:
        self.body, self.number, self.sequence = body, number, body.parts[number]
        self.trace_code, self.lanes, self.kind, self.fma = body.trace.code, body.lanes, body.kind, body.fma
        given = (*body.places.parameters, body.scratch)  # a step may be zero by structure
        self.code = Code(f"{body.name}{number}", **{str(x.name): x.type for x in given})
        self.code.apart = body.places.apart
        self.lines: list[Statement] = self.code.blocks[0]
        self.opened = opening(self.code) if opening is not None else None
        self.stores = stores
        self.names: dict[int, Value] = {}
        self.turned: set[int] = set()
        self.time = 0

    def function(self, near: bool) -> Func:
        body, places = self.body, self.body.places
        for position in body.stores.get(-1, []) if self.number == 0 else []:
            self.lines += places.store(position, Value(float(body.trace.outputs[position]), self.kind))
        for time, index in enumerate(self.sequence):
            self.time = time
            for value in body.reads[index]:
                self.read(value)
            made = self.names[index] = self.instruction(f"v{index}", index)
            if index in body.slots:
                self.lines.append(Store(made, body.scratch, body.width, offset=self.slot(index)))
            for position in body.stores.get(index, []):  # at once: what waits for the end takes a register
                finish = self.stores.get(position)
                if finish is not None:
                    finish(self.code, self.opened, made, index in body.read)
                else:
                    self.lines += places.store(position, made)
        made = self.code.function
        return replace(made, body=tuple(nearby(made.body, _MEMORIES, body.scratch.type))) if near else made

    def slot(self, index: int) -> int:
        """Byte offset of a value in scratch."""
        return self.body.width * self.body.slots[index]

    def read(self, index: int) -> None:
        """Read a value from memory under a new name."""
        op, number, _ = self.trace_code[index]
        name = f"v{index}.{len(self.lines)}"
        target = self.names[index] = Value(name, self.kind)
        if op == INPUT:
            self.lines += self.body.places.load(target, number)
        elif index in self.body.slots:
            self.lines.append(Let(target, "read", (self.body.scratch,), (self.slot(index), self.body.width)))
        elif (position := self.body.result(index)) is not None:
            self.lines += self.body.places.again(target, position)
        else:
            self.make_again(name, index)

    def make_again(self, name: str, index: int) -> None:
        """Recompute a sum or product from operands read for it alone."""
        before = dict(self.names)
        for operand in self.body.operands(index):
            self.read(operand)
        made = self.instruction(name, index)
        self.names = before | {index: made}

    def let(self, name: str, operation: str, *operands: Value, detail: str | None = PLANNED) -> Value:
        made = Value(name, self.kind)
        self.lines.append(Let(made, operation, operands, detail))
        return made

    def instruction(self, name: str, index: int) -> Value:
        op, left, right = self.trace_code[index]
        if index in self.body.fused:
            return self.fused_sum(name, index)
        if op == INPUT:
            made = Value(name, self.kind)
            self.lines += self.body.places.load(made, left)
            return made
        if op in (SIN, COS):
            if left not in self.turned:
                self.turn(left)
            return Value(f"x{left}.{'sin' if op == SIN else 'cos'}", self.kind)
        a = self.operand(left)
        if op in _INFIX:
            return self.let(name, _INFIX[op], a, self.operand(right))
        if op == SIGN:
            return self.sign(name, a)
        return self.let(name, "fneg", a) if op == NEG else self.let(name, "sqrt", a, detail=None)

    def operand(self, index: int) -> Value:
        op, value, _ = self.trace_code[index]
        if op != CONST:
            return self.names[index]
        if self.body.width > LOADED or not self.body.sparing:
            return Value(value, self.kind)
        made = Value(f"c{index}.{len(self.lines)}", self.kind)
        self.lines.append(Let(made, "constant", (), self.body.constant(value)))
        return made

    def turn(self, first: int) -> None:
        """Sines and cosines of angles that are inputs, step by step side by side: each is a chain of twenty
        operations, in which a processor would wait."""
        code = self.trace_code
        ahead = (code[index][1] for index in self.sequence[self.time :] if code[index][0] in (SIN, COS))
        others = (angle for angle in ahead if angle not in self.turned and self.body.is_at_hand(angle))
        angles = list(dict.fromkeys((first, *others)))[:ABREAST]
        for angle in angles[1:]:
            self.read(angle)
        near = {angle: self.names[angle] for angle in angles if self.is_near(angle)}
        far = {f"x{x}": Angle(self.names[x], self.terms(x)) for x in angles if x not in near}
        self.lines += within_reach(f"turn{first}", far, self.lanes) if far else []
        side = SPARED if self.body.sparing else ABREAST
        steps = [
            (step + BEHIND * (number // side), number, line)
            for number, x in enumerate(angles)
            for step, line in enumerate(sincos(f"x{x}", near.get(x, Value(f"x{x}", self.kind)), self.lanes, self.fma))
        ]
        self.lines += [line for _, _, line in sorted(steps, key=lambda step: step[:2])]
        self.turned.update(angles)

    def is_near(self, angle: int) -> bool:
        """Whether an angle is an input from which whole turns were taken before the body runs."""
        op, number, _ = self.trace_code[angle]
        return op == INPUT and number in self.body.near

    def terms(self, angle: int) -> tuple[Value, ...]:
        """The terms of an angle that is a sum, where these are to be exact."""
        op, left, right = self.trace_code[angle]
        known = self.body.sums_of_angles and op == ADD and angle not in self.body.fused
        return tuple(self.names[x] for x in (left, right)) if known and {left, right} <= self.names.keys() else ()

    def fused_sum(self, name: str, index: int) -> Value:
        """A sum with a product: ±xy ± z."""
        op, left, right = self.trace_code[index]
        product = self.body.fused[index]
        x, y = (self.operand(factor) for factor in self.trace_code[product][1:])
        z = self.operand(right if left == product else left)
        if op == SUB:
            minus = self.let(f"{name}.n", "fneg", x if right == product else z, detail=None)
            x, z = (minus, z) if right == product else (x, minus)
        return self.let(name, "fma", x, y, z)

    def sign(self, name: str, x: Value) -> Value:
        """±1 where x is beyond zero; zero and NaN stay what they are, NaN without a flag: `one` compares quietly."""
        other = Value(f"{name}.o", vector(self.lanes, "i1"))
        self.lines.append(Let(other, "one", (x, Value(0.0, self.kind))))
        signed = self.let(f"{name}.s", "copysign", Value(1.0, self.kind), x, detail=None)
        return self.let(name, "select", other, signed, x, detail=None)


def cut(sequence: list[int]) -> list[list[int]]:
    """Split a sequence into parts as equal, and as few, as compile time allows."""
    count = len(sequence)
    parts = max(1, -(-count // longest_function(count)))
    return [sequence[count * k // parts : count * (k + 1) // parts] for k in range(parts)]
