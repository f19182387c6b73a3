"""Kinds of links of any width: those that are built alike, whose blocks are kept from sweep to sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.links.link_sizes import parameter_count
from phistar.backends.links.mechanism import Mechanism
from phistar.backends.links.single_out import SingledLink
from phistar.backends.rolled.recorder import Recorder
from phistar.backends.rolled.steps import LinkKind
from phistar.model import Body, Model
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
    def parameters(self) -> int:
        return parameter_count(self.link.bodies)

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
        own = record.array("own", "q", (len(self.link.coordinates),))
        above = record.array("parent", "q", (len(self.link.carried_by),))
        return self._mechanism_at(record.array("constant", "", (self.constants,)), np.concatenate([above, own]))

    @cached_property
    def constants(self) -> int:
        """Number of constants of each link of the kind."""
        return int(np.count_nonzero(self.varies))

    @cached_property
    def members(self) -> Model:
        """The bodies of a link, each on the world."""
        bodies, rows, rates = list[Body](), 0, 0
        for number, body in enumerate(self.link.bodies):
            places = {"q_slice": slice(rows, rows + body.joint.nq), "v_slice": slice(rates, rates + body.joint.nv)}
            bodies.append(replace(body, parent=-1, joint=replace(body.joint, body=number, **places)))
            rows, rates = rows + len(body.coordinates), rates + len(body.rates)
        return Model("link", tuple(bodies), ())

    def alone_at(self, constants: np.ndarray, q: np.ndarray) -> tuple[Mechanism, int]:
        """The link at traced coordinates of its own, for what does not depend on where its carrier is: that stands at
        any numbers."""
        return self._mechanism_at(constants, np.concatenate([np.repeat(q[:1], len(self.link.carried_by)), q]))

    def _mechanism_at(self, constants: np.ndarray, q: np.ndarray) -> tuple[Mechanism, int]:
        whole = self.link.constants.astype(object)
        whole[np.flatnonzero(self.varies)] = constants
        return self.link.make(q, whole), self.link.own

    def pose_of(self, rows: np.ndarray, above: bool) -> Any:
        places = [(row[:9].reshape(3, 3), row[9:]) for row in rows]
        if not self.link.is_compound:
            return places[0]
        first = 0 if above or self.is_root else self.link.carrier_sizes[2]
        return {first + i: place for i, place in enumerate(places)}


def group_by_kind(links: Sequence[SingledLink]) -> tuple[list[BuiltKind], list[int]]:
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
