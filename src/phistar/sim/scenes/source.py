"""Sources of scenes: files and bundled ones, as they stand or as changes of another.

    extends = "grapple"        # a bundled scene, or a file in the same folder

Tables are merged key by key; an entry of parts or sensors that has the name of one there is merged with it, others come
in addition; whatever else is given takes the place of what was there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from phistar.errors import FileError
from phistar.safe_files import MEGABYTE, is_inside, parse_toml, read_text
from phistar.sim.scenes.chance import is_drawn
from phistar.sim.scenes.registry import register_scenes, scene_folders
from phistar.sim.scenes.toml import text_of

register_scenes(Path(str(files("phistar.sim.scenes") / "bundled")))
LARGEST = 16 * MEGABYTE
TOO_DEEP = "{}: tables and lists are nested too deeply for a scene."
NAMED = ("parts", "sensors")  # lists whose entries are known by their names


class Source(NamedTuple):
    """A scene's file, its self-contained text, and the parsed content."""

    path: Path
    text: str
    content: dict[str, Any]


def bundled_scenes() -> list[str]:
    """The names of the scenes that come with phistar."""
    return sorted(_bundled_files())


def is_bundled(path: Path) -> bool:
    """Whether a file is one of the scenes that come with phistar."""
    return path.parent in scene_folders()


def _bundled_files() -> dict[str, Path]:
    files = (entry for folder in scene_folders() for entry in folder.iterdir() if entry.suffix == ".toml")
    return {entry.stem: entry for entry in files}


def source_of(source: str | os.PathLike[str], before: tuple[Path, ...] = ()) -> Source:
    """Source of a file, or of a bundled scene by its name; `before` are the files that extend it."""
    path = _scene_file(source)
    text = _read(path)
    content = parse_scene(text, str(path))
    if "extends" not in content:
        return Source(path, text, content)
    place, chain = _base_file(path, content.pop("extends")), (*before, path)
    if place.resolve() in [each.resolve() for each in chain]:
        told = " extends ".join(each.name for each in (*chain, place))
        raise FileError(f"{path}, extends: {told}, and so itself; one of them must say everything.")
    name, old = content.setdefault("name", path.stem), source_of(place, chain).content
    try:
        whole = text_of(_merge(old, content, str(path), NAMED))
    except RecursionError:
        raise FileError(TOO_DEEP.format(path)) from None
    return Source(path, f"# {name!s:.100}, written out\n{whole}", parse_scene(whole, str(path)))


def _base_file(path: Path, other: Any) -> Path:
    """File of the scene that a scene extends."""
    if not isinstance(other, str) or not other or not other.isprintable():
        raise FileError(f"{path}, extends: the name or the file of a scene was expected; it is {other!r:.100}.")
    if not Path(other).suffix:
        return _bundled_file(other)
    place = path.parent / other
    if place.parent.resolve() != path.parent.resolve() or not is_inside(place, path.parent):
        raise FileError(f"{path}, extends: {other} lies in another folder; put both beside the files that they name.")
    return place


def parse_scene(text: str, where: str) -> dict[str, Any]:
    """Parse a scene's TOML text."""
    return parse_toml(text, where, "a scene")


def _scene_file(source: str | os.PathLike[str]) -> Path:
    path = Path(source)
    is_name = not path.suffix and (str(source) in _bundled_files() or not os.path.exists(path))
    return _bundled_file(str(source)) if is_name else path


def _bundled_file(name: str) -> Path:
    known = _bundled_files()
    if name not in known:
        told = ", ".join(sorted(known))
        raise FileError(f"There is no scene {name!r}; bundled are {told}, or give the path of a .toml file.")
    return known[name]


def _read(path: Path) -> str:
    return read_text(path, "a scene in TOML", LARGEST)


def _merge(
    old: Mapping[str, Any], new: Mapping[str, Any], where: str, named: tuple[str, ...] = NAMED
) -> dict[str, Any]:
    """Merge `new` into `old`, keeping the order of `old`."""
    made = dict(old)
    for key, value in new.items():
        was, made[key] = old.get(key), value
        if key in named and isinstance(was, list) and isinstance(value, list):
            made[key] = _entries(was, value, f"{where}, {key}")
        elif isinstance(was, Mapping) and isinstance(value, Mapping) and not is_drawn(was) and not is_drawn(value):
            made[key] = _merge(was, value, where, ())
    return made


def _entries(old: list[Any], new: list[Any], where: str) -> list[Any]:
    made = list(old)
    places = {str(each["name"]): i for i, each in enumerate(old) if isinstance(each, Mapping) and "name" in each}
    for each in new:
        name = each.get("name") if isinstance(each, Mapping) else None
        if not isinstance(name, str):
            raise FileError(f"{where}: each entry needs the name of the one that it changes, or one of its own.")
        if name in places:
            made[places[name]] = _merge(made[places[name]], each, where, ())
        else:
            made.append(each)
    return made
