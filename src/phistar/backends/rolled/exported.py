"""A rolled kernel for one robot as functions of the kernel language that take plain arrays of one state: what is
exported as C. The robot's data are tables in the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phistar.backends.code.plain_trace import PlainTrace
from phistar.backends.kernels import F64, I1, I64, TABLES, U32, Code, Func, Statement, Table, Value
from phistar.backends.rolled.code import lay_out
from phistar.backends.rolled.link_loops import TABLES as NAMES
from phistar.backends.rolled.link_loops import (
    Array,
    Block,
    Calls,
    array_data,
    block_steps,
    called_functions,
    count,
    table,
)
from phistar.backends.rolled.link_memory import (
    FIXED,
    FLAT,
    FRAME,
    Memory,
    Rooms,
    Stage,
    StepEntries,
    is_added,
    used_pointers,
)
from phistar.backends.rolled.plan import Plan
from phistar.backends.rolled.recorder import Place, Step
from phistar.backends.rolled.robot_tables import tables
from phistar.backends.rolled.rolled_links import RolledLinks
from phistar.backends.traces.trace import INPUT

ENTRY = "kernel"


@dataclass(frozen=True, eq=False)
class Exported:
    """Functions, the last of which takes work, the inputs and the outputs; tables; doubles of work."""

    functions: tuple[Func, ...]
    tables: tuple[Table, ...]
    work: int


def export_functions(plan: Plan, links: RolledLinks, frames: tuple[str, ...], inputs: int, outputs: int) -> Exported:
    """The functions of a plan for a robot's links."""
    found = lay_out(plan, links.kinds, 1)
    steps, calls = _steps(found.stages, found.memory)
    data = tables(links, plan, Rooms.from_data(found.memory.data()), frames, 1)
    sizes, names = found.sizes(1, halves=False), [*NAMES, *(f"places{n}" for n in range(len(data) - len(NAMES)))]
    code = Code(
        ENTRY, work=F64.to, **{f"array{n}": F64.read if n < inputs else F64.to for n in range(inputs + outputs)}
    )
    code.given["data"] = code.table("data", TABLES)
    work = code["work"]
    code.clear(work, count(code, "cleared") * 8)
    code.call("fill", work, table(code, "places"), table(code, "numbers"), count(code, "initial"))
    arrays = []
    for n in range(inputs + outputs):
        columns, entries, places = array_data(code, n, inputs + outputs)
        arrays.append(Array(code[f"array{n}"], 0, columns * 8, 8, columns, entries, places))
    never = code.like(0, I1)
    block = Block(code, work, work, code.whole(0), code.whole(0), never, sizes, tuple(arrays))
    block_steps(block, inputs, found.once, found.finish(range(inputs, inputs + outputs)))
    functions = [*steps, *called_functions(calls, sizes), code.function]
    kept = [_table(name, x) for name, x in zip(names, data, strict=True)]
    return Exported(tuple(functions), (*kept, Table("data", TABLES, tuple(names))), int(data[0][1]))


def _table(name: str, array: Any) -> Table:
    kinds = {"f": F64, "i": I64, "u": U32}
    return Table(name, kinds[array.dtype.kind], tuple(array.reshape(-1).tolist()))


def _steps(stages: Sequence[Stage], memory: Memory) -> tuple[list[Func], list[Calls]]:
    """Every step as a function of the pointers to a link's memory, and scratch, which it does not need."""
    made: list[Func] = []
    calls: list[Calls] = []
    for number, stage in enumerate(stages):
        pointers = {"flat": FLAT, "frames": FRAME}.get(stage.direction) or used_pointers(stage)
        given = {name: Value(name, F64.read if name in FIXED else F64.to) for name in (*pointers, "scratch")}
        names = []
        for kind, step in enumerate(stage.steps):
            body = _body(step, StepEntries(memory, kind), given)
            made.append(Func(f"stage{number}kind{kind}", tuple(given.values()), body))
            names.append((made[-1].name,))
        calls.append(Calls(stage.direction, tuple(names), (), pointers))
    return made, calls


def _body(step: Step, places: StepEntries, given: Mapping[str, Value]) -> tuple[Statement, ...]:
    """All is read before anything is stored."""

    def spot(place: Place) -> tuple[Value, int]:
        pointer, entry = (place[0], place[2]) if place[0] in FIXED else places.entry(place)
        return given[pointer], entry

    code = step.trace.code
    plain = PlainTrace(step.trace, lambda index: spot(step.loads[code[index][1]]))
    for index, (op, _, _) in enumerate(code):
        if op < INPUT:
            plain.make(index)
    values = [plain.output(position) for position in range(len(step.stores))]
    for value, place, known in zip(values, step.stores, step.trace.output_is_constant, strict=True):
        put = plain.add if is_added(place, known) else plain.store
        put(value, *spot(place))
    return tuple(plain.lines)
