"""The contacts of a run's samples as arrays over them: only pairs that met have a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from phistar.sim.trajectory import Contacts
from phistar.sim.world import World


class ContactColumns(NamedTuple):
    """Contacts of T samples one after the other. Of those that push: how many each sample has (T,), the number of the
    pair (n,), point, force and moment (n, 3). Of pairs that touch: how many, number, normal force. Of pairs that gave
    an impulse since the sample before: how many, number, impulse."""

    pushing: np.ndarray
    pair: np.ndarray
    point: np.ndarray
    force: np.ndarray
    moment: np.ndarray
    touching: np.ndarray
    touching_pair: np.ndarray
    normal: np.ndarray
    giving: np.ndarray
    giving_pair: np.ndarray
    given: np.ndarray


NAMES = (
    ("contact_pair", "contact_point", "contact_vector", "contact_moment"),
    ("met_pair", "met_normal"),
    ("given_pair", "given"),
)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> ContactColumns:
    """The contacts of rows that were kept one by one."""
    made = list[np.ndarray]()
    for names in NAMES:
        made.append(np.array([len(row[names[0]]) for row in rows], dtype=int))
        made += [np.concatenate([row[name] for row in rows]) for name in names]
    return ContactColumns(*made)


def contacts_of(world: World, own: ContactColumns) -> tuple[Contacts, np.ndarray]:
    """The contacts of samples, whose pairs have the numbers of a world; and (T, k) what each of the pairs that met, in
    the order of their first meeting, gave along its normals since the sample before, N s, impacts included."""
    sample, place = _samples(own.pushing)
    count, most = len(own.pushing), int(own.pushing.max(initial=0))
    met, column = _pairs(world, own)
    given, pair = np.zeros((count, len(met))), np.full((count, most), -1)
    point, force, moment = (np.zeros((count, most, 3)) for _ in range(3))
    pair[sample, place] = column[own.pair]
    point[sample, place], force[sample, place], moment[sample, place] = own.point, own.force, own.moment
    places = np.repeat(len(met) * np.arange(count), own.touching) + column[own.touching_pair]
    normal = np.bincount(places, own.normal, count * len(met)).astype(float).reshape(count, len(met))
    given[np.repeat(np.arange(count), own.giving), column[own.giving_pair]] = own.given
    bodies, nodes = (places[met] for places in world.pair_places)
    names = tuple(world.pair_name(each) for each in met.tolist())
    return Contacts(names, normal, pair, point, force, moment, bodies, nodes), given


def _pairs(world: World, own: ContactColumns) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that met, in the order of their first meeting: sample by sample, those that gave an impulse, then those
    with contacts, then those in touch; and the column of every pair of the world."""
    tables = (own.giving, own.giving_pair), (own.pushing, own.pair), (own.touching, own.touching_pair)
    numbers = np.concatenate([pairs for _, pairs in tables])
    met, first = np.zeros(0, dtype=int), np.full(len(world.pairs), -1)
    if len(numbers):
        when = np.concatenate([3 * np.repeat(np.arange(len(x)), x) + kind for kind, (x, _) in enumerate(tables)])
        order = numbers[np.argsort(when, kind="stable")]
        first[order[::-1]] = np.arange(len(order))[::-1]  # of places written twice, the last stands: the first meeting
        found = np.flatnonzero(first >= 0)
        met = found[np.argsort(first[found])]
    first[met] = np.arange(len(met))
    return met, first


def _samples(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For things in consecutive tables, the number of the table and the index within it."""
    sample = np.repeat(np.arange(len(counts)), counts)
    return sample, np.arange(len(sample)) - (np.cumsum(counts) - counts)[sample]
