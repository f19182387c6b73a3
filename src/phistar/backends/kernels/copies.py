"""Between rows of arrays, one state each, and the memory of a block of states, a vector of lanes for each entry.

Where rows are contiguous, squares of entries and states are transposed in registers; else entry by entry. Outputs that
are the same for every state are put there by loops over tables, because thousands of stores in straight-line code take
a compiler seconds; zeros that lie together, as in the columns of joints that do not move a frame, are cleared at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from phistar.backends.kernels.build import Code, Local, transpose_vectors
from phistar.backends.kernels.kernel_ir import F64, I64, U32, Func, Table, Type

AT_ONCE = 8  # entries of one state


def copy_function(name: str, lanes: int, placed: bool, entry: Type = F64) -> Func:
    """`pack`: entry e of lane l from base + row(l)·s + (e div columns)·k0 + (e mod columns)·k1 to its place; `unpack`:
    back. Where they are `placed`, a table says where each entry goes, else they go one after the other. Lanes beyond
    the end repeat the last row; of those that belong to one row, the first is written last."""
    sizes = dict.fromkeys(("s", "k0", "k1", "columns", "count"), I64)
    source, target = (entry.read, entry.to) if name == "pack" else (entry.to, entry.read)
    table = {"table": U32.read} if placed else {}
    code = Code(name, base=source, **sizes, **table, work=target, first=I64, last=I64)
    width, packing, last, count = square_width(lanes, entry.kind), name == "pack", code["last"], code["count"]
    rows = []
    for lane in range(lanes):
        state = code["first"] + lane
        rows.append(code["base"].bytes((state < last).select(state, last) * code["s"]))
    dense = code["k0"].same(code["columns"] * entry.size) & code["k1"].same(entry.size) & (count >= width)
    code.branch(dense, lambda: _squares(code, rows, width, packing), lambda: _entries(code, rows, packing))
    return code.function


def square_width(lanes: int, kind: str) -> int:
    """Rows of a square that is transposed in registers: what half of the longest vectors holds."""
    return min(lanes, 8 if kind == "f32" and lanes >= 8 else 4)


def _squares(code: Code, rows: list[Local], width: int, packing: bool) -> None:
    """`width` entries of all lanes at a time."""
    with code.squares(code["count"], width) as e:
        cells = [_place(code, e + i, len(rows)) for i in range(width)]
        for start in reversed(range(0, len(rows), width)):
            outside = [rows[start + i].at(e) for i in range(width)]
            inside = [cell.at(start) for cell in cells]
            source, target = (outside, inside) if packing else (inside, outside)
            values = transpose_vectors([place.load(width) for place in source])
            for place, value in reversed(list(zip(target, values, strict=True))):
                place.store(value)


def _entries(code: Code, rows: list[Local], packing: bool) -> None:
    with code.loop(0, code["count"]) as k:
        cell, columns = _place(code, k, len(rows)), code["columns"]
        offset = k // columns * code["k0"] + k % columns * code["k1"]
        for lane in reversed(range(len(rows))):
            outside, inside = rows[lane].bytes(offset), cell.at(lane)
            source, target = (outside, inside) if packing else (inside, outside)
            target.store(source.load())


def _place(code: Code, entry: Local, lanes: int) -> Local:
    """The place of an entry in memory."""
    return code["work"].at(code["table"].at(entry).load() if "table" in code.given else entry * lanes)


def copy_one_function(name: str, lanes: int, entry: Type = F64) -> Func:
    """`pack.one`: entries 0 … n of a row into every lane of packed memory; `unpack.one`: those of the first lane back.
    What is called for one state would spend most of its time on copies for the others. There are at least `AT_ONCE`."""
    packing = name == "pack"
    source, target = (entry.read, entry.to) if packing else (entry.to, entry.read)
    code = Code(f"{name}.one", row=source, work=target, n=I64)
    with code.squares(code["n"], AT_ONCE) as e:
        outside, inside = code["row"].at(e), code["work"].at(e * lanes)
        for i in range(AT_ONCE):
            row, cell = outside.at(i), inside.at(lanes * i)
            if packing:
                cell.store(row.load().every(lanes))
            else:
                row.store(cell.load())
    return code.function


SHORTEST_RUN = 4  # zeros that are worth to be cleared together


def fill_function(constants: Mapping[int, float], lanes: int, entry: Type = F64) -> tuple[list[Table], Func]:
    """The function of `out` and its tables; `constants` are numbers by their entries."""
    runs = _zero_runs(constants)
    cleared = {place for start, count in runs for place in range(start, start + count)}
    others = {place: value for place, value in constants.items() if place not in cleared}
    code, tables = Code("fill", out=entry.to), []
    if runs:
        starts, counts = zip(*runs, strict=True)
        tables += [Table("starts", I64, tuple(lanes * x for x in starts))]
        tables += [Table("lengths", I64, tuple(entry.size * lanes * x for x in counts))]
        first, length = (code.table(name, I64.read) for name in ("starts", "lengths"))
        with code.loop(0, len(runs)) as k:
            code.clear(code["out"].at(first.at(k).load()), length.at(k).load())
    if others:
        tables += [Table("places", I64, tuple(lanes * x for x in others))]
        tables += [Table("numbers", entry, tuple(others.values()))]
        places, numbers = code.table("places", I64.read), code.table("numbers", entry.read)
        with code.loop(0, len(others)) as k:
            code["out"].at(places.at(k).load()).store(numbers.at(k).load().every(lanes), entry.size * lanes)
    return tables, code.function


def _zero_runs(constants: Mapping[int, float]) -> list[tuple[int, int]]:
    """First entries and lengths of zeros that lie together; −0 is none."""
    runs: list[tuple[int, int]] = []
    for entry in sorted(entry for entry, value in constants.items() if str(value) == "0.0"):
        if runs and sum(runs[-1]) == entry:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((entry, 1))
    return [run for run in runs if run[1] >= SHORTEST_RUN]


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
        """So many entries into the memory, four or eight lanes at a time."""
        self._each(count, packing=True)

    def unpack(self, count: int) -> None:
        """The way back."""
        self._each(count, packing=False)

    def _each(self, count: int, packing: bool) -> None:
        lanes, whole = len(self.rows), 0
        if (wide := square_width(lanes, self.memory.type.kind)) > 4:
            whole = count // wide * wide
            for lane, entry in product(range(0, lanes, wide), range(0, whole, wide)):
                self._tile(lane, entry, wide, packing, width=wide)
        width = min(lanes, 4)
        for lane in range(0, lanes, width):
            for entry, size in tiles(count - whole, width):
                self._tile(lane, whole + entry, size, packing)

    def unpack_tile(self, entry: int, size: int, known: Mapping[int, Local] | None = None) -> None:
        """`size` entries from `entry` on: as many as are copied at once, or two, or one. Those that are `known` are not
        read from the memory."""
        for lane in range(0, len(self.rows), min(len(self.rows), 4)):
            self._tile(lane, entry, size, False, known)

    def _tile(
        self,
        lane: int,
        entry: int,
        size: int,
        packing: bool,
        known: Mapping[int, Local] | None = None,
        width: int = 4,
    ) -> None:
        lanes, width = len(self.rows), min(len(self.rows), width)
        item = Type(self.memory.type.kind).size
        rows = [row.bytes(item * entry) for row in self.rows[lane : lane + width]]
        cells = [self.memory.bytes(item * ((self.start + entry + i) * lanes + lane)) for i in range(size)]
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
