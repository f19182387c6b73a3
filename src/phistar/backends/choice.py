"""Choice of a kernel's schedule: the one place that knows what schedules cost, and the only thresholds.

A schedule is how the sweeps of statements are laid out for a robot. Candidates are counted on their traces, never
timed; the fastest of those that compile within the budget is taken, and `kernel.choice` prints the comparison. Kernel
builders supply their counts (`Counts`) and ask here; nothing here knows how a kernel is made.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from phistar.backends.machine import cache
from phistar.backends.machine.jit import host
from phistar.errors import StatementError
from phistar.model import Model

WRITTEN, ROLLED, PAIRS = "written out", "link by link", "pair by pair"
# Of mechanisms with loops: motion and compliance at the loops' frames link by link, the closures in straight-line code;
# each closure eliminated at the link where its ways meet; a sweep a closure, then a table of all closures.
AT_FRAMES, ALONG_TREE, ROW_BY_ROW = "at the frames", "along the tree", "row by row"
SCHEDULES = {
    WRITTEN: "all links one after the other in straight-line code, constants folded",
    ROLLED: "a loop over the links, each kind traced once; operators with many columns one column after the other",
    PAIRS: "sweeps in one common frame, then a loop over pairs of joints",
}
NANOSECONDS = {WRITTEN: 0.028, ROLLED: 0.027, PAIRS: 0.031, AT_FRAMES: 0.1}
NANOSECONDS |= {ALONG_TREE: 0.03, ROW_BY_ROW: 0.5}
"""Time per operation and state, in batches on one core with four lanes; measured on chains of 16 to 100."""
ELIMINATED = 0.02  # ns of an operation in the loops that finish tables which are written out
CROWDED = 60_000  # operations of straight-line code that take twice as long: they leave the caches
GATHERED = 20.0  # ns to bring a joint rate's numbers to the loops over pairs
SECONDS = {WRITTEN: (0.05, 5.5e-5), ROLLED: (0.4, 0.0), PAIRS: (0.4, 0.0)}
SECONDS |= {AT_FRAMES: (1.2, 0.0), ALONG_TREE: (0.3, 0.0), ROW_BY_ROW: (0.8, 0.0)}
"""To compile: at least, and for each operation."""
LEAST_SWEPT = 8  # operations of a link and a vector that is swept over it, in plane mechanisms; else some fifty
SHORT_ROBOT = 12  # bodies up to which nothing but straight-line code is considered
TRACED = 40  # bodies up to which straight-line code is always traced to be compared
FULL = 60_000  # operations link by link beyond which, for more bodies, it is not
DEAD = 2.0  # instructions recorded for each that is kept
CLOSED_DEAD = 1.2  # the same of mechanisms with loops, of which statements are recorded without dead ones
NEAR = 0.9  # what robots of a size usually take is left only for what needs less than this part of its time
FORMS_WRITTEN = 3  # forms with the fewest operations link by link, of which none but these are counted written out
FORMS_DIFFER = 1.15  # forms that link by link have so many times the operations of another are not counted written out
DROPPED = 0.02  # part of the instructions of a statement that arranging them drops at most; 0.017 of chains of 40
TRIPLES = 4500  # of rates on one way from the base, the last carried by the others: some fifty instructions each
MANY_PAIRS = 600  # pairs of rates, one carrying the other: beyond, loops over them make tables in less time
LARGEST_COMPOSITE = 10  # joint rates; beyond, composite bodies never cost less than articulated ones for one vector
LARGEST_COMPOSITE_MATRIX = 40  # nor, beyond these, for an operator
LARGEST_FLAT = 72  # rows of a task space whose equations are written out
LARGEST_COLUMNS = 36  # columns that travel along the links abreast; more of them one after the other
TREE_RATES = 48  # of a plant's tree whose statements are one kernel; beyond, they are evaluated one by one
SURROUNDED = 200  # joint rates up to which functions that work on a statement's table column by column are one kernel
PASSIVE = 1000  # joint rates up to which the joints' passive forces are written out
SOLVED = 12  # joint rates; beyond, ℳ⁻¹X of recorded tables is a loop
STEPPED = 5  # operations of a step in time of compound links, closed again after it, for each of forward dynamics
STAGED = 3  # rates of a link from which products with D⁻¹ take fewer instructions by stages than by an inverse
PIVOTED = 8  # closures up to which straight-line code takes the largest pivot at each step: 2m³ instructions
COMPOUND = 16  # bodies of a mechanism with compound links that is written out
BENT = 6000  # pairs of monomials of all links that bend, a hundred for a node: some ten thousand instructions
MOST_COMBINED = 12  # forms of several statements together that are all counted
ONE_FUNCTION = 500  # instructions of a trace that are one function
PART, SHORT_PART = 420, 150  # instructions of one of several functions, and of one of many
SLOW_TO_COMPILE = 12_000  # instructions: so many that compiling takes seconds
DECODED = 700  # instructions of a trace: of more, the cache of decoded ones may hold too few, as they happen to lie
FAR_CODE = 4000  # instructions: code that is read from further away each time it runs
TABLE_LANES = 4  # states at once where there are hundreds of results: wider vectors spill more than they gain
SHORT_ROWS = 20  # columns of blocks in memory up to which short vectors waste less than long ones save
BUDGET = 3.0  # seconds
VARIABLE = "PHISTAR_COMPILE_SECONDS"


@dataclass(frozen=True)
class Tally:
    """Operations per state of some statements: in straight-line code or sweeps, in the loops after these, and in which
    of equal forms, which is part of what is counted."""

    operations: int
    in_loops: int = 0
    form: str = ""
    taken: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The name of the form: what kind it is, and which of those that laws offer where it is not the first."""
        others = [i + 1 for i in self.taken]
        return self.form if not any(self.taken) else f"{self.form}, form {' '.join(map(str, others))}"


