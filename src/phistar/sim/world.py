"""The shapes of a plant's system that may touch, two by two, with the stops of its joints: what a motion tells of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.constraints import columns as c
from phistar.errors import ModelError, PhistarError, ShapeError
from phistar.geometry import shape_columns as s
from phistar.geometry.shape_records import PlacedShape, record_of
from phistar.model import Model
from phistar.plant.actuators import Actuator
from phistar.plant.engine import System
from phistar.plant.fields import Field
from phistar.plant.plant import Plant
from phistar.plant.session import PlantState, Session
from phistar.plant.single_rows import SingleRow
from phistar.plant.tendon_rows import TendonRow
from phistar.sim.closing import check_closed
from phistar.sim.roots import Roots


class Penetration(PhistarError):
    """Two bodies intersect."""


@dataclass(frozen=True)
class World:
    """A system, and every two of its shapes that may touch. Pairs are numbered; the first shape of a pair is the one
    added earlier, but a half-space always comes second: forces act on the first, and back on the second."""

    system: System
    actuators: tuple[Actuator, ...] = ()
    fields: tuple[Field, ...] = ()

    @staticmethod
    def of(plant: Plant) -> World:
        return World(plant.system, plant.actuators, plant.fields)

    @property
    def model(self) -> Model:
        return self.system.model

    @cached_property
    def roots(self) -> Roots:
        """The free roots of its trees."""
        return Roots(self.model)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Numbers of the system's shapes as the step numbers them: half-spaces last."""
        shapes = self.system.shapes
        return tuple(sorted(range(len(shapes)), key=lambda i: record_of(shapes[i].shape).kind == s.HALFSPACE))

    @cached_property
    def pairs(self) -> np.ndarray:
        """(p, 2): the two shapes of every pair, by their numbers in the system."""
        shapes = self.system.shapes
        groups = np.array([shape.group for shape in shapes], dtype=int)
        bodies = np.array([shape.body for shape in shapes], dtype=int)
        order = np.array(self.order, dtype=int)
        groups, bodies = groups[order], bodies[order]
        meet = self.system.meets[np.ix_(groups, groups)] != 0
        return order[np.argwhere(np.triu(meet & (bodies[:, None] != bodies[None, :]), 1))]

    def shapes_of(self, pair: int) -> tuple[PlacedShape, PlacedShape]:
        """The first and the second shape of a pair; forces act on the first, and back on the second."""
        first, second = self.pairs[pair].tolist()
        return self.system.shapes[first], self.system.shapes[second]

    def pair_name(self, pair: int) -> str:
        if pair not in self._names:
            self._names[pair] = " / ".join(shape.name for shape in self.shapes_of(pair))
        return self._names[pair]

    @cached_property
    def _names(self) -> dict[int, str]:
        """Names of pairs that were asked for."""
        return {}

    @cached_property
    def pair_numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """(n, n) each, of two shapes as the step numbers them: the number of their pair, and 1 where the first of them
        is its first, −1 where it is its second."""
        count = len(self.order)
        number, sign = np.full((count, count), -1), np.ones((count, count))
        first, second = self._places[self.pairs].T
        number[first, second] = number[second, first] = np.arange(len(self.pairs))
        sign[second, first] = -1.0
        return number, sign

    @cached_property
    def pair_places(self) -> tuple[np.ndarray, np.ndarray]:
        """(p, 2) each: the bodies of every pair, and their nodes."""
        shapes = self.system.shapes
        bodies, nodes = (np.array(x, dtype=int) for x in ([s.body for s in shapes], [s.node for s in shapes]))
        return bodies[self.pairs], nodes[self.pairs]

    @cached_property
    def numbered_pairs(self) -> np.ndarray:
        """(p, 2): the shapes of every pair as the step numbers them, the lower number first."""
        return np.sort(self._places[self.pairs], axis=-1)

    @cached_property
    def _places(self) -> np.ndarray:
        """Number of every shape of the system in the step."""
        places = np.empty(len(self.order), dtype=int)
        places[list(self.order)] = np.arange(len(self.order))
        return places

    @cached_property
    def stops(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """The rows of the system that are limits of joints and tendons, and the names of those."""
        rows = [number for number, row in enumerate(self.system.rows) if row.law == c.LIMIT_LAW]
        return np.array(rows, dtype=int), tuple(self._stop_name(self.system.rows[number]) for number in rows)

    def _stop_name(self, row: SingleRow | TendonRow) -> str:
        """Name of the joint or the tendon that a row stops."""
        if isinstance(row, TendonRow):
            return self.system.tendons[row.tendon].name
        return next(j.name for j in self.model.joints if j.v_slice.start <= row.rate < j.v_slice.stop)

    def session(self) -> Session:
        """A session of the system, whose steps tell what they did."""
        made = Session(self.system, self.actuators, self.model.name, self.fields)
        made.engine.counts[c.TELLING] = 1
        return made

    def start(self, q: Any, v: Any) -> PlantState:
        """State at rest against whatever touches; refused where a joint is beyond its limits, or a loop is open."""
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
        """Least distance of the joints from their limits."""
        least = np.inf
        for row in self.system.rows:
            if row.law == c.LIMIT_LAW and isinstance(row, SingleRow):
                least = min(least, row.sign * (q[row.coordinate] - dict(row.values)[c.BOUND]))
        return float(least)
