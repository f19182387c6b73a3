"""Memory of the steps: one stretch for each block of states, a vector of lanes for each number.

In order: flat fields; what frames and their links exchange; slots for what children send and parents pass on, used
again as soon as they are read, so that they stay in the cache; then the links' own numbers, only those that outlive a
sweep.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from phistar.backends.code.memory_places import ADDED, NUMBER, VECTOR, MemoryPlaces, Spot
from phistar.backends.kernels import F64, Value
from phistar.backends.rolled.recorder import Place, Step
from phistar.backends.traces.trace import INPUT, restrict

Entries = dict[tuple[Any, int], int]

_READ_AS = {"passed": "passing", "children": "siblings"}
POINTERS = {"kept": "frame", "task": "frame", "total": "flat"}
"""The pointers of memories that are not called like them."""
LINK = ("constant", "own", "parent", "passing", "passed", "children", "siblings", "frame", "flat")
FRAME = ("point", "frame", "row1", "rows")
FLAT = ("flat",)
FIXED = ("constant", "point")  # memories of numbers that are the same for every state


def is_added(place: Place, known: bool) -> bool:
    """Whether a step adds to what is there, or puts its number, `known` or not, in its place."""
    return place[0] == "total" or (place[0] == "task" and not known)


@dataclass
class Stage:
    """One thing that happens to a block of states: steps by kind of link, a step at each frame, or a flat step."""

    direction: str
    steps: list[Step]
    name: str = ""


@dataclass
class Memory:
    """Entries (numbered) of every kind of memory; `own` by kind of link, parents' numbers first and alike for all."""

    lanes: int
    width: int  # columns of wide fields
    flat: dict[str, int] = field(default_factory=dict)
    flat_size: int = 0
    wide: frozenset[str] = frozenset()
    frame: Entries = field(default_factory=dict)
    slot: Entries = field(default_factory=dict)
    passing: Entries = field(default_factory=dict)
    shared: Entries = field(default_factory=dict)
    own: list[Entries] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """JSON-ready layout for the tables."""
        sizes = {"flat_size": self.flat_size, "frame": len(self.frame), "slot": len(self.slot)}
        own = [[[name, entry, number] for (name, entry), number in entries.items()] for entries in self.own]
        return sizes | {"passing": len(self.passing), "flat": self.flat, "own": own}


@dataclass(frozen=True)
class Rooms:
    """Entries of each kind of memory, and where flat fields and the links' own numbers are."""

    flat_size: int
    frame: int
    slot: int
    passing: int
    flat: dict[str, int]
    own: list[Entries]

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Rooms:
        own = [{(name, entry): number for name, entry, number in entries} for entries in data["own"]]
        return cls(**{**data, "own": own})


def places_read(step: Step) -> set[Place]:
    """Places that a step does read."""
    return {step.loads[number] for op, number, _ in step.trace.code if op == INPUT}


def used_pointers(stage: Stage) -> tuple[str, ...]:
    """Pointers to a link's memory that the steps of a stage use."""
    memories = {memory for step in stage.steps for memory, _, _ in (*places_read(step), *step.stores)}
    used = {POINTERS.get(memory, memory) for memory in memories}
    return tuple(name for name in LINK if name in used)


def drop_unneeded(stages: list[Stage], outputs: set[str], flat_outputs: set[str]) -> list[Stage]:
    """Drop instructions that no output needs: of the velocities, say, only the angular part is used."""
    read: set[Any] = set()
    while True:
        kept = [
            Stage(s.direction, [_only(step, k, read, outputs, flat_outputs) for k, step in enumerate(s.steps)], s.name)
            for s in stages
        ]
        found: set[Any] = set()
        for stage in kept:
            for kind, step in enumerate(stage.steps):
                for memory, name, entry in places_read(step):
                    if memory == "own":
                        found.add((kind, name, entry))
                    elif memory == "row":  # of every frame, each at its own rows
                        found.add((memory, name))
                    else:
                        found.add((_READ_AS.get(memory, memory), name, entry))
        if found <= read:
            return kept
        read |= found


