"""Closed mechanisms along their trees as programs of calls: the steps of `closing_steps.py` in the order of the links.

Links that are built alike, and at which alike loops are open, share their code (`block_calls.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from phistar.backends.links.concise import without_roundoff
from phistar.backends.rolled.block_calls import (
    Block,
    CallProgram,
    CallRecorder,
    Cell,
    entries_of,
    known_block,
    recorded_calls,
)
from phistar.loops import closing_steps as steps
from phistar.loops.closing_kinds import DIRECTIONS, joint_key, kind_about_z, turn_to_axis, vector_rows
from phistar.loops.closing_layout import ClosingLayout, closing_layout
from phistar.loops.closing_steps import ANYWHERE, CutRows, Joining
from phistar.loops.closure import linear_rows, loop_slices, row_count
from phistar.loops.equations import reach
from phistar.model import Model
from phistar.model.parts import CoupledJoints, Loop

MOTION, FORCES, CORRECTION, ROWS = "motion", "forces", "correction", "rows"
"""Programs along the tree: θ̈ with rank and doubt; the forces that close loops, with them; g and ġ, the responses to
both, and doubt; g and A."""
ARGUMENTS = {MOTION: 3, FORCES: 3, CORRECTION: 2, ROWS: 1}  # of q, v and T
AXIS = ("axis",)


def closing_program(model: Model, name: str, most: int | None = None) -> CallProgram:
    """Record one of the programs; TooLong where its kinds have more than `most` instructions."""
    return _TreeProgram(without_roundoff(model), name, CallRecorder(most)).build()


class _TreeProgram:
    """The blocks of a program as it is recorded."""

    def __init__(self, model: Model, name: str, record: CallRecorder) -> None:
        self.model, self.name, self.record = model, name, record
        self.layout, self.far = closing_layout(model), reach(model) ** 2
        self.kinds = [(kind_about_z(x.kind, AXIS), joint_key(x.kind, AXIS)) for x in model.joints]
        self.turns = [turn_to_axis(x.kind, AXIS) for x in model.joints] + [np.eye(3)]
        self.q, self.v, self.tau = ([record.argument(n) for n in sizes] for sizes in self._sizes())
        self.world = known_block(np.concatenate([x.reshape(-1) for x in ANYWHERE]))
        self.placed, self.asked = list[Block](), list[list[Block]]()

    @property
    def moving(self) -> bool:
        return self.name in (MOTION, FORCES)

    @property
    def columns(self) -> int:
        return 1 if self.moving else 2

    def build(self) -> CallProgram:
        self._place()
        for loop in self.model.loops:
            self.asked.append(
                self._coupling_blocks(loop) if isinstance(loop, CoupledJoints) else self._cut_joint_blocks(loop)
            )
        outputs = self._rows() if self.name == ROWS else self._solve()
        return recorded_calls(self.record, [self.q, self.v, self.tau][: ARGUMENTS[self.name]], outputs)

    def _sizes(self) -> list[list[int]]:
        joints = self.model.joints
        return [[x.nq for x in joints], [x.nv for x in joints], [x.nv for x in joints]]

    def _above(self, k: int, blocks: Sequence[Block]) -> Block:
        return blocks[self.model.parents[k]] if self.model.parents[k] >= 0 else self.world

    def _place(self) -> None:
        """Every link in the world, parents first."""
        for k, body in enumerate(self.model.bodies):
            joint, key = self.kinds[k]
            above = self.turns[body.parent].T
            turn, shift = _clean_constants(
                [above @ body.placement.rotation @ self.turns[k], above @ body.placement.translation]
            )
            v = self.v[k] if self.name != ROWS else known_block(np.zeros(joint.nv))
            blocks = [self._above(k, self.placed), self.q[k], v]
            self.placed += self.record.call(("place", key), partial(steps.link_motion, joint), blocks, [turn], [shift])

    def _coupling_blocks(self, loop: Any) -> list[Block]:
        """The slope of a coupling, and its right sides."""
        driven = self.model.joint(loop.joint_a).body
        driver = driven if loop.joint_b is None else self.model.joint(loop.joint_b).body
        blocks = [x[k] for k in (driven, driver) for x in (self.q, self.v)]
        alone = loop.joint_b is None
        function = partial(steps.coupling_rows, alone, self.moving)
        return self.record.call(("couple", alone, self.moving), function, blocks, (), [loop.joint.coefficients])

    def _cut_joint_blocks(self, loop: Loop) -> list[Block]:
        """C of a cut joint at both links, its right sides, and Q of frame_a."""
        turn = turn_to_axis(loop.joint, DIRECTIONS)
        turns, offsets, links = [], [], []
        for name in (loop.frame_a, loop.frame_b):
            body, pose = self.model.frame(name).body, self.model.frame(name).placement
            back = self.turns[body].T
            turns.append(back @ pose.rotation @ turn)
            offsets.append(back @ pose.translation)
            links.append(self.placed[body] if body >= 0 else self.world)
        vector = vector_rows(loop.joint)
        kind = CutRows(kind_about_z(loop.joint, DIRECTIONS), loop.rows, vector)
        turns.append(turn if vector is not None else np.eye(3))
        offsets.append([getattr(loop.joint, "length", 1.0) - 1.0])
        key = "cut", joint_key(loop.joint, DIRECTIONS), loop.rows, self.moving
        return self.record.call(
            key, partial(steps.cut, kind, self.moving), links, _clean_constants(turns), _clean_constants(offsets)
        )

    def _joining(self, k: int, children: Sequence[int]) -> Joining:
        """Grouping of the loops of link k, or of the world."""
        layout, model = self.layout, self.model
        loops = layout.opened[k]
        if k == len(model.bodies):
            loops = tuple(i for i in loops if any(i in layout.opened[c] for c in children))
        at = {loop: position for position, loop in enumerate(loops)}
        handed = tuple(tuple(at[i] for i in layout.opened[c] if layout.closes[i] != c) for c in children)
        cuts = [i for i in loops if isinstance(model.loops[i], Loop)]
        ends = tuple(at[i] for i in cuts for place in layout.places[i] if place == k)
        coupled = [i for i in loops if isinstance(model.loops[i], CoupledJoints) and k in layout.places[i]]
        closing = sum(layout.closes[i] == k for i in loops)
        rows = tuple(model.loops[i].rows for i in loops)
        return Joining(rows, closing, handed, ends, tuple(at[i] for i in coupled), self.columns)

    def _ends(self, k: int) -> list[Block]:
        """C of the frames on link k, in the order of `Joining.ends`."""
        layout, loops = self.layout, self.model.loops
        cuts = [i for i in layout.opened[k] if isinstance(loops[i], Loop)]
        return [self.asked[i][side] for i in cuts for side, place in enumerate(layout.places[i]) if place == k]

    def _slopes(self, k: int) -> list[Block]:
        """Slopes of the couplings of link k's joint: 1 of the driven one."""
        found = []
        for i in self.layout.opened[k]:
            loop = self.model.loops[i]
            if isinstance(loop, CoupledJoints) and k in self.layout.places[i]:
                found.append(known_block([1.0]) if self.model.joint(loop.joint_a).body == k else self.asked[i][0])
        return found

    def _side(self, loop: int) -> Block:
        return self.asked[loop][1 if isinstance(self.model.loops[loop], CoupledJoints) else 2]

    def _units(self, loops: Sequence[int]) -> np.ndarray:
        """Square of the unit of each row that is open at a link: lengths count as angles seen from the base."""
        unit = list[float]()
        for i in loops:
            loop = self.model.loops[i]
            lengths = linear_rows(loop) if isinstance(loop, Loop) else 0
            unit += [1.0] * (loop.rows - lengths) + [self.far] * lengths
        return np.array(unit)

    def _constants(self, k: int) -> list[np.ndarray]:
        inertia, turn = self.model.bodies[k].inertia, self.turns[k]
        moment, tensor = turn.T @ (inertia.mass * inertia.com), turn.T @ inertia.about_origin @ turn
        parts = [np.array([inertia.mass]), moment, tensor, np.asarray(self.model.joints[k].kind.armature_diagonal)]
        return _clean_constants(parts)

    def _solve(self) -> list[tuple[Cell | float, ...]]:
        """The way inward and the way outward."""
        n, layout = len(self.model.bodies), self.layout
        sent, kept, hows = list[Any]([None] * n), list[Any]([None] * n), list[Any]([None] * n)
        for k in layout.order:
            joint, key = self.kinds[k]
            how = hows[k] = self._joining(k, self.model.children[k])
            sides = [self._side(i) for i in layout.opened[k][: how.closing]]
            tau = self.tau[k] if self.moving else known_block(np.zeros(joint.nv))
            blocks = [self.placed[k], self._above(k, self.placed), self.q[k], tau]
            blocks += [sent[c] for c in self.model.children[k]] + self._ends(k) + sides + self._slopes(k)
            function = partial(steps.inward, how, joint, self.moving)
            constants = [self._units(layout.opened[k])], self._constants(k)
            sent[k], kept[k] = self.record.call(("inward", key, how, self.moving), function, blocks, *constants)
        counts, forces = self._at_world(sent)
        rates, alphas = list[Any]([None] * n), list[Any]([None] * n)
        for k in reversed(layout.order):
            joint, key = self.kinds[k]
            over = self._above(k, alphas) if self.model.parents[k] >= 0 else self._lift()
            known = [forces[i] for i in layout.opened[k][hows[k].closing :]]
            blocks = [self.placed[k], self._above(k, self.placed), over, self.q[k], kept[k], *known]
            function = partial(steps.outward, hows[k], joint, self.moving)
            made = self.record.call(("outward", key, hows[k], self.moving), function, blocks)
            rates[k], alphas[k] = made[:2]
            forces |= dict(zip(layout.opened[k], made[2:], strict=False))
        return self._results(counts, forces, rates)

    def _lift(self) -> Block:
        gravity = np.concatenate([np.zeros(3), -np.asarray(self.model.gravity)]) if self.moving else np.zeros(12)
        return known_block(gravity)

    def _at_world(self, sent: list[Block]) -> tuple[Block, dict[int, Block]]:
        """Rank and doubt in all, and λ of what closes at the world, for links that loops tie together at a time."""
        layout, n = self.layout, len(self.model.bodies)
        counts, forces = [], {}
        for roots in _groups_on_world(layout, [k for k in range(n) if self.model.parents[k] < 0], n):
            how = self._joining(n, roots)
            loops = [i for i in layout.opened[n] if any(i in layout.opened[c] for c in roots)]
            ends = [self.asked[i][side] for i in loops for side, at in enumerate(layout.places[i]) if at == n]
            blocks = [self._lift(), *(sent[c] for c in roots), *ends, *(self._side(i) for i in loops)]
            function = partial(steps.at_world, how)
            made = self.record.call(("world", how), function, blocks, [self._units(loops)])
            counts.append(made[0])
            forces |= dict(zip(loops, made[1:], strict=True))
        total = self.record.call("added", steps.add_rows, counts)[0]
        return total, forces

    def _results(self, counts: Block, forces: dict[int, Block], rates: list[Block]) -> list[tuple[Cell | float, ...]]:
        rank, doubt = ((x,) for x in entries_of([counts]))
        if self.name == MOTION:
            return [entries_of(rates), rank, doubt]
        if self.name == FORCES:
            pulls = []
            for i, loop in enumerate(self.model.loops):
                on = known_block(np.pad([1.0], (0, 5))) if isinstance(loop, CoupledJoints) else self.asked[i][3]
                made = self.record.call("pull", steps.closure_force, [on, forces[i]])
                pulls += entries_of(made)[: 1 if isinstance(loop, CoupledJoints) else 6]
            return [tuple(pulls), rank, doubt]
        sides = entries_of([self._side(i) for i in range(len(self.model.loops))])
        moved = entries_of(rates)
        return [sides[::2], sides[1::2], moved[::2], moved[1::2], doubt]

    def _rows(self) -> list[tuple[Cell | float, ...]]:
        """g, and A row by row."""
        n, m, layout = len(self.model.bodies), row_count(self.model), self.layout
        whole = np.empty((m, self.model.nv), dtype=object)
        whole[...] = 0.0
        sent, where = list[Any]([None] * n), list(loop_slices(self.model).values())
        for k in layout.order:
            joint, key = self.kinds[k]
            how = self._joining(k, self.model.children[k])
            blocks = [
                self.placed[k],
                self._above(k, self.placed),
                self.q[k],
                *(sent[c] for c in self.model.children[k]),
            ]
            blocks += self._ends(k) + self._slopes(k)
            felt, sent[k] = self.record.call(("felt", key, how), partial(steps.felt_rows, how, joint), blocks)
            entries, rates = iter(entries_of([felt])), self.model.joints[k].v_slice
            for i in layout.opened[k][how.closing :]:
                for row in range(where[i].start, where[i].stop):
                    for rate in range(self.model.nv)[rates]:
                        whole[row, rate] = next(entries)
        sides = entries_of([self._side(i) for i in range(len(self.model.loops))])
        return [sides[::2], tuple(whole.reshape(-1))]


def _clean_constants(parts: Sequence[Any]) -> list[np.ndarray]:
    """Constants that turns about axes have left a rounding away from 0 or ±1."""
    arrays = [np.asarray(x, dtype=float) for x in parts]
    return [np.where(np.abs(x - np.round(x)) < 4e-16, np.round(x), x) + 0.0 for x in arrays]


def _groups_on_world(layout: ClosingLayout, roots: list[int], world: int) -> list[list[int]]:
    """Links on the world, together where a loop that closes there is open at both."""
    found: list[tuple[set[int], list[int]]] = []
    for k in roots:
        loops, own = {i for i in layout.opened[k] if layout.closes[i] == world}, [k]
        joined = [x for x in found if x[0] & loops]
        for x in joined:
            loops, own = loops | x[0], x[1] + own
            found.remove(x)
        found.append((loops, own))
    return [own for _, own in found]
