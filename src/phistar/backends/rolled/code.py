"""Kernels for long chains and big trees: loops over the links, one traced step per sweep and kind of link.

The code knows only the kinds of joints that occur and how they are placed; how many links there are, how they hang
together and what they weigh is data (`robot_tables.py`). So it compiles in the same time for ten links and for ten
thousand, and its memory is linear in the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from phistar.backends.code.sincos import turning_module
from phistar.backends.code.straight_line import Body
from phistar.backends.kernels import Module, llvm_text
from phistar.backends.rolled import flat_steps
from phistar.backends.rolled.flat_steps import FlatTracer
from phistar.backends.rolled.link_loops import Calls, Finish, Sizes, TraceStage, loop_functions
from phistar.backends.rolled.link_memory import (
    FLAT,
    FRAME,
    Memory,
    Stage,
    StepEntries,
    drop_unneeded,
    number_entries,
    used_pointers,
)
from phistar.backends.rolled.operator_columns import finish
from phistar.backends.rolled.plan import Plan, inverted_fields, read_off, total
from phistar.backends.rolled.recorder import Place, Step
from phistar.backends.rolled.steps import LinkKind, StepTracer
from phistar.backends.traces.order import few_alive
from phistar.sweeps import ir

HELD = {1: 14, 2: 8}  # values held at once, by how many of 16 registers each fills; wide ones come with twice as many
WRITING = 4.0  # as `registers.py` has it: most of what a step reads are inputs, which cost one load more
COLUMNS = "columns"  # the name of stages that are run for each column
SMALL = 200  # instructions: steps up to here run on two vectors at once, which hides how long each takes


@dataclass(frozen=True, eq=False)
class Rolled:
    """The text of a rolled kernel, where it keeps its numbers, and how many operations a link of each kind costs in it:
    once, and again for each column."""

    text: str
    memory: Memory
    operations: list[int]
    by_column: list[int]


@dataclass(frozen=True, eq=False)
class Laid:
    """The stages of a plan and where they keep their numbers."""

    plan: Plan
    stages: list[Stage]
    memory: Memory
    tracer: FlatTracer

    def sizes(self, scratch: int, halves: bool) -> Sizes:
        plan, memory, slot = self.plan, self.memory, max(len(self.memory.slot), 1)
        return Sizes(memory.lanes, scratch, slot, plan.frames, plan.width, _totals(plan, memory), halves)

    @property
    def once(self) -> int:
        """Number of stages that run once, not per column."""
        return sum(stage.name != COLUMNS for stage in self.stages)

    def finish(self, outputs: range) -> Finish | None:
        """Loop over columns of the other stages."""
        plan, inputs = self.plan, outputs.start
        if not plan.operand:
            return None
        wide = {inputs + i for i, (name, _) in enumerate(plan.program.outputs) if name in plan.by_column}
        columns, sums = range(self.once, len(self.stages)), _sums(plan, self.memory, self.tracer)
        return partial(finish, outputs=outputs, wide=wide, stages=columns, across=plan.across, sums=sums)


def lay_out(plan: Plan, kinds: Sequence[LinkKind], lanes: int) -> Laid:
    """Trace and lay out a plan for some kinds of links, `lanes` states a block."""
    tracer = FlatTracer(plan)
    flat = {name for name, _ in plan.program.outputs if name not in plan.outputs}
    stages = drop_unneeded(traced_stages(plan, kinds, tracer), set(plan.outputs), flat)
    wide = set(plan.wide) | {read_off(name) for name in plan.wide}
    memory = Memory(lanes, plan.width, wide=frozenset(wide))
    number_entries(stages, len(kinds), totals_last(plan, tracer.shapes), memory)
    return Laid(plan, stages, memory, tracer)


def rolled_text(
    plan: Plan,
    kinds: Sequence[LinkKind],
    axes: list[int],
    inputs: int,
    lanes: int,
    fma: bool,
    around: tuple[list[TraceStage], list[TraceStage]] = ([], []),
) -> Rolled:
    """The module for these kinds of links; `loop` is the gufunc's inner loop over arrays with these core axes.

    A block of states is two vectors of `lanes`. `around`: what comes before and behind the stages of a plan without
    columns.
    """
    found = lay_out(plan, kinds, 2 * lanes)
    made, finishing = stage_calls(found.stages, found.memory, lanes, fma), found.finish(range(inputs, len(axes)))
    before, behind = around
    own = [stage.body for stage in (*before, *behind)]
    sizes = found.sizes(max([made.scratch, *(body.slot_count for body in own)]), halves=True)
    calls = [*before, *made.calls, *behind]
    functions = loop_functions(calls, axes, inputs, sizes, finishing, found.once + len(own))
    text = llvm_text(made.module.with_(*(body.module() for body in own), Module(tuple(functions))))
    first, each = ([stage for stage in found.stages if (stage.name == COLUMNS) == again] for again in (False, True))
    return Rolled(text, found.memory, *(operations_by_kind(stages, len(kinds)) for stages in (first, each)))


@dataclass(frozen=True, eq=False)
class StageCalls:
    """Functions of all stages, their calls, and the scratch vectors that they need."""

    module: Module
    calls: list[Calls]
    scratch: int


def stage_calls(stages: list[Stage], memory: Memory, lanes: int, fma: bool) -> StageCalls:
    """Every stage's steps as code: for a vector of `lanes`, small ones also for two at once."""
    bodies, calls, scratch = [], [], 1
    for number, stage in enumerate(stages):
        pointers = {"flat": FLAT, "frames": FRAME}.get(stage.direction) or used_pointers(stage)
        small = max(len(step.trace.code) for step in stage.steps) <= SMALL
        made: dict[int, list[tuple[str, ...]]] = {lanes: [], memory.lanes: []}
        for kind, step in enumerate(stage.steps):
            for width in (lanes, memory.lanes) if small else (lanes,):
                places = StepEntries(memory, kind).places(step, pointers, width)
                name, held = f"stage{number}kind{kind}lanes{width}part", HELD[width // lanes] * (1 + (lanes > 4))
                body = Body(name, few_alive(step.trace, fma), places, width, fma, held, WRITING, sums_of_angles=True)
                bodies.append(body.module())
                made[width].append(body.names)
                scratch = max(scratch, body.slot_count)
        calls.append(Calls(stage.direction, tuple(made[lanes]), tuple(made[memory.lanes]), pointers))
    return StageCalls(turning_module(lanes, memory.lanes).with_(*bodies), calls, scratch)


def operations_by_kind(stages: list[Stage], kinds: int) -> list[int]:
    """Operations at a link of each kind."""
    links = [stage for stage in stages if stage.direction not in ("flat", "frames")]
    return [sum(stage.steps[kind].trace.operations for stage in links) for kind in range(kinds)]


def operations_per_link(stages: list[Stage]) -> int:
    """Operations at the last kind of link."""
    links = [stage for stage in stages if stage.direction not in ("flat", "frames")]
    return sum(stage.steps[-1].trace.operations for stage in links)


def traced_stages(plan: Plan, kinds: Sequence[LinkKind], tracer: FlatTracer) -> list[Stage]:
    """Every sweep as the stages that run it.

    What links hand to each other is taken to be zero until a link is found that makes it something else, so that zeros
    that hold at every link, such as the angular part of gravity, are known in each: the least set of other entries that
    the steps agree with. Along the links that is sound by induction, from the base or from the tips, where it holds.
    What is inverted is never taken to be zero where links are told apart by their joints alone; else only where one
    without mass is found, whose D is all its children's.
    """
    inverted = inverted_fields(plan.program)
    if not kinds[0].keeps:
        return _settle(plan, kinds, tracer, inverted)
    try:
        with np.errstate(all="raise"):
            return _settle(plan, kinds, tracer, frozenset())
    except (ZeroDivisionError, FloatingPointError):
        return _settle(plan, kinds, tracer, inverted)


def _settle(plan: Plan, kinds: Sequence[LinkKind], tracer: FlatTracer, inverted: frozenset[str]) -> list[Stage]:
    other = set[tuple[bytes, Place]]()
    while True:
        stages = _trace(plan, kinds, tracer, partial(_is_zero, other, inverted))
        links = [stage for stage in stages if stage.direction in (ir.INWARD, ir.OUTWARD)]
        steps = [(kind, step) for stage in links for kind, step in zip(kinds, stage.steps, strict=True)]
        found = {place for kind, step in steps for place in _places_handed_on(kind, step)}
        if found <= other:
            return stages
        other |= found


_HANDED_ON = {"passing": "passed", "siblings": "children", "own": "parent"}  # how the next link calls what is written
_LIFT = tuple(("flat", "a_g", i) for i in range(3))  # E*a_g stands for gravity, which turns nothing


def _is_zero(other: set[tuple[bytes, Place]], inverted: frozenset[str], kind: LinkKind, place: Place) -> bool:
    memory, name, _ = place
    handed_on = memory in _HANDED_ON.values() and name != "q" and str(name).lstrip("Σ") not in inverted
    build = kind.build if memory == "children" else kind.above
    return place in _LIFT or (handed_on and (build, place) not in other)


def _places_handed_on(kind: LinkKind, step: Step) -> list[tuple[bytes, Place]]:
    """Nonzero places that a step leaves for its neighbours, as they name them, with the build of the link they are
    at."""
    made = zip(step.stores, step.trace.outputs, step.trace.output_is_constant, strict=True)
    left = [x for x, value, fixed in made if x[0] in _HANDED_ON and not (fixed and value == 0.0)]
    return [(kind.above if x[0] == "siblings" else kind.build, (_HANDED_ON[x[0]], *x[1:])) for x in left]


def _trace(plan: Plan, kinds: Sequence[LinkKind], tracer: FlatTracer, zeros: Any) -> list[Stage]:
    links = [StepTracer(plan, kind, zeros) for kind in kinds]
    apart = kinds[0].frames is None  # frames have stages of their own
    stages: list[Stage] = []
    for number, sweep in enumerate(plan.program.sweeps):
        name = COLUMNS if plan.operand and number >= plan.once else ""
        if sweep.direction == "flat":
            stages += _at_frames([flat_steps.at_frames(plan, sweep)], name) if apart else []
            stages.append(Stage("flat", [tracer.trace(sweep)], name))
        else:
            before = [flat_steps.clearing_step(plan, sweep), flat_steps.bringing_step(plan, sweep)] if apart else []
            stages += _at_frames(before, name)
            stages.append(Stage(sweep.direction, [link.trace(sweep) for link in links], name))
    return stages


def _at_frames(steps: list[Step | None], name: str) -> list[Stage]:
    return [Stage("frames", [step], name) for step in steps if step is not None]


def totals_last(plan: Plan, shapes: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Flat fields in order: sums last, and of these the ones made for every column."""
    summed = {total(term): ir.fields_anywhere(term) <= plan.by_column for term in plan.totals}
    return dict(sorted(shapes.items(), key=lambda item: (item[0] in summed, summed.get(item[0], False))))


def _sums(plan: Plan, memory: Memory, tracer: FlatTracer) -> tuple[int, int]:
    """Places of the sums made for every column: the first, and how many."""
    again = [total(term) for term in plan.totals if ir.fields_anywhere(term) <= plan.by_column]
    first = min((memory.flat[name] for name in again), default=memory.flat_size)
    return first, memory.flat_size - first


def _totals(plan: Plan, memory: Memory) -> tuple[int, int] | None:
    starts = [memory.flat[total(term)] for term in plan.totals]
    return (min(starts), memory.flat_size - min(starts)) if starts else None
