"""Vector LLVM IR for a trace: one state per lane, as the inner loop of a NumPy gufunc.

Long traces are split into functions with the values that cross between them in memory, which keeps compile time linear.
Signs, sums and products may be contracted and reassociated; NaN and infinity keep their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from phistar.backends.sincos import sincos
from phistar.backends.trace import ADD, CONST, COS, DIV, INPUT, MUL, NEG, SIN, SQRT, SUB, Trace

FLAGS = "contract reassoc nsz arcp"
PART = 600  # instructions in one function
_INFIX = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}


@dataclass(frozen=True)
class Signature:
    """Rows of each input, and the shape of each output; one state is one row of each."""

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, ...], ...]

    @property
    def text(self) -> str:
        """NumPy's gufunc signature with frozen core dimensions."""
        left = ",".join(f"({n})" for n in self.inputs)
        right = ",".join(f"({','.join(str(n) for n in shape)})" for shape in self.outputs)
        return f"{left}->{right}"

    def input_places(self) -> list[tuple[int, int]]:
        """(array, entry) of each traced input."""
        return [(a, j) for a, size in enumerate(self.inputs) for j in range(size)]

    def output_sizes(self) -> list[int]:
        return [size(shape) for shape in self.outputs]


def size(shape: tuple[int, ...]) -> int:
    result = 1
    for n in shape:
        result *= n
    return result


def module_text(trace: Trace, signature: Signature, lanes: int, fma: bool) -> str:
    """The whole module; `loop` is the gufunc's inner loop."""
    emitter = _Emitter(trace, signature, lanes, fma)
    parts = emitter.parts()
    return "\n".join([_DECLARATIONS.format(w=lanes), *parts, emitter.block(len(parts)), emitter.loop()])


_DECLARATIONS = """declare <{w} x double> @llvm.fma.v{w}f64(<{w} x double>, <{w} x double>, <{w} x double>)
declare <{w} x double> @llvm.fmuladd.v{w}f64(<{w} x double>, <{w} x double>, <{w} x double>)
declare <{w} x double> @llvm.sqrt.v{w}f64(<{w} x double>)
"""


