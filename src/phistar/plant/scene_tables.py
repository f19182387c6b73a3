"""Plants as TOML: robots by their files, shapes, materials, actuators, sensors and constraints (`scene_schema.py`)."""

from __future__ import annotations

import logging
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from phistar.contact.surface import Surface
from phistar.errors import FileError, PhistarError
from phistar.io import load
from phistar.io.packages import FolderList, Folders
from phistar.io.xml import quote
from phistar.plant.fluid import Fluid, WeightSupport
from phistar.plant.mjcf_plants import plant_of_mjcf
from phistar.plant.plant import Plant
from phistar.plant.scene_schema import FORMAT, PlantEntry, ShapeEntry, checked, placed
from phistar.safe_files import parse_toml, read_text
from phistar.sim.scenes.toml import text_of

_log = logging.getLogger("phistar")
LARGEST = 10 * 2**20  # bytes


def write_plant(plant: Plant, path: str | os.PathLike[str]) -> None:
    """The plant as TOML; robots are named by the files they came from."""
    data: dict[str, Any] = {"format_version": FORMAT, "name": plant.name, "gravity": list(plant.gravity)}
    if plant.start is not None:
        data["start"] = [float(x) for x in plant.start]
    if plant.source:
        data |= {"mjcf": _told(plant.source, path), "without": list(plant.without)}
    for field in plant.fields:
        if not (plant.source and isinstance(field, Fluid | WeightSupport)):
            raise FileError(
                f"The plant has a field, {type(field).__name__}, which is Python's and has no place in a file; save "
                "the plant before plant.add_field(…)."
            )
    data["robot"] = [
        {"name": robot.name, "file": _told(robot.file, path), "collides": robot.collides, **placed(robot.at)}
        | {"material": asdict(robot.material)}
        for robot in plant.robots.values()
        if robot.file or _is_named(plant, robot.name)
    ]
    data["shape"] = [
        {"body": body, "name": name, **ShapeEntry.of(shape), **placed(at), "material": asdict(material)}
        for body, shape, at, material, name in plant.shapes[len(plant.masks) :]
    ]
    data["actuator"] = [{"robot": robot, "kind": kind, **given} for robot, kind, given in plant.drives]
    data["sensor"] = [asdict(sensor) for sensor in plant.sensors]
    data["weld"] = [{"frames": list(pair)} for pair in plant.welds]
    data["ignore"] = [{"bodies": list(pair)} for pair in plant.ignored]
    data["contact"] = [{"bodies": [a, b], **asdict(surface)} for a, b, surface in plant.contacts]
    made = checked(_plain(data), path).model_dump(exclude_none=True, exclude_defaults=False)
    Path(path).write_text(text_of({key: value for key, value in made.items() if value != []}), encoding="utf-8")


def _is_named(plant: Plant, name: str) -> bool:
    """False of the robot that an MJCF file is; one built in Python is refused."""
    if not plant.source:
        raise FileError(
            f"The robot '{name}' was built in Python and has no file to be named by; add it by its path, "
            "plant.add('robot.urdf', …), to save the plant."
        )
    return False


def _plain(value: Any) -> Any:
    """Lists for tuples and arrays, floats for their numbers, and nothing that is None."""
    if isinstance(value, dict):
        return {key: _plain(x) for key, x in value.items() if x is not None}
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(x) for x in value]
    return float(value) if isinstance(value, np.floating) else value


def read_plant(path: str | os.PathLike[str], packages: FolderList = ()) -> Plant:
    """The plant of a TOML file; the files that it names lie in its folder or in `packages`."""
    data = parse_toml(read_text(path, "a plant in TOML", LARGEST), str(path), "a plant")
    try:
        return _plant(checked(data, path), Folders.around(path, packages))
    except PhistarError:
        raise
    except (TypeError, ValueError, OverflowError) as problem:
        raise FileError(f"{path}: an entry is missing or of the wrong kind: {problem!s:.200}.") from None


def _plant(data: PlantEntry, folders: Folders) -> Plant:
    if data.mjcf is not None:
        plant = plant_of_mjcf(_named_file(data.mjcf, folders), folders.packages, data.without)
    else:
        plant = Plant(data.gravity, data.name)
    for entry in data.robot:
        is_path = Path(entry.file).suffix or os.path.basename(entry.file) != entry.file
        file = _named_file(entry.file, folders) if is_path else entry.file
        model = load(file, packages=folders.packages) if is_path else load(file)
        plant.add(model, entry.name, entry.pose, entry.material.made(), entry.collides)
        plant.robots[entry.name] = plant.robots[entry.name]._replace(file=file)
    for entry in data.shape:
        plant.add_shape(entry.made(), entry.body, entry.pose, entry.material.made(), entry.name)
    for entry in data.weld:
        plant.weld(*entry.frames)
    for entry in data.actuator:
        given: dict[str, Any] = entry.model_dump() | {"command_range": tuple(entry.command_range)}
        plant.actuate(**given)
    for entry in data.ignore:
        plant.ignore(*entry.bodies)
    for entry in data.contact:
        plant.contact(entry.bodies[0], entry.bodies[1], Surface(**entry.model_dump(exclude={"bodies"})))
    for entry in data.sensor:
        plant.sense(**entry.model_dump())
    if data.start is not None:
        plant.start = plant.model.checked_q(data.start, "start")
    return plant


def _named_file(name: str, folders: Folders) -> str:
    """The path of a file that a plant's file names, by the rule that holds for all robots' files."""
    found = folders.find(name)
    if found.path is None:
        raise FileError(
            f"The file {quote(name)} {found.reason}; the files that a plant's file names lie in its folder or in "
            "folders that are given as packages: ps.Plant.load(path, packages=[…])."
        )
    return str(found.path)


def _told(file: str, path: str | os.PathLike[str]) -> str:
    """A robot's file as the plant's file at `path` names it: from its folder, where it is found again."""
    if not (Path(file).suffix or os.path.basename(file) != file):
        return file
    place, folder = Path(file).resolve(), Path(path).parent.resolve()
    if place.is_relative_to(folder):
        return place.relative_to(folder).as_posix()
    _log.warning(
        "%s names %s, which lies in another folder: load it with packages=%r, or put both into one.",
        *(path, place, str(place.parent)),
    )
    return str(place)
