"""The loops of a rolled kernel: pack a block of states, run its stages link by link, unpack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

from phistar.backends.code.memory_places import MemoryPlaces, Spot
from phistar.backends.code.state_loop import entry
from phistar.backends.code.straight_line import Body
from phistar.backends.kernels import F64, I1, I64, U32, Code, Func, Local, Value, copy_function, kernel_ir
from phistar.backends.rolled.link_memory import FIXED, LINK
from phistar.backends.traces.trace import Trace

COLUMNS = ("kind", "own", "parent", "passing", "passed", "children", "siblings", "frame", "more", "end", "constant")
"""Entries of a link's row in the table of links; places in memory count doubles from its start."""

TABLES = ("counts", "links", "constants", "extras", "points", "slots", "places", "numbers")
"""Header of a robot's data; then follow the places of the entries of each array."""

COUNTS = ("n", "room", "cleared", "initial")
"""Numbers of the table of counts; then follow the entries of each array and the columns of each array."""

_KINDS = {"counts": I64.read, "constants": F64.read, "points": F64.read, "numbers": F64.read}


@dataclass(frozen=True)
class Sizes:
    """Sizes of the memory that the loop runs over: lanes, scratch vectors of the steps, entries of a slot, task frames,
    columns of wide fields, place of the totals (first, how many); whether steps take half a block."""

    lanes: int
    scratch: int
    slot: int
    frames: int
    width: int
    totals: tuple[int, int] | None
    halves: bool = True

    @property
    def align(self) -> int:
        return 8 * self.lanes


