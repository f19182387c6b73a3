"""Traced scalars: run a program on them and what remains is a list of scalar instructions.

Zeros, ones and constants of the robot vanish as the trace is recorded, equal instructions are recorded once, and signs
move outward so that additions can absorb them. NumPy treats a `Scalar` as an opaque object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

ADD, SUB, MUL, DIV, NEG, SIN, COS, SQRT, SIGN, INPUT, CONST = range(11)
OP_NAMES = ("add", "sub", "mul", "div", "neg", "sin", "cos", "sqrt", "sign", "input", "const")


class Tape:
    """Instructions in order: `code[i]` is (operation, left, right); inputs and constants hold their number or value."""

    def __init__(self) -> None:
        self.code: list[tuple[int, Any, Any]] = []
        self._seen: dict[tuple[int, Any, Any], int] = {}

    def emit(self, op: int, left: Any, right: Any = None) -> Scalar:
        key = (op, left, right)
        index = self._seen.setdefault(key, len(self.code))
        if index == len(self.code):
            self.code.append(key)
        return Scalar(self, index)

    def constant(self, value: float) -> Scalar:
        return self.emit(CONST, float(value))

    def inputs(self, shape: tuple[int, ...]) -> np.ndarray:
        """An array of fresh inputs, numbered in order."""
        start = sum(op == INPUT for op, _, _ in self.code)
        result = np.empty(shape, dtype=object)
        for offset, index in enumerate(np.ndindex(*shape)):
            result[index] = self.emit(INPUT, start + offset)
        return result


class TooLong(Exception):
    """A trace grew beyond what it was allowed."""


@contextmanager
def unless_too_long() -> Iterator[None]:
    """Leave a recording that grew too long. NumPy goes on with a product of arrays after one of its entries failed, of
    which Python tells as a SystemError that the first failure caused."""
    try:
        yield
    except TooLong:
        return
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, TooLong):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            raise


class ShortTape(Tape):
    """A tape that ends after so many instructions: what would be too long is known before it is recorded."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def emit(self, op: int, left: Any, right: Any = None) -> Scalar:
        if len(self.code) > self.most:
            raise TooLong
        return super().emit(op, left, right)


