"""Scenes, their plants and their controllers as FMI 3 FMUs, which phistar itself runs in a process beside the tool."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from phistar.backends.code.c import identifier
from phistar.errors import FileError
from phistar.io.packages import Folders
from phistar.onboard.fmu_file import FmuParts, fmu_path, number_variables, part_of_c, write_fmu
from phistar.onboard.fmu_process import SCENE, SETTINGS, side_of
from phistar.sim.scenes.scene import Scene
from phistar.sim.scenes.toml import text_of

MOST_BYTES = 50_000_000  # of a file that is looked at for names of others
BETWEEN = str.maketrans(dict.fromkeys("\"'<>,;=()[]\t\r\n", " "))


def export_scene_fmu(scene: Scene, path: str | os.PathLike[str], side: str = "scene", *, seed: int = 0) -> Path:
    """Write a scene, its plant alone or its controller alone, as an FMU for co-simulation (FMI 3.0).

    The FMU holds the scene's file and those that it names; a process of Python with phistar runs them, the interpreter
    that wrote the FMU or the one that the environment variable PHISTAR_PYTHON names (FMI calls this tool coupling). All
    that scenes have goes: contact, sensors with their noise and delays, fields, controllers written in Python. Numbers
    are those of `Scene.run` to the last bit.

    The whole scene has outputs, `q[i]`, `v[i]` and `sensed/SENSOR[i]`, and steps as long as its samples. Its plant has
    the inputs `command/ACTUATOR` besides, and steps as long as the controller's period; its controller has inputs where
    the plant has outputs, and outputs where the plant has inputs. Steps may be several times as long.

    Parameters
    ----------
    scene : Scene
    path : path
        NAME.fmu; NAME is the model's identifier.
    side : "scene", "plant" or "controller"
    seed : int
        Its random numbers are drawn from it.

    Returns
    -------
    Path

    Examples
    --------
    >>> ps.onboard.export_scene_fmu(ps.Scene.load("bouncing"), "bouncing.fmu")  # doctest: +SKIP
    PosixPath('bouncing.fmu')
    """
    target = fmu_path(path)
    if os.name != "posix":
        raise FileError("FMUs of scenes start a process as POSIX does; this system has none of its calls.")
    resources = scene_files(scene, side, seed)
    with tempfile.TemporaryDirectory() as folder:  # what goes into the file runs by itself, or it is not written
        for name, content in resources.items():
            place = Path(folder) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        try:
            made = side_of(Path(folder))
        except FileError as error:
            raise FileError(f"{scene.where} cannot be put into a file of its own: {error}") from None
    names, timing = made.names, made.setting.timing
    variables = number_variables([(name, 0.0, about) for name, about in names.inputs])
    variables += number_variables([(name, None, about) for name, about in names.outputs], len(variables) + 1)
    attributes = {"needsExecutionTool": "true", "fixedInternalStepSize": repr(made.period)}
    experiment = {"startTime": 0.0, "stopTime": timing.duration, "stepSize": made.period}
    about = f"{scene.name}, drawn with the seed {seed}" + ("" if side == "scene" else f": its {side}")
    defined = {"PYTHON": json.dumps(sys.executable or "python3")}
    parts = FmuParts(
        identifier(target.stem),
        about,
        variables,
        part_of_c("fmu_process.c"),
        defined,
        attributes,
        experiment,
        resources,
    )
    return write_fmu(target, parts)


def scene_files(scene: Scene, side: str, seed: int) -> dict[str, bytes]:
    """The files of a scene by their places among an FMU's resources."""
    told = {"side": side, "seed": seed, "code": scene.code, "packages": []}
    made: dict[str, bytes] = {}
    folders = scene.folders
    homes = {folders.own: "scene"} | {folder: f"packages/{i}" for i, folder in enumerate(folders.packages)}
    for folder, home in homes.items():
        if home != "scene":
            told["packages"].append(f"{home}/{folder.name}")
    for found in sorted(_files_named(_texts(scene.content), folders, set())):
        folder = next(each for each in homes if found.is_relative_to(each))
        home = homes[folder] if homes[folder] == "scene" else f"{homes[folder]}/{folder.name}"
        made[f"{home}/{found.relative_to(folder).as_posix()}"] = found.read_bytes()
    made[f"scene/{SCENE}"] = text_of(dict(scene.content)).encode()
    return made | {SETTINGS: json.dumps(told).encode()}


def _texts(content: Any) -> Iterator[str]:
    """Every text in a scene's tables."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        for each in content.values():
            yield from _texts(each)
    elif isinstance(content, list | tuple):
        for each in content:
            yield from _texts(each)


def _files_named(texts: Iterator[str], folders: Folders, known: set[Path]) -> set[Path]:
    """The files that texts name, and those that these name: whatever is the name of a file in the allowed folders."""
    for text in texts:
        found = folders.find(text).path if 0 < len(text) < 1000 else None
        if found is None or found in known:
            continue
        known.add(found)
        if found.stat().st_size < MOST_BYTES:
            inner = found.read_bytes().decode("utf-8", "ignore").translate(BETWEEN).split()
            words = dict.fromkeys(word for word in inner if "." in word)
            _files_named(iter(words), Folders(found.parent, (folders.own, *folders.packages)), known)
    return known
