"""Loops over three rates as functions of the kernel language: an outermost rate's matrices, a pair's vectors, then runs
of last rates, whose columns stand abreast.

Memory of a state: a row of each rate (entries of its columns and of blocks of its link), then an array over all rates
for each entry that last rates have; scratch for the matrices of one rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from phistar.backends.kernels import F64, I64, Code, Func, Local
from phistar.backends.programs.triple_places import Group
from phistar.backends.triplewise.meeting_bodies import MATRIX, Body, Shapes, Spot, trace_bodies
from phistar.backends.triplewise.runs import ADDED, ROW, WHOLE
from phistar.sweeps.regions import TripleProgram

ABREAST = 4  # last rates
ARRAYS = {"rows": F64.read, "columns": F64.read, "scratch": F64.to, "tables": I64.read, "numbers": I64.read}


@dataclass(frozen=True, eq=False)
class Layout:
    """What the loops of some kinds of entries read and keep; `shapes`: entries that fields can have at any link."""

    program: TripleProgram
    kinds: Sequence[tuple[str, Group, int]]
    shapes: Shapes

    @cached_property
    def bodies(self) -> list[tuple[Body, Body]]:
        meetings = {table.name: table.meetings for table in self.program.tables}
        return [trace_bodies(meetings[table], group, self.shapes) for table, group, _ in self.kinds]

    @cached_property
    def row_entries(self) -> list[Spot]:
        """Of a rate, one after the other."""
        read = {spot for both in self.bodies for body in both for spot in body.loads if spot[0] != MATRIX}
        return sorted(read)

    @cached_property
    def column_entries(self) -> list[tuple[str, int]]:
        """Of which there is an array over all rates."""
        made = {(name, i) for _, vectors in self.bodies for _, name, i in vectors.stores}
        return sorted(x for x in made if self.has(*x))

    def has(self, name: str, entry: int) -> bool:
        """Whether any rate has this entry of a field's column."""
        filled = self.shapes[name]
        return filled is not None and bool(filled.reshape(-1)[entry])

    @property
    def scratch(self) -> int:
        return max([1, *(len(matrices.stores) for matrices, _ in self.bodies)])

    @property
    def fields(self) -> set[str]:
        """Fields that are read."""
        return {str(name) for _, name, _ in self.row_entries} | {name for name, _ in self.column_entries}


def loop_functions(layout: Layout) -> list[Func]:
    """`triples`, which makes the entries of one state, and what it calls. `numbers`: of each group where its tables
    begin and how many outermost rates it has."""
    groups = [_group(layout, number) for number in range(len(layout.kinds))]
    code = Code("triples", **ARRAYS, width=I64, out=F64.to)
    given = [code[name] for name in (*ARRAYS, "width", "out")]
    for number in range(len(groups)):
        code.call(f"group{number}", *given)
    return [*groups, code.function]


def _group(layout: Layout, number: int) -> Func:
    code = Code(f"group{number}", **ARRAYS, width=I64, out=F64.to)
    code.apart = frozenset({"rows", "columns", "scratch", "out"})
    matrices, vectors = layout.bodies[number]
    own = code["numbers"].at(4 * number)
    starts = [code["tables"].at(own.at(i).load()) for i in range(3)]
    row_of = {spot: i for i, spot in enumerate(layout.row_entries)}

    def row(rate: Local) -> Local:
        return code["rows"].at(rate * len(row_of))

    with code.loop(0, own.at(3).load()) as k:
        outer, first, last = _numbers(starts[0], k)
        source = row(outer)
        made = matrices.put(code, lambda spot, x=source: x.at(row_of[spot]).load())
        for i, x in enumerate(made):
            code["scratch"].at(i).store(x)
        kept = {spot: i for i, spot in enumerate(matrices.stores)}
        with code.loop(first, last) as p:
            between, run, end = _numbers(starts[1], p)
            other = row(between)

            def value_of(spot: Spot, x: Local = other) -> Local:
                return code["scratch"].at(kept[spot]).load() if spot[0] == MATRIX else x.at(row_of[spot]).load()

            found = dict(zip(vectors.stores, vectors.put(code, value_of), strict=True))
            with code.loop(run, end) as r:
                _run(layout, code, _numbers(starts[2], r), found, layout.kinds[number][2])
    return code.function


def _numbers(table: Local, row: Local) -> list[Local]:
    place = table.at(row * ROW)
    return [place.at(i).load() for i in range(ROW)]


def _run(layout: Layout, code: Code, run: list[Local], found: dict[Spot, Local], share: int) -> None:
    """Products of a pair's vectors with the columns of a run of rates."""
    first, count, to = run
    used = [((name, i), x) for (_, name, i), x in found.items() if layout.has(name, i)]
    factors = [x if share == WHOLE else x * 0.5 for _, x in used]
    width, out = code["width"], code["out"].at(to)
    arrays = [code["columns"].at(width * layout.column_entries.index(entry)).at(first) for entry, _ in used]

    def products(start: Local, lanes: int) -> None:
        total = None
        for x, array in zip(factors, arrays, strict=True):
            part = array.at(start).load(lanes) * (x.every(lanes) if lanes else x)
            total = part if total is None else total + part
        total = code.number(0.0, lanes) if total is None else total
        place = out.at(start)
        place.store(place.load(lanes) + total if share == ADDED else total)

    whole = count // ABREAST
    with code.loop(0, whole) as g:
        products(g * ABREAST, ABREAST)
    with code.loop(whole * ABREAST, count) as c:
        products(c, 0)
