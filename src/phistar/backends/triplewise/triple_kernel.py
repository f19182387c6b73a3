"""The kernel of second derivatives of joint forces of a long mechanism: sweeps over blocks of states, a state per lane,
then loops over three joint rates, state by state.

The code knows the kinds of links that occur and how three rates can stand; all else is data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from phistar.backends.kernel import units_of
from phistar.backends.kernels import I64, U32, Module, llvm_text
from phistar.backends.links.common_frame import single_axes
from phistar.backends.links.concise import without_roundoff
from phistar.backends.links.link_frames import LinkFrames
from phistar.backends.machine.jit import Signature, Source, gufunc, host, machine_code
from phistar.backends.pairwise.common_frame_steps import stages
from phistar.backends.pairwise.pair_kernel import frames_with_second_moments, shapes_of
from phistar.backends.programs.triple_tables import Wanted
from phistar.backends.rolled.code import stage_calls
from phistar.backends.rolled.link_loops import TABLES, Block, Sizes
from phistar.backends.rolled.link_loops import loop_functions as link_functions
from phistar.backends.rolled.link_memory import Memory, Rooms, Stage, drop_unneeded, number_entries
from phistar.backends.rolled.robot_tables import Areas, Given, link_tables, over_links
from phistar.backends.rolled.rolled_links import kinds_of
from phistar.backends.rolled.steps import Kind
from phistar.backends.triplewise.meeting_bodies import COLUMN
from phistar.backends.triplewise.runs import Runs, column_order, find_runs
from phistar.backends.triplewise.triple_loops import Layout, loop_functions
from phistar.model import Model
from phistar.sweeps.lower import GIVEN
from phistar.sweeps.regions import TripleProgram


def triple_kernel(
    model: Model, program: TripleProgram, wanted: Mapping[str, Wanted], stated: list[str]
) -> tuple[Any, int]:
    """Compile the entries that are wanted of what is `stated`: function(q, v, a) gives those of all tables in one row;
    and its operations a state."""
    robot = single_axes(without_roundoff(model))
    count = sum(len(own.places) for own in wanted.values())
    made = _Compilation(robot, program, find_runs(robot, wanted), count)
    function, counts = made.compile(stated)
    return function, made.operations(counts)


@dataclass(frozen=True, eq=False)
class _Compilation:
    """The code and data of a robot whose joints have constant axes."""

    model: Model
    program: TripleProgram
    groups: list[Runs]
    count: int

    @cached_property
    def frames(self) -> LinkFrames:
        return frames_with_second_moments(self.model)

    @cached_property
    def kinds(self) -> tuple[list[Kind], list[int]]:
        return kinds_of(self.model, self.frames)

    @property
    def about(self) -> tuple[bool, bool]:
        """Whether one link alone is on the world, and whether any joint has an armature."""
        armature = any(np.any(joint.kind.armature_diagonal) for joint in self.model.joints)
        return self.model.parents.count(-1) == 1, armature

    @cached_property
    def variants(self) -> list[Runs]:
        """One of each kind of entries, in the order of the loops."""
        return list({runs.kind: runs for runs in reversed(self.groups)}.values())[::-1]

    def trace(self) -> tuple[list[Stage], Layout]:
        kinds, _ = self.kinds
        made, links = stages(self.program.program, kinds, *self.about)
        names = {leg.right for table in self.program.tables for m in table.meetings for leg in m.legs}
        blocks = {x for t in self.program.tables for m in t.meetings for x in (m.mass, *(y.left for y in m.legs)) if x}
        shapes = shapes_of(frozenset(blocks), links)
        for nv in {link.nv for link in links}:
            for name, filled in shapes_of(frozenset(names), [x for x in links if x.nv == nv]).items():
                if filled is not None:
                    known = shapes.get(name)
                    column = np.logical_or.reduce(filled, axis=1, keepdims=True)
                    shapes[name] = column if known is None else np.logical_or(known, column)
        shapes = {name: shapes.get(name) for name in names | blocks}
        layout = Layout(self.program, [(x.table, x.group, x.share) for x in self.variants], shapes)
        return [x for x in drop_unneeded(made, layout.fields, set()) if any(step.stores for step in x.steps)], layout

    def compile(self, stated: list[str]) -> tuple[Any, dict[str, Any]]:
        target, nv, nq = host(), self.model.nv, self.model.nq
        signature = Signature((nq, nv, nv), ((self.count,),), units_of(self.model))
        kinds, _ = self.kinds

        def source() -> Source:
            made, layout = self.trace()
            memory = number_entries(made, len(kinds), {"a_g": (6, 1)}, Memory(2 * target.lanes, 1))
            links = [sum(stage.steps[kind].trace.operations for stage in made) for kind in range(len(kinds))]
            bodies = [[*(x.trace.operations for x in both), len(both[1].stores)] for both in layout.bodies]
            header = {
                "memory": memory.data(),
                "rows": [list(x) for x in layout.row_entries],
                "columns": [list(x) for x in layout.column_entries],
                "scratch": layout.scratch,
                "counts": {"links": links, "bodies": bodies},
            }
            return Source(_text(made, memory, layout, signature, target.lanes, target.fma), header)

        made_from = stated, [kind.key for kind in kinds], self.about, [x.kind for x in self.variants], target.lanes
        header, code = machine_code("triples", made_from, target, source)
        doc = f"Second derivatives of the joint forces of {self.model.name}, compiled for any number of links."
        made = gufunc(code, signature, "second_derivatives", doc, self._data(header, signature, 2 * target.lanes))
        return made, header["counts"]

    def operations(self, counts: Mapping[str, Any]) -> int:
        """Operations a state: of the sweeps at every link, of each outermost rate, each pair, each entry."""
        total = sum(counts["links"][kind] for kind in self.kinds[1])
        by_kind = dict(zip((x.kind for x in self.variants), counts["bodies"], strict=True))
        for runs in self.groups:
            outer, pair, entry = by_kind[runs.kind]
            total += outer * len(runs.outer) + pair * len(runs.pairs) + 2 * entry * int(runs.runs[:, 1].sum())
        return total

    def _data(self, header: Mapping[str, Any], signature: Signature, lanes: int) -> list[Any]:
        """The tables of the links, then places of records, sizes, and the loops' tables."""
        model, numbers, rooms = self.model, self.kinds[1], Rooms.from_data(header["memory"])
        areas = Areas(model, numbers, rooms, ())
        places = self._record(header, areas, rooms)
        sizes = {"q": [x.nq for x in model.joints]}
        sizes |= {key: [x.nv for x in model.joints] for key in (GIVEN["v"], GIVEN["qdd"])}
        arrays = [over_links(numbers, areas.own, rooms, name, own) for name, own in sizes.items()]
        lift = list(range(rooms.flat["a_g"], rooms.flat["a_g"] + 6))
        beyond = -(-(lanes * len(places) + header["scratch"]) // lanes)
        given = Given([*arrays, []], [*signature.inputs, self.count], lift, [0.0] * 3 + list(-model.gravity), beyond)
        tables, starts = self._tables()
        start, rows = lanes * areas.room, model.nv * len(header["rows"])
        counts = [start, len(places), start + lanes * len(places), rows, model.nv]
        return [
            *link_tables(model, self.frames, numbers, areas, given, (), lanes),
            (lanes * places).astype(np.uint32),
            np.array(counts, dtype=np.int64),
            tables,
            starts,
        ]

    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The tables of all kinds behind one another; of each where its three begin and how many outermost rates."""
        parts, starts, at = list[np.ndarray](), list[int](), 0
        for variant in self.variants:
            own = [runs for runs in self.groups if runs.kind == variant.kind]
            for table in _join_tables(own):
                starts.append(at)
                parts.append(table.reshape(-1))
                at += table.size
            starts.append(sum(len(runs.outer) for runs in own))
        return np.concatenate([*parts, np.zeros(1, dtype=np.int64)]), np.array(starts, dtype=np.int64)

    def _record(self, header: Mapping[str, Any], areas: Areas, rooms: Rooms) -> np.ndarray:
        """The place in the links' memory of each number of a state's record."""
        model, kinds, zero = self.model, self.kinds[1], areas.slot_start  # the slot of no child stays zero
        joint_of = [(k, i) for k, joint in enumerate(model.joints) for i in range(joint.nv)]

        def place(rate: int, name: str, entry: int, column: bool) -> int:
            k, i = joint_of[rate]
            number = rooms.own[kinds[k]].get((name, entry * model.joints[k].nv + i if column else entry))
            return zero if number is None else int(areas.own[k]) + number

        rates = range(model.nv)
        rows = [place(rate, name, i, kind == COLUMN) for rate in rates for kind, name, i in header["rows"]]
        order = column_order(model).tolist()
        columns = [place(rate, name, i, True) for name, i in header["columns"] for rate in order]
        return np.array(rows + columns, dtype=np.int64)


def _join_tables(own: list[Runs]) -> list[np.ndarray]:
    """The tables of runs of one kind as one, so that rows are counted through all of them."""
    outer, pairs, runs = ([getattr(x, name) for x in own] for name in ("outer", "pairs", "runs"))
    for made, below in ((outer, pairs), (pairs, runs)):
        shift = np.cumsum([0, *map(len, below)])
        made[:] = [x + np.array([0, n, n]) for x, n in zip(made, shift, strict=False)]
    return [np.concatenate(x) for x in (outer, pairs, runs)]


def _text(made: list[Stage], memory: Memory, layout: Layout, signature: Signature, lanes: int, fma: bool) -> str:
    code = stage_calls(made, memory, lanes, fma)
    axes, inputs = [len(shape) for shape in signature.shapes], len(signature.inputs)
    sizes = Sizes(memory.lanes, code.scratch, max(len(memory.slot), 1), 0, 1, None)
    loop = link_functions(code.calls, axes, inputs, sizes, partial(_finish, output=inputs))
    return llvm_text(code.module.with_(Module((*loop_functions(layout), *loop))))


def _finish(block: Block, output: int) -> None:
    """The records of a block's states, then the loops on each."""
    code, out = block.code, block.arrays[output]
    data = code["data"].at(len(TABLES) + output + 1)
    places, sizes, tables, starts = (data.at(i).load(kind=x.read) for i, x in enumerate((U32, I64, I64, I64)))
    start, entries, scratch, columns, width = (sizes.at(i).load() for i in range(5))
    record, ahead, most = block.work.at(start), block.last - block.first, block.sizes.lanes - 1
    most = (ahead < most).select(ahead, most)
    code.call("unpack", record, entries * 8, entries * 8, 8, entries, entries, places, block.work, 0, most)
    with code.loop(0, most + 1) as i:
        rows = record.at(i * entries)
        result = out.base.bytes((block.first + i) * out.state)
        code.call("triples", rows, rows.at(columns), block.work.at(scratch), tables, starts, width, result)
