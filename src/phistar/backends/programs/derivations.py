"""Derivations, kept: what laws make of statements depends on no robot, so that no start pays for it twice.

Those of the package's own statements come with it, in `derivations.json`, which `tools/derivations.py` writes; others
are on the user's disk once they were made. An edit of the laws or of what lowers statements invalidates both. Programs
are stored as rows: a number, a word, or [a kind of value, the numbers of the rows of its fields]; equal parts are one
row, however many programs have them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from phistar.backends.machine import cache as stored
from phistar.identities.law import laws_of_users
from phistar.operators.nodes import Node, spelling
from phistar.operators.symbols import Symbols
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


Nodes = tuple[tuple[str, Node], ...]
Taken = tuple[int, ...]
"""Which of the forms that are offered of each statement; empty: the one that is cheapest on a chain."""

ARTICULATED, COMPOSITE, AS_WRITTEN = "articulated bodies", "composite bodies and LDL*", "as written"
JOSEPH = "as written, with Joseph's update"
FACTORED = "articulated bodies, D in two stages"
APART = "articulated bodies, P⁺ moved part by part"
DECOUPLED = "articulated bodies, D in two stages, few modes at the ends"
"""Forms a statement can be compiled in: simplified with or without the innovations factorization, or not at all, and
then with the update of P⁺ as a sum of positive terms too (R87 eq. 51); of links of any width, with D⁻¹ solved for, and
with φP⁺φ* as φPφ* − (φG)(φU)* too, or in coordinates of the modes in which few of them move the ends of a body."""
Made = TypeVar("Made")
FILE = Path(__file__).with_name("derivations.json")
SOURCES = ("identities", "operators", "sweeps", "backends/pairwise/programs.py")
SOURCES += ("backends/programs/derived_programs.py", "backends/programs/derivative_program.py")
SOURCES += ("backends/programs/solved_statements.py", "backends/programs/derivations.py")
"""Sources that decide what is derived."""

known: dict[str, Any] = {}
"""All that was asked for in this process, by name."""


@cache
def spell_statements(nodes: Nodes, symbols: Symbols) -> str:
    """An exact name of statements over symbols; of task frames their number, since nothing hangs on what they are
    called."""
    plain = symbols.spelling.removeprefix(str(symbols.frames))
    count = None if symbols.frames is None else len(symbols.frames)
    told = repr((count, plain, [(name, spelling(node)) for name, node in nodes]))
    for space in (symbols.task, symbols.task.dual):
        told = told.replace(str(space), f"{space.name}[{count}]")
    return told


def derive(made_from: tuple[Any, ...], make: Callable[[], Made]) -> Made:
    """Result of `make`, kept under a key that names its inputs exactly: a program, or tuples, words and numbers."""
    name = hashlib.sha256(repr((*made_from, laws_of_users())).encode()).hexdigest()[:24]
    if name not in known:
        known[name] = _load_or_make(name, make)
    return known[name]


def _load_or_make(name: str, make: Callable[[], Any]) -> Any:
    key = stored.key("derived", name)
    found = stored.load(key, stored.PROGRAM)
    if found is not None:
        return value_of(found[0]["rows"], found[0]["row"])
    own, rows = own_derivations(), Rows()
    value = value_of(own["rows"], own["derived"][name]) if name in own["derived"] else make()
    number = rows.add(value)
    stored.store(key, {"row": number, "rows": rows.rows}, b"", stored.PROGRAM)
    return value


@cache
def own_derivations() -> dict[str, Any]:
    """The derivations that come with the package: rows, and by name the number of a row; none that an edit has made
    out of date."""
    data = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    current = bool(data) and data["sources"] == stored.contents_of(*SOURCES)
    return data if current else {"rows": [], "derived": {}}
