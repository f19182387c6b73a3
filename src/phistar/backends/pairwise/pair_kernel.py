"""The kernel of operators between the joints of a long mechanism: sweeps over blocks of states, a state per lane, then
loops over pairs of links and columns, state by state, neighbouring columns abreast.

The code knows the kinds of links that occur; all else is data, so that it compiles in the same time at any length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from phistar.backends.kernels import I64, U32, Code, Local, Module, llvm_text
from phistar.backends.links.common_frame import single_axes
from phistar.backends.links.concise import is_told_by_quantities, without_roundoff
from phistar.backends.links.link_frames import LinkFrames, link_frames
from phistar.backends.machine.jit import Signature, Source, Target, gufunc, host, machine_code
from phistar.backends.pairwise.common_frame_steps import CommonTracer, stages
from phistar.backends.pairwise.layout import Layout
from phistar.backends.pairwise.pair_loops import loop_functions as pair_functions
from phistar.backends.pairwise.programs import Nodes, pair_program
from phistar.backends.pairwise.walk import Walk, walk_tree
from phistar.backends.rolled.code import stage_calls
from phistar.backends.rolled.link_loops import TABLES, Array, Block, Sizes, loop_functions
from phistar.backends.rolled.link_memory import Memory, Rooms, Stage, drop_unneeded, number_entries
from phistar.backends.rolled.robot_tables import Areas, Given, link_tables, over_links
from phistar.backends.rolled.rolled_links import kinds_of
from phistar.backends.rolled.steps import Kind
from phistar.model import Model
from phistar.operators.nodes import spelling
from phistar.operators.symbols import Symbols
from phistar.sweeps.regions import PairProgram

Places = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, eq=False)
class PairKernel:
    """Operators of a robot, axis by axis (`common_frame.single_axes`), over pairs of its joints."""

    nodes: Nodes
    symbols: Symbols
    model: Model

    @property
    def program(self) -> PairProgram:
        program = pair_program(self.nodes, self.symbols, self.model.is_serial)
        assert program is not None, self.nodes
        return program

    @property
    def frames(self) -> LinkFrames:
        return frames_with_second_moments(self.model)

    @property
    def kinds(self) -> tuple[list[Kind], list[int]]:
        return kinds_of(self.model, self.frames)

    @property
    def alone(self) -> bool:
        return self.model.parents.count(-1) == 1

    @property
    def armature(self) -> bool:
        return any(np.any(joint.kind.armature_diagonal) for joint in self.model.joints)

    def trace(self) -> tuple[list[Stage], Layout]:
        """The sweeps and the layout of the regions."""
        kinds, _ = self.kinds
        made, links = stages(self.program.sweeps, kinds, self.alone, self.armature)
        rates = tuple(sorted({kind.model.nv for kind in kinds}))
        shapes = {n: shapes_of(self.program.blocks, [link for link in links if link.nv == n]) for n in rates}
        layout = Layout(self.program, rates, shapes)
        made = drop_unneeded(made, layout.blocks_read, set())
        return [stage for stage in made if any(step.stores for step in stage.steps)], layout

    def compile(
        self, signature: Signature, target: Target | None = None, lanes: int | None = None, places: Places = ()
    ) -> Any:
        """The gufunc, and its operations per state. `places`: of each result the array that it is part of, and how many
        such squares are above it and left of it there; above them are zeros."""
        target = target or host()
        lanes = lanes or target.lanes
        kinds, numbers = self.kinds

        def source() -> Source:
            made, layout = self.trace()
            memory = number_entries(made, len(kinds), {"a_g": (6, 1)}, Memory(2 * lanes, 1))
            there = places or tuple((i, 0, 0) for i in range(len(layout.results)))
            text = _text(made, memory, layout, signature, there, lanes, target.fma)
            header = {"memory": memory.data(), "layout": _layout_data(layout), "pairs": _counts(made, layout)}
            return Source(text, header)

        spelled = [(name, spelling(node)) for name, node in self.nodes]
        about = self.model.is_serial, self.alone, self.armature
        made_from = spelled, self.symbols.spelling, [kind.key for kind in kinds], about, lanes, places
        header, code = machine_code("pairs", made_from, target, source)
        data = self._data(header, signature, numbers, 2 * lanes)
        title = " ".join(name for name, _ in self.nodes)
        function = gufunc(code, signature, title, f"{title} of {self.model.name}, compiled pair by pair.", data)
        return function, partial(pair_operations, header["pairs"], self.model)

    def operations(self) -> int:
        """Operations per state of a kernel that has yet to be compiled."""
        return pair_operations(_counts(*self.trace()), self.model)

    def _data(self, header: Mapping[str, Any], signature: Signature, kinds: list[int], lanes: int) -> list[Any]:
        """The tables of the links, then the places of records, links along the walk, runs, places and sizes."""
        model, rooms = self.model, Rooms.from_data(header["memory"])
        areas, walk, layout = Areas(model, kinds, rooms, ()), walk_tree(model), header["layout"]
        places, steps = _record(model, kinds, areas, rooms, walk, layout)
        names = ("q", *layout["inputs"])
        sizes = [[joint.nq if name == "q" else joint.nv for joint in model.joints] for name in names]
        arrays = [over_links(kinds, areas.own, rooms, name, n) for name, n in zip(names, sizes, strict=True)]
        width = len(walk.place)
        scratch = width * (layout["rows"] + layout["layered"] * walk.layers + layout["tables"] * width)
        lift = range(rooms.flat["a_g"], rooms.flat["a_g"] + 6)
        given = Given(
            [*arrays, *([] for _ in signature.outputs)],
            [*signature.inputs, *(shape[-1] for shape in signature.outputs)],
            list(lift),
            [0.0, 0.0, 0.0, *(-model.gravity)],
            -(-(lanes * len(places) + scratch) // lanes),
        )
        start, runs = lanes * areas.room, walk.runs()
        numbers = [start, len(places), start + lanes * len(places), len(places) - width * layout["columns"]]
        return [
            *link_tables(model, self.frames, kinds, areas, given, (), lanes),
            (lanes * places).astype(np.uint32),
            np.array([*numbers, model.nv, len(walk.order), width, walk.layers, len(runs)], dtype=np.int64),
            steps.reshape(-1),
            runs.reshape(-1),
            walk.place,
        ]


def pair_kernel(nodes: Nodes, symbols: Symbols, model: Model) -> PairKernel | None:
    """The kernel of some operators of a robot without spinning rotors; None where they have no such form. What only
    tells how the mechanism moves may be told axis by axis; else joints are taken whole, and have constant axes where
    velocities matter."""
    program, plain = pair_program(nodes, symbols, model.is_serial), without_roundoff(model)
    if program is None:
        return None
    if all(is_told_by_quantities(node, symbols) for _, node in nodes):
        return PairKernel(nodes, symbols, single_axes(plain))
    moves = any(space == "joints" for _, space in program.sweeps.inputs)
    return None if moves and len(single_axes(plain).bodies) > len(plain.bodies) else PairKernel(nodes, symbols, plain)


def pair_operations(counts: Mapping[str, Any], model: Model) -> int:
    """Operations per state: of the sweeps at every link of a model with single axes, and of the loops at every pair."""
    _, numbers = kinds_of(model, link_frames(model))
    walk, total = walk_tree(model), sum(counts["links"][kind] for kind in numbers)
    rates, width = sorted({joint.nv for joint in model.joints}), len(walk.place)
    for case, first, stop, end, *_ in walk.steps.tolist():
        inboard, outboard, everywhere, upper, lower = counts["columns"][str(rates[case])]
        total += inboard * first + outboard * (end - stop) + everywhere * width
        total += upper * (width - first) + lower * stop
    return total


def shapes_of(blocks: frozenset[str], links: list[CommonTracer]) -> dict[str, np.ndarray | None]:
    """Entries of blocks that are not zero at some of the links."""
    found: dict[str, np.ndarray | None] = {}
    for name in blocks:
        known = [np.array(x != 0.0, dtype=bool) for link in links if (x := _pattern(link, name)) is not None]
        found[name] = np.logical_or.reduce(known) if known else None
    return found


def _pattern(link: CommonTracer, name: str) -> np.ndarray | None:
    """A block's entries: 0.0 where it is zero, else something else."""
    value = link.earlier[name]
    return None if value is None else np.vectorize(lambda x: float(not isinstance(x, float) or x != 0.0))(value)


