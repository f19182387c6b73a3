"""Reading of untrusted trajectories and folders of runs: all content is checked before use.

HDF5 can name other files (external storage, external links, virtual datasets), promise terabytes that are nothing but a
fill value, and point many strings to one long one. None of that is followed; everything else has a bound.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from phistar import safe_files
from phistar.errors import FileError, PhistarError
from phistar.io.packages import FolderList, Folders
from phistar.model import Model
from phistar.safe_files import MEGABYTE
from phistar.sim.scenes import run_model
from phistar.sim.scenes.source import LARGEST
from phistar.sim.trajectory import Contacts, Event, Part, Trajectory
from phistar.sim.trajectory_files import NAMES, SIDES

LARGEST_FILE = 2048 * MEGABYTE
LARGEST_ARRAYS = 2048 * MEGABYTE  # all of them, unpacked
HIGHEST_PACKING = 1032  # deflate's: what promises more is a fill value
MOST_NAMES = 100_000
MOST_EVENTS = 100_000
LONGEST_TEXTS = 16 * MEGABYTE  # characters, all of a list
MOST_PHASES = 10_000
LARGEST_SUMMARY = 16 * MEGABYTE
LARGEST_NUMBER = 1e300
# Dimensions after the first, which is that of t; None is any.
_SHAPES: Mapping[str, tuple[int | None, ...]] = {
    **dict.fromkeys(("t", "energy", "work", "distance", "phase"), ()),
    **dict.fromkeys(("q", "v", "tau", "contact_force", "contact_pair", "held_contacts"), (None,)),
    "momentum": (6,),
    **dict.fromkeys(("contact_point", "contact_vector", "contact_moment"), (None, 3)),
}
_NUMBERS = (
    *("min_distance", "peak_force", "momentum_drift", "energy_residual", "energy_change", "internal_force"),
    "numerical_loss",
    *("friction_unsettled", "friction_change", "torque_clipped", "events", "sim_time", "wall_time"),
    *("final_relative_twist", "peak_internal_force", "loop_residual"),
)


class _Content(NamedTuple):
    """Checked content of trajectory.h5: arrays by name, lists of names, events, the scene's source, the axes of a
    batch, the text of its summary, the model with its parts, in the bytes that hold them, and bodies and nodes of the
    pairs of shapes."""

    arrays: Mapping[str, np.ndarray]
    names: Mapping[str, tuple[str, ...]]
    events: tuple[Event, ...]
    source: str
    batch: tuple[int, ...]
    summary: str
    model: tuple[bytes, bytes] | None
    sides: Mapping[str, np.ndarray]


class _Damaged(ValueError):
    """Defect of a stored run."""


def load(path: Path, packages: FolderList = ()) -> Trajectory:
    """Return the trajectory of a file or of a run's folder, every number and text checked for its type.

    The model is the one inside; where meshes of it are not at hand, or there is none, that of the scene kept beside it.
    """
    whole = os.path.isdir(path)  # names too long for a path are no folder
    what = _WHAT if whole else "it needs to be one that Trajectory.save wrote."
    kind = "the folder of a run" if whole else "the file of a trajectory"
    try:
        import h5py
    except ImportError:
        raise PhistarError("Reading a trajectory needs the package h5py: pip install 'phistar[sim]'.") from None
    try:
        text = _own_text(path, "summary.json") if whole else None
        place = _own(path, "trajectory.h5") if whole else path
        safe_files.check_file(place, "the trajectory of a run", LARGEST_FILE)
        with h5py.File(place, "r") as file:
            content = _content(h5py, file, place.stat().st_size)
        summary = _summary(content.summary if text is None else text)
        found = _found_model(path if whole else None, place, summary, content, packages)
        return _trajectory(content, summary, *found, _kept_text(path) if whole else "")
    except _NoModel as error:
        raise FileError(str(error)) from None
    except FileError as error:
        raise FileError(f"{path} is not {kind} ({error}); {what}") from None
    except Exception as error:  # the library of HDF5 raises whatever it finds in a damaged file
        raise FileError(f"{path} is not {kind} ({error!s:.200}); {what}") from None


class _NoModel(Exception):
    """The scene of a run cannot be loaded, and no model is inside."""


def _found_model(
    folder: Path | None, place: Path, summary: Mapping[str, Any], content: _Content, packages: FolderList
) -> tuple[Model, Mapping[str, Part]]:
    inside, parts, whole, why = None, {}, False, "no model is inside"
    if content.model is not None:
        inside, parts, whole = run_model.inside(*content.model, Folders.around(place, packages))
    widths = content.arrays["q"].shape[1:], content.arrays["v"].shape[1:]
    if folder is not None:
        run_model.check_kept(folder)
    if folder is not None and not whole:  # the scene may lead to meshes that the file alone does not
        try:
            model = run_model.model_of_run(folder, content.source, summary["seed"], packages)
            if inside is None or model.key == inside.key:
                if widths == ((model.nq,), (model.nv,)):
                    return model, parts
                why = f"it was run with another scene than {summary['scene']!r} is now; run it anew"
        except PhistarError as error:
            why = str(error)
    if inside is None:
        raise _NoModel(f"{folder or place}: {why}")
    return inside, parts


def _trajectory(
    content: _Content, summary: dict[str, Any], model: Model, parts: Mapping[str, Part], text: str
) -> Trajectory:
    arrays, count = dict(content.arrays), len(content.arrays["t"])
    states: dict[str, Any] = {"t": arrays.pop("t")}
    for name, width in (("q", model.nq), ("v", model.nv), ("tau", model.nv)):
        array = arrays.pop(name, None)
        if array is not None:
            array = np.moveaxis(array.reshape(count, *content.batch, width), 0, len(content.batch))
        states[name] = array
    contacts = _contacts(arrays, content, model)
    labels = {name: names for name, names in content.names.items() if name not in NAMES}
    known = {"contacts": contacts, "events": content.events, "signals": arrays, "labels": labels, "parts": parts}
    told = {"name": summary["scene"], "summary": summary, "source": content.source, "text": text}
    return Trajectory(model, **states, **known, **told)


def _contacts(arrays: dict[str, np.ndarray], content: _Content, model: Model) -> Contacts | None:
    """The contacts, taken out of the arrays; None where there are none."""
    pairs, names = content.names["pair_names"], ("force", "pair", "point", "vector", "moment")
    found = [arrays.pop(f"contact_{name}", None) for name in names]
    if not pairs or any(array is None for array in found[:-1]):
        return None
    normal, pair, point, force, moment = found
    right = normal.shape[1] == len(pairs) and point.shape[:2] == force.shape[:2] == pair.shape  # type: ignore[union-attr]
    right = right and (moment is None or moment.shape == force.shape)  # type: ignore[union-attr]
    if not right or pair.dtype.kind not in "iu" or (pair.size and not -1 <= pair.min() <= pair.max() < len(pairs)):  # type: ignore[union-attr]
        raise _Damaged("contacts do not fit each other")
    return Contacts(pairs, normal, pair, point, force, moment, *_sides(content, len(pairs), model))  # type: ignore[arg-type]


def _sides(content: _Content, pairs: int, model: Model) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Bodies and nodes of the pairs; None in files that do not tell."""
    if any(name not in content.sides for name in SIDES):
        return None, None
    bodies, nodes = (content.sides[name] for name in SIDES)
    if bodies.size != 2 * pairs or nodes.size != 2 * pairs:
        raise _Damaged("the bodies of contacts do not fit their pairs")
    bodies, nodes = bodies.reshape(-1, 2), nodes.reshape(-1, 2)
    if bodies.size and not -1 <= bodies.min() <= bodies.max() < len(model.bodies):
        raise _Damaged("contacts are of bodies that the model does not have")
    for body, node in zip(bodies.reshape(-1).tolist(), nodes.reshape(-1).tolist(), strict=True):
        flexible = model.bodies[body].flexible if body >= 0 else None
        if not -1 <= node < (0 if flexible is None else len(flexible.nodes)):
            raise _Damaged("contacts are of nodes that the model does not have")
    return bodies, nodes


