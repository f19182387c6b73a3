"""The plant of a file's entries (`scene_schema.py`); robots and meshes lie in the file's folder, or in others given."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from phistar.contact.surface import Surface
from phistar.errors import FileError, ModelError, PhistarError
from phistar.geometry.shape_records import Material
from phistar.io import load
from phistar.io.packages import Folders
from phistar.io.xml import quote
from phistar.model import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Free,
    Geometry,
    Mesh,
    Model,
    Plane,
    Polytope,
    Prismatic,
    Revolute,
    Sphere,
)
from phistar.model.geometry import Shape
from phistar.model.manifold import OFF_UNIT
from phistar.model.parts import CoupledJoints
from phistar.plant.engine_tables import check_free_body
from phistar.plant.field_kinds import read_field
from phistar.plant.members import Robot, add_body, add_on_joint, inertia_of, join
from phistar.plant.mjcf_plants import plant_of_mjcf
from phistar.plant.plant import Plant
from phistar.plant.scene_schema import (
    ActuatorEntry,
    ContactEntry,
    PartEntry,
    PlacedEntry,
    PlantEntry,
    SceneEntry,
    ShapeEntry,
    SurfaceEntry,
)
from phistar.plant.scene_sensors import sense_all
from phistar.plant.scene_sentences import unknown_key
from phistar.plant.scene_tendons import add_tendons, pull
from phistar.sim.scenes.mesh_solids import solids, with_shapes, without_meshes
from phistar.spatial import Inertia, Pose, from_quaternion
from phistar.spatial.inertia import MASSLESS

SHAPES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "points", "hull", "pieces")
OF_ROBOTS = ("options", "meshes")
OF_BODIES = ("joint", "motion", "mass", "com", "inertia", "gyration", "spin", "velocity")
ON_JOINTS = {"revolute": Revolute, "prismatic": Prismatic}
FLAGS = ("floating", "strict", "motors", "friction")


def plant_of(entry: SceneEntry, name: str, folders: Folders, where: str) -> Plant:
    """The plant that a file's entries describe, its sensors and motors included."""
    plant = _mechanism(entry, name, folders, where)
    sense_all(plant, entry.sensors, where, lambda shape, own: _zone(shape, folders, own))
    if entry.actuators is None and entry.mjcf is None:
        default_motors(plant, entry.controller.torque_limit, f"{where}, [controller]")
    return plant


def _mechanism(entry: PlantEntry, name: str, folders: Folders, where: str) -> Plant:
    if entry.mjcf is not None:
        file = named_file(entry.mjcf, f"{where}, mjcf", folders)
        plant = plant_of_mjcf(file, folders.packages, entry.without)
    else:
        plant = Plant(entry.gravity, name)
    for part in entry.parts:
        own = f"{where}, [[parts]] {part.name[:60]}"
        try:
            _add_part(plant, part, folders, own)
        except FileError:
            raise
        except PhistarError as error:
            raise FileError(f"{own}: {error}") from None
    for shape in entry.shapes:
        own = f"{where}, [[shapes]] {shape.name or ''}".rstrip()
        for each in read_shape(shape, folders, own):
            material = Material(**shape.material.model_dump())
            plant.add_shape(each.shape, shape.body, each.placement, material, each.name)
    for weld in entry.welds:
        plant.weld(weld.frames[0], weld.frames[1])
    if entry.start is not None:
        plant.start = plant.model.checked_q(entry.start, "start")
        plant.invalidate()
    _state_contacts(plant, entry, where)
    add_tendons(plant, entry.tendons, where)
    for number, actuator in enumerate(entry.actuators or ()):
        own = f"{where}, [[actuators]] {number + 1}"
        try:
            _actuate(plant, actuator, own)
        except FileError:
            raise
        except PhistarError as error:
            raise FileError(f"{own}: {error}") from None
    _add_fields(plant, entry, where)
    return plant


def _actuate(plant: Plant, entry: ActuatorEntry, where: str) -> None:
    if entry.tendon is not None and entry.part is None:
        pull(plant, entry, where)
        return
    if entry.part is None or entry.tendon is not None or entry.name is not None:
        raise FileError(f"{where}: an actuator is of a part, or of a tendon, which alone gives it a name.")
    given = entry.model_dump(exclude={"part", "kind", "tendon", "name"}, exclude_none=True)
    plant.actuate(entry.part, entry.kind, **given)


