"""Programs as plain data and back: what is derived once can be kept.

A value is a row: a number, a word, or [its kind, the numbers of the rows of its fields]. Equal parts are one row,
however many programs have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from phistar.sweeps import ir, regions

_NAMED = {**vars(ir), **vars(regions)}
_KINDS = {kind.__name__: kind for kind in _NAMED.values() if isinstance(kind, type) and is_dataclass(kind)}
_TUPLE, _FRACTION = "", "Fraction"


class Rows:
    """A table of rows that values are added to."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def add(self, value: Any) -> int:
        """The number of the row of a value: a term, a program, a tuple, a number or a word."""
        row = self._row(value)
        known = (type(row), row)  # True is no 1
        if known not in self._numbers:
            self._numbers[known] = len(self.rows)
            self.rows.append(row)
        return self._numbers[known]

    def _row(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return _TUPLE, *map(self.add, value)
        if isinstance(value, Fraction):
            return _FRACTION, self.add(value.numerator), self.add(value.denominator)
        if is_dataclass(value) and type(value).__name__ in _KINDS:
            return type(value).__name__, *(self.add(getattr(value, field.name)) for field in fields(value))
        if value is None or isinstance(value, str | int):
            return value
        raise TypeError(f"{value!r} is no part of a program")


def value_of(rows: Sequence[Any], number: int) -> Any:
    """The value of a row; equal terms are again one object."""
    row = rows[number]
    if not isinstance(row, list | tuple):
        return row
    kind, parts = row[0], tuple(value_of(rows, part) for part in row[1:])
    if kind == _TUPLE:
        return parts
    return Fraction(*parts) if kind == _FRACTION else _KINDS[kind](*parts)
