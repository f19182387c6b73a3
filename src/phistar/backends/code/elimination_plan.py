"""Plan of ℳ⁻¹X in pieces: columns that go together, rows that go together, and their estimated cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDEST, HIGHEST = 4, 3  # columns and rows of a tile: each number read is used three or four times
WHOLE, HALFWAY, SOLVED = "X", "D⁻¹N*X", "ℳ⁻¹X"  # what columns are when the loops begin


@dataclass(frozen=True)
class Group:
    """Columns that go together: the rows of them that are kept, of which `given` are not zero to begin with."""

    first: int
    width: int
    given: tuple[int, ...]
    rows: tuple[int, ...]
    state: str = WHOLE


@dataclass(frozen=True)
class Carrying:
    """Ancestors and descendants of joints as bit masks: `above[k]` carry k, `below[i]` are carried by i."""

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
            result.append(
                Group(start, end - start, bits(mask), bits(self._reached_rows(mask, states[start])), states[start])
            )
            end = start
        return result[::-1]

    def tiles(self) -> list[Tile]:
        """Neighbouring rows that go together on the way outward, so that their sums cost least."""
        own = [frozenset(bits(x)) for x in self.above]
        return [Tile(rows, tuple(own[rows.start : rows.stop])) for rows in tiles_of(own, WIDEST)]

    def _reached_rows(self, mask: int, state: str) -> int:
        """The rows that are reached on the way inward."""
        if state != WHOLE:
            return mask
        return mask | sum(1 << i for i, below in enumerate(self.below) if below & mask)

    def _cost(self, mask: int, width: int, state: str) -> float:
        """Estimated cycles of the loops."""
        kept, stored = self._reached_rows(mask, state), 1.0 if width == WIDEST else 3.0
        sources = [x & kept * (state != SOLVED) for x in self.above]
        total = stored * width * len(self.above) + _cycles(sources, width)
        if state == WHOLE:
            below = [x & mask for i, x in enumerate(self.below) if kept >> i & 1]
            total += 1.5 * width * len(below) + _cycles(below, width)
        return total


@dataclass(frozen=True)
class Tile:
    """Rows that go together, and the joints that carry each of them."""

    rows: range
    carrying: tuple[frozenset[int], ...]

    @property
    def above(self) -> tuple[int, ...]:
        """All joints that carry any of the rows."""
        return tuple(sorted(frozenset().union(*self.carrying)))


def tiles_of(sources: Sequence[frozenset[int]], width: int) -> list[range]:
    """Neighbouring rows with these sources, partitioned into tiles of least total cost."""
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(sources) + 1):
        choices, union = [], frozenset[int]()
        for start in range(end - 1, max(end - HIGHEST, 0) - 1, -1):
            union |= sources[start]
            choices.append((best[start][0] + _tile_cycles(width, end - start, len(union)), start))
        best.append(min(choices))
    result, end = [], len(sources)
    while end:
        result.append(range(best[end][1], end))
        end = best[end][1]
    return result[::-1]


def _cycles(sources: list[int], width: int) -> float:
    """Estimated cycles over tiles of rows with these sources."""
    total = 0.0
    for start in range(0, len(sources), HIGHEST):
        union, rows = 0, sources[start : start + HIGHEST]
        for mask in rows:
            union |= mask
        total += _tile_cycles(width, len(rows), union.bit_count())
    return total


def _tile_cycles(width: int, height: int, sources: int) -> float:
    """Estimated cycles: two products or two loads a cycle, at least four per source."""
    return 12.0 + sources * max(width * height / 2, (width + height + 1) / 2, 4.0)


def bits(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
