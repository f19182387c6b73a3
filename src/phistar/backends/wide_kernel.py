"""Statements about links of any width: run on arrays, or recorded and compiled where they are short."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from phistar.backends.choice import SHORT_ROBOT, TRACED, WRITTEN, Tally, choose, fewest, is_staged, is_wide_written
from phistar.backends.kernel import Kernel, Statements, compile_trace
from phistar.backends.links.link_sizes import link_rows, space_sizes
from phistar.backends.links.wide import wide_links
from phistar.backends.machine.jit import Signature
from phistar.backends.programs.derivations import APART, ARTICULATED, DECOUPLED, FACTORED
from phistar.backends.programs.interpret import poses
from phistar.backends.programs.program import Evaluation
from phistar.backends.rolled_kernel import compile_rolled, rolled_counts, rolled_plan
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import ShortTape, Tape, Trace, finish, is_traced, unless_too_long
from phistar.errors import StatementError
from phistar.model import Model
from phistar.model.decoupled_modes import decoupled_modes
from phistar.sweeps.lower import lower_poses

_log = logging.getLogger("phistar")


def evaluate(wanted: Statements, slot: str, q: np.ndarray, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The value of each statement: vectors (…, rows), operators (…, rows, columns); given are vectors by field name."""
    model = wanted.model
    if is_traced(q, *given.values()):
        return {name: traced(value) for name, value in values_over_links(wanted, q, given).items()}
    key = ("any width", slot, wanted.frames, tuple(given))
    with np.errstate(invalid="ignore", divide="ignore"):  # a NaN spoils its own row
        made = model.kept(key, lambda: _function(wanted, tuple(given)))(q, given)
    if model.embedding is not None and not all(np.isfinite(x).all() for x in made.values()):
        model.embedding.check(q)
    return made


Evaluated = Callable[[np.ndarray, Mapping[str, np.ndarray]], dict[str, np.ndarray]]


def _function(wanted: Statements, order: tuple[str, ...]) -> Evaluated:
    """Evaluator of statements: written out for few links, else link by link."""
    if is_wide_written(wanted.model) or not wanted.model.nv:
        return _compile(wanted, order) if wanted.model.nv else partial(values_over_links, wanted)
    kernel = _rolled_kernel(wanted)
    if kernel is not None:
        return _faster(wanted, order, kernel)
    if len(wanted.nodes) > 1:
        each = [_function(replace(wanted, nodes=(named,)), order) for named in wanted.nodes]
        return partial(_one_by_one, each)
    by_vectors = _column_by_column(wanted)
    if by_vectors is not None:
        return by_vectors
    told = "%s of %s is evaluated link by link on arrays, not compiled: what was asked takes all joints at once."
    _log.warning(told, " and ".join(name for name, _ in wanted.nodes), wanted.model.name)
    return partial(values_over_links, wanted)


def _rolled_kernel(wanted: Statements) -> Kernel | None:
    """The kernel that runs link by link, in the form of the articulated step that has fewest operations."""
    form, found = _fewest_form(wanted)
    kernel = compile_rolled(replace(wanted, form=form))
    tallies = (Tally(operations, 0, each) for each, operations in found.items())
    return kernel and replace(kernel, forms=tuple(sorted(tallies, key=lambda x: (x.operations, x.form != form))))


def _fewest_form(wanted: Statements) -> tuple[str, dict[str, int]]:
    """The form that has fewest operations link by link, and the operations of each."""
    counts = {form: partial(_rolled_operations, replace(wanted, form=form)) for form in _forms(wanted)}
    return fewest(counts, ("any width", wanted.key)) if len(counts) > 1 else (wanted.form, {})


def in_fewest_operations(wanted: Statements) -> Statements:
    """Statements in the form that has fewest operations link by link."""
    return replace(wanted, form=_fewest_form(wanted)[0])


