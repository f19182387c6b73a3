"""Trees in the step's tables: where their coordinates stand, and the kernels that the compiled step calls for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.kernel_calls import KernelCall, kernel_call, lane_call, python_call
from phistar.backends.native_door import aligned_zeros
from phistar.backends.one_state import Formula
from phistar.constraints import columns as c
from phistar.model import Free, Model
from phistar.model.parts import Body
from phistar.model.submodel import submodel
from phistar.plant.ball_springs import ball_tables, has_ball_spring
from phistar.plant.long_trees import LongTrees
from phistar.plant.loop_rows import LoopRows, loop_groups
from phistar.plant.tree_columns import (
    AFTER_CALL,
    LOOP_CALL,
    LOOP_COORDINATES,
    LOOP_ENTRIES,
    LOOP_FIRST,
    LOOP_WHOLES,
    STATE_CALL,
    TREE_NQ,
    TREE_Q,
)
from phistar.plant.tree_columns import TREE_WHOLES as COLUMNS
from phistar.plant.tree_kernels import Place, TreeKernels

Part = tuple[str, slice]  # of a table, by its name


@dataclass(frozen=True, eq=False)
class AskedKernel:
    """A kernel that the step asks: its formula, whether it is compiled, the parts of tables that it reads and those it
    writes, what else it reads, where its address stands, and what of the plant it is."""

    formula: Formula
    compiled: bool
    inputs: tuple[Part, ...]
    outputs: tuple[Part, ...]
    fixed: tuple[np.ndarray, ...]
    where: tuple[str, int, int]
    part: str

    def on(self, table: Mapping[str, np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The arrays it works on."""
        inputs, outputs = ([table[name][part].reshape(-1) for name, part in x] for x in (self.inputs, self.outputs))
        return [*inputs, *self.fixed], outputs

    def in_lanes(self, own: Mapping[str, np.ndarray], lanes: int) -> KernelCall:
        """The same in lanes."""
        fixed = [aligned_zeros((len(x), lanes), float) for x in self.fixed]
        for array, x in zip(fixed, self.fixed, strict=True):
            array[...] = x[:, None]
        inputs, outputs = ([own[name][part] for name, part in x] for x in (self.inputs, self.outputs))
        return lane_call(self.formula, [*inputs, *fixed], outputs)

    def write(self, table: Mapping[str, np.ndarray], call: KernelCall) -> None:
        name, row, column = self.where
        table[name][row, [column, column + 1]] = call.address, call.given


