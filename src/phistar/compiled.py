"""`ps.compile`: any statement as a gufunc of q, its operand and, where asked, the robot's parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel, Statements, executor
from phistar.backends.program import COMPOSITE, is_wide, program_of
from phistar.backends.threads import spread
from phistar.errors import ShapeError, StatementError
from phistar.expression import Expression, algebra, check_frames
from phistar.identities.derivation import Derivation
from phistar.identities.rewriter import simplify
from phistar.model import Model
from phistar.operators.nodes import adjoint
from phistar.operators.spaces import SCALARS
from phistar.sweeps.algorithm import Algorithm
from phistar.sweeps.lower import GIVEN

PARAMETERS = ("inertia", "gravity")
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
        return Algorithm(program_of((("y", node),), e.symbols, e.setting, self.matrix, self.kernel.form))

    def __call__(self, *arrays: Any, out: np.ndarray | None = None) -> np.ndarray:
        if len(arrays) != len(self.kernel.rows):
            raise self._misfit(arrays, f"It takes {len(self.kernel.rows)} arrays, not {len(arrays)}.")
        options = {} if out is None else {"out": np.swapaxes(out, -1, -2) if self.flipped else out}
        try:
            result = spread(self.kernel.function, arrays, list(self.kernel.shapes), **options)
        except (ValueError, TypeError) as error:
            raise self._misfit(arrays, f"{error}.") from None
        return np.swapaxes(result, -1, -2) if self.flipped else result

    def _misfit(self, arrays: tuple[Any, ...], what: str) -> ShapeError:
        wanted = ", ".join(f"{name} (…, {n})" for name, n in zip(self.inputs, self.kernel.rows, strict=True))
        given = ", ".join(str(x.shape) if isinstance(x, np.ndarray) else type(x).__name__ for x in arrays)
        return ShapeError(f"{self.expression.show()} takes {wanted}; it was given {given}. {what}")


def compile(
    expression: Expression, model: Model | None = None, parameters: tuple[str, ...] = (), matrix: bool = False
) -> CompiledStatement:
    """e as machine code for a robot: gufunc(q, x, *parameters) giving e·x, or e itself with `matrix`.

    `parameters` become inputs instead of constants: "inertia", (…, 10·bodies) in the order of `ps.regressor`, and
    "gravity", (…, 3).
    """
    unknown = [name for name in parameters if name not in PARAMETERS]
    if unknown:
        raise StatementError(f"{unknown[0]!r} cannot be a parameter; choose from {', '.join(PARAMETERS)}.")
    e = _bound(expression, model)
    assert e.model is not None
    matrix = matrix and e.node.domain != SCALARS
    flipped = matrix and is_wide(e.node)
    named = (("y", adjoint(e.node) if flipped else e.node),)
    kernel = executor(Statements(named, e.symbols, e.setting, matrix, e.model, e.operators, tuple(parameters), e.form))
    if not isinstance(kernel, Kernel):
        raise StatementError(
            f"{e.show()} of {e.model.name} ({len(e.model.bodies)} bodies) is too long to write out as machine code "
            "and has no form that runs link by link; its value is had with e.apply(q, x)."
        )
    return CompiledStatement(e, kernel, flipped, matrix)


def _bound(expression: Expression, model: Model | None) -> Expression:
    """The expression about a robot; task symbols need frames on it."""
    if model is not None and expression.model is not model:
        bound = algebra(model, expression.symbols.frames or ())
        expression = replace(bound.expression(expression.node), operators=expression.operators, form=expression.form)
    if expression.model is None:
        raise StatementError(f"{expression.show()} is abstract; give a model: ps.compile(e, model).")
    check_frames(expression.node, expression.symbols)
    return expression
