"""`states`: makes a function of a robot out of an operator statement, and lets the function show its statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from phistar.backends.executor import executor
from phistar.backends.kernel import Kernel, Statements
from phistar.backends.links.values import space_sizes
from phistar.backends.machine.threads import STATES_PER_THREAD
from phistar.backends.programs.program import ARTICULATED, Wanted, is_wide
from phistar.backends.traces.arrays import is_traced, traced
from phistar.backends.traces.symbolic import replay
from phistar.errors import ShapeError, StatementError
from phistar.expression import Expression, setting_of, symbols_of
from phistar.identities.law import TREE
from phistar.model import Model
from phistar.operators.nodes import Node, adjoint
from phistar.operators.symbols import Symbols
from phistar.spatial.batches import leading_axes
from phistar.sweeps.lower import GIVEN

_RUNTIME: ContextVar[Mapping[str, np.ndarray]] = ContextVar("runtime parameters of a recording")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def states(
    statement: Callable[[Symbols], Node | Mapping[str, Node]], *, matrix: Wanted = False, form: str = ARTICULATED
) -> Callable[[Callable[Arguments, Result]], Stated[Arguments, Result]]:
    """Decorate a function with the statement it evaluates; `matrix`: the operator itself is wanted, or its blocks."""
    return lambda function: Stated(function, statement, matrix, form)


class Stated(Generic[Arguments, Result]):
    """A public function and the statement behind it."""

    def __init__(
        self, function: Callable[Arguments, Result], statement: Callable[[Symbols], Any], matrix: Wanted, form: str
    ) -> None:
        self._function, self._statement, self._form = function, statement, form
        self._matrix: Wanted = matrix
        self._slot = f"_compiled_{function.__module__}.{function.__name__}"
        update_wrapper(self, function)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        # Robots are controlled one state at a time: a compiled function is found on the model and called at once.
        if not kwargs:
            try:
                single, function, count, size = args[0].__dict__[self._slot]  # type: ignore[union-attr]
                made = single(*args[1:])
                if made is not NotImplemented:
                    return made
                if len(args) == count and getattr(args[1], "size", 0) < size:
                    return function(*args[1:])
            except (KeyError, AttributeError, IndexError, ValueError, TypeError):
                pass  # not compiled yet, or the long way says what is wrong with the arguments
        _check_robot(self._function.__name__, args)
        return self._function(*args, **kwargs)

    @property
    def statement(self) -> Expression:
        """The abstract statement, for any tree with armature; of several, the first."""
        return next(iter(self.statements.values()))

    @property
    def statements(self) -> dict[str, Expression]:
        symbols = Symbols()
        nodes = self.nodes(symbols).items()
        return {name: Expression(node, symbols, TREE, form=self._form) for name, node in nodes}

    def nodes(self, symbols: Symbols) -> Mapping[str, Node]:
        """The statements over given symbols."""
        stated = self._statement(symbols)
        return {"y": stated} if isinstance(stated, Node) else stated

    def evaluate(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, f_ext: Any = None, frames: Any = ()
    ) -> np.ndarray:
        """The value of the one statement."""
        vectors = dict(vectors or {})
        if f_ext is not None and not (isinstance(f_ext, Mapping) and not f_ext):
            frames, vectors["f"] = external_forces(model, f_ext)
        return self.evaluate_all(model, q, vectors, frames)["y"]

    def evaluate_all(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, frames: tuple[str, ...] = ()
    ) -> dict[str, np.ndarray]:
        """The values of all statements; vectors as (…, rows), operators as (…, rows, columns).

        Traced numbers (n,), one state, are answered with traced numbers: the statements are recorded, not run.
        """
        q, given = _checked(model, q, vectors or {}, frames)
        if is_traced(q, *given.values()):
            return self._recorded(model, q, given, frames)
        kernel, flipped = self._kernel(model, frames, tuple(given))
        results = kernel(q, given)
        return {name: np.swapaxes(x, -1, -2) for name, x in results.items()} if flipped else results

    def _kernel(self, model: Model, frames: tuple[str, ...], order: tuple[str, ...]) -> tuple[Any, bool]:
        """Compiled code, kept on the model; operators with few rows are made as their adjoints and flipped."""
        return model.kept((self._slot, frames), lambda: self._compiled(model, frames, order))

    def _compiled(self, model: Model, frames: tuple[str, ...], order: tuple[str, ...]) -> tuple[Any, bool]:
        wanted, flipped = self.wanted(model, frames)
        kernel = executor(wanted)
        plain = isinstance(kernel, Kernel) and kernel.outputs == ("y",) and kernel.inputs == order
        if plain and not (frames or flipped or model.loops):
            size = 2 * STATES_PER_THREAD * model.nq
            model.__dict__[self._slot] = kernel.single, kernel.function, len(order) + 2, size
        return kernel, flipped

    def wanted(self, model: Model, frames: tuple[str, ...], parameters: Any = ()) -> tuple[Statements, bool]:
        """What is compiled for a robot, and whether that is the statements' adjoints."""
        symbols = symbols_of(model, frames)
        nodes = self.nodes(symbols)
        flipped = self._matrix is True and all(is_wide(node) for node in nodes.values())
        named = tuple((name, adjoint(node) if flipped else node) for name, node in nodes.items())
        setting = setting_of(model, frames)
        wanted = Statements(named, symbols, setting, self._matrix, model, {}, tuple(parameters), self._form)
        return wanted, flipped

    def _recorded(
        self, model: Model, q: np.ndarray, given: Mapping[str, np.ndarray], frames: tuple[str, ...]
    ) -> dict[str, np.ndarray]:
        """The instructions of the cheapest form, on the tape of the arguments."""
        for array in (q, *given.values()):
            if array.ndim != 1:
                raise ShapeError(f"Traced numbers are one state, (n,); an argument has shape {array.shape}.")
        runtime = _RUNTIME.get({})
        key = (self._slot, frames, "recorded", tuple(runtime))
        trace, names, signature, flipped = model.kept(key, lambda: self._instructions(model, frames, tuple(runtime)))
        arrays = [q, *(given[name] if name in given else runtime[name] for name in names)]
        entries, results, start = replay(trace, [x for array in arrays for x in np.asarray(array)]), {}, 0
        for name, shape in zip(self.nodes(symbols_of(model, frames)), signature.outputs, strict=True):
            stop = start + int(np.prod(shape))
            block = np.empty(stop - start, dtype=object)
            block[:] = entries[start:stop]
            results[name], start = traced(block.reshape(shape)), stop
        return {name: np.swapaxes(x, -1, -2) for name, x in results.items()} if flipped else results

    def _instructions(self, model: Model, frames: tuple[str, ...], parameters: tuple[str, ...]) -> tuple[Any, ...]:
        wanted, flipped = self.wanted(model, frames, parameters)
        return *wanted.cheapest(), flipped


