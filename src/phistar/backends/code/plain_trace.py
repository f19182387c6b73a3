"""A trace as statements of the kernel language for one state at a time, as it stands: what C is written from."""

from __future__ import annotations

from collections.abc import Callable

from phistar.backends.kernels import F64, I1, Let, Statement, Store, Value
from phistar.backends.traces.trace import ADD, CONST, COS, DIV, MUL, NEG, SIGN, SIN, SQRT, SUB, Trace

_INFIX = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}
_OF_ONE = {NEG: "fneg", SQRT: "sqrt"}
_LIBRARY = {SIN: "sin", COS: "cos"}
Find = Callable[[int], tuple[Value, int]]


class PlainTrace:
    """Statements as they are written down. `find` says where a value stands that is not made here: so many entries from
    a pointer on. What is found is read once."""

    def __init__(self, trace: Trace, find: Find) -> None:
        self.trace, self.find = trace, find
        self.lines: list[Statement] = []
        self.known: dict[int, Value] = {}

    def value(self, index: int) -> Value:
        op, number, _ = self.trace.code[index]
        if op == CONST:
            return Value(number, F64)
        if index not in self.known:
            pointer, entry = self.find(index)
            self._let(index, "read", pointer, detail=(8 * entry, 8))
        return self.known[index]

    def make(self, index: int) -> Value:
        """An instruction."""
        op, left, right = self.trace.code[index]
        a = self.value(left)
        if op in _INFIX:
            return self._let(index, _INFIX[op], a, self.value(right))
        if op == SIGN:
            return self._sign(index, a)
        if op in _LIBRARY:
            return self._let(index, "call", a, detail=_LIBRARY[op])
        return self._let(index, _OF_ONE[op], a)

    def _let(self, index: int, operation: str, *operands: Value, detail: object = None) -> Value:
        made = self.known[index] = Value(f"x{index}", F64)
        self.lines.append(Let(made, operation, operands, detail))
        return made

    def _sign(self, index: int, x: Value) -> Value:
        """±1 where x is beyond zero; zero and NaN stay what they are."""
        above, below, rest = (Value(f"x{index}{name}", kind) for name, kind in (("a", I1), ("b", I1), ("c", F64)))
        self.lines += [
            Let(above, "ogt", (x, Value(0.0, F64))),
            Let(below, "olt", (x, Value(0.0, F64))),
            Let(rest, "select", (below, Value(-1.0, F64), x)),
        ]
        return self._let(index, "select", above, Value(1.0, F64), rest)

    def output(self, position: int) -> Value:
        """One of the trace's outputs."""
        value = self.trace.outputs[position]
        return Value(float(value), F64) if self.trace.output_is_constant[position] else self.value(int(value))

    def store(self, value: Value, pointer: Value, entry: int) -> None:
        self.lines.append(Store(value, pointer, offset=8 * entry))

    def add(self, value: Value, pointer: Value, entry: int) -> None:
        """A value to what stands at a place."""
        before, total = (Value(f"{name}{len(self.lines)}", F64) for name in ("before", "total"))
        self.lines += [Let(before, "read", (pointer,), (8 * entry, 8)), Let(total, "fadd", (before, value))]
        self.store(total, pointer, entry)