class Scalar:
    """One number of a trace. Arithmetic with floats folds; no comparisons, no truth value. The tape holds no reference
    to it, so that it can be freed."""

    __slots__ = ("index", "tape")

    def __init__(self, tape: Tape, index: int) -> None:
        self.tape, self.index = tape, index

    def __bool__(self) -> bool:
        raise TypeError("a traced number has no truth value: code that is traced must not branch on values")

    def _operation(self) -> tuple[int, Any, Any]:
        return self.tape.code[self.index]

    def __add__(self, other: Any) -> Any:
        if type(other) is not Scalar:
            if other == 0.0:
                return self
            other = self.tape.constant(other)
        tape = self.tape
        op, left, right = tape.code[other.index]
        if op == NEG:
            return self - Scalar(tape, left)
        if op == SUB and right == self.index:  # a + (b − a)
            return Scalar(tape, left)
        op, left, right = tape.code[self.index]
        if op == NEG:
            return other - Scalar(tape, left)
        if op == SUB and right == other.index:
            return Scalar(tape, left)
        a, b = self.index, other.index
        return tape.emit(ADD, a, b) if a <= b else tape.emit(ADD, b, a)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is not Scalar:
            if other == 0.0:
                return self
            other = self.tape.constant(other)
        if other.index == self.index:
            return 0.0
        tape = self.tape
        op, left, _ = tape.code[other.index]
        if op == NEG:
            return self + Scalar(tape, left)
        op, left, _ = tape.code[self.index]
        if op == NEG:
            return -(Scalar(tape, left) + other)
        return tape.emit(SUB, self.index, other.index)

    def __rsub__(self, other: Any) -> Any:
        if other == 0.0:
            return -self
        return self.tape.constant(other) - self

    def __neg__(self) -> Any:
        op, left, right = self._operation()
        if op == NEG:
            return Scalar(self.tape, left)
        if op == SUB:
            return self.tape.emit(SUB, right, left)
        if op == CONST:
            return self.tape.constant(-left)
        return self.tape.emit(NEG, self.index)

    def __mul__(self, other: Any) -> Any:
        tape = self.tape
        if type(other) is not Scalar:
            if other == 0.0:
                return 0.0
            if other == 1.0:
                return self
            if other == -1.0:
                return -self
            return self._times_constant(float(other))
        left_op, left, _ = tape.code[self.index]
        right_op, right, _ = tape.code[other.index]
        if left_op == NEG:
            return -(Scalar(tape, left) * other)
        if right_op == NEG:
            return -(self * Scalar(tape, right))
        if right_op == CONST:
            return self * right
        if left_op == CONST:
            return other * left
        if (right_op == DIV and self._cancels(right, other)) or (left_op == DIV and other._cancels(left, self)):
            return 1.0  # a · (1/a): what makes HG = I a structural fact of the trace
        a, b = self.index, other.index
        return tape.emit(MUL, a, b) if a <= b else tape.emit(MUL, b, a)

    __rmul__ = __mul__

    def _cancels(self, numerator: int, quotient: Scalar) -> bool:
        code = self.tape.code
        return code[numerator][:2] == (CONST, 1.0) and code[quotient.index][2] == self.index

    def _times_constant(self, value: float) -> Any:
        tape = self.tape
        op, left, right = self._operation()
        if op == CONST:
            return left * value
        if op == NEG:
            return Scalar(tape, left)._times_constant(-value)
        if op == MUL and tape.code[right][0] == CONST:
            return Scalar(tape, left) * (tape.code[right][1] * value)
        if value < 0:
            return -self._times_constant(-value)
        return tape.emit(MUL, self.index, tape.constant(value).index)

    def __truediv__(self, other: Any) -> Any:
        if type(other) is not Scalar:
            return self * (1.0 / other)
        op, value, _ = self.tape.code[other.index]
        if op == CONST:
            return self * (1.0 / value)
        if op == NEG:
            return -(self / Scalar(self.tape, value))
        return self.tape.emit(DIV, self.index, other.index)

    def __rtruediv__(self, other: Any) -> Any:
        return 0.0 if other == 0.0 else self.tape.constant(other) / self

    def sin(self) -> Scalar:
        return self.tape.emit(SIN, self.index)

    def cos(self) -> Scalar:
        return self.tape.emit(COS, self.index)

    def sqrt(self) -> Scalar:
        return self.tape.emit(SQRT, self.index)

    def sign(self) -> Scalar:
        """−1, 0 or 1; NumPy calls it from no ufunc: np.sign compares."""
        return self.tape.emit(SIGN, self.index)

    def __abs__(self) -> Any:
        return self * self.sign()

    def __pow__(self, power: Any) -> Any:
        if isinstance(power, float) and power.is_integer():
            power = int(power)
        if not isinstance(power, int) or not 0 <= power <= 8:
            raise TypeError(f"a traced number can be raised to the powers 0 to 8, not to {power!r}")
        return reduce(mul, [self] * power, 1.0)

    def conjugate(self) -> Scalar:
        return self


@dataclass(frozen=True)
class Trace:
    """Instructions of a tape that the outputs need, renumbered. Outputs may be plain floats."""

    code: tuple[tuple[int, Any, Any], ...]
    outputs: tuple[int | float, ...]  # an instruction's number, or a constant
    output_is_constant: tuple[bool, ...]

    @property
    def operations(self) -> int:
        """Arithmetic instructions; sine and cosine count one each."""
        return sum(op < INPUT for op, _, _ in self.code)

    def counts(self) -> dict[str, int]:
        result: dict[str, int] = {}
        for op, _, _ in self.code:
            if op < INPUT:
                result[OP_NAMES[op]] = result.get(OP_NAMES[op], 0) + 1
        return result


def finish(tape: Tape, outputs: Sequence[Any] | np.ndarray) -> Trace:
    """Drop what no output needs."""
    constant = tuple(type(value) is not Scalar for value in outputs)
    return _drop_unneeded(tape.code, tuple(v.index if type(v) is Scalar else float(v) for v in outputs), constant)


