"""ℳ⁻¹X inside a kernel, as loops over tables.

ℳ = L*DL, where L(k,i) is zero unless joint i carries joint k (Featherstone's LTDL), and so is N = L⁻¹ = I − HψK
(RJK91 lemma 2, eq. 12): ℳ⁻¹X = ND⁻¹N*X. What a column moves on its own branch reaches another branch only through the
joints that carry both. Written out, these products would dwarf everything that makes X; as loops they are a few lines
of code and data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from phistar.backends.code.elimination_plan import HALFWAY, SOLVED, WHOLE, Group, Tile, tiles_of
from phistar.backends.code.elimination_tiles import Shape, inward_function, outward_function
from phistar.backends.code.mirror import mirror_function
from phistar.backends.kernels import F64, U32, Code, Local, Module, Table
from phistar.backends.traces.solve import elimination, is_zero

Factors = dict[tuple[int, int], Any]


def factor(matrix: np.ndarray) -> tuple[Factors, list[Any]]:
    """L's entries by (carrying joint, carried joint), and 1/D: the last row is eliminated first."""
    factors: Factors = {}
    scales: list[Any] = [0.0] * matrix.shape[-1]
    for _ in elimination(matrix, factors, scales):
        pass
    return factors, scales


def invert_factors(factors: Factors) -> Factors:
    """N = L⁻¹ without its ones: N(k,i) = −L(k,i) − Σ L(k,j)N(j,i) over the joints j between.

    It has the pairs of L, and those where L is zero by structure (a wheel's axis along that of a joint which carries
    it) but not every way between is.
    """
    carrying: dict[int, list[int]] = {}
    for i, k in factors:
        carrying.setdefault(k, []).append(i)
    result: Factors = {}
    for k in sorted(carrying):
        reached = {i for j in carrying[k] for i in carrying.get(j, ())} - set(carrying[k])
        for i in (*carrying[k], *sorted(reached)):
            total = factors.get((i, k), 0.0)
            for j in carrying[k]:
                if (i, j) in result:
                    total = total + factors[j, k] * result[i, j]
            result[i, k] = -total
        carrying[k] += sorted(reached)
    return {pair: result[pair] for pair in (*factors, *(pair for pair in result if pair not in factors))}


def supports(table: np.ndarray) -> tuple[frozenset[int], ...]:
    """The rows of each column that are not zero by structure."""
    return tuple(frozenset(i for i, x in enumerate(column) if not is_zero(x)) for column in table.T)


@dataclass(frozen=True)
class Job:
    """A group in memory (from entry `place` on, row by row, a row of zeros last) and where its results go: entry `to`
    of output `array`, `stride` entries from row to row."""

    group: Group
    place: int
    array: int
    to: int
    stride: int


@dataclass(frozen=True)
class Row:
    """A sum: where it begins, what else it needs, and by place of a source the place of its factor."""

    at: int
    other: int
    sources: dict[int, int]


class Calls:
    """Calls of tile functions under construction: the shapes called and their tables."""

    def __init__(self, code: Code, memory: Local, lanes: int) -> None:
        self.code, self.memory, self.lanes = code, memory, lanes
        self.shapes: set[tuple[str, Shape]] = set()
        self.tables: dict[tuple[int, ...], str] = {}

    def add(self, way: str, shape: Shape, place: Local, tables: list[list[int]], *more: Any) -> None:
        """A call for tiles of one shape with such tables."""
        self.shapes.add((way, shape))
        name = self.tables.setdefault(tuple(x for table in tables for x in table), f"t{len(self.tables)}")
        table = self.code.table(name, U32.read)
        self.code.call(f"{way}{shape.name}", self.memory, place, table, len(tables), *more)

    def module(self) -> Module:
        """The functions that are called, and the tables."""
        made = {"inward": inward_function, "outward": outward_function}
        functions = tuple(made[way](shape, self.lanes) for way, shape in sorted(self.shapes))
        return Module(functions, tuple(Table(name, U32, table) for table, name in self.tables.items()))


