"""The one door to the compiler: machine code by what it is made from, found on disk or compiled and kept there.

The name of an entry is made here alone, from the kind of code, what it is made from, and the processor it is for.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from phistar.backends.machine import cache
from phistar.backends.machine.jit import Code, Target, compile_object, load_object


@dataclass(frozen=True)
class Source:
    """Compiler input: a module as text, a header of plain data stored with its code, and, as `compile_object` takes
    them, the loops that it calls and whether to compile quickly."""

    text: str
    header: Mapping[str, Any] = field(default_factory=dict)
    loops: str = ""
    quick: bool = False


def machine_code(
    kind: str, made_from: tuple[Any, ...], target: Target, source: Callable[[], Source], entry: str = "loop"
) -> tuple[Mapping[str, Any], Code]:
    """Header and loaded code of what is `made_from` these parts, at the address of its function `entry`; `source` is
    called if it is not on disk."""
    name = cache.key(kind, *made_from, target)
    found = cache.load(name)
    if found is not None:
        return found[0], load_object(found[1], entry, name)
    with _pause_collection():
        made = source()
    data = compile_object(made.text, target, made.loops, made.quick)
    cache.store(name, dict(made.header), data)
    return made.header, load_object(data, entry, name)


@contextmanager
def _pause_collection() -> Iterator[None]:
    """Suspend garbage collection while code is made: its hundreds of thousands of tuples are all needed until the text
    is written, and scanning them takes longer than making them."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
