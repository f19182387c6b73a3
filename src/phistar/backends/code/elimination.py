"""ℳ⁻¹X inside a kernel, as loops over tables.

ℳ = L*DL, where L(k,i) is zero unless joint i carries joint k (Featherstone's LTDL), and so is N = L⁻¹ = I − HψK
(RJK91 lemma 2, eq. 12): ℳ⁻¹X = ND⁻¹N*X. What a column moves on its own branch reaches another branch only through the
joints that carry both. Written out, these products would dwarf everything that makes X; as loops they are a few lines
of code and data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.code.elimination_text import inward_text, outward_text, rows_of_tile

WIDEST = 6  # columns that go together: of a tile in registers
WHOLE, HALFWAY, SOLVED = "X", "D⁻¹N*X", "ℳ⁻¹X"  # what columns are when the loops begin

Factors = dict[tuple[int, int], Any]


def factored(matrix: np.ndarray) -> tuple[Factors, list[Any]]:
    """L's entries by (carrying joint, carried joint), and 1/D: the last row is eliminated first."""
    size = matrix.shape[-1]
    x = [[matrix[i, j] for j in range(size)] for i in range(size)]
    factors: Factors = {}
    scales: list[Any] = [0.0] * size
    for k in range(size - 1, -1, -1):
        scales[k] = 1.0 / x[k][k]
        for i in (i for i in range(k) if _is_nonzero(x[i][k])):
            factors[i, k] = x[i][k] * scales[k]
            for j in range(i + 1):
                x[j][i] = x[j][i] - factors[i, k] * x[j][k]
    return factors, scales


def inverted(factors: Factors) -> Factors:
    """N = L⁻¹ without its ones, by the same pairs: N(k,i) = −L(k,i) − Σ L(k,j)N(j,i) over the joints j between."""
    carrying: dict[int, list[int]] = {}
    for i, k in factors:
        carrying.setdefault(k, []).append(i)
    result: Factors = {}
    for k in sorted(carrying):
        for i in carrying[k]:
            total = factors[i, k]
            for j in carrying[k]:
                if (i, j) in result:
                    total = total + factors[j, k] * result[i, j]
            result[i, k] = -total
    return {pair: result[pair] for pair in factors}


def supports(table: np.ndarray) -> tuple[frozenset[int], ...]:
    """The rows of each column that are not zero by structure."""
    return tuple(frozenset(i for i, x in enumerate(column) if _is_nonzero(x)) for column in table.T)


def _is_nonzero(value: Any) -> bool:
    return not (isinstance(value, float) and value == 0.0)


@dataclass(frozen=True)
class Group:
    """Columns that go together: the rows of them that are kept, of which `given` are not zero to begin with."""

    first: int
    width: int
    given: tuple[int, ...]
    rows: tuple[int, ...]
    state: str = WHOLE


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
class Carrying:
    """Which joints carry which, as bits: `above[k]` those that carry k, `below[i]` those that i carries."""

    above: tuple[int, ...]
    below: tuple[int, ...]

    @staticmethod
    def of(size: int, pairs: Sequence[tuple[int, int]]) -> Carrying:
        above, below = [0] * size, [0] * size
        for i, k in pairs:
            above[k] |= 1 << i
            below[i] |= 1 << k
        return Carrying(tuple(above), tuple(below))

    def groups(self, given: Sequence[frozenset[int]], states: Sequence[str]) -> list[Group]:
        """Columns with such supports in neighbouring groups, so that the loops cost least."""
        masks = [sum(1 << i for i in support) for support in given]
        best: list[tuple[float, int]] = [(0.0, 0)]
        for end in range(1, len(given) + 1):
            found, mask, choices = 0.0, 0, []
            for start in range(end - 1, max(end - WIDEST, 0) - 1, -1):
                if states[start] != states[end - 1]:
                    break
                mask |= masks[start]
                found = self._cost(mask, end - start, states[start])
                choices.append((best[start][0] + found, start))
            best.append(min(choices))
        result, end = [], len(given)
        while end:
            start = best[end][1]
            mask = 0
            for each in masks[start:end]:
                mask |= each
            result.append(Group(start, end - start, _bits(mask), _bits(self._kept(mask, states[start])), states[start]))
            end = start
        return result[::-1]

    def _kept(self, mask: int, state: str) -> int:
        """The rows that are reached on the way inward."""
        if state != WHOLE:
            return mask
        return mask | sum(1 << i for i, below in enumerate(self.below) if below & mask)

    def _cost(self, mask: int, width: int, state: str) -> float:
        """About how many cycles the loops take."""
        kept, stored = self._kept(mask, state), 1.5 if width >= 4 else 4.0
        total = stored * width * len(self.above) + _cycles([x & kept * (state != SOLVED) for x in self.above], width)
        if state == WHOLE:
            below = [x & mask for i, x in enumerate(self.below) if kept >> i & 1]
            total += 1.5 * width * len(below) + _cycles(below, width)
        return total