@dataclass(frozen=True)
class Candidate:
    """A schedule with its operations per state, its run time (ns per state), its compile time (s), and which forms of
    its statements it takes."""

    schedule: str
    operations: int
    nanoseconds: float
    seconds: float
    taken: tuple[int, ...] = ()

    def __str__(self) -> str:
        run = f"{self.operations:>9} operations {self.nanoseconds:>9.0f} ns a state"
        return f"{self.schedule:<14} {run} {self.seconds:>6.1f} s to compile"


@dataclass(frozen=True)
class Choice:
    """The schedule taken, what it was compared with, and why; `str()` is a table."""

    schedule: str
    candidates: tuple[Candidate, ...]
    reason: str

    @property
    def forms_taken(self) -> tuple[int, ...]:
        """Forms of the statements with the fewest operations under the schedule taken."""
        return next((x.taken for x in self.candidates if x.schedule == self.schedule), ())

    def __str__(self) -> str:
        return "\n".join([f"{self.schedule}: {self.reason}", *(f"  {x}" for x in self.candidates)])


def budget() -> float:
    """Compile-time budget of a kernel (s), where there is a choice; set by PHISTAR_COMPILE_SECONDS."""
    given = os.environ.get(VARIABLE, "")
    try:
        return float(given) if given else BUDGET
    except ValueError:
        raise StatementError(f"{VARIABLE} is {given!r}; it must be a number of seconds, e.g. 10.") from None


class Counts(Protocol):
    """Operations per state of statements of a robot by each schedule, in the form that has fewest; None where they
    have no such form."""

    @property
    def model(self) -> Model: ...

    @property
    def key(self) -> Any:
        """Cache key of the counts."""

    def link_by_link(self) -> Tally | None: ...

    def pair_by_pair(self) -> Tally | None: ...

    def count_written_out(self, most: int | None, hopeless: float) -> Tally | None:
        """None beyond `most` instructions. Where one form has more than `hopeless` operations, no other is counted."""


