"""Programs of calls over blocks of numbers: each function is traced once for every kind of call, and the order of the
calls, the blocks that they take and the constants of the robot are data.

A block is a row of numbers that one call makes and others take. Entries that are known when the call is traced (zeros
above all, and the same number twice) take no memory, and a call is of another kind where other entries are known: what
is zero along a whole plane mechanism is so in its code. A program of a thousand calls is traced and compiled as its
twenty kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from phistar.backends.traces.trace import CONST, INPUT, Scalar, Tape, TooLong, Trace, finish, restrict

CONSTANT = -1  # the block of a call's own constants, as `Kind.loads` names it
FOLDED = (0.0, 1.0, -1.0)  # entries of turns that are part of the code; of other constants, zeros alone


@dataclass(frozen=True)
class Block:
    """A row of numbers: `entries` are cells of memory (int) or known numbers (float). Blocks that are known throughout
    have no number."""

    number: int | None
    entries: tuple[int | float, ...]

    @property
    def cells(self) -> int:
        return max((x for x in self.entries if isinstance(x, int)), default=-1) + 1


def known_block(values: Any) -> Block:
    """A block of numbers that are the same at every state."""
    return Block(None, tuple(float(x) for x in np.asarray(values, dtype=float).reshape(-1)))


@dataclass(frozen=True, eq=False)
class Kind:
    """A traced function: input i of its trace is `loads[i]`, a position among the blocks of a call (or CONSTANT) and a
    cell; output i is `stores[i]`, a position among the blocks that it makes and a cell. `made`: the entries of these;
    `constants`: which of its constants are not part of the code."""

    trace: Trace
    loads: tuple[tuple[int, int], ...]
    stores: tuple[tuple[int, int], ...]
    made: tuple[tuple[int | float, ...], ...]
    constants: np.ndarray


@dataclass(frozen=True)
class Call:
    """One call: its kind, the numbers of the blocks it takes and makes, and its constants."""

    kind: int
    taken: tuple[int | None, ...]
    made: tuple[int, ...]
    constants: tuple[float, ...]


class CallRecorder:
    """Records calls; TooLong where all kinds together have more than `most` instructions."""

    def __init__(self, most: int | None = None) -> None:
        self.kinds: list[Kind] = []
        self.calls: list[Call] = []
        self.sizes: list[int] = []  # cells of each block
        self._numbers: dict[Hashable, int] = {}
        self._left = most

    def argument(self, size: int) -> Block:
        """A block of the program's arguments."""
        return self._block(tuple(range(size)))

    def _block(self, entries: tuple[int | float, ...]) -> Block:
        made = Block(len(self.sizes), entries)
        self.sizes.append(made.cells)
        return made

    def call(
        self,
        key: Hashable,
        function: Callable[..., Sequence[Any]],
        blocks: Sequence[Block],
        turns: Sequence[Any] = (),
        constants: Sequence[Any] = (),
    ) -> list[Block]:
        """Call `function(*rows, constants)` on blocks; it is traced unless a call with an equal key and known entries
        was. It gives a sequence of rows. Constants come in two kinds, `turns` first: of what is summed along the links,
        masses say, no number but zero may be part of the code, as each link would then be of a kind of its own."""
        first, second = (_flat(x) for x in (turns, constants))
        numbers = np.array(first + second)
        fixed = (*(x if x in FOLDED else None for x in first), *(x if x == 0.0 else None for x in second))
        kind = (key, tuple(block.entries for block in blocks), fixed)
        if kind not in self._numbers:
            self._numbers[kind] = len(self.kinds)
            self.kinds.append(_trace(function, blocks, fixed))
            if self._left is not None:
                self._left -= len(self.kinds[-1].trace.code)
                if self._left < 0:
                    raise TooLong
        found = self.kinds[self._numbers[kind]]
        made = [self._block(entries) for entries in found.made]
        own = tuple(numbers[found.constants].tolist())
        made_as = tuple(block.number for block in made if block.number is not None)
        self.calls.append(Call(self._numbers[kind], tuple(block.number for block in blocks), made_as, own))
        return made


def _flat(arrays: Sequence[Any]) -> list[float]:
    return [x for array in arrays for x in np.asarray(array, dtype=float).reshape(-1).tolist()]


