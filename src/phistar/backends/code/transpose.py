"""Rows of arrays, one state each, to vectors with one state per lane and back, written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from phistar.backends.kernels import Local, transpose_vectors

COPIED_IN_LINE = 16  # entries of a row up to which its copy is written out; longer ones are loops
_UNPACKED = ((0, 4, 2, 6), (1, 5, 3, 7))


def tiles(count: int, width: int) -> Iterator[tuple[int, int]]:
    """First entries and sizes of what is copied at once of `count` entries: `width` of them, then two or one."""
    entry = 0
    while entry < count:
        size = next(n for n in (width, 2, 1) if n <= min(count - entry, width))
        yield entry, size
        entry += size


@dataclass(frozen=True)
class Rows:
    """The rows of an array, one for each lane, and memory in which entry e of the array is vector `start` + e."""

    rows: Sequence[Local]
    memory: Local
    start: int

    def pack(self, count: int) -> None:
        """So many entries into the memory, four lanes at a time."""
        self._each(count, packing=True)

    def unpack(self, count: int) -> None:
        """The way back."""
        self._each(count, packing=False)

    def _each(self, count: int, packing: bool) -> None:
        lanes, width = len(self.rows), min(len(self.rows), 4)
        for lane in range(0, lanes, width):
            for entry, size in tiles(count, width):
                self._tile(lane, entry, size, packing)

    def unpack_tile(self, entry: int, size: int, known: Mapping[int, Local] | None = None) -> None:
        """`size` entries from `entry` on: as many as are copied at once, or two, or one. Those that are `known` are not
        read from the memory."""
        for lane in range(0, len(self.rows), min(len(self.rows), 4)):
            self._tile(lane, entry, size, False, known)

    def _tile(self, lane: int, entry: int, size: int, packing: bool, known: Mapping[int, Local] | None = None) -> None:
        lanes, width = len(self.rows), min(len(self.rows), 4)
        rows = [row.bytes(8 * entry) for row in self.rows[lane : lane + width]]
        cells = [self.memory.bytes(8 * ((self.start + entry + i) * lanes + lane)) for i in range(size)]
        if packing:
            return (_square_in if size == width else _pair_in if size == 2 else _single_in)(rows, cells)
        values = [known[entry + i] if known and entry + i in known else x.load(width) for i, x in enumerate(cells)]
        return (_square_out if size == width else _pair_out if size == 2 else _single_out)(rows, values)


@dataclass(frozen=True)
class Tile:
    """Entries of an array that are copied to its rows at once: `size` from `entry` on, in packed memory after the
    `start` of the array's."""

    array: int
    start: int
    entry: int
    size: int

    @property
    def places(self) -> range:
        """Offsets in packed memory."""
        return range(self.start + self.entry, self.start + self.entry + self.size)

    def unpack(self, rows: Sequence[Local], memory: Local, known: Mapping[int, Local] | None = None) -> None:
        """Copy it to rows; `known` entries of the array are vectors at hand."""
        Rows(rows, memory, self.start).unpack_tile(self.entry, self.size, known)


def _square_in(rows: list[Local], cells: list[Local]) -> None:
    for cell, value in zip(cells, transpose_vectors([row.load(len(rows)) for row in rows]), strict=True):
        cell.store(value)


def _square_out(rows: list[Local], values: list[Local]) -> None:
    for row, value in zip(rows, transpose_vectors(values), strict=True):
        row.store(value)


def _pair_in(rows: list[Local], cells: list[Local]) -> None:
    """Two entries of four rows: halves of two vectors, which are then unpacked into each other."""
    pairs = [row.load(2) for row in rows]
    halves = [pairs[i].shuffle(pairs[i + 2], (0, 1, 2, 3)) for i in range(2)]
    for cell, mask in zip(cells, _UNPACKED, strict=True):
        cell.store(halves[0].shuffle(halves[1], mask))


def _pair_out(rows: list[Local], values: list[Local]) -> None:
    """The way back."""
    for i, mask in enumerate(_UNPACKED):
        both = values[0].shuffle(values[1], mask)
        for half, kept in enumerate(((0, 1), (2, 3))):
            rows[i + 2 * half].store(both.shuffle(None, kept))


def _single_in(rows: list[Local], cells: list[Local]) -> None:
    """One entry of every row, stored as a whole vector: what is read in another size than it was written is waited
    for, and the compiler would store halves."""
    cells[0].store(cells[0].code.gather([row.load() for row in rows]), whole=True)


def _single_out(rows: list[Local], values: list[Local]) -> None:
    for i, row in enumerate(rows):
        row.store(values[0].take(i))