def choose(counts: Counts, schedule: str | None = None) -> Choice:
    """Choose the schedule of statements for their robot; a requested one is taken if they have it."""
    if schedule is not None and schedule not in SCHEDULES:
        known = ", ".join(repr(name) for name in SCHEDULES)
        raise StatementError(f"There is no schedule {schedule!r}; it is one of {known}.")
    if schedule is None and len(counts.model.bodies) <= SHORT_ROBOT:
        return Choice(WRITTEN, (), f"the robot has at most {SHORT_ROBOT} bodies")
    seconds = budget()
    key = counts.key, seconds, schedule
    return _remember(key, lambda: _choose(candidates(counts, schedule), seconds, schedule, counts.model))


def _from_data(data: Mapping[str, Any]) -> Choice:
    found = tuple(Candidate(**{**x, "taken": tuple(x["taken"])}) for x in data["candidates"])
    return Choice(data["schedule"], found, data["reason"])


def candidates(counts: Counts, schedule: str | None = None) -> list[Candidate]:
    """Available schedules of some statements, counted."""
    found, model = [], counts.model
    for each, count in ((ROLLED, counts.link_by_link), (PAIRS, counts.pair_by_pair)):
        tally = count() if schedule in (None, each) else None
        if tally is not None:
            found.append(_candidate(each, tally, model.nv))
    most = min((x.operations for x in found), default=0)
    comparable = len(model.bodies) <= TRACED or most <= FULL or carried_rates(model) <= MANY_PAIRS
    if schedule == WRITTEN or not found or (schedule is None and comparable):
        limit = None if schedule == WRITTEN or not found else instructions_within()
        written = counts.count_written_out(limit, float("inf") if limit is None else _hopeless(found, _usual(model)))
        found += [] if written is None else [_candidate(WRITTEN, written, model.nv)]
    return found


def _usual(model: Model) -> str:
    """The schedule that robots of a size usually take."""
    return WRITTEN if len(model.bodies) <= TRACED else ROLLED


def _hopeless(found: list[Candidate], usual: str) -> float:
    """Operations of one form in straight-line code beyond which none of its forms is taken in the place of a candidate
    that compiles within the budget: r(1 + r / CROWDED) operations take the time of it and what forms differ by."""
    fastest = min((x.nanoseconds for x in found if x.seconds <= budget()), default=float("inf"))
    worth = 1.0 / NEAR if usual == WRITTEN else NEAR
    most = FORMS_DIFFER * worth * fastest / NANOSECONDS[WRITTEN]
    return CROWDED * (math.sqrt(0.25 + most / CROWDED) - 0.5)


def _candidate(schedule: str, tally: Tally, rates: int) -> Candidate:
    (least, each), operations, in_loops = SECONDS[schedule], tally.operations, tally.in_loops
    crowded = 1.0 + operations / CROWDED if schedule == WRITTEN else 1.0
    more = GATHERED * rates if schedule == PAIRS else ELIMINATED * in_loops
    nanoseconds = NANOSECONDS[schedule] * operations * crowded + more
    return Candidate(schedule, operations + in_loops, nanoseconds, least + each * operations, tally.taken)


def _choose(found: list[Candidate], seconds: float, schedule: str | None, model: Model) -> Choice:
    if schedule is not None:
        known = [x for x in found if x.schedule == schedule]
        if not known:
            raise StatementError(f"These statements of {model.name} have no form {schedule!r}; leave the choice open.")
        return Choice(schedule, tuple(known), "asked for")
    return _fastest(found, seconds, _usual(model))


def _fastest(found: list[Candidate], seconds: float, usual: str = "") -> Choice:
    """Fastest candidate within the budget, or the usual one where about as fast."""
    quick = [x for x in found if x.seconds <= seconds]
    if not quick:
        best = min(found, key=lambda x: x.seconds)
        return Choice(best.schedule, tuple(found), f"the quickest to compile; none within {seconds:g} s")
    best = min(quick, key=lambda x: x.nanoseconds)
    taken = next((x for x in quick if x.schedule == usual and NEAR * x.nanoseconds <= best.nanoseconds), best)
    return Choice(taken.schedule, tuple(found), f"the fastest of those within {seconds:g} s of compiling")


