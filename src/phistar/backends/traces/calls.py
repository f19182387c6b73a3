"""Calls of compiled functions in a recording: their results are numbers of the trace like its inputs.

What is too long to be written out is not flattened: the recording is cut there into a trace that makes the arguments, a
call, and a trace that goes on with the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import INPUT, Scalar, Tape, Trace, finish

Slot = tuple[int, int]  # of the numbers of a tape that came in as one array: the first, how many


@dataclass(frozen=True, eq=False)
class Call:
    """`function(*arrays)` over leading axes, on arrays of traced numbers, with the core shapes of its results; they are
    the numbers of a tape from `first` on. `operations` are those of one state."""

    function: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]
    shapes: tuple[tuple[int, ...], ...]
    first: int
    operations: int


class CallTape(Tape):
    """A tape on which functions may be called. `callee` gives, of statements, what stands for a compiled function, or
    None: where there is such, nothing else is called."""

    def __init__(self, callee: Callable[[Any], Any] | None = None) -> None:
        super().__init__()
        self.callee = callee
        self.calls: list[Call] = []

    def call(
        self, function: Callable[..., Any], arguments: Sequence[Any], shapes: Sequence[tuple[int, ...]], operations: int
    ) -> list[np.ndarray]:
        """The results of a function as arrays of traced numbers."""
        given = tuple(np.asarray(x).reshape(-1) for x in arguments)
        results = [self.inputs(shape) for shape in shapes]
        first = next(x for array in results for x in array.reshape(-1))
        self.calls.append(Call(function, given, tuple(shapes), self.code[first.index][1], operations))
        return [traced(x) for x in results]


def tape_of_statements(*arrays: Any) -> CallTape | None:
    """The tape that some numbers are traced on, if what stands for statements may be called on it."""
    entries = (x for array in arrays for x in np.asarray(array).reshape(-1))
    tape = next((x.tape for x in entries if isinstance(x, Scalar)), None)
    return tape if isinstance(tape, CallTape) else None


def tape_of_calls(*arrays: Any) -> CallTape | None:
    """The tape that some numbers are traced on, if any function may be called on it."""
    tape = tape_of_statements(*arrays)
    return tape if tape is not None and tape.callee is None else None


@dataclass(frozen=True, eq=False)
class Step:
    """Step of a recording with calls: a trace or a function, its argument slots, and the shapes of its results."""

    work: Trace | Callable[..., Any]
    slots: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    operations: int


def steps_of(tape: CallTape, sizes: Sequence[int], values: list[Any], shapes: list[tuple[int, ...]]) -> Iterator[Step]:
    """Steps of a recording, in order: slots are its arguments, of these `sizes`, then the results of each step. The
    last step yields the results of the recording itself, the `values`."""
    slots: list[Slot | None] = []
    for size in sizes:
        slots.append((sum(known[1] for known in slots if known), size))
    for call in tape.calls:
        arrays, made = [], _slots_passed_on(tape, call.arguments, slots)
        wanted = [array for array, slot in zip(call.arguments, made, strict=True) if slot is None]
        if wanted:
            yield _traced_step(tape, [x for array in wanted for x in array], [(len(x),) for x in wanted], slots)
            slots += [None] * len(wanted)
        fresh = iter(range(len(slots) - len(wanted), len(slots)))
        arrays = [next(fresh) if slot is None else slot for slot in made]
        yield Step(call.function, tuple(arrays), call.shapes, call.operations)
        start = call.first
        for shape in call.shapes:
            slots.append((start, prod(shape)))
            start += prod(shape)
    yield _traced_step(tape, values, shapes, slots)


def _slots_passed_on(tape: Tape, arguments: tuple[np.ndarray, ...], slots: list[Slot | None]) -> list[int | None]:
    """Slot that each argument passes on unchanged, or None."""
    found: list[int | None] = []
    for array in arguments:
        numbers = [_input_number(tape, x) for x in array]
        first = numbers[0] if numbers else None
        whole = None if first is None else (first, len(numbers))
        in_order = first is not None and numbers == list(range(first, first + len(numbers)))
        found.append(slots.index(whole) if in_order and whole in slots else None)
    return found


def _input_number(tape: Tape, x: Any) -> int | None:
    if not isinstance(x, Scalar):
        return None
    op, number, _ = tape.code[x.index]
    return number if op == INPUT else None


def _traced_step(tape: Tape, values: list[Any], shapes: list[tuple[int, ...]], slots: list[Slot | None]) -> Step:
    """The instructions that some values need, on the slots that they need."""
    trace = finish(tape, values)
    needed = {left for op, left, _ in trace.code if op == INPUT}
    used, start, numbers = [], 0, {}
    for index, slot in enumerate(slots):
        if slot is not None and (not needed.isdisjoint(range(slot[0], slot[0] + slot[1])) or (not needed and not used)):
            used.append(index)
            numbers |= {slot[0] + i: start + i for i in range(slot[1])}
            start += slot[1]
    code = tuple((op, numbers[left], None) if op == INPUT else (op, left, right) for op, left, right in trace.code)
    moved = Trace(code, trace.outputs, trace.output_is_constant)
    return Step(moved, tuple(used), tuple(shapes), moved.operations)
