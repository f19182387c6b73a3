"""Values as data and back, with every bit: numbers, texts, arrays, tuples, lists, dicts, sets, named tuples and
dataclasses become a tree for JSON, and the bytes of arrays beside it.

Classes are named, never imported or run from what a file says: only named tuples and dataclasses of phistar, or of the
modules that the reader names, which are loaded already, are made again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from phistar.errors import FileError, PhistarError
from phistar.spatial import Inertia, Pose

_ATOMS = (str, bool, int, float, type(None))
_NUMBERS = "fiubcSU"  # kinds of arrays that hold no objects
_DTYPE = re.compile(rf"[<>|=]?[{_NUMBERS}][0-9]{{1,9}}")
_KINDS = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}


def pack_tree(value: Any, held: bytearray) -> Any:
    """The tree of a value; what arrays hold is added to the bytes."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _array(value, held)
    if kind is slice:
        return {"slice": [pack_tree(end, held) for end in (value.start, value.stop, value.step)]}
    if kind in (tuple, list, set, frozenset):
        entries = sorted(value) if kind in (set, frozenset) else value
        return {kind.__name__: [pack_tree(each, held) for each in entries]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"class": _name(kind), "fields": [pack_tree(each, held) for each in value]}
    if is_dataclass(value):
        own = {each.name: pack_tree(getattr(value, each.name), held) for each in fields(value) if each.init}
        return {"class": _name(kind), "named": own}
    if isinstance(value, Mapping):
        return {"dict": [[pack_tree(key, held), pack_tree(each, held)] for key, each in value.items()]}
    raise PhistarError(
        f"A {kind.__module__}.{kind.__qualname__} cannot be written to a checkpoint; a memory is made of numbers, "
        "texts, arrays, tuples, named tuples and dataclasses."
    )


def _array(value: Any, held: bytearray) -> Any:
    """Description of an array: kind, shape, memory order and place; sums depend on the order to the last bit."""
    if value.dtype.kind not in _NUMBERS:
        raise PhistarError(f"An array of {value.dtype} cannot be written to a checkpoint; use one of numbers.")
    array = np.asarray(value)
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    kind = "scalar" if isinstance(value, np.generic) else "array" if array.flags.writeable else "frozen"
    place = len(held)
    held += array.tobytes(order)
    return {kind: [array.dtype.str, list(array.shape), order, place]}


def _restore(kind: str, content: Any, held: bytes) -> Any:
    if not (isinstance(content[0], str) and _DTYPE.fullmatch(content[0])):  # NumPy would read more as Python
        raise ValueError(f"an array of objects, or of no kind: {content[0]!s:.60}")
    dtype, shape, order, place = np.dtype(content[0]), tuple(content[1]), content[2], content[3]
    flat = np.frombuffer(held, dtype, int(np.prod(shape, dtype=int)), place)
    array = flat.copy().reshape(shape, order=order)
    if kind == "scalar":
        return array[()]
    array.flags.writeable = kind == "array"
    return array


_MOVED = {"phistar.sim.motion:Event": "phistar.sim.trajectory:Event"}  # as the first release wrote them
# What takes other arguments than its fields, or would refuse numbers that a robot file has.
_MAKERS: Mapping[type, Any] = {
    Pose: lambda rotation, translation: Pose(xyz=translation, rotation=rotation),
    Inertia: Inertia.unchecked,
}


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def unpack_tree(tree: Any, held: bytes, modules: frozenset[str]) -> Any:
    """The value of a tree."""
    if not isinstance(tree, dict):
        return tree
    if "class" in tree:
        kind = _class(tree["class"], modules)
        if "fields" in tree:
            return kind(*(unpack_tree(each, held, modules) for each in tree["fields"]))
        make = _MAKERS.get(kind, kind)
        return make(**{name: unpack_tree(each, held, modules) for name, each in tree["named"].items()})
    ((kind, content),) = tree.items()
    if kind in ("array", "frozen", "scalar"):
        return _restore(kind, content, held)
    if kind == "slice":
        return slice(*(unpack_tree(each, held, modules) for each in content))
    if kind == "dict":
        return {unpack_tree(key, held, modules): unpack_tree(each, held, modules) for key, each in content}
    return _KINDS[kind](unpack_tree(each, held, modules) for each in content)


def _class(name: str, modules: frozenset[str]) -> type:
    name = _MOVED.get(name, name)
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


def check_alike(value: Any, other: Any, where: str) -> None:
    """Raise ValueError unless a value is built as another one of its kind: the same types, keys and numbers of columns.

    Lists may have other lengths, arrays other numbers of rows, and nothing is asked where the other has nothing.
    """
    if other is None or value is None:
        if value is not None and other is None:
            return
        if other is not None:
            raise ValueError(f"{where} is missing")
    elif isinstance(other, np.ndarray):
        same = isinstance(value, np.ndarray) and _group(value.dtype) == _group(other.dtype)
        if not same or value.ndim != other.ndim or value.shape[1:] != other.shape[1:]:
            raise ValueError(f"{where} is another kind of array")
    elif isinstance(other, int | float | np.generic):
        if not isinstance(value, int | float | np.generic) or isinstance(value, str | bytes):
            raise ValueError(f"{where} is no number")
    elif type(value) is not type(other):
        raise ValueError(f"{where} is a {type(value).__name__} and no {type(other).__name__}")
    elif is_dataclass(other) or hasattr(other, "_fields"):
        names = [each.name for each in fields(other)] if is_dataclass(other) else other._fields
        for name in names:
            check_alike(getattr(value, name), getattr(other, name), f"{where}, {name}")
    elif isinstance(other, Mapping):
        if list(value) != list(other):
            raise ValueError(f"{where} has other entries")
        for name in other:
            check_alike(value[name], other[name], f"{where}, {name}")
    elif isinstance(other, tuple | list | frozenset | set):
        # A tuple of the same length may hold different things in order, as a time and a name; lists hold one kind.
        in_order = isinstance(other, tuple) and len(other) == len(value)
        kinds = other if in_order else [next(iter(other), None)] * len(value)
        for number, (each, kind) in enumerate(zip(value, kinds, strict=True)):
            check_alike(each, kind, f"{where} {number}")


def _group(dtype: np.dtype) -> str:
    return "number" if dtype.kind in "fiub" else dtype.kind
