"""Plants written as scene files, and read from them (`scene_schema.py`)."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from phistar.contact.surface import Surface
from phistar.errors import FileError
from phistar.io import load, save
from phistar.io.bundled import is_bundled
from phistar.io.packages import FolderList
from phistar.model import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Free,
    Geometry,
    Plane,
    Polytope,
    Prismatic,
    Revolute,
    Sphere,
)
from phistar.model.geometry import Shape
from phistar.model.joints import JointKind
from phistar.plant.field_kinds import described_field
from phistar.plant.fields import Field as FieldLike
from phistar.plant.fluid import Fluid, WeightSupport
from phistar.plant.members import Robot, starting_state
from phistar.plant.plant import Plant
from phistar.plant.scene_reading import is_path
from phistar.plant.scene_schema import FORMAT_VERSION, PlantEntry
from phistar.plant.scene_sentences import validate_entry
from phistar.plant.scene_tendons import pull_table, tendon_table
from phistar.sim.scenes.toml import text_of
from phistar.spatial import Inertia, Pose, to_quaternion

_log = logging.getLogger("phistar")
UPRIGHT = [0.0, 0.0, 0.0, 1.0]


def read_plant(path: str | os.PathLike[str], packages: FolderList = ()) -> Plant:
    """The plant of a scene file; what the file draws is drawn with the seed 0."""
    from phistar.sim.scenes.scene import Scene

    return Scene.unread(path, packages).plant


def write_plant(plant: Plant, path: str | os.PathLike[str]) -> None:
    """The plant as a scene file; robots are named by the files they came from, and models that were built in Python are
    written beside it."""
    data: dict[str, Any] = {"format_version": FORMAT_VERSION, "name": plant.name, "gravity": list(plant.gravity)}
    if plant.source:
        data |= {"mjcf": _relative(plant.source, path), "without": list(plant.without)}
    if plant.start is not None:
        data["start"] = starting_state(plant)[0]
    data |= _contacts(plant)
    data["parts"] = [_part(robot, Path(path)) for robot in plant.robots.values() if not _is_mjcf(plant, robot)]
    data["shapes"] = [
        {"body": body, **_shape(shape), **_place(at), "material": asdict(material)} | ({"name": name} if name else {})
        for body, shape, at, material, name in plant.shapes[len(plant.masks) :]
    ]
    data["actuators"] = [{"part": robot, "kind": kind, **_actuator(given)} for robot, kind, given in plant.drives]
    names = [tendon.name for tendon in plant.tendons]
    data["actuators"] += [pull_table(actuator, names[actuator.coordinate]) for actuator in plant.pulls]
    data["tendons"] = [tendon_table(tendon) for tendon in plant.tendons if not tendon.robot]
    own = plant.sensors[plant.file_sensors :]
    data["sensors"] = [_sensor(asdict(sensor) | {"zone": sensor.zone}) for sensor in own]
    data["welds"] = [{"frames": list(pair)} for pair in plant.welds]
    data["fields"] = [_field(field) for field in plant.fields if not _is_of_mjcf(plant, field)]
    made = _plain({key: value for key, value in data.items() if key == "actuators" or not _is_empty(value)})
    validate_entry(PlantEntry, made, str(path))
    Path(path).write_text(text_of(made), encoding="utf-8")


def _is_mjcf(plant: Plant, robot: Robot) -> bool:
    """Whether a robot is the one that the plant's MJCF file is, which comes first."""
    return bool(plant.source) and robot is next(iter(plant.robots.values()))


def _is_of_mjcf(plant: Plant, field: FieldLike) -> bool:
    """Whether a field is one that the plant's MJCF file brings along."""
    return bool(plant.source) and isinstance(field, Fluid | WeightSupport)


def _field(field: FieldLike) -> dict[str, Any]:
    made = described_field(field)
    if made is None:
        raise FileError(
            f"The plant has a field, {type(field).__name__}, which is Python's and has no place in a file; save "
            "the plant before plant.add_field(…)."
        )
    return made


def _file_of(robot: Robot, path: Path) -> str:
    """The name that a robot is loaded by: its file, a bundled robot's name, or a file written beside the plant's."""
    if robot.file:
        return _relative(robot.file, path)
    if is_bundled(robot.model.name) and load(robot.model.name) == robot.model:
        return robot.model.name
    own = re.sub(r"[^\w-]", "_", robot.name)[:80]
    return save(robot.model, path.with_name(f"{path.stem}.{own}.json")).name


def _part(robot: Robot, path: Path) -> dict[str, Any]:
    made: dict[str, Any] = {"name": robot.name, "parent": robot.on, "collides": robot.collides}
    made["material"] = asdict(robot.material)
    if not robot.bare:
        made |= {"robot": _file_of(robot, path), **robot.loaded_with, **_place(robot.at)}
        return made | {"q": robot.q, "v": robot.v}
    body = robot.model.bodies[0] if robot.model.bodies else None
    inertia = robot.model.base_inertia if body is None else body.inertia
    geometry = robot.model.base_geometry if body is None else body.geometry
    made |= _place(robot.at) if body is None else _joint(robot, body.joint.kind)
    return made | _mass(inertia) | {"shapes": [_geometry(each) for each in geometry]}


