"""Laws, tasks and scenes by name: those that come along and those that others register.

A law is what [controller] of a scene names, a task what [task] names; both are made from the file's own settings when
a scene is read. Worked scenarios, `phistar.apps`, are imported when a name is first looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from phistar.errors import FileError, PhistarError
from phistar.io.packages import Folders
from phistar.sim.trajectory import Trajectory

if TYPE_CHECKING:
    from phistar.sim.scenes.scene import Setting

APPLICATIONS = "phistar.apps"  # what it imports registers itself


class Verdict(NamedTuple):
    """Verdict of a task on a run: whether it was reached, in one or two words, why not, and numbers of its own for the
    run's summary, by name."""

    reached: bool
    words: str
    missing: str | None = None
    entries: Mapping[str, Any] = {}


@runtime_checkable
class Task(Protocol):
    """Goal of a run, judged by its true states.

    One that has `watches`, sets of numbers of pairs of shapes, finds in `signals["held_contacts"]` (T, sets) whether
    one of each set touched at every step since the sample before.
    """

    def judge(self, trajectory: Trajectory) -> Verdict:
        """The verdict on a run, which may have stopped early."""
        ...


class Law(NamedTuple):
    """How a law is made: `read` checks the settings of its file's table, `make` builds the controller for a scene;
    `drives` says whether it needs joints with motors, `commands` whether it gives commands of the plant's actuators
    (nu,) rather than joint forces (nv,)."""

    read: Callable[[Mapping[str, Any], Folders, str], Mapping[str, Any]]
    make: Callable[[Setting, Mapping[str, Any]], Any]
    drives: bool = False
    commands: bool = False


TaskFactory = Callable[[Mapping[str, Any], "Setting", str], Task]

_laws: dict[str, Law] = {}
_tasks: dict[str, TaskFactory] = {}
_folders: list[Path] = []


def register_law(name: str, law: Law) -> None:
    """Register a law under a name for scene files."""
    _laws[name] = law


def register_task(name: str, factory: TaskFactory) -> None:
    """Register a task: `factory(settings, setting, where)` reads its file's table, for a drawn scene."""
    _tasks[name] = factory


def register_scenes(folder: Path) -> None:
    """Register the scene files of a folder by their names."""
    if folder not in _folders:
        _folders.append(folder)


def law_named(name: str, where: str) -> Law:
    """Law of a name; an unknown name is refused with the list of known ones."""
    return _lookup(_laws, name, f"{where}, law")


def task_named(name: str, where: str) -> TaskFactory:
    """The factory of a task by its name."""
    return _lookup(_tasks, name, f"{where}, kind")


def scene_folders() -> tuple[Path, ...]:
    """Folders whose scenes are known by their names."""
    import_module(APPLICATIONS)
    return tuple(_folders)


def _lookup(table: Mapping[str, Any], name: str, where: str) -> Any:
    import_module(APPLICATIONS)
    if name not in table:
        raise FileError(f"{where}: one of {', '.join(table)} was expected; it is {name!r:.100}.")
    return table[name]


def code_law(name: str) -> Law:
    """The law of a class that a file names as package.module:Class; Class(plant, **settings) is its controller."""
    module, _, attribute = name.partition(":")

    def make(setting: Setting, settings: Mapping[str, Any]) -> Any:
        try:
            made = getattr(import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise PhistarError(f"The controller {name} cannot be imported: {error}.") from None
        try:
            return made(setting.plant, **settings)
        except TypeError as error:
            raise PhistarError(
                f"The controller {name} cannot be made of plant and {list(settings)}: {error}."
            ) from None

    return Law(lambda settings, folders, where: settings, make, commands=True)
