"""Loops for robot files that cannot hold any: a small TOML file beside a URDF.

format_version = 1

[[frame]]                       # places on links that loops may join, where the file has none
name = "coupler_end"
link = "coupler"
xyz = [1.0, 0.0, 0.0]           # and rpy; both may be left out

[[loop]]
name = "closure"
frame_a = "coupler_end"         # joint_a and joint_b, for a coupling
frame_b = "rocker_end"
type = "revolute"
axis = [0.0, 0.0, 1.0]          # whatever the type has: axis, axis1, axis2, pitch, normal, length, coefficients
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

from phistar.errors import FileError, ModelError, UnknownNameError
from phistar.io import xml
from phistar.io.xml import quote
from phistar.model import (
    Coupling,
    Cylindrical,
    Distance,
    Fixed,
    Helical,
    Model,
    ModelBuilder,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from phistar.safe_files import parse_toml
from phistar.spatial import Pose

FORMAT_VERSION = 1
MOST_ENTRIES = 10_000

_KINDS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "fixed": (Fixed, ()),
    "revolute": (Revolute, ("axis",)),
    "prismatic": (Prismatic, ("axis",)),
    "helical": (Helical, ("axis", "pitch")),
    "cylindrical": (Cylindrical, ("axis",)),
    "universal": (Universal, ("axis1", "axis2")),
    "spherical": (Spherical, ()),
    "planar": (Planar, ("normal",)),
    "distance": (Distance, ("length",)),
    "coupling": (Coupling, ("coefficients",)),
}


def with_loops(model: Model, path: str | os.PathLike[str]) -> Model:
    """The model with the frames and loops of a sidecar file added."""
    content = _read_toml(path)
    builder = ModelBuilder(model.name, model.gravity)
    builder.attach(model)
    try:
        for number, entry in enumerate(_entries(path, content, "frame"), 1):
            _add_frame(builder, entry, f"{path}: frame {number}")
        for number, entry in enumerate(_entries(path, content, "loop"), 1):
            _add_loop(builder, entry, f"{path}: loop {number}")
        return builder.build(strict=False)
    except (ModelError, UnknownNameError) as problem:
        text = str(problem)
        raise type(problem)(text if text.startswith(str(path)) else f"{path}: {text}") from None


def _read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    content = parse_toml(xml.read_text(path), str(path), "a file of frames and loops")
    version = content.get("format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise FileError(f"{path} has format_version {quote(repr(version))}; this is read: {FORMAT_VERSION}.")
    _only(content, ("format_version", "frame", "loop"), str(path))
    return content


def _entries(path: Any, content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries = content.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise FileError(f"{path}: '{key}' must be tables, each started by [[{key}]].")
    if len(entries) > MOST_ENTRIES:
        raise FileError(f"{path} has {len(entries)} entries [[{key}]]; {MOST_ENTRIES} are the most that is read.")
    return entries


def _add_frame(builder: ModelBuilder, entry: dict[str, Any], where: str) -> None:
    _only(entry, ("name", "link", "xyz", "rpy"), where)
    name, link = _text(entry, "name", where), _text(entry, "link", where)
    place = {key: _numbers(entry, key, where) for key in ("xyz", "rpy") if key in entry}
    builder.frame(name, link, _construct(Pose, place, where))


def _add_loop(builder: ModelBuilder, entry: dict[str, Any], where: str) -> None:
    kind = _text(entry, "type", where)
    if kind not in _KINDS:
        raise FileError(f"{where} has the type {quote(kind)}; there are {', '.join(_KINDS)}.")
    make, parameters = _KINDS[kind]
    ends = ("joint_a", "joint_b") if kind == "coupling" else ("frame_a", "frame_b")
    _only(entry, ("name", "type", *ends, *parameters), where)
    given = {key: _numbers(entry, key, where) for key in parameters if key in entry}
    if kind == "distance" and "length" not in given:
        raise FileError(f"{where} is a distance without a length; give length = … in metres.")
    other = None if kind == "coupling" and "joint_b" not in entry else _text(entry, ends[1], where)
    builder.loop(_text(entry, "name", where), _text(entry, ends[0], where), other, _construct(make, given, where))


def _construct(make: Callable[..., Any], given: Mapping[str, Any], where: str) -> Any:
    try:
        return make(**given)
    except ModelError as problem:
        raise ModelError(f"{where}: {problem}") from None


def _only(entry: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    extra = [key for key in entry if key not in known]
    if extra:
        raise FileError(f"{where} has {quote(extra[0])}, which is not read there; there are {', '.join(known)}.")


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        given = "nothing" if key not in entry else quote(repr(value))
        raise FileError(f'{where} needs {key} = "…"; it was given {given}.')
    return value


def _numbers(entry: Mapping[str, Any], key: str, where: str) -> Any:
    value = entry[key]
    items = value if isinstance(value, list) else [value]
    if len(items) > 100 or not all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in items):
        raise FileError(f"{where} has {key} = {quote(repr(value))}; numbers were expected.")
    return value
