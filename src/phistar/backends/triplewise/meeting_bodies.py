"""Work on three rates that meet, traced once for rates that stand alike: what is repeated for each outermost rate, and
for each pair of it and the rate between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.kernels import FREE, Code, Local
from phistar.backends.programs.triple_places import Group
from phistar.backends.programs.triple_tables import Matrices, matrices_between, vectors_between
from phistar.backends.traces.trace import ADD, INPUT, MUL, NEG, SUB, Scalar, Tape, Trace, finish
from phistar.sweeps.regions import Meeting

COLUMN, BLOCK, MATRIX = "column", "block", "matrix"
Spot = tuple[str, Any, int]
"""An entry of a field's column at a rate, of a field's block at the link of its joint, or of a matrix."""
Shapes = Mapping[str, np.ndarray | None]
"""Entries of fields, (6, 1) of columns or (6, 6) of blocks, that are not zero at every link."""


@dataclass(frozen=True, eq=False)
class Body:
    """Instructions: what they read, and what each result is."""

    trace: Trace
    loads: tuple[Spot, ...]
    stores: tuple[Spot, ...]

    def put(self, code: Code, given: Callable[[Spot], Local]) -> list[Local]:
        """Write the instructions down; the results."""
        values: list[Local] = []
        code.freedom = FREE
        for op, left, right in self.trace.code:
            if op == INPUT:
                values.append(given(self.loads[left]))
            elif op == NEG:
                values.append(-values[left])
            elif op in (ADD, SUB, MUL):
                a, b = values[left], values[right]
                values.append(a + b if op == ADD else a - b if op == SUB else a * b)
            else:
                values.append(code.number(left))
        known = zip(self.trace.outputs, self.trace.output_is_constant, strict=True)
        return [code.number(x) if fixed else values[int(x)] for x, fixed in known]


class _Symbols:
    """Fields of one rate, entries by name."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes, self.tape, self.spots = shapes, Tape(), dict[Spot, Any]()

    def columns(self, field: str, rates: np.ndarray) -> np.ndarray:
        return self.array(COLUMN, field, self.shapes[field], 1)[None, :, 0]

    def blocks(self, field: str, rates: np.ndarray) -> np.ndarray:
        return self.array(BLOCK, field, self.shapes[field], 6)[None]

    def array(self, kind: str, name: Any, filled: np.ndarray | None, width: int) -> np.ndarray:
        made = np.full((6, width), 0.0, dtype=object)
        for number, index in enumerate(np.ndindex(6, width)):
            if filled is not None and filled[index]:
                spot = kind, name, number
                if spot not in self.spots:
                    self.spots[spot] = self.tape.emit(INPUT, len(self.spots))
                made[index] = self.spots[spot]
        return made

    def body(self, results: dict[Any, np.ndarray]) -> Body:
        entries = [(MATRIX, name, i, x) for name, made in results.items() for i, x in enumerate(made.reshape(-1))]
        kept = [x for x in entries if isinstance(x[3], Scalar) or x[3] != 0.0]
        return Body(finish(self.tape, [x[3] for x in kept]), tuple(self.spots), tuple(x[:3] for x in kept))


def trace_bodies(meetings: tuple[Meeting, ...], group: Group, shapes: Shapes) -> tuple[Body, Body]:
    """Matrices of an outermost rate, and the vectors that these make of a rate between: (MATRIX, (last field, field
    between), entry) and (MATRIX, last field, entry)."""
    one = np.zeros(1, dtype=np.int64)
    alike = Group(group.axes, group.sides, one, one, np.zeros((2, 1), dtype=np.int64), one, one)
    outer = _Symbols(shapes)
    matrices: Matrices = matrices_between(meetings, alike, outer)
    first = outer.body(matrices)
    filled = {name: np.zeros((6, 6), dtype=bool) for name in matrices}
    for _, name, i in first.stores:
        filled[name].reshape(-1)[i] = True
    between = _Symbols(shapes)
    known = {name: between.array(MATRIX, name, own, 6)[None] for name, own in filled.items()}
    return first, between.body(vectors_between(known, alike, between))
