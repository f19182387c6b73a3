"""Work on columns of one link, traced from the terms of a region: what is repeated for each group of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.kernels import FREE, IN_ORDER, Code, Local
from phistar.backends.pairwise.walk import GROUP
from phistar.backends.traces.order import chain_sums
from phistar.backends.traces.solve import Block, BlockDomain
from phistar.backends.traces.trace import ADD, CONST, INPUT, MUL, NEG, SUB, Tape, Trace, finish
from phistar.sweeps.ir import Move, Statement, Sweep, Term, Times
from phistar.sweeps.regions import Column

BLOCK, COLUMN, MAIL, TABLE = "block", "column", "mail", "table"
Spot = tuple[str, str, int]
"""An entry of a link's block, of a column's, of what is handed on, or of a row of a table."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Entries of blocks that are not zero by structure, for joints of so many rates: (rows, columns), True where any
    link has one; of those that are None, nothing."""

    known: Mapping[str, np.ndarray | None]
    columns: Mapping[str, np.ndarray | None]


class _Columns(BlockDomain):
    """Terms at one link and one column; `rates`: of the joint."""

    def __init__(self, rates: int, blocks: Blocks, tables: set[str]) -> None:
        self.rates, self.blocks, self.tables = rates, blocks, tables
        self.tape, self.spots = Tape(), dict[Spot, Any]()

    def sites(self, sweep: Sweep) -> tuple[None]:
        return (None,)

    def put(self, statement: Statement, at: None, value: Block) -> None:
        raise NotImplementedError(statement)

    def entry(self, *spot: Any) -> Any:
        if spot not in self.spots:
            self.spots[spot] = self.tape.emit(INPUT, len(self.spots))
        return self.spots[spot]

    def array(self, kind: str, name: str, filled: np.ndarray | None) -> Block:
        if filled is None or not filled.any():
            return None
        result = np.full(filled.shape, 0.0, dtype=object)
        for number, index in enumerate(np.ndindex(*filled.shape)):
            if filled[index]:
                result[index] = self.entry(kind, name, number)
        return result

    def get(self, name: str, at: None) -> Block:
        if name in self.tables:
            return self.array(TABLE, name, np.ones((self.rates, 1), dtype=bool))
        return self.array(BLOCK, name, self.blocks.known[name])

    def move(self, term: Term, at: None) -> Block:
        match term:
            case Column(name=name):
                return self.array(COLUMN, name, self.blocks.columns[name])
            case Move(name=name, is_plain=True):
                return self.array(MAIL, name, np.ones((6, 1), dtype=bool))
        raise NotImplementedError(term)

    def product(self, left: Block, right: Block, term: Times, at: None, half: bool) -> Block:
        """Products with what is handed on in two halves: half as long to wait for by the next link."""
        if left is None or right is None or left.shape[1] < 6 or not any(spot[0] == MAIL for spot in self.spots):
            return super().product(left, right, term, at, half)
        return np.matmul(left[:, :3], right[:3]) + np.matmul(left[:, 3:], right[3:])

    def data(self, name: str, at: None) -> Block:
        raise NotImplementedError(name)

    def apply(self, function: str, arguments: list[Block], at: None) -> Block:
        raise NotImplementedError(function)


@dataclass(frozen=True, eq=False)
class Body:
    """Instructions for one column: what is read, and where each result goes (a field and its entry)."""

    trace: Trace
    loads: tuple[Spot, ...]
    stores: tuple[tuple[str, int], ...]

    @property
    def operations(self) -> int:
        return self.trace.operations

    def spots_used(self) -> list[Spot]:
        return [self.loads[number] for op, number, _ in self.trace.code if op == INPUT]

    def put(
        self,
        code: Code,
        start: Local,
        stop: Local,
        blocks: Callable[[Spot], Local],
        place: Callable[[Spot], Local],
        to: Callable[[str, int], Local],
    ) -> None:
        """A loop over groups of columns; `blocks` are numbers, `place` and `to` are where arrays of columns begin."""
        fixed = {spot: blocks(spot).every(GROUP) for spot in self.spots_used() if spot[0] == BLOCK}
        arrays = {spot: place(spot) for spot in self.spots_used() if spot[0] != BLOCK}
        targets = [to(*x) for x in self.stores]
        with code.loop(start, stop) as g:
            c = g * GROUP
            found = self.results(code, lambda spot: fixed[spot] if spot in fixed else arrays[spot].at(c).load(GROUP))
            for target, value in zip(targets, found, strict=True):
                target.at(c).store(value)

    def results(self, code: Code, given: Callable[[Spot], Local]) -> list[Local]:
        """Return the values to store of a group of columns for which everything read is `given`."""
        values: list[Local] = []
        code.freedom = IN_ORDER if any(spot[0] == MAIL for spot in self.loads) else FREE
        for op, left, right in self.trace.code:
            if op == INPUT:
                values.append(given(self.loads[left]))
            elif op == CONST:
                values.append(code.number(left, GROUP))
            else:
                values.append(_apply(op, values[left], None if right is None else values[right]))
        known = zip(self.trace.outputs, self.trace.output_is_constant, strict=True)
        return [code.number(value, GROUP) if fixed else values[int(value)] for value, fixed in known]


def _apply(op: int, left: Local, right: Local | None) -> Local:
    if op == NEG:
        return -left
    assert right is not None
    return left + right if op == ADD else left - right if op == SUB else _product(op, left, right)


def _product(op: int, left: Local, right: Local) -> Local:
    assert op == MUL, op
    return left * right


def trace_fields(targets: Sequence[tuple[str, Term]], rates: int, blocks: Blocks, tables: set[str]) -> Body:
    """The instructions of some fields at one link and one column."""
    domain = _Columns(rates, blocks, tables)
    values: list[Any] = []
    stores: list[tuple[str, int]] = []
    for name, term in targets:
        block = domain.value(term, None)
        rows = rates if name in tables else 6
        entries = np.zeros(rows) if block is None else block.reshape(-1)
        assert len(entries) == rows, (name, rows)
        values += list(entries)
        stores += [(name, i) for i in range(rows)]
    trace = finish(domain.tape, values)
    waits = any(spot[0] == MAIL for spot in domain.spots)
    return Body(trace if waits else chain_sums(trace), tuple(domain.spots), tuple(stores))
