"""A function of one state, traced once for all robots of a structure: its key, not its trace, says which code it is.

Tracing takes longer than loading: robots that differ only in numbers the function takes as arguments share its code, in
this process and on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.code.lane_entry import lane_text
from phistar.backends.code.packed import module_text
from phistar.backends.machine.call_doors import single_of
from phistar.backends.machine.jit import Code, Signature, Source, gufunc, host, machine_code
from phistar.backends.machine.recent import Recent
from phistar.backends.traces.arrays import record

LANES = 1
_made: Recent[Callable[..., Any]] = Recent()
_in_lanes: Recent[Code] = Recent()


def one_state(
    title: str, key: bytes, sizes: Sequence[int], shapes: Sequence[tuple[int, ...]], function: Callable[..., Any]
) -> Callable[..., Any]:
    """`function(*vectors)` → arrays, as machine code: vectors of the given sizes in, arrays of the given shapes out."""
    return door(state_kernel(title, key, sizes, shapes, function))


def state_kernel(
    title: str, key: bytes, sizes: Sequence[int], shapes: Sequence[tuple[int, ...]], function: Callable[..., Any]
) -> Any:
    """The same as a gufunc."""
    signature = Signature(tuple(sizes), tuple(shapes))
    return _made.get((title, key), lambda: _compile(title, key, signature, function))


@dataclass(frozen=True, eq=False)
class Formula:
    """A function of vectors of some sizes that gives arrays of some shapes, by its title and its key."""

    title: str
    key: bytes
    sizes: Sequence[int]
    shapes: Sequence[tuple[int, ...]]
    function: Callable[..., Any]

    @property
    def kernel(self) -> Any:
        """A gufunc of one state."""
        return state_kernel(self.title, self.key, self.sizes, self.shapes, self.function)

    def in_lanes(self, lanes: int) -> Code:
        """The code of `called(given, lanes)`, on arrays in lanes (`code/lane_entry.py`)."""
        signature, target = Signature(tuple(self.sizes), tuple(self.shapes)), host()

        def source() -> Source:
            return Source(lane_text(record(self.function, signature.inputs), signature, lanes, target.fma))

        made_from = self.title, self.key, signature, lanes
        return _in_lanes.get(made_from, lambda: machine_code("one state in lanes", made_from, target, source)[1])


def _compile(title: str, key: bytes, signature: Signature, function: Callable[..., Any]) -> Any:
    target = host()

    def source() -> Source:
        return Source(module_text(record(function, signature.inputs), signature, LANES, target.fma))

    _, code = machine_code("one state", (title, key, signature), target, source)
    return gufunc(code, signature, title, f"{title}, compiled.")


def door(whole: Any) -> Callable[..., Any]:
    """A gufunc for one state at a time, called with as little ado as can be."""
    single = single_of(whole)

    def call(*vectors: np.ndarray) -> Any:
        made = single(*vectors)
        if made is NotImplemented:
            made = single(*(fresh(vector) for vector in vectors))
        return made if made is not NotImplemented else whole(*vectors)

    return call


def fresh(vector: np.ndarray) -> np.ndarray:
    """A copy that has NumPy's own float64: what comes out of a file or another process has one of the same kind, which
    the door for one state does not know and results would inherit."""
    made = np.empty(np.shape(vector))
    made[...] = vector
    return made
