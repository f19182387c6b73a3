"""`states`: makes a function of a robot out of an operator statement, and lets the function show its statement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import update_wrapper
from inspect import signature
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from phistar.backends.choice import WRITTEN, compilable
from phistar.backends.executor import chosen, executor
from phistar.backends.kernel import Statements
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.machine import cache
from phistar.backends.programs.derivations import ARTICULATED
from phistar.backends.programs.program import Wanted, is_wide
from phistar.backends.traces.arrays import is_traced, traced
from phistar.backends.traces.calls import CallTape, tape_of_statements
from phistar.backends.traces.symbolic import replay
from phistar.backends.wide_kernel import evaluated
from phistar.entries import AT, Entries, Entry, Passed
from phistar.errors import ShapeError, StatementError
from phistar.expression import Expression, setting_of, symbols_of
from phistar.handles import Handle
from phistar.identities.law import TREE
from phistar.lazy import provided
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.model.names import names_given
from phistar.model.parts import CoupledJoints
from phistar.operators.nodes import Node, adjoint
from phistar.operators.symbols import Symbols
from phistar.stated_arguments import check_names, checked_arguments, external_forces

_RUNTIME: ContextVar[Mapping[str, np.ndarray]] = ContextVar("runtime parameters of a recording")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def states(
    statement: Callable[[Symbols], Node | Mapping[str, Node]],
    *,
    matrix: Wanted = False,
    form: str = ARTICULATED,
    whole: Callable[[Model], bool] = lambda model: False,
) -> Callable[[Callable[Arguments, Result]], Stated[Arguments, Result]]:
    """Decorate a function with the statement it evaluates; `matrix`: the operator itself is wanted, or its blocks.
    `whole`: of which robots the function, which does more than that, is recorded and compiled as it stands."""
    return lambda function: Stated(function, statement, matrix, form, whole)


def is_short(model: Model) -> bool:
    """Whether functions around statements are written out whole for a robot: few rigid links."""
    return compilable(model) and not model.loops and not has_wide_links(model)


def is_short_and_coupled(model: Model) -> bool:
    """The same of a robot whose only loops couple joints: no configuration of it leaves the rank of these in doubt."""
    coupled = bool(model.loops) and all(isinstance(loop, CoupledJoints) for loop in model.loops)
    return coupled and compilable(model) and not has_wide_links(model)


class StatedFunction(ABC, Generic[Arguments, Result]):
    """A public function that shows the statements it evaluates."""

    _function: Callable[..., Any]
    _slot: str

    @abstractmethod
    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """The function's value."""

    @property
    @abstractmethod
    def statements(self) -> dict[str, Expression]:
        """The abstract statements, for any tree with armature, by the names of the results."""

    @property
    def statement(self) -> Expression:
        """The abstract statement; of several, the first."""
        return next(iter(self.statements.values()))

    def on(self, model: Model, frame: Any = None) -> Handle[Result]:
        """Bind the function to a robot, and to a frame where it takes one: a handle for control loops.

        Parameters
        ----------
        model : Model
        frame : str or sequence of str, optional
            For functions of a frame.

        Returns
        -------
        Handle
            `handle(q, …)`; with `out=` an array (or a tuple of them) the result is written there.

        Examples
        --------
        >>> handle = ps.jacobian.on(ps.planar_chain(2), "tip")
        >>> J = np.empty((6, 2))
        >>> handle(np.zeros(2), out=J) is J
        True
        """
        name, parameters = self._function.__name__, list(signature(self._function).parameters)
        check_robot(f"{name}.on", (model,))
        place = parameters.index("frame") if "frame" in parameters else 0
        if (frame is not None) != bool(place):
            needed = "needs a frame" if place else "takes no frame"
            raise StatementError(f"{name} {needed}: {name}.on(model{', frame' if place else ''}).")
        frames = frame if frame is None or isinstance(frame, str) else names_given(frame)
        for each in (frames,) if isinstance(frames, str) else frames or ():
            model.frame(each)
        return Handle(self, model, frames, place, self._entry)

    @abstractmethod
    def _entry(self, model: Model, frames: Any) -> Entry | None:
        """Return the kernel that the results come from, unless none is known yet."""

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        # Functions have it, and by it help() and documentation tools know a function when they see one.
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return _described(self)

    def _repr_latex_(self) -> str:
        return f"${self.statement.latex()}$"


