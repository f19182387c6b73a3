"""Results that are recorded up to their last steps, products over pairs of joints and ℳ⁻¹X: written out for few joints,
loops of the kernel for many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.elimination import Elimination, Job, factored, supports
from phistar.backends.links import mirrored
from phistar.backends.pairs import Made, PairLoop, Pairs, pair_loop
from phistar.backends.solve import solve_symmetric


@dataclass(frozen=True)
class Block:
    """A table whose rows from `row` on are to be multiplied by ℳ⁻¹; symmetric: they become ℳ⁻¹ itself."""

    table: int
    row: int = 0
    symmetric: bool = False


@dataclass(frozen=True)
class Loops:
    """What a kernel does to packed memory after its instructions: the pairs first, then the elimination. `made` are the
    entries that the pairs fill."""

    pairs: PairLoop | None
    elimination: Elimination | None
    made: frozenset[int] = frozenset()

    def text(self, lanes: int) -> tuple[list[str], list[str]]:
        """Definitions and calls on the memory %out."""
        parts = [loop.text(lanes) for loop in (self.pairs, self.elimination) if loop is not None]
        return [line for lines, _ in parts for line in lines], [call for _, calls in parts for call in calls]

    @property
    def operations(self) -> int:
        return sum(loop.operations for loop in (self.pairs, self.elimination) if loop is not None)


@dataclass(frozen=True, eq=False)
class Unsolved:
    """Results, (…, rows, columns) each, that have X where ℳ⁻¹X belongs; of traced scalars, `pairs` tells what is `Made`
    in them."""

    mass: np.ndarray
    tables: tuple[np.ndarray, ...]
    blocks: tuple[Block, ...]
    pairs: Pairs | None = None

    def solved(self) -> tuple[np.ndarray, ...]:
        """The results: floats with leading axes, or traced scalars with everything written out."""
        n, tables = self.mass.shape[-1], list(self.tables)
        if self.pairs is not None:
            tables = [self.pairs.filled(table) for table in tables]
        for block in self.blocks:
            table = tables[block.table]
            found = solve_symmetric(self.mass, table[..., block.row : block.row + n, :])
            found = mirrored(found) if block.symmetric else found
            above = np.broadcast_to(table[..., : block.row, :], (*found.shape[:-2], block.row, found.shape[-1]))
            tables[block.table] = np.concatenate([above, found], axis=-2)
        return tuple(tables)

    def recorded(self) -> tuple[list[Any], Loops]:
        """The numbers to be recorded, those of the tables first, and the loops that make the results of them."""
        values = [x for table in self.tables for x in table.reshape(-1)]
        made = frozenset(place for place, x in enumerate(values) if isinstance(x, Made))
        values = [0.0 if isinstance(x, Made) else x for x in values]
        elimination = self._elimination(values) if self.blocks else None
        loop = None
        if self.pairs is not None:
            left, right = len(values), len(values) + self.pairs.left.size
            values += [x for side in (self.pairs.left, self.pairs.right) for x in side.reshape(-1)]
            loop = pair_loop(self.pairs, self.tables, left, right)
        return values, Loops(loop, elimination, made)

    def _elimination(self, values: list[Any]) -> Elimination:
        """The loops that multiply the blocks by ℳ⁻¹; what they need is appended to the values."""
        factors, scales = factored(self.mass)
        starts = [int(x) for x in np.cumsum([0, *(table.size for table in self.tables)])]
        jobs = []
        for block in self.blocks:
            table = self.tables[block.table]
            start = starts[block.table] + block.row * table.shape[1]
            jobs.append(Job(start, table.shape[1], supports(table[block.row :])))
        elimination = Elimination(len(scales), tuple(factors), len(values), tuple(jobs))
        values += [*factors.values(), *scales, 1.0]
        return elimination

    def rearranged(self, tables: tuple[np.ndarray, ...], blocks: tuple[Block, ...]) -> Unsolved:
        """The same ℳ for other tables."""
        return replace(self, tables=tables, blocks=blocks)
