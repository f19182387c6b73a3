"""Geoms of a compiled MJCF file as visual and collision geometry."""

from collections.abc import Iterator
from typing import Any

from phistar.io.mjcf.compile import Compiled
from phistar.io.mjcf.meshes import MeshFile, pose
from phistar.model import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Plane, Sphere
from phistar.spatial import Pose

_LAST_VISIBLE_GROUP = 2  # MuJoCo's viewers hide the groups above it
_GREY = [0.5, 0.5, 0.5, 1.0]  # a geom of this colour, MuJoCo's default, takes its material's


def geometries(compiled: Compiled, body: int) -> tuple[Geometry, ...]:
    """Shapes of one body, in its frame. A geom that is both drawn and collides makes two."""
    mj, first = compiled.mj, int(compiled.mj.body_geomadr[body])
    made: list[Geometry] = []
    for geom in range(first, first + int(mj.body_geomnum[body])):
        mesh = compiled.meshes.get(geom)
        if mesh is None and geom in compiled.meshes:
            continue  # a height field, or a mesh that cannot be told by a path
        shape = shape_of(compiled, geom) if mesh is None else Mesh(mesh.path or "", mesh.scale)
        placement = pose(mj.geom_pos[geom], mj.geom_quat[geom]) @ inside_geom(mj, geom, mesh)
        collides = mj.geom_contype[geom] or mj.geom_conaffinity[geom] if mesh is None else mesh.collides
        for role in _roles(mj.geom_group[geom] <= _LAST_VISIBLE_GROUP, collides):
            made.append(Geometry(shape, placement, mj.geom(geom).name, _color(mj, geom), role))
    return tuple(made)


def inside_geom(mj: Any, geom: int, mesh: MeshFile | None) -> Pose:
    """Pose of the shape's frame in the geom's: MuJoCo moves the frame of a mesh it has read to its centre."""
    if mesh is None:
        return Pose()
    asset = int(mj.geom_dataid[geom])
    moved = Pose() if asset < 0 else pose(mj.mesh_pos[asset], mj.mesh_quat[asset])
    return moved.inverse @ mesh.placement


def shape_of(compiled: Compiled, geom: int) -> Any:
    """The shape of a geom that is no mesh."""
    return _shape(compiled, int(compiled.mj.geom_type[geom]), compiled.mj.geom_size[geom].tolist())


def site_shape(compiled: Compiled, site: int) -> Any:
    """The shape of a site."""
    return _shape(compiled, int(compiled.mj.site_type[site]), compiled.mj.site_size[site].tolist())


def _shape(compiled: Compiled, kind: int, size: list[float]) -> Any:
    kinds = compiled.mujoco.mjtGeom
    shapes = {
        kinds.mjGEOM_PLANE: lambda: Plane(),
        kinds.mjGEOM_SPHERE: lambda: Sphere(size[0]),
        kinds.mjGEOM_CAPSULE: lambda: Capsule(size[0], 2.0 * size[1]),
        kinds.mjGEOM_ELLIPSOID: lambda: Ellipsoid(size),
        kinds.mjGEOM_CYLINDER: lambda: Cylinder(size[0], 2.0 * size[1]),
        kinds.mjGEOM_BOX: lambda: Box([2.0 * half for half in size]),
    }
    return shapes[kind]()


def _roles(is_drawn: bool, collides: bool) -> Iterator[str]:
    if is_drawn:
        yield "visual"
    if collides:
        yield "collision"


def _color(mj: Any, geom: int) -> tuple[float, ...]:
    own, material = mj.geom_rgba[geom].tolist(), int(mj.geom_matid[geom])
    return tuple(mj.mat_rgba[material].tolist() if own == _GREY and material >= 0 else own)
