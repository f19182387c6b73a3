"""Places of a trace in memory: what `straight_line.Body` loads from and stores to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from phistar.backends.kernels import F64, Let, Statement, Store, Value

VECTOR, NUMBER, ARGUMENT, ADDED = range(4)
"""Content of a place in memory: a vector of lanes; one number for all of them; nothing, the pointer's name is that of a
number; a vector that what is stored is added to."""


class Spot(NamedTuple):
    """Byte offset from a pointer; `lasts`: what is loaded stays there until the trace is done."""

    pointer: str
    offset: int
    way: int = VECTOR
    lasts: bool = True


@dataclass(frozen=True)
class MemoryPlaces:
    """Spots of the inputs and outputs of a trace; `parameters` are those of its functions, `apart` the pointers that
    alias no other."""

    parameters: tuple[Value, ...]
    loads: Sequence[Spot]
    stores: Sequence[Spot]
    lanes: int
    apart: frozenset[str] = frozenset()

    def lasts(self, number: int) -> bool:
        return self.loads[number].lasts

    def load(self, target: Value, number: int) -> list[Statement]:
        spot = self.loads[number]
        if spot.way in (VECTOR, ADDED):
            return [self._read(target, spot)]
        if spot.way == ARGUMENT:
            return [Let(target, "every", (self._by_name[spot.pointer],))]
        one = Value(f"{target.name}.s", F64)
        return [Let(one, "read", (self._by_name[spot.pointer],), (spot.offset, 8)), Let(target, "every", (one,))]

    def store(self, position: int, value: Value) -> list[Statement]:
        spot, lines = self.stores[position], []
        if spot.way == ADDED:
            before, total = (Value(f"o{position}.{name}", value.type) for name in ("o", "n"))
            lines = [self._read(before, spot), Let(total, "fadd", (before, value))]
            value = total
        return [*lines, Store(value, self._by_name[spot.pointer], 8 * self.lanes, offset=spot.offset)]

    def again(self, target: Value, position: int) -> list[Statement]:
        spot = self.stores[position]
        return [self._read(target, spot)] if spot.lasts else []

    def _read(self, target: Value, spot: Spot) -> Let:
        return Let(target, "read", (self._by_name[spot.pointer],), (spot.offset, 8 * self.lanes))

    @cached_property
    def _by_name(self) -> dict[str, Value]:
        return {str(x.name): x for x in self.parameters}
