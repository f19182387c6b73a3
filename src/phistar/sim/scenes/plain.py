"""Values as data and back, with every bit: numbers, texts, arrays, tuples, lists, dicts, sets, named tuples and
dataclasses become a tree for JSON and arrays beside it.

Classes are named, never imported or run from what a file says: only named tuples and dataclasses of phistar, or of the
modules that the reader names, which are loaded already, are made again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from phistar.errors import FileError, PhistarError

_ATOMS = (str, bool, int, float, type(None))
_KINDS = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}


def packed(value: Any, arrays: list[np.ndarray]) -> Any:
    """The tree of a value; arrays are put into the list."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _array(value, arrays)
    if kind in (tuple, list, set, frozenset):
        entries = sorted(value) if kind in (set, frozenset) else value
        return {kind.__name__: [packed(each, arrays) for each in entries]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"class": _name(kind), "fields": [packed(each, arrays) for each in value]}
    if is_dataclass(value):
        own = {each.name: packed(getattr(value, each.name), arrays) for each in fields(value) if each.init}
        return {"class": _name(kind), "named": own}
    if isinstance(value, Mapping):
        return {"dict": [[packed(key, arrays), packed(each, arrays)] for key, each in value.items()]}
    raise PhistarError(
        f"A {kind.__module__}.{kind.__qualname__} cannot be written to a checkpoint; a memory is made of numbers, "
        "texts, arrays, tuples, named tuples and dataclasses."
    )


def _array(value: Any, arrays: list[np.ndarray]) -> Any:
    if value.dtype.hasobject:
        raise PhistarError("An array of Python objects cannot be written to a checkpoint; use one of numbers.")
    arrays.append(np.asarray(value))
    scalar, frozen = isinstance(value, np.generic), not value.flags.writeable
    return {"scalar" if scalar else "frozen" if frozen else "array": len(arrays) - 1}


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def unpacked(tree: Any, arrays: Sequence[np.ndarray], modules: frozenset[str]) -> Any:
    """The value of a tree."""
    if not isinstance(tree, dict):
        return tree
    if "class" in tree:
        kind = _class(tree["class"], modules)
        if "fields" in tree:
            return kind(*(unpacked(each, arrays, modules) for each in tree["fields"]))
        return kind(**{name: unpacked(each, arrays, modules) for name, each in tree["named"].items()})
    ((kind, content),) = tree.items()
    if kind in ("array", "frozen", "scalar"):
        array = arrays[content]
        if kind == "frozen":
            array.flags.writeable = False
        return array[()] if kind == "scalar" else array
    if kind == "dict":
        return {unpacked(key, arrays, modules): unpacked(each, arrays, modules) for key, each in content}
    return _KINDS[kind](unpacked(each, arrays, modules) for each in content)


def _class(name: str, modules: frozenset[str]) -> type:
    module, _, path = name.partition(":")
    if module.split(".")[0] == "phistar" or module in modules:
        found: Any = sys.modules.get(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        plain = isinstance(found, type) and (
            is_dataclass(found) or (issubclass(found, tuple) and "_fields" in vars(found))
        )
        if plain and _name(found) == name:
            return found
    raise FileError(f"The checkpoint holds a {name}, which this run does not know; use the controller that it is of.")