def _counts(made: list[Stage], layout: Layout) -> dict[str, Any]:
    """Operations at each kind of link, and for a column inboard, outboard and anywhere, by rates."""
    links = [sum(stage.steps[kind].trace.operations for stage in made) for kind in range(len(made[0].steps))]
    return {"links": links, "columns": {str(n): layout.counts(n) for n in layout.rates}}


def _layout_data(layout: Layout) -> dict[str, Any]:
    """Return the part of a layout that the data of a robot need."""
    return {
        "inputs": [name for name, _ in layout.program.sweeps.inputs if name != "a_g"],
        "blocks": {str(n): list(entries) for n, entries in layout.block_entries.items()},
        "arrays": layout.column_entries,
        "columns": len(layout.column_entries),
        "rows": 6 * len(layout.mails(True)) + 6 * len(layout.buffers),
        "layered": 6 * len(layout.mails(False)),
        "tables": len(layout.tables),
    }


def _record(
    model: Model, kinds: list[int], areas: Areas, rooms: Rooms, walk: Walk, layout: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The place in the links' memory of each number of a state's record, and the steps with where blocks begin."""
    zero, steps, blocks = areas.slot_start, walk.steps.copy(), []  # the slot of no child stays zero

    def place(k: int, name: str, entry: int) -> int:
        number = rooms.own[kinds[k]].get((name, entry))
        return zero if number is None else int(areas.own[k]) + number

    for row, k in zip(steps, walk.order, strict=True):
        row[-1] = len(blocks)
        blocks += [place(k, name, entry) for name, entry in layout["blocks"][str(model.joints[k].nv)]]
    columns = np.full((layout["columns"], len(walk.place)), zero, dtype=np.int64)
    for number, (name, entry) in enumerate(layout["arrays"]):
        for row, k in zip(steps, walk.order, strict=True):
            rates = model.joints[k].nv
            columns[number, row[1] : row[2]] = [place(k, name, entry * rates + j) for j in range(rates)]
    return np.concatenate([np.array(blocks, dtype=np.int64), columns.reshape(-1)]), steps


def frames_with_second_moments(model: Model) -> LinkFrames:
    """The links with ∫xx* dm = tr(J)/2 − J where their tensors J were."""
    frames = link_frames(model)
    inertia = frames.inertia.copy()
    half = 0.5 * (inertia[:, 4] + inertia[:, 6] + inertia[:, 9])
    inertia[:, 4:] = -inertia[:, 4:]
    inertia[:, [4, 6, 9]] += half[:, None]
    return replace(frames, inertia=inertia)


def _text(
    made: list[Stage], memory: Memory, layout: Layout, signature: Signature, places: Places, lanes: int, fma: bool
) -> str:
    code = stage_calls(made, memory, lanes, fma)
    axes, inputs = [len(shape) for shape in signature.shapes], len(signature.inputs)
    sizes = Sizes(memory.lanes, code.scratch, max(len(memory.slot), 1), 0, 1, None)
    finish = partial(_finish, squares=places, outputs=range(inputs, signature.arrays))
    loop = tuple(loop_functions(code.calls, axes, inputs, sizes, finish))
    return llvm_text(code.module.with_(Module((*pair_functions(layout), *loop))))


def _finish(block: Block, squares: Places, outputs: range) -> None:
    """The records of a block's states, then the loops on each."""
    code, arrays = block.code, block.arrays
    data = code["data"].at(len(TABLES) + outputs.stop)
    places, numbers, steps, runs, place = (
        data.at(i).load(kind=x.read) for i, x in enumerate((U32, I64, I64, I64, I64))
    )
    start, entries, scratch, columns, rates, *sizes = (numbers.at(i).load() for i in range(9))
    record, ahead, most = block.work.at(start), block.last - block.first, block.sizes.lanes - 1
    most = (ahead < most).select(ahead, most)
    code.call("unpack", record, entries * 8, entries * 8, 8, entries, entries, places, block.work, 0, most)
    outs = [arrays[outputs[number]] for number, _, _ in squares]
    steps_of = [[code.like(step, I64) for step in (x.row, x.column)] for x in outs]
    covered = {number: above for number, above, _ in squares if above}
    with code.loop(0, most + 1) as i:
        rows, bases = record.at(i * entries), []
        for number, above in covered.items():
            _clear_rows(code, arrays[outputs[number]], block.first + i, rates * above)
        for x, (_, above, left), (down, along) in zip(outs, squares, steps_of, strict=True):
            base = x.base.bytes((block.first + i) * x.state)
            shifts = [rates * count * step for count, step in ((above, down), (left, along)) if count]
            for shift in shifts:
                base = base.bytes(shift)
            bases.append(base)
        given = rows, rows.at(columns), block.work.at(scratch), steps, runs, place
        code.call("pairs", *given, *sizes, *bases, *(step for pair in steps_of for step in pair))


def _clear_rows(code: Code, x: Array, state: Local, count: Local) -> None:
    """Zeros in the first rows of a state's array."""
    row, column = (code.like(step, I64) for step in (x.row, x.column))
    with code.loop(0, count) as i:
        place = x.base.bytes(state * x.state).bytes(i * row)

        def entries() -> None:
            with code.loop(0, x.columns) as j:
                place.bytes(j * column).store(0.0)

        code.branch(column.same(8), lambda: code.clear(place, x.columns * 8), entries)
