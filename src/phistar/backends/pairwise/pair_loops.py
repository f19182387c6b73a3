"""Loops over pairs as functions of the kernel language: link by link along the walk, groups of columns abreast.

Memory of a state: its record (blocks of links, one after the other, then an array for each entry that columns have),
and scratch, in units of one number for each column: what inward regions hand on, six each; what outward ones do, six
for each layer; tables; rows of one link.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from phistar.backends.kernels import F64, I64, Code, Func, Local, transpose_vectors
from phistar.backends.pairwise.bodies import BLOCK, COLUMN, MAIL, Spot
from phistar.backends.pairwise.layout import EVERYWHERE, INBOARD, LOWER, OUTBOARD, UPPER, Layout, Work
from phistar.backends.pairwise.walk import GROUP, STEP
from phistar.sweeps.ir import INWARD, ZERO
from phistar.sweeps.regions import PairField

SIZES = ("links", "width", "layers", "count")
MOST = 6  # rates of a joint


def loop_functions(layout: Layout) -> list[Func]:
    """`pairs`, which makes the results of one state, and what it calls."""
    regions = [_Region(layout, number).function() for number in range(len(layout.regions))]
    return [_put(), _mirror(UPPER), _mirror(LOWER), *regions, _main(layout)]


def _arguments(layout: Layout) -> dict[str, Any]:
    outputs = {f"out{i}": F64.to for i in range(len(layout.results))}
    steps = {f"{x}{i}": I64 for i in range(len(layout.results)) for x in ("down", "along")}
    tables = {"steps": I64.read, "runs": I64.read, "place": I64.read}
    return {
        "rows": F64.read,
        "columns": F64.to,
        "scratch": F64.to,
        **tables,
        **dict.fromkeys(SIZES, I64),
        **outputs,
        **steps,
    }


def _main(layout: Layout) -> Func:
    code = Code("pairs", **_arguments(layout))
    given = [code[name] for name in _arguments(layout)]
    width, mails = code["width"], 6 * len(layout.mails(True))
    if mails:
        code.clear(code["scratch"], width * (8 * mails))
    for number in range(len(layout.regions)):
        code.call(f"region{number}", *given)
    areas = _Areas(layout, code)
    for number, name in enumerate(layout.results):
        if name in layout.tables:
            there = LOWER if name in layout.program.lower else UPPER

            def rows(band: Local, number: int = number, name: str = name) -> None:
                with code.loop(band * GROUP, band * GROUP + GROUP) as row:
                    to = code["place"].at(row).load()
                    code.branch(to >= 0, partial(areas.put, number, areas.row(name, row, 0), to))

            with code.loop(0, width // GROUP) as band:  # while it is near
                if name in layout.symmetric:
                    code.call(f"mirror.{there}", areas.table(name), areas.pitch(name), width // GROUP, band)
                code.branch(areas.direct[name], lambda: None, partial(rows, band))
    return code.function


def _put() -> Func:
    """A row of a table to its place, in the robot's own order of joints: run by run where the walk follows that."""
    code = Code("put", row=F64.read, to=F64.to, along=I64, runs=I64.read, count=I64)
    code.apart = frozenset({"row", "to"})

    def abreast() -> None:
        whole = run[1] // GROUP * GROUP
        with code.loop(0, run[1] // GROUP) as g:
            target.at(g * GROUP).store(source.at(g * GROUP).load(GROUP))
        with code.loop(whole, run[1]) as c:
            target.at(c).store(source.at(c).load())

    def apart() -> None:
        with code.loop(0, run[1]) as c:
            target.bytes(c * code["along"]).store(source.at(c).load())

    with code.loop(0, code["count"]) as k:
        run = [code["runs"].at(k * 3 + i).load() for i in range(3)]
        source, target = code["row"].at(run[0]), code["to"].bytes(run[2] * code["along"])
        code.branch(code["along"].same(8), abreast, apart)
    return code.function


def _mirror(there: str) -> Func:
    """Of a band of rows the triangle that is not `there` is made what is on the other side of the diagonal: squares are
    turned. Rows are `pitch` bytes apart."""
    code = Code(f"mirror.{there}", table=F64.to, pitch=I64, bands=I64, band=I64)
    band, pitch = code["band"], code["pitch"]

    def square(along: Local, own: bool) -> None:
        source, target = (
            code["table"].bytes(a * GROUP * pitch).at(b * GROUP) for a, b in ((along, band), (band, along))
        )
        rows = [source.bytes(pitch * code.whole(i)).load(GROUP) for i in range(GROUP)]
        for i, value in enumerate(transpose_vectors(rows)):
            turned = [j < i if there == UPPER else j > i for j in range(GROUP)]
            kept = [GROUP + j if other else j for j, other in enumerate(turned)]
            target.bytes(pitch * code.whole(i)).store(rows[i].shuffle(value, kept) if own else value)

    with code.loop(*((0, band) if there == UPPER else (band + 1, code["bands"]))) as c:
        square(c, False)
    square(band, True)
    return code.function


class _Areas:
    """Where the arrays of a function's scratch and its results are. A result whose rows are whole groups, in the order
    of the walk and without gaps, is written to where it belongs (`direct`)."""

    def __init__(self, layout: Layout, code: Code) -> None:
        self.layout, self.code, self.direct = layout, code, dict[str, Local]()
        whole = code["count"].same(1) & code["runs"].at(1).load().same(code["width"])
        for number, name in enumerate(layout.results):
            self.direct[name] = whole & code[f"along{number}"].same(8)

    def _from(self, number: Any) -> Local:
        return self.code["scratch"].at(self.code["width"] * number)

    @property
    def _table_start(self) -> Local:
        """Row at which each table begins."""
        rows = 6 * len(self.layout.mails(True))
        return self.code["layers"] * (6 * len(self.layout.mails(False))) + rows

    def inward(self, name: str, entry: int) -> Local:
        return self._from(6 * self.layout.mails(True).index(name) + entry)

    def outward(self, name: str, entry: int, layer: Local) -> Local:
        start = 6 * len(self.layout.mails(True))
        return self._from(self.code["layers"] * (6 * self.layout.mails(False).index(name) + entry) + layer + start)

    def table(self, name: str) -> Local:
        own = self._from(self.code["width"] * self.layout.tables.index(name) + self._table_start)
        return self.direct[name].select(self._out(name), own) if name in self.direct else own

    def pitch(self, name: str) -> Local:
        """Bytes from row to row of a table."""
        own = self.code["width"] * 8
        return self.direct[name].select(self.code[f"down{self._number(name)}"], own) if name in self.direct else own

    def _number(self, name: str) -> int:
        return self.layout.results.index(name)

    def _out(self, name: str) -> Local:
        return self.code[f"out{self._number(name)}"]

    def buffer(self, name: str, entry: int) -> Local:
        number = MOST * self.layout.buffers.index(name) + entry
        return self._from(self.code["width"] * len(self.layout.tables) + self._table_start + number)

    def row(self, name: str, first: Local, entry: int) -> Local:
        """A row of a link whose columns begin at `first`."""
        if name in self.layout.tables:
            return self.table(name).bytes((first + entry) * self.pitch(name))
        there = self._out(name).bytes((first + entry) * self.code[f"down{self._number(name)}"])
        return self.direct[name].select(there, self.buffer(name, entry))

    def put(self, number: int, row: Local, to: Local) -> None:
        code, down, along = self.code, self.code[f"down{number}"], self.code[f"along{number}"]
        code.call("put", row, code[f"out{number}"].bytes(to * down), along, code["runs"], code["count"])


class _Region:
    """The function of one region."""

    def __init__(self, layout: Layout, number: int) -> None:
        self.layout, self.number, self.region = layout, number, layout.regions[number]
        self.code = Code(f"region{number}", **_arguments(layout))
        self.areas = _Areas(layout, self.code)

    def function(self) -> Func:
        code, inward = self.code, self.region.direction == INWARD
        count, self.edge = code["links"], code.room(GROUP * MOST, 8)  # what stands at the edge of a range
        strips = self._in_strips()
        for work in strips:
            self._strips(work)
        self.done = {x.name for work in strips for x in work.fields}
        if self.done >= {x.name for x in self.region.fields}:
            return code.function
        with code.loop(count - 1, -1, -1) if inward else code.loop(0, count) as k:
            self._enter(k)
            work = self._inward if inward else self._outward
            code.switch(self.at["case"], [partial(work, rates) for rates in self.layout.rates])
        return code.function

    def _enter(self, k: Local) -> None:
        row = self.code["steps"].at(k * len(STEP))
        self.at = {name: row.at(i).load() for i, name in enumerate(STEP)}

    # Strips of columns

    def _in_strips(self) -> list[Work]:
        """Work on lower triangles of chains with one rate a joint: what is handed on stays in registers."""
        if self.region.direction == INWARD or self.layout.rates != (1,):
            return []
        return [x for x in self.layout.at(self.number, EVERYWHERE, 1) if x.span == LOWER]

    def _strips(self, work: Work) -> None:
        """Two groups of columns at a time: links that have some of them, then all that these carry."""
        code, links, layer = self.code, self.code["links"], self.code.whole(0)
        mails = [(x.name, i) for x in work.fields if x.handed_on for i in range(6)]
        with code.loop(0, links, 2 * GROUP) as start:
            stop = start + 2 * GROUP
            end = (stop < links).select(stop, links)
            for name, i in mails:
                with code.loop(start // GROUP, (end + (GROUP - 1)) // GROUP) as g:
                    self.areas.outward(name, i, layer).at(g * GROUP).store(code.number(0.0, GROUP))
            with code.loop(start, end) as k:
                self._enter(k)
                self._work(work, start // GROUP, k // GROUP + 1)
                for x in work.fields:
                    self._own(x, 1, added=True)
            code.branch(stop < links, partial(self._carry, work, mails, start, stop))

    def _carry(self, work: Work, mails: list[tuple[str, int]], start: Local, stop: Local) -> None:
        code, rows = self.code, [x.name for x in work.fields if not x.handed_on]
        places = [self.areas.outward(*mail, code.whole(0)).at(start + GROUP * n) for n in range(2) for mail in mails]

        def turn(k: Local, values: list[Local]) -> list[Local]:
            self._enter(k)
            fixed = {s: self._block(s, 1).every(GROUP) for s in work.body.spots_used() if s[0] == BLOCK}
            after: list[Local] = []
            for n in range(2):
                known = dict(zip(mails, values[n * len(mails) :], strict=False))
                found = work.body.results(code, lambda s, known=known: fixed[s] if s in fixed else known[s[1:]])
                made = dict(zip(work.body.stores, found, strict=True))
                after += [made[mail] for mail in mails]
                for name in rows:
                    self.areas.row(name, k, 0).at(start + GROUP * n).store(made[name, 0])
            return after

        code.carry(stop, code["links"], [place.load(GROUP) for place in places], turn)

    # A link

    def _inward(self, rates: int) -> None:
        for work in self.layout.at(self.number, OUTBOARD, rates):
            self._work(work, self.at["first"] // GROUP, self.at["end"] // GROUP)
        for x in self.region.fields:
            if x.name in self.layout.results:
                for i in range(rates):
                    row = self.areas.row(x.name, self.at["first"], i)
                    self._fill(row, self.code.whole(0), self.at["first"])
                    self._fill(row, self.at["end"], self.code["width"])
            self._own(x, rates, added=False)

    def _outward(self, rates: int) -> None:
        code, at, layout = self.code, self.at, self.layout
        everywhere = [x for x in layout.at(self.number, EVERYWHERE, rates) if x.fields[0].name not in self.done]
        self._clear_left(rates)
        for work in everywhere:
            if any(x.handed_on for x in work.fields):
                code.branch(at["source"].same(at["target"]), lambda: None, partial(self._take_over, work))
        for x in self.region.fields:
            if x.everywhere is ZERO and not x.handed_on:
                self._row(x, rates)
        for work in everywhere:
            stop = (at["stop"] + (GROUP - 1)) // GROUP if work.span == LOWER else code["width"] // GROUP
            self._work(work, self._start(work), stop)
        for x in self.region.fields:
            if x.name not in self.done and (x.everywhere is not ZERO or x.handed_on):
                self._own(x, rates, added=True)
        for number, name in enumerate(layout.results):
            if name in layout.buffers and name in {x.name for x in self.region.fields}:
                code.branch(self.areas.direct[name], lambda: None, partial(self._write, number, name, rates))

    def _start(self, work: Work) -> Local:
        return self.at["first"] // GROUP if work.span == UPPER else self.code.whole(0)

    def _write(self, number: int, name: str, rates: int) -> None:
        to = self.code["place"].at(self.at["first"]).load()
        for i in range(rates):
            self.areas.put(number, self.areas.buffer(name, i), to + i)

    def _clear_left(self, rates: int) -> None:
        """Zero the columns of branches that the walk has left, where they would be taken for inboard ones."""
        inboard = self.layout.at(self.number, INBOARD, rates)
        used = sorted({spot for work in inboard for spot in work.body.spots_used() if spot[0] == COLUMN})

        def clear() -> None:
            for spot in used:
                self._fill(self._place(spot), self.at["clear"], self.at["first"])

        if used:
            self.code.branch(self.at["clear"] < self.at["first"], clear)

    def _take_over(self, work: Work) -> None:
        """Copy the blocks that a link's parent hands on into the link's own layer."""
        code, at = self.code, self.at
        start, stop = self._start(work), code["width"] // GROUP
        for x in (x for x in work.fields if x.handed_on):
            for i in range(6):
                target = self.areas.outward(x.name, i, at["target"])

                def zeros(target: Local = target) -> None:
                    with code.loop(start, stop) as g:
                        target.at(g * GROUP).store(code.number(0.0, GROUP))

                def copies(target: Local = target, name: str = x.name, i: int = i) -> None:
                    source = self.areas.outward(name, i, at["source"])
                    with code.loop(start, stop) as g:
                        target.at(g * GROUP).store(source.at(g * GROUP).load(GROUP))

                code.branch(at["source"] < 0, zeros, copies)

    def _row(self, x: PairField, rates: int) -> None:
        """All columns of a field's rows: inboard ones, own, outboard ones, and nothing on other branches; of those that
        only serve halves of symmetric results, no inboard ones."""
        code, at = self.code, self.at
        rows = [self.areas.row(x.name, at["first"], i) for i in range(rates)]
        inboard, outboard = (
            next((w for w in self.layout.at(self.number, way, rates) if x in w.fields), None)
            for way in (INBOARD, OUTBOARD)
        )
        if inboard is not None:
            stop = (at["first"] + (GROUP - 1)) // GROUP
            work = partial(self._work, inboard, code.whole(0), stop)
            self._save_columns(rows, at["first"] // GROUP, work, at["first"], stop * GROUP)
        elif not self.layout.is_half(self.number, x):
            for row in rows:
                self._fill(row, code.whole(0), at["first"])
        if outboard is not None:
            start = at["stop"] // GROUP
            work = partial(self._work, outboard, start, at["end"] // GROUP)
            self._save_columns(rows, start, work, start * GROUP, at["stop"])
        for row in rows:
            self._fill(row, at["stop"] if outboard is None and not x.begun else at["end"], code["width"])
        if not x.begun:
            self._own(x, rates, added=False)

    def _save_columns(self, rows: list[Local], group: Local, work: Any, start: Local, stop: Local) -> None:
        """Work on whole groups of rows that leaves the columns from `start` to `stop`, of one group, as they are."""
        code = self.code
        edges = [self.edge.at(GROUP * i) for i in range(len(rows))]
        for row, edge in zip(rows, edges, strict=True):
            edge.store(row.at(group * GROUP).load(GROUP))
        work()
        for row, edge in zip(rows, edges, strict=True):
            with code.loop(start, stop) as c:
                row.at(c).store(edge.at(c - group * GROUP).load())

    def _fill(self, row: Local, start: Local, stop: Local) -> None:
        with self.code.loop(start, stop) as c:
            row.at(c).store(0.0)

    def _own(self, x: PairField, rates: int, added: bool) -> None:
        """The block of a field in the link's own columns."""
        filled = self.layout.shapes[rates][x.own] if x.own else None
        for i in range(rates if x.name in self.layout.rows else 6):
            place = self._to(x.name, i).at(self.at["first"])
            for j in range(rates):
                if filled is None or not filled[i, j]:
                    if not added:
                        place.at(j).store(0.0)
                    continue
                value = self._block((BLOCK, x.own, i * rates + j), rates)
                place.at(j).store(place.at(j).load() + value if added else value)

    def _work(self, work: Work, start: Local, stop: Local) -> None:
        work.body.put(self.code, start, stop, partial(self._block, rates=work.rates), self._place, self._to)

    # Places

    def _block(self, spot: Spot, rates: int) -> Local:
        return self.code["rows"].at(self.at["rows"] + self.layout.block_entries[rates][spot[1:]]).load()

    def _place(self, spot: Spot) -> Local:
        kind, name, entry = spot
        if kind == COLUMN:
            return self.code["columns"].at(self.code["width"] * self.layout.column_entries.index((name, entry)))
        return self._handed_place(name, entry) if kind == MAIL else self.areas.row(name, self.at["first"], entry)

    def _to(self, name: str, entry: int) -> Local:
        return (
            self.areas.row(name, self.at["first"], entry)
            if name in self.layout.rows
            else self._handed_place(name, entry)
        )

    def _handed_place(self, name: str, entry: int) -> Local:
        if self.region.direction == INWARD:
            return self.areas.inward(name, entry)
        return self.areas.outward(name, entry, self.at["target"])
