"""A scene: parts, how they touch, what disturbs them and what drives them, read from a TOML file and run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from phistar.contact.pairs import Pair, Pairs, all_pairs, chosen_pairs
from phistar.contact.surface import Surface
from phistar.control.sampled import SampledFunction
from phistar.errors import FileError, ModelError, PhistarError
from phistar.io.packages import FolderList, Folders
from phistar.model import Free, Mesh, Model
from phistar.sim.scenes.chance import drawn
from phistar.sim.scenes.controllers import Controlling, check_controller, read_controller
from phistar.sim.scenes.parts import Part, assembled, initial_state, read_part
from phistar.sim.scenes.sensing import Sensing
from phistar.sim.scenes.sensors import Sensor, read_sensors
from phistar.sim.scenes.source import BUNDLED, TOO_DEEP, source_of
from phistar.sim.scenes.table import Table
from phistar.sim.scenes.task import Hold, read_task
from phistar.sim.world import World

FORMAT_VERSION = 1
MOST_ROWS = 10_000_000  # of states that are kept


@dataclass(frozen=True)
class Disturbance:
    """A force [moment; force] on a frame, world axes at its origin, from `start` for `duration`."""

    frame: str
    start: float
    duration: float
    force: np.ndarray


@dataclass(frozen=True)
class Timing:
    """How long, how often states are kept, and either a fixed step or the tolerances of a free one; the controller's
    phases that end a run, and how long after."""

    duration: float
    sample: float
    step: float | None
    rtol: float
    atol: float
    stop: tuple[str, ...] = ()
    stop_after: float = 0.0


@dataclass(frozen=True)
class Setting:
    """A scene with every random number drawn: what a run is made from."""

    name: str
    gravity: np.ndarray
    parts: tuple[Part, ...]
    surface: Surface
    contacts: tuple[tuple[tuple[str, str], Surface], ...] | None
    ignored: tuple[tuple[str, str], ...]
    disturbances: tuple[Disturbance, ...]
    sensors: tuple[Sensor, ...]
    controller: Controlling
    timing: Timing
    task: Hold | None

    @cached_property
    def model(self) -> Model:
        return assembled(self.name, self.gravity, self.parts)

    @cached_property
    def world(self) -> World:
        """Every two shapes that can meet, or the pairs that the file names."""
        if self.contacts is None:
            return World(all_pairs(self.model, self.surface, self.ignored))
        pairs: list[Pair] = []
        for names, surface in self.contacts:
            pairs += chosen_pairs(self.model, surface, [names]).pairs
        return World(Pairs(self.model, tuple(pairs)))

    def check(self) -> None:
        """Builds everything once: what cannot be is found while the file is at hand."""
        _check_inertias(self.model)
        for pair in self.world.pairs.pairs:  # a mesh may come near only later
            for site in (pair.a, pair.b):
                if isinstance(site.shape, Mesh):
                    raise ModelError(
                        f"{site.name} collides by a mesh, which has no distance of its own: give its robot "
                        'meshes = "hull" or "pieces" (its convex hull, or convex pieces), or "none".'
                    )
        self.world.start(*self.start)
        check_controller(self)
        assert self.sensing is not None
        if self.task:
            self.task.check(self.model, self.world.pairs)

    @cached_property
    def sensing(self) -> Sensing:
        return Sensing(self.world, self.parts, self.sensors)

    @cached_property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        return initial_state(self.model, self.parts)


@dataclass(frozen=True)
class Scene:
    """A scene file as it stands: robots, objects, controllers, sensors and what is random; `run(seed)` runs it.

    Made by `Scene.load`, from a path or the name of a bundled scene.

    Examples
    --------
    >>> scene = ps.Scene.load("bouncing")
    >>> scene.name
    'bouncing'
    """

    name: str
    content: Mapping[str, Any]
    folder: Path
    where: str
    text: str = ""
    packages: tuple[Path, ...] = ()

    @property
    def folders(self) -> Folders:
        """Where it may name files: its own folder, and those that the caller gave."""
        return Folders(self.folder.resolve(), self.packages)

    @property
    def source(self) -> str:
        """What it is loaded by: a bundled scene's name, or its file."""
        return Path(self.where).stem if Path(self.where).parent == BUNDLED else self.where

    @property
    def digest(self) -> str:
        """SHA-256 of what it says; comments do not matter."""
        return hashlib.sha256(json.dumps(self.content, sort_keys=True, default=str).encode()).hexdigest()

    @staticmethod
    def load(source: str | os.PathLike[str], packages: FolderList = ()) -> Scene:
        """The scene of a TOML file, or a bundled one by its name. Robots, meshes and rules that it names lie in its own
        folder, below it, or in the folders of `packages`; nothing else is opened."""
        path, text, content = source_of(source)
        name, allowed = str(content.get("name", path.stem)), Folders.around(path, packages).packages
        scene = Scene(name, content, path.parent, str(path), text, allowed)
        scene.setting(0)
        return scene

    def setting(self, seed: int | np.random.SeedSequence) -> Setting:
        """The scene with its random numbers drawn; the same for the same seed, everywhere."""
        try:
            content = drawn(dict(self.content), np.random.default_rng(seed), self.where)
            return _read(Table(content, self.where), self.name, self.folders)
        except FileError:
            raise
        except PhistarError as error:
            raise FileError(f"{self.where}: {error}") from None
        except RecursionError:
            raise FileError(TOO_DEEP.format(self.where)) from None

    def run(
        self,
        seed: int = 0,
        control: Any = None,
        progress: Callable[[float], None] | None = None,
        watch: Callable[..., Any] | None = None,
        checkpoint: tuple[float, str | os.PathLike[str]] | None = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> Any:
        """The scene over its duration: a `Trajectory`.

        `control`, a function (t, q, v) → joint forces or a `SampledController`, takes the place of the file's. A
        function must be pure: steps are tried and made again, so that it is called back in time. One that remembers
        goes in as `ps.control.SampledFunction(function, period)`; it cannot be written down half-way.
        `progress` is told the time reached, `watch` is shown (t, q, contacts), both at every sample kept. With
        `checkpoint` = (seconds, folder) the run is written down there so often of its time; `resume` takes up the one
        of a folder, which goes on as if it had not been stopped.
        """
        from phistar.sim.scenes.checkpoint import run

        if isinstance(control, SampledFunction) and (checkpoint is not None or resume is not None):
            raise PhistarError(
                "A SampledFunction keeps its memory to itself, so that a run of it cannot be taken up from a "
                "checkpoint. Make it a SampledController, whose memory is data."
            )
        return run(self, seed, control, progress, watch, checkpoint, resume)


def _read(table: Table, name: str, folders: Folders) -> Setting:
    version = table.take("format_version")
    if version != FORMAT_VERSION:
        raise FileError(f"{table.where}: format_version is {version!r}; this phistar reads {FORMAT_VERSION}.")
    table.text("name", name)
    gravity = table.vector("gravity", 3, np.array([0.0, 0.0, -9.81]))
    parts = tuple(read_part(each, folders) for each in table.tables("parts"))
    if not parts:
        raise FileError(f"{table.where}: a scene needs at least one [[parts]].")
    surface = _surface(table.table("surface"), Surface())
    named = tuple(_contact(each, surface) for each in table.tables("contacts"))
    contacts = named if "contacts" in table else None  # an empty list: nothing touches
    ignored = _pairs(table, "ignored")
    if contacts and ignored:
        raise FileError(f"{table.where}: contacts lists the only pairs there are, ignored leaves some out; give one.")
    disturbances = tuple(_disturbance(each) for each in table.tables("disturbances"))
    sensors, controller = read_sensors(table), read_controller(table.table("controller"), folders)
    timing, task = _timing(table.table("time")), read_task(table.table("task"))
    table.done()
    setting = Setting(name, gravity, parts, surface, contacts, ignored, disturbances, sensors, controller, timing, task)
    for disturbance in disturbances:
        setting.model.frame(disturbance.frame)
    setting.check()
    return setting


def _surface(table: Table, default: Surface) -> Surface:
    names = [field.name for field in fields(Surface)]
    given = {name: table.take(name) for name in names if name in table}
    table.done()
    if "damping" in given and given.get("restitution") is not None:
        raise FileError(f"{table.where}: a restitution takes the place of the damping; give one of the two.")
    try:
        return Surface(**{**{name: getattr(default, name) for name in names}, **given})
    except PhistarError as error:
        raise FileError(f"{table.where}: {error}") from None


def _contact(table: Table, surface: Surface) -> tuple[tuple[str, str], Surface]:
    pair = _pair(table.wrong, table.take("between"), "between")
    table.take("name", None)
    return pair, _surface(Table(table.rest(), table.where), surface)


def _pair(wrong: Callable[[str, str], FileError], pair: Any, key: str) -> tuple[str, str]:
    if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
        raise wrong(key, "two names")
    return pair[0], pair[1]


def _pairs(table: Table, key: str) -> tuple[tuple[str, str], ...]:
    pairs = table.take(key, [])
    if not isinstance(pairs, list):
        raise table.wrong(key, "a list of pairs of names")
    return tuple(_pair(table.wrong, pair, key) for pair in pairs)


def _disturbance(table: Table) -> Disturbance:
    made = Disturbance(
        table.text("frame"),
        table.number("start", 0.0, 0.0),
        table.number("duration", low=0.0),
        table.vector("force", 6),
    )
    table.done()
    return made


def _check_inertias(model: Model) -> None:
    """Refuses a lone body that floats and that nothing keeps from turning infinitely fast."""
    for number, body in enumerate(model.bodies):
        lone = isinstance(body.joint.kind, Free) and not model.children[number]
        if lone and not np.linalg.eigvalsh(body.inertia.tensor)[0] > 0.0:
            raise ModelError(f"{body.name} is free to turn and has no inertia against it; make its moments positive.")


def _timing(table: Table) -> Timing:
    duration = table.number("duration", 5.0, 1e-6)
    if "step" in table and ("rtol" in table or "atol" in table):
        raise FileError(f"{table.where}: steps have one length, step, or keep a tolerance, rtol and atol; give one.")
    least = max(1e-6, duration / MOST_ROWS)
    made = Timing(
        duration,
        table.number("sample", max(min(0.01, duration), least), least),
        table.number("step", None, 1e-7, 0.1),
        table.number("rtol", 1e-6, 1e-13, 0.1),
        table.number("atol", 1e-9, 0.0),
        _phases(table),
        table.number("stop_after", 0.0, 0.0),
    )
    table.done()
    return made


def _phases(table: Table) -> tuple[str, ...]:
    names = table.take("stop", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise table.wrong("stop", "a list of names of phases")
    return tuple(names)