def fewest_operations(wanted: Statements) -> int | None:
    """Operations per state link by link, in the form that has fewest."""
    counts = [_rolled_operations(replace(wanted, form=form)) for form in _forms(wanted)]
    return min((x for x in counts if x is not None), default=None)


def _rolled_operations(wanted: Statements) -> int | None:
    plan = rolled_plan(wanted)
    return None if plan is None else rolled_counts(wanted, plan)[0]


def _forms(wanted: Statements) -> tuple[str, ...]:
    """Forms to choose from, where a statement is free in its form."""
    if wanted.form != ARTICULATED:
        return (wanted.form,)
    if wanted.model.embedding is not None:
        return ARTICULATED, FACTORED, APART
    if max(link_rows(wanted.model, "joints"), default=0) == 1:
        return (ARTICULATED,)
    return (ARTICULATED, FACTORED, *([DECOUPLED] if _has_decoupled_modes(wanted.model) else []))


def _has_decoupled_modes(model: Model) -> bool:
    """Whether some body that bends has coordinates in which few modes move its ends."""
    return any(body.flexible and decoupled_modes(body.flexible) for body in model.bodies)


def _straight_line(wanted: Statements) -> Statements:
    """The form that straight-line code takes: with D in stages from so many rates on, and with P⁺ part by part where
    links are compound."""
    if wanted.form != ARTICULATED:
        return wanted
    if wanted.model.embedding is not None:
        return replace(wanted, form=APART)
    return replace(wanted, form=FACTORED) if is_staged(max(link_rows(wanted.model, "joints"), default=0)) else wanted


def _written_form(wanted: Statements, order: tuple[str, ...]) -> Statements:
    """The form of straight-line code that has fewest instructions, where coordinates of modes offer one more."""
    plain = _straight_line(wanted)
    if plain.form != FACTORED or wanted.form != ARTICULATED or not _has_decoupled_modes(wanted.model):
        return plain
    counts = {form: partial(_written_operations, replace(wanted, form=form), order) for form in (FACTORED, DECOUPLED)}
    return replace(wanted, form=fewest(counts, ("any width, written out", wanted.key, order))[0])


def _written_operations(wanted: Statements, order: tuple[str, ...]) -> int:
    return _trace(wanted, order)[0].operations


def _faster(wanted: Statements, order: tuple[str, ...], rolled: Kernel) -> Kernel:
    """The kernel that runs link by link, or straight-line code where counts say that it is faster."""
    if not SHORT_ROBOT < len(wanted.model.bodies) <= TRACED:
        return rolled
    chosen = choose(WideCounts(wanted, order, rolled))
    return replace(_compile(wanted, order) if chosen.schedule == WRITTEN else rolled, chosen=chosen)


@dataclass(frozen=True, eq=False)
class WideCounts:
    """Operations per state of statements about links of any width, as `choose` asks for them."""

    wanted: Statements
    order: tuple[str, ...]
    rolled: Kernel

    @property
    def model(self) -> Model:
        return self.wanted.model

    @property
    def key(self) -> Any:
        return "any width", self.wanted.key

    def link_by_link(self) -> Tally | None:
        return Tally(self.rolled.operations)

    def pair_by_pair(self) -> Tally | None:
        return None

    def count_written_out(self, most: int | None, hopeless: float) -> Tally | None:
        with unless_too_long():
            return Tally(_trace(self.wanted, self.order, most)[0].operations)
        return None