def _joint(robot: Robot, kind: JointKind) -> dict[str, Any]:
    """The keys of a part's joint, and where it starts."""
    if isinstance(kind, Free):
        made: dict[str, Any] = {"joint": "free"}
        made |= {} if robot.q is None else {"xyz": robot.q[:3], "quaternion": robot.q[3:]}
        return made | ({} if robot.v is None else {"spin": robot.v[:3], "velocity": robot.v[3:]})
    assert isinstance(kind, Revolute | Prismatic)
    motion: dict[str, Any] = {"axis": kind.axis}
    for name in ("stiffness", "rest", "damping", "armature", "effort"):
        motion[name] = float(np.ravel(getattr(kind, name))[0])
    motion["friction"] = float(kind.friction[0, 0])
    motion |= {"limits": kind.limits[:, 0]} if np.isfinite(kind.limits).all() else {}
    motion |= {"velocity": float(kind.velocity[0])} if np.isfinite(kind.velocity[0]) else {}
    return {"joint": type(kind).__name__.lower(), "motion": motion, **_place(robot.at), "q": robot.q, "v": robot.v}


def _mass(inertia: Inertia) -> dict[str, Any]:
    if inertia.is_zero:
        return {}
    i = inertia.tensor
    moments = [i[0, 0], i[0, 1], i[1, 1], i[0, 2], i[1, 2], i[2, 2]]
    return {"mass": float(inertia.mass), "com": inertia.com, "inertia": moments}


def _geometry(geometry: Geometry) -> dict[str, Any]:
    made = {"name": geometry.name, **_shape(geometry.shape), **_place(geometry.placement)}
    return made | ({} if geometry.color is None else {"color": geometry.color})


def _shape(shape: Shape) -> dict[str, Any]:
    """The key of a shape, and its numbers."""
    match shape:
        case Sphere(radius=radius):
            return {"sphere": float(radius)}
        case Capsule(radius=radius, length=length):
            return {"capsule": [float(radius), float(length)]}
        case Cylinder(radius=radius, length=length):
            return {"cylinder": [float(radius), float(length)]}
        case Box(size=size):
            return {"box": size}
        case Ellipsoid(radii=radii):
            return {"ellipsoid": radii}
        case Polytope(points=points):
            return {"points": points}
        case Plane():
            return {"plane": True}
    raise FileError(f"A plant's file has no {type(shape).__name__}; ps.Polytope.hull(mesh) is a mesh's hull.")


def _place(pose: Pose) -> dict[str, Any]:
    """The keys of a pose; what is as by default is left out."""
    turn = [float(x) for x in to_quaternion(np.asarray(pose.rotation))]
    made: dict[str, Any] = {"xyz": pose.translation} if np.any(pose.translation) else {}
    return made if turn == UPRIGHT else made | {"quaternion": turn}


def _contacts(plant: Plant) -> dict[str, Any]:
    """Laws, the pairs that they are of, and what is ignored."""
    made: dict[str, Any] = {"ignored": [list(pair) for pair in plant.ignored]}
    law = plant.contact_law
    made["law"] = "none" if law is None else "surface" if isinstance(law, Surface) else law
    if isinstance(law, Surface):
        made["surface"] = _surface(law)
    stated = [{"between": [a, b], **_surface(surface)} for a, b, surface in plant.contacts]
    return made | {"contacts": stated}


def _surface(surface: Surface) -> dict[str, Any]:
    made = {name: getattr(surface, name) for name in surface.__dataclass_fields__}
    if made["restitution"] is not None:
        del made["damping"]
    return made


def _actuator(given: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(given)
    if not np.isfinite(made["command_range"]).all():
        del made["command_range"]
    return made


def _sensor(given: dict[str, Any]) -> dict[str, Any]:
    subject = {"joints": "part", "wrist": "frame", "tactile": "shapes"}.get(given["kind"], "of")
    made = {"name": given["name"], "kind": given["kind"], subject: given["of"]}
    made |= {key: given[key] for key in ("noise", "bias") if np.any(given[key])}
    made |= {key: given[key] for key in ("rate", "delay") if given[key]}
    made |= {"rows": list(given["rows"])} if given["rows"] else {}
    made |= {"zone": _shape(given["zone"])} if given["zone"] is not None else {}
    return made | ({"seen_from": given["seen_from"]} if given["kind"] == "pose" else {})


def _is_empty(value: Any) -> bool:
    return isinstance(value, list | dict) and not value


def _plain(value: Any) -> Any:
    """Lists for tuples and arrays, floats for their numbers, and nothing that is None."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return float(value) if isinstance(value, np.floating) else value


def _relative(file: str, path: str | os.PathLike[str]) -> str:
    """A robot's file as the plant's file at `path` names it: from its folder, where it is found again."""
    if not is_path(file):
        return file
    place, folder = Path(file).resolve(), Path(path).parent.resolve()
    if place.is_relative_to(folder):
        return place.relative_to(folder).as_posix()
    _log.warning(
        "%s names %s, which lies in another folder: load it with packages=%r, or put both into one.",
        *(path, place, str(place.parent)),
    )
    return str(place)
