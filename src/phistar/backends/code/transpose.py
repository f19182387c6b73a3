"""Rows of arrays, one state each, to vectors with one state per lane and back, as straight-line vector IR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from phistar.backends.code.nearby import Address, Line

WRITTEN = 16  # entries of a row up to which its copy is written out; longer ones are loops


def transposed(values: list[str], vector: str, prefix: str = "") -> tuple[list[str], list[str]]:
    """The columns of a square of vectors, and the shuffles that make them; their names begin with the prefix."""
    lines: list[str] = []

    def shuffled(name: str, a: str, b: str, mask: tuple[int, ...]) -> str:
        lines.append(_shuffle(f"%{prefix}{name}", vector, a, b, mask))
        return f"%{prefix}{name}"

    if len(values) == 1:
        return values, lines
    if len(values) == 2:
        return [shuffled(f"t{i}", values[0], values[1], (i, i + 2)) for i in range(2)], lines
    odd_even = [(odd, odd + 4, odd + 2, odd + 6) for odd in (0, 1)]
    upper = [shuffled(f"u{odd}", values[0], values[1], mask) for odd, mask in enumerate(odd_even)]
    lower = [shuffled(f"w{odd}", values[2], values[3], mask) for odd, mask in enumerate(odd_even)]
    halves = ((0, 1, 4, 5), (2, 3, 6, 7))
    return [shuffled(f"t{i}", upper[i % 2], lower[i % 2], halves[i // 2]) for i in range(4)], lines


def tiles(count: int, width: int) -> Iterator[tuple[int, int]]:
    """First entries and sizes of what is copied at once of `count` entries: `width` of them, then two or one."""
    entry = 0
    while entry < count:
        size = next(n for n in (width, 2, 1) if n <= min(count - entry, width))
        yield entry, size
        entry += size


def _shuffle(name: str, vector: str, a: str, b: str, mask: tuple[int, ...]) -> str:
    chosen = ", ".join(f"i32 {i}" for i in mask)
    return f"  {name} = shufflevector {vector} {a}, {vector} {b}, <{len(mask)} x i32> <{chosen}>"


@dataclass(frozen=True)
class Rows:
    """Rows %a{array}l{lane}, `width` from `lane` on, and memory in which entry e of the array is vector `start` + e."""

    array: int
    lane: int
    width: int
    memory: str
    start: int
    lanes: int

    def copied(self, count: int, packing: bool) -> list[Line]:
        """Lines that copy `count` entries: `packing`, into the memory; else out of it."""
        return [line for entry, size in tiles(count, self.width) for line in self.tile(entry, size, packing)]

    def tile(self, entry: int, size: int, packing: bool, known: Mapping[int, str] | None = None) -> list[Line]:
        """Lines that copy `size` entries from `entry` on: as many as there are rows, or two, or one. Entries that are
        `known` are not read from the memory."""
        name = f"{self.memory}{self.array}x{self.lane}x{entry}"
        rows, cells = [f"%{name}r{i}" for i in range(self.width)], [f"%{name}c{i}" for i in range(size)]
        lines: list[Line] = []
        for i, row in enumerate(rows):
            lines.append(f"  {row} = getelementptr i8, ptr %a{self.array}l{self.lane + i}, i64 {8 * entry}")
        for i in range(size):
            place = 8 * ((self.start + entry + i) * self.lanes + self.lane)
            lines.append(Address(f"{name}c{i}", self.memory, place))
        if not packing:
            values = [(known or {}).get(entry + i, f"%{name}v{i}") for i in range(size)]
            vector = f"<{self.width} x double>"
            for i, (cell, value) in enumerate(zip(cells, values, strict=True)):
                lines += [f"  {value} = load {vector}, ptr {cell}, align 8"] if entry + i not in (known or {}) else []
            return lines + (_square_out if size == self.width else _pair_out if size == 2 else _single_out)(
                name, rows, values
            )
        return lines + (_square_in if size == self.width else _pair_in if size == 2 else _single_in)(name, rows, cells)


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
        """In packed memory."""
        return range(self.start + self.entry, self.start + self.entry + self.size)

    def lines(self, lanes: int, known: Mapping[int, str] | None = None) -> list[Line]:
        """Lines that copy it; `known` entries of the array are vectors at hand."""
        width = min(lanes, 4)
        copies = (Rows(self.array, lane, width, "out", self.start, lanes) for lane in range(0, lanes, width))
        return [line for rows in copies for line in rows.tile(self.entry, self.size, packing=False, known=known)]


def _square_in(name: str, rows: list[str], cells: list[str]) -> list[str]:
    vector = f"<{len(rows)} x double>"
    lines = [f"  %{name}v{i} = load {vector}, ptr {row}, align 8" for i, row in enumerate(rows)]
    made, shuffles = transposed([f"%{name}v{i}" for i in range(len(rows))], vector, name)
    return [*lines, *shuffles, *_stores(vector, made, cells)]


def _square_out(name: str, rows: list[str], values: list[str]) -> list[str]:
    vector = f"<{len(rows)} x double>"
    made, shuffles = transposed(values, vector, name)
    return [*shuffles, *_stores(vector, made, rows)]


def _stores(vector: str, values: list[str], places: list[str]) -> list[str]:
    return [f"  store {vector} {x}, ptr {y}, align 8" for x, y in zip(values, places, strict=True)]


_UNPACKED = ((0, 4, 2, 6), (1, 5, 3, 7))


def _pair_in(name: str, rows: list[str], cells: list[str]) -> list[str]:
    """Two entries of four rows: halves of two vectors, which are then unpacked into each other."""
    four, two = "<4 x double>", "<2 x double>"
    lines = [f"  %{name}v{i} = load {two}, ptr {row}, align 8" for i, row in enumerate(rows)]
    lines += [_shuffle(f"%{name}h{i}", two, f"%{name}v{i}", f"%{name}v{i + 2}", (0, 1, 2, 3)) for i in range(2)]
    for i, mask in enumerate(_UNPACKED):
        lines.append(_shuffle(f"%{name}t{i}", four, f"%{name}h0", f"%{name}h1", mask))
        lines.append(f"  store {four} %{name}t{i}, ptr {cells[i]}, align 8")
    return lines


def _pair_out(name: str, rows: list[str], values: list[str]) -> list[str]:
    """The way back."""
    four, two, lines = "<4 x double>", "<2 x double>", []
    for i, mask in enumerate(_UNPACKED):
        lines.append(_shuffle(f"%{name}t{i}", four, values[0], values[1], mask))
        for half, kept in enumerate(((0, 1), (2, 3))):
            lines.append(_shuffle(f"%{name}t{i}x{half}", four, f"%{name}t{i}", "poison", kept))
            lines.append(f"  store {two} %{name}t{i}x{half}, ptr {rows[i + 2 * half]}, align 8")
    return lines


def _single_in(name: str, rows: list[str], cells: list[str]) -> list[str]:
    """One entry of every row, stored as a whole vector: what is read in another size than it was written is waited
    for. `volatile` keeps the compiler from storing halves."""
    vector, lines, whole = f"<{len(rows)} x double>", [], "poison"
    for i, row in enumerate(rows):
        lines.append(f"  %{name}s{i} = load double, ptr {row}, align 8")
        lines.append(f"  %{name}n{i} = insertelement {vector} {whole}, double %{name}s{i}, i32 {i}")
        whole = f"%{name}n{i}"
    return [*lines, f"  store volatile {vector} {whole}, ptr {cells[0]}, align 8"]


def _single_out(name: str, rows: list[str], values: list[str]) -> list[str]:
    vector, lines = f"<{len(rows)} x double>", []
    for i, row in enumerate(rows):
        lines.append(f"  %{name}s{i} = extractelement {vector} {values[0]}, i32 {i}")
        lines.append(f"  store double %{name}s{i}, ptr {row}, align 8")
    return lines


def chosen_copies(name: str, several: list[str], alone: list[str]) -> list[str]:
    """Lines that copy one state, or several, as there are from %first to %last."""
    return [
        f"  %{name}.single = icmp eq i64 %first, %last",
        f"  br i1 %{name}.single, label %{name}.alone, label %{name}.several",
        *(f"{name}.several:", *several, f"  br label %{name}.copied"),
        *(f"{name}.alone:", *alone, f"  br label %{name}.copied"),
        f"{name}.copied:",
    ]
