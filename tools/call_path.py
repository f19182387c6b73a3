"""Count the files and functions of the package that a first call goes through: `python tools/call_path.py [--files]`.

forward_dynamics of a six-link arm with nothing on disk: derived, lowered, traced, compiled, called. What runs while
modules are imported does not count.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import FrameType

import numpy as np

import phistar as ps

ROOT = Path(ps.__file__).parent
ON_THE_WAY = ("backends", "dynamics", "expression", "identities", "model", "operators", "spatial", "sweeps")


def functions_called() -> dict[str, set[str]]:
    """By file the functions of the package that a first call in a model's life goes through."""
    model, zero, found = ps.load("puma560"), np.zeros(6), dict[str, set[str]]()

    def seen(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(str(ROOT)):
            found.setdefault(os.path.relpath(code.co_filename, ROOT), set()).add(code.co_qualname)

    sys.setprofile(seen)
    try:
        ps.forward_dynamics(model, zero, zero, zero)
    finally:
        sys.setprofile(None)
    return found


def main() -> None:
    for package in ON_THE_WAY:
        for module in walk_packages([str(ROOT / package)], f"phistar.{package}."):
            import_module(module.name)
    with tempfile.TemporaryDirectory() as empty:
        os.environ["PHISTAR_CACHE"] = empty
        found = functions_called()
    print(f"first call: {len(found)} files, {sum(map(len, found.values()))} functions")
    if "--files" in sys.argv[1:]:
        for file, names in sorted(found.items()):
            print(f"  {len(names):4} {file}")


if __name__ == "__main__":
    main()
