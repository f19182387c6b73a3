"""Rows of arrays, one state each, to vectors with one state per lane and back, as straight-line vector IR."""

from __future__ import annotations

from dataclasses import dataclass

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

    def copied(self, count: int, packing: bool) -> list[str]:
        """Lines that copy `count` entries: `packing`, into the memory; else out of it."""
        lines: list[str] = []
        entry = 0
        while entry < count:
            size = next(n for n in (self.width, 2, 1) if n <= min(count - entry, self.width))
            lines += self._tile(entry, size, packing)
            entry += size
        return lines

    def _tile(self, entry: int, size: int, packing: bool) -> list[str]:
        name = f"{self.memory}{self.array}x{self.lane}x{entry}"
        rows, cells = [f"%{name}r{i}" for i in range(self.width)], [f"%{name}c{i}" for i in range(size)]
        lines = []
        for i, row in enumerate(rows):
            lines.append(f"  {row} = getelementptr i8, ptr %a{self.array}l{self.lane + i}, i64 {8 * entry}")
        for i, cell in enumerate(cells):
            place = 8 * ((self.start + entry + i) * self.lanes + self.lane)
            lines.append(f"  {cell} = getelementptr i8, ptr %{self.memory}, i64 {place}")
        if size == self.width:
            return lines + _square(name, rows, cells, packing)
        chosen = _pairs if size == 2 else _singles
        return lines + chosen(name, rows, cells, packing)


def _square(name: str, rows: list[str], cells: list[str], packing: bool) -> list[str]:
    vector = f"<{len(rows)} x double>"
    source, target = (rows, cells) if packing else (cells, rows)
    lines = [f"  %{name}v{i} = load {vector}, ptr {place}, align 8" for i, place in enumerate(source)]
    made, shuffles = transposed([f"%{name}v{i}" for i in range(len(rows))], vector, name)
    return [*lines, *shuffles, *(f"  store {vector} {x}, ptr {y}, align 8" for x, y in zip(made, target, strict=True))]


def _pairs(name: str, rows: list[str], cells: list[str], packing: bool) -> list[str]:
    """Two entries of four rows: halves of two vectors, which are then unpacked into each other, or the way back."""
    four, two, lines = "<4 x double>", "<2 x double>", []
    unpacked, halves = ((0, 4, 2, 6), (1, 5, 3, 7)), ((0, 1), (2, 3))
    if packing:
        lines += [f"  %{name}v{i} = load {two}, ptr {row}, align 8" for i, row in enumerate(rows)]
        lines += [_shuffle(f"%{name}h{i}", two, f"%{name}v{i}", f"%{name}v{i + 2}", (0, 1, 2, 3)) for i in range(2)]
        for i, mask in enumerate(unpacked):
            lines.append(_shuffle(f"%{name}t{i}", four, f"%{name}h0", f"%{name}h1", mask))
            lines.append(f"  store {four} %{name}t{i}, ptr {cells[i]}, align 8")
        return lines
    lines += [f"  %{name}v{i} = load {four}, ptr {cell}, align 8" for i, cell in enumerate(cells)]
    for i, mask in enumerate(unpacked):
        lines.append(_shuffle(f"%{name}t{i}", four, f"%{name}v0", f"%{name}v1", mask))
        for half, kept in enumerate(halves):
            lines.append(_shuffle(f"%{name}t{i}x{half}", four, f"%{name}t{i}", "poison", kept))
            lines.append(f"  store {two} %{name}t{i}x{half}, ptr {rows[i + 2 * half]}, align 8")
    return lines


def _singles(name: str, rows: list[str], cells: list[str], packing: bool) -> list[str]:
    """One entry of every row, stored as a whole vector: what is read in another size than it was written is waited
    for."""
    vector, lines, whole = f"<{len(rows)} x double>", [], "poison"
    if packing:
        for i, row in enumerate(rows):
            lines.append(f"  %{name}s{i} = load double, ptr {row}, align 8")
            lines.append(f"  %{name}n{i} = insertelement {vector} {whole}, double %{name}s{i}, i32 {i}")
            whole = f"%{name}n{i}"
        return [*lines, f"  store {vector} {whole}, ptr {cells[0]}, align 8"]
    lines.append(f"  %{name}v = load {vector}, ptr {cells[0]}, align 8")
    for i, row in enumerate(rows):
        lines.append(f"  %{name}s{i} = extractelement {vector} %{name}v, i32 {i}")
        lines.append(f"  store double %{name}s{i}, ptr {row}, align 8")
    return lines
