"""Results that are recorded up to their last steps, products over pairs of joints and ℳ⁻¹X: written out for few joints,
loops of the kernel for many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.code.elimination import Elimination, Factors, Job, factor, invert_factors, supports
from phistar.backends.code.elimination_plan import HALFWAY, SOLVED, WHOLE, Carrying
from phistar.backends.code.pair_table_loop import Made, PairLoop, Pairs, pair_loop
from phistar.backends.kernels import Code, Local, Module
from phistar.backends.links.values import mirror_upper
from phistar.backends.traces.solve import solve_symmetric


@dataclass(frozen=True)
class Block:
    """A table whose rows from `row` on are to be multiplied by ℳ⁻¹; symmetric: they become ℳ⁻¹ itself."""

    table: int
    row: int = 0
    symmetric: bool = False


@dataclass(frozen=True)
class Loops:
    """Loops a kernel runs after its instructions: the pairs first, then the elimination. `made` are the entries of
    packed memory that the pairs fill; `kept`: how many entries of each output stand in packed memory, one output after
    the other. The rest of an output is written by the elimination."""

    pairs: PairLoop | None
    elimination: Elimination | None
    kept: tuple[int, ...]
    made: frozenset[int] = frozenset()

    def put(self, code: Code, memory: Local, rows: list[list[Local]]) -> Module:
        """Emit calls on packed memory and the rows of the outputs, a place for each lane; return the module called."""
        found = Module(())
        if self.pairs is not None:
            self.pairs.put(code, memory)
            found = self.pairs.module(len(rows[0]))
        return found.with_(self.elimination.put(code, memory, rows)) if self.elimination is not None else found

    @property
    def operations(self) -> int:
        return sum(loop.operations for loop in (self.pairs, self.elimination) if loop is not None)


@dataclass(frozen=True, eq=False)
class Unsolved:
    """Results, (…, rows, columns) each, that have X where ℳ⁻¹X belongs, but for the `known` (table, column); of traced
    scalars, `pairs` tells what is `Made` in them."""

    mass: np.ndarray
    tables: tuple[np.ndarray, ...]
    blocks: tuple[Block, ...]
    pairs: Pairs | None = None
    known: frozenset[tuple[int, int]] = frozenset()

    def solve(self) -> tuple[np.ndarray, ...]:
        """The results: floats with leading axes, or traced scalars with everything written out."""
        n, tables = self.mass.shape[-1], list(self.tables)
        if self.pairs is not None:
            tables = [self.pairs.fill(table) for table in tables]
        for block in self.blocks:
            table = tables[block.table]
            found = solve_symmetric(self.mass, table[..., block.row : block.row + n, :])
            found = mirror_upper(found) if block.symmetric else found
            for column in (column for number, column in self.known if number == block.table):
                found[..., column] = table[..., block.row :, column]
            above = np.broadcast_to(table[..., : block.row, :], (*found.shape[:-2], block.row, found.shape[-1]))
            tables[block.table] = np.concatenate([above, found], axis=-2)
        return tuple(tables)

    def record(self) -> tuple[list[Any], Loops]:
        """The numbers to be recorded, what is kept of the tables first, and the loops that make the results of them."""
        rows = {block.table: block.row for block in self.blocks}
        kept = [table[: rows.get(number, len(table))] for number, table in enumerate(self.tables)]
        values = [x for table in kept for x in table.reshape(-1)]
        elimination = self._elimination(values) if self.blocks else None
        made = {x: place for place, x in enumerate(values) if isinstance(x, Made)}
        values = [0.0 if isinstance(x, Made) else x for x in values]
        loop = None
        if self.pairs is not None:
            sides, loop = pair_loop(self.pairs, made, len(values))
            values += sides
        return values, Loops(loop, elimination, tuple(table.size for table in kept), frozenset(made.values()))

    def _elimination(self, values: list[Any]) -> Elimination:
        """The loops that multiply the blocks by ℳ⁻¹; what they need is appended to the values."""
        factors, scales = factor(self.mass)
        inverse = invert_factors(factors)
        carrying = Carrying.of(len(scales), tuple(inverse))
        jobs: list[Job] = []
        for block in self.blocks:
            table, columns = self.tables[block.table][block.row :], self.tables[block.table].shape[1]
            if block.symmetric:
                table = _halfway(inverse, scales)
            states = [
                HALFWAY if block.symmetric else SOLVED if (block.table, j) in self.known else WHOLE
                for j in range(columns)
            ]
            for group in carrying.groups(supports(table), states):
                to = block.row * columns + group.first
                jobs.append(Job(group, len(values), block.table, to, columns))
                span = slice(group.first, group.first + group.width)
                values += [*(x for row in group.rows for x in table[row, span]), *[0.0] * group.width]
        elimination = Elimination(len(scales), tuple(carrying.tiles()), len(values), tuple(jobs))
        values += elimination.entries(inverse, scales)
        return elimination

    def rearrange(self, tables: tuple[np.ndarray, ...], blocks: tuple[Block, ...]) -> Unsolved:
        """The same ℳ for other tables."""
        return replace(self, tables=tables, blocks=blocks)


def _halfway(inverse: Factors, scales: list[Any]) -> np.ndarray:
    """D⁻¹N*."""
    result = np.full((len(scales),) * 2, 0.0, dtype=object)
    for i, scale in enumerate(scales):
        result[i, i] = scale
    for (i, k), x in inverse.items():
        result[i, k] = scales[i] * x
    return result
