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
        if len(near) == first:  # no corner is near: two edges, or something round
            near.append((int(self.pairs.starts[index]), distance, point, normal, pair.a.body, pair.b.body))
        return distance

    def _corners(self, near: list, index: int, pair: Pair, a: Any, b: Any, horizon: float) -> None:
        slot = int(self.pairs.starts[index]) + 1
        for site, own, function, other, way in (
            (pair.a, a, self._to_b[index], b, 1.0),
            (pair.b, b, self._to_a[index], a, -1.0),
        ):
            turn, shift = own
            for corner in site.corners @ turn.T + shift:
                distance, point, normal = self._measure(function, (turn, corner), other)
                if distance < horizon:
                    near.append((slot, distance, point, way * normal, pair.a.body, pair.b.body))
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
