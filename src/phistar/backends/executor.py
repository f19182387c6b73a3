"""A statement's kernel for a robot, by the schedule that was chosen for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from phistar.backends.choice import PAIRS, ROLLED, WRITTEN, choose
from phistar.backends.kernel import Kernel, Statements, compile_statements, units_of
from phistar.backends.links.aligned import without_roundoff
from phistar.backends.links.common_frame import single_axes
from phistar.backends.machine.rows import Signature
from phistar.backends.pairwise.kernel import pair_kernel
from phistar.backends.pairwise.programs import PROGRAMS, pair_tables
from phistar.backends.programs.biases import cheap_biases
from phistar.backends.programs.program import BLOCKS, Evaluation
from phistar.backends.rolled_kernel import compile_rolled, rolled_plan
from phistar.sweeps.cost import Count
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import GIVEN


def executor(wanted: Statements, schedule: str | None = None) -> Any:
    """Machine code by the schedule that is chosen, or asked for; a robot without joints has nothing to compile."""
    if not wanted.model.nv:
        return Evaluation(wanted.program(), wanted.model, wanted.frames, wanted.operators, wanted.matrix == BLOCKS)
    choice = choose(wanted, schedule)
    return replace(_MAKERS[choice.schedule](wanted), chosen=choice)


def program_run(wanted: Statements, kernel: Kernel) -> Program:
    """The sweeps that a kernel of these statements runs, as its schedule takes them: pair by pair, those before the
    loops over pairs."""
    match kernel.chosen.schedule:
        case schedule if schedule == ROLLED:
            plan = rolled_plan(wanted)
            assert plan is not None
            return plan.program
        case schedule if schedule == PAIRS:
            tables = pair_tables(wanted.nodes, wanted.symbols)
            assert tables is not None
            return PROGRAMS[tables.name]()[0]
        case _:
            return cheap_biases(replace(wanted, form=kernel.form).program())


def operations_of(wanted: Statements) -> Count:
    """The operations per state of what `executor` would run, without compiling what is written out."""
    if wanted.model.nv and choose(wanted).schedule == WRITTEN:
        counts = wanted.cheapest()[0].counts()
        adds = counts.pop("add", 0) + counts.pop("sub", 0)
        return Count(adds, counts.pop("mul", 0), counts.pop("div", 0), sum(counts.values()))
    made = executor(wanted)
    return Count(0, 0, 0, made.operations if isinstance(made, Kernel) else 0)


def _link_by_link(wanted: Statements) -> Kernel:
    kernel = compile_rolled(wanted)
    assert kernel is not None
    return kernel


def _pair_by_pair(wanted: Statements) -> Kernel:
    """Operators between joints that are multiples of what the loops over pairs of joints make."""
    tables, model = pair_tables(wanted.nodes, wanted.symbols), wanted.model
    assert tables is not None
    rows = (model.nq, *(model.nv for _ in tables.inputs))
    signature = Signature(rows, ((model.nv, model.nv),) * len(wanted.nodes), units_of(model))
    placed = single_axes(without_roundoff(model))
    function, operations = pair_kernel(tables.name, placed, signature, factors=tables.factors)
    outputs = tuple(public for public, _ in wanted.nodes)
    inputs = tuple(GIVEN[name] for name in tables.inputs)
    return Kernel(function, inputs, outputs, operations, signature.outputs, {}, signature.inputs)


_MAKERS = {WRITTEN: compile_statements, ROLLED: _link_by_link, PAIRS: _pair_by_pair}
