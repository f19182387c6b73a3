"""Register planning: values that stay in registers, and values that wait in memory and are read where they are used.

Hundreds of values of a long trace are alive at once. A compiler that meets them one block at a time writes them down as
it runs out of registers, those too that it has just read. Here it is decided beforehand, with the whole trace in view:
registers keep what is needed soonest (Belady, IBM Systems Journal 1966), and rather what is nowhere else; what must
wait is written once, when it is made, and is from then on as good as an operand in memory. What is read only once may
cost less to make again than to write: on some processors a store takes the time of two multiply-adds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

WRITING = 2.0  # how much sooner a register is taken from what is in memory already than from what must be written

Parts = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Residence:
    """For each instruction the operands that it reads from memory; for each value that waits there its slot. What is
    read and has none is made again, of what `touched` has beside the operands."""

    reads: dict[int, tuple[int, ...]]
    touched: dict[int, tuple[int, ...]]
    slots: dict[int, int]
    slot_count: int
    remade: frozenset[int]

    @property
    def writes(self) -> int:
        """Values that are written, or made again instead."""
        return len(self.slots) + len(self.remade)

    @property
    def read_count(self) -> int:
        """Operands that are read from memory."""
        return sum(map(len, self.reads.values()))


def residence(
    parts: Parts,
    operands: Callable[[int], Sequence[int]],
    in_memory: Callable[[int], bool],
    registers: int,
    writing: float = WRITING,
    is_cheap: Callable[[int], bool] | None = None,
) -> Residence:
    """The plan for instructions in order, cut into parts that share nothing but memory. `in_memory` are values that
    need not be written: they can be read at any time. `is_cheap` says what may be made again where it is read."""
    needed = {index: operands(index) for part in parts for index in part}
    reads, written = _simulate(parts, needed, in_memory, registers, writing)
    remade = _remade(reads, written, needed, in_memory, is_cheap) if is_cheap else frozenset()
    touched = {
        index: tuple(dict.fromkeys([*values, *(x for value in values if value in remade for x in needed[value])]))
        for index, values in reads.items()
    }
    return Residence(reads, touched, *_assign_slots(parts, touched, written - remade), remade)


def _remade(
    reads: Mapping[int, tuple[int, ...]],
    written: set[int],
    needed: Mapping[int, Sequence[int]],
    in_memory: Callable[[int], bool],
    is_cheap: Callable[[int], bool],
) -> frozenset[int]:
    """Spilled values that are read once and can be recomputed from what is in memory and stays there."""
    times = Counter(value for values in reads.values() for value in values)
    remade: set[int] = set()
    for value in sorted(value for value in written if times[value] == 1 and is_cheap(value)):
        if all(in_memory(x) or (x in written and x not in remade) for x in needed[value]):
            remade.add(value)
    return frozenset(remade)


def _simulate(
    parts: Parts,
    needed: Mapping[int, Sequence[int]],
    in_memory: Callable[[int], bool],
    registers: int,
    writing: float,
) -> tuple[dict[int, tuple[int, ...]], set[int]]:
    """Operands read from memory, and values that must be written there."""
    uses = _uses(parts, needed)
    reads: dict[int, tuple[int, ...]] = {}
    written: set[int] = set()
    time = 0

    def distance(value: int) -> float:
        ahead = nearest[value] - time
        return ahead if value in written or in_memory(value) else ahead / writing

    following: dict[int, int] = {}  # when what is held is used next
    for part in parts:
        held: set[int] = set()
        end = time + len(part)
        for index in part:
            wanted = needed[index]
            reads[index] = tuple(x for x in wanted if x not in held)
            written.update(x for x in reads[index] if not in_memory(x))
            held.update(wanted)
            held.add(index)
            for value in (*wanted, index):
                ahead = uses.get(value)
                while ahead and ahead[-1] <= time:
                    ahead.pop()
                following[value] = ahead[-1] if ahead else end
            nearest = {value: following[value] for value in held if following[value] < end}
            held = set(nearest)
            while len(held) > registers:
                gone = max(held, key=distance)
                held.remove(gone)
                if not in_memory(gone):
                    written.add(gone)
            time += 1
    return reads, written


def _uses(parts: Parts, needed: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """The times at which each value is used, the last first."""
    uses: dict[int, list[int]] = {}
    time = sum(map(len, parts))
    for index in (index for part in reversed(parts) for index in reversed(part)):
        time -= 1
        for value in needed[index]:
            uses.setdefault(value, []).append(time)
    return uses


def _assign_slots(parts: Parts, reads: Mapping[int, tuple[int, ...]], written: set[int]) -> tuple[dict[int, int], int]:
    """Slot for each value that is written; slots are reused after the last read."""
    last = {value: index for part in parts for index in part for value in reads[index]}
    slots: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for index in (index for part in parts for index in part):
        if index in written:
            slots[index] = free.pop() if free else count
            count = max(count, slots[index] + 1)
        free += [slots[value] for value in reads[index] if last[value] == index and value in slots]
    return slots, count
