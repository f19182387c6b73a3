"""A whole rollout of a long mechanism as one kernel: the loop over time around stages that run link by link.

A step is as in `code/timeloop.py`; here each phase is a list of stages over the links' own memory: `begin` once for a
block of states, then at every step `stage` for each row of the method's weights, and `finish`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phistar.backends.code.state_loop import entry
from phistar.backends.code.timeloop import TimeSignature, time_arrays
from phistar.backends.kernels import Func, Local
from phistar.backends.rolled.link_loops import Array, Block, Sizes, StageFunction, array_data, called_functions, memory

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


def time_functions(
    calls: Sequence[StageFunction], phases: Phases, signature: TimeSignature, sizes: Sizes, controlled: bool = False
) -> list[Func]:
    """`loop` over the stages and what it calls; `finish` is all that come after the first two phases, but for the last
    one where it is a controller, which is run at the start of a step (`controlled`)."""
    code = entry()
    placed = {name: array_data(code, n, 0) for n, name in enumerate(x for x in PLACED if x in signature.names)}
    given = time_arrays(code, signature, placed["c"][1] if signature.controls else 0)
    work, scratch = memory(code, sizes)
    states, last = given.states, given.states - 1
    with code.loop(0, states, sizes.lanes) as first:
        block = Block(code, work, scratch, first, last, first + sizes.lanes // 2 < states, sizes, ())

        def copy(function: str, name: str, at: Local | int = 0) -> None:
            x, (_, entries, places) = given.arrays[name], placed[name.removesuffix("s")]
            base = x.base if isinstance(at, int) else x.base.bytes(at * x.step)
            block.copy(function, Array(base, x.state, entries * 8, x.entry, entries, entries, places))

        for name in (x for x in signature.names if x in ("q", "v", "g")):
            copy("pack", name)
        block.run(range(phases.begin))
        for name in ("qs", "vs"):
            copy("unpack", name)
        with code.loop(0, given.steps) as k:
            copy("pack", "t", k)
            if signature.controls:
                copy("pack", "c", k)
            _step(block, len(calls), phases, controlled)
            for name in ("qs", "vs"):
                copy("unpack", name, k + 1)
    return [*called_functions(calls, sizes), code.function]


def _step(block: Block, count: int, phases: Phases, controlled: bool) -> None:
    """One step."""
    code, sizes, end = block.code, block.sizes, phases.begin + phases.stage
    if controlled:
        count -= 1
        block.run(range(count, count + 1))
    for row in phases.weights:
        for number, weight in enumerate(row):
            place = block.work.at(sizes.lanes * (phases.place + number))
            place.store(code.number(weight, sizes.lanes), sizes.align)
        block.run(range(phases.begin, end))
    block.run(range(end, count))