class _Emitter:
    def __init__(self, trace: Trace, signature: Signature, lanes: int, fma: bool) -> None:
        self.trace, self.signature, self.lanes = trace, signature, lanes
        self.vector = f"<{lanes} x double>"
        self.fma = "fma" if fma else "fmuladd"
        self.places = signature.input_places()
        self.slots, self.slot_count, self.ranges = _plan(trace)
        self.arrays = len(signature.inputs) + len(signature.outputs)

    # Straight-line parts

    def pointers(self) -> str:
        """Per array a base pointer and the byte offset of each lane's row."""
        rows = ", ".join(f"ptr %a{a}l{lane}" for a in range(self.arrays) for lane in range(self.lanes))
        return f"{rows}, ptr noalias %scratch"

    def parts(self) -> list[str]:
        return [self.part(number, *bounds) for number, bounds in enumerate(self.ranges)]

    def part(self, number: int, start: int, stop: int) -> str:
        lines = [f"define internal void @part{number}({self.pointers()}) #0 {{"]
        self.loaded: set[int] = set()
        self.turned: set[int] = set()
        for index in range(start, stop):
            self.instruction(index, start, lines)
            if index in self.slots:
                lines.append(self.store_slot(index))
        for position, (value, constant) in enumerate(
            zip(self.trace.outputs, self.trace.output_is_constant, strict=True)
        ):
            if constant and number == 0:
                self.store_output(position, self.splat(float(value)), lines)
            elif not constant and start <= int(value) < stop:
                self.store_output(position, f"%v{value}", lines)
        return "\n".join([*lines, "  ret void", "}"])

    def instruction(self, index: int, start: int, lines: list[str]) -> None:
        op, left, right = self.trace.code[index]
        if op == CONST:
            return
        if op == INPUT:
            self.load_input(index, left, lines)
        elif op in _INFIX:
            a, b = self.operand(left, start, lines), self.operand(right, start, lines)
            lines.append(f"  %v{index} = {_INFIX[op]} {FLAGS} {self.vector} {a}, {b}")
        elif op == NEG:
            lines.append(f"  %v{index} = fneg {FLAGS} {self.vector} {self.operand(left, start, lines)}")
        elif op == SQRT:
            argument = self.operand(left, start, lines)
            lines.append(f"  %v{index} = call {self.vector} @llvm.sqrt.v{self.lanes}f64({self.vector} {argument})")
        elif op in (SIN, COS):
            argument = self.operand(left, start, lines)
            if left not in self.turned:
                self.turned.add(left)
                lines.extend(sincos(f"x{left}", argument, self.lanes, self.fma))
            which = "sin" if op == SIN else "cos"
            lines.append(f"  %v{index} = fadd nsz {self.vector} %x{left}.{which}, {self.splat(-0.0)}")

    def operand(self, index: int, start: int, lines: list[str]) -> str:
        op, value, _ = self.trace.code[index]
        if op == CONST:
            return self.splat(value)
        if index < start and index not in self.loaded:
            self.loaded.add(index)
            if op == INPUT:
                self.load_input(index, value, lines)
            else:
                place = 8 * self.lanes * self.slots[index]
                lines.append(f"  %s{index} = getelementptr i8, ptr %scratch, i64 {place}")
                lines.append(f"  %v{index} = load {self.vector}, ptr %s{index}, align {8 * self.lanes}")
        return f"%v{index}"

    def splat(self, value: float) -> str:
        word = _hex(value)
        return "<" + ", ".join([f"double {word}"] * self.lanes) + ">"

    def store_slot(self, index: int) -> str:
        place = 8 * self.lanes * self.slots[index]
        return (
            f"  %t{index} = getelementptr i8, ptr %scratch, i64 {place}\n"
            f"  store {self.vector} %v{index}, ptr %t{index}, align {8 * self.lanes}"
        )

    def load_input(self, index: int, number: int, lines: list[str]) -> None:
        array, entry = self.places[number]
        previous = "poison"
        for lane in range(self.lanes):
            name = f"%i{index}.{lane}"
            lines.append(f"  {name}p = getelementptr i8, ptr %a{array}l{lane}, i64 {8 * entry}")
            lines.append(f"  {name} = load double, ptr {name}p, align 8")
            target = f"%v{index}" if lane == self.lanes - 1 else f"{name}v"
            lines.append(f"  {target} = insertelement {self.vector} {previous}, double {name}, i32 {lane}")
            previous = target

    def store_output(self, position: int, value: str, lines: list[str]) -> None:
        array, entry = self.output_place(position)
        for lane in range(self.lanes):
            name = f"%o{position}.{lane}"
            lines.append(f"  {name} = extractelement {self.vector} {value}, i32 {lane}")
            lines.append(f"  {name}p = getelementptr i8, ptr %a{array}l{lane}, i64 {8 * entry}")
            lines.append(f"  store double {name}, ptr {name}p, align 8")

    def output_place(self, position: int) -> tuple[int, int]:
        for a, count in enumerate(self.signature.output_sizes()):
            if position < count:
                return len(self.signature.inputs) + a, position
            position -= count
        raise AssertionError(position)

    # The block of states, and the loop over blocks

    def block(self, parts: int) -> str:
        """Lanes beyond the end repeat the last state, so that no tail is special."""
        given = ", ".join(f"ptr %b{a}, i64 %s{a}" for a in range(self.arrays))
        lines = [f"define internal void @block({given}, i64 %first, i64 %last) #0 {{"]
        slots = max(self.slot_count, 1)
        lines.append(f"  %scratch = alloca [{slots * self.lanes} x double], align {8 * self.lanes}")
        for lane in range(self.lanes):
            lines.append(f"  %n{lane} = add i64 %first, {lane}")
            lines.append(f"  %c{lane} = icmp slt i64 %n{lane}, %last")
            lines.append(f"  %r{lane} = select i1 %c{lane}, i64 %n{lane}, i64 %last")
            for a in range(self.arrays):
                lines.append(f"  %o{a}l{lane} = mul i64 %r{lane}, %s{a}")
                lines.append(f"  %a{a}l{lane} = getelementptr i8, ptr %b{a}, i64 %o{a}l{lane}")
        rows = ", ".join(f"ptr %a{a}l{lane}" for a in range(self.arrays) for lane in range(self.lanes))
        lines += [f"  call void @part{number}({rows}, ptr %scratch)" for number in range(parts)]
        return "\n".join([*lines, "  ret void", "}"])

    def loop(self) -> str:
        from phistar.backends.loop import loop_text

        return loop_text(self.signature, self.lanes)


def _hex(value: float) -> str:
    """A double as LLVM reads it exactly."""
    import struct

    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def _plan(trace: Trace) -> tuple[dict[int, int], int, list[tuple[int, int]]]:
    """Where the trace is cut, and the scratch slots of the values that cross a cut; slots are used again when free."""
    ranges = [(start, min(start + PART, len(trace.code))) for start in range(0, max(len(trace.code), 1), PART)]
    part_of = [index // PART for index in range(len(trace.code))]
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
        for slot in expiring.pop(number - 1, []):
            free.append(slot)
        for index in range(start, stop):
            if index in last_use:
                slots[index] = free.pop() if free else count
                count = max(count, slots[index] + 1)
                expiring.setdefault(last_use[index], []).append(slots[index])
    return slots, count, ranges
