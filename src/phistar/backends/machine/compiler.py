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
    """What is compiled: a module as text, what is to be known of it later (plain data), and, as `compile_object` takes
    them, loops that it calls and whether it is to be quick."""

    text: str
    header: Mapping[str, Any] = field(default_factory=dict)
    loops: str = ""
    quick: bool = False


def machine_code(
    kind: str, made_from: tuple[Any, ...], target: Target, source: Callable[[], Source]
) -> tuple[Mapping[str, Any], Code]:
    """The header and the loaded code of what is `made_from` these parts; `source` is asked if it is not on disk."""
    name = cache.key(kind, *made_from, target)
    found = cache.load(name)
    if found is not None:
        return found[0], load_object(found[1])
    with _nothing_collected():
        made = source()
    data = compile_object(made.text, target, made.loops, made.quick)
    cache.store(name, dict(made.header), data)
    return made.header, load_object(data)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """While code is made: its statements are hundreds of thousands of tuples that all are needed until the text is
    written, and to look among them for garbage takes longer than to make them."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
