"""Entries over three rates in the order in which loops make them: outermost rates, pairs, and runs of last rates whose
columns are neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.programs.triple_places import Group
from phistar.backends.programs.triple_tables import TENSORS, Wanted
from phistar.model import Model

ROW = 3
"""Numbers in a row of each table: an outermost rate, or one between, and from which row to which of the next table it
is; a run's first column, how many entries it has, and where the first belongs."""
WHOLE, HALVED, ADDED = range(3)
"""Whether an entry is written, half of it is, or half of it is added to what is there."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Entries of a `table` whose rates stand alike, as rows of three tables."""

    table: str
    group: Group
    share: int
    outer: np.ndarray
    pairs: np.ndarray
    runs: np.ndarray

    @property
    def kind(self) -> tuple[Any, ...]:
        """What decides the code."""
        return self.table, self.group.axes, self.group.sides, self.share


def column_order(model: Model) -> np.ndarray:
    """Joint rates in an order in which what a joint carries follows it."""
    children: dict[int, list[int]] = {}
    for body, parent in enumerate(model.parents):
        children.setdefault(parent, []).append(body)
    order, waiting = list[int](), list(reversed(children.get(-1, [])))
    while waiting:
        body = waiting.pop()
        joint = model.joints[body]
        order += range(joint.v_slice.start, joint.v_slice.stop)
        waiting += reversed(children.get(body, []))
    return np.array(order, dtype=np.int64)


def in_loop_order(model: Model, wanted: Mapping[str, Wanted]) -> dict[str, Wanted]:
    """The same entries in the order in which loops write them, so that runs are long."""
    column = np.argsort(column_order(model))
    found = {}
    for name, own in wanted.items():
        count = len(own.places)
        parts = [part.at for part in _parts(own, column) if part.share != ADDED]
        order = np.concatenate([*parts, np.zeros(0, dtype=np.int64)])
        target = np.arange(count + len(own.also))
        target[order] = np.arange(count)
        groups = tuple(replace(group, at=target[group.at]) for group in own.groups)
        found[name] = Wanted(own.places[order], groups, target[own.also])
    return found


def find_runs(model: Model, wanted: Mapping[str, Wanted]) -> list[Runs]:
    """What the loops write, tensor after tensor."""
    column = np.argsort(column_order(model))
    found: list[Runs] = []
    start = 0
    for name in TENSORS:
        own = wanted[name]
        target = start + np.concatenate([np.arange(len(own.places)), own.also])
        parts = sorted(_parts(own, column), key=lambda part: part.share)
        found += [part.runs(name, target[part.at], column) for part in parts]
        start += len(own.places)
    return found


@dataclass(frozen=True, eq=False)
class _Part:
    """Entries of a group that are handled alike, `own` by their numbers in the group, in the order of the loops."""

    group: Group
    own: np.ndarray
    share: int

    @property
    def at(self) -> np.ndarray:
        return self.group.at[self.own]

    def runs(self, table: str, target: np.ndarray, column: np.ndarray) -> Runs:
        pair, place = self.group.pair[self.own], column[self.group.last[self.own]]
        begins = np.ones(len(pair), dtype=bool)
        begins[1:] = (np.diff(pair) != 0) | (np.diff(place) != 1) | (np.diff(target) != 1)
        first = np.flatnonzero(begins)
        runs = np.stack([place[first], np.diff(first, append=len(pair)), target[first]], axis=-1)
        used, starts = np.unique(pair[first], return_index=True)
        number, between = self.group.pairs[:, used]
        pairs = np.stack([between, starts, [*starts[1:], len(first)]], axis=-1)
        outers, starts = np.unique(number, return_index=True)
        outer = np.stack([self.group.outer[outers], starts, [*starts[1:], len(used)]], axis=-1)
        return Runs(table, self.group, self.share, *(x.astype(np.int64) for x in (outer, pairs, runs)))


def _parts(wanted: Wanted, column: np.ndarray) -> list[_Part]:
    """Entries of all groups in the order of the loops: those that are written, half written, and added."""
    found = []
    for group in wanted.groups:
        twice = np.isin(group.at, wanted.also)
        share = np.where(group.at >= len(wanted.places), ADDED, np.where(twice, HALVED, WHOLE))
        order = np.lexsort((column[group.last], group.pair))
        own = ((kind, order[share[order] == kind]) for kind in (WHOLE, HALVED, ADDED))
        found += [_Part(group, entries, kind) for kind, entries in own if len(entries)]
    return found