def states_tables(
    statements: Callable[[Symbols], Mapping[str, Node]],
) -> Callable[[Callable[Arguments, Result]], StatedTables[Arguments, Result]]:
    """Decorate a function with the statements of the tables over joints that it gives."""
    return lambda function: StatedTables(function, statements)


class StatedTables(Generic[Arguments, Result]):
    """A public function and the statements of its tables, which are compiled pair by pair of joints."""

    def __init__(
        self, function: Callable[Arguments, Result], statements: Callable[[Symbols], Mapping[str, Node]]
    ) -> None:
        self._function, self.nodes = function, statements
        update_wrapper(self, function)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        _check_robot(self._function.__name__, args)
        return self._function(*args, **kwargs)

    @property
    def statement(self) -> Expression:
        """The abstract statement of the first table."""
        return next(iter(self.statements.values()))

    @property
    def statements(self) -> dict[str, Expression]:
        """By the names of the results; each an operator, for any tree with armature."""
        symbols = Symbols()
        return {name: Expression(node, symbols, TREE) for name, node in self.nodes(symbols).items()}


def _check_robot(name: str, args: tuple[Any, ...]) -> None:
    if args and not isinstance(args[0], Model):
        given = type(args[0]).__name__
        raise StatementError(f"{name} takes the robot first, {name}(model, …); it was given {given}.")


@contextmanager
def runtime_parameters(**values: np.ndarray) -> Iterator[None]:
    """Inside, recorded statements take these ("inertia", "gravity") as traced numbers in place of the robot's own."""
    token = _RUNTIME.set(values)
    try:
        yield
    finally:
        _RUNTIME.reset(token)


def _checked(
    model: Model, q: Any, vectors: Mapping[str, Any], frames: tuple[str, ...]
) -> tuple[np.ndarray, dict[str, Any]]:
    """Arrays of the right shape, under the names that programs use."""
    for name in frames:
        model.frame(name)
    sizes = {"a_b": 6, "f": 6 * len(frames), "u": 6 * len(frames), "F": 6 * len(model.bodies)}
    sizes |= dict.fromkeys(("v_i", "qdd_i"), space_sizes(model, frames)["inner"])
    sizes |= dict.fromkeys(("a_delayed", "b_delayed", "f_delayed"), 6 * len(model.bodies))
    sizes["a0_delayed"] = 6 * len(frames)
    q = model.checked(q, model.nq, "q")
    given = {GIVEN[name]: model.checked(x, sizes.get(name, model.nv), SHOWN[name]) for name, x in vectors.items()}
    leading_axes({"q": q} | {SHOWN[name]: given[GIVEN[name]] for name in vectors})
    return q, given


SHOWN = {"v": "v", "a_b": "the acceleration of the base", "qdd": "a", "T": "tau", "f": "the force"}
SHOWN |= {"v_ref": "v_ref", "u": "the task acceleration", "F": "the feedback forces"}
SHOWN |= {"R": "the weights"}
SHOWN |= {f"{name}_delayed": f"the delayed {name}" for name in ("a", "b", "a0", "f")}
SHOWN |= {"v_i": "joint_rates", "qdd_i": "a (the joints' entries only)"}
"""What the public functions call the vectors."""


def external_forces(model: Model, f_ext: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """External forces by frame as one stacked vector."""
    if not isinstance(f_ext, Mapping):
        raise ShapeError("f_ext must map frame names to forces (…, 6), e.g. {'tool': [0, 0, 0, 0, 0, -10]}.")
    forces = [model.checked(force, 6, f"f_ext[{name!r}]") for name, force in f_ext.items()]
    try:
        shape = np.broadcast_shapes(*(force.shape for force in forces))
    except ValueError:
        shapes = ", ".join(f"{name}: {force.shape}" for name, force in zip(f_ext, forces, strict=True))
        raise ShapeError(
            f"The external forces ({shapes}) do not broadcast; make their leading axes equal, or 1."
        ) from None
    return tuple(f_ext), np.concatenate([np.broadcast_to(force, shape) for force in forces], axis=-1)


def batched(model: Model, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """q and v with common leading axes."""
    q, v = model.checked(q, model.nq, "q"), model.checked(v, model.nv, "v")
    batch = leading_axes({"q": q, "v": v})
    return np.broadcast_to(q, (*batch, model.nq)), np.broadcast_to(v, (*batch, model.nv))
