"""A statement's kernel for a robot, by the schedule that was chosen for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from phistar.backends.choice import PAIRS, ROLLED, WRITTEN, Choice, candidates, choose
from phistar.backends.kernel import Kernel, Statements, compile_statements, units_of
from phistar.backends.machine.rows import Signature
from phistar.backends.pairwise.pair_kernel import PairKernel, pair_kernel
from phistar.backends.programs.biases import cheap_biases
from phistar.backends.programs.program import BLOCKS, Evaluation
from phistar.backends.rolled_kernel import compile_rolled, rolled_counts, rolled_plan
from phistar.model import Model
from phistar.sweeps.cost import Count
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import GIVEN
from phistar.sweeps.regions import PairProgram

LIFT = GIVEN["a_g"]


def executor(wanted: Statements, schedule: str | None = None) -> Any:
    """Machine code by the schedule that is chosen, or asked for; a robot without joints has nothing to compile."""
    if not wanted.model.nv:
        return Evaluation(wanted.program(), wanted.model, wanted.frames, wanted.operators, wanted.matrix == BLOCKS)
    choice = chosen(wanted, schedule)
    return replace(_MAKERS[choice.schedule](wanted), chosen=choice)


def chosen(wanted: Statements, schedule: str | None = None) -> Choice:
    """The schedule of some statements, with what it was compared with."""
    return choose(StatementCounts(wanted), schedule)


def fewest_operations(wanted: Statements) -> int:
    """The operations per state of the schedule that has fewest."""
    return min(x.operations for x in chosen(wanted).candidates or candidates(StatementCounts(wanted)))


@dataclass(frozen=True, eq=False)
class StatementCounts:
    """Operations per state of statements by each schedule, as `choose` asks for them."""

    wanted: Statements

    @property
    def model(self) -> Model:
        return self.wanted.model

    @property
    def key(self) -> Any:
        return self.wanted.key

    def link_by_link(self) -> int | None:
        plan = rolled_plan(self.wanted)
        return None if plan is None else rolled_counts(self.wanted, plan)[0]

    def pair_by_pair(self) -> int | None:
        found = _pairs(self.wanted)
        return None if found is None else found.operations()

    def written_out(self, most: int | None) -> tuple[int, int] | None:
        there = most is None or self.wanted.traces_within(most)
        return (self.wanted.cheapest()[0].operations, 0) if there else None


def program_run(wanted: Statements, kernel: Kernel) -> Program | PairProgram:
    """The sweeps that a kernel of these statements runs, as its schedule takes them."""
    match kernel.chosen.schedule:
        case schedule if schedule == ROLLED:
            plan = rolled_plan(wanted)
            assert plan is not None
            return plan.program
        case schedule if schedule == PAIRS:
            found = _pairs(wanted)
            assert found is not None
            return found.program
        case _:
            return cheap_biases(replace(wanted, form=kernel.form).program())


def operations_of(wanted: Statements) -> Count:
    """The operations per state of what `executor` would run, without compiling what is written out."""
    if wanted.model.nv and chosen(wanted).schedule == WRITTEN:
        counts = wanted.cheapest()[0].counts()
        adds = counts.pop("add", 0) + counts.pop("sub", 0)
        return Count(adds, counts.pop("mul", 0), counts.pop("div", 0), sum(counts.values()))
    made = executor(wanted)
    return Count(0, 0, 0, made.operations if isinstance(made, Kernel) else 0)


def _link_by_link(wanted: Statements) -> Kernel:
    kernel = compile_rolled(wanted)
    assert kernel is not None
    return kernel


def _pairs(wanted: Statements) -> PairKernel | None:
    return pair_kernel(wanted.nodes, wanted.symbols, wanted.model) if wanted.is_plain_table else None


def _pair_by_pair(wanted: Statements) -> Kernel:
    """Operators between joints by loops over pairs of links and columns."""
    found, model = _pairs(wanted), wanted.model
    assert found is not None
    inputs = tuple(name for name, _ in found.program.sweeps.inputs if name != LIFT)
    signature = Signature(
        (model.nq, *(model.nv for _ in inputs)), ((model.nv, model.nv),) * len(wanted.nodes), units_of(model)
    )
    function, operations = found.compiled(signature)
    outputs = tuple(public for public, _ in wanted.nodes)
    return Kernel(function, inputs, outputs, operations, signature.outputs, {}, signature.inputs)


_MAKERS = {WRITTEN: compile_statements, ROLLED: _link_by_link, PAIRS: _pair_by_pair}
