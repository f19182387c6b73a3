"""Kernels over links of any width that run link by link: each kind of link traced once, whatever their number.

What links hand to each other is taken to be zero until a kind is found that makes it something else, as
`rolled/code.py` does: the least set of other entries that all steps agree with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel, Statements, units_of
from phistar.backends.kernels import Module, llvm_text
from phistar.backends.links.single_out import SingledLink, singled_links
from phistar.backends.machine.compiler import Source, machine_code
from phistar.backends.machine.jit import gufunc, host
from phistar.backends.machine.rows import Signature
from phistar.backends.rolled.code import Laid, stage_calls, totals_last
from phistar.backends.rolled.flat_steps import FlatTracer
from phistar.backends.rolled.link_loops import COLUMNS, loop_functions
from phistar.backends.rolled.link_memory import MAIL, Memory, Rooms, Stage, laid_out, needed
from phistar.backends.rolled.plan import (
    FLAT_COLUMNS,
    OVER_JOINTS,
    Plan,
    accumulator,
    inverted_fields,
    poses_first,
)
from phistar.backends.rolled.steps import Place, Recorder, Step
from phistar.backends.rolled.wide_steps import Shapes, WideKind, WideTracer
from phistar.errors import ModelError
from phistar.model import Model
from phistar.spatial.value import digest
from phistar.sweeps import ir
from phistar.sweeps.ir import OUTWARD, Program


@dataclass(frozen=True, eq=False)
class WideRolled:
    """A program as it runs link by link for a model: its plan, the links, the kinds of these and which each is."""

    plan: Plan
    model: Model
    links: list[SingledLink]
    kinds: list[WideKind]
    numbers: list[int]

    def entries(self, name: str, space: str) -> int:
        """Numbers of an input or result with one column."""
        if space in self.plan.flat_rows:
            return self.plan.flat_rows[space]
        return sum(self.rows(space))

    def rows(self, space: str) -> list[int]:
        """Number of a vector's entries that each link owns."""
        if space == "links":
            return [link.sizes[0] for link in self.links]
        return [link.sizes[1] if link.own or space == "joints" else 0 for link in self.links]


def wide_rolled(wanted: Statements) -> WideRolled | None:
    """Program that runs statements link by link over links of any width, or None where an operator over the joints is
    wanted as a table, or a solve over all joints."""
    model = wanted.model
    if not model.nv or wanted.operators:
        return None
    plan = Plan(poses_first(wanted.program()), len(wanted.frames))
    links = singled_links(model, wanted.frames)
    roots = [link.sizes[0] for link in links if not link.own]
    if not _is_rollable(plan) or (plan.at_root and roots != [6]):
        return None
    kinds, numbers = sorted_by_kind(links)
    return WideRolled(plan, model, links, kinds, numbers)


def _is_rollable(plan: Plan) -> bool:
    program: Program = plan.program
    over = {space for name, space in program.inputs if name in program.columns}
    spaces = {space for _, space in (*program.inputs, *program.outputs)}
    distinct = len(program.results) == len(program.outputs)
    solved = any(isinstance(x, ir.SolveStacked) for x in plan.everything)
    known = spaces <= {*OVER_JOINTS, "links", "task", "base", "root", "scalars"}
    return distinct and known and not solved and over <= FLAT_COLUMNS and plan.width <= 36


def sorted_by_kind(links: list[SingledLink]) -> tuple[list[WideKind], list[int]]:
    """The kinds of links that occur, and which each link is."""
    members: dict[bytes, list[int]] = {}
    for k, link in enumerate(links):
        members.setdefault(link.key, []).append(k)
    order = {key: number for number, key in enumerate(members)}
    kinds = []
    for key, own in members.items():
        table = np.array([links[k].constants for k in own])
        varies = np.any(table != table[0], axis=0)
        kinds.append(WideKind(links[own[0]], varies, digest(key, varies, table[0][~varies])))
    return kinds, [order[link.key] for link in links]


# Steps


def traced_stages(found: WideRolled, flat: FlatTracer) -> list[Stage]:
    """Every sweep as the stages that run it, the sums of what children send cleared first."""
    try:
        with np.errstate(all="raise"):
            return _settled(found, flat, frozenset())
    except (ZeroDivisionError, FloatingPointError):  # a link without mass, whose D is all its children's
        return _settled(found, flat, inverted_fields(found.plan.program))


def _settled(found: WideRolled, flat: FlatTracer, inverted: frozenset[str]) -> list[Stage]:
    other: set[tuple[bytes, Any, int]] = set()
    shapes: Shapes = {}
    while True:
        before = len(other), len(shapes)
        stages = _traced(found, flat, shapes, partial(_is_zero, other, inverted))
        for stage in stages:
            for kind, step in zip(found.kinds, stage.steps, strict=False):
                other |= set(_handed_on(kind, step)) if stage.direction != "flat" else set()
        if before == (len(other), len(shapes)):
            return [_clearing(found, shapes), *stages]


