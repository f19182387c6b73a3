"""Shapes as coal takes them: convex, about their own origin, with corners where they have any."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from phistar.errors import ModelError, PhistarError
from phistar.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Polytope, Shape, Sphere


def coal() -> Any:
    """The library of distances between convex shapes, imported when the first is asked for."""
    try:
        import coal  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise PhistarError("Contact needs the package coal: pip install 'phistar[sim]'.") from None
    return coal


@lru_cache(maxsize=4096)
def convex(shape: Shape) -> Any:
    """The shape as coal's."""
    library = coal()
    if isinstance(shape, Box):
        return library.Box(*shape.size)
    if isinstance(shape, Sphere):
        return library.Sphere(shape.radius)
    if isinstance(shape, Capsule):
        return library.Capsule(shape.radius, shape.length)
    if isinstance(shape, Cylinder):
        return library.Cylinder(shape.radius, shape.length)
    if isinstance(shape, Ellipsoid):
        return library.Ellipsoid(*shape.radii)
    if isinstance(shape, Plane):
        return library.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if isinstance(shape, Polytope):
        points = library.StdVec_Vec3s()
        for point in shape.points:
            points.append(point)
        return library.Convex.convexHull(points, False, "Qt")
    if isinstance(shape, Mesh):
        raise ModelError(
            f"The mesh {shape.path or '(its file was not found)'} has no distance of its own: collide with its convex "
            'hull or its convex pieces (ps.Polytope.hull, ps.Polytope.pieces; meshes = "hull" or "pieces" for a '
            "scene's robot), or with boxes, capsules and polytopes in its place."
        )
    raise ModelError(f"{shape!r:.100} is not a shape that contact knows.")


def corners(shape: Shape) -> np.ndarray:
    """The vertices of a flat-sided shape, (n, 3); of a round one, none: (0, 3)."""
    if isinstance(shape, Box):
        return np.array(list(product((-0.5, 0.5), repeat=3))) * shape.size
    return np.array(shape.points) if isinstance(shape, Polytope) else np.zeros((0, 3))


def faces(shape: Shape) -> np.ndarray:
    """The outward normals of a flat-sided shape's faces, (k, 3); of a round one, none: (0, 3)."""
    if isinstance(shape, Box):
        return np.concatenate([np.eye(3), -np.eye(3)])
    if isinstance(shape, Plane):
        return np.array([[0.0, 0.0, 1.0]])
    if isinstance(shape, Polytope):
        from scipy.spatial import ConvexHull

        return np.unique(np.round(ConvexHull(shape.points).equations[:, :3], 12), axis=0)
    return np.zeros((0, 3))


def reach(shape: Shape) -> float:
    """The radius of a ball about the origin that holds the shape; of a half-space, ∞."""
    if isinstance(shape, Sphere):
        return shape.radius
    if isinstance(shape, Capsule):
        return shape.radius + shape.length / 2
    if isinstance(shape, Cylinder):
        return float(np.hypot(shape.radius, shape.length / 2))
    if isinstance(shape, Ellipsoid):
        return float(np.max(shape.radii))
    points = corners(shape)
    return float(np.max(np.linalg.norm(points, axis=1))) if len(points) else np.inf