def longest_function(instructions: int) -> int:
    """Instructions of one function of straight-line code that has so many in all: compile time grows faster than a
    function's length."""
    if instructions <= ONE_FUNCTION:
        return ONE_FUNCTION
    return PART if instructions <= SLOW_TO_COMPILE else SHORT_PART


def instructions_within(dead: float = DEAD) -> int:
    """Limit on straight-line instructions, dead ones included, that are recorded to be counted."""
    return int(dead * budget() / SECONDS[WRITTEN][1])


def may_be_written(model: Model, vectors: int) -> bool:
    """Whether sweeps of this many vectors over the links may take few enough instructions to be recorded."""
    return LEAST_SWEPT * len(model.bodies) * vectors <= instructions_within(CLOSED_DEAD)


def is_written(name: str, model: Model, vectors: int, operations: Callable[[int], int | None]) -> bool:
    """Whether a recorded function is compiled as straight-line code: `operations` counts it, or gives None where it has
    more instructions than allowed. The answer is cached on disk."""

    def decide() -> Choice:
        count = operations(instructions_within(CLOSED_DEAD)) if may_be_written(model, vectors) else None
        compiled = [] if count is None else [_candidate(WRITTEN, Tally(count), model.nv)]
        short = [x for x in compiled if x.seconds <= budget()]
        return Choice(WRITTEN if short else "", tuple(compiled), "compiles within the budget or not")

    return model.nv > 0 and _remember(("written", name, model.key, budget()), decide).schedule == WRITTEN


def choose_closing(model: Model, counts: Mapping[str, Callable[[int], tuple[int, int] | None]]) -> Choice:
    """Choose how closures are eliminated: `counts` gives each method's operations for a mechanism, and how many of them
    are straight-line code, or None where there are more than it is told: it would not be the fastest. `AT_FRAMES`
    is counted only where no single kernel compiles within the budget: between kernels called one after the other an
    operation takes three times as long, and there never is but a third as many; to count its many forms takes seconds.
    """

    def decide() -> Choice:
        made = list[Candidate]()
        for schedule, count in counts.items():
            if schedule == AT_FRAMES and any(x.seconds <= budget() for x in made):
                continue
            counted = count(_most_closing(schedule, made))
            if counted is not None:
                plain = _candidate(schedule, Tally(counted[0]), model.nv)
                more = SECONDS[WRITTEN][1] * counted[1] if schedule != WRITTEN else 0.0
                made.append(replace(plain, seconds=plain.seconds + more))
        return _fastest(made, budget())

    return _remember(("closing", model.key, budget()), decide)


def _most_closing(schedule: str, made: list[Candidate]) -> int:
    """Instructions of a method that may be the fastest of those known, dead ones included."""
    fastest = min((x.nanoseconds for x in made if x.seconds <= budget()), default=float("inf"))
    return int(min(instructions_within(CLOSED_DEAD), CLOSED_DEAD * fastest / NANOSECONDS[schedule]))


def _remember(key: tuple[Any, ...], make: Callable[[], Choice]) -> Choice:
    """Load a choice from disk, or make and store it."""
    name = cache.key("choice", key, host())
    found = cache.load(name, cache.PROGRAM)
    if found is not None:
        return _from_data(found[0])
    made = make()
    cache.store(name, asdict(made), b"", cache.PROGRAM)
    return made


def carried_rates(model: Model) -> int:
    """Number of pairs of joint rates, one carrying the other."""
    return sum(own * (on_way - own) for own, on_way in _rates_on_ways(model, [joint.nv for joint in model.joints]))


def _rates_on_ways(model: Model, own: list[int]) -> list[tuple[int, int]]:
    """Return for each body its own rates, and those of all on the way from the base to it."""
    rates = list[int]()
    for parent, count in zip(model.parents, own, strict=True):
        rates.append(count + (rates[parent] if parent >= 0 else 0))
    return list(zip(own, rates, strict=True))


def is_tensor_written(model: Model) -> bool:
    """Whether second derivatives are straight-line code: a few instructions for three joints on one way."""
    rates = [len(body.rates) for body in model.bodies]
    total = sum(own * on_way**2 for own, on_way in _rates_on_ways(model, rates))
    return compilable(model) and total <= TRIPLES


