"""Kinds of links of any width: those that are built alike, whose blocks are kept from sweep to sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.links.mechanism import Mechanism
from phistar.backends.links.single_out import SingledLink
from phistar.backends.rolled.recorder import Recorder
from phistar.backends.rolled.steps import LinkKind
from phistar.spatial.value import digest


@dataclass(frozen=True, eq=False)
class BuiltKind(LinkKind):
    """Links that are built alike: one of them, and which of its constants differ among them."""

    link: SingledLink
    varies: np.ndarray
    key: bytes
    keeps = True
    has_body_axes = True

    @property
    def is_root(self) -> bool:
        return not self.link.own

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.link.sizes

    @property
    def carrier_sizes(self) -> tuple[int, int, int]:
        return self.link.carrier_sizes

    @property
    def build(self) -> bytes:
        return self.link.build

    @property
    def above(self) -> bytes:
        return self.link.above or b""

    @property
    def frames(self) -> tuple[tuple[int, str], ...]:
        return self.link.frames

    def mechanism(self, record: Recorder) -> tuple[Mechanism, int]:
        """The link with the one that carries it; constants that its kind shares are numbers."""
        constants = self.link.constants.astype(object)
        for place, entry in enumerate(np.flatnonzero(self.varies)):
            constants[entry] = record.load("constant", "", place)
        own = record.array("own", "q", (len(self.link.coordinates),))
        above = record.array("parent", "q", (len(self.link.carried_by),))
        return self.link.make(np.concatenate([above, own]), constants), self.link.own

    def placed(self, rows: np.ndarray, above: bool) -> Any:
        places = [(row[:9].reshape(3, 3), row[9:]) for row in rows]
        if not self.link.is_compound:
            return places[0]
        first = 0 if above or self.is_root else self.link.carrier_sizes[2]
        return {first + i: place for i, place in enumerate(places)}


def sorted_by_kind(links: Sequence[SingledLink]) -> tuple[list[BuiltKind], list[int]]:
    """The kinds of links that occur, and which each link is."""
    members: dict[bytes, list[int]] = {}
    for k, link in enumerate(links):
        members.setdefault(link.key, []).append(k)
    order = {key: number for number, key in enumerate(members)}
    kinds = []
    for key, own in members.items():
        table = np.array([links[k].constants for k in own])
        varies = np.any(table != table[0], axis=0)
        kinds.append(BuiltKind(links[own[0]], varies, digest(key, varies, table[0][~varies])))
    return kinds, [order[link.key] for link in links]
