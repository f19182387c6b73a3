"""`ps.compile`: any statement, or function written with phistar's, as machine code for a robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from phistar.backends.executor import Columns, executor
from phistar.backends.kernel import Kernel, Statements, compile_trace
from phistar.backends.machine.threads import STATES_PER_THREAD, spread
from phistar.backends.programs.program import COMPOSITE, derived_program, is_wide
from phistar.errors import ShapeError, StatementError
from phistar.expression import Expression
from phistar.identities.derivation import Derivation
from phistar.identities.rewriter import simplify
from phistar.model import Model
from phistar.operators.nodes import adjoint
from phistar.operators.spaces import SCALARS
from phistar.recording import Recording, bound, check_model, checked_parameters, record
from phistar.sweeps.algorithm import Algorithm
from phistar.sweeps.lower import GIVEN

_ASCII = {field: name for name, field in GIVEN.items()}


@dataclass(frozen=True, eq=False)
class CompiledStatement:
    """function(q, x, *vectors, *parameters): broadcasts over leading axes as NumPy does, takes `out=`."""

    expression: Expression
    kernel: Kernel
    flipped: bool
    matrix: bool

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
        """Which of equal statements was compiled, and the operations that decided it."""
        return self.kernel.choice

    def derivation(self) -> Derivation:
        """How the compiled form was reached."""
        e = self.expression
        return simplify(e.node, e.symbols, e.setting, self.matrix, self.kernel.form != COMPOSITE)

    def algorithm(self) -> Algorithm:
        """The recursion that was compiled."""
        e = self.expression
        node = adjoint(e.node) if self.flipped else e.node
        return Algorithm(derived_program((("y", node),), e.symbols, e.setting, self.matrix, self.kernel.form))

    def __call__(self, *arrays: Any, out: Any = None) -> np.ndarray:
        made = self._single(*arrays) if out is None else NotImplemented
        return self._called(arrays, out) if made is NotImplemented else made

    @cached_property
    def _single(self) -> Any:
        """One state at a time, or NotImplemented."""
        plain = isinstance(self.kernel.function, np.ufunc) and not self.flipped
        return self.kernel.single if plain else lambda *arrays: NotImplemented

    def _called(self, arrays: tuple[Any, ...], out: Any) -> np.ndarray:
        if len(arrays) != len(self.kernel.rows):
            raise self._misfit(arrays, f"It takes {len(self.kernel.rows)} arrays, not {len(arrays)}.")
        (room,) = out if isinstance(out, tuple) and len(out) == 1 else (out,)
        if room is not None and not isinstance(room, np.ndarray):
            raise self._misfit(arrays, "What `out` names must be an array.")
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
        """How many arguments there are where the first is the time and the result is one array; else 0."""
        plain = self.inputs[:1] == ("t",) and len(self.inputs) > 1 and self.recording.structure is None
        return len(self.inputs) if plain else 0

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        # A controller is called for one state at a time: that goes to the kernel at once.
        if len(arrays) == self._law and type(arrays[0]) is float and out is None:
            try:
                if arrays[1].size + arrays[-1].size < STATES_PER_THREAD:
                    return self.kernel.function(arrays[:1], *arrays[1:])
            except (AttributeError, ValueError, TypeError):
                pass  # the long way says what is wrong
        wanted = self.recording.arguments
        try:
            given = [_column(x) if name == "t" else x for (name, _), x in zip(wanted, arrays, strict=True)]
            results = spread(self.kernel.function, tuple(given), list(self.kernel.shapes), out)
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
    return np.asarray(number, dtype=float)[..., None]


@overload
def compile(
    expression: Expression, model: Model | None = None, parameters: Sequence[str] = (), matrix: bool = False
) -> CompiledStatement: ...
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
) -> CompiledStatement | CompiledFunction:
    """e as machine code for a robot: gufunc(q, x, *parameters) giving e·x, or e itself with `matrix`.

    `parameters` become inputs instead of constants: "inertia", (…, 10·bodies) in the order of `ps.regressor`, and
    "gravity", (…, 3).

    In place of a statement, a function of one state: one of phistar's, or one written with them and NumPy, such as a
    controller. Its arguments are known by their names: q, v, a, tau, …; t is one number; `frame` is the frame it is
    about; `rows` says how many entries others have. The function made takes them with leading axes, in order.
    """
    if not isinstance(expression, Expression):
        model = model if model is not None else getattr(expression, "model", None)
        if model is None:
            raise StatementError("A function is compiled for a robot; give a model: ps.compile(function, model).")
        recording = record(expression, model, frame, parameters, matrix, rows)
        entries, shapes = [n for _, n in recording.arguments], [shape for _, shape in recording.results]
        outputs = tuple(name for name, _ in recording.results)
        return CompiledFunction(recording, compile_trace(recording.trace, entries, shapes, recording.name, outputs))
    if frame is not None or rows is not None:
        raise StatementError("`frame` and `rows` are for functions; a statement has its frames from ps.algebra.")
    parameters = checked_parameters(parameters)
    model = model if model is not None else expression.model
    if model is None:
        raise StatementError(f"{expression.show()} is abstract; give a model: ps.compile(e, model).")
    check_model(model)
    e = bound(expression, model)
    matrix = matrix and e.node.domain != SCALARS
    flipped = matrix and is_wide(e.node)
    named = (("y", adjoint(e.node) if flipped else e.node),)
    kernel = executor(Statements(named, e.symbols, e.setting, matrix, model, e.operators, parameters, e.form))
    kernel = kernel.kernel() if isinstance(kernel, Columns) else kernel
    if not isinstance(kernel, Kernel):
        raise StatementError(
            f"{e.show()} of {model.name} ({len(model.bodies)} bodies) is too long to write out as machine code "
            "and has no form that runs link by link; its value is had with e.apply(q, x)."
        )
    return CompiledStatement(e, kernel, flipped, matrix)
