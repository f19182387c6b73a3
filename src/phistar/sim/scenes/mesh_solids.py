"""Meshes that collide: by their convex hull, or cut into convex pieces; a mesh itself has no distance."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from phistar.backends.machine import cache
from phistar.errors import ModelError
from phistar.model import Geometry, Mesh, Model, Polytope
from phistar.model.geometry import Shape
from phistar.model.mesh_files import mesh_bytes

_log = logging.getLogger("phistar")
WAYS = ("hull", "pieces", "none")


def solids(mesh: Mesh, way: str) -> tuple[Polytope, ...]:
    """Convex collision shapes of a mesh: its `hull`, its `pieces`, or `none`."""
    if way == "none":
        return ()
    if not mesh.path:
        raise ModelError(
            "A collision mesh's file was not found: name its folder (packages under options), "
            'or leave such meshes out (meshes = "none").'
        )
    return (Polytope.hull(mesh),) if way == "hull" else pieces(mesh)


def pieces(mesh: Mesh) -> tuple[Polytope, ...]:
    """`Polytope.pieces`, kept on disk by the mesh's content: cutting takes seconds, and a scene is read many times."""
    content = mesh_bytes(mesh.path)
    name = cache.key("pieces", content, mesh.scale.tobytes())
    found = cache.load(name, cache.PIECES)
    if found is not None:
        return tuple(Polytope(points) for points in found[0]["points"])
    _log.warning("%s (%.1f MB) is cut into convex pieces: a second to a minute, once.", mesh.path, len(content) / 1e6)
    cut = Polytope.pieces(mesh)
    cache.store(name, {"points": [np.asarray(piece.points).tolist() for piece in cut]}, b"", cache.PIECES)
    return cut


def without_meshes(model: Model, way: str) -> Model:
    """The same robot with collision meshes replaced by their convex shapes; visuals stay."""
    bodies = tuple(replace(body, geometry=_replace_meshes(body.name, body.geometry, way)) for body in model.bodies)
    return replace(model, bodies=bodies, base_geometry=_replace_meshes("world", model.base_geometry, way))


def _replace_meshes(body: str, geometry: tuple[Geometry, ...], way: str) -> tuple[Geometry, ...]:
    found: list[Geometry] = []
    for number, each in enumerate(geometry):
        if each.role == "collision" and isinstance(each.shape, Mesh):
            found += with_shapes(replace(each, name=each.name or f"{body}:{number}"), solids(each.shape, way))
        else:
            found.append(each)
    return tuple(found)


def with_shapes(geometry: Geometry, shapes: Sequence[Shape]) -> list[Geometry]:
    """The geometry once for each shape; several have numbers behind its name, if it has one."""
    numbers = range(len(shapes)) if geometry.name and len(shapes) > 1 else [None] * len(shapes)
    names = [geometry.name if number is None else f"{geometry.name}:{number}" for number in numbers]
    return [replace(geometry, shape=shape, name=name) for shape, name in zip(shapes, names, strict=True)]