def _add_fields(plant: Plant, entry: PlantEntry, where: str) -> None:
    for number, field in enumerate(entry.fields):
        own = f"{where}, [[fields]] {number + 1}"
        try:
            plant.add_field(read_field(field.kind, field.model_extra or {}, plant, own))
        except FileError:
            raise
        except PhistarError as error:
            raise FileError(f"{own}: {error}") from None


def _add_part(plant: Plant, part: PartEntry, folders: Folders, where: str) -> None:
    _refuse_unfit(part, where)
    material, at = Material(**part.material.model_dump()), placement(part, where)
    pieces = [shape for each in part.shapes for shape in read_shape(each, folders, f"{where}, [[shapes]]")]
    if part.robot is not None:
        model, file = _robot(part, folders, where)
        _check_start(part, model.nq, model.nv, model.name, where)
        robot = Robot(part.name, model, at, material, part.collides, file, part.parent)
        own: dict[str, Any] = {"q": part.q, "v": part.v}  # checked and made arrays there
        told = part.model_dump(include={"options", "meshes"}, exclude_defaults=True)
        join(plant, robot._replace(**own, loaded_with=told))
        if pieces:
            add_body(plant, f"{part.name}:shapes", pieces, on=part.parent, free=False, material=material)
        return
    inertia = _inertia(part, pieces, where)
    if part.joint in ON_JOINTS:
        _check_start(part, 1, 1, part.name, where)
        joint = ON_JOINTS[part.joint](**part.motion.model_dump())
        add_on_joint(plant, part.name, joint, pieces, inertia, at, part.parent, part.q, part.v, material, part.collides)
        return
    free = part.joint == "free"
    twist = np.array([*part.spin, *part.velocity]) if free else None
    add_body(plant, part.name, pieces, inertia, at, part.parent, free, twist, material, part.collides)


def _refuse_unfit(part: PartEntry, where: str) -> None:
    """Refuses keys that a part of this kind does not have."""
    moves = part.joint in ON_JOINTS
    unfit = OF_BODIES if part.robot is not None else OF_ROBOTS + (() if moves else ("q", "v", "motion"))
    unfit += () if part.robot is None and part.joint == "free" else ("spin", "velocity")
    for key in unfit:
        if key in part.model_fields_set:
            raise FileError(unknown_key(where, key, set(PartEntry.model_fields) - set(unfit)))


def placement(entry: PlacedEntry, where: str) -> Pose:
    """Pose of an entry: xyz in m, and rpy in rad or a quaternion."""
    if entry.quaternion is None:
        return Pose(xyz=entry.xyz, rpy=entry.rpy or np.zeros(3))
    if entry.rpy is not None:
        raise FileError(f"{where}: an orientation is given as rpy or as a quaternion; it has both.")
    turn = np.array(entry.quaternion)
    if not abs(np.linalg.norm(turn) - 1.0) <= OFF_UNIT:
        raise FileError(
            f"{where}: a quaternion (x, y, z, w) of length one was expected; it is {entry.quaternion!r:.100}."
        )
    return Pose(xyz=entry.xyz, rotation=from_quaternion(turn))


def named_file(name: str, where: str, folders: Folders) -> str:
    """The path of a file that a scene names: in its own folder, below it, or in one that the caller gave."""
    found = folders.find(name)
    if found.path is None:
        raise FileError(
            f"{where}: the file {quote(name)} {found.reason}; a scene's files lie in its folder, or in folders that "
            "are given as packages=[…], on the command line --packages DIR."
        )
    return str(found.path)


def is_path(name: str) -> bool:
    """Whether a robot is named by a file, and not by the name of one that comes along."""
    return bool(Path(name).suffix) or os.path.basename(name) != name


def _robot(part: PartEntry, folders: Folders, where: str) -> tuple[Model, str]:
    """The robot of a part, with its options, and its file; its meshes made solid where that is asked."""
    source = part.robot or ""
    options = _options(part, folders, f"{where}, [options]")
    source = named_file(source, f"{where}, robot", folders) if is_path(source) else source
    robot = load(source, **options)
    return (robot if part.meshes is None else without_meshes(robot, part.meshes)), source


