"""Closures, couplings and welds as rows of the step: nearly rigid equalities, g + hġ → 0, between at most two trees."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.choice import is_tree_kernel
from phistar.backends.one_state import Formula
from phistar.constraints import columns as c
from phistar.dynamics import forward_kinematics, jacobian
from phistar.loops.closure import closures, loop_frames, row_count
from phistar.model import Model
from phistar.model.parts import CoupledJoints
from phistar.model.submodel import submodel
from phistar.spatial import cross
from phistar.spatial.value import digest


class ClosedAt(NamedTuple):
    """m equations at q: g (m,), its Jacobian QJ + C (m·nv,), and what a unit of each does to the tree of frame_a,
    [moment; force] about the world's origin (6m,); to that of frame_b it does the opposite."""

    residual: Any
    jacobian: Any
    wrench: Any


class LoopGroup(NamedTuple):
    """Loops that hold the same trees together: the bodies that they hang on, and their rows among all closures'."""

    bodies: list[int]
    rows: np.ndarray


def loop_groups(model: Model) -> list[LoopGroup]:
    """The loops of a model, by the trees that they hold together."""
    roots = list(range(len(model.bodies)))  # of bodies; trees that loops join share one
    for body, parent in enumerate(model.parents):
        roots[body] = roots[parent] if parent >= 0 else body
    ends = [[model.body_indices[name] for name in _ends(model, loop) if name is not None] for loop in model.loops]
    for bodies in ends:
        joined = {roots[body] for body in bodies}
        roots = [min(joined) if root in joined else root for root in roots]
    starts = np.cumsum([0, *(loop.rows for loop in model.loops)])
    made = []
    for root in dict.fromkeys(roots[bodies[0]] for bodies in ends):
        own = [number for number, bodies in enumerate(ends) if roots[bodies[0]] == root]
        hung = {up for number in own for body in ends[number] for up in _carriers(model, body)}
        made.append(LoopGroup(sorted(hung), np.concatenate([np.arange(starts[i], starts[i + 1]) for i in own])))
    return made


def _carriers(model: Model, body: int) -> list[int]:
    """A body and all that it hangs on."""
    found = []
    while body >= 0:
        found.append(body)
        body = model.parents[body]
    return found


class LoopRows:
    """The rows of loops that hold the same trees together, a `LoopGroup`: of the model of all that they hang on."""

    def __init__(self, model: Model, group: LoopGroup, tables: dict[str, np.ndarray], first: int) -> None:
        """`first` is the row of the table with which closures begin."""
        self.model, self.tables, self.rows = submodel(model, group.bodies, "loops"), tables, first + group.rows
        own, none = [model.bodies[i] for i in group.bodies], np.zeros(0, int)
        self.q_index = np.concatenate([none, *(np.array(body.coordinates, int) for body in own)])
        self.v_index = np.concatenate([none, *(np.array(body.rates, int) for body in own)])
        self._column = {rate: number for number, rate in enumerate(self.v_index.tolist())}

    def number(self, model: Model, at: int, made: int) -> int:
        """Nodes of every row, and where its Jacobians stand, from `at` on, of entries that are made from `made` on;
        where the next group's begin. The last entry of all is 0, for rates that no loop hangs on."""
        table, nv, where = self.tables, self.model.nv, iter(enumerate(self.rows.tolist()))
        none = len(table["closed_jacobian"]) - 1
        for loop in self.model.loops:
            a, b = (self._node(model, end) for end in _ends(self.model, loop))
            nodes = [a] if b in (a, -1) else [b] if a < 0 else [a, b]
            for _ in range(loop.rows):
                number, row = next(where)
                whole = table["row_wholes"][row]
                table["rows"][row, c.SIGN] = 0.0 if a == b else 1.0  # inside a tree forces cancel
                whole[[c.LAW, c.ROW_NODE_A, c.ROW_NODE_B, c.ROW_RATE]] = c.EQUAL_LAW, -1, -1, -1
                for side, node in enumerate(nodes):
                    start, size = (int(x) for x in table["nodes"][node, [c.OWN_AT, c.OWN]])
                    whole[c.ROW_NODE_A + side], whole[c.ROW_JAC_A + side] = node, at
                    for entry, rate in enumerate(table["rate_of"][start : start + size].tolist()):
                        own = self._column.get(rate)
                        table["jacobian_from"][at + entry] = none if own is None else made + number * nv + own
                    at += size
        return at

    def _node(self, model: Model, body: str | None) -> int:
        if body is None:
            return -1
        number = self.tables["body_number"][model.body_indices[body]]
        return int(self.tables["tree_of"][number])

    def _formulas(self, q: Any) -> ClosedAt:
        model = self.model.tree
        frames = loop_frames(self.model)
        poses = {frame: forward_kinematics(model, q, frame) for frame in frames}
        found = closures(self.model, q, poses)
        whole, wrench = np.asarray(found.on_rates), np.zeros((len(found.residual), 6))
        for number, frame in enumerate(frames):
            own = found.on_frames[:, 6 * number : 6 * number + 6]
            whole = whole + np.matmul(own, jacobian(model, q, frame))
        first = 0
        parts = []
        for loop in self.model.loops:
            rows = slice(first, first + loop.rows)
            first += loop.rows
            if isinstance(loop, CoupledJoints):
                parts.append(wrench[rows])
                continue
            end = loop.frame_a if loop.frame_a in frames else loop.frame_b
            number = frames.index(end)
            own, place = found.on_frames[rows, 6 * number : 6 * number + 6], poses[end][:3, 3]
            parts += [np.concatenate([x[:3] + cross(place, x[3:]), x[3:]])[None] for x in own]
        return ClosedAt(found.residual, whole.reshape(-1), np.concatenate(parts).reshape(-1))

    @cached_property
    def is_compiled(self) -> bool:
        """Whether `at_state` is a kernel; a function of arrays otherwise."""
        return is_tree_kernel(self.model)

    @cached_property
    def at_state(self) -> Formula:
        """q → ClosedAt."""
        model = self.model
        rows = row_count(model)
        key = digest([(b.parent, b.joint, b.placement) for b in model.bodies], model.frame_list, model.loops)
        shapes = [(rows,), (rows * model.nv,), (6 * rows,)]
        return Formula("closures at a state", key, [model.nq], shapes, self._formulas)


def _ends(model: Model, loop: Any) -> list[str | None]:
    """The bodies that a loop is between; the world is None."""
    if isinstance(loop, CoupledJoints):
        joints = [loop.joint_a, loop.joint_b or loop.joint_a]
        return [model.bodies[model.joint_indices[name]].name for name in joints]
    numbers = [model.frame(end).body for end in (loop.frame_a, loop.frame_b)]
    return [None if number < 0 else model.bodies[number].name for number in numbers]


def loop_bodies(model: Model) -> list[tuple[int, int]]:
    """Bodies that each loop row's wrench acts on and reacts on; −2 where there is none."""
    found: list[tuple[int, int]] = []
    for loop in model.loops:
        if isinstance(loop, CoupledJoints):
            found += [(-2, -2)] * loop.rows
            continue
        a, b = (model.frame(end).body for end in (loop.frame_a, loop.frame_b))
        found += [(a, b) if a >= 0 else (b, -2)] * loop.rows
    return found


def looped_bodies(model: Model) -> set[int]:
    """Bodies that loops are on."""
    named = {end for loop in model.loops for end in _ends(model, loop)}
    return {model.body_indices[name] for name in named if name is not None}
