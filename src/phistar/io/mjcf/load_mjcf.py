"""MJCF files, MuJoCo's own format: read through MuJoCo's compiler, so that every default means what MuJoCo means by it.

document: the file with its includes, made safe → compile: MuJoCo's numbers → refusals: what no model can express →
tree: bodies, joints, sites → loops: equality constraints. What only draws, senses or drives is listed in the warnings.
"""

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from phistar.errors import FileError, ModelError
from phistar.io.mjcf.compile import Compiled, compile_document
from phistar.io.mjcf.document import read_document
from phistar.io.mjcf.mjcf_equalities import add_loops
from phistar.io.mjcf.mjcf_tree import add_tree, read_names
from phistar.io.mjcf.refusals import check_without, other_physics, unknown_limits
from phistar.io.packages import FolderList, Folders
from phistar.model import Model, ModelBuilder

_UNNAMED = "MuJoCo Model"  # what MuJoCo calls a model whose file does not name it
_NO_GRAVITY = (0.0, 0.0, 0.0)


def load_mjcf(
    path: str | os.PathLike[str],
    *,
    floating: bool = False,
    packages: FolderList = (),
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    without: Collection[str] = (),
) -> Model:
    """The model of an MJCF file; the arguments are those of `phistar.load`.

    q is MuJoCo's qpos with quaternions as (x, y, z, w); v is its qvel with a free joint's six as [ω; v] in body axes.
    """
    folders = Folders.around(path, packages)
    check_without(without)
    compiled = compile_document(read_document(path, folders), folders, floating)
    return build_model(compiled, path, gravity, strict, without)


def build_model(
    compiled: Compiled,
    path: str | os.PathLike[str],
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    without: Collection[str] = (),
) -> Model:
    """The model of a compiled file; its warnings list what was left out."""
    try:
        return _build(compiled, path, gravity, strict, without, other_physics(compiled, without))
    except ModelError as problem:
        raise ModelError(f"{path}: {problem}") from None


def _build(
    compiled: Compiled,
    path: str | os.PathLike[str],
    gravity: Sequence[float] | None,
    strict: bool,
    without: Collection[str],
    left_out: Counter[str],
) -> Model:
    if gravity is None:
        gravity = compiled.mj.opt.gravity.tolist() if compiled.is_enabled("GRAVITY") else _NO_GRAVITY
    name, names = compiled.spec.modelname.strip()[:512], read_names(compiled.mj)
    builder = ModelBuilder(Path(path).stem if name in ("", _UNNAMED) else name, gravity=gravity)
    add_tree(builder, compiled, names)
    left_out = left_out + Counter(compiled.left_out) + unknown_limits(compiled)
    left_out += add_loops(builder, compiled, names, "equalities" in without)
    for warning in _warnings(left_out, compiled.heard, path, strict):
        builder.warn(warning)
    return builder.build(strict=strict)


def _warnings(
    left_out: Mapping[str, int], heard: Sequence[str], path: str | os.PathLike[str], strict: bool
) -> list[str]:
    warnings = [f"{kind[0].upper()}{kind[1:]} were left out ({count})." for kind, count in left_out.items()]
    warnings += [f"MuJoCo warns: {' '.join(text.split())}" for text in dict.fromkeys(heard)]
    if strict and warnings:
        raise FileError(f"{path}: {warnings[0]} With strict=False the file loads and its warnings are listed.")
    return warnings
