"""Arithmetic of the loop language, as Python does it: a checked loop ends where Python raises, or would need more than
64 bits, with a fault.

Unchecked, whole numbers wrap at 64 bits, int and floor give the nearest whole number that there is, and floats divide
and take roots by IEEE 754; a whole number divided by 0 is a fault in any loop, which would end the process.
"""

from __future__ import annotations

from collections.abc import Callable

from phistar.backends.kernels import ANY_ORDER, F64, I1, I64, Code, Local, Memory, Type, kernel_ir

OUTSIDE, BY_ZERO, TOO_LONG, NOT_FINITE, NEGATIVE, NOT_EXACT = range(1, 7)  # what `fault` says
FAULT = Memory("fault", I64, 1)
_EXACT = 2**53  # whole numbers to here are floats
_LEAST, _MOST = -(2.0**63), 2.0**63


class Arithmetic:
    """Operations on numbers in a function that gives a `result`; sums are taken in any order."""

    def __init__(self, code: Code, checked: bool, result: Type | None) -> None:
        self.code, self.checked, self.result = code, checked, result
        code.freedom = ANY_ORDER

    def opposite(self, truth: Local) -> Local:
        return self.code.let(I1, "xor", truth, self.code.like(True, I1))

    def end_unless(self, fits: Local, fault: int) -> None:
        """If checked, leave the function with a `fault`, as by an exception, unless `fits` holds."""
        if self.checked:
            self._unless(fits, lambda: (self._fail(fault), self._leave()))

    def end_after_fault(self) -> None:
        """If checked, leave the caller after a call that faulted."""
        if self.checked:
            self._unless(self.code.table(FAULT.name, I64.to).load().same(0), self._leave)

    def _unless(self, test: Local, otherwise: Callable[[], object]) -> None:
        self.code.put(kernel_ir.If(test.value, (), self.code.record(otherwise)))

    def _fail(self, fault: int) -> None:
        self.code.table(FAULT.name, I64.to).store(fault)

    def _leave(self) -> None:
        self.code.give(self.code.like(0, self.result) if self.result is not None else None)

    def whole(self, name: str, left: Local, right: Local) -> Local:
        """Sum, difference or product of whole numbers ("add", "sub", "mul")."""
        if self.checked:
            beyond = self.code.let(I1, "beyond", left, right, detail=name)
            self.end_unless(self.opposite(beyond), TOO_LONG)
        return self.code.let(I64, name, left, right)

    def floor_division(self, name: str, left: Local, right: Local) -> Local:
        """⌊a/b⌋ or a − b⌊a/b⌋ ("sdiv", "srem"), the rest of b's sign: the processor's quotient is cut towards zero, and
        it stops at b = 0 and at −2⁶³/−1."""
        code, known = self.code, right.value.name
        if isinstance(known, int) and known not in (0, -1):
            return self._floor_division(name, left, right)
        apart = code.let(I1, "ne", right, code.whole(0))
        if self.checked:
            self.end_unless(apart, BY_ZERO)
        else:
            self._unless(apart, lambda: self._fail(BY_ZERO))
        turned = right.same(-1)
        found = self._floor_division(name, left, (turned | self.opposite(apart)).select(1, right))
        if name == "srem":
            return found
        least = code.let(I1, "ne", left, code.whole(-(2**63)))
        self.end_unless(least | self.opposite(turned), TOO_LONG)
        return turned.select(code.whole(0) - left, found)

    def _floor_division(self, name: str, left: Local, right: Local) -> Local:
        code, rest = self.code, left % right
        apart = code.let(I64, "xor", rest, right) < 0  # their signs differ
        lower = apart & code.let(I1, "ne", rest, code.whole(0))
        if name == "srem":
            return lower.select(rest + right, rest)
        quotient = left // right
        return lower.select(quotient - 1, quotient)

    def float(self, name: str, left: Local, right: Local) -> Local:
        """Float arithmetic ("fadd", "fsub", "fmul", "fdiv")."""
        if name == "fdiv":
            self.end_unless(self.code.let(I1, "une", right, self.code.number(0.0)), BY_ZERO)
        return self.code.let(F64, name, left, right, detail=self.code.freedom)

    def negate(self, value: Local) -> Local:
        return -value if value.type == F64 else self.whole("sub", self.code.whole(0), value)

    def root(self, value: Local) -> Local:
        self.end_unless(self.code.let(I1, "uge", value, self.code.number(0.0)), NEGATIVE)  # that of NaN is NaN
        return self.of_one("sqrt", value)

    def of_one(self, name: str, value: Local) -> Local:
        """Unary float operation: "sqrt", "fabs", "floor"."""
        return self.code.let(F64, name, value, detail=self.code.freedom)

    def cut(self, value: Local) -> Local:
        """Integer part of a float, truncated towards zero."""
        code = self.code
        if self.checked:
            size = code.let(F64, "fabs", value)
            self.end_unless(code.let(I1, "one", size, code.number(float("inf"))), NOT_FINITE)
            above = code.let(I1, "oge", value, code.number(_LEAST))
            self.end_unless(above & code.let(I1, "olt", value, code.number(_MOST)), TOO_LONG)
        return code.let(I64, "cut", value)

    def exact(self, value: Local) -> Local:
        """Whole number as a float; if checked, a fault beyond ±_EXACT, where digits may be lost."""
        if self.checked:
            near = self.code.let(I1, "ule", value + _EXACT, self.code.whole(2 * _EXACT))
            self.end_unless(near, NOT_EXACT)
        return value.floating()