def _trace(function: Callable[..., Sequence[Any]], blocks: Sequence[Block], fixed: tuple[float | None, ...]) -> Kind:
    tape, loads = Tape(), list[tuple[int, int]]()

    def row(position: int, entries: Sequence[int | float]) -> np.ndarray:
        found, cells = np.empty(len(entries), dtype=object), dict[int, Scalar]()
        for i, entry in enumerate(entries):
            if isinstance(entry, int) and entry not in cells:
                cells[entry] = tape.emit(INPUT, len(loads))
                loads.append((position, entry))
            found[i] = cells[entry] if isinstance(entry, int) else entry
        return found

    rows = [row(position, block.entries) for position, block in enumerate(blocks)]
    loaded = [i for i, x in enumerate(fixed) if x is None]
    places = {i: cell for cell, i in enumerate(loaded)}
    own = row(CONSTANT, [places[i] if x is None else x for i, x in enumerate(fixed)])
    values, stores, made = list[Any](), list[tuple[int, int]](), list[tuple[int | float, ...]]()
    for position, result in enumerate(function(*rows, own)):
        entries, cells = list[int | float](), dict[int, int]()
        for x in np.asarray(result, dtype=object).reshape(-1):
            if type(x) is Scalar and tape.code[x.index][0] != CONST:
                if x.index not in cells:
                    cells[x.index] = len(cells)
                    values.append(x)
                    stores.append((position, cells[x.index]))
                entries.append(cells[x.index])
            else:
                entries.append(_number(tape, x))
        made.append(tuple(entries))
    return Kind(finish(tape, values), tuple(loads), tuple(stores), tuple(made), np.array(loaded, dtype=np.int64))


def _number(tape: Tape, x: Any) -> float:
    """A known entry; −0 is 0."""
    return float(tape.code[x.index][1] if isinstance(x, Scalar) else x) + 0.0


Cell = tuple[int, int]  # of a block


@dataclass(frozen=True, eq=False)
class CallProgram:
    """Calls in order, the cells of each block, and of each array that is given or wanted the cells or, where they are
    known, the numbers of its entries."""

    kinds: tuple[Kind, ...]
    calls: tuple[Call, ...]
    sizes: tuple[int, ...]
    inputs: tuple[tuple[Cell, ...], ...]
    outputs: tuple[tuple[Cell | float, ...], ...]

    @property
    def operations(self) -> int:
        """Arithmetic instructions per state."""
        counts = [kind.trace.operations for kind in self.kinds]
        return sum(counts[call.kind] for call in self.calls)

    @property
    def instructions(self) -> int:
        """Instructions that are compiled."""
        return sum(len(kind.trace.code) for kind in self.kinds)


def entries_of(blocks: Sequence[Block]) -> tuple[Cell | float, ...]:
    """Cells or numbers of all entries of some blocks, one block after the other."""
    return tuple(
        (block.number, x) if isinstance(x, int) and block.number is not None else float(x)
        for block in blocks
        for x in block.entries
    )


def recorded_calls(
    record: CallRecorder, inputs: Sequence[Sequence[Block]], outputs: Sequence[Sequence[Cell | float]]
) -> CallProgram:
    """The program of what was recorded, without what no output needs."""
    given = tuple(tuple(x for x in entries_of(blocks) if isinstance(x, tuple)) for blocks in inputs)
    wanted = {x for row in outputs for x in row if isinstance(x, tuple)}
    needed = [set[int]() for _ in record.kinds]  # outputs of each kind
    read = [set[Cell]() for _ in record.kinds]  # (position, cell) of each kind
    while True:
        grown, live = set[int](), set(wanted)
        for call in reversed(record.calls):
            kind, own = record.kinds[call.kind], needed[call.kind]
            more = {i for i, (at, cell) in enumerate(kind.stores) if i not in own and (call.made[at], cell) in live}
            if more:
                own |= more
                grown.add(call.kind)
                read[call.kind] = _loads(kind, own)
            live |= {(block, cell) for at, cell in read[call.kind] if (block := _source_block(call, at)) is not None}
        if not grown:
            break
    used = [number for number, own in enumerate(needed) if own]
    kinds = tuple(_restrict(record.kinds[number], sorted(needed[number])) for number in used)
    renumbered = {number: i for i, number in enumerate(used)}
    calls = tuple(
        Call(renumbered[call.kind], call.taken, call.made, call.constants)
        for call in record.calls
        if call.kind in renumbered
    )
    return CallProgram(kinds, calls, tuple(record.sizes), given, tuple(map(tuple, outputs)))


def _source_block(call: Call, position: int) -> int | None:
    return None if position == CONSTANT else call.taken[position]


def _loads(kind: Kind, outputs: set[int]) -> set[Cell]:
    trace = restrict(kind.trace, sorted(outputs))
    return {kind.loads[number] for op, number, _ in trace.code if op == INPUT}


def _restrict(kind: Kind, outputs: list[int]) -> Kind:
    trace = restrict(kind.trace, outputs)
    return Kind(trace, kind.loads, tuple(kind.stores[i] for i in outputs), kind.made, kind.constants)


def split_row(row: np.ndarray, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    """A row of numbers cut into arrays of these shapes."""
    found, start = [], 0
    for shape in shapes:
        found.append(row[start : start + prod(shape)].reshape(shape))
        start += prod(shape)
    assert start == len(row)
    return found
