"""`ps.compile`: any statement, or function written with phistar's, as machine code for a robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from phistar.array_types import Array
from phistar.backends.executor import executor, program_run
from phistar.backends.kernel import Kernel, Statements, compile_trace, units_of
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.machine.threads import STATES_PER_THREAD, Dtype, spread
from phistar.backends.operator_inputs import OperatorInput
from phistar.backends.programs.derivations import COMPOSITE
from phistar.backends.programs.program import is_wide
from phistar.backends.staged_kernel import Staged, staged_kernel
from phistar.backends.wide_kernel import statement_kernel
from phistar.errors import ShapeError, StatementError
from phistar.expression import (
    CompiledDerivative,
    Expression,
    OperatorDerivative,
    RobotStatement,
    operators_or_inputs,
)
from phistar.identities.derivation import Derivation
from phistar.model import Model
from phistar.operators.interned import walks_its_node
from phistar.operators.nodes import adjoint
from phistar.operators.spaces import SCALARS
from phistar.recording import Recording, bind, check_model, checked_parameters, record
from phistar.robots_kernel import CompiledRobots, compiled_robots
from phistar.single_precision import ACCURACY, is_single, record_short, single_kernel
from phistar.spatial.vectors import real_numbers
from phistar.sweeps.algorithm import Algorithm
from phistar.sweeps.lower import GIVEN
from phistar.sweeps.search import cheapest

_ASCII = {field: name for name, field in GIVEN.items()}


@dataclass(frozen=True, eq=False)
class CompiledStatement:
    """function(q, x, *vectors, *operators, *parameters): broadcasts over leading axes as NumPy does, takes `out=`.
    Operators of one's own that were not bound to numbers are given as matrices (…, rows, columns)."""

    expression: Expression
    kernel: Kernel
    statements: Statements  # what was compiled: of an operator with few rows, its adjoint

    @property
    def flipped(self) -> bool:
        """Whether the kernel makes the adjoint."""
        return self.statements.flipped

    @property
    def matrix(self) -> bool:
        """Whether the operator itself is given."""
        return bool(self.statements.matrix)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The arguments in order: q, the operand x (if any), vectors, parameters."""
        return ("q", *(_ASCII.get(name, name) for name in self.kernel.inputs))

    @property
    def operations(self) -> int:
        """Arithmetic instructions per state."""
        return self.kernel.operations

    @property
    def choice(self) -> str:
        """The statement that was compiled, of several equal ones, and the operation counts that decided."""
        return self.kernel.choice

    def derivation(self) -> Derivation:
        """Derivation of the compiled form."""
        e, made = self.expression, self.kernel.compiled_form(self.statements)
        which = made.taken[0] if made.taken and not self.flipped else 0
        return cheapest(e.node, e.symbols, e.setting, self.matrix, made.form != COMPOSITE, which)

    def algorithm(self) -> Algorithm:
        """The recursion that runs: the program that was compiled, as its schedule takes it; of an operator with few
        rows, that of its adjoint."""
        return Algorithm(program_run(self.statements, self.kernel))

    def __call__(self, *arrays: Any, out: Any = None) -> Array:
        if self._operators and len(arrays) == len(self.kernel.rows):
            arrays = tuple(
                self._operators[i].entries_of(x) if i in self._operators else x for i, x in enumerate(arrays)
            )
        made = self._single(*arrays) if out is None else NotImplemented
        return self._slow_call(arrays, out) if made is NotImplemented else made

    @cached_property
    def _operators(self) -> dict[int, OperatorInput]:
        """The operators among the arguments, by their places."""
        there = {x.name: x for x in self.statements.operators.values() if isinstance(x, OperatorInput)}
        return {i: there[name] for i, name in enumerate(self.inputs) if name in there}

    @cached_property
    def _single(self) -> Any:
        """One state at a time, or NotImplemented."""
        plain = isinstance(self.kernel.function, np.ufunc) and self.flipped == self.kernel.flipped
        return self.kernel.single if plain else lambda *arrays: NotImplemented

    def _slow_call(self, arrays: tuple[Any, ...], out: Any) -> np.ndarray:
        if len(arrays) != len(self.kernel.rows):
            raise self._misfit(arrays, f"It takes {len(self.kernel.rows)} arrays, not {len(arrays)}.")
        (room,) = out if isinstance(out, tuple) and len(out) == 1 else (out,)
        if room is not None and not isinstance(room, np.ndarray):
            raise self._misfit(arrays, "What `out` names must be an array.")
        model = self.expression.model
        if model is not None and model.quaternions:
            model.checked_q(arrays[0])
        try:
            turned = room if room is None or not self.flipped else np.swapaxes(room, -1, -2)
            result = spread(self.kernel.function, arrays, list(self.kernel.shapes), turned)
        except (ValueError, TypeError, IndexError) as error:
            raise self._misfit(arrays, f"{error}.") from None
        if room is not None:
            return room
        return np.swapaxes(result, -1, -2) if self.flipped else result

    def _misfit(self, arrays: tuple[Any, ...], what: str) -> ShapeError:
        wanted = ", ".join(f"{name} (…, {n})" for name, n in zip(self.inputs, self.kernel.rows, strict=True))
        given = ", ".join(str(x.shape) if isinstance(x, np.ndarray) else type(x).__name__ for x in arrays)
        return ShapeError(f"{self.expression.show()} takes {wanted}; it was given {given}. {what}")


@dataclass(frozen=True, eq=False)
class CompiledFunction:
    """function(q, v, …) over leading axes as NumPy does, takes `out=` (of several results: a tuple of arrays in their
    order); results are held as the function holds them."""

    recording: Recording
    kernel: Kernel
    dtype: Dtype = np.float64
    error: float | None = None  # of float32: the bound on what is lost (`ps.compile`)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The arguments in order."""
        return tuple(name for name, _ in self.recording.arguments)

    @property
    def operations(self) -> int:
        """Arithmetic instructions per state."""
        return self.kernel.operations

    @cached_property
    def _law(self) -> int:
        """Number of arguments where the first is the time and the result is one array; else 0."""
        plain = self.inputs[:1] == ("t",) and len(self.inputs) > 1 and self.recording.structure is None
        return len(self.inputs) if plain else 0

    @cached_property
    def _single(self) -> Callable[..., Any]:
        """One state at a time, or NotImplemented; times go the long way, which makes columns of them, and quaternions
        that a kernel does not see to itself."""
        plain = self.recording.structure is None and "t" not in self.inputs
        if isinstance(self.kernel.function, Staged):
            plain = plain and not self.recording.model.quaternions
            return self.kernel.function.single if plain else lambda *arrays: NotImplemented
        ready = (
            plain and isinstance(self.kernel.function, np.ufunc) and max(map(len, self.kernel.shapes), default=0) <= 2
        )
        return self.kernel.single if ready else lambda *arrays: NotImplemented

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        # A controller is called for one state at a time: that goes to the kernel at once.
        if len(arrays) == self._law and type(arrays[0]) is float and out is None:
            try:
                if arrays[1].size + arrays[-1].size < STATES_PER_THREAD and not self.recording.model.quaternions:
                    return self.kernel.function(arrays[:1], *arrays[1:])
            except (AttributeError, ValueError, TypeError):
                pass  # the long way says what is wrong
        if out is None and (made := self._single(*arrays)) is not NotImplemented:
            return made
        wanted, model = self.recording.arguments, self.recording.model
        if model.quaternions and "q" in self.inputs and len(arrays) == len(wanted):
            model.checked_q(arrays[self.inputs.index("q")])
        try:
            given = [_column(x) if name == "t" else x for (name, _), x in zip(wanted, arrays, strict=True)]
            results = spread(self.kernel.function, tuple(given), list(self.kernel.shapes), out, self.dtype)
        except (ValueError, TypeError) as error:
            names = ", ".join(f"{name} (…)" if name == "t" else f"{name} (…, {n})" for name, n in wanted)
            shapes = ", ".join(str(x.shape) if isinstance(x, np.ndarray) else type(x).__name__ for x in arrays)
            raise ShapeError(f"{self.recording.name} takes {names}; it was given {shapes}. {error}.") from None
        structure = self.recording.structure
        if structure is None:
            return results
        return structure(*results) if len(self.kernel.shapes) > 1 else structure(results)


