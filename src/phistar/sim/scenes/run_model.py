"""The model of a finished run: that of its scene as it was, kept beside the trajectory, or the one inside it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import FileError
from phistar.io import xml
from phistar.io.model_files import hangs_together
from phistar.io.packages import FolderList, Folders
from phistar.loops.embedding import Embedding
from phistar.model import Geometry, Mesh, Model
from phistar.model.compound import compound_links
from phistar.safe_files import check_file, is_inside, read_text
from phistar.sim.scenes.scene import Scene
from phistar.sim.scenes.serialize import unpack_tree
from phistar.sim.scenes.source import LARGEST, parse_scene, source_of
from phistar.sim.trajectory import Part

KEPT = "scene.toml"
MADE = ("phistar.model.", "phistar.spatial.", "phistar.sim.trajectory:Part", "phistar.loops.embedding:Embedding")
ORTHONORMAL = 1e-9  # how far the columns of a choice of independent rates may be from it


def model_of_run(folder: Path, source: str, seed: int, packages: FolderList = ()) -> Model:
    """The model of the scene that a run kept, drawn with its seed. Robots that it names by file are looked for in the
    run's folder and beside the scene's own file, `source`, where that is there; a run that kept no scene is taken to be
    of `source` as it is now."""
    kept = folder / KEPT
    try:
        if not os.path.lexists(kept):
            return Scene.unread(source, packages).drawn_plant(seed).model
        if not is_inside(kept, folder):
            raise FileError(f"{kept} leads out of its folder.")
        text = read_text(kept, "a scene in TOML", LARGEST)
        content, beside = parse_scene(text, str(kept)), _beside(source)
        name, allowed = str(content.get("name", Path(source).stem)), Folders.around(kept, packages).packages
        allowed = (*allowed, folder.resolve())
        return Scene(name, content, beside or folder, str(kept), text, allowed).drawn_plant(seed).model
    except (OSError, FileError) as error:
        raise FileError(f"The scene that {folder} was run from cannot be loaded: {error}") from None


def check_kept(folder: Path) -> None:
    """Refuses a kept scene that is no file of the folder."""
    kept = folder / KEPT
    if os.path.lexists(kept):
        if not is_inside(kept, folder):
            raise FileError(f"{kept} leads out of its folder.")
        check_file(kept, "a scene in TOML", LARGEST)


def inside(tree: bytes, held: bytes, allowed: Folders) -> tuple[Model, Mapping[str, Part], bool]:
    """The model of a whole and those of its parts, from data; meshes outside the folders allowed are left out, and
    whether none had to be."""
    content = json.loads(tree)
    _check_classes(content)
    found = unpack_tree(content, held, frozenset())
    model, parts = found["model"], found["parts"]
    if not isinstance(model, Model) or not all(isinstance(part, Part) for part in parts.values()):
        raise FileError("it holds no model")
    for each in (model, *(part.model for part in parts.values())):
        if not isinstance(each, Model) or not _hangs_together(each):
            raise FileError("its model does not hang together")
    parts = {str(name): replace(part, model=_with_meshes_in(part.model, allowed)) for name, part in parts.items()}
    for part in parts.values():
        _check_places(part.places, part.model.nq, model.nq)
        _check_places(part.rates, part.model.nv, model.nv)
    found = _with_meshes_in(model, allowed)
    return found, parts, found == model


def _check_classes(tree: Any) -> None:
    """Nothing but parts of models is made from what a file says."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            name = each.get("class")
            if name is not None and not str(name).startswith(MADE):
                raise FileError(f"its model holds a {name!s:.60}")
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _hangs_together(model: Model) -> bool:
    """Whether a model is whole, and what it makes of its loops too."""
    return hangs_together(model) and (model.embedding is None or _is_embedded(model))


def _is_embedded(model: Model) -> bool:
    """Whether a model in independent rates is what its closed mechanism makes, with rates that can be chosen."""
    made = model.embedding
    if not isinstance(made, Embedding) or made.closed.embedding is not None or not _hangs_together(made.closed):
        return False
    if made.groups != compound_links(made.closed) or len(made.choices) != len(made.groups):
        return False
    for group, own in zip(made.groups, made.choices, strict=True):
        right = isinstance(own, np.ndarray) and own.dtype == np.float64 and own.ndim == 2
        if not right or own.shape[0] != len(group.rates) or own.shape[1] > own.shape[0]:
            return False
        if not np.abs(own.T @ own - np.eye(own.shape[1])).max(initial=0.0) < ORTHONORMAL:
            return False
    return model == made.closed._with(loops=(), embedding=made)


def _check_places(places: Any, count: int, whole: int) -> None:
    right = isinstance(places, np.ndarray) and places.shape == (count,) and places.dtype.kind in "iu"
    if not right or (count and not 0 <= places.min() <= places.max() < whole):
        raise FileError("its parts do not fit the whole")


def _with_meshes_in(model: Model, allowed: Folders) -> Model:
    def allowed_geometry(geometry: tuple[Geometry, ...]) -> tuple[Geometry, ...]:
        return tuple(g for g in geometry if not isinstance(g.shape, Mesh) or allowed.find(g.shape.path).path)

    bodies = tuple(replace(body, geometry=allowed_geometry(body.geometry)) for body in model.bodies)
    return replace(model, bodies=bodies, base_geometry=allowed_geometry(model.base_geometry))


def _beside(source: str) -> Path | None:
    """The folder of the scene or robot file that a run says it is of; None unless it reads as one: a stranger's run
    must not open folders by naming any file in them."""
    path = Path(source)
    try:
        if path.suffix == ".toml":
            source_of(path)
        elif path.suffix.lower() in (".urdf", ".xml", ".mjcf", ".sdf"):
            xml.read(path)
        else:
            return None
    except FileError:
        return None
    return path.parent
