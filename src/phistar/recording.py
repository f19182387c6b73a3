"""A function or a statement as scalar instructions for one robot: what compiled functions, C and CasADi are made from.

The function is run once, as it stands, on traced numbers; phistar's own functions inside it answer with the
instructions of their statements.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.kernel import Statements
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.programs.program import is_wide
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.calls import CallTape, Step, steps_of
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import Scalar, Tape, Trace, finish
from phistar.backends.wide_kernel import statement_trace
from phistar.errors import PhistarError, ShapeError, StatementError
from phistar.expression import Expression, algebra, check_frames, operators_or_inputs
from phistar.model import Model
from phistar.model.names import names_given
from phistar.operators.nodes import adjoint
from phistar.operators.spaces import SCALARS, Space
from phistar.stated import Stated
from phistar.stated_kernels import called_statements, runtime_parameters
from phistar.sweeps.lower import GIVEN

PARAMETERS = ("inertia", "gravity")
WRITTEN_OUT = (*PARAMETERS, "placement")  # where the links lie can be an input only of what is written out
AS_V = ("v", "a", "tau", "w", "v_ref", "dq", "dv", "da")  # arguments with an entry per rate
_VECTORS = {field: name for name, field in GIVEN.items()}


@dataclass(frozen=True)
class Recording:
    """`trace` takes the entries of the arguments in order and gives the entries of the results, row by row."""

    name: str
    model: Model
    frames: tuple[str, ...]
    trace: Trace
    arguments: tuple[tuple[str, int], ...]  # name, entries
    results: tuple[tuple[str, tuple[int, ...]], ...]  # name, shape
    spaces: tuple[Space, Space] | None = None  # of a statement: from, to
    structure: Callable[..., Any] | None = None  # of several results: what holds them, made from their arrays in order
    steps: tuple[Step, ...] = ()  # of a function that calls others: traces and calls in order; `trace` is the last


def record(
    function: Callable[..., Any] | Expression,
    model: Model,
    frame: str | Sequence[str] | None = None,
    parameters: Sequence[str] = (),
    matrix: bool = False,
    rows: Mapping[str, int] | None = None,
    calls: bool | Callable[[Statements], Any] = False,
) -> Recording:
    """The instructions of `function([model,] q, …)`, or of a statement: e·x, or e itself with `matrix`. With `calls`,
    functions of phistar's that are too long to write out are called in it: compiled ones, or what `calls` gives of
    their statements.

    Arguments are known by their names: q, v, a, tau, … as everywhere, t is one number, `frame` is what is given here;
    `rows` says how many entries others have (a function may carry it as its own `rows`).
    """
    check_model(model)
    frames = () if frame is None else names_given(frame)
    for name in frames:
        model.frame(name)
    parameters = checked_parameters(parameters, PARAMETERS if calls else WRITTEN_OUT)
    if model.nv == 0:
        raise StatementError(f"{model.name} has no joint that moves, so there is nothing to write out.")
    recorder = _Recorder(model, frames, parameters, _tape(calls))
    if isinstance(function, Expression):
        return recorder.statement(bind(function, model, frames), matrix)
    if matrix:
        raise StatementError("`matrix` is for statements; a function gives what it gives.")
    if not callable(function):
        raise StatementError(f"A function or a statement is needed; {function!r:.100} is neither.")
    return recorder.function(function, {**getattr(function, "rows", {}), **(rows or {})})


def check_model(model: Any) -> None:
    """Refuse what is not a model."""
    if not isinstance(model, Model):
        raise StatementError(f"A model is needed, such as ps.load gives; {model!r:.100} is none.")


def checked_parameters(parameters: str | Sequence[str], allowed: tuple[str, ...] = PARAMETERS) -> tuple[str, ...]:
    """The names of what becomes an input instead of a constant of the robot."""
    names = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    for name in names:
        if name not in allowed:
            raise StatementError(f"{name!r} cannot be a parameter; choose from {', '.join(allowed)}.")
    return names


def bind(expression: Expression, model: Model, frames: tuple[str, ...] = ()) -> Expression:
    """The statement about a robot, at its own frames or at others; task symbols need some."""
    if expression.model != model or frames:
        made = algebra(model, frames or expression.symbols.frames or ()).expression(expression.node)
        expression = replace(made, operators=expression.operators, form=expression.form)
    check_frames(expression.node, expression.symbols)
    return expression


class _Recorder:
    """One tape, the arguments on it, and the parameters that replace constants of the robot."""

    def __init__(self, model: Model, frames: tuple[str, ...], parameters: tuple[str, ...], tape: Tape) -> None:
        self.model, self.frames, self.parameters, self.tape = model, frames, parameters, tape
        self.arguments: dict[str, np.ndarray] = {}

    def argument(self, name: str, rows: int) -> np.ndarray:
        if name not in self.arguments:
            self.arguments[name] = traced(self.tape.inputs((rows,)))
        return self.arguments[name]

    def parameter(self, name: str) -> np.ndarray:
        n = len(self.model.bodies)
        return self.argument(name, {"inertia": 10 * n, "gravity": 3, "placement": 3 * (n + len(self.frames))}[name])

    def finish(self, name: str, results: Mapping[str, Any], structure: Any = None) -> Recording:
        taken = self.arguments  # the result "gravity" of a function that also takes gravity
        arrays = {f"{x}_out" if x in taken else x: _array(value, name) for x, value in results.items()}
        if not taken or not all(array.size for array in arrays.values()):
            what = "gives an array without entries" if taken else "takes nothing of a state"
            raise StatementError(f"{name} {what}, so there is nothing to write out.")
        values = [_number(entry, name) for array in arrays.values() for entry in array.reshape(-1)]
        arguments = tuple((public, array.size) for public, array in self.arguments.items())
        shapes = tuple((public, array.shape) for public, array in arrays.items())
        tape, steps = self.tape, ()
        if isinstance(tape, CallTape) and tape.calls:
            steps = tuple(steps_of(tape, [rows for _, rows in arguments], values, [shape for _, shape in shapes]))
        trace = finish(tape, values)
        return Recording(name, self.model, self.frames, trace, arguments, shapes, structure=structure, steps=steps)

    # Statements

    def statement(self, expression: Expression, matrix: bool) -> Recording:
        matrix = matrix and expression.node.domain != SCALARS
        self.frames = expression.symbols.frames or ()
        flipped = matrix and is_wide(expression.node)
        node = adjoint(expression.node) if flipped else expression.node
        e = expression
        operators = operators_or_inputs(e.node, e.operators, self.model, e.symbols.frames or ())
        wanted = Statements(
            (("y", node),), e.symbols, e.setting, matrix, self.model, operators, self.parameters, e.form
        )
        calls = isinstance(self.tape, CallTape) and not has_wide_links(self.model)
        out = self._call_kernel(wanted) if calls else None
        out = self._write_out(wanted) if out is None else out
        domain, codomain = expression.node.domain, expression.node.codomain
        assert domain is not None and codomain is not None
        return replace(self.finish("statement", {"out": out.T if flipped else out}), spaces=(domain, codomain))

    def _call_kernel(self, wanted: Statements) -> np.ndarray | None:
        """The value of a statement that is too long to be written out."""
        assert isinstance(self.tape, CallTape)
        found = called_statements(self.tape, wanted, self._input)
        return None if found is None else found["y"]

    def _input(self, field: str, rows: int) -> np.ndarray:
        """The argument or parameter that is a program's input."""
        public = _VECTORS.get(field, field)
        return self.parameter(public) if public in WRITTEN_OUT else self.argument(public, rows)

    def _write_out(self, wanted: Statements) -> np.ndarray:
        trace, names, signature = statement_trace(wanted) if has_wide_links(self.model) else wanted.cheapest()
        inputs = [self._input(name, rows) for name, rows in zip(("q", *names), signature.inputs, strict=True)]
        made = replay(trace, [entry for array in inputs for entry in np.asarray(array)])
        out = np.empty(len(made), dtype=object)
        out[:] = made
        return out.reshape(signature.outputs[0])

    # Functions

    def function(self, function: Callable[..., Any], rows: Mapping[str, int]) -> Recording:
        name = getattr(function, "__name__", type(function).__name__)
        if self.parameters and not isinstance(function, Stated):
            raise StatementError(f"{name} takes the robot's data as they are; `parameters` are for stated functions.")
        given = self.arguments_of(name, function, rows)
        runtime = {parameter: self.parameter(parameter) for parameter in self.parameters}
        try:
            with runtime_parameters(**runtime):
                result = function(**given)
        except (TypeError, AttributeError, ShapeError) as error:
            raise StatementError(
                f"{name} cannot be recorded: {str(error).rstrip('.')}. It is run once on symbols, so it must not "
                "branch on values or turn them into floats; write it with phistar's functions, NumPy arithmetic, @, "
                "sin, cos, tan, sqrt, abs, sign, minimum, maximum and clip, and build arrays with np.stack or "
                "np.concatenate."
            ) from error
        if hasattr(result, "_asdict"):
            return self.finish(name, result._asdict(), type(result))
        if isinstance(result, Mapping):
            keys = tuple(result)
            return self.finish(name, result, lambda *arrays: dict(zip(keys, arrays, strict=True)))
        if type(result) is tuple:
            return self.finish(name, {f"out{i}": x for i, x in enumerate(result)}, lambda *arrays: arrays)
        return self.finish(name, {"out": result})

    def arguments_of(self, name: str, function: Callable[..., Any], rows: Mapping[str, int]) -> dict[str, Any]:
        """A value for every argument of a function, by its name; what has a default and no known size keeps it."""
        try:
            wanted = dict(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            raise StatementError(f"{name} does not say what it takes, so it cannot be recorded.") from None
        if "frame" in wanted and not self.frames:
            raise StatementError(f"{name} is about a frame; name one with `frame`.")
        if self.frames and "frame" not in wanted and "f_ext" not in wanted:
            raise StatementError(f"{name} is not about a frame, but {', '.join(map(repr, self.frames))} was named.")
        for parameter, count in rows.items():
            if not isinstance(count, int | np.integer) or count < 1:
                raise StatementError(f"rows[{parameter!r}] must be a whole number from 1 on; it is {count!r:.100}.")
        sizes = {"q": self.model.nq, **dict.fromkeys(AS_V, self.model.nv), "force": 6 * len(self.frames), **rows}
        given: dict[str, Any] = {}
        for parameter, declared in wanted.items():
            if parameter == "model":
                given["model"] = self.model
            elif parameter == "frame":
                given["frame"] = self.frames[0] if len(self.frames) == 1 else self.frames
            elif parameter == "f_ext":
                given["f_ext"] = self._forces()
            elif parameter == "t":
                given["t"] = self.argument("t", 1)[0]
            elif parameter in sizes:
                given[parameter] = self.argument(parameter, sizes[parameter])
            elif declared.default is declared.empty:
                raise StatementError(
                    f"{name} takes {parameter!r}, whose size is not known; say it with rows={{{parameter!r}: …}}."
                )
        return given

    def _forces(self) -> dict[str, np.ndarray]:
        """An external force at every frame named."""
        if not self.frames:
            return {}
        forces = self.argument("f_ext", 6 * len(self.frames)).reshape(-1, 6)
        return dict(zip(self.frames, forces, strict=True))


def _tape(calls: bool | Callable[[Statements], Any]) -> Tape:
    """A tape on which compiled functions are called, or what stands for them, or none."""
    return CallTape(None if calls is True else calls) if calls else Tape()


def _array(value: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError:
        raise StatementError(
            f"{name} gives a list of arrays that are not of one shape; give a tuple, a dict or a NamedTuple of them."
        ) from None


def _number(entry: Any, name: str) -> Any:
    plain = entry.item() if isinstance(entry, np.ndarray) and entry.ndim == 0 else entry
    try:
        return plain if isinstance(plain, Scalar) else float(plain)
    except (TypeError, ValueError):
        raise PhistarError(f"{name} gives {plain!r:.100} among its results; it must give numbers.") from None
