"""A public function or a statement as scalar instructions for one robot: what C export and CasADi are made from.

A public function is run as it stands, with the statements inside it recorded instead of compiled, so that what it does
around them (a factor ½, a small solve) is part of the record.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np

from phistar.backends.aligned import without_roundoff
from phistar.backends.interpret import poses
from phistar.backends.kernel import Statements, trace_statements
from phistar.backends.links import links_at
from phistar.backends.program import is_wide, pose_program_frames
from phistar.backends.symbolic import replay
from phistar.backends.trace import Scalar, Tape, Trace, finish
from phistar.errors import ShapeError, StatementError
from phistar.expression import Expression, algebra, setting_of, symbols_of
from phistar.model import Model
from phistar.operators.nodes import adjoint
from phistar.operators.spaces import SCALARS, Space
from phistar.stated import Stated
from phistar.sweeps.lower import GIVEN, lower_poses

PARAMETERS = ("inertia", "gravity")
AS_V = ("v", "a", "tau", "w", "dq", "dv", "da")  # arguments of public functions with an entry per rate
_VECTORS = {field: name for name, field in GIVEN.items()}


@dataclass(frozen=True)
class Traced:
    """`trace` takes the entries of the arguments in order and gives the entries of the results, row by row."""

    name: str
    model: Model
    frames: tuple[str, ...]
    trace: Trace
    arguments: tuple[tuple[str, int], ...]  # name, entries
    results: tuple[tuple[str, tuple[int, ...]], ...]  # name, shape
    spaces: tuple[Space, Space] | None = None  # of a statement: from, to


def traced(
    function: Callable[..., Any] | Expression,
    model: Model,
    frame: str | Sequence[str] | None = None,
    parameters: Sequence[str] = (),
    matrix: bool = False,
) -> Traced:
    """The instructions of `function(model, q, …)`, or of a statement: e·x, or e itself with `matrix`."""
    frames = () if frame is None else (frame,) if isinstance(frame, str) else tuple(frame)
    for name in frames:
        model.frame(name)
    for name in parameters:
        if name not in PARAMETERS:
            raise StatementError(f"{name!r} cannot be a parameter; choose from {', '.join(PARAMETERS)}.")
    if model.nv == 0:
        raise StatementError(f"{model.name} has no joint that moves, so there is nothing to write out.")
    recording = _Recording(Tape(), model, tuple(parameters))
    if isinstance(function, Expression):
        return recording.statement(_bound(function, model, frames), matrix)
    if matrix:
        raise StatementError("`matrix` is for statements; a function gives what it gives.")
    return recording.function(function, frames)


def _bound(expression: Expression, model: Model, frames: tuple[str, ...]) -> Expression:
    if expression.model is not None and expression.model == model and not frames:
        return expression
    return algebra(model, frames or expression.symbols.frames or ()).expression(expression.node)


class _Recording:
    """One tape, the arguments on it, and the parameters that replace constants of the robot."""

    def __init__(self, tape: Tape, model: Model, parameters: tuple[str, ...]) -> None:
        self.tape, self.model, self.parameters = tape, model, parameters
        self.arguments: dict[str, np.ndarray] = {}
        self.spaces: dict[int, dict[str, Any]] = {}

    def argument(self, name: str, rows: int) -> np.ndarray:
        if name not in self.arguments:
            self.arguments[name] = self.tape.inputs((rows,))
        return self.arguments[name]

    def parameter(self, name: str) -> np.ndarray:
        return self.argument(name, {"inertia": 10 * len(self.model.bodies), "gravity": 3}[name])

    def finished(self, name: str, frames: tuple[str, ...], results: Mapping[str, Any]) -> Traced:
        taken = self.arguments  # the result "gravity" of a function that also takes gravity
        arrays = {f"{x}_out" if x in taken else x: np.asarray(value) for x, value in results.items()}
        values = [entry for array in arrays.values() for entry in array.reshape(-1)]
        values = [value if isinstance(value, Scalar) else float(value) for value in values]
        arguments = tuple((public, array.size) for public, array in self.arguments.items())
        shapes = tuple((public, array.shape) for public, array in arrays.items())
        return Traced(name, self.model, frames, finish(self.tape, values), arguments, shapes)

    # Statements

    def statement(self, expression: Expression, matrix: bool) -> Traced:
        matrix = matrix and expression.node.domain != SCALARS
        q = self.argument("q", self.model.nq)
        out = self.value(expression, matrix, q, None)
        made = self.finished("statement", expression.symbols.frames or (), {"out": out})
        domain, codomain = expression.node.domain, expression.node.codomain
        assert domain is not None and codomain is not None
        return replace(made, spaces=(domain, codomain))

    def value(
        self, expression: Expression, matrix: bool, q: np.ndarray, vectors: Mapping[str, np.ndarray] | None
    ) -> np.ndarray:
        """The cheapest form of a statement; vectors that are not given become arguments."""
        model, flipped = expression.model, matrix and is_wide(expression.node)
        assert model is not None
        node = adjoint(expression.node) if flipped else expression.node
        symbols, setting, operators = expression.symbols, expression.setting, expression.operators
        wanted = Statements((("y", node),), symbols, setting, matrix, model, operators, self.parameters)
        found = [trace_statements(form) for form in wanted.forms()]
        trace, names, signature = min(found, key=lambda form: form[0].operations)
        inputs = [q]
        for name, rows in zip(names, signature.inputs[1:], strict=True):
            public = _VECTORS.get(name, name)
            inputs.append(self._input(public, rows, vectors))
        made = replay(trace, [entry for array in inputs for entry in array])
        array = np.empty(len(made), dtype=object)
        array[:] = made
        array = array.reshape(signature.outputs[0])
        return array.T if flipped else array

    def _input(self, name: str, rows: int, vectors: Mapping[str, np.ndarray] | None) -> np.ndarray:
        if name in PARAMETERS:
            return self.parameter(name)
        return self.argument(name, rows) if vectors is None else vectors[name]

    # Functions

    def function(self, function: Callable[..., Any], frames: tuple[str, ...]) -> Traced:
        name = getattr(function, "__name__", str(function))
        if self.parameters and not isinstance(function, Stated):
            raise StatementError(f"{name} takes the robot's data as they are; `parameters` are for stated functions.")
        given = self.given(name, function, frames)
        for parameter in self.parameters:
            self.parameter(parameter)
        try:
            result = self.within(function)(self.model, **given)
        except (TypeError, AttributeError, ShapeError) as error:
            raise StatementError(f"{name} cannot be written out: it is not arithmetic on statements alone.") from error
        results = result._asdict() if hasattr(result, "_asdict") else {"out": result}
        return self.finished(name, frames, results)

    def given(self, name: str, function: Callable[..., Any], frames: tuple[str, ...]) -> dict[str, Any]:
        """A value for every parameter of a public function, by its name."""
        known = isinstance(function, Stated | FunctionType)
        wanted = list(inspect.signature(function).parameters) if known else []
        if wanted[:2] != ["model", "q"]:
            raise StatementError(f"{name} is not one of phistar's functions of a model and a state.")
        sizes = {"q": self.model.nq, **dict.fromkeys(AS_V, self.model.nv), "force": 6 * len(frames)}
        if "frame" in wanted and not frames:
            raise StatementError(f"{name} is about a frame; name one with `frame`.")
        if frames and "frame" not in wanted and "f_ext" not in wanted:
            raise StatementError(f"{name} is not about a frame, but {', '.join(map(repr, frames))} was named.")
        given: dict[str, Any] = {}
        for parameter in wanted[1:]:
            if parameter == "frame":
                given["frame"] = frames[0] if len(frames) == 1 else frames
            elif parameter == "f_ext":
                given["f_ext"] = self._forces(frames)
            elif parameter in sizes:
                given[parameter] = self.argument(parameter, sizes[parameter])
            else:
                raise StatementError(f"{name} takes {parameter!r}, which is not a number of the state.")
        return given

    def _forces(self, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
        """An external force at every frame named."""
        if not frames:
            return {}
        forces = self.argument("f_ext", 6 * len(frames)).reshape(-1, 6)
        return dict(zip(frames, forces, strict=True))

    def within(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its module's names bound so that statements record themselves on this tape."""
        body = getattr(function, "__wrapped__", function)
        assert isinstance(body, FunctionType)
        names = self._names(body.__globals__)
        found = FunctionType(body.__code__, names, body.__name__, body.__defaults__, body.__closure__)
        found.__kwdefaults__ = body.__kwdefaults__
        return found

    def _names(self, names: dict[str, Any]) -> dict[str, Any]:
        found = self.spaces.get(id(names))
        if found is None:
            found = self.spaces[id(names)] = dict(names)
            for name, value in names.items():
                if isinstance(value, Stated):
                    found[name] = _Recorded(value, self)
                elif value is pose_program_frames:
                    found[name] = _pose
                elif isinstance(value, FunctionType) and value.__globals__ is names:
                    found[name] = self.within(value)
        return found


