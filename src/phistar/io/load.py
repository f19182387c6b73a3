"""`ps.load`: a model from a URDF file, an MJCF file, or the name of a bundled robot."""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from phistar.errors import FileError
from phistar.io import xml
from phistar.io.packages import FolderList
from phistar.model import Model

_SUFFIXES = (".urdf", ".xml", ".mjcf")


def load(
    source: str | os.PathLike[str],
    floating: bool = False,
    packages: FolderList = (),
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    loops: str | os.PathLike[str] | None = None,
    **options: bool,
) -> Model:
    """The model of a robot file or of a bundled robot.

    source    path of a URDF or MJCF file (told apart by the root element), or a bundled name such as "puma560";
              a bundled name comes before a file of the same name ("./puma560" is the file)
    floating  adds a free joint named `root` under the first link
    packages  folders in which `package://` addresses are looked up; with the file's own folder, the only ones opened
    gravity   in world axes; None is the file's own, or (0, 0, -9.81) where it has none
    strict    raises where the file would otherwise load with `model.warnings`
    loops     path of a TOML file of loops for the robot, which URDF cannot hold (see `phistar.io.sidecar`)
    options   those of a bundled robot: `motors=False`, `friction=False`
    """
    if loops is not None:
        from phistar.io.sidecar import with_loops

        return with_loops(load(source, floating, packages, gravity, strict, None, **options), loops)
    if not isinstance(source, (str, os.PathLike)):
        raise FileError(f"load was given {type(source).__name__}; give a path or the name of a bundled robot.")
    if isinstance(source, str) and _is_name(source):
        from phistar.io.bundled import load_bundled

        return load_bundled(source, floating=floating, gravity=gravity, strict=strict, **options)
    if options:
        raise FileError(f"{source} was given {', '.join(options)}; only a bundled robot takes such options.")
    path = Path(source)
    root = xml.read(path).tag if os.path.lexists(path) else _refuse_missing(path)
    if root == "robot":
        from phistar.io.urdf.load import load_urdf as load_file
    elif root == "mujoco":
        from phistar.io.mjcf.load import load_mjcf as load_file
    elif root == "mujocoinclude":
        raise FileError(f"{path} is a part that other MJCF files include; load the <mujoco> file that includes it.")
    else:
        raise FileError(f"{path}: the root element is <{root[:60]}>; <robot> (URDF) or <mujoco> (MJCF) was expected.")
    return load_file(path, floating=floating, packages=packages, gravity=gravity, strict=strict)


def _is_name(source: str) -> bool:
    """A bundled name, or a bare word that is no file and so can only be meant as a name."""
    from phistar.io.bundled import names

    if source in names():
        return True
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
