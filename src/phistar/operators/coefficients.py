"""Rational coefficients of sums. Nearly all are one or minus one, and fractions add and multiply slowly."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

Part = TypeVar("Part")
ONE = Fraction(1)


def times(c: Fraction, d: Fraction) -> Fraction:
    """cd."""
    return d if c == 1 else c if d == 1 else c * d


def collect(terms: dict[Part, Fraction], part: Part, c: Fraction) -> None:
    """Add c·part to some terms; what comes to zero stays, until `without_zeros`."""
    found = terms.get(part)
    terms[part] = c if found is None else found + c


def without_zeros(terms: dict[Part, Fraction]) -> dict[Part, Fraction]:
    return {part: c for part, c in terms.items() if c}
