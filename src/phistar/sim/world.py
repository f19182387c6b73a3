"""A mechanism among things it can touch: pairs of shapes with their laws, and joints, as a plant's system."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.constraints import columns as c
from phistar.contact.pairs import Pair, Pairs, Site
from phistar.contact.surface import Surface
from phistar.errors import ModelError, PhistarError, ShapeError
from phistar.geometry import shape_columns as s
from phistar.geometry.shape_records import PlacedShape, record_of
from phistar.model import Model
from phistar.plant.engine import System
from phistar.plant.joint_rows import joint_rows
from phistar.plant.session import PlantState, Session
from phistar.sim.closing import check_closed

NO_LAW = Surface()  # of a plant's pairs, whose laws are in its system


class Penetration(PhistarError):
    """Two bodies intersect."""


@dataclass(frozen=True)
class World:
    """A model, and the pairs of shapes on it that may touch, each by the law of its surface."""

    pairs: Pairs
    given: System | None = None  # the system of a plant, in place of one that is made of the pairs

    @staticmethod
    def of(system: System) -> World:
        """The world of a plant's system: every two shapes of it that may touch."""
        order = sorted(system.shapes, key=lambda shape: record_of(shape.shape).kind == s.HALFSPACE)
        sites = [Site(shape.name, shape.body, shape.shape, shape.placement) for shape in order]
        meets, groups = system.meets, [shape.group for shape in order]
        pairs = [
            Pair(sites[i], sites[j], NO_LAW)
            for i in range(len(sites))
            for j in range(i)
            if meets[groups[i], groups[j]] and sites[i].body != sites[j].body
        ]
        return World(Pairs(system.model, tuple(pairs)), system)

    @property
    def model(self) -> Model:
        return self.pairs.model

    @cached_property
    def system(self) -> System:
        """The pairs as a plant's step takes them: every shape is a group of its own."""
        if self.given is not None:
            return self.given
        places = {_key(site): number for number, site in enumerate(self._sites)}
        laws = dict.fromkeys(pair.surface for pair in self.pairs.pairs)
        numbers = {surface: number for number, surface in enumerate(laws)}
        meets = np.zeros((max(len(places), 1),) * 2, dtype=np.int64)
        for pair in self.pairs.pairs:
            a, b = places[_key(pair.a)], places[_key(pair.b)]
            meets[a, b] = meets[b, a] = numbers[pair.surface] + 2
        shapes = [
            PlacedShape(site.body, site.shape, site.placement, group=number, name=site.name)
            for number, site in enumerate(self._sites)
        ]
        rows = joint_rows(self.model, self.model.neutral())
        return System(self.model, tuple(shapes), meets, tuple(rows), tuple(laws))

    @cached_property
    def _sites(self) -> tuple[Site, ...]:
        """Every shape that may touch, half-spaces last, as the step numbers them."""
        if self.given is not None:
            order = sorted(self.given.shapes, key=lambda shape: record_of(shape.shape).kind == s.HALFSPACE)
            return tuple(Site(shape.name, shape.body, shape.shape, shape.placement) for shape in order)
        found = {_key(site): site for pair in self.pairs.pairs for site in (pair.a, pair.b)}
        return tuple(sorted(found.values(), key=lambda site: record_of(site.shape).kind == s.HALFSPACE))

    @cached_property
    def pair_numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """(n, n) each, of two shapes as the step numbers them: the number of their pair, and 1 where the first of them
        is its first, −1 where it is its second."""
        places = {_key(site): number for number, site in enumerate(self._sites)}
        number, sign = np.full((len(places),) * 2, -1), np.ones((len(places),) * 2)
        for index, pair in enumerate(self.pairs.pairs):
            a, b = places[_key(pair.a)], places[_key(pair.b)]
            number[a, b] = number[b, a] = index
            sign[b, a] = -1.0
        return number, sign

    @cached_property
    def stops(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """The rows of the system that are limits of joints, and the names of those."""
        rows = [number for number, row in enumerate(self.system.rows) if row.law == c.LIMIT_LAW]
        rates = [self.system.rows[number].rate for number in rows]
        joints = [next(j.name for j in self.model.joints if j.v_slice.start <= k < j.v_slice.stop) for k in rates]
        return np.array(rows, dtype=int), tuple(joints)

    def session(self) -> Session:
        """A plant's session of the system, whose steps tell what they did."""
        made = Session(self.system, (), self.model.name)
        made.engine.counts[c.TELLING] = 1
        return made

    def start(self, q: Any, v: Any) -> PlantState:
        """At rest against whatever touches; refused where a joint is beyond its limits, or a loop is open."""
        model = self.model
        q, v = model.checked_q(q).copy(), model.checked(v, model.nv, "v").copy()
        for name, array, size in (("q", q, model.nq), ("v", v, model.nv)):
            if array.ndim != 1:
                raise ShapeError(
                    f"{name} has shape {array.shape}; a world starts in one state, {name} ({size},). See ps.rollout."
                )
        self._check_limits(q)
        check_closed(model, q, v)
        return PlantState(q, v)

    def _check_limits(self, q: np.ndarray) -> None:
        for joint in (joint for joint in self.model.joints if joint.kind.flat):
            lower, upper = joint.kind.limits
            for own, low, high in zip(q[joint.q_slice], lower, upper, strict=True):
                if not low <= own <= high:
                    raise ModelError(
                        f"The joint {joint.name} starts at {own:.6g}, which is not inside its limits {low:.6g} and "
                        f"{high:.6g}; start it between them."
                    )

    def room(self, q: np.ndarray) -> float:
        """How far the joints are from their limits at least."""
        least = np.inf
        for row in self.system.rows:
            if row.law == c.LIMIT_LAW:
                least = min(least, row.sign * (q[row.coordinate] - dict(row.values)[c.BOUND]))
        return float(least)


def _key(site: Site) -> tuple[int, int, int]:
    """A shape of the model, whichever list of sites it is in."""
    return site.body, id(site.shape), id(site.placement)
