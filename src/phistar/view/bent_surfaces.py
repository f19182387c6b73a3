"""Bodies that bend as they are seen: surfaces carried by the nodes, deflections drawn as large as asked.

A vertex goes with the nodes next to it, each of which is displaced and turned by the modes. To exaggerate, modal
coordinates are multiplied, so that what is mounted on a bent body goes along.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.model import FlexibleInertia, Geometry, Model, Polytope
from phistar.spatial import Pose, skew
from phistar.view.report_shapes import Triangles, triangles, visible_geometry

NEAREST = 4  # nodes that carry a vertex
PIECES = 24  # a surface's edges are at most this part of the body's length
SLENDER, SIDES = 60.0, 10  # length over radius, and sides, of the rod that stands for a body without shapes
STRAIGHT = 1e-6  # of a body's length: nodes farther from a line are not on it
MOST_TRIANGLES = 40_000


def exaggerate_modes(model: Model, q: np.ndarray, factor: float) -> np.ndarray:
    """Configuration (…, nq) with its modal coordinates multiplied."""
    if factor == 1.0 or not model.is_flexible:
        return np.asarray(q)
    result = np.array(q, dtype=float)
    for body in model.bodies:
        result[..., body.mode_q_slice] *= factor
    return result


def node_places(body: FlexibleInertia, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) and rotations (n, 3, 3) of all nodes at η, in the body's axes."""
    bent = np.einsum("naij,j->nai", body.second_order, eta)
    place = body.nodes + np.einsum("nai,i->na", body.modes + 0.5 * bent, eta)
    angle = np.einsum("nai,i->na", body.rotations, eta)
    size = np.linalg.norm(angle, axis=-1)[:, None, None]
    tilde = skew(angle)
    half = np.sinc(0.5 * size / np.pi)
    return place, np.eye(3) + np.sinc(size / np.pi) * tilde + 0.5 * half * half * np.matmul(tilde, tilde)


@dataclass(frozen=True, eq=False)
class Surface:
    """The surface of a body that bends, in its own axes when nothing is bent: points (n, 3), faces (t, 3) of them, and
    the normals at their corners (t, 3, 3); `geometry` is the shape it is of, None for what stands for a body without
    any."""

    body: FlexibleInertia
    points: np.ndarray
    faces: np.ndarray
    normals: np.ndarray
    geometry: Geometry | None

    @cached_property
    def carriers(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes that carry each point, and their weights, (n, k) each."""
        nodes = self.body.nodes
        if self.geometry is not None and self.geometry.node >= 0:  # what is fixed to one node does not bend
            return np.full((len(self.points), 1), self.geometry.node), np.ones((len(self.points), 1))
        far = np.linalg.norm(self.points[:, None] - nodes[None], axis=-1)
        chosen = np.argsort(far, axis=1)[:, : min(NEAREST, len(nodes))]
        near = np.take_along_axis(far, chosen, axis=1)
        spacing = 0.25 * np.ptp(nodes, axis=0).max() / len(nodes) + 1e-12
        weights = 1.0 / (near - near[:, :1] + spacing) ** 2  # a point beside the nodes' line is as near to several
        return chosen, weights / weights.sum(axis=1, keepdims=True)

    def deform(self, eta: np.ndarray) -> tuple[np.ndarray, Triangles]:
        """The points at modal coordinates η (m,), and the triangles that they make."""
        place, turn = node_places(self.body, eta)
        chosen, weights = self.carriers
        arms = self.points[:, None] - self.body.nodes[chosen]
        moved = place[chosen] + np.einsum("vkij,vkj->vki", turn[chosen], arms)
        points = np.einsum("vk,vki->vi", weights, moved)
        turned = np.einsum("vk,vkij->vij", weights, turn[chosen])
        facing = np.einsum("tcij,tcj->tci", turned[self.faces], self.normals)
        facing /= np.maximum(np.linalg.norm(facing, axis=-1, keepdims=True), 1e-12)
        return points, Triangles(points[self.faces], facing)


def surfaces(model: Model, index: int) -> list[Surface]:
    """The surfaces of a body that bends: of its shapes, or of a rod or hull about its nodes where it has none."""
    body = model.bodies[index]
    assert body.flexible is not None
    shapes = [(each, each.shape, each.placement) for each in visible_geometry(body.geometry)]
    if not any(each.node < 0 for each, _, _ in shapes):  # what is fixed to its nodes does not show the body
        shapes += [(None, *found) for found in _stand_in(body.flexible)]
    size = max(float(np.ptp(body.flexible.nodes, axis=0).max()) / PIECES, 1e-9)
    made = []
    for geometry, shape, place in shapes:
        found = triangles(shape)
        rest = Triangles(found.corners @ place.rotation.T + place.translation, found.normals @ place.rotation.T)
        corners, normals = _subdivide(rest, size)
        flat = corners.reshape(-1, 3)
        _, first, places = np.unique(np.round(flat / size, 6), axis=0, return_index=True, return_inverse=True)
        made.append(Surface(body.flexible, flat[first], places.reshape(-1, 3), normals, geometry))
    return made


def _stand_in(body: FlexibleInertia) -> list[tuple[Polytope, Pose]]:
    """A rod along nodes that stand in a line, else their hull."""
    middle = body.nodes.mean(axis=0)
    _, sizes, axes = np.linalg.svd(body.nodes - middle)
    along = (body.nodes - middle) @ axes[0]
    length = float(np.ptp(along))
    if length == 0.0:
        return []
    if len(sizes) > 1 and sizes[1] > STRAIGHT * sizes[0]:
        solid = len(sizes) > 2 and sizes[2] > STRAIGHT * sizes[0] and len(body.nodes) > 3
        return [(Polytope(body.nodes), Pose())] if solid else []
    center = middle + 0.5 * (along.max() + along.min()) * axes[0]
    turn = np.stack([axes[1], np.cross(axes[0], axes[1]), axes[0]], axis=1)
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(SIDES)], axis=1) * (length / SLENDER)
    half = np.array([0.0, 0.0, 0.5 * length])
    ends = np.concatenate([ring - half, ring + half])
    return [(Polytope(ends @ turn.T + center), Pose())]


def _subdivide(whole: Triangles, size: float) -> Triangles:
    """The same surface in triangles whose edges are no longer than `size`, halved along their longest."""
    corners, normals = whole
    while len(corners) < MOST_TRIANGLES:
        edges = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=-1)
        long = edges.max(axis=1) > size
        if not long.any():
            break
        first = edges[long].argmax(axis=1)
        order = (first[:, None] + np.arange(3)) % 3
        parts = []
        for x in (corners, normals):
            a, b, c = (np.take_along_axis(x[long], order[:, k, None, None], axis=1) for k in range(3))
            half = 0.5 * (a + b)
            pieces = [np.concatenate(piece, axis=1) for piece in ((a, half, c), (half, b, c))]
            parts.append(np.concatenate([x[~long], *pieces]))
        corners, normals = parts
    return Triangles(corners, normals)
