"""`ps.compile`: any statement as a gufunc of q, its operand and, where asked, the robot's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel, Statements, compile_statements
from phistar.backends.program import is_wide
from phistar.backends.threads import spread
from phistar.errors import StatementError
from phistar.expression import Expression, algebra
from phistar.model import Model
from phistar.operators.nodes import adjoint
from phistar.operators.spaces import SCALARS
from phistar.sweeps.lower import GIVEN

PARAMETERS = ("inertia", "gravity")
_ASCII = {field: name for name, field in GIVEN.items()}


@dataclass(frozen=True, eq=False)
class CompiledStatement:
    """function(q, x, *vectors, *parameters): broadcasts over leading axes as NumPy does, takes `out=`."""

    expression: Expression
    kernel: Kernel
    flipped: bool

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

    def __call__(self, *arrays: Any, out: np.ndarray | None = None) -> np.ndarray:
        options = {} if out is None else {"out": np.swapaxes(out, -1, -2) if self.flipped else out}
        result = spread(self.kernel.function, arrays, list(self.kernel.shapes), **options)
        return np.swapaxes(result, -1, -2) if self.flipped else result


def compile(
    expression: Expression, model: Model | None = None, parameters: tuple[str, ...] = (), matrix: bool = False
) -> CompiledStatement:
    """e as machine code for a robot: gufunc(q, x, *parameters) giving e·x, or e itself with `matrix`.

    `parameters` become inputs instead of constants: "inertia", (…, 10·bodies) in the order of `ps.regressor`, and
    "gravity", (…, 3).
    """
    if model is not None and expression.model is not model:
        frames = expression.symbols.frames or ()
        bound = algebra(model, frames)
        expression = bound.expression(expression.node)
    if expression.model is None:
        raise StatementError(f"{expression.show()} is abstract; give a model: ps.compile(e, model).")
    unknown = [name for name in parameters if name not in PARAMETERS]
    if unknown:
        raise StatementError(f"{unknown[0]!r} cannot be a parameter; choose from {', '.join(PARAMETERS)}.")
    matrix = matrix and expression.node.domain != SCALARS
    flipped = matrix and is_wide(expression.node)
    node = adjoint(expression.node) if flipped else expression.node
    statements = Statements(
        (("y", node),),
        expression.symbols,
        expression.setting,
        matrix,
        expression.model,
        expression.operators,
        tuple(parameters),
    )
    return CompiledStatement(expression, compile_statements(statements), flipped)
