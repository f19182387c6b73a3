"""Distances between shapes as a limit on rates: what is left of each distance is approached, not passed.

    ḋ = n*(v_b − v_a) ≥ −(d − margin)/dt

for the nearest points of two shapes and the unit normal n from one to the other; coal finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.contact.coal_shapes import coal, convex
from phistar.contact.sites import Site, sites
from phistar.control.tasks import Limit
from phistar.dynamics import forward_kinematics, jacobian
from phistar.errors import PhistarError, ShapeError
from phistar.model import Model
from phistar.model.geometry import Geometry, Mesh, Polytope
from phistar.short_repr import short_repr
from phistar.spatial import skew


@short_repr
class Distance(NamedTuple):
    """Signed `distance` between two shapes, m; the nearest `points` (2, 3) on them and the unit `normal` (3,) from the
    first to the second, world axes; their `names` and `bodies` (−1: the world)."""

    distance: float
    points: Array
    normal: Array
    names: tuple[str, str]
    bodies: tuple[int, int]


@final
@dataclass(frozen=True, eq=False)
class CollisionLimit(Limit):
    """The robot's collision shapes stay apart from each other and from obstacles, by a margin.

    Shapes of one body, of a body and its parent, and of bodies in `ignored` may touch. Meshes keep apart by their
    convex hulls.

    Parameters
    ----------
    margin : float
        Least distance, m.
    obstacles : sequence of Geometry
        Shapes that stand in the world, beside those of the model's own base.
    within : float
        Pairs farther apart than this do not count, m.
    ignored : sequence of pairs of body names

    Examples
    --------
    >>> ball = ps.Geometry(ps.Sphere(0.1), ps.Pose(xyz=(0.5, 0.0, 0.5)), role="collision")
    >>> ps.control.CollisionLimit(0.02, [ball]).within
    0.5
    """

    margin: float = 0.01
    obstacles: Sequence[Geometry] = ()
    within: float = 0.5
    ignored: Sequence[tuple[str, str]] = field(default=())

    def __post_init__(self) -> None:
        if not 0.0 <= self.margin < self.within < np.inf:
            raise ShapeError(f"0 ≤ margin < within; they are {self.margin!r:.30} and {self.within!r:.30} m.")
        for obstacle in self.obstacles:
            if not isinstance(obstacle, Geometry):
                raise PhistarError(f"An obstacle is a ps.Geometry, not {obstacle!r:.80}.")
        object.__setattr__(self, "obstacles", tuple(self.obstacles))
        object.__setattr__(self, "ignored", tuple(tuple(pair) for pair in self.ignored))

    def distances(self, model: Model, q: Any) -> list[Distance]:
        """All pairs nearer than `within`, at q (nq,)."""
        pairs = _pairs(model, self.obstacles, self.ignored)
        every = tuple(dict.fromkeys(site for pair in pairs for site in pair))
        placed = {site: _shape_pose(model, np.asarray(q, dtype=float), site) for site in every}
        library = coal()
        request, found = library.DistanceRequest(), []
        for a, b in pairs:
            (turn, at), (other, there) = placed[a], placed[b]
            if np.linalg.norm(at - there) - a.reach - b.reach > self.within:
                continue
            result = library.DistanceResult()
            one, two = library.Transform3s(turn, at), library.Transform3s(other, there)
            distance = library.distance(convex(a.shape), one, convex(b.shape), two, request, result)
            if distance <= self.within:
                points = np.stack([result.getNearestPoint1(), result.getNearestPoint2()])
                normal = np.array(result.normal, dtype=float)
                found.append(Distance(float(distance), points, normal, (a.name, b.name), (a.body, b.body)))
        return found

    def rows(self, model: Model, q: Array, dt: float) -> tuple[Array, Array]:
        near = self.distances(model, q)
        G, h = np.zeros((len(near), model.nv)), np.zeros(len(near))
        for number, pair in enumerate(near):
            for side, body, point in zip((1.0, -1.0), pair.bodies, pair.points, strict=True):
                if body >= 0:
                    name = model.bodies[body].name
                    J, pose = jacobian(model, q, name), forward_kinematics(model, q, name)
                    moving = J[3:] - skew(point - pose[:3, 3]) @ J[:3]
                    G[number] += side * (pair.normal @ moving)
            h[number] = (pair.distance - self.margin) / dt
        return G, h


def _as_convex(site: Site) -> Site:
    """A shape that has a distance: of a mesh its hull."""
    shape = site.shape
    return replace(site, shape=Polytope.hull(shape)) if isinstance(shape, Mesh) and shape.path else site


def _shape_pose(model: Model, q: Array, site: Site) -> tuple[Array, Array]:
    """Rotation and origin of a shape in the world."""
    pose = np.eye(4) if site.body < 0 else forward_kinematics(model, q, model.bodies[site.body].name)
    return pose[:3, :3] @ site.placement.rotation, pose[:3, :3] @ site.placement.translation + pose[:3, 3]


@lru_cache(maxsize=16)
def _pairs(
    model: Model, obstacles: tuple[Geometry, ...], ignored: tuple[tuple[str, str], ...]
) -> tuple[tuple[Site, Site], ...]:
    """The pairs of shapes that must stay apart."""
    apart = {frozenset(model.body_index(name) for name in pair) for pair in ignored}
    own, above = sites(model), dict(enumerate(model.parents))
    standing = [Site(o.name or f"obstacle {i}", -1, o.shape, o.placement) for i, o in enumerate(obstacles)]
    own, standing = ([_as_convex(site) for site in each] for each in (own, standing))
    found = []
    for i, a in enumerate(own):
        for b in own[:i]:
            linked = a.body == b.body or above.get(a.body) == b.body or above.get(b.body) == a.body
            if max(a.body, b.body) >= 0 and not linked and frozenset((a.body, b.body)) not in apart:
                found.append((b, a))
        found += [(a, b) for b in standing if a.body >= 0]
    return tuple(found)