def _column(number: Any) -> np.ndarray:
    """Times (…) as the kernel takes them, (…, 1)."""
    return real_numbers(np.asarray(number))[..., None]


@overload
def compile(
    expression: Expression | Callable[..., Any],
    model: Model | None = None,
    parameters: Sequence[str] = (),
    matrix: bool = False,
    *,
    frame: str | Sequence[str] | None = None,
    rows: Mapping[str, int] | None = None,
    dtype: type[np.float32],
    accuracy: float = ACCURACY,
) -> CompiledFunction: ...
@overload
def compile(
    expression: Expression,
    model: Model | None = None,
    parameters: Sequence[str] = (),
    matrix: bool = False,
    *,
    schedule: str | None = None,
) -> CompiledStatement: ...
@overload
def compile(expression: RobotStatement, *, matrix: bool = False) -> CompiledRobots: ...
@overload
def compile(
    expression: OperatorDerivative,
    model: Model | None = None,
    parameters: Sequence[str] = (),
    matrix: bool = False,
    *,
    schedule: str | None = None,
) -> CompiledDerivative: ...
@overload
def compile(
    expression: Callable[..., Any],
    model: Model | None = None,
    parameters: Sequence[str] = (),
    matrix: bool = False,
    *,
    frame: str | Sequence[str] | None = None,
    rows: Mapping[str, int] | None = None,
) -> CompiledFunction: ...
def compile(
    expression: Any,
    model: Model | None = None,
    parameters: Sequence[str] = (),
    matrix: bool = False,
    *,
    frame: str | Sequence[str] | None = None,
    rows: Mapping[str, int] | None = None,
    schedule: str | None = None,
    dtype: Any = np.float64,
    accuracy: float | None = None,
) -> CompiledStatement | CompiledDerivative | CompiledFunction | CompiledRobots:
    """Compile a statement, or a function of one state, to machine code for a robot.

    Parameters
    ----------
    expression : Expression or callable
        A statement e, of one robot or several; or one of phistar's functions, or one written with them and NumPy,
        such as a controller. Its arguments are known by their names: q, v, a, tau, …; t is one number.
    model : Model, optional
        Of a function, or of a statement that is about no robot yet.
    parameters : sequence of str
        What becomes an input instead of a constant: "inertia", (…, 10·bodies) in the order of `ps.regressor`, and
        "gravity", (…, 3).
    matrix : bool
        Give e itself instead of e·x.
    frame : str or sequence of str, optional
        The frame(s) a function is about.
    rows : {argument: int}, optional
        How many entries arguments with names of your own have.
    schedule : "written out", "link by link" or "pair by pair", optional
        Of a statement; by default the one that counts least, and `choice` of what is returned shows what was compared.
    dtype : numpy.float64 or numpy.float32
        float32 takes and gives arrays of 32 bits, twice as many states at a time; a statement then becomes a function,
        written out.
    accuracy : float, optional
        Of float32: what may be lost, by default 1e-3. `error` of what is returned is the bound that holds: the largest
        change of an entry, relative to the largest of its array, that rounding every argument, constant and step can
        make to first order, at random states. Where it is more than `accuracy` the function is refused.

    Returns
    -------
    CompiledStatement, CompiledDerivative, CompiledFunction or CompiledRobots
        Called as (q, x, *parameters), or with the function's arguments, or as its `inputs` name them; leading axes
        broadcast, `out=` is taken.

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> solve = ps.compile(ps.algebra(arm).mass.inv)
    >>> solve([0, 0], [1, 0]).round(3)
    array([ 1.708, -4.266])
    """
    if is_single(dtype, accuracy):
        if schedule is not None:
            raise StatementError("float32 is written out: leave `schedule` away.")
        model = model if model is not None else getattr(expression, "model", None)
        return _compiled_single(expression, model, frame, parameters, matrix, rows, accuracy or ACCURACY)
    if isinstance(expression, RobotStatement):
        if model is not None or parameters or schedule is not None or frame is not None or rows is not None:
            raise StatementError("A statement about several robots has its robots and frames from ps.algebra.")
        return compiled_robots(expression, matrix)
    if isinstance(expression, OperatorDerivative):
        one = _compiled_statement(expression.statement, model, checked_parameters(parameters), matrix, schedule)
        return CompiledDerivative(expression, one)
    if not isinstance(expression, Expression):
        model = model if model is not None else getattr(expression, "model", None)
        if model is None:
            raise StatementError("A function is compiled for a robot; give a model: ps.compile(function, model).")
        if schedule is not None:
            raise StatementError("`schedule` is for statements; a function is recorded as it is written.")
        return _compiled_function(record(expression, model, frame, parameters, matrix, rows, calls=True))
    if frame is not None or rows is not None:
        raise StatementError("`frame` and `rows` are for functions; a statement has its frames from ps.algebra.")
    return _compiled_statement(expression, model, checked_parameters(parameters), matrix, schedule)


