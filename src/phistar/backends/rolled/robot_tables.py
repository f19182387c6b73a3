"""The data of a robot for a rolled kernel: where its links, entries and frames are in memory, what they weigh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.links.link_frames import SCREW, LinkFrames
from phistar.backends.links.link_sizes import link_parents
from phistar.backends.links.values import spin_of
from phistar.backends.rolled.link_memory import Rooms
from phistar.backends.rolled.plan import Plan
from phistar.backends.rolled.rolled_links import RolledLinks
from phistar.backends.rolled.steps import (
    ARMATURE,
    BODY,
    CONSTANTS,
    INERTIA,
    PITCH,
    PITCH_MORE,
    PLACING,
    PLACING_MORE,
    SPIN,
)
from phistar.errors import ModelError
from phistar.model import Helical, Model

Table = list[int]


@dataclass(frozen=True)
class Given:
    """The places of the entries of each array and how many columns it has; places of constants and what stands there;
    the vectors of memory that are wanted beyond those of the links; whether steps ask how the bodies' own axes lie, and
    what motors add, be it zero."""

    arrays: list[Any]
    columns: Table
    initial: Table
    numbers: list[float]
    beyond: int = 0
    in_body_axes: bool = False
    motors: bool = False


def tables(links: RolledLinks, plan: Plan, memory: Rooms, names: Any, lanes: int) -> list[Any]:
    """In the order of `rolled_loop.TABLES`, then the places of the entries of q, the inputs and the outputs; `names`
    are those of the task frames."""
    model, kinds = links.model, links.numbers
    areas = Areas(model, kinds, memory, names if links.frames is not None else ())
    arrays = _arrays(links, areas.own, plan, memory)
    initial = initial_numbers(model, kinds, areas.own, plan, memory)
    given = Given(*arrays, *initial, in_body_axes=plan.in_body_axes, motors=plan.motors)
    if links.frames is not None:
        made = link_tables(model, links.frames, kinds, areas, given, names, lanes)
    else:
        made = built_tables(links, areas, given, lanes)
    if not plan.operand:
        return made
    entries = np.array(operand_places(model, kinds, areas.own, plan, memory), dtype=np.int64)
    return [*made, (lanes * entries).astype(np.uint32)]


def operand_places(model: Model, kinds: list[int], own: np.ndarray, plan: Plan, memory: Rooms) -> Any:
    """Places of the operand, which is each unit vector in turn."""
    space = dict(plan.program.inputs)[plan.operand]
    if space in plan.flat_rows:
        return range(memory.flat[plan.operand], memory.flat[plan.operand] + plan.flat_rows[space])
    return over_links(kinds, own, memory, plan.operand, plan.parts(plan.operand, model))


def link_tables(
    model: Model, frames: LinkFrames, kinds: list[int], areas: Areas, given: Given, names: Any, lanes: int
) -> list[Any]:
    """The same for rigid links in given frames and arrays whose places are known."""
    points = [_point(model, frames, name) for name in names]
    return _tables(model, _constants(model, frames, given), kinds, areas, given, points, lanes)


def built_tables(links: RolledLinks, areas: Areas, given: Given, lanes: int) -> list[Any]:
    """The same for links told apart by how they are built."""
    return _tables(links.model, links.own_constants(), links.numbers, areas, given, [], lanes)


def _tables(
    model: Model,
    own: tuple[np.ndarray, np.ndarray],
    kinds: list[int],
    areas: Areas,
    given: Given,
    points: list[np.ndarray],
    lanes: int,
) -> list[Any]:
    constants, rows = own
    starts, more = _extras(areas.children, areas.sent)
    places = [np.array(kinds), *(lanes * x for x in areas.of_links()), starts[:-1], starts[1:], rows]
    initial, sizes = given.initial, (len(x) for x in given.arrays)
    counts = [len(kinds), areas.room + given.beyond, areas.pass_start, len(initial), *sizes, *given.columns]
    if areas.room * lanes >= 1 << 32:
        raise ModelError(f"{model.name} has {len(kinds)} links, more than one call can keep in 32 GB of memory.")

    def at(numbers: Any) -> np.ndarray:
        return (lanes * np.array(numbers, dtype=np.int64)).astype(np.uint32)

    return [
        np.array(counts, dtype=np.int64),
        np.stack(places, axis=-1).astype(np.uint32),
        constants,
        at(areas.slot_start + areas.memory.slot * np.array(more, dtype=np.int64)),
        np.array(points, dtype=float).reshape(-1, 12),
        at(areas.of_frames()),
        at(initial),
        np.array(given.numbers, dtype=float),
        *(at(x) for x in given.arrays),
    ]


class Areas:
    """Where the parts of the memory begin, counted in vectors. Of the frames' part, slot 0 is for links without frame
    and slot 1 for frames on the world."""

    def __init__(self, model: Model, kinds: list[int], memory: Rooms, names: Any) -> None:
        self.memory, self.bodies = memory, [model.frame(name).body for name in names]
        self.by_body = {b: 2 + number for number, b in enumerate(sorted({b for b in self.bodies if b >= 0}))}
        self.frame_start = memory.flat_size
        self.slot_start = self.frame_start + (2 + len(self.by_body)) * memory.frame
        parents = link_parents(model)
        self.children: list[list[int]] = [[] for _ in parents]
        for k, parent in enumerate(parents):
            if parent >= 0:
                self.children[parent].append(k)
        self.sent, slots = _sending(self.children)
        self.pass_start = self.slot_start + slots * memory.slot
        self.passing, passes = _passing(parents, self.children)
        own_start = self.pass_start + passes * memory.passing
        sizes = np.array([len(own) for own in memory.own])[kinds]
        self.own = own_start + np.concatenate([[0], np.cumsum(sizes)])
        self.parents = np.array([p if p >= 0 else k for k, p in enumerate(parents)])
        self.room = int(self.own[-1]) + 1
        self.received = np.array([self.sent[c[0]] if c else 0 for c in self.children])

    def of_links(self) -> list[np.ndarray]:
        """Columns own, parent, passing, passed, children, siblings, frame."""
        passing, slot = self.passing * self.memory.passing, self.memory.slot
        frame = np.array([self.by_body.get(k, 0) for k in range(len(self.parents))])
        return [
            self.own[:-1],
            self.own[self.parents],
            self.pass_start + passing,
            self.pass_start + passing[self.parents],
            self.slot_start + self.received * slot,
            self.slot_start + self.sent * slot,
            self.frame_start + frame * self.memory.frame,
        ]

    def of_frames(self) -> Table:
        return [self.frame_start + self.by_body.get(b, 1) * self.memory.frame for b in self.bodies]


def _sending(children: list[list[int]]) -> tuple[np.ndarray, int]:
    """Slot that each link sends to; slot 0 stays zero. A slot is freed once the parent has read it."""
    n, free, count = len(children), [], 1
    sent = np.zeros(n, dtype=np.int64)
    for k in range(n - 1, -1, -1):
        if free:
            sent[k] = free.pop()
        else:
            sent[k], count = count, count + 1
        free += [int(sent[c]) for c in children[k]]
    return sent, count


def _extras(children: list[list[int]], sent: np.ndarray) -> tuple[np.ndarray, Table]:
    """The slots of all children but the first, link after link."""
    counts, found = [0], []
    for own in children:
        found += [int(sent[c]) for c in own[1:]]
        counts.append(len(found))
    return np.array(counts), found


def _passing(parents: Sequence[int], children: list[list[int]]) -> tuple[np.ndarray, int]:
    """Slot that each link passes on in; freed after its last child."""
    n, free, count = len(children), [], 0
    slots = np.zeros(n, dtype=np.int64)
    last = [max(own, default=-1) for own in children]
    for k in range(n):
        if free:
            slots[k] = free.pop()
        else:
            slots[k], count = count, count + 1
        parent = parents[k]
        if parent >= 0 and last[parent] == k:
            free.append(int(slots[parent]))
        if last[k] < 0:
            free.append(int(slots[k]))
    return slots, count


def _constants(model: Model, frames: LinkFrames, given: Given) -> tuple[np.ndarray, np.ndarray]:
    """The constants of all links, one after the other, and where each link's begin: a screw is short where no motor
    is asked for."""
    n = len(model.bodies)
    rows = np.zeros((n, CONSTANTS))
    screw = np.array([role == SCREW for role in frames.roles])
    general = np.concatenate([frames.rotation.reshape(n, 9), frames.offset], axis=-1)
    rows[:, PLACING : PLACING + 6] = general[:, :6]
    rows[:, PLACING_MORE : PLACING_MORE + 6] = general[:, 6:]
    rows[screw, PLACING : PLACING + 5] = frames.screws[screw]
    rows[:, INERTIA : INERTIA + 10] = frames.inertia
    for k, joint in enumerate(model.joints):
        kind = joint.kind
        if isinstance(kind, Helical):
            rows[k, PITCH if screw[k] else PITCH_MORE] = kind.pitch
        rows[k, ARMATURE : ARMATURE + kind.nv] = kind.armature_diagonal
        if kind.gyroscopic:
            rows[k, SPIN : SPIN + kind.nv] = spin_of(kind)
    long = ~screw | given.motors | np.any(rows[:, ARMATURE:BODY])
    rows[:, BODY : BODY + 9] = frames.old_rotation.reshape(n, 9)
    rows[:, BODY + 9 : BODY + 12] = frames.old_offset
    sizes = np.where(long, BODY, PLACING_MORE) if not given.in_body_axes else np.full(n, CONSTANTS)
    kept = np.arange(CONSTANTS) < sizes[:, None]
    return rows[kept], np.concatenate([[0], np.cumsum(sizes)])[:-1]


def _point(model: Model, frames: LinkFrames, name: str) -> np.ndarray:
    """The frame's origin and axes as its link has them; on the world, whose link is never placed, as they are."""
    frame = model.frame(name)
    place = frame.placement
    if frame.body < 0:
        return np.concatenate([np.zeros(3), place.rotation.reshape(-1)])
    axes = frames.old_rotation[frame.body].T @ place.rotation
    return np.concatenate([frames.point(frame.body, place.translation), axes.reshape(-1)])


