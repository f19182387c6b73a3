"""Kernels for long chains and big trees: loops over the links, one traced step per sweep and kind of link.

The code knows only the kinds of joints that occur and how they are placed; how many links there are, how they hang
together and what they weigh is data (`tables.py`). So it compiles in the same time for ten links and for ten
thousand, and its memory is linear in the links.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from phistar.backends.code.llvm import Body, declarations
from phistar.backends.links.link_frames import LinkFrames
from phistar.backends.rolled import flat_steps
from phistar.backends.rolled.columns import finish_call, finish_text
from phistar.backends.rolled.flat_steps import FlatTracer, read_off
from phistar.backends.rolled.loop import Calls, Sizes, loop_text
from phistar.backends.rolled.memory import FLAT, FRAME, Memory, Stage, StepPlaces, laid_out, needed, used_pointers
from phistar.backends.rolled.plan import Plan, total
from phistar.backends.rolled.steps import Kind, Step, StepTracer
from phistar.backends.traces.order import few_alive
from phistar.model import Model
from phistar.spatial import Pose
from phistar.spatial.value import digest

_Z = (0.0, 0.0, 1.0)
HELD = {1: 14, 2: 8}  # values held at once, by how many of 16 registers each fills; wide ones come with twice as many
WRITING = 4.0  # as `registers.py` has it: most of what a step reads are inputs, which cost one load more
COLUMNS = "columns"  # the name of stages that are run for each column
SMALL = 200  # instructions: steps up to here run on two vectors at once, which hides how long each takes


@dataclass(frozen=True, eq=False)
class Rolled:
    """The text of a rolled kernel, where it keeps its numbers, and how many operations a link costs in it: once, and
    again for each column."""

    text: str
    memory: Memory
    operations_per_link: int
    by_column: int


def kinds_of(model: Model, frames: LinkFrames) -> tuple[list[Kind], list[int]]:
    """The kinds of links that occur, and which each link is."""
    found: dict[bytes, int] = {}
    kinds: list[Kind] = []
    seen: dict[tuple[int, str], int] = {}
    numbers = []
    for body, role in zip(model.bodies, frames.roles, strict=True):
        joint = body.joint.kind
        quick = (id(joint), role)
        if quick not in seen:
            turned = replace(joint, axis=_Z) if hasattr(joint, "axis") else joint
            key = digest(_shape_key(turned), role.encode())
            if key not in found:
                found[key] = len(kinds)
                kinds.append(Kind(_one_body(body, turned), role, key))
            seen[quick] = found[key]
        numbers.append(seen[quick])
    return kinds, numbers


def _shape_key(kind: Any) -> bytes:
    """What the code depends on: the kind and its geometry, not its pitch, inertia, limits or friction."""
    names = ("axis", "axis1", "axis2", "normal")
    return digest(type(kind).__name__, [(name, getattr(kind, name)) for name in names if hasattr(kind, name)])


def _one_body(body: Any, kind: Any) -> Model:
    joint = replace(body.joint, kind=kind, body=0, q_slice=slice(0, kind.nq), v_slice=slice(0, kind.nv))
    return Model("one", (replace(body, parent=-1, joint=joint, placement=Pose()),), ())


def rolled_text(plan: Plan, kinds: list[Kind], axes: list[int], inputs: int, lanes: int, fma: bool) -> Rolled:
    """The module for these kinds of links; `loop` is the gufunc's inner loop over arrays with these core axes.

    A block of states is two vectors of `lanes`.
    """
    tracer = FlatTracer(plan)
    stages = traced_stages(plan, kinds, tracer)
    flat = {name for name, _ in plan.program.outputs if name not in plan.outputs}
    stages = needed(stages, set(plan.outputs), flat)
    wide = set(plan.wide) | {read_off(name) for name in plan.wide}
    memory = Memory(2 * lanes, plan.width, wide=frozenset(wide))
    laid_out(stages, len(kinds), _totals_last(plan, tracer.shapes), memory)
    made = stage_calls(stages, memory, lanes, fma)
    slot = max(len(memory.slot), 1)
    sizes = Sizes(memory.lanes, made.scratch, slot, plan.frames, plan.width, _totals(plan, memory))
    if not plan.operand:
        text = loop_text(made.calls, axes, inputs, sizes)
    else:
        outputs = range(inputs, len(axes))
        once = sum(stage.name != COLUMNS for stage in stages)
        wide = {inputs + i for i, (name, _) in enumerate(plan.program.outputs) if name in plan.by_column}
        text = "\n".join(
            [
                loop_text(made.calls, axes, inputs, sizes, finish_call(outputs), once),
                finish_text(outputs, wide, list(range(once, len(stages))), sizes),
            ]
        )
    first, each = ([stage for stage in stages if (stage.name == COLUMNS) == again] for again in (False, True))
    counts = operations_per_link(first), operations_per_link(each)
    return Rolled("\n".join([*made.functions, text]), memory, *counts)


@dataclass(frozen=True, eq=False)
class StageCalls:
    """The functions of all stages, what calls them, and the vectors of scratch that they need."""

    functions: list[str]
    calls: list[Calls]
    scratch: int


def stage_calls(stages: list[Stage], memory: Memory, lanes: int, fma: bool) -> StageCalls:
    """Every stage's steps as code: for a vector of `lanes`, small ones also for two at once."""
    functions, calls, scratch = [declarations(width) for width in (lanes, memory.lanes)], [], 1
    for number, stage in enumerate(stages):
        pointers = {"flat": FLAT, "frames": FRAME}.get(stage.direction) or used_pointers(stage)
        small = max(len(step.trace.code) for step in stage.steps) <= SMALL
        made: dict[int, list[tuple[str, ...]]] = {lanes: [], memory.lanes: []}
        for kind, step in enumerate(stage.steps):
            for width in (lanes, memory.lanes) if small else (lanes,):
                places = StepPlaces(step, memory, kind, pointers, width)
                name, held = f"stage{number}kind{kind}lanes{width}part", HELD[width // lanes] * (1 + (lanes > 4))
                body = Body(name, few_alive(step.trace, fma), places, width, fma, held, WRITING)
                functions += body.functions()
                arguments = ", ".join([*(f"ptr %{name}" for name in pointers), "ptr %scratch"])
                made[width].append(tuple(body.calls(arguments)))
                scratch = max(scratch, body.slot_count)
        calls.append(Calls(stage.direction, tuple(made[lanes]), tuple(made[memory.lanes]), pointers))
    return StageCalls(functions, calls, scratch)


def operations_per_link(stages: list[Stage]) -> int:
    """Of the last kind of link."""
    links = [stage for stage in stages if stage.direction not in ("flat", "frames")]
    return sum(stage.steps[-1].trace.operations for stage in links)


def traced_stages(plan: Plan, kinds: list[Kind], tracer: FlatTracer) -> list[Stage]:
    """Every sweep as the stages that run it."""
    links = [StepTracer(plan, kind) for kind in kinds]
    stages: list[Stage] = []
    for number, sweep in enumerate(plan.program.sweeps):
        if sweep.direction == "flat":
            stages += _at_frames([flat_steps.at_frames(plan, sweep)])
            stages.append(Stage("flat", [tracer.trace(sweep)]))
        else:
            stages += _at_frames([flat_steps.cleared(plan, sweep), flat_steps.brought(plan, sweep)])
            name = COLUMNS if plan.operand and number >= plan.once else ""
            stages.append(Stage(sweep.direction, [link.trace(sweep) for link in links], name))
    return stages


def _at_frames(steps: list[Step | None]) -> list[Stage]:
    return [Stage("frames", [step]) for step in steps if step is not None]


def _totals_last(plan: Plan, shapes: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    last = {total(term) for term in plan.totals}
    return {name: shapes[name] for name in [*(n for n in shapes if n not in last), *(n for n in shapes if n in last)]}


def _totals(plan: Plan, memory: Memory) -> tuple[int, int] | None:
    starts = [memory.flat[total(term)] for term in plan.totals]
    return (min(starts), memory.flat_size - min(starts)) if starts else None
