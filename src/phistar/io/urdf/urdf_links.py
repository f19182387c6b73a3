"""Links of a URDF file: inertia, materials, and visual and collision geometry."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from phistar.errors import ModelError
from phistar.io.packages import Folders
from phistar.io.urdf.notes import Notes
from phistar.io.urdf.urdf_values import first, name_of, origin, required_number, vector
from phistar.io.xml import Element
from phistar.model import Box, Capsule, Cylinder, Geometry, Mesh, Sphere
from phistar.spatial import Inertia

Color = tuple[float, float, float, float]
Shape = Box | Capsule | Cylinder | Mesh | Sphere

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True)
class UrdfLink:
    """Inertia and geometry of a link of the file, in its own frame."""

    inertia: Inertia
    geometry: tuple[Geometry, ...]


def materials(robot: Element, notes: Notes) -> dict[str, Color]:
    """Name → rgba. Definitions inside a <visual> count for the whole file, as in other readers; the first one wins."""
    colors: dict[str, Color] = {}
    visuals = (visual for link in robot.all("link") for visual in link.all("visual"))
    inside = (material for visual in visuals for material in visual.all("material"))
    for material in (*robot.all("material"), *inside):
        if material.all("texture"):
            notes.add("the <texture> of a <material> was ignored", material)
        color = _color(material, notes)
        if color is not None and material.attributes.get("name"):
            colors.setdefault(material.attributes["name"], color)
    return colors


def read_link(link: Element, colors: Mapping[str, Color], folders: Folders, notes: Notes) -> UrdfLink:
    return UrdfLink(_inertia(link, notes), _geometries(link, colors, folders, notes))


def _inertia(link: Element, notes: Notes) -> Inertia:
    """<inertial>: mass, and the tensor about the centre of mass turned from its own axes into the link's.

    A link without one, or with one that names no <mass>, has no inertia; one without <inertia> is a point mass.
    """
    inertial = first(link, "inertial", notes)
    if inertial is None:
        return Inertia.zero()
    placement = origin(inertial, notes)
    mass, moments = first(inertial, "mass", notes), first(inertial, "inertia", notes)
    if mass is None:
        notes.add('an <inertial> without <mass value="…"/> was ignored: its link weighs nothing', inertial)
        return Inertia.zero()
    if moments is None:
        notes.add("an <inertial> without <inertia> was taken as a point mass", inertial)
        xx, xy, xz, yy, yz, zz = 6 * [0.0]
    else:
        xx, xy, xz, yy, yz, zz = (required_number(moments, moment) for moment in _MOMENTS)
    tensor = placement.rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ placement.rotation.T
    try:
        return Inertia.unchecked(required_number(mass, "value"), placement.translation, (tensor + tensor.T) / 2)
    except ModelError as problem:
        raise inertial.refuse(str(problem)) from None


def _geometries(link: Element, colors: Mapping[str, Color], folders: Folders, notes: Notes) -> tuple[Geometry, ...]:
    """<visual> and <collision>, in file order."""
    made = []
    for element in link.children:
        if element.tag in ("visual", "collision"):
            shape = _shape(element, folders, notes)
            if shape is not None:
                name, color = element.attributes.get("name", ""), _color_of(element, colors, notes)
                made.append(Geometry(shape, origin(element, notes), name=name, color=color, role=element.tag))
    return tuple(made)


def _color(material: Element, notes: Notes) -> Color | None:
    found = first(material, "color", notes)
    rgba = None if found is None else vector(found, "rgba", 4, notes)
    return None if rgba is None else tuple(np.clip(rgba, 0.0, 1.0).tolist())


def _color_of(visual: Element, colors: Mapping[str, Color], notes: Notes) -> Color | None:
    material = first(visual, "material", notes)
    if material is None:
        return None
    own = _color(material, notes)
    return own if own is not None else colors.get(material.attributes.get("name", ""))


def _shape(element: Element, folders: Folders, notes: Notes) -> Shape | None:
    geometry = first(element, "geometry", notes)
    if geometry is None or not geometry.children:
        notes.add(f"a <{element.tag}> without a shape was ignored", element)
        return None
    shape = geometry.children[0]
    for extra in geometry.children[1:]:
        notes.add("a second shape in one <geometry> was ignored", extra)
    if shape.tag not in _SHAPES:
        notes.ignore(shape, geometry)
        return None
    try:
        return _SHAPES[shape.tag](shape, folders, notes)
    except ModelError as problem:
        raise shape.refuse(str(problem)) from None


def _box(shape: Element, folders: Folders, notes: Notes) -> Box:
    return Box(_required_values(shape, "size", notes))


def _mesh(shape: Element, folders: Folders, notes: Notes) -> Mesh:
    address, scale = name_of(shape, "filename", longest=4096), vector(shape, "scale", 3, notes)
    found = folders.find(address)
    if found.path is None:
        notes.add(f"a mesh file {found.reason} and is left out; {folders.advice(address)}", shape, address)
    return Mesh("" if found.path is None else str(found.path), np.ones(3) if scale is None else scale)


def _required_values(shape: Element, attribute: str, notes: Notes) -> np.ndarray:
    values = vector(shape, attribute, 3, notes)
    if values is None:
        raise shape.refuse(f"<{shape.tag}> has no {attribute}; three numbers were expected.")
    return values


_SHAPES = {
    "box": _box,
    "capsule": lambda shape, folders, notes: Capsule(
        required_number(shape, "radius"), required_number(shape, "length")
    ),
    "cylinder": lambda shape, folders, notes: Cylinder(
        required_number(shape, "radius"), required_number(shape, "length")
    ),
    "mesh": _mesh,
    "sphere": lambda shape, folders, notes: Sphere(required_number(shape, "radius")),
}