class TreeMoves:
    """The trees of a plant and their loops, in its tables; `error` is what a function that is no kernel raised."""

    def __init__(
        self,
        model: Model,
        trees: Sequence[Sequence[int]],
        tables: dict[str, np.ndarray],
        free: int,
        rows: int,
        nodes: Collection[Place] = (),
    ) -> None:
        """`nodes` are those of bodies that bend which carry something."""
        self.tables, self.error = tables, None
        parts = [submodel(model, tree, "tree") for tree in trees]
        self.names = [model.bodies[tree[0]].name for tree in trees]
        bent = [tuple((tree.index(body), node) for body, node in sorted(nodes) if body in tree) for tree in trees]
        self.kernels = kernels = [
            TreeKernels(part.tree if part.loops else part, own) for part, own in zip(parts, bent, strict=True)
        ]
        _make_tables(tables, kernels)
        sizes = [k.model.nq for k in kernels], [len(k.places) for k in kernels]
        starts, bodies = ([0, *np.cumsum(each)] for each in sizes)
        long = [i for i, own in enumerate(kernels) if own.long]
        self.long = LongTrees(tables, [(free + i, kernels[i].model, starts[i], free + bodies[i]) for i in long])
        tables["counts"][c.LONG_TREES] = len(long)
        tables["row_wholes"][:, c.ROW_ASLEEP] = 1
        self.kept: list[KernelCall] = []
        self.asked: list[AskedKernel] = []
        self.loops: list[LoopRows] = []
        place, body = 0, free
        for number, (tree, own) in enumerate(zip(trees, kernels, strict=True)):
            self._number(number, [model.bodies[i] for i in tree], own, free, place, body)
            if not own.long:
                self._call(number, own, free, place, body)
            place, body = place + own.model.nq, body + len(own.places)
        joints = [model.joints[i] for tree in trees for i in tree]
        first_rates = [int(tables["first_rate"][tables["body_number"][joint.body]]) for joint in joints]
        tables.update(ball_tables(list(zip(joints, first_rates, strict=True))))
        tables["counts"][c.BALLS] = sum(map(has_ball_spring, joints))
        starts = tables["nodes"][free:, c.OWN_AT].tolist() if trees else []
        tables.update(_modal_tables(kernels, starts, free))
        tables["loop_wholes"][0, LOOP_FIRST] = rows
        if model.loops:
            self._close(model, rows)

    def _number(self, number: int, bodies: list[Body], own: TreeKernels, free: int, place: int, body: int) -> None:
        """Indices of a tree's coordinates, rates and springs."""
        joints = [each.joint for each in bodies]
        table, node = self.tables, free + number
        size, at = (int(x) for x in table["nodes"][node, [c.OWN, c.OWN_AT]])
        rates, places = slice(at, at + size), slice(place, place + own.model.nq)
        table["tree_wholes"][number, [TREE_Q, TREE_NQ]] = place, own.model.nq
        table["q_of"][places] = np.concatenate([each.coordinates for each in bodies])
        table["rate_of"][rates] = np.concatenate([each.rates for each in bodies])
        table["nodes"][node, [c.BODY, c.TREE]] = body, 2 if own.roots.bodies else 1
        viscous = [_spread(j.kind.damping, j.nv) for j in joints]
        if isinstance(joints[0].kind, Free):  # its rates follow from the momentum; `Session.drive` has its drag
            viscous[0] = np.zeros(joints[0].nv)
        springs = [_spread(j.kind.stiffness if j.kind.flat or has_ball_spring(j) else 0.0, j.nv) for j in joints]
        rest = [j.kind.rest if j.kind.flat else np.zeros(j.nv) for j in joints]
        flat = [np.full(j.nv, float(j.kind.flat)) for j in joints]
        table["viscous"][rates] = _with_modes(bodies, viscous, [np.diag(x.damping_matrix) for x in own.bending])
        table["elastic"][rates] = _with_modes(bodies, springs, [np.diag(x.stiffness) for x in own.bending])
        table["rest"][rates] = _with_modes(bodies, rest, [np.zeros(x.count) for x in own.bending])
        table["flat"][rates] = _with_modes(bodies, flat, [np.ones(x.count) for x in own.bending])
        table["spring_q"][rates] = np.concatenate([_coordinates(each) for each in bodies])
        table["flat_q"][rates] = place + np.concatenate([_coordinates(each) for each in own.model.bodies])
        table["root_axes"][node] = np.asarray(own.model.bodies[0].placement.rotation).reshape(-1)

    def _call(self, number: int, own: TreeKernels, free: int, place: int, body: int) -> None:
        """The kernels of a tree, on its parts of the tables."""
        table, node = self.tables, free + number
        size, at, block = (int(x) for x in table["nodes"][node, [c.SIZE, c.AT, c.BLOCK]])
        rates, places = slice(at, at + size), slice(place, place + own.model.nq)
        q, before, here = ("tree_q", places), ("before", rates), slice(node, node + 1)
        made: list[Part] = [("inertias", slice(block, block + size * size)), ("generalized", rates), ("screws", rates)]
        made += [("pose", slice(body, body + len(own.places))), ("momenta", here), ("weight", here)]
        if own.nodes:
            first = int(table["first_screw"][body + own.places.index(own.nodes[0])])
            made.append(("screws", slice(first, first + own.node_rates)))
        given: list[Part] = [q, ("v", rates), ("owed", here), ("numbers", slice(c.STEP, c.STEP + 1))]
        fixed, where = own.root_inertia if own.is_compiled else (), ("tree_wholes", number)
        part = f"the tree of '{self.names[number]}'"
        self._bind(
            AskedKernel(own.at_state, own.is_compiled, (q, before), tuple(made), fixed, (*where, STATE_CALL), part)
        )
        moved = ("tree_next", places), before
        self._bind(AskedKernel(own.after, own.is_compiled, tuple(given), moved, fixed, (*where, AFTER_CALL), part))

    def _close(self, model: Model, rows: int) -> None:
        """The kernels of the loops, one for every group of them that holds the same trees together."""
        table, groups = self.tables, loop_groups(model)
        table["loop_wholes"] = np.zeros((len(groups), LOOP_WHOLES), np.int64)
        table["loop_wholes"][0, LOOP_FIRST], table["counts"][c.LOOP_GROUPS] = rows, len(groups)
        self.loops = loops = [LoopRows(model, group, table, rows) for group in groups]
        sizes = [(each.model.nq, len(each.rows), len(each.rows) * each.model.nv) for each in loops]
        q, row, entry = (np.cumsum([0, *size]).tolist() for size in zip(*sizes, strict=True))
        table["loop_q"], table["loop_q_of"] = np.zeros(q[-1]), np.concatenate([each.q_index for each in loops])
        table["closed"], table["closed_jacobian"], table["closed_wrench"] = (
            np.zeros(size) for size in (row[-1], entry[-1] + 1, (row[-1], 6))
        )
        table["closed_of"] = np.argsort(np.concatenate([group.rows for group in groups]))
        at = 0
        for number, each in enumerate(loops):
            at = each.number(model, at, entry[number])
            own = slice(row[number], row[number + 1])
            made: list[Part] = [("closed", own), ("closed_jacobian", slice(entry[number], entry[number + 1]))]
            given, where = ("loop_q", slice(q[number], q[number + 1])), ("loop_wholes", number, LOOP_CALL)
            made.append(("closed_wrench", own))
            named = " and ".join(dict.fromkeys(loop.name for loop in each.model.loops))
            self._bind(
                AskedKernel(each.at_state, each.is_compiled, (given,), tuple(made), (), where, f"the loops {named}")
            )
        table["loop_wholes"][0, [LOOP_COORDINATES, LOOP_ENTRIES]] = q[-1], at

    def _bind(self, kernel: AskedKernel) -> None:
        inputs, outputs = kernel.on(self.tables)
        if kernel.compiled:
            call = kernel_call(kernel.formula.kernel, inputs, outputs)
        else:
            call = python_call(kernel.formula.function, inputs, outputs, self.keep_error)
        self.kept.append(call)
        self.asked.append(kernel)
        kernel.write(self.tables, call)

    @property
    def uncompiled_parts(self) -> tuple[str, ...]:
        """The parts of the plant for which every step calls Python."""
        return tuple(dict.fromkeys(kernel.part for kernel in self.asked if not kernel.compiled))

    @property
    def long_names(self) -> tuple[str, ...]:
        """Trees that run link by link, by their first bodies."""
        return tuple(name for name, own in zip(self.names, self.kernels, strict=True) if own.long)

    def keep_error(self, error: Exception) -> None:
        """Keep an error for the caller of the step, which is ended by it."""
        self.error = error
        self.tables["counts"][c.FULL] = 1


