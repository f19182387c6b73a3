"""The contacts of a run's rows as arrays over its samples: only pairs that met have a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phistar.sim.trajectory import Contacts
from phistar.sim.world import World


def contacts_of(world: World, rows: Sequence[Mapping[str, Any]]) -> Contacts:
    """The contacts of rows, whose pairs have the numbers of a world."""
    met, count = _pairs(rows), len(rows)
    column = {pair: number for number, pair in enumerate(met)}
    most = max((len(row["contact_pair"]) for row in rows), default=0)
    normal, pair = np.zeros((count, len(met))), np.full((count, most), -1)
    point, force, moment = (np.zeros((count, most, 3)) for _ in range(3))
    for number, row in enumerate(rows):
        own = len(row["contact_pair"])
        if own:
            pair[number, :own] = [column[each] for each in row["contact_pair"].tolist()]
            point[number, :own], force[number, :own] = row["contact_point"], row["contact_vector"]
            moment[number, :own] = row["contact_moment"]
        for each, value in zip(row["met_pair"].tolist(), row["met_normal"].tolist(), strict=True):
            normal[number, column[each]] += value
    sides = [world.shapes_of(each) for each in met]
    bodies = np.array([[shape.body for shape in both] for both in sides], dtype=int).reshape(-1, 2)
    nodes = np.array([[shape.node for shape in both] for both in sides], dtype=int).reshape(-1, 2)
    names = tuple(" / ".join(shape.name for shape in both) for both in sides)
    return Contacts(names, normal, pair, point, force, moment, bodies, nodes)


def impulses_of(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """(T, k): what each pair gave along its normals since the sample before, N s, impacts included."""
    column = {pair: number for number, pair in enumerate(_pairs(rows))}
    made = np.zeros((len(rows), len(column)))
    for number, row in enumerate(rows):
        for pair, value in zip(row["given_pair"].tolist(), row["given"].tolist(), strict=True):
            made[number, column[pair]] = value
    return made


def _pairs(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """The pairs that met, in the order of their first meeting."""
    found: dict[int, None] = {}
    for row in rows:
        found |= dict.fromkeys(row["given_pair"].tolist()) | dict.fromkeys(row["contact_pair"].tolist())
        found |= dict.fromkeys(row["met_pair"].tolist())
    return list(found)
