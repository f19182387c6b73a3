"""Memory of regions over pairs for a state: blocks of links, columns, what is handed on, tables. Knows no robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.backends.pairwise.bodies import BLOCK, Blocks, Body, trace_fields
from phistar.sweeps.ir import INWARD, ZERO, fields_anywhere, parts
from phistar.sweeps.regions import Column, PairField, PairProgram, Pairs

UPPER, LOWER = "upper", "lower"
INBOARD, OUTBOARD, EVERYWHERE = WAYS = "inboard", "outboard", "everywhere"
Entry = tuple[str, int]  # a block, and the number of its entry
Shapes = dict[str, np.ndarray | None]


@dataclass(frozen=True, eq=False)
class Layout:
    """A program's regions for joints of some numbers of `rates`; `shapes`: by these the entries of blocks that are not
    zero."""

    program: PairProgram
    rates: tuple[int, ...]
    shapes: dict[int, Shapes]

    @property
    def regions(self) -> tuple[Pairs, ...]:
        return self.program.regions

    @property
    def symmetric(self) -> frozenset[str]:
        return frozenset(self.program.mirrored)

    @cached_property
    def results(self) -> tuple[str, ...]:
        return tuple(field for _, field in self.program.results)

    @cached_property
    def rows(self) -> set[str]:
        """Fields that have a row for each joint rate."""
        return {x.name for region in self.regions for x in region.fields if not x.handed_on}

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """Tables kept whole: those that a later region reads, and those that are mirrored."""
        begun = {x.name for region in self.regions for x in region.fields if x.begun}
        inward = {x.name for region in self.regions for x in region.fields if region.direction == INWARD}
        return tuple(sorted(self.rows & (begun | inward | self.symmetric)))

    @cached_property
    def buffers(self) -> tuple[str, ...]:
        """Others, written out link by link: a row of each rate of a joint."""
        return tuple(sorted(self.rows - set(self.tables)))

    def mails(self, inward: bool) -> tuple[str, ...]:
        regions = [x for x in self.regions if (x.direction == INWARD) == inward]
        return tuple(sorted({x.name for region in regions for x in region.fields if x.handed_on}))

    # Blocks

    def blocks(self, rates: int) -> Blocks:
        return Blocks(self.shapes[rates], self.columns)

    @cached_property
    def columns(self) -> Shapes:
        """Components of blocks that columns have, (rows, 1), True where any link has one."""
        names = {x.name for f in self._fields() for t in f.terms for x in parts(t) if isinstance(x, Column)}
        found: Shapes = {}
        for name in sorted(names):
            known = [x.any(axis=1, keepdims=True) for n in self.rates if (x := self.shapes[n][name]) is not None]
            found[name] = np.logical_or.reduce(known) if known else None
        return found

    @cached_property
    def column_entries(self) -> tuple[Entry, ...]:
        return tuple((name, i) for name, x in self.columns.items() if x is not None for i in np.flatnonzero(x).tolist())

    @cached_property
    def block_entries(self) -> dict[int, dict[Entry, int]]:
        """Entries of blocks that the link's work reads, by rates of its joint, numbered."""
        found = {}
        for rates, shapes in self.shapes.items():
            read = {
                spot[1:]
                for work in self.work
                if work.rates == rates
                for spot in work.body.spots_used()
                if spot[0] == BLOCK
            }
            for name in (x.own for x in self._fields() if x.own):
                filled = shapes[name]
                read |= set() if filled is None else {(name, i) for i in np.flatnonzero(filled).tolist()}
            found[rates] = {entry: number for number, entry in enumerate(sorted(read))}
        return found

    @property
    def blocks_read(self) -> set[str]:
        """Blocks that work or columns read."""
        entries = [*self.column_entries, *(x for numbered in self.block_entries.values() for x in numbered)]
        return {name for name, _ in entries}

    def _fields(self) -> list[PairField]:
        return [x for region in self.regions for x in region.fields]

    # Work

    @cached_property
    def work(self) -> tuple[Work, ...]:
        """All work on columns."""
        return tuple(
            Work(number, way, rates, tuple(fields), span, self._body(fields, way, rates))
            for number, region in enumerate(self.regions)
            for way in WAYS
            for fields in _groups(region, way)
            if not ((span := self._span(region, fields)) and way == INBOARD)
            for rates in self.rates
        )

    def at(self, region: int, way: str, rates: int) -> list[Work]:
        return [x for x in self.work if (x.region, x.way, x.rates) == (region, way, rates)]

    def _body(self, fields: Sequence[PairField], way: str, rates: int) -> Body:
        return trace_fields([(x.name, getattr(x, way)) for x in fields], rates, self.blocks(rates), self.rows)

    def is_half(self, region: int, field: PairField) -> bool:
        return self._is_half(self.regions[region], [field])

    def _span(self, region: Pairs, fields: Sequence[PairField]) -> str:
        if not {x.name for x in fields}.isdisjoint(self.program.lower):
            return LOWER
        return UPPER if self._is_half(region, fields) else ""

    def _is_half(self, region: Pairs, fields: Sequence[PairField]) -> bool:
        """Whether columns from the link's own on are enough for some fields: those of symmetric results alone, and what
        nothing else is made of."""
        names = {x.name for x in fields}
        read = [
            other for other in _groups(region, EVERYWHERE) if any(fields_anywhere(x.everywhere) & names for x in other)
        ]
        served = {x.name for group in (*read, fields) for x in group}
        begun = {x.name for x in self._fields() if x.begun}
        results = served & set(self.results)
        later = {x.name for x in fields if x.name in begun and not x.begun}
        return bool(results) and results <= self.symmetric and not later and region.direction != INWARD

    def counts(self, rates: int) -> list[int]:
        """Operations of a column inboard, outboard, and anywhere: in all columns, from the own on, and up to it."""
        found: dict[str, int] = dict.fromkeys((*WAYS, UPPER, LOWER), 0)
        for work in (x for x in self.work if x.rates == rates):
            found[work.span if work.span and work.way == EVERYWHERE else work.way] += work.body.operations
        return list(found.values())


@dataclass(frozen=True, eq=False)
class Work:
    """Work on columns of a link whose joint has so many rates: by some fields of a region, in one of the ways;
    `span`: for a triangle of a symmetric result, columns from the link's own on (upper) or up to it (lower)."""

    region: int
    way: str
    rates: int
    fields: tuple[PairField, ...]
    span: str
    body: Body


def _groups(region: Pairs, way: str) -> list[list[PairField]]:
    """Fields whose work belongs together: what they hand on, or read of rows that are made there."""
    found: list[tuple[set[str], list[PairField]]] = []
    inside, main = {x.name for x in region.fields}, OUTBOARD if region.direction == INWARD else EVERYWHERE
    for x in (f for f in region.fields if getattr(f, way) is not ZERO or (f.handed_on and way == main)):
        names = ({x.name} | fields_anywhere(getattr(x, way))) & inside
        joined = [group for group in found if group[0] & names]
        found = [group for group in found if group not in joined]
        found.append((names.union(*(names for names, _ in joined)), [*(f for _, own in joined for f in own), x]))
    return [group for _, group in found]