def _compiled_function(recording: Recording) -> CompiledFunction:
    entries, shapes = [n for _, n in recording.arguments], [shape for _, shape in recording.results]
    outputs, inputs = tuple(name for name, _ in recording.results), [name for name, _ in recording.arguments]
    units = units_of(recording.model, inputs.index("q")) if "q" in inputs else ()
    if recording.steps:
        return CompiledFunction(recording, staged_kernel(recording.steps, entries, recording.name, outputs, units))
    return CompiledFunction(recording, compile_trace(recording.trace, entries, shapes, recording.name, outputs, units))


def _compiled_single(
    expression: Any,
    model: Any,
    frame: str | Sequence[str] | None,
    parameters: Sequence[str],
    matrix: bool,
    rows: Mapping[str, int] | None,
    accuracy: float,
) -> CompiledFunction:
    """A statement or a function for floats of 32 bits."""
    if model is None or isinstance(expression, RobotStatement | OperatorDerivative):
        raise StatementError("float32 is for a function or a statement of one robot: ps.compile(function, model, …).")
    recording = record_short(expression, model, frame, parameters, matrix, rows)
    kernel, error = single_kernel(recording, accuracy)
    return CompiledFunction(recording, kernel, np.float32, error)


@walks_its_node
def _compiled_statement(
    expression: Expression, model: Model | None, parameters: tuple[str, ...], matrix: bool, schedule: str | None
) -> CompiledStatement:
    model = model if model is not None else expression.model
    if model is None:
        raise StatementError(f"{expression.show()} is abstract; give a model: ps.compile(e, model).")
    check_model(model)
    e = bind(expression, model)
    matrix = matrix and e.node.domain != SCALARS
    flipped = matrix and is_wide(e.node)
    named = (("y", adjoint(e.node) if flipped else e.node),)
    operators = operators_or_inputs(e.node, e.operators, model, e.symbols.frames or ())
    wanted = Statements(named, e.symbols, e.setting, matrix, model, operators, parameters, e.form, flipped)
    kernel = statement_kernel(wanted) if has_wide_links(model) else executor(wanted, schedule)
    if not isinstance(kernel, Kernel):
        raise StatementError(f"{model.name} has no joints, so that there is nothing to compile; use e.apply(q, x).")
    return CompiledStatement(e, kernel, wanted)
