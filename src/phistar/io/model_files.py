"""Models as JSON files of phistar's own, with everything that a model has: loops, bodies that bend, springs, shapes.

URDF, MJCF and SDF each lack some of it. Numbers read back to the last bit. Classes are those of models alone, by their
names, and a file that does not hang together is refused: it may be a stranger's.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import phistar.model as models
from phistar.errors import FileError, PhistarError
from phistar.io.packages import FolderList, Folders
from phistar.model import Geometry, Mesh, Model
from phistar.model.check import check_robot
from phistar.model.flexible import FlexibleInertia
from phistar.model.joints import CutKind, JointKind
from phistar.model.parts import Body, CoupledJoints, Frame, Joint, Loop
from phistar.safe_files import MEGABYTE, read_text
from phistar.spatial import Inertia, Pose
from phistar.spatial.value import Value, restore

FORMAT_VERSION, KIND = 1, "phistar model"
SUFFIX = ".json"
LARGEST = 64 * MEGABYTE
ROUND = 1e-14
TOO_DEEP = "{} is nested too deeply for a model."


def save(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a model to a JSON file that `ps.load` reads back, equal to the last bit.

    Parameters
    ----------
    model : Model
        As built or loaded. Meshes stay where they are: the file names them, relative to its own folder where they are
        in it or below it. A model in independent rates is saved as its closed mechanism, `model.embedding.closed`.
    path : path
        A file that ends in .json.

    Returns
    -------
    Path

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = ps.save(ps.chain(3), Path(mkdtemp()) / "chain.json")
    >>> ps.load(path) == ps.chain(3)
    True
    """
    check_robot("save", (model,))
    place = Path(path)
    if place.suffix != SUFFIX:
        raise FileError(f"{place} should end in {SUFFIX}: models are written in phistar's own format.")
    if model.embedding is not None:
        raise FileError(
            f"{model.name} is in independent rates; save its closed mechanism, model.embedding.closed, and embed it "
            "again when it is loaded."
        )
    content = {"format_version": FORMAT_VERSION, "kind": KIND, "model": _data(model, place.resolve().parent)}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        beside.write_text(text, "utf-8")
        os.replace(beside, place)
    except OSError as error:
        raise FileError(f"{place} cannot be written: {error.strerror or error}.") from None
    finally:
        beside.unlink(missing_ok=True)
    return place


def load_model(
    path: Path,
    floating: bool = False,
    packages: FolderList = (),
    gravity: Sequence[float] | None = None,
    strict: bool = False,
) -> Model:
    """Read a model that `save` wrote; meshes outside its folder and `packages` are left out, with a warning."""
    if floating:
        raise FileError(f"{path} holds a model as it was built; make it float before it is saved.")
    try:
        content = json.loads(read_text(path, "a model in JSON", LARGEST))
        if not isinstance(content, dict) or content.get("kind") != KIND:
            raise FileError(f"{path} is no model that phistar wrote: its kind is not {KIND!r}.")
        if content.get("format_version") != FORMAT_VERSION:
            version = content.get("format_version")
            raise FileError(f"{path} is of format_version {version!r:.50}; this phistar reads {FORMAT_VERSION}.")
        model = _value(content.get("model"))
    except RecursionError:
        raise FileError(TOO_DEEP.format(path)) from None
    except FileError:
        raise
    except (PhistarError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise FileError(f"{path} is damaged: {str(error)[:300]}") from None
    if not isinstance(model, Model) or model.embedding is not None or not hangs_together(model):
        raise FileError(f"{path} is damaged: its parts do not fit together.")
    model = _with_meshes(model, Folders.around(path, packages))
    if strict and model.warnings:
        raise FileError(f"{path}: {model.warnings[0]}")
    return model if gravity is None else model.replace(gravity=gravity)


def hangs_together(model: Model) -> bool:
    """Tell whether bodies, joints, frames and loops are what they should be, and name what is there."""
    try:
        rows = rates = 0
        for number, body in enumerate(model.bodies):
            joint = body.joint
            right = isinstance(body, Body) and isinstance(joint, Joint) and isinstance(joint.kind, JointKind)
            right = right and -1 <= body.parent < number and joint.body == number
            right = right and isinstance(body.placement, Pose) and isinstance(body.inertia, Inertia)
            right = right and all(isinstance(each, Geometry) for each in body.geometry)
            right = right and joint.q_slice == slice(rows, rows + joint.kind.nq)
            right = right and joint.v_slice == slice(rates, rates + joint.kind.nv)
            right = right and (body.flexible is None or isinstance(body.flexible, FlexibleInertia))
            right = right and _has_node(model, body.parent, body.node)
            right = right and all(_has_node(model, number, each.node) for each in body.geometry)
            if not right:
                return False
            rows, rates = rows + joint.kind.nq + body.modes, rates + joint.kind.nv + body.modes
        frames = all(isinstance(each, Frame) and isinstance(each.placement, Pose) for each in model.frame_list)
        frames = frames and all(-1 <= each.body < len(model.bodies) for each in model.frame_list)
        frames = frames and all(_has_node(model, each.body, each.node) for each in model.frame_list)
        named = (*model.bodies, *model.joints, *model.frame_list, *model.loops)
        if not all(isinstance(each.name, str) for each in named):
            return False
        for loop in model.loops:
            ends = (loop.frame_a, loop.frame_b) if isinstance(loop, Loop) else ()
            joints = (loop.joint_a, loop.joint_b) if isinstance(loop, CoupledJoints) else ()
            for end in ends:
                model.frame(end)
            for joint in joints:
                assert joint is None or model.joint(joint)
        told = all(isinstance(each, str) for each in (model.name, *model.warnings))
        return frames and told and all(isinstance(g, Geometry) for g in model.base_geometry)
    except (PhistarError, AttributeError, TypeError, AssertionError):
        return False


def _has_node(model: Model, body: int, node: Any) -> bool:
    """Whether a node is one of a body that bends, or −1, which is none."""
    bent = model.bodies[body].flexible if body >= 0 else None
    count = 0 if bent is None else len(bent.nodes)
    return isinstance(node, int) and not isinstance(node, bool) and -1 <= node < count


# What takes other arguments than its fields, or would refuse numbers that a robot file has.
_MAKERS: Mapping[str, Any] = {
    "Pose": lambda rotation, translation: Pose(xyz=translation, rotation=rotation),
    "Inertia": Inertia.unchecked,
}


def _classes() -> dict[str, type]:
    """Classes that a model is made of, by name."""
    found: dict[str, type] = {kind.__name__: kind for kind in (Model, Body, Joint, Frame, Loop, CoupledJoints, Pose)}
    named = (getattr(models, name) for name in models.__all__)
    parts = [each for each in named if isinstance(each, type) and issubclass(each, Value)]
    kinds = [each for parent in (JointKind, CutKind) for each in parent.__subclasses__()]
    return found | {kind.__name__: kind for kind in (*parts, *kinds, Inertia, Geometry, FlexibleInertia)}


def _data(value: Any, folder: Path) -> Any:
    """A part of a model as JSON has it."""
    if isinstance(value, Mesh):
        value = replace(value, path=_from(Path(value.path), folder))
    if isinstance(value, Value) and is_dataclass(value):
        own = {each.name: _data(getattr(value, each.name), folder) for each in fields(value) if each.init}
        return {"class": type(value).__name__, **own}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop]}
    if isinstance(value, np.ndarray):
        made = {"array": _data(tuple(value.tolist()), folder)}
        return made | {"shape": list(value.shape)} if 0 in value.shape else made
    if isinstance(value, tuple | list):
        return [_data(each, folder) for each in value]
    value = value.item() if isinstance(value, np.generic) else value
    # JSON has no infinite numbers; limits of joints are such.
    return {"infinite": 1 if value > 0 else -1} if isinstance(value, float) and math.isinf(value) else value