@dataclass(frozen=True)
class Elimination:
    """Loops over packed memory (places are counted in entries, a vector of lanes each): N begins at entry `first`, tile
    by tile of its rows, a row's entries by the joints that carry any row of the tile; then 1/D and a zero."""

    size: int
    tiles: tuple[Tile, ...]
    first: int
    jobs: tuple[Job, ...]

    def put(self, code: Code, memory: Local, rows: list[list[Local]]) -> Module:
        """Emit the calls on packed memory and on the `rows` of the outputs, output by output, as much as is at hand at
        once; return the module that they call."""
        lanes = len(rows[0])
        calls = Calls(code, memory, lanes)
        for array in sorted({job.array for job in self.jobs}):
            jobs = [job for job in self.jobs if job.array == array]
            for job in jobs:
                if job.group.state == WHOLE:
                    self._add_inward(calls, job)
            states = code.room(lanes, 8, kind=F64.to.to)
            for lane, row in enumerate(rows[array]):
                states.at(lane).store(row)
            for tile in self.tiles:
                self._add_outward(calls, tile, jobs, states)
            if jobs[0].group.state == HALFWAY:
                code.call("mirror", states, 8 * min(job.to for job in jobs), 8 * jobs[0].stride)
        mirrored = any(job.group.state == HALFWAY for job in self.jobs)
        last = Module((mirror_function("mirror", self.size, lanes),) if mirrored else ())
        return calls.module().with_(last)

    def _add_inward(self, calls: Calls, job: Job) -> None:
        place = calls.memory.at(calls.lanes * job.place)
        for shape, tiles in groupby(self.inward_tiles(job.group), lambda tile: tile[0]):
            calls.add("inward", shape, place, [self._inward_table(rows, calls.lanes) for _, rows in tiles])

    def _add_outward(self, calls: Calls, tile: Tile, jobs: list[Job], states: Local) -> None:
        """All columns of one output: what is written next to each other is written one after the other."""
        lanes = calls.lanes
        place, pitch = calls.memory.at(lanes * self.places[tile.rows[0]]), 8 * lanes * len(tile.above)
        needed = (job for job in jobs if _is_needed(tile, job))
        for shape, alike in groupby(needed, lambda job: self.shape(tile, job)):
            tables = [self._outward_table(tile, job, shape, lanes) for job in alike]
            calls.add("outward", shape, place, tables, states, 8 * jobs[0].stride, pitch)

    @property
    def operations(self) -> int:
        """Multiplications and additions of all loops."""
        total = 0
        for job in self.jobs:
            group, known = job.group, set(job.group.rows)
            if group.state == WHOLE:
                total += group.width * sum(2 * len(row.sources) + 1 for row in self.inward(group))
            if group.state != SOLVED:
                needed = (own for tile in self.tiles if _is_needed(tile, job) for own in tile.carrying)
                total += group.width * sum(2 * len(known & own) for own in needed)
        return total

    def inward(self, group: Group) -> list[Row]:
        """y(i) = (x(i) + Σ N(k,i) x(k))/D(i) over the carried joints k, the carrying joint first: in place."""
        at = self._rows(group)
        return [
            Row(at[i], self.scales + i, {at[k]: self.factors[i, k] for k in group.given if (i, k) in self.factors})
            for i in group.rows
        ]

    def shape(self, tile: Tile, job: Job) -> Shape:
        """Shape of the tile's sums in a job's columns; sources are the carrying joints up to the last one known."""
        known = set(job.group.rows)
        sources = [number + 1 for number, i in enumerate(tile.above) if i in known and job.group.state != SOLVED]
        return Shape(job.group.width, len(tile.rows), max(sources, default=0), not known.isdisjoint(tile.rows))

    def _outward_table(self, tile: Tile, job: Job, shape: Shape, lanes: int) -> list[int]:
        """z(k) = y(k) + Σ N(k,i) y(i) over the carrying joints i: where results go, where y(k) and y(i) are."""
        at, zeros = self._rows(job.group), job.group.width * len(job.group.rows)
        places = [at.get(row, zeros) for row in (*(tile.rows if shape.begun else ()), *tile.above[: shape.sources])]
        return [8 * (job.to + job.stride * tile.rows[0]), *(8 * lanes * (job.place + x) for x in places)]

    def inward_tiles(self, group: Group) -> list[tuple[Shape, list[Row]]]:
        """The inward rows in tiles."""
        rows = self.inward(group)
        cut = (rows[span.start : span.stop] for span in tiles_of([frozenset(row.sources) for row in rows], group.width))
        return [(Shape(group.width, len(x), len(set().union(*(row.sources for row in x)))), x) for x in cut]

    def _inward_table(self, rows: list[Row], lanes: int) -> list[int]:
        """Places of the rows and of their other operands; for each source, its place and those of its factors in each
        row."""
        table, nothing = [*(row.at for row in rows), *(row.other for row in rows)], self.scales + self.size
        for source in sorted(set().union(*(row.sources for row in rows))):
            table += [source, *(row.sources.get(source, nothing) for row in rows)]
        return [8 * lanes * x for x in table]

    @staticmethod
    def _rows(group: Group) -> dict[int, int]:
        return {row: group.width * number for number, row in enumerate(group.rows)}

    @cached_property
    def places(self) -> dict[int, int]:
        """The entry where each row of N begins."""
        starts, at = {}, self.first
        for tile in self.tiles:
            for row in tile.rows:
                starts[row] = at
                at += len(tile.above)
        return starts

    @cached_property
    def factors(self) -> dict[tuple[int, int], int]:
        """The entry of N(k,i), by i and k."""
        return {
            (i, k): self.places[k] + tile.above.index(i)
            for tile in self.tiles
            for k, own in zip(tile.rows, tile.carrying, strict=True)
            for i in own
        }

    @cached_property
    def scales(self) -> int:
        """The entry where 1/D begins."""
        return self.first + sum(len(tile.rows) * len(tile.above) for tile in self.tiles)

    def entries(self, inverse: Factors, scales: list[Any]) -> list[Any]:
        """Packed entries from `first` on."""
        rows = [(i, k) for tile in self.tiles for k in tile.rows for i in tile.above]
        return [*(inverse.get(pair, 0.0) for pair in rows), *scales, 0.0]


def _is_needed(tile: Tile, job: Job) -> bool:
    """Whether a tile of a job's columns must be computed: of the symmetric ℳ⁻¹, tiles not entirely above the
    diagonal."""
    return job.group.state != HALFWAY or job.group.first < tile.rows.stop
