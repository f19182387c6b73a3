"""A whole rollout of a long mechanism as one kernel: the loop over time around stages that run link by link.

A step is as in `code/timeloop.py`; here each phase is a list of stages over the links' own memory: `begin` once for a
block of states, then at every step `stage` for each row of the method's weights, and `finish`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from phistar.backends.code.llvm import Body, splat
from phistar.backends.code.timeloop import Phase, TimeSignature
from phistar.backends.code.timeloop_text import sizes_text
from phistar.backends.rolled.loop import (
    COUNTS,
    TABLES,
    Calls,
    Sizes,
    called_text,
    memory_text,
    pointer,
    tables_text,
)

PLACED = ("q", "v", "t", "c", "g")
"""The arrays whose places a robot's tables say: q and v of x, two times, joint forces or a controller's gains."""


@dataclass(frozen=True)
class Phases:
    """How many stages make a phase, in the order in which they come; the weights of each run of `stage`, and the vector
    of memory that they are put to."""

    begin: int
    stage: int
    weights: tuple[tuple[float, float], ...]
    place: int


@dataclass(frozen=True, eq=False)
class Control:
    """A recorded controller, and the vector of memory of each number that it reads or makes."""

    phase: Phase
    vectors: Mapping[tuple[str, int], int]
    lanes: int
    fma: bool

    @cached_property
    def body(self) -> Body:
        return Body("controlpart", self.phase.trace, ControlPlaces(self), self.lanes, self.fma)

    def text(self, sizes: Sizes) -> str:
        """`control(work, scratch, both)`: half a block of states, or one half after the other."""
        lines = ["define internal void @control(ptr %work, ptr %scratch, i1 %both) #0 {", "entry:"]
        lines += [*self.body.calls("ptr %work, ptr %scratch"), "  br i1 %both, label %again, label %done", "again:"]
        lines += [pointer("half", "work", str(4 * sizes.lanes)), *self.body.calls("ptr %half, ptr %scratch")]
        return "\n".join([*self.body.functions(), *lines, "  br label %done", "done:", "  ret void", "}"])


@dataclass(frozen=True, eq=False)
class ControlPlaces:
    """Places of a controller: anywhere in the memory of a block of states."""

    control: Control

    def parameters(self) -> str:
        return "ptr %work"

    def lasts(self, number: int) -> bool:
        return True

    def load(self, target: str, number: int) -> list[str]:
        return self._read(target, self.control.phase.loads[number])

    def store(self, position: int, value: str) -> list[str]:
        lanes, place = self.control.lanes, self._address(f"o{position}", self.control.phase.stores[position])
        return [place, f"  store <{lanes} x double> {value}, ptr %o{position}.p, align {8 * lanes}"]

    def again(self, target: str, position: int) -> list[str]:
        return self._read(target, self.control.phase.stores[position])

    def _read(self, target: str, place: tuple[str, int]) -> list[str]:
        lanes = self.control.lanes
        load = f"  %{target} = load <{lanes} x double>, ptr %{target}.p, align {8 * lanes}"
        return [self._address(target, place), load]

    def _address(self, name: str, place: tuple[str, int]) -> str:
        return pointer(f"{name}.p", "work", str(16 * self.control.lanes * self.control.vectors[place]))


def time_text(
    calls: list[Calls], phases: Phases, signature: TimeSignature, sizes: Sizes, control: Control | None = None
) -> str:
    """`void loop(char **args, intp *dimensions, intp *steps, void *data)` over the stages; `finish` is all that come
    after the first two phases, `control` what is computed at the start of a step."""
    names = [*signature.names, "qs", "vs"]
    lines = [
        *called_text(calls, sizes),
        *([control.text(sizes)] if control else []),
        "define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) #0 {",
        "entry:",
        *sizes_text(signature, names),
        *tables_text(),
        *memory_text(sizes),
        *_places([name for name in PLACED if name in names]),
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %block, label %done",
        "block:",
        "  %first = phi i64 [0, %entry], [%next, %finished]",
        f"  %middle = add i64 %first, {sizes.lanes // 2}",
        "  %both = icmp slt i64 %middle, %count",
        *(_copied("pack", name, name, f"%{name}.base") for name in names if name in ("q", "v", "g")),
        *_run(range(phases.begin)),
        *(_copied("unpack", f"{name}s", name, f"%{name}s.base") for name in ("q", "v")),
        "  %moves = icmp sgt i64 %last.t, 0",
        "  br i1 %moves, label %step, label %finished",
        "step:",
        "  %k = phi i64 [0, %block], [%k2, %step]",
        "  %k2 = add i64 %k, 1",
        *_step(len(calls), phases, signature, sizes, control),
        "  %more.t = icmp slt i64 %k2, %last.t",
        "  br i1 %more.t, label %step, label %finished",
        "finished:",
        f"  %next = add i64 %first, {sizes.lanes}",
        "  %more = icmp slt i64 %next, %count",
        "  br i1 %more, label %block, label %done",
        "done:",
        "  call void @free(ptr %raw)",
        "  ret void",
        "}",
    ]
    return "\n".join([*lines, "attributes #0 = { nounwind }"])


def _places(names: list[str]) -> list[str]:
    """The table of each array's places and how many there are."""
    lines = []
    for number, name in enumerate(names):
        lines += [pointer(f"{name}.tp", "data", str(8 * (len(TABLES) + number)))]
        lines += [f"  %{name}.table = load ptr, ptr %{name}.tp, align 8"]
        lines += [pointer(f"{name}.ep", "counts", str(8 * (len(COUNTS) + number)))]
        lines += [f"  %{name}.entries = load i64, ptr %{name}.ep, align 8"]
        lines += [f"  %{name}.row = mul i64 %{name}.entries, 8"]
    return lines