def _only(step: Step, kind: int, read: set[Any], outputs: set[str], flat_outputs: set[str]) -> Step:
    def is_wanted(place: Place) -> bool:
        memory, name, entry = place
        if memory == "own":
            return name in outputs or (kind, name, entry) in read or ("parent", name, entry) in read
        if memory in ("flat", "total", "row"):
            return memory == "row" or name in flat_outputs or ("flat", name, entry) in read or ("row", name) in read
        return (memory, name, entry) in read or memory == "task"

    kept = [i for i, place in enumerate(step.stores) if is_wanted(place)]
    return Step(restrict(step.trace, kept), step.loads, tuple(step.stores[i] for i in kept))


def number_entries(stages: list[Stage], kinds: int, flat: dict[str, tuple[int, int]], memory: Memory) -> Memory:
    """Number all entries that are used."""
    for name, (rows, columns) in flat.items():
        memory.flat[name] = memory.flat_size
        memory.flat_size += rows * columns
    places = {(k, p) for s in stages for k, step in enumerate(s.steps) for p in (*places_read(step), *step.stores)}
    links = {(k, p) for k, p in places}
    memory.frame = _number(p for _, p in places if p[0] in ("kept", "task"))
    memory.slot = _number(p for _, p in places if p[0] in ("children", "siblings"))
    memory.passing = _number(p for _, p in places if p[0] in ("passing", "passed"))
    memory.shared = _number(p for _, p in places if p[0] == "parent")
    for kind in range(kinds):
        mine = _number(p for k, p in links if k == kind and p[0] == "own" and p[1:] not in memory.shared)
        start = len(memory.shared)
        memory.own.append(memory.shared | {key: start + number for key, number in mine.items()})
    return memory


def _number(places: Iterable[Place]) -> Entries:
    keys = sorted({(name, entry) for _, name, entry in places}, key=str)
    return {key: number for number, key in enumerate(keys)}


@dataclass(frozen=True)
class StepEntries:
    """Memory addresses of a step's places at links of one kind."""

    memory: Memory
    kind: int

    def places(self, step: Step, pointers: tuple[str, ...], lanes: int) -> MemoryPlaces:
        """Loads and stores of vectors of so many of the memory's lanes, constants spread over them."""
        read, stored = places_read(step), set(step.stores)
        loads = [self._load(x, x not in stored) if x in read else Spot("", 0) for x in step.loads]
        fixed = zip(step.stores, step.trace.output_is_constant, strict=True)
        given = tuple(Value(name, F64.read if name in FIXED else F64.to) for name in pointers)
        return MemoryPlaces(given, loads, [self._store(x, known) for x, known in fixed], lanes)

    def _load(self, place: Place, lasts: bool) -> Spot:
        if place[0] in FIXED:
            return Spot(place[0], 8 * place[2], NUMBER, lasts)
        pointer, number = self.entry(place)
        return Spot(pointer, 8 * self.memory.lanes * number, VECTOR, lasts)

    def _store(self, place: Place, known: bool) -> Spot:
        pointer, number = self.entry(place)
        way = ADDED if is_added(place, known) else VECTOR
        return Spot(pointer, 8 * self.memory.lanes * number, way, place[0] not in ("total", "task"))

    def entry(self, place: Place) -> tuple[str, int]:
        """A pointer, and the number of the vector from it on."""
        memory, name, entry = place
        pointer, store = POINTERS.get(memory, memory), self.memory
        if memory == "own":
            number = store.own[self.kind][name, entry]
        elif memory in ("flat", "total", "row"):
            number = store.flat[name] + entry
            pointer = pointer if memory != "row" else "rows" if name in store.wide else "row1"
        else:
            table = {"frame": store.frame, "passing": store.passing, "passed": store.passing, "parent": store.shared}
            number = table.get(pointer, store.slot)[name, entry]
        return pointer, number