def _cycles(sources: list[int], width: int) -> float:
    """Of the steps over tiles of rows that have such sources: two products a cycle, two numbers read."""
    height, total = rows_of_tile(width), 0.0
    each = max(width * height, width + height + 3) / 2
    for start in range(0, len(sources), height):
        union = 0
        for mask in sources[start : start + height]:
            union |= mask
        total += 10.0 + each * union.bit_count()
    return total


def _bits(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


@dataclass(frozen=True)
class Row:
    """A sum: where it begins, what else it needs, and by place of a source the place of its factor."""

    at: int
    other: int
    sources: dict[int, int]


@dataclass(frozen=True)
class Elimination:
    """What the loops do to packed memory (places are counted in entries, a vector of lanes each): N, 1/D and a zero
    stand from entry `first` on, in the order of `pairs` and of the joints."""

    size: int
    pairs: tuple[tuple[int, int], ...]
    first: int
    jobs: tuple[Job, ...]

    def text(self, lanes: int, inputs: int) -> tuple[list[str], list[str]]:
        """Definitions (functions and tables) and the calls on the memory %out and the outputs' rows."""
        tables: dict[tuple[int, ...], str] = {}
        calls: list[str] = []
        for number, job in enumerate(self.jobs):
            width, name = job.group.width, f"e{number}"
            calls.append(f"  %{name} = getelementptr i8, ptr %out, i64 {8 * lanes * job.place}")
            if job.group.state == WHOLE:
                steps, table = self._table(self.inward(job.group), width, lanes, 2)
                table = tables.setdefault(table, f"@t{len(tables)}")
                calls.append(f"  call void @inward{width}(ptr %out, ptr %{name}, ptr {table}, i64 {steps})")
            steps, table = self._table(self.outward(job.group, job.stride), width, lanes, 1)
            table = tables.setdefault(table, f"@t{len(tables)}")
            array = inputs + job.array
            for lane in range(lanes):
                calls.append(f"  %{name}l{lane} = getelementptr i8, ptr %a{array}l{lane}, i64 {8 * job.to}")
            rows = ", ".join(f"ptr %{name}l{lane}" for lane in range(lanes))
            calls.append(f"  call void @outward{width}(ptr %out, ptr %{name}, ptr {table}, i64 {steps}, {rows})")
        data = [
            f"{name} = internal constant [{len(table)} x i32] [{', '.join(f'i32 {x}' for x in table)}]"
            for table, name in tables.items()
        ]
        inward = sorted({job.group.width for job in self.jobs if job.group.state == WHOLE})
        outward = sorted({job.group.width for job in self.jobs})
        functions = [inward_text(width, lanes) for width in inward] + [outward_text(width, lanes) for width in outward]
        return [*functions, *data], calls

    @property
    def operations(self) -> int:
        """Multiplications and additions of all loops."""
        total = 0
        for group in (job.group for job in self.jobs):
            rows = [*(self.inward(group) if group.state == WHOLE else ()), *self.outward(group, 0)]
            total += group.width * sum(2 * len(row.sources) for row in rows)
            total += group.width * len(group.rows) * (group.state == WHOLE)
        return total

    def inward(self, group: Group) -> list[Row]:
        """y(i) = (x(i) + Σ N(k,i) x(k))/D(i) over the carried joints k, the carrying joint first: in place."""
        at, scales = self._rows(group), self.first + len(self.pairs)
        return [
            Row(at[i], scales + i, {at[k]: self.places[i, k] for k in group.given if (i, k) in self.places})
            for i in group.rows
        ]

    def outward(self, group: Group, stride: int) -> list[Row]:
        """z(k) = y(k) + Σ N(k,i) y(i) over the carrying joints i, from where there is anything."""
        at, zeros = self._rows(group), group.width * len(group.rows)
        known = group.rows if group.state != SOLVED else ()
        return [
            Row(at.get(k, zeros), stride * k, {at[i]: self.places[i, k] for i in known if (i, k) in self.places})
            for k in range(self.size)
        ]

    def _table(self, rows: list[Row], width: int, lanes: int, vectors: int) -> tuple[int, tuple[int, ...]]:
        """How many steps there are, and the numbers as the loops read them: of each step the places of its rows, those
        of what else they need (the first `vectors` of the two in packed memory), how many sources there are, and of
        these the place and that of the factor in each row."""
        height, nothing, table = rows_of_tile(width), self.first + len(self.pairs) + self.size, []
        tiles = [rows[start : start + height] for start in range(0, len(rows), height)]
        for tile in tiles:
            tile += [tile[-1]] * (height - len(tile))
            sources = sorted(set().union(*(row.sources for row in tile)))
            table += [8 * lanes * row.at for row in tile]
            table += [8 * (lanes if vectors > 1 else 1) * row.other for row in tile]
            table.append(len(sources))
            for source in sources:
                table += [8 * lanes * x for x in (source, *(row.sources.get(source, nothing) for row in tile))]
        return len(tiles), tuple(table)

    @staticmethod
    def _rows(group: Group) -> dict[int, int]:
        return {row: group.width * number for number, row in enumerate(group.rows)}

    @cached_property
    def places(self) -> dict[tuple[int, int], int]:
        """The entry of each N(k,i)."""
        return {pair: self.first + index for index, pair in enumerate(self.pairs)}
