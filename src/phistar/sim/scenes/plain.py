"""Values as data and back, with every bit: numbers, texts, arrays, tuples, lists, dicts, sets, named tuples and
dataclasses become a tree for JSON, and the bytes of arrays beside it.

Classes are named, never imported or run from what a file says: only named tuples and dataclasses of phistar, or of the
modules that the reader names, which are loaded already, are made again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from phistar.errors import FileError, PhistarError

_ATOMS = (str, bool, int, float, type(None))
_NUMBERS = "fiubcSU"  # kinds of arrays that hold no objects
_KINDS = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}


def packed(value: Any, held: bytearray) -> Any:
    """The tree of a value; what arrays hold is added to the bytes."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _array(value, held)
    if kind in (tuple, list, set, frozenset):
        entries = sorted(value) if kind in (set, frozenset) else value
        return {kind.__name__: [packed(each, held) for each in entries]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"class": _name(kind), "fields": [packed(each, held) for each in value]}
    if is_dataclass(value):
        own = {each.name: packed(getattr(value, each.name), held) for each in fields(value) if each.init}
        return {"class": _name(kind), "named": own}
    if isinstance(value, Mapping):
        return {"dict": [[packed(key, held), packed(each, held)] for key, each in value.items()]}
    raise PhistarError(
        f"A {kind.__module__}.{kind.__qualname__} cannot be written to a checkpoint; a memory is made of numbers, "
        "texts, arrays, tuples, named tuples and dataclasses."
    )


def _array(value: Any, held: bytearray) -> Any:
    """Its kind, shape, order in memory and place: sums depend on the order to the last bit."""
    if value.dtype.kind not in _NUMBERS:
        raise PhistarError(f"An array of {value.dtype} cannot be written to a checkpoint; use one of numbers.")
    array = np.asarray(value)
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    kind = "scalar" if isinstance(value, np.generic) else "array" if array.flags.writeable else "frozen"
    place = len(held)
    held += array.tobytes(order)
    return {kind: [array.dtype.str, list(array.shape), order, place]}


def _made(kind: str, content: Any, held: bytes) -> Any:
    dtype, shape, order, place = np.dtype(content[0]), tuple(content[1]), content[2], content[3]
    if dtype.kind not in _NUMBERS:
        raise ValueError(f"an array of {dtype}")
    flat = np.frombuffer(held, dtype, int(np.prod(shape, dtype=int)), place)
    array = flat.copy().reshape(shape, order=order)
    if kind == "scalar":
        return array[()]
    array.flags.writeable = kind == "array"
    return array


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def unpacked(tree: Any, held: bytes, modules: frozenset[str]) -> Any:
    """The value of a tree."""
    if not isinstance(tree, dict):
        return tree
    if "class" in tree:
        kind = _class(tree["class"], modules)
        if "fields" in tree:
            return kind(*(unpacked(each, held, modules) for each in tree["fields"]))
        return kind(**{name: unpacked(each, held, modules) for name, each in tree["named"].items()})
    ((kind, content),) = tree.items()
    if kind in ("array", "frozen", "scalar"):
        return _made(kind, content, held)
    if kind == "dict":
        return {unpacked(key, held, modules): unpacked(each, held, modules) for key, each in content}
    return _KINDS[kind](unpacked(each, held, modules) for each in content)


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
