"""A statement's kernel for a robot, by the schedule that was chosen for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from phistar.backends.choice import (
    FORMS_DIFFER,
    FORMS_WRITTEN,
    PAIRS,
    ROLLED,
    WRITTEN,
    Choice,
    Tally,
    budget,
    candidates,
    choose,
)
from phistar.backends.kernel import Kernel, Statements, compile_statements, units_of
from phistar.backends.machine.jit import Signature
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
    choice = choose_schedule(wanted, schedule)
    return replace(_MAKERS[choice.schedule](_take(wanted, choice)), chosen=choice)


def choose_schedule(wanted: Statements, schedule: str | None = None) -> Choice:
    """The schedule of some statements, with what it was compared with."""
    return choose(StatementCounts(wanted), schedule)


def is_written_inside(choice: Choice) -> bool:
    """Whether statements are written out in a recording that asks for them, by their choice: where straight-line code
    is as fast, for a kernel that is called hands its results on through memory."""
    known = {each.schedule: each.nanoseconds for each in choice.candidates if each.seconds <= budget()}
    return choice.schedule == WRITTEN or known.get(WRITTEN, inf) <= known.get(choice.schedule, 0.0)


def _take(wanted: Statements, choice: Choice) -> Statements:
    """The statements as the choice takes them; straight-line code finds its form again on disk."""
    return wanted if choice.schedule == WRITTEN else replace(wanted, taken=choice.forms_taken)


def fewest_operations(wanted: Statements) -> int:
    """The operations per state of the schedule that has fewest."""
    return min(x.operations for x in choose_schedule(wanted).candidates or candidates(StatementCounts(wanted)))


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

    @cached_property
    def _rolled_tallies(self) -> list[Tally]:
        return sorted(rolled_tallies(self.wanted), key=lambda each: each.operations)

    def link_by_link(self) -> Tally | None:
        return self._rolled_tallies[0] if self._rolled_tallies else None

    def pair_by_pair(self) -> Tally | None:
        found = _pairs(self.wanted)
        return None if found is None else Tally(found.operations())

    def count_written_out(self, most: int | None, hopeless: float) -> Tally | None:
        if most is None:
            return self.wanted.tallies[0]
        rolled = {(each.form, each.taken): each.operations for each in self._rolled_tallies}
        far = FORMS_DIFFER * min(rolled.values(), default=0)
        counted = [(rolled.get((each.form, each.taken), 0), each) for each in self.wanted.forms()]
        near = sorted((x for x in counted if x[0] <= far), key=lambda x: x[0] or far)
        unknown = sum(x[0] == 0 for x in near)
        return self.wanted.tally_within(most, hopeless, [each for _, each in near[: FORMS_WRITTEN + unknown]])


def rolled_tallies(wanted: Statements) -> list[Tally]:
    """Operations link by link of each form that can run so."""
    plans = [(each, rolled_plan(each)) for each in wanted.forms() if each.form == wanted.form]
    return [Tally(rolled_counts(x, plan)[0], 0, x.form, x.taken) for x, plan in plans if plan is not None]


def tallies_of(wanted: Statements) -> tuple[Tally, ...]:
    """The operations of each form by the schedule that is chosen, fewest first."""
    choice = choose_schedule(wanted)
    if choice.schedule == WRITTEN:
        return wanted.tallies
    found = rolled_tallies(wanted) if choice.schedule == ROLLED else [Tally(fewest_operations(wanted), 0, wanted.form)]
    return tuple(sorted(found, key=lambda each: each.operations))


def form_by_laws(wanted: Statements) -> tuple[int, ...]:
    """The form with the fewest operations under the chosen schedule, of those that laws offer."""
    choice = choose_schedule(wanted)
    if choice.schedule != WRITTEN:
        return choice.forms_taken
    return next(each.taken for each in wanted.tallies if each.form == wanted.form)


def program_run(wanted: Statements, kernel: Kernel) -> Program | PairProgram:
    """The sweeps that a kernel of these statements runs, as its schedule takes them."""
    match kernel.chosen.schedule:
        case schedule if schedule == ROLLED:
            plan = rolled_plan(kernel.compiled_form(wanted))
            assert plan is not None
            return plan.program
        case schedule if schedule == PAIRS:
            found = _pairs(wanted)
            assert found is not None
            return found.program
        case _:
            return cheap_biases(kernel.compiled_form(wanted).program())


def operations_of(wanted: Statements) -> Count:
    """The operations per state of what `executor` would run, without compiling what is written out."""
    if wanted.model.nv and choose_schedule(wanted).schedule == WRITTEN:
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
    function, operations = found.compile(signature)
    outputs = tuple(public for public, _ in wanted.nodes)
    return Kernel(function, inputs, outputs, operations, signature.outputs, (), signature.inputs)


_MAKERS = {WRITTEN: compile_statements, ROLLED: _link_by_link, PAIRS: _pair_by_pair}