def _arrays(links: RolledLinks, own: np.ndarray, plan: Plan, memory: Rooms) -> tuple[list[Any], Table]:
    """Place of each entry of q, the inputs and the outputs, and the columns of each."""
    program, model, kinds = plan.program, links.model, links.numbers
    arrays: list[Any] = [coordinate_places(links, own, memory)]
    columns = [model.nq]
    matrices = {program.result_names[public] for public in program.matrices}  # of one column too

    def place(name: str, space: str) -> Any:
        if space in plan.flat_rows:
            return range(memory.flat[name], memory.flat[name] + plan.flat_rows[space] * plan.columns(name))
        return over_links(kinds, own, memory, name, plan.parts(name, model))

    for name, space in program.inputs:
        if name not in (*program.columns, "a_g", plan.operand):
            arrays.append(place(name, space))
            columns.append(len(arrays[-1]))
    for name, space in program.outputs:
        arrays.append(place(name, space))
        columns.append(plan.columns(name) if name in matrices else len(arrays[-1]))
        if name in plan.by_column:
            columns[-1] = plan.entries(plan.operand, model)
    return arrays, columns


def coordinate_places(links: RolledLinks, own: np.ndarray, memory: Rooms) -> np.ndarray:
    """Places of the entries of q, each among those of its link."""
    return entry_places(links.numbers, own, memory, "q", links.coordinates, links.model.nq)