def _one_by_one(functions: list[Evaluated], q: np.ndarray, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Evaluate statements without shared sweeps."""
    return {name: value for function in functions for name, value in function(q, given).items()}


def _column_by_column(wanted: Statements) -> Evaluated | None:
    """Evaluator of an operator by its action on unit vectors, or None if it has none."""
    program = wanted.program()
    columns = [space for name, space in program.inputs if name in program.columns]
    kernel = _rolled_kernel(replace(wanted, matrix=False)) if len(columns) == 1 and program.matrices else None
    return kernel and partial(_by_unit_vectors, kernel, space_sizes(wanted.model, wanted.frames)[columns[0]])


def _by_unit_vectors(
    kernel: Kernel, size: int, q: np.ndarray, given: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Operators column by column, each unit vector a state."""
    vectors = {name: np.asarray(x)[..., None, :] for name, x in given.items()}
    (operand,) = (name for name in kernel.inputs if name not in vectors)
    made = kernel(q[..., None, :], {**vectors, operand: np.eye(size)})
    return {name: np.swapaxes(x, -1, -2) for name, x in made.items()}


def values_over_links(wanted: Statements, q: np.ndarray, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The value of each statement, link by link on arrays; given are vectors by field name."""
    wanted = _written_form(wanted, tuple(given)) if is_traced(q, *given.values()) else _straight_line(wanted)
    return Evaluation(wanted.program(), wanted.model, wanted.frames, wanted.operators)(q, given)


def _trace(wanted: Statements, order: tuple[str, ...], most: int | None = None) -> tuple[Trace, Signature]:
    """The instructions of one state over (q, vectors in order), at most so many, and the shapes of inputs and
    results."""
    tape = Tape() if most is None else ShortTape(most)
    spaces, sizes = dict(wanted.program().inputs), space_sizes(wanted.model, wanted.frames)
    rows = [wanted.model.nq, *(sizes[spaces[name]] if name in spaces else wanted.model.nv for name in order)]
    arrays = [tape.inputs((n,)) for n in rows]
    made = values_over_links(wanted, arrays[0], dict(zip(order, arrays[1:], strict=True)))
    entries = [x for value in made.values() for x in np.asarray(value).reshape(-1)]
    trace = finish(tape, entries)
    return trace, Signature(tuple(rows), tuple(np.shape(value) for value in made.values()))


def _compile(wanted: Statements, order: tuple[str, ...]) -> Kernel:
    trace, signature = _trace(wanted, order)
    names, rows = tuple(name for name, _ in wanted.nodes), signature.inputs
    kernel = compile_trace(trace, list(rows), list(signature.outputs), " ".join(names), names)
    return Kernel(kernel.function, order, names, kernel.counted, kernel.shapes, (), rows)


def statement_kernel(wanted: Statements) -> Kernel:
    """A statement over links of any width, compiled: (q, operand, vectors…), written out or link by link."""
    if wanted.parameters:
        raise _constants(wanted)
    rolled = None if is_wide_written(wanted.model) else _rolled_kernel(wanted)
    order = inputs_of(wanted)
    return _compile(wanted, order) if rolled is None else _faster(wanted, order, rolled)


def statement_trace(wanted: Statements) -> tuple[Trace, tuple[str, ...], Signature]:
    """The instructions of one state, the names of the inputs after q, and the shapes."""
    if wanted.parameters:
        raise _constants(wanted)
    order = inputs_of(wanted)
    trace, signature = _trace(wanted, order)
    return trace, order, signature


def _constants(wanted: Statements) -> StatementError:
    return StatementError(
        f"{wanted.model.name} has links of any width, whose {' and '.join(wanted.parameters)} are constants; change "
        "the model instead."
    )


def inputs_of(wanted: Statements) -> tuple[str, ...]:
    """The vectors that a statement takes, by their fields."""
    program = wanted.program()
    return tuple(name for name, _ in program.inputs if name != "a_g" and name not in program.columns)


def wide_frame_poses(model: Model, q: np.ndarray, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The pose of each of some frames, (…, 4, 4), of floats or traced numbers."""
    links = wide_links(model, q, frames)
    placed, result = poses(lower_poses(), links), {}
    for frame in frames:
        k = links.link_of(frame)
        turn, shift = links.frame_pose(frame, placed[k] if k >= 0 else None)
        whole = np.zeros((*q.shape[:-1], 4, 4), dtype=np.result_type(turn, shift, q))
        whole[..., :3, :3], whole[..., :3, 3], whole[..., 3, 3] = turn, shift, 1.0
        result[frame] = traced(whole) if is_traced(whole) else whole
    return result
