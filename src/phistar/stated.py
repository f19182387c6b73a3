"""`states`: makes a function of a robot out of an operator statement, and lets the function show its statement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property, update_wrapper
from inspect import signature
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numpy as np

from phistar.backends.choice import SURROUNDED, compilable
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.traces.trace import is_traced
from phistar.entries import AT, Entries, Entry, Passed
from phistar.errors import ShapeError, StatementError
from phistar.handles import Handle
from phistar.lazy import provider
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.model.names import names_given
from phistar.model.parts import CoupledJoints
from phistar.stated_arguments import check_names

if TYPE_CHECKING:
    from phistar.backends.kernel import Statements
    from phistar.backends.programs.program import Wanted
    from phistar.expression import Expression
    from phistar.operators.nodes import Node
    from phistar.operators.symbols import Symbols
    from phistar.stated_kernels import StatedKernels

AS_WRITTEN = "as written"  # of `derivations.py`, which is imported only when something is compiled

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def states(
    statement: Callable[[Symbols], Node | Mapping[str, Node]],
    *,
    matrix: Wanted = False,
    form: str = "",
    whole: Callable[[Model], bool] = lambda model: False,
) -> Callable[[Callable[Arguments, Result]], Stated[Arguments, Result]]:
    """Decorate a function with the statement it evaluates; `matrix`: the operator itself is wanted, or its blocks;
    `form`: as `derivations.py` names them, by default simplified.
    `whole`: of which robots the function, which does more than that, is recorded and compiled as it stands."""
    return lambda function: Stated(function, statement, matrix, form, whole)


def is_surrounded(model: Model) -> bool:
    """Whether functions around statements are recorded whole for a robot: rigid links, and not too many."""
    return 0 < model.nv <= SURROUNDED and not has_wide_links(model)


def is_short(model: Model) -> bool:
    """The same where the function grows with the square of the links: few of them."""
    return compilable(model) and is_surrounded(model)


def is_short_and_coupled(model: Model) -> bool:
    """The same of a robot whose only loops couple joints: no configuration of it leaves the rank of these in doubt."""
    coupled = bool(model.loops) and all(isinstance(loop, CoupledJoints) for loop in model.loops)
    return coupled and is_short(model)


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
        return _signature_and_statement(self)

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
        self.__call__ = self._slow_call

    def _slow_call(self, *args: Any, **kwargs: Any) -> Any:
        """The function's value, the long way: what is compiled for it here is an entry for later calls."""
        try:
            made = self._entries.call(args, kwargs)
            if made is not NotImplemented:
                return made
        except (KeyError, AttributeError, IndexError, ValueError, TypeError):
            pass  # not compiled yet, or the long way says what is wrong with the arguments
        check_robot(self._function.__name__, args or robot_by_name(kwargs))
        if self._recall(args, kwargs):
            self._open()
            return self._slow_call(*args, **kwargs)
        made = self._as_whole(args, kwargs)
        if made is not NotImplemented:
            return made
        result = self._function(*args, **kwargs)
        passed, self._passed = self._passed, None  # what another thread left has another result
        if passed is not None and self._entries.learn(args, kwargs, passed, result):
            self._open()
        return result

    def _recall(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether the disk has told of an entry for these arguments that was not known."""
        try:
            return self._entries.recall(args, kwargs)
        except (KeyError, AttributeError, IndexError, ValueError, TypeError):
            return False  # the long way says what is wrong with the arguments

    def _open(self) -> None:
        """Let calls go to the entries first from now on."""
        if self.__call__ == self._slow_call:
            self.__call__ = self._entries.door(self._slow_call)

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
        make = provider("phistar.stated").compile
        compiled = args[0].kept((self._slot, key, "whole"), lambda: make(self._function, args[0], frame=frames or None))
        places = tuple(range(len(compiled.inputs)))
        self._entries.keep(args[0], key, compiled.kernel, places, whole=compiled.recording.structure or True)
        self._open()
        try:
            return compiled(*given)
        except ShapeError:
            return NotImplemented  # the long way says what is wrong with the arguments

    def _entry(self, model: Model, frames: Any) -> Entry | None:
        return model.__dict__.get(self._slot + AT, {}).get(frames)

    @property
    def statements(self) -> dict[str, Expression]:
        return self.kernels.statements

    @cached_property
    def kernels(self) -> StatedKernels:
        """The module that compiles and evaluates statements, imported when it is first needed."""
        from phistar.stated_kernels import StatedKernels

        return StatedKernels(self._statement, self._matrix, self._form, self._slot)

    def nodes(self, symbols: Symbols) -> Mapping[str, Node]:
        """The statements over given symbols."""
        return self.kernels.nodes(symbols)

    def evaluate(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, f_ext: Any = None, frames: Any = ()
    ) -> np.ndarray:
        """The value of the one statement."""
        result, self._passed = self.kernels.evaluate(model, q, vectors, f_ext, frames)
        return result

    def evaluate_all(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, frames: tuple[str, ...] = ()
    ) -> dict[str, np.ndarray]:
        """The values of all statements; vectors as (…, rows), operators as (…, rows, columns).

        Traced numbers (n,), one state, are answered with traced numbers: the statements are recorded, not run.
        """
        return self.kernels.evaluate_all(model, q, vectors, frames)

    def kernel(self, model: Model, frames: tuple[str, ...]) -> tuple[Any, bool]:
        """Compiled code, kept on the model; operators with few rows are made as their adjoints and flipped."""
        return self.kernels.kernel(model, frames)

    def statements_for(
        self, model: Model, frames: tuple[str, ...], parameters: Any = (), flip: bool = True
    ) -> tuple[Statements, bool]:
        """Statements to compile for a robot, and whether they are the adjoints."""
        return self.kernels.statements_for(model, frames, parameters, flip)


def robot_by_name(kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the model among named arguments, for `check_robot`."""
    return (kwargs["model"],) if "model" in kwargs else ()


def _signature_and_statement(stated: StatedFunction[Any, Any]) -> str:
    """Signature and statement of a function: 'gravity_load(model, q): 𝒢'."""
    call = signature(stated)
    plain = [parameter.replace(annotation=parameter.empty) for parameter in call.parameters.values()]
    call = call.replace(parameters=plain, return_annotation=call.empty)
    named = [x.show() if name == "y" else f"{name} = {x.show()}" for name, x in stated.statements.items()]
    return f"<{vars(stated)['__name__']}{call}: {'; '.join(named)}>"
