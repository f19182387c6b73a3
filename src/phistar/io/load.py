"""`ps.load`: a model from a URDF, MJCF or SDF file, or the name of a robot."""

import os
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from phistar.errors import FileError
from phistar.io import xml
from phistar.io.bundled import is_bundled, load_bundled
from phistar.io.model_files import SUFFIX, load_model
from phistar.io.packages import FolderList, Folders
from phistar.model import Model

_SUFFIXES = (".urdf", ".xml", ".mjcf", ".sdf", ".world", ".xacro", ".usd", ".usda", ".usdc", SUFFIX)


def load(
    source: str | os.PathLike[str],
    floating: bool = False,
    packages: FolderList = (),
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    loops: str | os.PathLike[str] | None = None,
    without: Collection[str] = (),
    download: bool = False,
    **options: bool,
) -> Model:
    """Load a robot from a file, or a bundled robot by its name.

    Parameters
    ----------
    source : path or str
        A URDF, MJCF or SDF file (told apart by its root element), a USD file (.usd, .usda, .usdc), a .json file of
        `ps.save`, or a name: of a bundled robot such as "puma560", of one of `example-robot-data` where it is
        installed, such as "ur5", or of one that `robot_descriptions` has in its cache.
        A bundled name comes before a file of the same name ("./puma560" is the file).
    floating : bool
        Add a free joint named `root` under the first link.
    packages : path or iterable of paths
        Folders in which `package://` addresses are looked up; with the file's own folder, the only ones opened.
    gravity : (3,), optional
        In world axes [m/s²]; by default the file's own, or (0, 0, -9.81).
    strict : bool
        Raise where the file would otherwise load with `model.warnings`.
    loops : path, optional
        A TOML file of loops for the robot, which URDF cannot hold (see `phistar.io.sidecar`).
    without : collection of str
        Kinds of physics that a model cannot express and that an MJCF file is to be loaded without, such as "fluid",
        "tendons" or "gravcomp"; refusals name them.
    download : bool
        Let `robot_descriptions` fetch a robot that is not in its cache.
    **options : bool
        Those of a bundled robot: `motors=False`, `friction=False`.

    Returns
    -------
    Model

    Raises
    ------
    FileError
        The file cannot be read; the message names file and line.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> arm.name, arm.nv, [joint.name for joint in arm.joints][:2]
    ('puma560', 6, ['joint1', 'joint2'])
    """
    if loops is not None:
        from phistar.io.sidecar import with_loops

        return with_loops(load(source, floating, packages, gravity, strict, None, without, download, **options), loops)
    if not isinstance(source, (str, os.PathLike)):
        raise FileError(f"load was given {type(source).__name__}; give a path or the name of a robot.")
    if isinstance(source, str) and is_bundled(source):
        _refuse_leaving_out(source, without)
        return load_bundled(source, floating=floating, gravity=gravity, strict=strict, **options)
    if isinstance(source, str) and _is_name(source):
        from phistar.io.by_name import find_robot

        found = find_robot(source, download)
        source, packages = found.path, (*found.packages, *Folders.around(found.path, packages).packages)
    if options:
        raise FileError(f"{source} was given {', '.join(options)}; only a bundled robot takes such options.")
    path = Path(source)
    if path.suffix.lower() == ".xacro" and os.path.lexists(path):
        from phistar.io.macros import expand
        from phistar.io.urdf.load_urdf import load_urdf

        _refuse_leaving_out(path, without)
        made = expand(path, Folders.around(path, packages))
        return load_urdf(path, floating=floating, packages=packages, gravity=gravity, strict=strict, element=made)
    if path.suffix == SUFFIX and os.path.lexists(path):
        return load_model(path, floating, packages, gravity, strict)
    if path.suffix.lower() in (".usd", ".usda", ".usdc") and os.path.lexists(path):
        from phistar.io.usd.articulations import load_usd

        return load_usd(path, floating=floating, packages=packages, gravity=gravity, strict=strict)
    root = xml.read(path).tag if os.path.lexists(path) else _refuse_missing(path)
    given: dict[str, Any] = {"floating": floating, "packages": packages, "gravity": gravity, "strict": strict}
    if root != "mujoco":
        _refuse_leaving_out(path, without)
    if without:
        given["without"] = without
    return _reader_of(path, root)(path, **given)


def _refuse_leaving_out(source: Any, without: Collection[str]) -> None:
    if without:
        raise FileError(
            f"{source} was given without={without!r:.60}; of MJCF files alone can kinds of things be left out."
        )


def _reader_of(path: Path, root: str) -> Callable[..., Model]:
    """The function that loads a file, by its root element."""
    if root == "robot":
        from phistar.io.urdf.load_urdf import load_urdf as load_file
    elif root == "mujoco":
        from phistar.io.mjcf.load_mjcf import load_mjcf as load_file
    elif root == "sdf":
        from phistar.io.sdf.load_sdf import load_sdf as load_file
    elif root == "mujocoinclude":
        raise FileError(f"{path} is a part that other MJCF files include; load the <mujoco> file that includes it.")
    else:
        known = "<robot> (URDF), <mujoco> (MJCF) or <sdf>"
        raise FileError(f"{path}: the root element is <{root[:60]}>; {known} was expected.")
    return load_file


def _is_name(source: str) -> bool:
    """A bare word that is no file and so can only be meant as a name."""
    bare = os.path.basename(source) == source and not source.lower().endswith(_SUFFIXES)
    return bare and source != "" and not os.path.lexists(source)


def _refuse_missing(path: Path) -> str:
    """Raises the error for a path where there is nothing, naming files of nearly that name beside it."""
    try:
        beside = sorted(entry.name for entry in os.scandir(path.parent) if entry.name.lower().endswith(_SUFFIXES))
    except OSError:
        raise FileError(f"there is no file {path}, nor a folder {path.parent}; check the path.") from None
    near = get_close_matches(path.name, beside[:1000], n=3, cutoff=0.5) or beside[:3]
    hint = f"the folder holds {', '.join(near)}" if near else "the folder holds no robot files"
    raise FileError(f"there is no file {path}; {hint}.")
