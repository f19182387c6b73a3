"""The things in a scene: robots from files, and bodies made of shapes; all of them one model."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import FileError, PhistarError
from phistar.io import load
from phistar.io.packages import Folders, Found
from phistar.io.xml import quote
from phistar.model import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Fixed,
    Free,
    Geometry,
    Mesh,
    Model,
    ModelBuilder,
    Plane,
    Polytope,
    Sphere,
)
from phistar.model.geometry import Shape
from phistar.sim.scenes.meshes import WAYS, named, solids, without_meshes
from phistar.sim.scenes.table import Table
from phistar.sim.trajectory import Part as PartMotion
from phistar.spatial import Inertia, Pose
from phistar.spatial.inertia import MASSLESS
from phistar.spatial.rotations import to_quaternion

_SHAPES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "points", "hull", "pieces")
_FLAGS = ("floating", "strict", "motors", "friction")


@dataclass(frozen=True)
class Part:
    """A robot or a body of shapes on a parent; `q` and `v` are where it starts, in its own joints' order."""

    name: str
    parent: str
    placement: Pose
    robot: Model | None
    free: bool
    inertia: Inertia
    geometry: tuple[Geometry, ...]
    q: np.ndarray | None
    v: np.ndarray | None
    where: str


def read_part(table: Table, folders: Folders) -> Part:
    """One [[parts]] table: a robot with q and v, or a body of shapes; a free one has spin and velocity in its axes."""
    name, parent = table.text("name"), table.text("parent", "world")
    placement, robot = table.pose(), None
    source = table.text("robot", None)
    shapes = _named(name, [shape for each in table.tables("shapes") for shape in _read_shape(each, folders)])
    free, inertia = False, MASSLESS
    if source is not None:
        robot = _read_robot(table, source, folders)
    else:
        free = table.text("joint", "fixed", ("fixed", "free")) == "free"
        inertia = _read_inertia(table, shapes, free)
    q = None if robot is None else table.vector("q", None, None)
    v = table.vector("v", None, None) if robot is not None else None
    if free:
        v = np.concatenate([table.vector("spin", 3, np.zeros(3)), table.vector("velocity", 3, np.zeros(3))])
    table.done()
    return Part(name, parent, placement, robot, free, inertia, shapes, q, v, table.where)


def named_file(table: Table, key: str, folders: Folders) -> str:
    """The path of a file that a scene names: in its own folder, below it, or in one that the caller gave."""
    name = table.text(key)
    found = folders.find(name)
    if found.path is None:
        raise FileError(
            f"{table.where}, {key}: the file {quote(name)} {found.reason}; a scene's files lie in its folder, or in "
            "folders that are given as packages, on the command line --packages DIR."
        )
    return str(found.path)


def _read_robot(table: Table, source: str, folders: Folders) -> Model:
    """The robot of a part, by its name or its file, with its options; its meshes made solid where that is asked."""
    options = _options(table.table("options"), folders)
    is_path = Path(source).suffix or os.path.basename(source) != source
    robot = load(named_file(table, "robot", folders) if is_path else source, **options)
    return _solid(robot, table) if "meshes" in table else robot


def _options(table: Table, folders: Folders) -> dict[str, Any]:
    """Those of `ps.load`; folders and files among them under the rules of the scene's own."""
    given: dict[str, Any] = {key: table.flag(key) for key in _FLAGS if key in table}
    if "gravity" in table:
        given["gravity"] = table.vector("gravity", 3)
    if "loops" in table:
        given["loops"] = named_file(table, "loops", folders)
    given |= {"without": _texts(table, "without")} if "without" in table else {}
    named = table.take("packages", [])
    packages: list[Any] = [*folders.packages]
    for name in [named] if isinstance(named, str) else named if isinstance(named, list) else [None]:
        found = folders.folder(name) if isinstance(name, str) else Found(None, "is no text")
        if found.path is None:
            told = quote(str(name))
            raise FileError(f"{table.where}, packages: {told} {found.reason}; give it when the scene is loaded.")
        packages.append(found.path)
    table.done()
    return given | ({"packages": packages} if packages else {})


def _texts(table: Table, key: str) -> list[str]:
    value = table.take(key)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise table.wrong(key, "a list of texts")
    return value


def _solid(robot: Model, table: Table) -> Model:
    try:
        return without_meshes(robot, table.text("meshes", "none", WAYS))
    except PhistarError as error:
        raise FileError(f"{table.where}: {error}") from None


def _named(part: str, shapes: list[Geometry]) -> tuple[Geometry, ...]:
    """Shapes without a name have their part's, with a number where there are several."""
    own = [part if len(shapes) == 1 else f"{part}:{number}" for number in range(len(shapes))]
    return tuple(replace(shape, name=shape.name or name) for shape, name in zip(shapes, own, strict=True))


def _read_shape(table: Table, folders: Folders) -> list[Geometry]:
    given = [kind for kind in _SHAPES if kind in table]
    if len(given) != 1:
        raise FileError(f"{table.where}: give one shape, one of {', '.join(_SHAPES)}; it has {len(given)}.")
    try:
        shapes = _shapes(given[0], table, folders)
    except FileError:
        raise
    except PhistarError as error:
        raise FileError(f"{table.where}: {error}") from None
    color = table.vector("color", 4, None)
    geometry = Geometry(shapes[0], table.pose(), table.text("name", ""), color, "collision")
    table.done()
    return named(geometry, shapes)