def _kept_text(folder: Path) -> str:
    kept = folder / run_model.KEPT
    return safe_files.read_text(kept, "a scene in TOML", LARGEST) if kept.is_file() else ""


_WHAT = "it needs summary.json and trajectory.h5, as `phistar run SCENE --out DIR` writes them."


def _own(folder: Path, name: str) -> Path:
    path = folder / name
    if not safe_files.is_inside(path, folder):
        raise FileError(f"{name} leads out of it")
    return path


def _own_text(folder: Path, name: str) -> str:
    return safe_files.read_text(_own(folder, name), "the summary of a run", LARGEST_SUMMARY)


def _summary(text: str) -> dict[str, Any]:
    """Parse the summary, checking that its entries have the right types."""
    try:
        summary = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Damaged(f"summary.json: {error!s:.100}") from None
    if not isinstance(summary, dict) or not isinstance(summary.get("scene"), str):
        raise _Damaged("summary.json names no scene")
    seed = summary.get("seed")
    if type(seed) is not int or not 0 <= seed < 2**128:
        raise _Damaged(f"summary.json has the seed {seed!r:.50}")
    for name in _NUMBERS:
        value = summary.get(name)
        numbers = value if isinstance(value, list) else [value]
        if not all(each is None or _is_number(each) for each in numbers):
            raise _Damaged(f"summary.json has {name} = {value!r:.50}, which is no number")
    for name, kind in (("completed", bool), ("reached", bool), ("outcome", str), ("reason", str)):
        if summary.get(name) is not None and not isinstance(summary[name], kind):
            raise _Damaged(f"summary.json has {name} = {summary[name]!r:.50}")
    return summary | {"phases": _phases(summary.get("phases"))}


