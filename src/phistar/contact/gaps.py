"""How near bodies are: distance, point and normal at every place where they may soon touch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.contact.pairs import Pair, Pairs
from phistar.contact.shapes import coal, convex
from phistar.contact.sites import Known, Sites
from phistar.errors import PhistarError


class Gaps(NamedTuple):
    """n near places: `slot` (n,) says which; `table` (n, 7) has distance, the point midway, and the normal from b to a,
    world axes. `nearest` is the smallest distance of the pairs that are near, ∞ where none is; `known` is where shapes
    are, and how far pairs are apart at least."""

    slots: tuple[int, ...]
    table: np.ndarray
    nearest: float
    known: Known

    @property
    def slot(self) -> np.ndarray:
        return np.array(self.slots, dtype=int)

    @property
    def distance(self) -> np.ndarray:
        return self.table[:, 0]

    @property
    def point(self) -> np.ndarray:
        return self.table[:, 1:4]

    @property
    def normal(self) -> np.ndarray:
        return self.table[:, 4:]


TURNED, NEARER = 0.9986, 0.98  # when crossing edges count beside corners: by 3° of the normal, or 2% of the distance
FACES = 0.999  # a corner is before a face when it is pushed along the face's normal, to 2.5°

Row = tuple[float, ...]  # of the table


class Penetration(PhistarError):
    """Two bodies intersect."""


class Nearness:
    """Finds gaps. Holds coal's shapes, and memory to work in: it is for one thread at a time."""

    def __init__(self, pairs: Pairs) -> None:
        library = coal()
        self.pairs, self.sites = pairs, Sites(pairs)
        self._request, self._result = library.DistanceRequest(), library.DistanceResult()
        self._transform = library.Transform3s
        self._poses = [self._transform() for _ in self.sites.every]  # filled anew for every state
        self._shapes = [[convex(site.shape) for site in (pair.a, pair.b)] for pair in pairs.pairs]
        self._point = point = library.Sphere(0.0)  # coal's functions do not keep their shapes alive
        self._between = [library.ComputeDistance(a, b) for a, b in self._shapes]
        self._to_b = [library.ComputeDistance(point, b) for _, b in self._shapes]
        self._to_a = [library.ComputeDistance(point, a) for a, _ in self._shapes]
        self._numbers, self._first = self.sites.numbers.tolist(), pairs.starts.tolist()

    def gaps(self, q: np.ndarray, v: np.ndarray, step: float, before: Gaps | None = None) -> Gaps:
        """Every place that may be inside its margin before a step's end; `before` are the gaps of a state shortly
        before, which spares a look at what is still far."""
        known, pairs, horizon, ready, measured = self.sites.close(q, v, step, before.known if before else None)
        slots, nearest = [self._first[index] for index in ready], min(measured[:, 0].tolist(), default=np.inf)
        if not pairs:
            return Gaps(tuple(slots), measured, nearest, known)
        rows: list[Row] = []
        placed: set[int] = set()
        for index, within in zip(pairs, horizon[pairs].tolist(), strict=True):
            for site in self._numbers[index]:
                if site not in placed:
                    placed.add(site)
                    self._poses[site].setTransform(known.rotation[site], known.center[site])
            distance = self._pair(slots, rows, index, known, within)
            known.clear[index] = distance
            if distance <= within and distance < nearest:
                nearest = distance
        table = np.concatenate([measured, np.array(rows).reshape(-1, 7)]) if rows else measured
        return Gaps(tuple(slots), table, nearest, known)

    def _pair(self, slots: list, rows: list, index: int, known: Known, horizon: float) -> float:
        """Adds the near places of a pair; its distance."""
        pair, (a, b), first = self.pairs.pairs[index], self._numbers[index], len(rows)
        own = self._measure(self._between[index], self._poses[a], self._poses[b])
        distance = own[0]
        if distance > horizon:
            return distance
        if distance <= 0.0:
            raise Penetration(f"{pair.name} intersect by {-distance:.3g} m.")
        if pair.slots > 1:
            self._corners(slots, rows, index, pair, known, horizon)
        if len(rows) == first or all(
            _dot(own[4:], row[4:]) < TURNED or distance < NEARER * row[0] for row in rows[first:]
        ):  # something round, or edges that cross: they push another way than corners do, or are nearer
            slots.append(self._first[index])
            rows.append(own)
        return distance

    def _corners(self, slots: list, rows: list, index: int, pair: Pair, known: Known, horizon: float) -> None:
        """Adds the corners of one shape that stand before a face of the other; they push along the face's normal."""
        slot, (a, b) = self._first[index] + 1, self._numbers[index]
        for site, own, function, facing, other, way in (
            (pair.a, a, self._to_b[index], pair.b, b, 1.0),
            (pair.b, b, self._to_a[index], pair.a, a, -1.0),
        ):
            turn = known.rotation[own]
            normals = facing.faces @ known.rotation[other].T
            for corner in site.corners @ turn.T + known.center[own]:
                row = self._measure(function, self._transform(turn, corner), self._poses[other])
                if row[0] < horizon:
                    nearest = normals[np.argmax(normals @ row[4:])]
                    if nearest @ row[4:] > FACES:
                        slots.append(slot)
                        rows.append((*row[:4], *(way * nearest).tolist()))
                slot += 1

    def _measure(self, function: Any, a: Any, b: Any) -> Row:
        """Distance, the point midway, and the normal from b to a."""
        result = self._result
        result.clear()
        distance = function(a, b, self._request, result)
        (ax, ay, az), (bx, by, bz) = result.getNearestPoint1().tolist(), result.getNearestPoint2().tolist()
        x, y, z = result.normal.tolist()
        return distance, 0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * (az + bz), -x, -y, -z


def _dot(a: Row, b: Row) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