def _options(part: PartEntry, folders: Folders, where: str) -> dict[str, Any]:
    """Options of `ps.load`; folders and files among them obey the scene's own rules."""
    own = part.options
    given = {key: getattr(own, key) for key in FLAGS if getattr(own, key) is not None}
    given |= {"gravity": np.array(own.gravity)} if own.gravity is not None else {}
    given |= {"without": own.without} if own.without is not None else {}
    given |= {"loops": named_file(own.loops, f"{where}, loops", folders)} if own.loops is not None else {}
    packages: list[Any] = [*folders.packages]
    for name in [own.packages] if isinstance(own.packages, str) else own.packages or []:
        found = folders.folder(name)
        if found.path is None:
            raise FileError(f"{where}, packages: {quote(name)} {found.reason}; give it when the scene is loaded.")
        packages.append(found.path)
    return given | ({"packages": packages} if packages else {})


def _check_start(part: PartEntry, nq: int, nv: int, owner: str, where: str) -> None:
    for given, size, name in ((part.q, nq, "q"), (part.v, nv, "v")):
        if given is not None and len(given) != size:
            raise FileError(f"{where}, {name}: {owner} has {size} entries; {len(given)} were given.")


def read_shape(entry: ShapeEntry, folders: Folders, where: str) -> list[Geometry]:
    """The collision geometry of an entry: one, or several pieces of a mesh."""
    given = [kind for kind in SHAPES if getattr(entry, kind) is not None]
    if len(given) != 1:
        raise FileError(f"{where}: give one shape, one of {', '.join(SHAPES)}; it has {len(given)}.")
    if "scale" in entry.model_fields_set and given[0] not in ("hull", "pieces"):
        raise FileError(unknown_key(where, "scale", set(ShapeEntry.model_fields) - {"scale"}))
    try:
        shapes = _shapes(given[0], entry, folders, where)
    except FileError:
        raise
    except PhistarError as error:
        raise FileError(f"{where}: {error}") from None
    color = None if entry.color is None else np.array(entry.color)
    return with_shapes(Geometry(shapes[0], placement(entry, where), entry.name or "", color, "collision"), shapes)


def _zone(entry: ShapeEntry, folders: Folders, where: str) -> Shape:
    """The shape that feels a touch, about its frame."""
    for key in sorted(entry.model_fields_set & {"name", "xyz", "rpy", "quaternion", "color"}):
        raise FileError(unknown_key(where, key, set(SHAPES)))
    return read_shape(entry, folders, where)[0].shape


def _shapes(kind: str, entry: ShapeEntry, folders: Folders, where: str) -> tuple[Shape, ...]:
    value = getattr(entry, kind)
    if kind in ("hull", "pieces"):
        return solids(Mesh(named_file(value, f"{where}, {kind}", folders), entry.scale), kind)
    if kind == "plane":
        return (Plane(),)
    if kind in ("cylinder", "capsule"):
        return ((Cylinder if kind == "cylinder" else Capsule)(*value),)
    return ({"points": Polytope, "sphere": Sphere, "box": Box, "ellipsoid": Ellipsoid}[kind](value),)


def _inertia(part: PartEntry, shapes: list[Geometry], where: str) -> Inertia:
    """mass, com and inertia about it, or its radii of gyration; that of a lone box or ball follows from its mass."""
    if part.mass is None:
        if part.joint == "free":
            raise FileError(f"{where}: mass is missing.")
        return MASSLESS
    moments = part.inertia
    if part.gyration is not None:
        if moments is not None:
            raise FileError(f"{where}: inertia is given, or gyration, its square root for 1 kg; it has both.")
        moments = (part.mass * np.square(part.gyration)).tolist()
    if moments is None:
        solid = inertia_of(part.mass, shapes, where)
        return Inertia(part.mass, part.com, solid.tensor)
    if len(moments) not in (3, 6):
        raise FileError(
            f"{where}, inertia: Ixx Iyy Izz, or Ixx Ixy Iyy Ixz Iyz Izz, was expected; it is {moments!r:.100}."
        )
    tensor = np.diag(moments) if len(moments) == 3 else np.array(moments)[[[0, 1, 3], [1, 2, 4], [3, 4, 5]]]
    return Inertia(part.mass, part.com, tensor)


