"""How near bodies are: distance, point and normal at every place where they may soon touch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.contact.pairs import Pair, Pairs, Site
from phistar.contact.shapes import coal, convex
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
        self.pairs = pairs
        self._request = library.DistanceRequest()
        self._transform = library.Transform3s
        self._result = library.DistanceResult
        self._point = library.Sphere(0.0)
        self._between = [library.ComputeDistance(convex(p.a.shape), convex(p.b.shape)) for p in pairs.pairs]
        self._to_b = [library.ComputeDistance(self._point, convex(p.b.shape)) for p in pairs.pairs]
        self._to_a = [library.ComputeDistance(self._point, convex(p.a.shape)) for p in pairs.pairs]

    def gaps(self, poses: dict[int, tuple[np.ndarray, np.ndarray]], horizon: Any) -> Gaps:
        """The places nearer than `horizon` (n pairs, or one number), for bodies posed (R, p) by index."""
        near: list[tuple[int, float, np.ndarray, np.ndarray, int, int]] = []
        nearest, within = np.inf, np.broadcast_to(horizon, len(self.pairs.pairs))
        for index, pair in enumerate(self.pairs.pairs):
            placed_a, placed_b = _placed(pair.a, poses), _placed(pair.b, poses)
            bound = float(np.linalg.norm(placed_a[1] - placed_b[1])) - pair.a.reach - pair.b.reach
            if bound > within[index]:
                nearest = min(nearest, bound)
                continue
            start, first = int(self.pairs.starts[index]), len(near)
            distance, point, normal = self._measure(self._between[index], placed_a, placed_b)
            nearest = min(nearest, distance)
            if distance > within[index]:
                continue
            if distance <= 0.0:
                raise Penetration(f"{pair.name} intersect by {-distance:.3g} m.")
            if pair.slots > 1:
                self._corners(near, index, pair, poses, placed_a, placed_b, float(within[index]))
            if len(near) == first:  # no corner is near: two edges, or something round
                near.append((start, distance, point, normal, pair.a.body, pair.b.body))
        return _gathered(near, float(nearest))

    def _corners(
        self, near: list, index: int, pair: Pair, poses: Any, placed_a: Any, placed_b: Any, horizon: float
    ) -> None:
        slot = int(self.pairs.starts[index]) + 1
        sides = ((pair.a, self._to_b[index], placed_b, 1.0), (pair.b, self._to_a[index], placed_a, -1.0))
        for site, function, other, way in sides:
            turn, shift = poses.get(site.body, _STILL)
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


_STILL = (np.eye(3), np.zeros(3))


def _placed(site: Site, poses: dict[int, tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    turn, shift = poses.get(site.body, _STILL)
    return turn @ site.placement.rotation, turn @ site.placement.translation + shift


def _gathered(near: list, nearest: float) -> Gaps:
    if not near:
        return Gaps(np.zeros(0, int), np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 2), int), nearest)
    slot, distance, point, normal, a, b = zip(*near, strict=True)
    bodies = np.stack([a, b], axis=-1)
    return Gaps(np.array(slot), np.array(distance), np.array(point), np.array(normal), bodies, nearest)
