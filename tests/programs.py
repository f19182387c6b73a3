"""Programs of tools, docs and examples as modules, so that tests can call what is in them."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def program(place):
    """The module of a file of the project, `program("tools/pages.py")`, anew at each call."""
    spec = importlib.util.spec_from_file_location(Path(place).stem, ROOT / place)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module