def _is_zero(other: set[tuple[bytes, Any, int]], inverted: frozenset[str], kind: WideKind, place: Place) -> bool:
    memory, name, entry = place
    if memory == "flat" and name == "a_g":
        return entry < 3
    if memory == "parent":
        return name != "q" and name not in inverted and (kind.link.above, name, entry) not in other
    summed = memory == "own" and str(name).startswith("Σ")
    return summed and str(name).lstrip("Σ") not in inverted and (kind.link.build, name, entry) not in other


def _handed_on(kind: WideKind, step: Step) -> list[tuple[bytes, Any, int]]:
    """Nonzero entries that a step leaves for its neighbours."""
    made = zip(step.stores, step.trace.outputs, step.trace.output_is_constant, strict=True)
    result = []
    for (memory, name, entry), value, fixed in made:
        if memory in ("own", MAIL) and not (fixed and value == 0.0):
            build = kind.link.build if memory == "own" else kind.link.above or b""
            result.append((build, name, entry))
    return result


def _traced(found: WideRolled, flat: FlatTracer, shapes: Shapes, zeros: Any) -> list[Stage]:
    tracers = [WideTracer(found.plan, kind, shapes, zeros) for kind in found.kinds]
    stages = []
    for sweep in found.plan.program.sweeps:
        if sweep.direction == "flat":
            stages.append(Stage("flat", [flat.trace(sweep)]))
        else:
            stages.append(Stage(sweep.direction, [tracer.trace(sweep) for tracer in tracers]))
    return stages


def _clearing(found: WideRolled, shapes: Shapes) -> Stage:
    """Zero the children's sums."""
    terms = [x for x in found.plan.everything if isinstance(x, ir.FromChildren | ir.CongruentChildren)]
    names = dict.fromkeys(accumulator(term) for term in terms)
    steps = []
    for kind in found.kinds:
        sizes = {name: int(np.prod(shapes.get((kind.link.build, name), (0,)))) for name in names}
        places = [("own", name, i) for name, size in sizes.items() for i in range(size)]
        steps.append(Recorder({}).finished([(place, 0.0) for place in places]))
    return Stage(OUTWARD, steps)


# The kernel


def compile_wide_rolled(wanted: Statements) -> Kernel | None:
    """Compile statements over links of any width, link by link; None where they do not run so."""
    found = wide_rolled(wanted)
    if found is None:
        return None
    target, plan = host(), found.plan
    lanes, title = target.lanes, " ".join(public for public, _ in wanted.nodes)
    signature, inputs = _signature(found)

    def source() -> Source:
        laid = _laid(found, 2 * lanes)
        made = stage_calls(laid.stages, laid.memory, lanes, target.fma)
        axes = [len(shape) for shape in signature.shapes]
        functions = loop_functions(made.calls, axes, len(signature.inputs), laid.sizes(made.scratch, halves=True))
        text = llvm_text(made.module.with_(Module(tuple(functions))))
        counts = [[step.trace.operations for step in stage.steps] for stage in laid.stages]
        per_kind = [
            [c[k] for c, s in zip(counts, laid.stages, strict=True) if s.direction != "flat"]
            for k in range(len(found.kinds))
        ]
        header = {"memory": laid.memory.data(), "kinds": [sum(x) for x in per_kind]}
        return Source(text, header, quick=True)

    key = (plan, [kind.key for kind in found.kinds], [link.build for link in (k.link for k in found.kinds)], lanes)
    header, code = machine_code("wide rolled", key, target, source)
    data = _tables(found, Rooms.from_data(header["memory"]), 2 * lanes)
    function = gufunc(code, signature, title, f"{title} of {wanted.model.name}, compiled link by link.", data)
    counted = sum(header["kinds"][k] for k in found.numbers)
    outputs = tuple(
        public for field, _ in plan.program.outputs for public, made in plan.program.results if made == field
    )
    return Kernel(function, inputs, outputs, counted, signature.outputs, {}, signature.inputs)


def _laid(found: WideRolled, lanes: int) -> Laid:
    plan, flat = found.plan, FlatTracer(found.plan)
    named = {name for name, _ in plan.program.outputs if name not in plan.outputs}
    stages = needed(traced_stages(found, flat), set(plan.outputs), named)
    memory = Memory(lanes, plan.width)
    laid_out(stages, len(found.kinds), totals_last(plan, flat.shapes), memory)
    return Laid(plan, stages, memory, flat)


def _signature(found: WideRolled) -> tuple[Signature, tuple[str, ...]]:
    plan, program = found.plan, found.plan.program
    given = [(name, space) for name, space in program.inputs if name != "a_g" and name not in program.columns]
    matrices = {program.result_names[public] for public in program.matrices}
    shapes = []
    for name, space in program.outputs:
        rows = () if space == "scalars" else (found.entries(name, space),)
        shapes.append((*rows, plan.columns(name)) if name in matrices else rows)
    rows = (found.model.nq, *(found.entries(name, space) for name, space in given))
    return Signature(rows, tuple(shapes), units_of(found.model)), tuple(name for name, _ in given)