def _phases(told: Any) -> list[dict[str, Any]]:
    told = [] if told is None else told
    if not isinstance(told, list) or len(told) > MOST_PHASES:
        raise _Damaged("summary.json: phases are no list")
    for each in told:
        right = isinstance(each, dict) and isinstance(each.get("name"), str)
        right = right and _is_number(each.get("start")) and _is_number(each.get("end"))
        if not right or not isinstance(each.get("reason", ""), str | None):
            raise _Damaged(f"summary.json: {each!r:.60} is no phase")
    return told


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST_NUMBER and math.isfinite(value)


def _content(h5py: Any, file: Any, size: int) -> _Content:
    left, arrays = LARGEST_ARRAYS, {}
    for name, data in _numbers(h5py, file):
        left -= _checked_size(data, name)
        if left < 0:
            raise _Damaged(f"the arrays have more than {LARGEST_ARRAYS // MEGABYTE} MB")
        arrays[name] = data[()]
    _check_shapes(arrays)
    names = {name: _names(h5py, file, name, size) for name in NAMES}
    if "names" in file:
        group = _own_object(h5py, file, "names")
        own = [name for name in group if name not in NAMES][:MOST_LABELS]
        names |= {name: _names(h5py, file, name, size) for name in own}
    summary, tree, held = (_bytes(h5py, file, *place) for place in _INSIDE)
    model = None if tree is None else (tree, held or b"")
    batch = tuple(int(axis) for axis in np.ravel(file.attrs.get("batch", ()))[:MOST_AXES])
    told = (summary or b"{}").decode("utf-8")
    sides = {name: _whole_numbers(file, f"pair_{name}") for name in SIDES if f"pair_{name}" in file.attrs}
    return _Content(arrays, names, _events(h5py, file), _source(file), batch, told, model, sides)


def _whole_numbers(file: Any, name: str) -> np.ndarray:
    """An attribute of at most as many whole numbers as pairs have sides."""
    kept = file.attrs.get_id(name)
    if len(kept.shape) != 1 or kept.shape[0] > 2 * MOST_NAMES or kept.dtype != np.int64:
        raise _Damaged(f"{name} are no whole numbers")
    return np.asarray(file.attrs[name])


MOST_LABELS = 16
MOST_AXES = 8
LARGEST_MODEL = 256 * MEGABYTE
_INSIDE = (("summary", "json"), ("model", "tree"), ("model", "held"))


def _numbers(h5py: Any, file: Any) -> Iterator[tuple[str, Any]]:
    """The arrays over the samples, those of sensors and facts too."""
    for name in file:
        data = _own_object(h5py, file, name)
        if isinstance(data, h5py.Dataset) and name != "events" and data.dtype.kind in "fiub":
            yield name, data
        elif isinstance(data, h5py.Group) and name in ("sensed", "facts"):
            for inner in data:
                own = _own_object(h5py, data, inner)
                if isinstance(own, h5py.Dataset) and own.dtype.kind in "fiub":
                    yield f"{name}/{inner}", own