class Stated(StatedFunction[Arguments, Result]):
    """A public function and the statement behind it."""

    __slots__ = ("__call__",)  # each has its own: a function of C, once there is an entry to call (`call_doors.py`)

    def __init__(
        self,
        function: Callable[Arguments, Result],
        statement: Callable[[Symbols], Any],
        matrix: Wanted,
        form: str,
        whole: Callable[[Model], bool],
    ) -> None:
        self._function, self._statement, self._form, self._whole = function, statement, form, whole
        self._matrix: Wanted = matrix
        self._slot = f"_compiled_{function.__module__}.{function.__name__}"
        self._entries = Entries(function, self._slot)
        self._passed: Passed | None = None
        update_wrapper(self, function)
        self.__call__ = self._called

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        """The function's value, the long way: what is compiled for it here is an entry for later calls."""
        try:
            made = self._entries.call(args, kwargs)
            if made is not NotImplemented:
                return made
        except (KeyError, AttributeError, IndexError, ValueError, TypeError):
            pass  # not compiled yet, or the long way says what is wrong with the arguments
        check_robot(self._function.__name__, args or robot_by_name(kwargs))
        made = self._as_whole(args, kwargs)
        if made is not NotImplemented:
            return made
        result = self._function(*args, **kwargs)
        passed, self._passed = self._passed, None  # what another thread left has another result
        if passed is not None and self._entries.learn(args, kwargs, passed, result):
            self._open()
        return result

    def _open(self) -> None:
        """From now on calls go to the entries first."""
        if self.__call__ == self._called:
            self.__call__ = self._entries.door(self._called)

    def _as_whole(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The value of a function that is recorded whole, where it is for this robot and the arguments fit."""
        try:
            key, given = self._entries.split(args, kwargs)
            frames = (key,) if isinstance(key, str) else tuple(key)
            fits = self._whole(args[0]) and not is_traced(*map(np.asarray, given))
        except (KeyError, AttributeError, IndexError, ValueError, TypeError):
            return NotImplemented
        if not fits:
            return NotImplemented
        check_names(args[0], frames)
        make = provided("phistar.stated").compile
        compiled = args[0].kept((self._slot, key, "whole"), lambda: make(self._function, args[0], frame=frames or None))
        if compiled.recording.structure is None:
            self._entries.keep(args[0], key, compiled.kernel, len(compiled.inputs))
            self._open()
        try:
            return compiled(*given)
        except ShapeError:
            return NotImplemented  # the long way says what is wrong with the arguments

    def _entry(self, model: Model, frames: Any) -> Entry | None:
        return model.__dict__.get(self._slot + AT, {}).get(frames)

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
        own, vectors = (q, *(vectors or {}).values()), dict(vectors or {})
        if f_ext is not None and not (isinstance(f_ext, Mapping) and not f_ext):
            frames, vectors["f"] = external_forces(model, f_ext)
        q, given = checked_arguments(model, q, vectors, frames)
        if (special := self._special(model, q, given, frames)) is not None:
            return special["y"]
        kernel, flipped = self.kernel(model, frames)
        made = kernel(q, given)["y"]
        result = np.swapaxes(made, -1, -2) if flipped else made
        self._passed = Passed(model, own, f_ext, tuple(frames), kernel, tuple(given), flipped, result)
        return result

    def evaluate_all(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, frames: tuple[str, ...] = ()
    ) -> dict[str, np.ndarray]:
        """The values of all statements; vectors as (…, rows), operators as (…, rows, columns).

        Traced numbers (n,), one state, are answered with traced numbers: the statements are recorded, not run.
        """
        q, given = checked_arguments(model, q, vectors or {}, frames)
        if (special := self._special(model, q, given, frames)) is not None:
            return special
        kernel, flipped = self.kernel(model, frames)
        results = kernel(q, given)
        return {name: np.swapaxes(x, -1, -2) for name, x in results.items()} if flipped else results

    def _special(
        self, model: Model, q: np.ndarray, given: Mapping[str, np.ndarray], frames: tuple[str, ...]
    ) -> dict[str, np.ndarray] | None:
        """The values where no kernel of the model's own is meant: links of any width, and traced numbers."""
        if has_wide_links(model):
            key = (self._slot, frames, "any width")
            wanted = model.kept(key, lambda: self.wanted(model, frames, flip=False)[0])
            return evaluated(wanted, self._slot, q, given)
        return self._recorded(model, q, given, frames) if is_traced(q, *given.values()) else None

    def kernel(self, model: Model, frames: tuple[str, ...]) -> tuple[Any, bool]:
        """Compiled code, kept on the model; operators with few rows are made as their adjoints and flipped."""
        return model.kept((self._slot, frames), lambda: self._compiled(model, frames))

    def _compiled(self, model: Model, frames: tuple[str, ...]) -> tuple[Any, bool]:
        wanted, flipped = self.wanted(model, frames)
        return executor(wanted), flipped

    def wanted(
        self, model: Model, frames: tuple[str, ...], parameters: Any = (), flip: bool = True
    ) -> tuple[Statements, bool]:
        """Statements to compile for a robot, and whether they are the adjoints."""
        symbols = symbols_of(model, frames)
        nodes = self.nodes(symbols)
        flipped = flip and self._matrix is True and all(is_wide(node) for node in nodes.values())
        named = tuple((name, adjoint(node) if flipped else node) for name, node in nodes.items())
        setting = setting_of(model, frames)
        wanted = Statements(named, symbols, setting, self._matrix, model, {}, tuple(parameters), self._form, flipped)
        return wanted, flipped

    def _recorded(
        self, model: Model, q: np.ndarray, given: Mapping[str, np.ndarray], frames: tuple[str, ...]
    ) -> dict[str, np.ndarray]:
        """The instructions of the cheapest form, on the tape of the arguments."""
        for array in (q, *given.values()):
            if array.ndim != 1:
                raise ShapeError(f"Traced numbers are one state, (n,); an argument has shape {array.shape}.")
        runtime = _RUNTIME.get({})
        if (tape := tape_of_statements(q, *given.values())) is not None:
            wanted, flipped = self.wanted(model, frames, tuple(runtime))
            known = {**runtime, **given, "q": q}
            called = called_statements(tape, wanted, lambda name, _: known[name])
            if called is not None:
                return {name: np.swapaxes(x, -1, -2) for name, x in called.items()} if flipped else called
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


def called_statements(
    tape: CallTape, wanted: Statements, given: Callable[[str, int], np.ndarray]
) -> dict[str, np.ndarray] | None:
    """The results of a call of what is too long to be written out, on inputs that are `given` by name and size; None
    where it is not too long."""
    choice = chosen(wanted)
    if choice.schedule == WRITTEN:
        return None
    if tape.callee is None:
        kernel = wanted.model.kept(cache.key("called", wanted.key), lambda: executor(wanted))
    else:
        kernel = tape.callee(replace(wanted, taken=choice.taken))
    if kernel is None:
        return None
    arrays = [given(name, rows) for name, rows in zip(("q", *kernel.inputs), kernel.rows, strict=True)]
    made = tape.call(kernel, arrays, kernel.shapes, kernel.operations)
    return dict(zip(kernel.outputs, made, strict=True))


def robot_by_name(kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the model among named arguments, for `check_robot`."""
    return (kwargs["model"],) if "model" in kwargs else ()


def _described(stated: StatedFunction[Any, Any]) -> str:
    """How a function is called and what it states: 'gravity_load(model, q): 𝒢'."""
    call = signature(stated)
    plain = [parameter.replace(annotation=parameter.empty) for parameter in call.parameters.values()]
    call = call.replace(parameters=plain, return_annotation=call.empty)
    named = [x.show() if name == "y" else f"{name} = {x.show()}" for name, x in stated.statements.items()]
    return f"<{vars(stated)['__name__']}{call}: {'; '.join(named)}>"


@contextmanager
def runtime_parameters(**values: np.ndarray) -> Iterator[None]:
    """Inside, recorded statements take these ("inertia", "gravity") as traced numbers in place of the robot's own."""
    token = _RUNTIME.set(values)
    try:
        yield
    finally:
        _RUNTIME.reset(token)
