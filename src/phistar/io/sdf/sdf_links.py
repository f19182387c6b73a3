"""Links of an SDF file: inertia, and visual and collision geometry, in the link's own frame."""

from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.io.packages import Folders
from phistar.io.sdf.scope import SdfLink
from phistar.io.sdf.sdf_values import child, number, pose, text, vector
from phistar.io.urdf.notes import Notes
from phistar.io.xml import Element
from phistar.model import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Plane, Sphere
from phistar.spatial import Inertia, Pose, from_axis_angle

_Z = np.array([0.0, 0.0, 1.0])


def inertia_of(link: SdfLink, notes: Notes) -> Inertia:
    """<inertial>: mass and tensor about the centre of mass, in the axes of its <pose>; SDF's default is 1 kg, 1 kg m²
    about each axis."""
    inertial = child(link.element, "inertial")
    if inertial is None:
        if not link.static:
            notes.add("a link without <inertial> has SDF's default, 1 kg and 1 kg m²", link.element)
        return Inertia.unchecked(1.0, np.zeros(3), np.eye(3))
    if inertial.attributes.get("auto", "").lower() in ("1", "true"):
        raise inertial.refuse("<inertial auto> asks for an inertia from shapes and densities; write it out.")
    placement, tensor = pose(inertial, notes), child(inertial, "inertia")
    if inertial.all("fluid_added_mass"):
        notes.add("<fluid_added_mass> in <inertial> was ignored", inertial)
    xx, yy, zz, xy, xz, yz = (
        number(tensor, key, default) if tensor is not None else default
        for key, default in (("ixx", 1.0), ("iyy", 1.0), ("izz", 1.0), ("ixy", 0.0), ("ixz", 0.0), ("iyz", 0.0))
    )
    turned = placement.rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ placement.rotation.T
    try:
        return Inertia.unchecked(number(inertial, "mass", 1.0), placement.translation, (turned + turned.T) / 2)
    except ModelError as problem:
        raise inertial.refuse(str(problem)) from None


def geometries_of(link: SdfLink, notes: Notes) -> list[Geometry]:
    """<visual> and <collision>, in file order."""
    made = []
    for element in link.element.children:
        if element.tag not in ("visual", "collision"):
            if element.tag in ("light", "sensor", "projector", "audio_source", "particle_emitter", "battery"):
                notes.ignore(element, link.element)
            continue
        geometry = child(element, "geometry")
        shape = next((each for each in (geometry.children if geometry else ()) if each.tag in _SHAPES), None)
        if shape is None:
            notes.add(f"a <{element.tag}> without a shape that is read was ignored", element)
            continue
        try:
            made.append(_geometry(element, shape, link.folders, notes))
        except ModelError as problem:
            raise shape.refuse(str(problem)) from None
    return made


def _geometry(element: Element, shape: Element, folders: Folders, notes: Notes) -> Geometry:
    placement, name = pose(element, notes), element.attributes.get("name", "")
    if shape.tag == "plane":
        placement = placement @ _standing(vector(shape, "normal", 3, (0.0, 0.0, 1.0)))
    return Geometry(_SHAPES[shape.tag](shape, folders, notes), placement, name, _color(element), element.tag)


def _standing(normal: np.ndarray) -> Pose:
    """The turn of z into a plane's normal."""
    length = float(np.linalg.norm(normal))
    axis = np.cross(_Z, normal)
    if length == 0.0 or np.linalg.norm(axis) < 1e-12 * length:
        return Pose() if normal[2] >= 0.0 else Pose(rpy=(np.pi, 0.0, 0.0))
    angle = np.arccos(np.clip(normal[2] / length, -1.0, 1.0))
    return Pose(rotation=from_axis_angle(axis / np.linalg.norm(axis), angle))


def _color(visual: Element) -> tuple[float, ...] | None:
    material = child(visual, "material")
    diffuse = None if material is None else child(material, "diffuse")
    if diffuse is None or material is None:
        return None
    words = diffuse.text.split()
    rgba = vector(material, "diffuse", 4 if len(words) == 4 else 3)
    return tuple(np.clip(np.append(rgba, 1.0)[:4], 0.0, 1.0).tolist())


def _mesh(shape: Element, folders: Folders, notes: Notes) -> Mesh:
    address = text(shape, "uri")
    found = folders.find(address)
    if found.path is None:
        notes.add(f"a mesh file {found.reason} and is left out; {folders.advice(address)}", shape, address)
    return Mesh("" if found.path is None else str(found.path), vector(shape, "scale", 3, (1.0, 1.0, 1.0)))


def _round(kind: Any) -> Any:
    return lambda shape, folders, notes: kind(number(shape, "radius", 0.5), number(shape, "length", 1.0))


_SHAPES: dict[str, Any] = {
    "box": lambda shape, folders, notes: Box(vector(shape, "size", 3, (1.0, 1.0, 1.0))),
    "sphere": lambda shape, folders, notes: Sphere(number(shape, "radius", 1.0)),
    "cylinder": _round(Cylinder),
    "capsule": _round(Capsule),
    "ellipsoid": lambda shape, folders, notes: Ellipsoid(vector(shape, "radii", 3, (1.0, 1.0, 1.0))),
    "plane": lambda shape, folders, notes: Plane(),
    "mesh": _mesh,
}
