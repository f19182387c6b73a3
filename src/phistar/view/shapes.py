"""Geometries as nodes of a viser scene: its own solids where it has them, triangles elsewhere."""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import PhistarError
from phistar.model import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Plane, Polytope, Sphere
from phistar.spatial.rotations import to_quaternion

PLAIN = (0.80, 0.82, 0.85, 1.0)  # where a file gives no colour
GROUND = (225, 228, 232)
LARGEST_TEXTURE = 512  # pixels
SHARP = 0.6  # rad: edges sharper than this are seen as edges

_log = logging.getLogger("phistar")


def wxyz(rotation: Any) -> np.ndarray:
    """(…, 3, 3) → (…, 4): the quaternion in viser's order."""
    return np.roll(to_quaternion(rotation), 1, axis=-1)


def draw(scene: Any, name: str, geometry: Geometry, opacity: float | None = None) -> Any:
    """A node of the scene with this geometry, placed as on its body; None where there is nothing to see."""
    color = PLAIN if geometry.color is None else tuple(float(x) for x in geometry.color)
    rgb = tuple(round(255 * min(max(x, 0.0), 1.0)) for x in color[:3])
    clear = opacity if opacity is not None else (color[3] if color[3] < 1.0 else None)
    place = {"position": geometry.placement.translation, "wxyz": wxyz(geometry.placement.rotation)}
    shape, look = geometry.shape, {"color": rgb, "opacity": clear, **place}
    if isinstance(shape, Plane):
        return scene.add_grid(name, infinite_grid=True, cell_size=0.25, section_size=1.0, **_ground_plane(), **place)
    if isinstance(shape, Box):
        return scene.add_box(name, dimensions=tuple(shape.size), **look)
    if isinstance(shape, Cylinder):
        return scene.add_cylinder(name, radius=shape.radius, height=shape.length, radial_segments=48, **look)
    if isinstance(shape, Sphere):
        return scene.add_icosphere(name, radius=shape.radius, subdivisions=4, **look)
    if isinstance(shape, Ellipsoid):
        return scene.add_icosphere(name, radius=1.0, subdivisions=4, scale=tuple(shape.radii), **look)
    if isinstance(shape, Mesh) and geometry.color is None and clear is None and Path(shape.path).suffix != ".stl":
        found = glb_of_mesh(shape.path)
        return None if found is None else scene.add_glb(name, found, scale=tuple(shape.scale), **place)
    solid = triangles(shape)
    return None if solid is None else scene.add_mesh_simple(name, solid[0], solid[1], **look)


def _ground_plane() -> dict[str, Any]:
    return {
        "cell_color": GROUND,
        "section_color": (200, 205, 212),
        "plane_color": (247, 248, 250),
        "plane_opacity": 0.6,
        "fade_distance": 30.0,
        "shadow_opacity": 0.18,
    }


def draw_ground(scene: Any, name: str, height: float, width: float) -> Any:
    """A grid under everything, where a scene has no plane of its own."""
    look = {**_ground_plane(), "plane_opacity": 0.0}
    return scene.add_grid(
        name, width=width, height=width, cell_size=0.1, section_size=0.5, position=(0.0, 0.0, height), **look
    )


def triangles(shape: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Vertices (n, 3) and faces (m, 3) of a mesh file (None where it cannot be read), a hull or a capsule."""
    import trimesh

    if isinstance(shape, Mesh):
        found = load_mesh(shape.path)
        if found is None:
            return None
        return _split_sharp_edges(np.asarray(found.vertices) * shape.scale, np.asarray(found.faces))
    if isinstance(shape, Polytope):
        made = trimesh.convex.convex_hull(np.asarray(shape.points))
        return _split_sharp_edges(np.asarray(made.vertices), np.asarray(made.faces))
    made = trimesh.creation.capsule(height=shape.length, radius=shape.radius, count=[32, 32])
    made.apply_translation([0.0, 0.0, -made.bounds.mean(axis=0)[2]])
    return np.asarray(made.vertices), np.asarray(made.faces)


def _split_sharp_edges(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same surface with its vertices doubled along sharp edges, so that light breaks there and nowhere else."""
    import trimesh

    made = trimesh.Trimesh(vertices, faces, process=True)
    made = trimesh.graph.smooth_shade(made, angle=SHARP)
    return np.asarray(made.vertices), np.asarray(made.faces)


@lru_cache(maxsize=256)
def glb_of_mesh(path: str) -> bytes | None:
    """A mesh file with its own colours and textures, the latter of a size that a screen shows, as GLB."""
    found = load_mesh(path)
    if found is None:
        return None
    material = getattr(found.visual, "material", None)
    for name in ("image", "baseColorTexture", "metallicRoughnessTexture", "emissiveTexture", "normalTexture"):
        image = getattr(material, name, None)
        if image is not None:
            image.thumbnail((LARGEST_TEXTURE, LARGEST_TEXTURE))
    return bytes(found.export(file_type="glb"))


def bounds(shape: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The corners of a shape's own box; None of what has none."""
    if isinstance(shape, Plane):
        return None
    if isinstance(shape, Mesh):
        found = load_mesh(shape.path)
        return None if found is None else tuple(np.sort(np.asarray(found.bounds) * shape.scale, axis=0))
    if isinstance(shape, Polytope):
        return np.min(shape.points, axis=0), np.max(shape.points, axis=0)
    if isinstance(shape, Box):
        half = 0.5 * np.asarray(shape.size)
    elif isinstance(shape, Ellipsoid):
        half = np.asarray(shape.radii)
    else:
        length = 0.0 if isinstance(shape, Sphere) else 0.5 * shape.length
        tip = shape.radius if isinstance(shape, Capsule | Sphere) else 0.0
        half = np.array([shape.radius, shape.radius, length + tip])
    return -half, half


@lru_cache(maxsize=256)
def load_mesh(path: str) -> Any:
    """The `trimesh.Trimesh` of a file; None, and a warning, where it cannot be read."""
    try:
        return Mesh(path).read()
    except PhistarError as error:
        if path:
            _log.warning("viewer: the mesh %r is left out (%.400s).", path, error)
        else:
            _log.warning("viewer: meshes of the robot's file were not found; `phistar info ROBOT` says what to do.")
        return None
