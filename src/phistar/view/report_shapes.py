"""Shapes as triangles, for pictures: corners (t, 3, 3) and the normals there (t, 3, 3), in the shape's frame."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from phistar.errors import PhistarError
from phistar.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Plane, Polytope, Shape, Sphere
from phistar.model.model import Model

AROUND = 40  # sides of what is round
COLORS = ((0.56, 0.65, 0.74), (0.80, 0.55, 0.38), (0.55, 0.69, 0.55), (0.72, 0.60, 0.74), (0.78, 0.72, 0.47))
GROUND = (0.86, 0.87, 0.88)


class Triangles(NamedTuple):
    """Corners and normals, (t, 3, 3) each."""

    corners: np.ndarray
    normals: np.ndarray


def triangles(shape: Shape) -> Triangles:
    """The surface of a shape; a plane is a square of 1 m, to be scaled by who draws it."""
    if isinstance(shape, Box):
        signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return _hull(0.5 * shape.size * signs)
    if isinstance(shape, Polytope):
        return _hull(shape.points)
    if isinstance(shape, Mesh):
        return _mesh(shape.path, tuple(shape.scale))
    if isinstance(shape, Ellipsoid):
        ball = triangles(Sphere(1.0))
        normals = ball.normals / np.maximum(shape.radii, 1e-9)
        return Triangles(ball.corners * shape.radii, normals / np.linalg.norm(normals, axis=-1, keepdims=True))
    if isinstance(shape, Sphere):
        return _surface_of_revolution([_arc(shape.radius, 0.0, -0.5 * np.pi, 0.5 * np.pi)])
    if isinstance(shape, Cylinder):
        r, h = shape.radius, 0.5 * shape.length
        strips = [_strip((0, -h), (r, -h), (0, -1)), _strip((r, -h), (r, h), (1, 0)), _strip((r, h), (0, h), (0, 1))]
        return _surface_of_revolution(strips)
    if isinstance(shape, Capsule):
        r, h = shape.radius, 0.5 * shape.length
        ends = _arc(r, -h, -0.5 * np.pi, 0.0), _arc(r, h, 0.0, 0.5 * np.pi)
        return _surface_of_revolution([ends[0], _strip((r, -h), (r, h), (1, 0)), ends[1]])
    if isinstance(shape, Plane):
        corners = np.array([[(-1, -1, 0), (1, -1, 0), (1, 1, 0)], [(-1, -1, 0), (1, 1, 0), (-1, 1, 0)]], dtype=float)
        return Triangles(corners, np.broadcast_to((0.0, 0.0, 1.0), corners.shape))
    raise TypeError(f"no triangles for {shape!r}")


def _strip(begin: tuple, end: tuple, normal: tuple) -> np.ndarray:
    """A straight piece of a profile: rows of r, z and the normal's r, z."""
    return np.array([(*begin, *normal), (*end, *normal)], dtype=float)


def _arc(radius: float, height: float, begin: float, end: float) -> np.ndarray:
    angle = np.linspace(begin, end, max(3, round((end - begin) / np.pi * AROUND / 2) + 1))
    out = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.hstack([radius * out + (0.0, height), out])


def _surface_of_revolution(strips: list[np.ndarray]) -> Triangles:
    """Profiles (r, z, normal) turned about z."""
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND + 1)
    made = []
    for strip in strips:
        c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
        r, z, nr, nz = (strip[None, :, k] + 0.0 * c for k in range(4))
        points = np.stack([r * c, r * s, z, nr * c, nr * s, nz], axis=-1)
        a, b, d, e = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
        made += [np.stack(corner, axis=2).reshape(-1, 3, 6) for corner in ((a, b, d), (a, d, e))]
    whole = np.concatenate(made)
    return Triangles(whole[..., :3], whole[..., 3:])


def _hull(points: np.ndarray) -> Triangles:
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    corners = np.asarray(points)[hull.simplices]
    return Triangles(corners, np.repeat(hull.equations[:, None, :3], 3, axis=1))


@lru_cache(maxsize=64)
def _mesh(path: str, scale: tuple[float, ...]) -> Triangles:
    """The triangles of a mesh file; none where it cannot be read: a picture is not the place to stop a run."""
    try:
        mesh = Mesh(path).read()
    except PhistarError:
        return Triangles(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)))
    corners = np.asarray(mesh.vertices)[np.asarray(mesh.faces)] * np.array(scale)
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-15)
    return Triangles(corners, np.repeat(flat[:, None], 3, axis=1))


def visible_geometry(geometry: tuple[Geometry, ...]) -> list[Geometry]:
    """Return the shapes of a body that are drawn: visual ones, and collision shapes with a name or alone."""
    visual = [each for each in geometry if each.role == "visual"]
    return [each for each in geometry if each.role == "visual" or each.name or not visual]


def color_of(geometry: Geometry | None, body: int, model: Model) -> np.ndarray:
    """Colour of a shape: its own, or its body's: dark for what is named on a coloured robot, a hue for the rest."""
    if geometry is None:
        return np.array(COLORS[body % len(COLORS)])
    if geometry.color is not None:
        return np.asarray(geometry.color[:3], dtype=float)
    if isinstance(geometry.shape, Plane):
        return np.array(GROUND)
    colored = body >= 0 and any(each.color is not None for each in model.bodies[body].geometry)
    return np.array((0.36, 0.40, 0.45) if colored else COLORS[body % len(COLORS)])