def _from(path: Path, folder: Path) -> str:
    """A mesh's path from the folder of the file, where it is in it."""
    full = Path(os.path.abspath(path))
    return str(full.relative_to(folder)) if full.is_relative_to(folder) else str(full)


def _value(data: Any) -> Any:
    """The part of a model that JSON says."""
    if isinstance(data, list):
        return tuple(_value(each) for each in data)
    if not isinstance(data, dict):
        return data
    if "array" in data:
        array = np.array(_numbers(_value(data["array"])), dtype=float)
        return array.reshape(data["shape"]) if "shape" in data else array
    if "infinite" in data:
        return math.copysign(math.inf, data["infinite"])
    if "slice" in data:
        begin, end = data["slice"]
        return slice(begin, end)
    name = data["class"]
    if name not in _classes():
        raise FileError(f"it holds a {name!r:.60}, which no model has")
    kind, given = _classes()[name], {key: _value(each) for key, each in data.items() if key != "class"}
    return _to_the_last_bit(_MAKERS.get(name, kind)(**given), given)


def _to_the_last_bit(made: Any, given: Mapping[str, Any]) -> Any:
    """The value with the numbers of its file: making it scales directions to length one, which changes their last
    digits although they had it."""
    own = {each.name: getattr(made, each.name) for each in fields(made) if each.init}
    near = {
        name: given[name]
        for name, array in own.items()
        if isinstance(array, np.ndarray) and isinstance(given.get(name), np.ndarray) and _same(array, given[name])
    }
    return restore(type(made), own | near) if near else made


def _same(array: np.ndarray, other: np.ndarray) -> bool:
    return array.shape == other.shape and np.allclose(array, other, rtol=ROUND, atol=ROUND)


def _numbers(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """The entries of an array, of which none may be text: NumPy would read it as a number."""
    for each in entries:
        if isinstance(each, tuple):
            _numbers(each)
        elif isinstance(each, bool) or not isinstance(each, int | float):
            raise ValueError(f"{each!r:.50} stands where a number was expected")
    return entries


def _with_meshes(model: Model, allowed: Folders) -> Model:
    """The model with its meshes found; those that may not be opened, or are not there, are left out and told."""
    left: list[str] = []

    def readable(geometry: tuple[Geometry, ...]) -> tuple[Geometry, ...]:
        made = []
        for each in geometry:
            if not isinstance(each.shape, Mesh):
                made.append(each)
            elif (path := allowed.find(each.shape.path).path) is not None:
                made.append(replace(each, shape=replace(each.shape, path=str(path))))
            else:
                left.append(f"The mesh {each.shape.path!s:.200} is not in the folders that may be opened; left out.")
        return tuple(made)

    bodies = tuple(replace(body, geometry=readable(body.geometry)) for body in model.bodies)
    base = readable(model.base_geometry)
    return replace(model, bodies=bodies, base_geometry=base, warnings=(*model.warnings, *left))