@dataclass(frozen=True)
class Calls:
    """Functions that a stage calls: for each kind of link, once per frame, or once, the parts of a step. `half` is for
    half a block of states, `whole`, if any, for both halves at once; `pointers` are the calls' arguments."""

    direction: str
    half: tuple[tuple[str, ...], ...]
    whole: tuple[tuple[str, ...], ...]
    pointers: tuple[str, ...]

    def function(self, number: int, sizes: Sizes) -> Func:
        """The function that runs the stage on a block of states."""
        code = stage_code(number)
        if self.direction == "flat":
            self.put(code, 0, sizes, {"flat": code["work"]})
        elif self.direction == "frames":
            _frames(code, self, sizes)
        else:
            _links(code, self, sizes)
        return code.function

    def put(self, code: Code, kind: int, sizes: Sizes, known: Mapping[str, Local]) -> None:
        """Emit the calls of one kind; the second half is worked on only if it holds states."""
        given = {name: known[name] for name in self.pointers}

        def call(parts: tuple[str, ...], pointers: Mapping[str, Local]) -> None:
            for part in parts:
                code.call(part, *pointers.values(), code["scratch"])

        def both() -> None:
            if self.whole:
                return call(self.whole[kind], given)
            call(self.half[kind], given)
            moved = {name: p if name in FIXED else p.at(sizes.lanes // 2) for name, p in given.items()}
            return call(self.half[kind], moved)

        if sizes.halves:
            code.branch(code["both"], both, lambda: call(self.half[kind], given))
        else:
            call(self.half[kind], given)


@dataclass(frozen=True, eq=False)
class TraceStage:
    """A stage without links: a trace whose inputs and outputs are vectors of memory, by their numbers."""

    name: str
    trace: Trace
    loads: Sequence[int]
    stores: Sequence[int]
    lanes: int
    fma: bool

    @cached_property
    def body(self) -> Body:
        """Code of the loop's body for half a block of states."""
        loads, stores = ([Spot("work", 16 * self.lanes * x) for x in places] for places in (self.loads, self.stores))
        places = MemoryPlaces((Value("work", F64.to),), loads, stores, self.lanes)
        return Body(f"{self.name}part", self.trace, places, self.lanes, self.fma)

    def function(self, number: int, sizes: Sizes) -> Func:
        code = stage_code(number)

        def call(work: Local) -> None:
            for part in self.body.names:
                code.call(part, work, code["scratch"])

        call(code["work"])
        code.branch(code["both"], lambda: call(code["work"].at(sizes.lanes // 2)))
        return code.function


def table(code: Code, name: str) -> Local:
    """One of a robot's tables."""
    return code["data"].at(TABLES.index(name)).load(kind=_KINDS.get(name, U32.read))


def count(code: Code, name: str) -> Local:
    """One of a robot's counts."""
    return table(code, "counts").at(COUNTS.index(name)).load()


class StageFunction(Protocol):
    """Stage of a block of states, as a function of the kernel language."""

    def function(self, number: int, sizes: Sizes) -> Func: ...


def called_functions(stages: Sequence[StageFunction], sizes: Sizes) -> list[Func]:
    """Functions called by a loop over blocks of states: copies of rows, link constants, stages."""
    copies = [copy_function(name, sizes.lanes, placed=True) for name in ("pack", "unpack")]
    return [*copies, _gather(sizes), _fill(sizes), *(stage.function(n, sizes) for n, stage in enumerate(stages))]


def _gather(sizes: Sizes) -> Func:
    """Sum of what several children sent, in the first one's slot."""
    code = Code("gather", to=F64.to, work=F64.read, extras=U32.read, more=I64, end=I64)
    with code.loop(code["more"], code["end"]) as c:
        source = code["work"].at(code["extras"].at(c).load())
        with code.loop(0, sizes.slot) as i:
            place, added = (x.at(i * sizes.lanes) for x in (code["to"], source))
            total = place.load(sizes.lanes, sizes.align) + added.load(sizes.lanes, sizes.align)
            place.store(total, sizes.align)
    return code.function


def _fill(sizes: Sizes) -> Func:
    """Numbers that are the same for every state."""
    code = Code("fill", work=F64.to, places=U32.read, numbers=F64.read, count=I64)
    with code.loop(0, code["count"]) as i:
        place = code["work"].at(code["places"].at(i).load())
        place.store(code["numbers"].at(i).load().every(sizes.lanes), sizes.align)
    return code.function


def stage_code(number: int) -> Code:
    """The beginning of a stage's function."""
    return Code(f"stage{number}", data=kernel_ir.TABLES, work=F64.to, scratch=F64.to, both=I1)


def _frames(code: Code, stage: Calls, sizes: Sizes) -> None:
    """The same for each task frame."""
    work, points, slots = code["work"], table(code, "points"), table(code, "slots")
    for f in range(sizes.frames):
        rows = {"row1": 6 * f, "rows": 6 * f * sizes.width}
        pointers = {name: work.at(sizes.lanes * start) for name, start in rows.items()}
        pointers |= {"point": points.at(12 * f), "frame": work.at(slots.at(f).load())}
        stage.put(code, 0, sizes, pointers)


def _links(code: Code, stage: Calls, sizes: Sizes) -> None:
    """All links in order: children before parents, or parents first."""
    outward, n, work = stage.direction == "outward", count(code, "n"), code["work"]
    links, constants = table(code, "links"), table(code, "constants")
    extras = None if outward else table(code, "extras")
    with code.loop(0, n) if outward else code.loop(n - 1, -1, -1) as k:
        row = links.at(k * len(COLUMNS))
        used = {"kind", *stage.pointers, *(() if outward else ("children", "more", "end"))}
        found = {name: row.at(i).load() for i, name in enumerate(COLUMNS) if name in used}
        pointers = {
            name: (constants if name == "constant" else work).at(place) for name, place in found.items() if name in LINK
        } | {"flat": work}
        if extras is not None:
            more, end = found["more"], found["end"]
            code.branch(more < end, lambda: code.call("gather", pointers["children"], work, extras, more, end))
        cases = [partial(stage.put, code, kind, sizes, pointers) for kind in range(len(stage.half))]
        code.switch(found["kind"], cases)


@dataclass(frozen=True)
class Array:
    """An array that a kernel is given: its place, the bytes from state to state, between its rows and between its
    columns, how many columns and entries, and the table of their places in memory."""

    base: Local
    state: Local | int
    row: Local | int
    column: Local | int
    columns: Local
    entries: Local
    places: Local


@dataclass(frozen=True)
class Block:
    """A block of states as it is worked on."""

    code: Code
    work: Local
    scratch: Local
    first: Local
    last: Local
    both: Local
    sizes: Sizes
    arrays: tuple[Array, ...]

    def copy(self, function: str, x: Array) -> None:
        """Between the rows of an array and memory."""
        strides = x.base, x.state, x.row, x.column, x.columns, x.entries, x.places
        self.code.call(function, *strides, self.work, self.first, self.last)

    def run(self, stages: range) -> None:
        for number in stages:
            self.code.call(f"stage{number}", self.code["data"], self.work, self.scratch, self.both)

    def clear(self, place: tuple[int, int] | None) -> None:
        """Clear a range of memory vectors."""
        if place is not None and place[1]:
            self.code.clear(self.work.at(self.sizes.lanes * place[0]), self.sizes.align * place[1])


def memory(code: Code, sizes: Sizes) -> tuple[Local, Local]:
    """Allocate work and scratch, clear what is read before any step writes it, fill in constants."""
    work = code.room(count(code, "room") * sizes.lanes, 128)
    code.clear(work, count(code, "cleared") * sizes.align)
    code.call("fill", work, table(code, "places"), table(code, "numbers"), count(code, "initial"))
    return work, code.room(max(sizes.scratch, 1) * sizes.lanes, sizes.align)


def array_data(code: Code, number: int, arrays: int) -> tuple[Local, Local, Local]:
    """Columns, entries and places of one of some arrays."""
    counts = table(code, "counts").at(len(COUNTS) + number)
    places = code["data"].at(len(TABLES) + number).load(kind=U32.read)
    return counts.at(arrays).load(), counts.load(), places


def _arrays(code: Code, axes: list[int]) -> tuple[Array, ...]:
    """A vector is one row, a scalar one entry."""
    found, step = [], len(axes)
    for a, rank in enumerate(axes):
        base = code["args"].at(a).load(kind=F64.to)
        strides = [code["steps"].at(step + axis).load() for axis in range(rank)]
        step += rank
        columns, entries, places = array_data(code, a, len(axes))
        row = strides[0] if rank == 2 else columns * 8
        column = strides[-1] if strides else 8
        found.append(Array(base, code["steps"].at(a).load(), row, column, columns, entries, places))
    return tuple(found)


Finish = Callable[[Block], None]


def block_steps(block: Block, inputs: int, stages: int, finish: Finish | None = None) -> None:
    """Inputs in, the first so many stages, outputs out; `finish` writes the outputs of a block in place of `unpack`."""
    for x in block.arrays[:inputs]:
        block.copy("pack", x)
    block.clear(block.sizes.totals)
    block.run(range(stages))
    if finish is not None:
        return finish(block)
    for x in block.arrays[inputs:]:
        block.copy("unpack", x)
    return None


def loop_functions(
    stages: Sequence[StageFunction],
    axes: list[int],
    inputs: int,
    sizes: Sizes,
    finish: Finish | None = None,
    once: int | None = None,
) -> list[Func]:
    """`loop` and what it calls; `axes`: core axes of each array. `finish` runs itself the stages after the first
    `once`."""
    code = entry()
    states = code["dimensions"].load()
    arrays, (work, scratch) = _arrays(code, axes), memory(code, sizes)
    with code.loop(0, states, sizes.lanes) as first:
        both = first + sizes.lanes // 2 < states
        block = Block(code, work, scratch, first, states - 1, both, sizes, arrays)
        block_steps(block, inputs, len(stages) if once is None else once, finish)
    return [*called_functions(stages, sizes), code.function]