def _shapes(kind: str, table: Table, folders: Folders) -> tuple[Shape, ...]:
    if kind in ("hull", "pieces"):
        return solids(Mesh(named_file(table, kind, folders), table.number("scale", 1.0)), kind)
    return (_shape(kind, table),)


def _shape(kind: str, table: Table) -> Shape:
    if kind == "points":
        return Polytope(table.take(kind))
    if kind == "plane":
        table.flag(kind)
        return Plane()
    if kind == "sphere":
        return Sphere(table.number(kind))
    if kind == "box":
        return Box(table.vector(kind, 3))
    if kind == "ellipsoid":
        return Ellipsoid(table.vector(kind, 3))
    radius, length = table.vector(kind, 2)
    return (Cylinder if kind == "cylinder" else Capsule)(radius, length)


def _read_inertia(table: Table, shapes: tuple[Geometry, ...], free: bool) -> Inertia:
    """mass, com and inertia about it, or its radii of gyration; that of a lone box or ball follows from its mass."""
    if not free and "mass" not in table:
        return MASSLESS
    mass, com = table.number("mass", low=1e-9), table.vector("com", 3, np.zeros(3))
    moments, radii = table.vector("inertia", None, None), table.vector("gyration", 3, None)
    if radii is not None:
        if moments is not None:
            raise FileError(f"{table.where}: inertia is given, or gyration, its square root for 1 kg; it has both.")
        moments = mass * np.square(radii)
    if moments is None:
        moments = _moments(mass, shapes, table.where)
    if len(moments) not in (3, 6):
        raise table.wrong("inertia", "Ixx Iyy Izz, or Ixx Ixy Iyy Ixz Iyz Izz,")
    tensor = np.diag(moments) if len(moments) == 3 else np.array(moments)[[[0, 1, 3], [1, 2, 4], [3, 4, 5]]]
    try:
        return Inertia(mass, com, tensor)
    except PhistarError as error:
        raise FileError(f"{table.where}: {error}") from None


def _moments(mass: float, shapes: tuple[Geometry, ...], where: str) -> Any:
    shape = shapes[0].shape if len(shapes) == 1 and shapes[0].placement.is_identity else None
    if isinstance(shape, Box):
        square = np.square(shape.size)
        return mass / 12.0 * (np.sum(square) - square)
    if isinstance(shape, Sphere):
        return np.full(3, 0.4 * mass * shape.radius**2)
    raise FileError(f"{where}: inertia is missing, and follows from the mass only for one box or ball at the origin.")


def assembled(name: str, gravity: np.ndarray, parts: tuple[Part, ...]) -> Model:
    """One model of all parts; a robot's names begin with its part's, as in left/link3."""
    builder = ModelBuilder(name, gravity=gravity)
    for part in parts:
        try:
            if part.robot is not None:
                builder.attach(part.robot, part.parent, part.placement, f"{part.name}/")
                for geometry in part.geometry:
                    builder.geometry(part.parent, geometry)
                continue
            joint = Free() if part.free else Fixed()
            placement = Pose() if part.free else part.placement
            builder.body(part.name, part.parent, joint, placement, part.inertia, list(part.geometry))
        except PhistarError as error:
            raise FileError(f"{part.where}: {error}") from None
    return builder.build(strict=False)


def initial_state(model: Model, parts: tuple[Part, ...]) -> tuple[np.ndarray, np.ndarray]:
    """q and v of the whole, from those of the parts."""
    q, v = model.neutral(), np.zeros(model.nv)
    for part in parts:
        if part.robot is not None:
            _place_robot(model, part, q, v)
        elif part.free:
            joint = model.joints[model.body_index(part.name)]
            q[joint.q_slice] = np.concatenate([part.placement.translation, to_quaternion(part.placement.rotation)])
            v[joint.v_slice] = part.v
    return q, v


def _place_robot(model: Model, part: Part, q: np.ndarray, v: np.ndarray) -> None:
    assert part.robot is not None
    for given, size, name in ((part.q, part.robot.nq, "q"), (part.v, part.robot.nv, "v")):
        if given is not None and len(given) != size:
            raise FileError(f"{part.where}, {name}: {part.robot.name} has {size} entries; {len(given)} were given.")
    for own in part.robot.joints:
        joint = model.joint(f"{part.name}/{own.name}")
        if part.q is not None:
            q[joint.q_slice] = part.q[own.q_slice]
        if part.v is not None:
            v[joint.v_slice] = part.v[own.v_slice]


def parts_of(model: Model, parts: tuple[Part, ...]) -> dict[str, PartMotion]:
    """The robots and free bodies of a whole: their own models, and where their q and v stand in the whole's."""
    found = {}
    for part in parts:
        own = part.robot
        if own is None:
            if not part.free:
                continue
            builder = ModelBuilder(part.name, gravity=model.gravity)
            builder.body(part.name, "world", Free(), inertia=part.inertia, geometry=list(part.geometry))
            own, joints = builder.build(strict=False), [model.joints[model.body_index(part.name)]]
        else:
            joints = [model.joint(f"{part.name}/{joint.name}") for joint in own.joints]
        places = [np.arange(model.nq)[joint.q_slice] for joint in joints]
        rates = [np.arange(model.nv)[joint.v_slice] for joint in joints]
        none = np.zeros(0, int)
        found[part.name] = PartMotion(own, np.concatenate([none, *places]), np.concatenate([none, *rates]))
    return found