def _copied(function: str, array: str, places: str, base: str) -> str:
    """Between an array's rows from `base` on and memory."""
    row = f"i64 %{places}.row, i64 %{array}.c, i64 %{places}.entries, i64 %{places}.entries, ptr %{places}.table"
    return f"  call void @{function}(ptr {base}, i64 %{array}.s, {row}, ptr %work, i64 %first, i64 %last)"


def _run(stages: range) -> list[str]:
    return [f"  call void @stage{number}(ptr %data, ptr %work, ptr %scratch, i1 %both)" for number in stages]


def _step(count: int, phases: Phases, signature: TimeSignature, sizes: Sizes, control: Control | None) -> list[str]:
    """One step from time %k to %k2."""
    lines = ["  %t.o = mul i64 %k, %t.c", pointer("now", "t.base", "%t.o"), _copied("pack", "t", "t", "%now")]
    if signature.controls:
        lines += ["  %c.k = mul i64 %k, %c.c", "  %c.o = mul i64 %c.k, %c.entries", pointer("given", "c.base", "%c.o")]
        lines += [_copied("pack", "c", "c", "%given")]
    lines += ["  call void @control(ptr %work, ptr %scratch, i1 %both)"] if control else []
    align = 8 * sizes.lanes
    for entry in range(2):
        lines += [pointer(f"weight{entry}", "work", str(align * (phases.place + entry)))]
    end = phases.begin + phases.stage
    for row in phases.weights:
        for entry, weight in enumerate(row):
            value = f"<{sizes.lanes} x double> {splat(weight, sizes.lanes)}"
            lines.append(f"  store {value}, ptr %weight{entry}, align {align}")
        lines += _run(range(phases.begin, end))
    lines += _run(range(end, count))
    for name in ("q", "v"):
        lines += [f"  %{name}s.o = mul i64 %k2, %{name}s.k", pointer(f"{name}s.now", f"{name}s.base", f"%{name}s.o")]
        lines.append(_copied("unpack", f"{name}s", name, f"%{name}s.now"))
    return lines
