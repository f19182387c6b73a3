"""Places of a trace in memory, as addresses: what `llvm.Body` loads from and stores to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

VECTOR, NUMBER, ARGUMENT, ADDED = range(4)
"""What stands at a place: a vector of lanes; one number for all of them; nothing, the pointer's name is that of a
number; a vector that what is stored is added to."""


class Spot(NamedTuple):
    """So many bytes from a pointer on; `lasts`: what is loaded stays there until the trace is done."""

    pointer: str
    offset: int
    way: int = VECTOR
    lasts: bool = True


@dataclass(frozen=True)
class MemoryPlaces:
    """Spots of the inputs and outputs of a trace; `given` are the parameters of its functions, as IR."""

    given: str
    loads: Sequence[Spot]
    stores: Sequence[Spot]
    lanes: int

    def parameters(self) -> str:
        return self.given

    def lasts(self, number: int) -> bool:
        return self.loads[number].lasts

    def load(self, target: str, number: int) -> list[str]:
        spot, vector = self.loads[number], self._vector
        if spot.way in (VECTOR, ADDED):
            return self._read(target, spot)
        lines, value = [], f"%{spot.pointer}"
        if spot.way == NUMBER:
            lines = [
                f"  %{target}.p = getelementptr double, ptr %{spot.pointer}, i64 {spot.offset // 8}",
                f"  %{target}.s = load double, ptr %{target}.p, align 8",
            ]
            value = f"%{target}.s"
        return [
            *lines,
            f"  %{target}.i = insertelement {vector} poison, double {value}, i32 0",
            f"  %{target} = shufflevector {vector} %{target}.i, {vector} poison, <{self.lanes} x i32> zeroinitializer",
        ]

    def store(self, position: int, value: str) -> list[str]:
        spot, name = self.stores[position], f"%o{position}"
        lines = [self._address(f"o{position}", spot)]
        if spot.way == ADDED:
            lines += [f"  {name}.o = load {self._vector}, ptr {name}.p, align {self._align}"]
            lines += [f"  {name}.n = fadd {self._vector} {name}.o, {value}"]
            value = f"{name}.n"
        return [*lines, f"  store {self._vector} {value}, ptr {name}.p, align {self._align}"]

    def again(self, target: str, position: int) -> list[str]:
        spot = self.stores[position]
        return self._read(target, spot) if spot.lasts else []

    def _read(self, target: str, spot: Spot) -> list[str]:
        return [self._address(target, spot), f"  %{target} = load {self._vector}, ptr %{target}.p, align {self._align}"]

    def _address(self, name: str, spot: Spot) -> str:
        return f"  %{name}.p = getelementptr i8, ptr %{spot.pointer}, i64 {spot.offset}"

    @property
    def _vector(self) -> str:
        return f"<{self.lanes} x double>"

    @property
    def _align(self) -> int:
        return 8 * self.lanes
