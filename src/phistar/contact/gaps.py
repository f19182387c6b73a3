"""How near bodies are: distance, point and normal at every place where they may soon touch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.contact.pairs import Pair, Pairs
from phistar.contact.shapes import coal, convex
from phistar.contact.sites import Placed, Sites
from phistar.errors import PhistarError


class Gaps(NamedTuple):
    """n near places: `slot` (n,) says which; `distance` (n,); `point` (n, 3) midway, `normal` (n, 3) from b to a, world
    axes; `bodies` (n, 2) of a and b, −1 the world. `nearest` is the smallest distance of all pairs, near or not."""

    slot: np.ndarray
    distance: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    bodies: np.ndarray
    nearest: float


TURNED, NEARER = 0.9986, 0.98  # when crossing edges count beside corners: by 3° of the normal, or 2% of the distance
FACES = 0.999  # a corner is before a face when it is pushed along the face's normal, to 2.5°


class Penetration(PhistarError):
    """Two bodies intersect."""


class Nearness:
    """Finds gaps. Holds coal's shapes, and nothing that depends on the state."""

    def __init__(self, pairs: Pairs) -> None:
        library = coal()
        self.pairs, self.sites = pairs, Sites(pairs)
        self._request, self._result = library.DistanceRequest(), library.DistanceResult
        self._transform = library.Transform3s
        self._shapes = [[convex(site.shape) for site in (pair.a, pair.b)] for pair in pairs.pairs]
        self._point = point = library.Sphere(0.0)  # coal's functions do not keep their shapes alive
        self._between = [library.ComputeDistance(a, b) for a, b in self._shapes]
        self._to_b = [library.ComputeDistance(point, b) for _, b in self._shapes]
        self._to_a = [library.ComputeDistance(point, a) for a, _ in self._shapes]
        self._reach = np.array([site.reach for site in self.sites.every])
        self._margin = np.array([pair.surface.margin for pair in pairs.pairs])

    def gaps(self, placed: Placed, step: float) -> Gaps:
        """Every place that may be inside its margin before a step's end."""
        a, b = self.sites.numbers.T
        apart = placed.center[a] - placed.center[b]
        bound = np.sqrt(np.einsum("ij,ij->i", apart, apart)) - self._reach[a] - self._reach[b]
        horizon = self._margin + 2.0 * step * (placed.speed[a] + placed.speed[b])
        near: list[tuple[int, float, np.ndarray, np.ndarray, int, int]] = []
        nearest = float(np.min(bound, initial=np.inf, where=bound > horizon))
        for index in np.nonzero(bound <= horizon)[0].tolist():
            nearest = min(nearest, self._pair(near, index, placed, float(horizon[index])))
        return _gathered(near, nearest)

    def _pair(self, near: list, index: int, placed: Placed, horizon: float) -> float:
        """Adds the near places of a pair; its distance."""
        pair, first = self.pairs.pairs[index], len(near)
        a, b = ((placed.rotation[i], placed.center[i]) for i in self.sites.numbers[index])
        distance, point, normal = self._measure(self._between[index], a, b)
        if distance > horizon:
            return distance
        if distance <= 0.0:
            raise Penetration(f"{pair.name} intersect by {-distance:.3g} m.")
        if pair.slots > 1:
            self._corners(near, index, pair, a, b, horizon)
        others = near[first:]
        if all(normal @ place[3] < TURNED or distance < NEARER * place[1] for place in others):
            # something round, or edges that cross: they push another way than corners do, or are nearer
            near.append((int(self.pairs.starts[index]), distance, point, normal, pair.a.body, pair.b.body))
        return distance

    def _corners(self, near: list, index: int, pair: Pair, a: Any, b: Any, horizon: float) -> None:
        """Adds the corners of one shape that stand before a face of the other; they push along the face's normal."""
        slot = int(self.pairs.starts[index]) + 1
        for site, own, function, facing, other, way in (
            (pair.a, a, self._to_b[index], pair.b, b, 1.0),
            (pair.b, b, self._to_a[index], pair.a, a, -1.0),
        ):
            turn, shift = own
            normals = facing.faces @ other[0].T
            for corner in site.corners @ turn.T + shift:
                distance, point, normal = self._measure(function, (turn, corner), other)
                if distance < horizon:
                    nearest = normals[np.argmax(normals @ normal)]
                    if nearest @ normal > FACES:
                        near.append((slot, distance, point, way * nearest, pair.a.body, pair.b.body))
                slot += 1

    def _measure(self, function: Any, a: Any, b: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Distance, the point midway, and the normal from b to a."""
        result = self._result()
        distance = function(self._transform(*a), self._transform(*b), self._request, result)
        point = 0.5 * (result.getNearestPoint1() + result.getNearestPoint2())
        return distance, point, -result.normal


def _gathered(near: list, nearest: float) -> Gaps:
    if not near:
        return Gaps(np.zeros(0, int), np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 2), int), nearest)
    slot, distance, point, normal, a, b = zip(*near, strict=True)
    bodies = np.stack([a, b], axis=-1)
    return Gaps(np.array(slot), np.array(distance), np.array(point), np.array(normal), bodies, nearest)
