"""Where the closures of a mechanism are open, along its tree: the tables that `closing_sweeps.py` runs on.

A closure is open at a link when one of its frames or joints is on it or beyond, and closes where all are; at each link
those that close there come first. In an order of links that ends one branch before it begins the next, few are open at
a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.loops.closure import linear_rows, row_count
from phistar.loops.equations import reach
from phistar.model import Model
from phistar.model.parts import CoupledJoints, Loop

WORLD_END = -1


@dataclass(frozen=True, eq=False)
class ClosingLayout:
    """Tables by name, whole numbers and floats, and how many closures are open at once at most."""

    tables: Mapping[str, np.ndarray]
    open_at: tuple[int, ...]  # rows that stay open at each link
    closing_at: tuple[int, ...]  # rows that close at each link and, last, at the world
    active: int

    def operations(self, model: Model) -> int:
        """Multiplications and additions of one state, as the sweeps do them."""
        total = 0
        for joint, stay, close in zip(model.joints, self.open_at, self.closing_at, strict=False):
            total += 600 + joint.nv * (180 + stay * (30 + 2 * stay)) + 30 * stay
            total += _eliminated(stay, close)
        return total + _eliminated(0, self.closing_at[-1])


def _eliminated(stay: int, close: int) -> int:
    return sum(2 * (stay + left) * (stay + left + 7) + 100 for left in range(close))


def closing_layout(model: Model) -> ClosingLayout:
    """The tables of a model, kept on it."""
    return model.kept("closing_layout", lambda: _layout(model))


def _layout(model: Model) -> ClosingLayout:
    places, order = [_places(model, loop) for loop in model.loops], _depth_first(model)
    closes = [_common(model, loop, where) for loop, where in zip(model.loops, places, strict=True)]
    opened = _open_loops(model, order, places, closes)
    first_row = np.cumsum([0, *(loop.rows for loop in model.loops)])
    rows = [[r for loop in loops for r in range(first_row[loop], first_row[loop + 1])] for loops in opened]
    first_open = np.cumsum([0, *(len(own) for own in rows)])
    closing = [sum(model.loops[i].rows for i in loops if closes[i] == k) for k, loops in enumerate(opened)]
    at = [{row: int(first_open[k]) + i for i, row in enumerate(own)} for k, own in enumerate(rows)]
    tables = _link_tables(model, order) | _row_tables(model, first_row, at)
    tables |= _coupled_tables(model, first_row, at, first_open[:-1] + np.array(closing))
    stay = [len(own) - closing[k] for k, own in enumerate(rows[:-1])]
    widths = [stay[k] for k, joint in enumerate(model.joints) for _ in range(joint.nv)]
    slots, active = _slots(model, order, opened, closes, first_row)
    n, above = len(model.bodies), tables["parent"]
    tables |= {
        "sizes": np.array([n, model.nv, row_count(model), 2 * len(model.loops), active, len(tables["coupled_at"])]),
        "first_open": first_open,
        "closing": np.array(closing),
        "open_row": np.array([row for own in rows for row in own], dtype=np.int64),
        "open_above": np.array([at[above[k]].get(row, 0) for k, own in enumerate(rows[:-1]) for row in own] + [0]),
        "first_felt": np.cumsum([0, *widths]),
        "first_kept": np.cumsum([0, *(len(own) for own in rows for _ in own)]),
        "slot": slots,
    }
    whole = {name: x.astype(np.int64) if x.dtype.kind in "iub" else x for name, x in tables.items()}
    return ClosingLayout(whole, tuple(stay), tuple(closing), active)


def _places(model: Model, loop: Any) -> list[int]:
    """The links from which a loop is open, and the world as their number: of a coupling, those its joints carry."""
    n = len(model.bodies)
    if isinstance(loop, CoupledJoints):
        return [model.joint(name).body for name in (loop.joint_a, loop.joint_b) if name is not None]
    bodies = (model.frame(name).body for name in (loop.frame_a, loop.frame_b))
    return [body if body >= 0 else n for body in bodies]


def _common(model: Model, loop: Any, where: list[int]) -> int:
    """The link where a loop closes: the nearest that carries all it joins, or the world."""
    n, ways = len(model.bodies), []
    for body in where:
        if isinstance(loop, CoupledJoints):
            body = model.parents[body]
        way = []
        while 0 <= body < n:
            way.append(body)
            body = model.parents[body]
        ways.append(way)
    first, *others = ways
    return next((body for body in first if all(body in way for way in others)), n)


def _depth_first(model: Model) -> list[int]:
    """Links, children before their parents, branch after branch and the largest first: what is open in the others is
    opened late."""
    n = len(model.bodies)
    sizes, children = [1] * n, list[list[int]]([] for _ in range(n + 1))
    for k in range(n - 1, -1, -1):
        parent = model.parents[k]
        children[parent if parent >= 0 else n].append(k)
        if parent >= 0:
            sizes[parent] += sizes[k]
    found, waiting = [], sorted(children[n], key=sizes.__getitem__, reverse=True)
    while waiting:  # parents first and the smallest branch first, which is then turned round
        found.append(waiting.pop())
        waiting += sorted(children[found[-1]], key=sizes.__getitem__, reverse=True)
    return found[::-1]


def _open_loops(model: Model, order: list[int], places: list[list[int]], closes: list[int]) -> list[list[int]]:
    """The loops that are open at each link and at the world, those that close there first."""
    n = len(model.bodies)
    opened: list[set[int]] = [set() for _ in range(n + 1)]
    for loop, where in enumerate(places):
        for body in where:
            opened[body].add(loop)
    for k in order:
        above = model.parents[k]
        opened[above if above >= 0 else n] |= {loop for loop in opened[k] if closes[loop] != k}
    return [sorted(own, key=lambda loop: (closes[loop] != k, loop)) for k, own in enumerate(opened)]


def _slots(
    model: Model, order: list[int], opened: list[list[int]], closes: list[int], first_row: np.ndarray
) -> tuple[np.ndarray, int]:
    """A row of S for each closure while it is open, and how many there are."""
    slots, free, used = np.full(row_count(model), -1), list[int](), 0
    for k in (*order, len(model.bodies)):
        for row in (row for loop in opened[k] for row in range(first_row[loop], first_row[loop + 1])):
            if slots[row] < 0:
                if not free:
                    free, used = [used], used + 1
                slots[row] = free.pop()
        closed = [loop for loop in opened[k] if closes[loop] == k]
        free += [int(slots[row]) for loop in closed for row in range(first_row[loop], first_row[loop + 1])]
    return slots, used


def _link_tables(model: Model, order: list[int]) -> dict[str, np.ndarray]:
    n = len(model.bodies)
    parts = [
        (body.inertia.mass, body.inertia.mass * body.inertia.com, body.inertia.about_origin) for body in model.bodies
    ]
    return {
        "order": np.array(order),
        "parent": np.array([parent if parent >= 0 else n for parent in model.parents]),
        "first_rate": np.cumsum([0, *(joint.nv for joint in model.joints)]),
        "inertia": np.array([[mass, *moment, *tensor.reshape(-1)] for mass, moment, tensor in parts]),
        "armature": np.array(model.armature, dtype=float),
        "rate_link": np.repeat(np.arange(n), [joint.nv for joint in model.joints]),
    }


def _row_tables(model: Model, first_row: np.ndarray, at: list[dict[int, int]]) -> dict[str, np.ndarray]:
    """Loop of each row, its ends and its place among the open rows there, and the unit of lengths to angles."""
    m, n = row_count(model), len(model.bodies)
    ends, opened = np.full((m, 2), WORLD_END), np.zeros((m, 2), dtype=np.int64)
    loops, unit = np.zeros(m, dtype=np.int64), np.ones(m)
    for number, loop in enumerate(model.loops):
        own = slice(int(first_row[number]), int(first_row[number + 1]))
        loops[own] = number
        if isinstance(loop, Loop):
            ends[own] = 2 * number, 2 * number + 1
            unit[own.stop - linear_rows(loop) : own.stop] = reach(model) ** 2
            for side, body in enumerate(_places(model, loop)):
                opened[own, side] = [at[min(body, n)][row] for row in range(own.start, own.stop)]
    return {"row_end": ends, "row_open": opened, "row_loop": loops, "unit": unit, "first_row": first_row}


def _coupled_tables(
    model: Model, first_row: np.ndarray, at: list[dict[int, int]], first: np.ndarray
) -> dict[str, np.ndarray]:
    """The joints that couplings join, link by link: which of the rows that stay open, and which side of which."""
    found: list[list[tuple[int, int, int]]] = [[] for _ in model.bodies]
    for number, loop in enumerate(model.loops):
        if isinstance(loop, CoupledJoints):
            for side, body in enumerate(_places(model, loop)):
                found[body].append((at[body][int(first_row[number])] - int(first[body]), number, side))
    flat = np.array([entry for own in found for entry in own], dtype=np.int64).reshape(-1, 3)
    counts = np.cumsum([0, *(len(own) for own in found)])
    rates = [model.joints[body].v_slice.start for body, own in enumerate(found) for _ in own]
    places = np.array([first_row[flat[:, 1]], rates], dtype=np.int64).T.reshape(-1, 2)
    tables = {"first_coupled": counts, "coupled_at": flat[:, 0].copy(), "coupled_loop": flat[:, 1:].copy()}
    return tables | {"coupled_rate": places.copy()}


def carried_rates(model: Model) -> np.ndarray:
    """Whether a link, or last the world, is moved by a rate, (n + 1, nv)."""
    found = np.zeros((len(model.bodies) + 1, model.nv), dtype=bool)
    for k, (parent, joint) in enumerate(zip(model.parents, model.joints, strict=True)):
        found[k] = found[parent] if parent >= 0 else False
        found[k, joint.v_slice] = True
    return found