def _bytes(h5py: Any, file: Any, group: str, name: str) -> bytes | None:
    """The bytes of a text or of a model inside; None where there are none."""
    if group not in file or not isinstance(_own_object(h5py, file, group), h5py.Group) or name not in file[group]:
        return None
    data = _own_object(h5py, file[group], name)
    if not isinstance(data, h5py.Dataset) or data.dtype != np.uint8 or data.ndim != 1:
        raise _Damaged(f"{group}/{name} is no text")
    if _checked_size(data, name) > LARGEST_MODEL:
        raise _Damaged(f"{group}/{name} has more than {LARGEST_MODEL // MEGABYTE} MB")
    return data[()].tobytes()


def _own_object(h5py: Any, group: Any, name: str) -> Any:
    """Return the object of a name; refuse links to other objects or files."""
    if group.get(name, getlink=True, getclass=True) is not h5py.HardLink:
        raise _Damaged(f"{name[:60]!r} is a link to something else")
    return group[name]


def _checked_size(data: Any, name: str) -> int:
    """Bytes of a dataset, unpacked; refused unless its own file holds them."""
    if data.external or data.is_virtual:
        raise _Damaged(f"{name[:60]!r} is stored in another file")
    size = int(data.size or 0) * data.dtype.itemsize
    if size > LARGEST_ARRAYS or size > HIGHEST_PACKING * data.id.get_storage_size() + 4096:
        raise _Damaged(f"{name[:60]!r} claims {size:.3g} bytes that the file does not hold")
    return size


def _check_shapes(arrays: Mapping[str, np.ndarray]) -> None:
    for name in ("t", "q", "v"):
        if name not in arrays:
            raise _Damaged(f"there is no {name}")
    count = len(arrays["t"]) if arrays["t"].ndim == 1 else -1
    for name, array in arrays.items():
        wanted = _SHAPES.get(name)
        found = array.shape[1:]
        fits = array.ndim > 0 and len(array) == count
        if wanted is not None:
            fits = fits and len(found) == len(wanted) and all(w in (None, f) for w, f in zip(wanted, found))
        if not fits:
            raise _Damaged(f"{name[:60]!r} has the shape {array.shape}")
    for name in ("t", "q", "v"):
        if not np.isfinite(arrays[name]).all():
            raise _Damaged(f"{name} has numbers that are not finite")
    if (np.diff(arrays["t"]) < 0.0).any():
        raise _Damaged("time runs backwards")


def _names(h5py: Any, file: Any, name: str, size: int) -> tuple[str, ...]:
    if "names" in file:
        data = _own_object(h5py, _own_object(h5py, file, "names"), name)
        return tuple(text for (text,) in _rows(h5py, data, MOST_NAMES, ("text",)))
    # A run of version 0.1: one attribute, which can only be read whole, each entry up to the file's size.
    shape = file.attrs.get_id(name).shape
    if len(shape) != 1 or shape[0] * size > LARGEST_ARRAYS:
        raise _Damaged(f"{name} are too many")
    return tuple(map(str, np.asarray(file.attrs[name]).tolist()))


def _events(h5py: Any, file: Any) -> tuple[Event, ...]:
    if "events" not in file:
        return ()
    rows = _rows(h5py, _own_object(h5py, file, "events"), MOST_EVENTS, ("number", "text", "text"))
    return tuple(Event(*row) for row in rows)


def _rows(h5py: Any, data: Any, most: int, kinds: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Rows one by one, while their texts together stay short: many of them can point to one long text."""
    if not isinstance(data, h5py.Dataset) or data.ndim != 1 or len(data) > most:
        raise _Damaged(f"{data.name[:60]!r} is no list of at most {most}")
    _checked_size(data, data.name)
    left = LONGEST_TEXTS
    for number in range(len(data)):
        row = data[number]
        values = tuple(row) if len(kinds) > 1 else (row,)
        if len(values) != len(kinds):
            raise _Damaged(f"{data.name[:60]!r} has rows of {len(values)}")
        told = tuple(_value(value, kind) for value, kind in zip(values, kinds, strict=True))
        left -= sum(len(each) for each in told if isinstance(each, str))
        if left < 0:
            raise _Damaged(f"the texts of {data.name[:60]!r} are too long")
        yield told


def _value(value: Any, kind: str) -> Any:
    if kind == "number":
        number = float(value)
        if not math.isfinite(number):
            raise _Damaged("an event has no time")
        return number
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _source(file: Any) -> str:
    """Name or path of the scene's source."""
    for name in ("source", "scene"):
        if name in file.attrs:
            if file.attrs.get_id(name).shape != ():
                raise _Damaged("its source is no text")
            return str(file.attrs[name])[:4096]
    return ""
