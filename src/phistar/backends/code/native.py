"""Loops over arrays of numbers, written in Python, as functions of the kernel language: what branches and iterates, and
so cannot be traced.

A function of this little language is plain Python as well, and does the same when Python runs it. It has

    numbers        floats and whole numbers, named constants, + - * / // % and comparisons, and, or, not, a if c else b
    functions      sqrt, floor, abs, min, max of two, int, float, and other functions of the language
    arrays         x[i], x[i, j] to read and write; float64, or int64 where said; m.x of an argument m: Arrays
    outside        ask(address, k): the function of one whole number at an address, which may write to any array
    statements     assignments, for … in range(…), while, if, break, continue, return, and calls
    vectors        for … in wide_range(…): the same, of many numbers and often; where some function says so, only these
                   loops are compiled in vectors, as that takes as long as all else

What Python decides while it runs is decided here once: a local that is ever given a float is a float throughout; `//`
and `%` are of whole numbers; an array is not passed twice to a function that writes to it. What would differ is refused
with a sentence. Floats may differ in their last bits: a sum is taken in any order. Indices are from 0 on.

With `checked` a loop ends where Python would raise: at an index out of its array, a division by 0, the square root of a
negative number, int or floor of NaN and infinity; and where 64 bits do not hold what Python's whole numbers would. Else
none of this is looked at, but for whole numbers divided by 0 (`native_arithmetic.py` says what they then give).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phistar.backends.code.native_arithmetic import FAULT
from phistar.backends.code.native_emitter import Emitter
from phistar.backends.code.native_source import (
    ARRAY,
    FLOAT,
    TRUTH,
    WHOLE,
    Arrays,
    Wholes,
    arrays_used,
    arrays_written,
    bundle_of,
    has_wide_ranges,
    kind_of,
    result_of,
    tree_of,
    wide_range,
)
from phistar.backends.kernels import Module

__all__ = [
    "ARRAY",
    "FLOAT",
    "TRUTH",
    "WHOLE",
    "Arrays",
    "Layout",
    "Wholes",
    "arrays_used",
    "arrays_written",
    "bundle_of",
    "kind_of",
    "loops_module",
    "result_of",
    "tree_of",
    "wide_range",
]


@dataclass(frozen=True)
class Layout:
    """Arrays by name: the row lengths of those with two axes, those of whole numbers, and, where indices are to be
    checked, the numbers of entries. `calls`: large functions are called, not written out at each of their calls, which
    compiles many of them in little time."""

    columns: Mapping[str, int] = field(default_factory=dict)
    wholes: Collection[str] = ()
    lengths: Mapping[str, int] | None = None
    calls: bool = False


def loops_module(functions: Sequence[Callable[..., Any]], constants: Mapping[str, float], layout: Layout) -> Module:
    """Some functions. Arguments are int, float, bool, Arrays (the first, if any), Wholes, or else one array of floats.
    Names stand for numbers of their modules or in `constants`. `fault` says why a loop ended before its time, by the
    numbers of `native_arithmetic.py`."""
    trees = [tree_of(function) for function in functions]
    known = {tree.name: tree for tree in trees}
    made, sparing = [], any(map(has_wide_ranges, trees))
    for function, tree in zip(functions, trees, strict=True):
        named = {name: x for name, x in function.__globals__.items() if type(x) in (int, float)}
        made.append(Emitter(tree, known, {**named, **constants}, layout, sparing).function())
    return Module(tuple(made), memory=(FAULT,))
