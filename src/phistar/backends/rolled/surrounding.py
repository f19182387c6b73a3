"""A recorded function around one call that runs link by link, on the memory of that call: what it computes before and
behind stays in lanes, and no array is written in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from phistar.backends.machine.jit import Signature
from phistar.backends.rolled.link_loops import COUNTS, TABLES, TraceStage
from phistar.backends.traces.calls import Step
from phistar.backends.traces.trace import Trace

ROOM = COUNTS.index("room")


@dataclass(frozen=True, eq=False)
class Surrounding:
    """A recording with one call: the sizes of its arguments, the steps before and behind the call, and where the call's
    own arguments come from: slots are the arguments, then what the step before makes, then the results."""

    arguments: tuple[int, ...]
    before: Step | None
    slots: tuple[int, ...]
    behind: Step | None

    @property
    def is_plain(self) -> bool:
        """Whether nothing is handed to the call twice, and the call alone takes what the step before makes."""
        count = len(self.arguments)
        made = set(range(count, count + (0 if self.before is None else len(self.before.shapes))))
        later = set() if self.behind is None else set(self.behind.slots)
        return len(set(self.slots)) == len(self.slots) and made <= set(self.slots) and not made & later


def surrounding(steps: Sequence[Step], arguments: Sequence[int]) -> tuple[Surrounding, Step] | None:
    """A recording that makes one call, and this call; None for others."""
    calls = [i for i, step in enumerate(steps) if not isinstance(step.work, Trace)]
    if len(calls) != 1 or calls[0] > 1 or len(steps) > calls[0] + 2:
        return None
    at = calls[0]
    behind = steps[at + 1] if at + 1 < len(steps) else None
    found = Surrounding(tuple(arguments), steps[0] if at else None, steps[at].slots, behind)
    return (found, steps[at]) if found.is_plain else None


@dataclass(frozen=True, eq=False)
class SurroundedMemory:
    """The vectors of memory of the arguments and results of a call with what surrounds it, and the robot's tables with
    these."""

    signature: Signature
    arguments: list[np.ndarray]
    given: list[np.ndarray]
    made: list[np.ndarray]
    results: list[np.ndarray]
    tables: list[np.ndarray]

    def stages(self, law: Surrounding, lanes: int, fma: bool) -> tuple[list[TraceStage], list[TraceStage]]:
        """The stages before those of the call, and those after it."""
        before, behind, count = law.before, law.behind, len(law.arguments)
        first, last = list[TraceStage](), list[TraceStage]()
        if before is not None:
            loads = np.concatenate([self.arguments[slot] for slot in before.slots])
            wanted = {slot - count: number for number, slot in enumerate(law.slots) if slot >= count}
            stores = np.concatenate([self.given[wanted[i]] for i in range(len(before.shapes))])
            first.append(_stage("before", before, loads, stores, lanes, fma))
        if behind is not None:
            start = count + (0 if before is None else len(before.shapes))
            loads = [self.arguments[slot] if slot < count else self.made[slot - start] for slot in behind.slots]
            last.append(_stage("behind", behind, np.concatenate(loads), np.concatenate(self.results), lanes, fma))
        return first, last


def _stage(name: str, step: Step, loads: np.ndarray, stores: np.ndarray, lanes: int, fma: bool) -> TraceStage:
    assert isinstance(step.work, Trace)
    return TraceStage(name, step.work, loads.tolist(), stores.tolist(), lanes, fma)


def surrounded_memory(
    law: Surrounding, called: Signature, tables: list[np.ndarray], units: tuple[tuple[int, int], ...], lanes: int
) -> SurroundedMemory:
    """Lay out what surrounds a call, from the tables of the robot as the call alone has them."""
    counts, inputs = tables[0], len(called.inputs)
    places = [np.asarray(x, dtype=np.int64) // lanes for x in tables[len(TABLES) :]]
    given, made = places[:inputs], places[inputs : inputs + len(called.outputs)]
    room = int(counts[ROOM])
    nowhere = room - 1

    def with_own_places(own: np.ndarray) -> np.ndarray:
        """The places, with one of its own for each entry that the call does not read: code may read what it stored."""
        nonlocal room
        unread = own == nowhere
        places = np.where(unread, room + np.cumsum(unread) - 1, own)
        room += int(np.count_nonzero(unread))
        return places

    given = [with_own_places(own) for own in given]
    handed = {slot: given[number] for number, slot in enumerate(law.slots)}
    arguments = [
        handed[number] if number in handed else with_own_places(np.full(size, nowhere))
        for number, size in enumerate(law.arguments)
    ]
    shapes, results = called.outputs, made
    if law.behind is not None:
        shapes, sizes = law.behind.shapes, [prod(shape) for shape in law.behind.shapes]
        results = np.split(room + np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
        room += sum(sizes)
    arrays = [*arguments, *results]
    columns = [*law.arguments, *(shape[-1] if shape else 1 for shape in shapes)]
    head = [*counts[: len(COUNTS)], *map(len, arrays), *columns]
    head[ROOM] = room
    own_tables = [(lanes * x).astype(np.uint32) for x in arrays]
    whole = [np.array(head, dtype=np.int64), *tables[1 : len(TABLES)], *own_tables]
    return SurroundedMemory(Signature(law.arguments, tuple(shapes), units), arguments, given, made, results, whole)
