"""Products and sums of blocks in memory as loops over tiles: so many rows by so many vectors stay in registers.

Blocks are row by row, vectors run along rows. A vector at the end of a row is read whole, beyond the block, and stored
under a mask; blocks therefore lie in memory that goes on for a few vectors (`SLACK`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from phistar.backends.kernels import ANY_ORDER, I1, IN_ORDER, Code, Local, kernel_ir, transpose_vectors, vector

TILE = {1: (4, 2), 2: (4, 2), 4: (4, 2), 8: (6, 3)}  # rows and vectors of a tile, by lanes: they leave registers free
SLACK = 32  # numbers behind a block that may be read, and mean nothing
UNROLLED = 16  # turns of an inner loop up to which it is written out
TURNS = 3  # tiles of rows up to which they are
SQUARE = 4  # rows and columns that are transposed in registers
RESIDENT = 12  # rows of a block up to which its inverse is made in registers


@dataclass(frozen=True)
class Place:
    """Entry (i, j) of a block stands `i·row + j·column` numbers behind `start`; rows have `ends` = (columns, numbers
    that there is room for)."""

    start: Local
    row: int
    column: int = 1
    ends: tuple[int, int] | None = None

    def at(self, i: Any, j: Any) -> Local:
        return self.start.at(_sum(_scale(i, self.row), _scale(j, self.column)))

    def part(self, i: Any, j: int) -> Place:
        """The block whose first entry is (i, j) of this one."""
        ends = None if self.ends is None else (self.ends[0] - j, self.ends[1] - j)
        return Place(self.at(i, j), self.row, self.column, ends)

    @property
    def transpose(self) -> Place:
        return Place(self.start, self.column, self.row)


def _scale(i: Any, by: int) -> Any:
    return i * by if isinstance(i, int) or by != 1 else i


def _sum(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return b + a if isinstance(a, int) else a + b


class Tiles:
    """Loops over blocks, written into a function under construction."""

    def __init__(self, code: Code, lanes: int, fma: bool) -> None:
        self.code, self.lanes, self.kind = code, lanes, vector(lanes)
        self.rows, self.vectors = TILE[lanes]
        self.fused = "fma" if fma else "fmuladd"
        code.freedom = IN_ORDER

    # Vectors

    def masks(self, to: Place, width: int) -> list[Local | None]:
        """Lanes that are stored, for each vector of a row of this width; None for all."""
        count = -(-width // self.lanes)
        left = width - (count - 1) * self.lanes
        alone = to.ends is not None and to.ends[0] == width and to.ends[1] >= count * self.lanes
        last = None if left == self.lanes or alone else self._first(left)
        return [*([None] * (count - 1)), last]

    def _first(self, count: int) -> Local:
        """Mask of the first so many lanes."""
        numbers = self.code.let(vector(self.lanes, "i64"), "lane")
        return self.code.let(vector(self.lanes, "i1"), "slt", numbers, self.code.like(count, vector(self.lanes, "i64")))

    def load(self, place: Local) -> Local:
        return place.load(self.lanes)

    def store(self, place: Local, value: Local, mask: Local | None) -> None:
        if mask is None:
            place.store(value)
        else:
            self.code.put(kernel_ir.Masked(value.value, place.value, mask.value, 8))

    def times(self, x: Local, y: Local, more: Local) -> Local:
        """xy + more."""
        return self.code.let(x.type, self.fused, x, y, more, detail=IN_ORDER)

    def everywhere(self, x: Any) -> Local:
        """A number in every lane."""
        return x.every(self.lanes) if isinstance(x, Local) else self.code.number(x, self.lanes)

    # Sums

    def add(self, to: Place, x: Place, rows: int, width: int, scale: Any = 1.0, assign: bool = False) -> None:
        """to += scale·x, or to = scale·x; x is row by row."""
        factor, masks = None if scale == 1.0 else self.everywhere(scale), self.masks(to, width)

        def one(i: Any) -> None:
            for number, mask in enumerate(masks):
                place = to.at(i, number * self.lanes)
                value = self.load(x.at(i, number * self.lanes))
                if assign:
                    value = value if factor is None else value * factor
                elif factor is None:
                    value = self.load(place) + value
                else:
                    value = self.times(value, factor, self.load(place))
                self.store(place, value, mask)

        self.each(rows, one)

    def each(self, count: int, one: Any) -> None:
        """`one(i)` for each whole number below count."""
        if count <= self.rows:
            for i in range(count):
                one(i)
        else:
            with self.code.loop(0, count, some=True) as i:
                one(i)

    def add_column(self, to: Place, x: Place, rows: int, assign: bool = False) -> None:
        """The first column of x to that of another block, number by number."""

        def one(i: Any) -> None:
            value, place = x.at(i, 0).load(), to.at(i, 0)
            place.store(value if assign else place.load() + value)

        self.each(rows, one)

    def add_diagonal(self, to: Place, size: int, value: Any) -> None:
        """to += value·I."""

        def one(i: Any) -> None:
            place = to.at(i, i)
            place.store(place.load() + value)

        self.each(size, one)

    def mirror(self, block: Place, size: int) -> None:
        """The upper triangle as the lower: squares below the diagonal at once, the rest number by number."""
        code, squares = self.code, size // SQUARE if self.lanes >= SQUARE else 0

        def one(i: Any, j: Any) -> None:
            block.at(j, i).store(block.at(i, j).load())

        with code.loop(0, squares) as number:
            i = number * SQUARE
            with code.loop(0, i, SQUARE) as j:
                rows = [block.at(i + r, j).load(SQUARE) for r in range(SQUARE)]
                for r, column in enumerate(transpose_vectors(rows)):
                    block.at(j + r, i).store(column)
            for r in range(SQUARE):
                for c in range(r):
                    one(i + r, i + c)
        with code.loop(squares * SQUARE, size) as i, code.loop(0, i) as j:
            one(i, j)

    # Products

    def product(
        self,
        to: Place,
        left: Place,
        right: Place,
        shape: tuple[int, int, int],
        source: Place | None = None,
        minus: bool = False,
        lower: bool = False,
    ) -> None:
        """to = source ± left·right, of rows, width and inner numbers; `right` is row by row. `lower`: what is above the
        diagonal may be anything."""
        rows, width, inner = shape
        most, size = self.vectors * self.lanes, self.rows
        for begin in range(0, width, most):
            moved = [None if x is None else x.part(0, begin) for x in (to, right, source)]
            masks = self.masks(to.part(0, begin), min(most, width - begin))
            first = begin // size * size if lower else 0
            whole = begin + most if lower else 0  # rows from which on every vector of the strip counts
            for i, count in self._row_tiles(first, rows, whole):
                needed = len(masks)
                if lower and isinstance(i, int):
                    needed = min(needed, -(-(i + count - begin) // self.lanes))
                if needed > 0:
                    self._tile(moved, left, i, count, masks[:needed], inner, minus)

    def _row_tiles(self, first: int, rows: int, whole: int) -> Iterator[tuple[Any, int]]:
        """Tiles of rows: one by one up to `whole`, then as a loop, then what is left."""
        size, i = self.rows, first
        while i < min(whole, rows):
            yield i, min(size, rows - i)
            i += size
        turns = (rows - i) // size
        if turns > TURNS:
            with self.code.loop(i, i + turns * size, size, some=True) as at:
                yield at, size
            i += turns * size
        while i < rows:
            yield i, min(size, rows - i)
            i += size

    def _tile(
        self,
        moved: Sequence[Place | None],
        left: Place,
        i: Any,
        count: int,
        masks: Sequence[Local | None],
        inner: int,
        minus: bool,
    ) -> None:
        to, right, source = moved
        assert to is not None and right is not None
        columns = range(len(masks))

        def turn(at: Any, sums: list[Local]) -> list[Local]:
            row = [self.load(right.at(at, number * self.lanes)) for number in columns]
            made = []
            for r in range(count):
                factor = left.at(_sum(i, r), at).load().every(self.lanes)
                made += [self.times(factor, x, sums[r * len(row) + c]) for c, x in enumerate(row)]
            return made

        sums = [self.code.number(0.0, self.lanes)] * (count * len(masks))
        if inner <= UNROLLED:
            for at in range(inner):
                sums = turn(at, sums)
        else:
            sums = self.code.carry(0, inner, sums, turn)
        for r in range(count):
            for c, mask in enumerate(masks):
                made = sums[r * len(masks) + c]
                if source is not None:
                    known = self.load(source.at(_sum(i, r), c * self.lanes))
                    made = known - made if minus else known + made
                elif minus:
                    made = -made
                self.store(to.at(_sum(i, r), c * self.lanes), made, mask)

    def dots(self, to: Place, left: Place, right: Place, rows: int, inner: int, minus: bool = False) -> None:
        """to ±= left·right for a column."""
        code = self.code

        def one(i: Any) -> None:
            def turn(at: Local, sums: list[Local]) -> list[Local]:
                code.freedom = ANY_ORDER
                made = sums[0] + left.at(i, at).load() * right.at(at, 0).load()
                code.freedom = IN_ORDER
                return [made]

            (total,) = code.carry(0, inner, [code.number(0.0)], turn)
            place = to.at(i, 0)
            place.store(place.load() - total if minus else place.load() + total)

        self.each(rows, one)

    # Inverses

    def invert(self, to: Place, block: Place, size: int) -> Local:
        """The inverse of a positive symmetric block by Gauss and Jordan, without pivoting; whether it is positive."""
        self.add(to, block, size, size, assign=True)
        return self._in_registers(to, size) if size <= RESIDENT else self._in_memory(to, size)

    def _in_registers(self, to: Place, size: int) -> Local:
        masks, good = self.masks(to, size), self.code.like(True, I1)
        rows = [[self.load(to.at(i, c * self.lanes)) for c in range(len(masks))] for i in range(size)]
        for pivot in range(size):
            where, lane = divmod(pivot, self.lanes)
            value = rows[pivot][where].take(lane)
            good = good & value.greater(0.0)
            rows[pivot] = self._pivot_row(rows[pivot], self.code.whole(pivot), value)
            for i in range(size):
                if i != pivot:
                    factor = rows[i][where].take(lane).every(self.lanes)
                    rows[i] = self._eliminate(rows[i], rows[pivot], factor, self.code.whole(pivot))
        for i in range(size):
            for c, mask in enumerate(masks):
                self.store(to.at(i, c * self.lanes), rows[i][c], mask)
        return good

    def _in_memory(self, to: Place, size: int) -> Local:
        code, masks = self.code, self.masks(to, size)

        def turn(pivot: Local, good: list[Local]) -> list[Local]:
            value = to.at(pivot, pivot).load()
            own = [self.load(to.at(pivot, c * self.lanes)) for c in range(len(masks))]
            row = self._pivot_row(own, pivot, value)
            with code.loop(0, size, some=True) as i:
                before = [self.load(to.at(i, c * self.lanes)) for c in range(len(masks))]
                factor = to.at(i, pivot).load().every(self.lanes)
                for c, (x, mask) in enumerate(zip(self._eliminate(before, row, factor, pivot), masks, strict=True)):
                    self.store(to.at(i, c * self.lanes), x, mask)
            for c, (x, mask) in enumerate(zip(row, masks, strict=True)):
                self.store(to.at(pivot, c * self.lanes), x, mask)
            return [good[0] & value.greater(0.0)]

        return code.carry(0, size, [code.like(True, I1)], turn)[0]

    def _pivot_row(self, row: list[Local], pivot: Local, value: Local) -> list[Local]:
        """A pivot's row divided by it, 1/pivot in its own place."""
        one = self.code.number(1.0)
        inverse = self.code.let(value.type, "fdiv", one, value, detail=IN_ORDER).every(self.lanes)
        scaled = [x * inverse for x in row]
        return [self._at(pivot, c).select(inverse, x) for c, x in enumerate(scaled)]

    def _eliminate(self, row: list[Local], pivot_row: list[Local], factor: Local, pivot: Local) -> list[Local]:
        """Another row without its part along the pivot's."""
        away, none = -factor, self.code.number(0.0, self.lanes)
        kept = [self._at(pivot, c).select(none, x) for c, x in enumerate(row)]
        return [self.times(away, x, y) for x, y in zip(pivot_row, kept, strict=True)]

    def _at(self, pivot: Local, number: int) -> Local:
        """The lane of the pivot in the vector of this number."""
        whole = vector(self.lanes, "i64")
        lane = self.code.let(whole, "lane")
        wanted = pivot - number * self.lanes
        if isinstance(wanted.value.name, int):
            return self.code.let(vector(self.lanes, "i1"), "eq", lane, self.code.like(wanted.value.name, whole))
        return self.code.let(vector(self.lanes, "i1"), "eq", lane, self.code.let(whole, "every", wanted))
