"""A scene: parts, how they touch, what disturbs them and what drives them, read from a TOML file and run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from phistar.control.sampled import SampledFunction, is_sampled
from phistar.errors import FileError, PhistarError
from phistar.io.packages import FolderList, Folders
from phistar.model import Model
from phistar.plant.commands import controller_of
from phistar.plant.plant import Plant
from phistar.plant.scene_reading import check_plant, plant_of
from phistar.plant.scene_schema import FORMAT_VERSION, SceneEntry, TaskEntry, TimeEntry
from phistar.plant.scene_sentences import validate_entry
from phistar.sim.experiment import Disturbance, Experiment, Timing
from phistar.sim.scenes.chance import draw
from phistar.sim.scenes.controllers import Controlling, check_controller, read_controller
from phistar.sim.scenes.registry import Task, task_named
from phistar.sim.scenes.source import TOO_DEEP, is_bundled, source_of
from phistar.sim.sensing import Sensing
from phistar.sim.world import World

MOST_ROWS = 10_000_000  # of states that are kept
Made = TypeVar("Made")


@dataclass(frozen=True)
class Setting:
    """A scene with every random number drawn: a plant, and what drives, disturbs, senses and judges it."""

    name: str
    plant: Plant
    disturbances: tuple[Disturbance, ...]
    controller: Controlling
    timing: Timing
    task_entry: TaskEntry | None
    where: str

    @property
    def model(self) -> Model:
        return self.plant.model

    @cached_property
    def world(self) -> World:
        return World.of(self.plant)

    def check(self) -> None:
        """Build everything once, so that errors are found while the file is at hand."""
        for disturbance in self.disturbances:
            self.model.frame(disturbance.frame)
        check_plant(self.plant)
        self.world.start(*self.start)
        check_controller(self)
        assert self.sensing is not None
        _ = self.task

    @cached_property
    def task(self) -> Task | None:
        """Task of a run, or None."""
        if self.task_entry is None:
            return None
        where = f"{self.where}, [task]"
        return task_named(self.task_entry.kind, where)(self.task_entry.model_dump(), self, where)

    @cached_property
    def law(self) -> Any:
        """The controller that the file names: a function (t, q, v) → joint forces, or a sampled one."""
        return self.controller.maker.make(self, self.controller.settings)

    @cached_property
    def sensing(self) -> Sensing:
        return Sensing(self.plant, self.world)

    @cached_property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        state = self.plant.state()
        return state.q, state.v

    def experiment(self, seed: int, control: Any = None) -> Experiment:
        """The run of the scene with its own controller, or another."""
        law, forces = self.law, not self.controller.maker.commands
        if control is not None:
            law, forces = controller_of(control, self.timing.step or self.timing.sample), False
        watches = getattr(self.task, "watches", ())
        own = {"disturbances": self.disturbances, "watches": watches, "seed": seed}
        return Experiment(self.plant, self.timing, law, forces, start=self.world.start(*self.start), **own)


@dataclass(frozen=True)
class Scene:
    """A scene file: robots, objects, controllers, sensors, and which numbers are random; `run(seed)` runs it.

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
    code: bool = False
    _last: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": {}}  # what was drawn is drawn again where it is needed

    @property
    def folders(self) -> Folders:
        """Folders of the files it may name: its own, and those that the caller gave."""
        return Folders(self.folder.resolve(), self.packages)

    @property
    def source(self) -> str:
        """Name it is loaded by: a bundled scene's name, or its file."""
        return Path(self.where).stem if is_bundled(Path(self.where)) else self.where

    @property
    def digest(self) -> str:
        """SHA-256 of its content, without comments."""
        return hashlib.sha256(json.dumps(self.content, sort_keys=True, default=str).encode()).hexdigest()

    @staticmethod
    def load(source: str | os.PathLike[str], packages: FolderList = (), code: bool = False) -> Scene:
        """The scene of a TOML file, or a bundled one by its name. Robots, meshes and rules that it names lie in its own
        folder, below it, or in the folders of `packages`; nothing else is opened. With `code` the file may name its
        controller as package.module:Class, which is imported and run as any Python code is: trust who wrote it."""
        scene = Scene.unread(source, packages, code)
        scene.setting(0)
        return scene

    @staticmethod
    def unread(source: str | os.PathLike[str], packages: FolderList = (), code: bool = False) -> Scene:
        """The scene of a file, its parts not yet checked."""
        path, text, content = source_of(source)
        name, allowed = str(content.get("name", path.stem)), Folders.around(path, packages).packages
        return Scene(name, content, path.parent, str(path), text, allowed, code)

    @property
    def plant(self) -> Plant:
        """The plant of the scene, drawn with the seed 0, to be changed and simulated as any other."""
        return self.drawn_plant(0)

    def drawn_plant(self, seed: int | np.random.SeedSequence) -> Plant:
        """The plant of the scene, its random numbers drawn with a seed; nothing of it is checked in motion."""
        return self._read(seed, plant_of)

    def setting(self, seed: int | np.random.SeedSequence) -> Setting:
        """The scene with its random numbers drawn; the same for the same seed, everywhere. The last one is kept."""
        found = self._last.get("drawn")
        if found is None or isinstance(seed, np.random.SeedSequence) or found[0] != seed:
            found = self._last["drawn"] = seed, self._read(seed, partial(_setting, code=self.code))
        return found[1]

    def _read(self, seed: int | np.random.SeedSequence, make: Callable[..., Made]) -> Made:
        """Apply `make` to the file's entries, with random numbers drawn; every error names the file."""
        try:
            content = draw(dict(self.content), np.random.default_rng(seed), self.where)
            return make(_entry(content, self.where), self.name, self.folders, self.where)
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

        `control` takes the place of the file's: a function (t, q, v) or (t, q, v, sensed), an object with
        step(t, sensed), or a `SampledController`, as for `ps.simulate` of a plant. A function is asked once a step, or
        once a sample where steps keep a tolerance, forward in time, so that it may remember; what remembers for itself
        cannot be written down half-way.
        `progress` is told the time reached, `watch` is shown (t, q, contacts), both at every sample kept. With
        `checkpoint` = (seconds, folder) the run is written down there so often of its time; `resume` takes up the one
        of a folder, which goes on as if it had not been stopped.
        """
        from phistar.sim.scenes.scene_runs import run_scene

        own = control is not None and (isinstance(control, SampledFunction) or not is_sampled(control))
        if own and (checkpoint is not None or resume is not None):
            raise PhistarError(
                f"A {type(control).__name__} keeps its memory to itself, so that a run of it cannot be taken up from a "
                "checkpoint. Make it a SampledController, whose memory is data."
            )
        return run_scene(self, seed, control, progress, watch, checkpoint, resume)


def _entry(content: Mapping[str, Any], where: str) -> SceneEntry:
    version = content.get("format_version", "missing")
    if version != FORMAT_VERSION or isinstance(version, bool):
        raise FileError(f"{where}: format_version is {version!r:.50}; this phistar reads {FORMAT_VERSION}.")
    return validate_entry(SceneEntry, content, where)


def _setting(entry: SceneEntry, name: str, folders: Folders, where: str, code: bool) -> Setting:
    if not entry.parts and entry.mjcf is None:
        raise FileError(f"{where}: a scene needs at least one [[parts]].")
    plant = plant_of(entry, name, folders, where)
    disturbances = tuple(Disturbance(e.frame, e.start, e.duration, np.array(e.force)) for e in entry.disturbances)
    controller = read_controller(entry.controller, folders, code, f"{where}, [controller]")
    timing = _timing(entry.time, f"{where}, [time]")
    setting = Setting(name, plant, disturbances, controller, timing, entry.task, where)
    setting.check()
    return setting


def _timing(entry: TimeEntry, where: str) -> Timing:
    if entry.step is not None and entry.model_fields_set & {"rtol", "atol"}:
        raise FileError(f"{where}: steps have one length, step, or keep a tolerance, rtol and atol; give one.")
    least = max(1e-6, entry.duration / MOST_ROWS)
    sample = max(min(0.01, entry.duration), least) if entry.sample is None else entry.sample
    if not sample >= least:
        raise FileError(f"{where}, sample: a number from {least:g} on was expected; it is {sample!r}.")
    tolerances = entry.step, entry.rtol, entry.atol
    return Timing(entry.duration, sample, *tolerances, tuple(entry.stop), entry.stop_after)
