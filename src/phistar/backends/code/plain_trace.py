"""A trace as statements of the kernel language for one state at a time, as it stands: what C is written from."""

from __future__ import annotations

from collections.abc import Callable

from phistar.backends.kernels import I1, Let, Statement, Store, Type, Value
from phistar.backends.traces.trace import ADD, CONST, COS, DIV, MUL, NEG, SIGN, SIN, SQRT, SUB, Trace

_INFIX = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}
_OF_ONE = {NEG: "fneg", SQRT: "sqrt"}
_LIBRARY = {("f64", SIN): "sin", ("f64", COS): "cos", ("f32", SIN): "sinf", ("f32", COS): "cosf"}
Find = Callable[[int], tuple[Value, int]]


class PlainTrace:
    """Statements as they are written down. `find` says where a value stands that is not made here: so many entries from
    a pointer on. What is found is read once. `kind`: of the numbers."""

    def __init__(self, trace: Trace, find: Find, kind: str = "f64") -> None:
        self.trace, self.find, self.kind = trace, find, Type(kind)
        self.lines: list[Statement] = []
        self.known: dict[int, Value] = {}

    def value(self, index: int) -> Value:
        op, number, _ = self.trace.code[index]
        if op == CONST:
            return Value(number, self.kind)
        if index not in self.known:
            pointer, entry = self.find(index)
            self._let(index, "read", pointer, detail=self.place(entry))
        return self.known[index]

    def make(self, index: int) -> Value:
        """An instruction."""
        op, left, right = self.trace.code[index]
        a = self.value(left)
        if op in _INFIX:
            return self._let(index, _INFIX[op], a, self.value(right))
        if op == SIGN:
            return self._sign(index, a)
        if (library := _LIBRARY.get((self.kind.kind, op))) is not None:
            return self._let(index, "call", a, detail=library)
        return self._let(index, _OF_ONE[op], a)

    def _let(self, index: int, operation: str, *operands: Value, detail: object = None) -> Value:
        made = self.known[index] = Value(f"x{index}", self.kind)
        self.lines.append(Let(made, operation, operands, detail))
        return made

    def _sign(self, index: int, x: Value) -> Value:
        """±1 where x is beyond zero; zero and NaN stay what they are."""
        kinds = (("a", I1), ("b", I1), ("c", self.kind))
        above, below, rest = (Value(f"x{index}{name}", kind) for name, kind in kinds)
        self.lines += [
            Let(above, "ogt", (x, Value(0.0, self.kind))),
            Let(below, "olt", (x, Value(0.0, self.kind))),
            Let(rest, "select", (below, Value(-1.0, self.kind), x)),
        ]
        return self._let(index, "select", above, Value(1.0, self.kind), rest)

    def output(self, position: int) -> Value:
        """One of the trace's outputs."""
        value = self.trace.outputs[position]
        return Value(float(value), self.kind) if self.trace.output_is_constant[position] else self.value(int(value))

    def store(self, value: Value, pointer: Value, entry: int) -> None:
        self.lines.append(Store(value, pointer, self.kind.size, offset=self.kind.size * entry))

    def place(self, entry: int) -> tuple[int, int]:
        """Bytes to an entry, and its alignment."""
        return self.kind.size * entry, self.kind.size

    def add(self, value: Value, pointer: Value, entry: int) -> None:
        """A value to what stands at a place."""
        before, total = (Value(f"{name}{len(self.lines)}", self.kind) for name in ("before", "total"))
        self.lines += [Let(before, "read", (pointer,), self.place(entry)), Let(total, "fadd", (before, value))]
        self.store(total, pointer, entry)
