"""Robots by name that other packages bring along: `example-robot-data` where it is installed, then what
`robot_descriptions` has in its cache; a download only where it is asked for.

Nothing of these packages is imported to find a name: the first is a folder of files, and of the second the modules are
read as text, so that looking for a robot never fetches one.
"""

import importlib
import importlib.util
import os
import re
import site
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from phistar.errors import FileError, UnknownNameError
from phistar.io.bundled import names as bundled_names
from phistar.safe_files import read_text

_SHARE = Path("share") / "example-robot-data" / "robots"
_ENDINGS = ("_robot", "_description", "_mj_description")  # of names; "ur5" is ur5_robot.urdf
_REPOSITORY = re.compile(r"clone_to_cache\(\s*[\"']([\w.-]+)[\"']")
_CACHE = "~/.cache/robot_descriptions"


@dataclass(frozen=True)
class NamedRobot:
    """The file of a robot, the folders that it may name files in, and where both come from."""

    path: Path
    packages: tuple[Path, ...]
    source: str


def find_robot(name: str, download: bool = False) -> NamedRobot:
    """Return the robot of a name; what is not here is refused with the nearest names and the way to get it."""
    files = installed_files()
    if name in files:
        path = files[name]
        share = next(folder for folder in path.parents if folder.name == "share")
        return NamedRobot(path, (share, share / "example-robot-data" / "robots"), "example-robot-data")
    modules = described_modules()
    module = next((each for each in (name, f"{name}_description", f"{name}_mj_description") if each in modules), None)
    if module is None:
        raise _unknown(name, [*bundled_names(), *files, *modules])
    if not download and not _is_cached(modules[module]):
        raise FileError(
            f"The robot {name!r} is known to robot_descriptions and not on this machine; "
            f"ps.load({name!r}, download=True) fetches it once, on the command line --download."
        )
    return _described_robot(module, download)


@cache
def installed_files() -> dict[str, Path]:
    """Name → file of the robots of `example-robot-data`; of several files with a name, the one that has it as it is."""
    found: dict[str, Path] = {}
    folders = (
        place for share in _shares() for place in os.walk(share)
    )  # pathlib's own search takes three times as long
    paths = [Path(folder, name) for folder, _, names in folders for name in names if name.endswith(".urdf")]
    paths.sort(key=lambda path: len(path.stem))
    for path in paths:
        found.setdefault(path.stem, path)
    for path in paths:
        for ending in _ENDINGS:
            found.setdefault(path.stem.removesuffix(ending), path)
    for path in paths:  # two makes of one robot may have one file name (anymal): the folder tells them apart
        folder = path.parent.parent.name.removesuffix("_description").removesuffix("_simple")
        if folder.startswith(path.stem):
            found.setdefault(folder, path)
    return dict(sorted(found.items()))


def _shares() -> Iterator[Path]:
    """Folders into which wheels (cmeel), conda and system packages put data."""
    wheels = [Path(each) / "cmeel.prefix" for each in dict.fromkeys((*site.getsitepackages(), *sys.path)) if each]
    for prefix in (*wheels, Path(sys.prefix), Path("/usr/local"), Path("/usr")):
        if (prefix / _SHARE).is_dir():
            yield prefix / _SHARE


@cache
def described_modules() -> dict[str, str]:
    """Module of `robot_descriptions` → the repository that it clones, read from its text."""
    package = importlib.util.find_spec("robot_descriptions")
    found: dict[str, str] = {}
    for folder in (package.submodule_search_locations or ()) if package else ():
        for path in sorted(Path(folder).glob("*_description.py")):
            repository = _REPOSITORY.search(read_text(path, "a module of robot_descriptions"))
            if repository:
                found[path.stem] = repository[1]
    return found


def _is_cached(repository: str) -> bool:
    folder = Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE") or _CACHE).expanduser()
    return (folder / repository).is_dir()


def _described_robot(module: str, download: bool) -> NamedRobot:
    """Robot that a module of `robot_descriptions` names; without `download`, git is kept off the network."""
    before = os.environ.get("GIT_ALLOW_PROTOCOL")
    if not download:
        os.environ["GIT_ALLOW_PROTOCOL"] = "file"
    try:
        found = importlib.import_module(f"robot_descriptions.{module}")
    except Exception as error:  # git, the network, a robot that is made by xacro: whatever it raises
        raise FileError(f"robot_descriptions cannot give {module} ({error!s:.200}).") from None
    finally:
        if not download:
            os.environ.pop("GIT_ALLOW_PROTOCOL")
            if before is not None:
                os.environ["GIT_ALLOW_PROTOCOL"] = before
    path = getattr(found, "URDF_PATH", None) or getattr(found, "MJCF_PATH", None)
    if path is None:
        raise FileError(f"{module} of robot_descriptions has neither a URDF nor an MJCF file.")
    folders = {Path(each) for each in (found.REPOSITORY_PATH, found.PACKAGE_PATH, Path(found.PACKAGE_PATH).parent)}
    return NamedRobot(Path(path), tuple(sorted(folders)), "robot_descriptions")


def _unknown(name: str, known: list[str]) -> UnknownNameError:
    near = get_close_matches(name[:80], known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else f"bundled are {', '.join(bundled_names())}."
    more = (
        ""
        if installed_files()
        else " pip install example-robot-data brings some sixty robots by name, ur5 and panda too."
    )
    return UnknownNameError(f"There is no robot '{name[:80]}'; {hint}{more} For a file give its path, with its ending.")