@dataclass(frozen=True)
class _Recorded:
    """Stands where a stated function stands, and records its statements."""

    stated: Stated[..., Any]
    recording: _Recording

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.recording.within(self.stated)(*args, **kwargs)

    def evaluate(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, f_ext: Any = None, frames: Any = ()
    ) -> np.ndarray:
        vectors = dict(vectors or {})
        if f_ext:
            frames, vectors["f"] = tuple(f_ext), np.concatenate(list(f_ext.values()))
        return self.evaluate_all(model, q, vectors, frames)["y"]

    def evaluate_all(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, frames: tuple[str, ...] = ()
    ) -> dict[str, np.ndarray]:
        symbols, setting = symbols_of(model, frames), setting_of(model, frames)
        expressions = {
            name: Expression(node, symbols, setting, model) for name, node in self.stated._nodes(symbols).items()
        }
        return {
            name: self.recording.value(e, self.stated._matrix and e.node.domain != SCALARS, q, vectors or {})
            for name, e in expressions.items()
        }


def _pose(model: Model, q: np.ndarray, frame: str) -> np.ndarray:
    """The pose of a frame as traced numbers, (4, 4)."""
    place = model.frame(frame)
    turn, shift = np.eye(3), np.zeros(3)
    if place.body >= 0:
        turn, shift = poses(lower_poses(), links_at(without_roundoff(model), q))[place.body]
    upper = [np.matmul(turn, place.placement.rotation), (shift + np.matmul(turn, place.placement.translation))[:, None]]
    return np.concatenate([np.concatenate(upper, axis=1), np.array([[0.0, 0.0, 0.0, 1.0]])])
