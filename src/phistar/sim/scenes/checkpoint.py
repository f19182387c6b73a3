"""A run written down half-way and taken up again, bit for bit: data alone, written whole, with its checksum."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import FileError, PhistarError
from phistar.sim.motion import Moment, Touching
from phistar.sim.scenes.loop import Sampled
from phistar.sim.scenes.plain import packed, unpacked
from phistar.sim.scenes.result import CHECKPOINT, Result, check_ended, whole
from phistar.sim.scenes.run import Course, Watch, finished
from phistar.sim.scenes.scene import Scene

MAGIC = b"phistar checkpoint 2 "
LOGGED = ("books", "rows", "events", "phases", "nearest", "lowest", "peak", "unsettled", "gripped")
LAWFUL = ("memory", "command", "tau", "clipped", "switches")


def run(
    scene: Scene,
    seed: int,
    control: Any,
    progress: Callable[[float], None] | None,
    watch: Watch | None,
    checkpoint: tuple[float, str | os.PathLike[str]] | None,
    resume: str | os.PathLike[str] | None,
) -> Result:
    """What `Scene.run` does."""
    course = Course(scene, seed, control) if resume is None else resumed(read(Path(resume)), scene, control)
    if checkpoint is None:
        return finished(course, progress, watch)
    every, folder = checkpoint
    check_ended(Path(folder), resume)
    if not 0.0 < every < np.inf:
        raise PhistarError(f"A checkpoint is written every so many seconds, more than 0; {every!r:.50} was given.")
    due = [every * (1 + int((course.moment.time if course.moment else 0.0) / every + 1e-9))]

    def kept(course: Course) -> None:
        assert course.moment is not None
        if course.moment.time >= due[0] - 1e-9:
            write(course, Path(folder))
            due[0] = every * (1 + int(course.moment.time / every + 1e-9))

    return finished(course, progress, watch, kept)


def write(course: Course, folder: Path) -> Path:
    """FOLDER/checkpoint, in place of the one before."""
    held = bytearray()
    tree = json.dumps(packed(_state(course), held)).encode()
    payload = len(tree).to_bytes(8, "little") + tree + held
    head = MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"The folder {folder} cannot be made: {error.strerror}.") from None
    return whole(folder / CHECKPOINT, lambda path: path.write_bytes(head + payload))


def read(folder: Path) -> dict[str, Any]:
    """What `write` wrote, checked: its tree, its bytes and its head, for `resumed`."""
    path = folder / CHECKPOINT
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}; --checkpoint SECONDS writes one.") from None
    head, _, payload = content.partition(b"\n")
    if not head.startswith(MAGIC):
        raise FileError(f"{path} is not a checkpoint of this version of phistar.")
    if hashlib.sha256(payload).hexdigest().encode() != head.removeprefix(MAGIC):
        raise FileError(f"{path} is damaged: its checksum is another.")
    try:
        end = 8 + int.from_bytes(payload[:8], "little")
        tree, held = json.loads(payload[8:end]), payload[end:]
        head = unpacked(tree["dict"][0][1], held, frozenset())
        told = {name: head[name] for name in ("scene", "source", "seed", "content")}
        return {"tree": tree, "held": held, "path": path, "head": told}
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} cannot be understood: {error}.") from None


def resumed(kept: dict[str, Any], scene: Scene, control: Any = None) -> Course:
    """The course that was written down; the scene and the controller must be those that it was of."""
    head, path = kept["head"], kept["path"]
    if head["content"] != scene.digest:
        raise FileError(f"{path} is of the scene {head['scene']} as it was; what is given is another, or was changed.")
    course = Course(scene, head["seed"], control)
    modules = {type(course.law.controller).__module__} if isinstance(course.law, Sampled) else set()
    try:
        state = unpacked(kept["tree"], kept["held"], frozenset(modules))
        _restore(course, state)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} cannot be taken up: {error}.") from None
    return course


def _state(course: Course) -> dict[str, Any]:
    moment, law, log = course.moment, course.law, course.log
    assert moment is not None
    head = {"scene": course.scene.name, "source": course.scene.source, "seed": course.seed}
    head["content"] = course.scene.digest
    state = {"head": head, "reached": course.reached, "end": course.end, "spent": course.spent}
    state["moment"] = moment._replace(step=None, events=(), touching=moment.touching._replace(seen=()))
    state["log"] = {name: getattr(log, name) for name in LOGGED}
    state["sampled"] = isinstance(law, Sampled)
    if isinstance(law, Sampled):
        state["law"] = {name: getattr(law, name) for name in LAWFUL}
        state["line"] = (law.line.past, law.line.count, law.line.generator.bit_generator.state)
    return state


def _restore(course: Course, state: dict[str, Any]) -> None:
    law = course.law
    if state["sampled"] != isinstance(law, Sampled):
        raise ValueError("its controller lived in samples and this one does not, or the other way round")
    course.reached, course.end, course.spent = state["reached"], state["end"], state["spent"]
    moment = state["moment"]
    if not isinstance(moment, Moment) or not isinstance(moment.touching, Touching):
        raise ValueError("it has no moment to go on from")
    course.moment = moment
    for name in LOGGED:
        setattr(course.log, name, state["log"][name])
    if isinstance(law, Sampled):
        for name in LAWFUL:
            setattr(law, name, state["law"][name])
        past, count, generator = state["line"]
        law.line.generator.bit_generator.state = generator
        law.line = law.line._replace(past=past, count=count)
