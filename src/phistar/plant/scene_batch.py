"""States of many scenes at once, in flat tables that the compiled loop over scenes works on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from phistar.backends.machine.jit import host
from phistar.backends.machine.threads import thread_count
from phistar.constraints import columns as c
from phistar.plant.batch_loop import (
    EACH,
    KEEPS,
    LINE_ROOM,
    MODE,
    NQ,
    NV,
    REMEMBERED,
    SCENES,
    SCENES_THROUGH,
    STEPS_EACH,
)

if TYPE_CHECKING:
    from phistar.plant.session import PlantState, Session

_FLOATS = ("scene_q", "scene_v", "scene_memory", "scene_rows", "scene_line", "scene_residual", "commands")
_KEPT = ("kept_q", "kept_v")
_WHOLES = ("scene_contacts", "scene_shapes", "scene_line_at", "scene_failed", "scene_done", "scene", "lane")
MANY = 64  # contacts: for more than so many of every scene there is room only where some scene has them


def scene_cuts(count: int, threads: int | None) -> list[slice]:
    """So many scenes shared out over threads: where they fill lanes, in whole vectors of them, none of which is cut."""
    lanes, most = host().lanes, thread_count() if threads is None else int(threads)
    width = lanes if count >= lanes else 1
    vectors = -(-count // width)
    bounds = np.linspace(0, vectors, max(1, min(most, vectors)) + 1).astype(int) * width
    return [slice(int(a), min(int(b), count)) for a, b in pairwise(bounds)]


def no_scenes() -> dict[str, np.ndarray]:
    """The tables of a batch of none."""
    floats = {name: np.zeros(1) for name in (*_FLOATS, *_KEPT)}
    return floats | {name: np.zeros(1, np.int64) for name in _WHOLES}


class SceneBatch:
    """n scenes of one plant: coordinates (n, nq), rates (n, nv) and what their contacts, rows and commands remember."""

    def __init__(self, q: np.ndarray, v: np.ndarray, rows: int, entries: int) -> None:
        self.count, self.each, self.entries, self.line_room = len(q), 0, entries, 1
        self.q, self.v = np.ascontiguousarray(q, dtype=float).copy(), np.ascontiguousarray(v, dtype=float).copy()
        n = self.count
        self.contacts, self.line_at = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
        self.rows, self.line = np.zeros((n, max(rows, 1))), np.zeros((n, 1, max(entries, 1)))
        self.failed, self.residual, self.done = np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.int64)
        self.shapes, self.memory = np.zeros((n, 0, 2), np.int64), np.zeros((n, 0, c.CONTACT_FLOATS))

    @staticmethod
    def of(states: Sequence[PlantState], rows: int, entries: int) -> SceneBatch:
        """Scenes at states, each with its memory."""
        made = SceneBatch(np.array([s.q for s in states]), np.array([s.v for s in states]), rows, entries)
        made.make_room(max((len(s.memory[0]) for s in states if s.memory), default=0))
        made.make_line(max((len(s.memory[3]) for s in states if s.memory), default=1))
        for i, state in enumerate(states):
            if state.memory:
                wholes, floats, kept, line = state.memory[:4]
                made.contacts[i] = len(wholes)
                made.shapes[i, : len(wholes)], made.memory[i, : len(floats)] = wholes, floats
                made.rows[i, : len(kept)] = kept
                if len(line):
                    made.line[i], made.line_at[i] = line[:1], made.line_room - 1
                    made.line[i, made.line_room - len(line) :] = line
        return made

    def select(self, scenes: slice | np.ndarray) -> SceneBatch:
        """Some of the scenes, on their own; of an index that has one several times, as many of it."""
        made = SceneBatch(self.q[scenes], self.v[scenes], self.rows.shape[1], self.entries)
        made.make_room(self.each)
        made.make_line(self.line_room)
        for name in ("contacts", "line_at", "rows", "line", "shapes", "memory"):
            getattr(made, name)[:] = getattr(self, name)[scenes]
        return made

    def make_room(self, each: int) -> None:
        """Make room for so many contacts of every scene."""
        if each > self.each:
            more = each - self.each
            self.shapes = np.concatenate([self.shapes, np.zeros((self.count, more, 2), np.int64)], axis=1)
            self.memory = np.concatenate([self.memory, np.zeros((self.count, more, c.CONTACT_FLOATS))], axis=1)
            self.each = each

    def make_line(self, room: int) -> None:
        """Make the delay line of so many past commands: the oldest known stands for all before it."""
        if room > self.line_room:
            order = (self.line_at[:, None] + 1 + np.arange(self.line_room)) % self.line_room
            known = np.take_along_axis(self.line, order[:, :, None], axis=1)
            self.line = np.concatenate([np.repeat(known[:, :1], room - self.line_room, axis=1), known], axis=1)
            self.line_at[self.line_at >= 0] = room - 1
            self.line_room = room

    def run(self, session: Session, commands: np.ndarray, h: float, steps: int, keeps: bool = False) -> None:
        """All scenes through their steps, in this thread. Commands are (n, steps, entries), or (n, entries) held over
        all; with `keeps`, `kept` is the states after every step, (n, steps, nq) and (n, steps, nv)."""
        engine, nq, nv = session.engine, self.q.shape[1], self.v.shape[1]
        session.check_line(h)
        self.make_line(int(session.engine.batch[LINE_ROOM]))
        self.kept = np.zeros((self.count, steps, nq) if keeps else 1), np.zeros((self.count, steps, nv) if keeps else 1)
        self.commands = np.ascontiguousarray(commands, dtype=float)
        self.make_room(min(int(engine.counts[c.ROOM]), MANY))
        self.done[:] = 0
        while True:
            batch = engine.batch
            batch[[MODE, SCENES, STEPS_EACH, NQ, NV]] = SCENES_THROUGH, self.count, steps, nq, nv
            batch[[REMEMBERED, EACH, KEEPS]] = self.each, commands.ndim == 3, keeps
            engine.numbers[c.LENGTH] = h
            engine.through_scenes(self.count, self._tables())
            if (self.done > 0).all():
                break
            if (self.done < 0).any():  # more contacts than a scene has room for
                self.make_room(-int(self.done.min()))
            else:
                engine.grow()

    def put(self, scenes: np.ndarray | int, q: np.ndarray, v: np.ndarray) -> None:
        """Some scenes at states without memory."""
        self.q[scenes], self.v[scenes] = q, v
        self.contacts[scenes] = self.line_at[scenes] = -1
        self.rows[scenes] = 0.0

    def _tables(self) -> dict[str, np.ndarray]:
        named = {"scene_q": self.q, "scene_v": self.v, "scene_memory": self.memory, "scene_rows": self.rows}
        named |= {"scene_line": self.line, "scene_residual": self.residual, "commands": self.commands}
        named |= {"scene_contacts": self.contacts, "scene_shapes": self.shapes, "scene_line_at": self.line_at}
        named |= {"scene_failed": self.failed, "kept_q": self.kept[0], "kept_v": self.kept[1]}
        named |= {"scene_done": self.done}
        return {name: x.reshape(-1) if x.size else np.zeros(1, x.dtype) for name, x in named.items()}

    def states(self) -> list[PlantState]:
        """Every scene's own state, with its memory."""
        from phistar.plant.session import PlantState

        made = []
        for i in range(self.count):
            memory: tuple[np.ndarray, ...] = ()
            if self.contacts[i] >= 0:
                count = int(self.contacts[i])
                at = int(self.line_at[i])
                line = np.roll(self.line[i], -(at + 1), axis=0) if at >= 0 else self.line[i, :0]
                memory = self.shapes[i, :count].copy(), self.memory[i, :count].copy(), self.rows[i].copy(), line.copy()
            made.append(PlantState(self.q[i].copy(), self.v[i].copy(), memory))
        return made