def _tables(found: WideRolled, memory: Rooms, lanes: int) -> list[Any]:
    """The data of a model for the kernel of its program."""
    arrays, columns = _arrays(found, memory)
    initial = _initial(found, memory)
    return link_tables(found.model, found.links, found.kinds, found.numbers, memory, arrays, columns, initial, lanes)


Places = Callable[[np.ndarray, int], Any]
"""Where an array's entries are, given where links' own numbers begin, and where what nobody reads goes."""


def link_tables(
    model: Model,
    links: list[SingledLink],
    kinds: list[WideKind],
    numbers: list[int],
    memory: Rooms,
    arrays: Sequence[Places],
    columns: Sequence[int],
    initial: tuple[list[int], list[float]],
    lanes: int,
) -> list[Any]:
    """In the order of `loop.TABLES`, then the places of the entries of q and of the arrays; `columns` of all."""
    n, sizes = len(links), np.array([len(own) for own in memory.own])[numbers]
    own = memory.flat_size + np.concatenate([[0], np.cumsum(sizes)])
    waste = int(own[-1])
    if (waste + 1) * lanes >= 1 << 32:
        raise ModelError(f"{model.name} has {n} links, more than one call can keep in 32 GB of memory.")
    upward = np.array([carrier if carrier >= 0 else k for k, carrier in enumerate(_carriers(model))])
    constants, starts = _constants(links, kinds, numbers)
    rows = dict.fromkeys(COLUMNS, np.zeros(n, dtype=np.int64))
    rows |= {"kind": np.array(numbers), "constant": starts}
    rows |= {"own": lanes * own[:-1], "parent": lanes * own[:-1][upward]}
    q = np.full(model.nq, waste)
    for k, link in enumerate(links):
        known = memory.own[numbers[k]]
        q[list(link.coordinates)] = [own[k] + known.get(("q", i), waste - own[k]) for i in range(len(link.coordinates))]
    placed = [q, *(np.asarray(places(own, waste)) for places in arrays)]
    counts = [n, waste + 1, memory.flat_size, len(initial[0]), *(len(x) for x in placed), *columns]

    def at(entries: Any) -> np.ndarray:
        return (lanes * np.array(entries, dtype=np.int64)).astype(np.uint32)

    return [
        np.array(counts, dtype=np.int64),
        np.stack([rows[name] for name in COLUMNS], axis=-1).astype(np.uint32),
        constants,
        at([]),
        np.zeros((0, 12)),
        at([]),
        at(initial[0]),
        np.array(initial[1], dtype=float),
        *(at(x) for x in placed),
    ]


def _carriers(model: Model) -> tuple[int, ...]:
    return model.parents if model.embedding is None else tuple(group.parent for group in model.embedding.groups)


def _constants(links: list[SingledLink], kinds: list[WideKind], numbers: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The constants in which links of a kind differ, link after link, and where each link's begin."""
    rows = [link.constants[kinds[kind].varies] for link, kind in zip(links, numbers, strict=True)]
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return np.concatenate([np.zeros(0), *rows, np.zeros(1)]), ends[:-1]


def _arrays(found: WideRolled, memory: Rooms) -> tuple[list[Places], list[int]]:
    """The place of each entry of the inputs and of the outputs, and the columns of q and of each."""
    plan, program = found.plan, found.plan.program
    arrays: list[Places] = []
    columns = [found.model.nq]
    matrices = {program.result_names[public] for public in program.matrices}
    outputs = dict(program.outputs)
    given = [(name, space) for name, space in program.inputs if name != "a_g" and name not in program.columns]
    for name, space in (*given, *program.outputs):
        size = found.entries(name, space) * plan.columns(name)
        if space in plan.flat_rows:
            arrays.append(partial(_flat_places, memory.flat[name], size))
        else:
            counts = [rows * plan.columns(name) for rows in found.rows(space)]
            arrays.append(partial(_link_places, name, counts, found.numbers, memory))
        columns.append(plan.columns(name) if name in outputs and name in matrices else size)
    return arrays, columns


def _flat_places(start: int, size: int, own: np.ndarray, waste: int) -> range:
    return range(start, start + size)


def _link_places(
    name: str, counts: list[int], numbers: list[int], memory: Rooms, own: np.ndarray, waste: int
) -> list[int]:
    result = []
    for k, count in enumerate(counts):
        known = memory.own[numbers[k]]
        result += [int(own[k]) + known[name, i] if (name, i) in known else waste for i in range(count)]
    return result


def _initial(found: WideRolled, memory: Rooms) -> tuple[list[int], list[float]]:
    """Gravity, and the identities that operators are applied to."""
    places: list[int] = []
    numbers: list[float] = []
    for name, space in found.plan.program.inputs:
        if name == "a_g":
            places += range(memory.flat[name], memory.flat[name] + 6)
            numbers += [0.0, 0.0, 0.0, *(-found.model.gravity)]
        elif name in found.plan.program.columns:
            size = found.plan.flat_rows[space]
            places += [memory.flat[name] + i * (size + 1) for i in range(size)]
            numbers += [1.0] * size
    return places, numbers
