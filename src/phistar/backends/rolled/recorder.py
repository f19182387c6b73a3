"""Instructions of a step with the places in memory that they read and write, named here and addressed in
`link_memory.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.traces.solve import Block
from phistar.backends.traces.trace import CONST, COS, INPUT, SIN, Scalar, Tape, Trace, finish

Place = tuple[str, Any, int]
"""(memory, name, entry): "constant", "own", "parent", "passed", "passing", "children", "siblings", "kept", "task",
"flat", "total"."""

TURNS = "sin cos"


@dataclass(frozen=True)
class Step:
    """A traced step: `loads[number]` and `stores[position]` are places."""

    trace: Trace
    loads: tuple[Place, ...]
    stores: tuple[Place, ...]


class StepTape(Tape):
    """Sines and cosines are computed in one sweep and kept: a later sweep that asks for the same finds them."""

    def __init__(self, recorder: Recorder, kept: dict[Any, int]) -> None:
        super().__init__()
        self.recorder, self.kept = recorder, kept
        self.known = len(kept)
        self.new: list[Scalar] = []

    def emit(self, op: int, left: Any, right: Any = None) -> Scalar:
        if op not in (SIN, COS):
            return super().emit(op, left, right)
        key = (op, self.spelling(left))
        if key not in self.kept:
            self.kept[key] = len(self.kept)
            self.new.append(super().emit(op, left, right))
        elif self.kept[key] < self.known:
            return self.recorder.load("own", TURNS, self.kept[key])
        return super().emit(op, left, right)

    def spelling(self, index: int) -> Any:
        """Expression of an instruction, the same on any tape."""
        op, left, right = self.code[index]
        if op == INPUT:
            return self.recorder.loads[left]
        return (op, left) if op == CONST else (op, *(self.spelling(x) for x in (left, right) if x is not None))


class Recorder:
    """Instructions and the places that they load from; of `zeros`, those that hold nothing but zero, none is loaded."""

    def __init__(self, kept: dict[Any, int], zeros: Callable[[Place], bool] | None = None) -> None:
        self.loads: list[Place] = []
        self.zeros = zeros
        self.seen: dict[Place, Any] = {}
        self.tape = StepTape(self, kept)

    def load(self, memory: str, name: Any, entry: int) -> Any:
        place = (memory, name, entry)
        if self.zeros is not None and self.zeros(place):
            return 0.0
        if place not in self.seen:
            self.seen[place] = self.tape.emit(INPUT, len(self.loads))
            self.loads.append(place)
        return self.seen[place]

    def array(self, memory: str, name: Any, shape: tuple[int, ...], start: int = 0) -> np.ndarray:
        result = np.empty(shape, dtype=object)
        for offset, index in enumerate(np.ndindex(*shape)):
            result[index] = self.load(memory, name, start + offset)
        return result

    def finish(self, stores: list[tuple[Place, Any]]) -> Step:
        stores = stores + [(("own", TURNS, self.tape.known + i), x) for i, x in enumerate(self.tape.new)]
        trace = finish(self.tape, [x for _, x in stores])
        return Step(trace, tuple(self.loads), tuple(place for place, _ in stores))


def constant_pattern(value: Block) -> np.ndarray | None:
    """Value of each constant entry, else the index of the first entry that holds the same scalar."""
    if value is None:
        return None
    result, first = np.empty(value.shape, dtype=object), {}
    for entry, index in enumerate(np.ndindex(*value.shape)):
        number = value[index]
        if isinstance(number, Scalar):
            result[index] = first.setdefault(number.index, entry)
        else:
            result[index] = float(number)
    return result
