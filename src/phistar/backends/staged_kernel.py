"""Functions recorded with calls as one function of arrays: kernels of the traces between the calls, and what is called.

A law around forward dynamics of a long robot runs that function's own kernel and a small one of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel, compile_trace
from phistar.backends.machine.call_doors import single_of
from phistar.backends.machine.threads import together
from phistar.backends.rolled.surrounding import surrounding
from phistar.backends.traces.calls import Step
from phistar.backends.traces.trace import INPUT, Trace

STATES = 256  # that are taken at once


@dataclass(frozen=True, eq=False)
class Staged:
    """`function(*arrays, out=None)` over leading axes: step after step, each on slots of what is there so far."""

    steps: tuple[tuple[Callable[..., Any], tuple[int, ...], tuple[tuple[int, ...], ...]], ...]
    last: Callable[..., Any]
    taken: tuple[int, ...]
    arguments: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        if out is None and (made := self.single(*arrays)) is not NotImplemented:
            return made
        given = [_vector(x, rows) for x, rows in zip(arrays, self.arguments, strict=True)]
        shapes = {x.shape[:-1] for x in given}
        batch = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
        if len(batch) != 1 or batch[0] <= STATES:
            return self._run(given, batch, out)
        outputs = together(batch, self.shapes) if out is None else out if isinstance(out, tuple) else (out,)
        for start in range(0, batch[0], STATES):
            piece = slice(start, min(start + STATES, batch[0]))
            cut = [x[piece] if x.ndim == 2 and len(x) > 1 else x for x in given]
            self._run(cut, (piece.stop - start,), tuple(y[piece] for y in outputs))
        return outputs[0] if len(outputs) == 1 else outputs

    @cached_property
    def single(self) -> Callable[..., Any]:
        """One state at a time, step after step through their ways in for one; NotImplemented where one has none or the
        arguments do not fit."""
        functions = [*(function for function, _, _ in self.steps), self.last]
        shapes = [*self.shapes, *(shape for _, _, own in self.steps for shape in own)]
        if not all(isinstance(function, np.ufunc) for function in functions) or max(map(len, shapes), default=0) > 2:
            return lambda *arrays: NotImplemented
        *doors, last = (single_of(function) for function in functions)
        steps = [
            (door, taken, len(shapes) == 1 and len(shapes[0]) == 1)
            for door, (_, taken, shapes) in zip(doors, self.steps, strict=True)
        ]
        given, ends = len(self.arguments), self.taken

        def at_one_state(*arrays: Any) -> Any:
            if len(arrays) != given:
                return NotImplemented
            for x in arrays:
                if type(x) is not np.ndarray or x.ndim != 1:
                    return NotImplemented
            slots = [*arrays]
            for door, taken, plain in steps:
                made = door(*[slots[slot] for slot in taken])
                if made is NotImplemented:
                    return made
                if plain:
                    slots.append(made)
                else:
                    slots += [np.reshape(x, -1) for x in (made if isinstance(made, tuple) else (made,))]
            return last(*[slots[slot] for slot in ends])

        return at_one_state

    def _run(self, slots: list[np.ndarray], batch: tuple[int, ...], out: Any) -> Any:
        """Few enough states that what steps hand on stays in the caches."""
        for function, taken, shapes in self.steps:
            made = function(*(slots[slot] for slot in taken))
            for x, shape in zip(made if isinstance(made, tuple) else (made,), shapes, strict=True):
                slots.append(x if len(shape) == 1 else x.reshape(*x.shape[: x.ndim - len(shape)], prod(shape)))
        given = [slots[slot] for slot in self.taken]
        if out is None and all(x.shape[:-1] != batch for x in given):  # not all arguments are used
            out = together(batch, self.shapes)
        made = self.last(*given) if out is None else self.last(*given, out=out)
        return made[0] if isinstance(made, tuple) and len(made) == 1 else made


def _vector(x: Any, rows: int) -> np.ndarray:
    array = np.asarray(x, dtype=float)
    if array.ndim < 1 or array.shape[-1] != rows:
        raise ValueError(f"an array of {rows} entries is needed where one of shape {array.shape} was given")
    return array


def staged_kernel(
    steps: Sequence[Step],
    sizes: Sequence[int],
    title: str,
    outputs: tuple[str, ...],
    units: tuple[tuple[int, int], ...],
) -> Kernel:
    """The kernel of a recording with calls; `units` as a Signature has them, of the recording's arguments."""
    steps = steps[:-1] if _hands_on(steps, len(sizes)) else steps
    around = surrounding(steps, sizes)
    if around is not None and (make := getattr(around[1].work, "surrounded", None)) is not None:
        return make(around[0], title, outputs, units)
    known, made = list(sizes), []
    for step in steps:
        function = step.work.function if isinstance(step.work, Kernel) else step.work
        if isinstance(function, Trace):
            own = tuple((step.slots.index(a), at) for a, at in units if a in step.slots)
            rows = [known[slot] for slot in step.slots]
            names = outputs if step is steps[-1] else tuple(f"argument{i}" for i in range(len(step.shapes)))
            function = compile_trace(function, rows, step.shapes, title, names, own).function
        made.append((function, step.slots, step.shapes))
        known += [prod(shape) for shape in step.shapes]
    last, taken, shapes = made[-1]
    whole = Staged(tuple(made[:-1]), last, taken, tuple(sizes), shapes)
    return Kernel(whole, (), outputs, sum(step.operations for step in steps), shapes, (), tuple(sizes))


def _hands_on(steps: Sequence[Step], arguments: int) -> bool:
    """Whether the last step gives the results of the one before it as they are."""
    *others, before, last = (None, None, *steps)
    if before is None or last is None or not isinstance(last.work, Trace) or last.shapes != before.shapes:
        return False
    first = arguments + sum(len(step.shapes) for step in others if step is not None)
    inputs = [last.work.code[int(at)] for at in last.work.outputs] if not any(last.work.output_is_constant) else []
    entries = [(INPUT, number, None) for number in range(sum(prod(shape) for shape in last.shapes))]
    return last.slots == tuple(range(first, first + len(before.shapes))) and inputs == entries
