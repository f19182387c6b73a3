"""Operations of a program, counted, as exact polynomials in n.

The count runs the program on patterns of zeros, ones and numbers instead of arrays, for a serial chain of n links with
revolute joints about z, general rotations, offsets and inertias. What is symmetric is computed once. Nothing is timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from phistar.errors import StatementError
from phistar.sweeps.ir import Program
from phistar.sweeps.pattern_arithmetic import Count
from phistar.sweeps.patterns import count


@dataclass(frozen=True)
class CostPolynomial:
    """Counts as polynomials in n, exact for n ≥ `from_n`; `cost(n)` evaluates them."""

    adds: tuple[Fraction, ...]
    multiplies: tuple[Fraction, ...]
    divides: tuple[Fraction, ...]
    from_n: int

    def __call__(self, n: int) -> Count:
        return Count(*(int(_value(p, n)) for p in (self.adds, self.multiplies, self.divides)))

    @property
    def degree(self) -> int:
        return max(len(self.adds), len(self.multiplies), len(self.divides)) - 1

    def __str__(self) -> str:
        parts = [
            f"{_show(p)} {name}"
            for p, name in zip(self.parts, ("additions", "multiplications", "divisions"), strict=True)
        ]
        return ", ".join(parts)

    @property
    def parts(self) -> tuple[tuple[Fraction, ...], ...]:
        return self.adds, self.multiplies, self.divides


@cache
def cost_polynomial(program: Program) -> CostPolynomial:
    """Counted at small n, interpolated, and checked at one n more than the degree needs.

    A shift that is repeated reaches further before tip and base stop mattering, so the first n is moved up until the
    counts fit.
    """
    counts = {n: count(program, n) for n in range(3, 3 + _POINTS)}
    for first in range(3, 3 + _FURTHEST):
        sizes = range(first, first + _POINTS)
        counts |= {n: count(program, n) for n in sizes if n not in counts}
        names = ("adds", "multiplies", "divides")
        parts = [_interpolate(list(sizes), [getattr(counts[n], name) for n in sizes]) for name in names]
        if all(part is not None for part in parts):
            return CostPolynomial(parts[0] or (), parts[1] or (), parts[2] or (), first)
    raise StatementError("The operations of this statement could not be counted as a polynomial in n.")


_POINTS, _FURTHEST = 6, 30


def _interpolate(xs: list[int], ys: list[int]) -> tuple[Fraction, ...] | None:
    """Coefficients, lowest first, of the polynomial of least degree through all points; None if they need them all."""
    for degree in range(len(xs) - 1):
        coefficients = _through(xs[: degree + 1], ys[: degree + 1])
        if all(_value(coefficients, x) == y for x, y in zip(xs, ys, strict=True)):
            return coefficients
    return None


def _through(xs: list[int], ys: list[int]) -> tuple[Fraction, ...]:
    """Lagrange's formula, multiplied out."""
    result = [Fraction(0)] * len(xs)
    for i, x in enumerate(xs):
        basis, scale = [Fraction(1)], Fraction(1)
        for j, other in enumerate(xs):
            if i != j:
                basis = [a - other * b for a, b in zip([Fraction(0), *basis], [*basis, Fraction(0)], strict=True)]
                scale *= x - other
        for power, c in enumerate(basis):
            result[power] += c * ys[i] / scale
    while len(result) > 1 and result[-1] == 0:
        result.pop()
    return tuple(result)


def _value(coefficients: tuple[Fraction, ...], n: int) -> Fraction:
    return sum((c * n**power for power, c in enumerate(coefficients)), Fraction(0))


def _show(coefficients: tuple[Fraction, ...]) -> str:
    names = ["", "n", "n²", "n³", "n⁴"]
    shown = ""
    for power in range(len(coefficients) - 1, -1, -1):
        c = coefficients[power]
        if c:
            size = "" if abs(c) == 1 and power else str(abs(c))
            sign = ("−" if c < 0 else "") if not shown else (" − " if c < 0 else " + ")
            shown += f"{sign}{size}{names[power]}"
    return shown or "0"