def _state_contacts(plant: Plant, entry: PlantEntry, where: str) -> None:
    """The laws of [surface] and [[contacts]], and what is ignored."""
    usual = read_surface(entry.surface, Surface(), f"{where}, [surface]")
    law = entry.law or ("surface" if entry.contacts is None else "none")
    if entry.contacts and entry.ignored and entry.law is None:
        raise FileError(f"{where}: contacts lists the only pairs there are, ignored leaves some out; give one.")
    for pair in entry.ignored:
        plant.ignore(pair[0], pair[1])
    if law != "materials":
        plant.default_contact(usual if law == "surface" else None)
    for number, contact in enumerate(entry.contacts or ()):
        own = f"{where}, [[contacts]] {contact.name or number + 1}"
        plant.contact(contact.between[0], contact.between[1], read_surface(contact, usual, own))
    _ = plant.meeting  # names that stand for nothing are told now


def read_surface(entry: SurfaceEntry | ContactEntry, default: Surface, where: str) -> Surface:
    """The law of an entry, what it leaves out as in `default`."""
    names = [field.name for field in fields(Surface)]
    given = {name: getattr(entry, name) for name in names if name in entry.model_fields_set}
    if "damping" in given and given.get("restitution") is not None:
        raise FileError(f"{where}: a restitution takes the place of the damping; give one of the two.")
    try:
        return Surface(**{name: given.get(name, getattr(default, name)) for name in names})
    except PhistarError as error:
        raise FileError(f"{where}: {error}") from None


def check_plant(plant: Plant) -> None:
    """Refuse lone bodies that nothing keeps from turning infinitely fast, and meshes, which have no distance."""
    for number, body in enumerate(plant.model.bodies):
        if isinstance(body.joint.kind, Free) and not plant.model.children[number]:
            check_free_body(body)
    for shape in plant.meeting.shapes:
        if isinstance(shape.shape, Mesh):  # it may come near only later
            raise ModelError(
                f"{shape.name} collides by a mesh, which has no distance of its own: give its robot "
                'meshes = "hull" or "pieces" (its convex hull, or convex pieces), or "none".'
            )


def default_motors(plant: Plant, torque_limit: float | list[float] | None, where: str) -> None:
    """Gives every joint that a model says can be driven a motor that takes its force: up to the joint's own effort, or
    to `torque_limit`, one for all rates or one for each, where it has none."""
    model, driven = plant.model, driven_rates(plant.model)
    limits = np.array(model.effort_limits)
    if torque_limit is not None:
        limits = np.where(np.isfinite(limits), limits, _given_limits(torque_limit, driven, where))
    for name, robot in plant.robots.items():
        prefix, joints = plant.prefix(name), []
        for joint in robot.model.joints:
            own = model.joints[model.joint_indices[prefix + joint.name]]
            joints += [(joint.name, own.v_slice)] if driven[own.v_slice].any() else []
        if joints:
            own_limits = None if torque_limit is None else [float(x) for _, own in joints for x in limits[own]]
            plant.actuate(name, "force", joints=[each for each, _ in joints], limits=own_limits)


def _given_limits(torque_limit: float | list[float], driven: np.ndarray, where: str) -> np.ndarray:
    """A file's limits, (nv,); infinite where there is no motor."""
    given = np.atleast_1d(np.array(torque_limit, dtype=float))
    if not (given > 0.0).all():
        told = f"a number greater than 0, or a list of them, was expected; it is {torque_limit!r:.100}"
        raise FileError(f"{where}, torque_limit: {told}.")
    if len(given) not in (1, driven.sum()):
        raise FileError(
            f"{where}, torque_limit: one number, or one for each of the {driven.sum()} rates of joints with motors was "
            f"expected; it has {len(given)}."
        )
    made = np.full(len(driven), np.inf)
    made[driven] = given
    return made


def driven_rates(model: Model) -> np.ndarray:
    """Whether each rate has a motor, (nv,): not those of modes, of free joints, of joints whose effort is limited to 0
    (in MJCF all that no actuator acts on), and of joints that a coupling makes follow others."""
    following = {loop.joint_a for loop in model.loops if isinstance(loop, CoupledJoints)}
    driven = np.array(model.effort_limits > 0.0)
    for body in model.bodies:
        driven[body.mode_slice] = False
    for joint in model.joints:
        if isinstance(joint.kind, Free) or joint.name in following:
            driven[joint.v_slice] = False
    return driven
