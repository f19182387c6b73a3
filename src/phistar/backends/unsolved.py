"""Results that are recorded up to the last step, ℳ⁻¹X: written out for few joints, loops of the kernel for many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.elimination import Elimination, Job, factored, supports
from phistar.backends.links import mirrored
from phistar.backends.solve import solve_symmetric


@dataclass(frozen=True)
class Block:
    """A table whose rows from `row` on are to be multiplied by ℳ⁻¹; symmetric: they become ℳ⁻¹ itself."""

    table: int
    row: int = 0
    symmetric: bool = False


@dataclass(frozen=True, eq=False)
class Unsolved:
    """Results, (…, rows, columns) each, that have X where ℳ⁻¹X belongs."""

    mass: np.ndarray
    tables: tuple[np.ndarray, ...]
    blocks: tuple[Block, ...]

    def solved(self) -> tuple[np.ndarray, ...]:
        """The results: floats with leading axes, or traced scalars with everything written out."""
        n, tables = self.mass.shape[-1], list(self.tables)
        for block in self.blocks:
            table = tables[block.table]
            found = solve_symmetric(self.mass, table[..., block.row : block.row + n, :])
            found = mirrored(found) if block.symmetric else found
            above = np.broadcast_to(table[..., : block.row, :], (*found.shape[:-2], block.row, found.shape[-1]))
            tables[block.table] = np.concatenate([above, found], axis=-2)
        return tuple(tables)

    def recorded(self) -> tuple[list[Any], Elimination]:
        """The numbers to be recorded, those of the tables first, and the loops that make the results of them."""
        factors, scales = factored(self.mass)
        values = [x for table in self.tables for x in table.reshape(-1)]
        starts = [int(x) for x in np.cumsum([0, *(table.size for table in self.tables)])]
        jobs = []
        for block in self.blocks:
            table = self.tables[block.table]
            start = starts[block.table] + block.row * table.shape[1]
            jobs.append(Job(start, table.shape[1], supports(table[block.row :])))
        elimination = Elimination(len(scales), tuple(factors), len(values), tuple(jobs))
        return [*values, *factors.values(), *scales, 1.0], elimination

    def rearranged(self, tables: tuple[np.ndarray, ...], blocks: tuple[Block, ...]) -> Unsolved:
        """The same ℳ for other tables."""
        return replace(self, tables=tables, blocks=blocks)
