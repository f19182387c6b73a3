"""Tables of a course, steps that keep a tolerance: what is fixed for a plant, and what grows with its contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phistar.constraints import columns as c
from phistar.loops.closure import row_count
from phistar.plant import course_columns as k

if TYPE_CHECKING:
    from phistar.plant.engine import System

ROWS = 5  # of the tableau at most


def course_tables(system: System) -> dict[str, np.ndarray]:
    """The tables whose length is fixed."""
    model, free = system.model, len(system.free)
    rows = len(system.rows) + row_count(model)
    wholes, parts = np.zeros(k.COURSE_WHOLES, np.int64), _parts(system)
    wholes[[k.TREES_AT, k.MEMORIES_AT, k.BOOKS_AT, k.CONTACTS_AT]] = np.cumsum(parts)
    wholes[[k.ALL_COORDINATES, k.ALL_RATES]] = model.nq, model.nv
    turns = np.ones(model.nq)
    for _, start in model.quaternions:
        turns[start : start + 4] = 2.0
    in_trees = [turns[list(model.bodies[body].coordinates)] for tree in system.trees for body in tree]
    made = {"course": np.zeros(k.COURSE_FLOATS), "course_wholes": wholes, "turns": np.concatenate([*in_trees, [1.0]])}
    made |= {"start_q": np.zeros(max(model.nq, 1)), "start_rates": np.zeros(max(model.nv, 1))}
    made |= {"start_free": np.zeros((max(free, 1), 22)), "start_memory": np.zeros(max(rows, 1))}
    made |= {"samples": np.zeros(k.SAMPLES_ROOM * (k.SAMPLE_FLOATS + model.nq + model.nv))}
    made |= {"sample_counts": np.zeros((k.SAMPLES_ROOM, 2), np.int64)}
    return made | {"stopped": np.zeros(max(rows, 1), np.int64)}


def course_room(system: System, room: int) -> dict[str, np.ndarray]:
    """The tables whose length is the number of contacts there is room for."""
    entries = sum(_parts(system)) + 4 * room
    made = {"reached": np.zeros(entries), "tableau": np.zeros(ROWS * entries)}
    made |= {"start_contacts": np.zeros((room, c.CONTACT_FLOATS))}
    many, logged = k.SAMPLES_TIMES * room, log_room(system, room)
    made |= {"kept_pushing": np.zeros((many, 15)), "kept_met": np.zeros(many), "log_times": np.zeros(logged)}
    pairs = {"start_shapes": (room, 2), "row_shapes": (room, 2), "touched": (room, 4), "touching_now": (room, 3)}
    pairs |= {"kept_shapes": (many, 2), "kept_met_shapes": (many, 2), "log": (logged, k.LOG_WHOLES)}
    return made | {name: np.zeros(shape, np.int64) for name, shape in pairs.items()}


def log_room(system: System, room: int) -> int:
    """Events that there is room for: those of several steps, each of which has at most `step_events`."""
    return k.LOG_TIMES * step_events(system, room)


def step_events(system: System, room: int) -> int:
    """Events of a step at most: of each pair that met, two; of each that touched before, one; of each row, one."""
    return 3 * room + len(system.rows)


def _parts(system: System) -> list[int]:
    """Entries of free bodies, trees, memories of rows, and books."""
    model = system.model
    in_trees = sum(len(model.bodies[i].coordinates) + len(model.bodies[i].rates) for tree in system.trees for i in tree)
    rows = len(system.rows) + row_count(model)
    return [k.FREE_ENTRIES * len(system.free), in_trees + 6 * len(system.trees), rows, k.BOOKS]