def entry_places(
    kinds: list[int], own: np.ndarray, memory: Rooms, name: str, entries: Sequence[Sequence[int]], size: int
) -> np.ndarray:
    """Places of an array of `size` entries, of which those that `entries` say are each link's own."""
    result = np.full(size, int(own[-1]))
    result[[i for link in entries for i in link]] = over_links(kinds, own, memory, name, [len(x) for x in entries])
    return result


def over_links(kinds: list[int], own: np.ndarray, memory: Rooms, name: str, counts: list[int]) -> np.ndarray:
    """Places of an array's entries, some of every link, in the links' own memory; an entry that no step reads goes
    nowhere."""
    waste, kind_of, size_of = int(own[-1]), np.array(kinds), np.array(counts)
    starts = np.concatenate([[0], np.cumsum(size_of)])
    result = np.full(starts[-1], waste, dtype=np.int64)
    for kind, size in sorted(set(zip(kinds, counts, strict=True))):
        entries = np.array([memory.own[kind].get((name, i), -1) for i in range(size)], dtype=np.int64)
        links = np.flatnonzero((kind_of == kind) & (size_of == size))[:, None]
        result[starts[links] + np.arange(size)] = np.where(entries >= 0, own[links] + entries, waste)
    return result


def initial_numbers(
    model: Model, kinds: list[int], own: np.ndarray, plan: Plan, memory: Rooms
) -> tuple[Table, list[float]]:
    """Gravity and the identities that operators are applied to; a unit vector is zero but for one entry."""
    places, numbers = [], []
    if plan.operand:
        places += list(operand_places(model, kinds, own, plan, memory))
        numbers += [0.0] * plan.entries(plan.operand, model)
    for name, space in plan.program.inputs:
        if name == "a_g":
            places += range(memory.flat[name], memory.flat[name] + 6)
            numbers += [0.0, 0.0, 0.0, *(-model.gravity)]
        elif name in plan.program.columns and space in plan.flat_rows:
            size = plan.flat_rows[space]
            places += [memory.flat[name] + i * (size + 1) for i in range(size)]
            numbers += [1.0] * size
    return places, numbers
