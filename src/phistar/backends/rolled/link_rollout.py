"""A whole rollout of a long mechanism as one kernel: the loop over time around stages that run link by link.

A step is as in `code/timeloop.py`; here each phase is a list of stages over the links' own memory: `begin` once for a
block of states, then at every step `stage` for each row of the method's weights, and `finish`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from phistar.backends.code.memory_places import MemoryPlaces, Spot
from phistar.backends.code.stepping_loop import entry, time_arrays
from phistar.backends.code.straight_line import Body
from phistar.backends.code.timeloop import Phase, TimeSignature
from phistar.backends.kernels import F64, I1, Code, Func, Local, Value
from phistar.backends.rolled.link_loops import Array, Block, Calls, Sizes, array_data, called_functions, memory

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
        loads, stores = (
            [Spot("work", 16 * self.lanes * self.vectors[place]) for place in places]
            for places in (self.phase.loads, self.phase.stores)
        )
        places = MemoryPlaces((Value("work", F64.to),), loads, stores, self.lanes)
        return Body("controlpart", self.phase.trace, places, self.lanes, self.fma)

    def function(self, sizes: Sizes) -> Func:
        """`control(work, scratch, both)`: half a block of states, or one half after the other."""
        code = Code("control", work=F64.to, scratch=F64.to, both=I1)

        def called(work: Local) -> None:
            for part in self.body.names:
                code.call(part, work, code["scratch"])

        called(code["work"])
        code.branch(code["both"], lambda: called(code["work"].at(sizes.lanes // 2)))
        return code.function


def time_functions(
    calls: list[Calls], phases: Phases, signature: TimeSignature, sizes: Sizes, control: Control | None = None
) -> list[Func]:
    """`loop` over the stages and what it calls; `finish` is all that come after the first two phases, `control` what is
    computed at the start of a step."""
    code = entry()
    placed = {name: array_data(code, n, 0) for n, name in enumerate(x for x in PLACED if x in signature.names)}
    given = time_arrays(code, signature, placed["c"][1] if signature.controls else 0)
    work, scratch = memory(code, sizes)
    states, last = given.states, given.states - 1
    with code.loop(0, states, sizes.lanes) as first:
        block = Block(code, work, scratch, first, last, first + sizes.lanes // 2 < states, sizes, ())

        def copied(function: str, name: str, at: Local | int = 0) -> None:
            x, (_, entries, places) = given.arrays[name], placed[name.removesuffix("s")]
            base = x.base if isinstance(at, int) else x.base.bytes(at * x.step)
            block.copied(function, Array(base, x.state, entries * 8, x.entry, entries, entries, places))

        for name in (x for x in signature.names if x in ("q", "v", "g")):
            copied("pack", name)
        block.run(range(phases.begin))
        for name in ("qs", "vs"):
            copied("unpack", name)
        with code.loop(0, given.steps) as k:
            copied("pack", "t", k)
            if signature.controls:
                copied("pack", "c", k)
            _step(block, len(calls), phases, control is not None)
            for name in ("qs", "vs"):
                copied("unpack", name, k + 1)
    own = [control.function(sizes)] if control else []
    return [*called_functions(calls, sizes), *own, code.function]


def _step(block: Block, count: int, phases: Phases, controlled: bool) -> None:
    """One step."""
    code, sizes, end = block.code, block.sizes, phases.begin + phases.stage
    if controlled:
        code.call("control", block.work, block.scratch, block.both)
    for row in phases.weights:
        for number, weight in enumerate(row):
            place = block.work.at(sizes.lanes * (phases.place + number))
            place.store(code.number(weight, sizes.lanes), sizes.align)
        block.run(range(phases.begin, end))
    block.run(range(end, count))