def choose_tables(counts: Counts) -> Choice:
    """Choose the schedule of recorded tables over pairs of joints: loops over pairs where more than `MANY_PAIRS`
    rates carry others, as in a chain of 36 links but in no humanoid; else straight-line code for up to `TRACED` bodies,
    and for more the faster one."""
    if carried_rates(counts.model) > MANY_PAIRS:
        return Choice(PAIRS, (), f"more than {MANY_PAIRS} rates carry others")
    if len(counts.model.bodies) <= TRACED:
        return Choice(
            WRITTEN, (), f"the robot has at most {TRACED} bodies, and at most {MANY_PAIRS} rates carry others"
        )
    return choose(counts)


def compilable(model: Model) -> bool:
    """Whether functions that are recorded without a count are written out: few links, and joints that move."""
    return 0 < len(model.bodies) <= TRACED and model.nv > 0


def is_single_written(model: Model, operations: int) -> bool:
    """Whether a function that takes so many operations as loops is written out for floats of 32 bits, of which there
    are no loops: where it compiles within the budget, or where it is not long."""
    return compilable(model) or SECONDS[WRITTEN][1] * operations <= budget()


def is_wide_written(model: Model) -> bool:
    """Whether statements about links of any width are written out; else they run link by link."""
    if model.embedding is not None and len(model.bodies) > COMPOUND:
        return False
    bent = [body.flexible for body in model.bodies if body.flexible is not None]
    terms = [len(body.monomials) ** 2 + 100 * int(sum(~body.is_point)) for body in bent]
    return sum(terms) + 100 * len(model.bodies) <= BENT


def is_rollout_written(operations: int) -> bool:
    """Whether the step of a rollout of compound links is straight-line code: it has `STEPPED` times the operations of
    their forward dynamics, and compiles within the budget."""
    return SECONDS[WRITTEN][1] * STEPPED * operations <= budget()


def is_staged(rates: int) -> bool:
    """Whether straight-line code solves with D of a link of this many rates in stages, instead of inverting it."""
    return rates >= STAGED


def fewest(counts: Mapping[str, Callable[[], int | None]], key: Any) -> tuple[str, dict[str, int]]:
    """The form of statements that has fewest operations, the first of equals, and the operations of each."""

    def decide() -> Choice:
        known = {form: count() for form, count in counts.items()}
        made = tuple(Candidate(form, n, 0.0, 0.0) for form, n in known.items() if n is not None)
        best = min(made, key=lambda x: x.operations, default=Candidate(next(iter(counts)), 0, 0.0, 0.0))
        return Choice(best.schedule, made, "the fewest operations")

    chosen = _remember(("form", key), decide)
    return chosen.schedule, {x.schedule: x.operations for x in chosen.candidates}


def may_be_fewest(operations: int, fewest: float) -> bool:
    """Whether a recorded form may, arranged, have fewer operations than the fewest of those that are."""
    return (1.0 - DROPPED) * operations <= fewest


def is_composite(model: Model, matrix: bool) -> bool:
    """Whether composite bodies and LDL* may cost less than articulated bodies: few joint rates (R87, Fig. 4)."""
    return model.nv <= (LARGEST_COMPOSITE_MATRIX if matrix else LARGEST_COMPOSITE)


def is_abreast(columns: int, frames: int, solves: bool) -> bool:
    """Whether this many columns are swept along the links at once; `solves`: with a solve between the sweeps."""
    most = LARGEST_FLAT if solves else LARGEST_COLUMNS
    return columns <= most and (not solves or 6 * frames <= LARGEST_FLAT)


def block_lanes(columns: int) -> int:
    """Numbers of a vector along the rows of blocks with so many columns: half of the longest where rows are short."""
    most = host().lanes
    return max(most // 2, 1) if columns <= SHORT_ROWS and most > 4 else most


def is_tree_kernel(model: Model) -> bool:
    """Whether a plant's tree is one kernel of straight-line code."""
    return compilable(model) and model.nv <= TREE_RATES
