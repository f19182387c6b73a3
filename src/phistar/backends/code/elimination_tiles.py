"""The two loops of ℳ⁻¹X = ND⁻¹N*X: tiles of some rows and columns in registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phistar.backends.kernels import F64, FREE, I64, U32, Code, Func, Local, transpose_vectors

MOST_WRITTEN = 8  # sources of a tile that are written out: one tile begins while the one before is being stored

Sums = dict[tuple[int, int], Local]  # the values of a tile, by row and column


@dataclass(frozen=True, order=True)
class Shape:
    """Shape of a tile: columns, rows, sources of each sum, and whether the sums have an initial value."""

    width: int
    height: int
    sources: int
    begun: bool = True

    @property
    def name(self) -> str:
        return f"{self.width}x{self.height}s{self.sources}{'' if self.begun else 'new'}"

    @property
    def cells(self) -> list[tuple[int, int]]:
        return [(i, c) for i in range(self.height) for c in range(self.width)]


@dataclass(frozen=True, eq=False)
class Tiles:
    """Function for all tiles of one shape, under construction."""

    shape: Shape
    lanes: int
    code: Code

    def row(self, place: Local) -> list[Local]:
        """The places of a row's columns."""
        return [place.at(self.lanes * c) for c in range(self.shape.width)]

    def vector(self, place: Local) -> Local:
        return place.load(self.lanes, 8 * self.lanes)

    def add_source(self, sums: Sums, factors: list[Local], place: Local) -> Sums:
        """One source added to all sums."""
        made, known = dict(sums), [self.vector(x) for x in factors]
        for c, column in enumerate(self.row(place)):
            value = self.vector(column)
            for i, factor in enumerate(known):
                made[i, c] = made[i, c] + factor * value
        return made

    def sum_sources(
        self, sums: Sums, table: Local, numbers: int, source: Callable[[Local, Local | int, Sums], Sums]
    ) -> Sums:
        """All sources, each with so many numbers in a table: written out, or as a loop."""
        count, cells = self.shape.sources, self.shape.cells
        if count <= MOST_WRITTEN:
            for number in range(count):
                sums = source(table.at(number * numbers), number, sums)
            return sums

        def turn(j: Local, values: list[Local]) -> list[Local]:
            made = source(table.at(j * numbers), j, dict(zip(cells, values, strict=True)))
            return [made[cell] for cell in cells]

        after = self.code.carry(0, count, [sums[cell] for cell in cells], turn)
        return dict(zip(cells, after, strict=True))


def inward_function(shape: Shape, lanes: int) -> Func:
    """For each tile of a table: x(target) ← (x(target) + Σ factor·x(source))·scale, in several rows."""
    code = Code(f"inward{shape.name}", m=F64.to, x=F64.to, table=U32.read, tiles=I64)
    code.freedom, width, start = FREE, 1 + shape.height, 2 * shape.height
    made, rows, align = Tiles(shape, lanes, code), range(shape.height), 8 * lanes
    with code.loop(0, code["tiles"], some=True) as k:
        table, sums, places, scales = code["table"].at(k * (start + width * shape.sources)), {}, [], []
        for i in rows:
            at, scale = table.at(i).load(), table.at(shape.height + i).load()
            places.append(made.row(code["x"].bytes(at)))
            sums |= {(i, c): made.vector(place) for c, place in enumerate(places[i])}
            scales.append(made.vector(code["m"].bytes(scale)))

        def source(numbers: Local, number: Local | int, sums: Sums) -> Sums:
            place = code["x"].bytes(numbers.load())
            return made.add_source(sums, [code["m"].bytes(numbers.at(1 + i).load()) for i in rows], place)

        sums = made.sum_sources(sums, table.at(start), width, source)
        for i, c in shape.cells:
            places[i][c].store(sums[i, c] * scales[i], align)
    return code.function


def outward_function(shape: Shape, lanes: int) -> Func:
    """For each tile of a table: result ← x(start) + Σ factor·x(source), in several rows of each state, which lie `down`
    bytes from each other; the factors of a row follow each other, those of the rows are `pitch` bytes apart."""
    given = {"m": F64.to, "n": F64.to, "table": U32.read, "tiles": I64, "states": F64.to.to, "down": I64, "pitch": I64}
    code, rows, start = Code(f"outward{shape.name}", **given), range(shape.height), 1 + shape.height * shape.begun
    code.freedom, made, factors = FREE, Tiles(shape, lanes, code), [code["n"]]
    while len(factors) < shape.height:
        factors.append(factors[-1].bytes(code["pitch"]))
    states = [code["states"].at(lane).load(kind=F64.to) for lane in range(lanes)]
    with code.loop(0, code["tiles"], some=True) as k:
        table = code["table"].at(k * (start + shape.sources))
        to, sums = table.load(), dict.fromkeys(shape.cells, code.number(0.0, lanes))
        for i in rows if shape.begun else ():
            columns = made.row(code["m"].bytes(table.at(1 + i).load()))
            sums |= {(i, c): made.vector(place) for c, place in enumerate(columns)}

        def source(numbers: Local, number: Local | int, sums: Sums) -> Sums:
            place = code["m"].bytes(numbers.load())
            return made.add_source(sums, [x.at(number * lanes) for x in factors], place)

        sums = made.sum_sources(sums, table.at(start), 1, source)
        for i in rows:
            to = to + code["down"] if i else to
            _store([state.bytes(to) for state in states], [sums[i, c] for c in range(shape.width)])
    return code.function


def _store(places: list[Local], columns: list[Local]) -> None:
    """Columns with a state per lane as rows of the states: squares are turned; the last one overlaps the one before."""
    lanes, width = len(places), len(columns)
    side = min(lanes, 4)
    if width < side:
        for c, column in enumerate(columns):
            for lane, place in enumerate(places):
                place.at(c).store(column.take(lane))
        return
    for first in sorted({*range(0, width - side + 1, side), width - side}):
        for lane in range(0, lanes, side):
            values = columns[first : first + side]
            if side < lanes:
                values = [x.shuffle(None, range(lane, lane + side)) for x in values]
            for i, value in enumerate(transpose_vectors(values)):
                places[lane + i].at(first).store(value)