def _drop_unneeded(
    code: Sequence[tuple[int, Any, Any]], outputs: tuple[int | float, ...], output_is_constant: tuple[bool, ...]
) -> Trace:
    """The instructions that some outputs need."""
    pairs = list(zip(outputs, output_is_constant, strict=True))
    needed = bytearray(len(code))
    for value, constant in pairs:
        if not constant:
            needed[int(value)] = 1
    for index in range(len(code) - 1, -1, -1):
        if needed[index]:
            op, left, right = code[index]
            if op < INPUT:
                needed[left] = 1
                if right is not None:
                    needed[right] = 1
    number: dict[int, int] = {}
    kept: list[tuple[int, Any, Any]] = []
    for index, (op, left, right) in enumerate(code):
        if needed[index]:
            number[index] = len(kept)
            if op < INPUT:
                kept.append((op, number[left], None if right is None else number[right]))
            else:
                kept.append((op, left, right))
    results = tuple(value if constant else number[int(value)] for value, constant in pairs)
    return Trace(tuple(kept), results, output_is_constant)


def restrict(trace: Trace, positions: list[int]) -> Trace:
    """The trace that makes only some of its outputs."""
    constant = tuple(trace.output_is_constant[position] for position in positions)
    return _drop_unneeded(trace.code, tuple(trace.outputs[position] for position in positions), constant)


def angle_inputs(trace: Trace) -> frozenset[int]:
    """Numbers of the inputs that are used only in sines and cosines."""
    turned, otherwise = set(), {int(x) for x, fixed in zip(trace.outputs, trace.output_is_constant) if not fixed}
    for op, left, right in trace.code:
        if op < INPUT:
            (turned if op in (SIN, COS) else otherwise).update(x for x in (left, right) if x is not None)
    return frozenset(trace.code[x][1] for x in turned - otherwise if trace.code[x][0] == INPUT)


def depth_first(trace: Trace, last_first: bool = False) -> Trace:
    """The same instructions, each output's just before it, the outputs in their order or the last first: fewer values
    wait to be used. Inputs, constants, and what is a function of one input alone stay in front; of two operands the one
    that needs more is made first."""
    code = trace.code
    needs = [0] * len(code)
    for index, (op, left, right) in enumerate(code):
        pair = (needs[left], needs[left] if right is None else needs[right]) if op < INPUT else (int(op == INPUT), 0)
        needs[index] = max(pair) + int(op < INPUT and right is not None and pair[0] == pair[1])
    order = [i for i, (op, left, _) in enumerate(code) if op >= INPUT or (op in (SIN, COS) and code[left][0] == INPUT)]
    done = bytearray(len(code))
    for index in order:
        done[index] = 1
    waiting = [int(x) for x, fixed in zip(trace.outputs, trace.output_is_constant, strict=True) if not fixed]
    waiting = waiting if last_first else waiting[::-1]
    while waiting:
        index = waiting[-1]
        _, left, right = code[index]
        missing = () if done[index] else tuple(x for x in (left, right) if x is not None and not done[x])
        if missing:
            waiting += sorted(missing, key=needs.__getitem__)
            continue
        waiting.pop()
        if not done[index]:
            done[index] = 1
            order.append(index)
    return reorder(trace, order)


def reorder(trace: Trace, order: list[int]) -> Trace:
    """The same instructions in another order, operands before what needs them."""
    number = {old: new for new, old in enumerate(order)}
    code = []
    for op, left, right in (trace.code[index] for index in order):
        moved = op, left, right
        if op < INPUT:
            moved = op, number[left], None if right is None else number[right]
        code.append(moved)
    pairs = zip(trace.outputs, trace.output_is_constant, strict=True)
    outputs = tuple(value if constant else number[int(value)] for value, constant in pairs)
    return Trace(tuple(code), outputs, trace.output_is_constant)


def is_traced(*arrays: Any) -> bool:
    """Whether any of the arrays holds traced numbers."""
    return any(isinstance(array, np.ndarray) and array.dtype.hasobject for array in arrays)