def _make_tables(table: dict[str, np.ndarray], kernels: Sequence[TreeKernels]) -> None:
    places = max(sum(own.model.nq for own in kernels), 1)
    rates, nodes = len(table["v"]), len(table["nodes"])
    for name, shape in (("tree_q", places), ("tree_next", places), ("tree_saved", places), ("saved_rates", rates)):
        table[name] = np.zeros(shape)
    for name in ("momenta", "weight", "owed"):
        table[name] = np.zeros((nodes, 6))
    for name in ("rest", "deflection", "momentum", "flat"):
        table[name] = np.zeros(rates)
    table["flat_q"], table["root_axes"] = np.zeros(rates, np.int64), np.zeros((nodes, 9))
    table["q_of"], table["spring_q"] = np.zeros(places, np.int64), np.zeros(rates, np.int64)
    table["tree_wholes"] = np.zeros((max(len(kernels), 1), COLUMNS), np.int64)
    table["loop_wholes"], table["loop_q_of"] = np.zeros((1, LOOP_WHOLES), np.int64), np.zeros(1, np.int64)
    table["jacobian_from"] = np.zeros(len(table["row_jacobian"]), np.int64)
    table["loop_q"], table["closed"], table["closed_jacobian"] = np.zeros(1), np.zeros(1), np.zeros(1)
    table["closed_wrench"], table["closed_of"] = np.zeros((1, 6)), np.zeros(1, np.int64)
    table["softness"] = np.zeros(len(table["rows"]))


def _spread(value: object, count: int) -> np.ndarray:
    return np.broadcast_to(np.asarray(value, dtype=float), (count,)).copy()


def _with_modes(bodies: Sequence[Body], joints: Sequence[Any], modes: Sequence[np.ndarray]) -> np.ndarray:
    """Values of a tree's rates: its joints', and behind those of a body that bends its modes'."""
    own = iter(modes)
    parts = [(joint, next(own) if body.modes else np.zeros(0)) for body, joint in zip(bodies, joints, strict=True)]
    return np.concatenate([np.asarray(x, dtype=float) for part in parts for x in part])


def _coordinates(body: Body) -> np.ndarray:
    """The coordinate of q behind every rate; of a curved joint, which has no springs here, its first."""
    joint, modes = body.joint, body.mode_q_slice
    start, count = joint.q_slice.start, joint.nv
    own = np.arange(start, start + count) if joint.kind.flat else np.full(count, start)
    return np.concatenate([own, np.arange(modes.start, modes.stop)])


def _modal_tables(kernels: Sequence[TreeKernels], starts: Sequence[int], free: int) -> dict[str, np.ndarray]:
    """Off-diagonal stiffness and damping of bodies that bend, rate by rate."""
    wholes, numbers, firsts = [], [], [0] * (free + 1)
    for own, start in zip(kernels, starts, strict=True):
        for body in own.model.bodies:
            if body.flexible is None:
                continue
            both = np.stack([body.flexible.stiffness, body.flexible.damping_matrix], axis=-1)
            for i, j in np.argwhere(both.any(axis=-1) & ~np.eye(body.modes, dtype=bool)).tolist():
                wholes.append((start + body.mode_slice.start + i, start + body.mode_slice.start + j))
                numbers.append(both[i, j])
        firsts.append(len(wholes))
    made = {
        "modal_wholes": np.array(wholes, np.int64).reshape(-1, 2),
        "modal_numbers": np.array(numbers).reshape(-1, 2),
    }
    made = {name: x if len(x) else np.zeros((1, 2), x.dtype) for name, x in made.items()}
    return made | {"modal_start": np.array(firsts, np.int64)}
