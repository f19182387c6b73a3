"""The contacts of a run's rows as arrays over its samples: only pairs that met have a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phistar.sim.trajectory import Contacts
from phistar.sim.world import World


def contacts_of(world: World, rows: Sequence[Mapping[str, Any]]) -> Contacts:
    """The contacts of rows, whose pairs have the numbers of a world."""
    met, count, tables = _pairs(rows), len(rows), [row["contact_pair"] for row in rows]
    sample, place = _samples(tables)
    most = int(place.max(initial=-1)) + 1
    normal, pair = np.zeros((count, len(met))), np.full((count, most), -1)
    point, force, moment = (np.zeros((count, most, 3)) for _ in range(3))
    pair[sample, place] = _columns(met, tables)
    for made, name in ((point, "contact_point"), (force, "contact_vector"), (moment, "contact_moment")):
        made[sample, place] = np.concatenate([np.zeros((0, 3)), *(row[name] for row in rows)])
    tables = [row["met_pair"] for row in rows]
    values = np.concatenate([np.zeros(0), *(row["met_normal"] for row in rows)])
    np.add.at(normal, (_samples(tables)[0], _columns(met, tables)), values)
    sides = [world.shapes_of(each) for each in met.tolist()]
    bodies = np.array([[shape.body for shape in both] for both in sides], dtype=int).reshape(-1, 2)
    nodes = np.array([[shape.node for shape in both] for both in sides], dtype=int).reshape(-1, 2)
    names = tuple(" / ".join(shape.name for shape in both) for both in sides)
    return Contacts(names, normal, pair, point, force, moment, bodies, nodes)


def impulses_of(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """(T, k): what each pair gave along its normals since the sample before, N s, impacts included."""
    met, tables = _pairs(rows), [row["given_pair"] for row in rows]
    made = np.zeros((len(rows), len(met)))
    made[_samples(tables)[0], _columns(met, tables)] = np.concatenate([np.zeros(0), *(row["given"] for row in rows)])
    return made


def _pairs(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """The pairs that met, in the order of their first meeting."""
    keys = _joined([row[name] for row in rows for name in ("given_pair", "contact_pair", "met_pair")])
    found, first = np.unique(keys, return_index=True)
    return found[np.argsort(first)]


def _columns(met: np.ndarray, tables: Sequence[np.ndarray]) -> np.ndarray:
    """The columns of pairs, which are among those that met."""
    order = np.argsort(met)
    return order[np.searchsorted(met, _joined(tables), sorter=order)]


def _samples(tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Of the rows of tables, one after the other, the number of the table and that of the row in it."""
    counts = np.array([len(table) for table in tables], dtype=int)
    sample = np.repeat(np.arange(len(tables)), counts)
    return sample, np.arange(len(sample)) - np.repeat(np.cumsum(counts) - counts, counts)


def _joined(tables: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype=int), *tables])
