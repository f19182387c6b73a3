"""Derivatives with an axis more than a statement has, and log det with its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.link_sizes import space_sizes
from phistar.errors import ShapeError, StatementError
from phistar.expression.own_values import own_operators
from phistar.identities.derivation import Derivation
from phistar.operators.nodes import Symbol
from phistar.operators.rate_letters import log_det_gradient
from phistar.operators.spaces import SCALARS

if TYPE_CHECKING:
    from phistar.expression.statement import Expression


@dataclass(frozen=True, eq=False)
class OperatorDerivative:
    """∂X/∂q or ∂X/∂v of an operator X: a matrix for each direction, stacked along the last axis.

    `statement` is X's derivative along a direction named `direction`, which `ps.compile` takes as any other statement.

    Example
    -------
    >>> import numpy as np, phistar as ps
    >>> slope = ps.algebra(ps.chain(3)).mass.derivative(wrt="q")
    >>> print(slope)
    ∂(ℳ)/∂θ
    >>> slope.dense(np.ones(3)).shape
    (3, 3, 3)
    """

    of: Expression
    statement: Expression
    direction: str
    by_rates: bool = False

    def show(self) -> str:
        return f"∂({self.of.show()})/∂{'θ̇' if self.by_rates else 'θ'}"

    __str__ = __repr__ = show

    def latex(self) -> str:
        by = r"\dot\theta" if self.by_rates else r"\theta"
        return rf"\frac{{\partial({self.of.latex()})}}{{\partial{by}}}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def derivation(self, matrix: bool = False) -> Derivation:
        """Derivation of the cheapest form along one direction."""
        return self.statement.derivation(matrix)

    def dense(self, q: Any, **values: Any) -> Array:
        """Differences of the matrices, (…, rows, columns, nv); of a vector (…, rows, nv)."""
        q, units, given = self._each_direction(q, values)
        made = self.statement.dense(q, **{self.direction: units}, **given)
        return np.moveaxis(made, -2 if self.of.node.domain == SCALARS else -3, -1)

    def apply(self, q: Any, x: Any = None, **values: Any) -> Array:
        """The derivative of X·x for an x that is held, (…, rows, nv): one run of the sweeps per direction."""
        q, units, given = self._each_direction(q, values)
        operand = None if x is None else np.asarray(x, dtype=float)[..., None, :]
        return np.swapaxes(self.statement.apply(q, operand, **{self.direction: units}, **given), -1, -2)

    def _each_direction(self, q: Any, values: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Configurations and vectors with an axis for the directions before the last; unit directions."""
        model = self.statement.model
        if model is None:
            raise StatementError(f"{self.show()} is abstract; bind it to a robot: ps.algebra(model, frames=…).")
        if self.direction in values:
            raise ShapeError(f"{self.show()} is taken in every direction; {self.direction} is not given.")
        vectors = {name: np.asarray(value, dtype=float) for name, value in values.items()}
        given = {name: x if name in own_operators(self.of.node) else x[..., None, :] for name, x in vectors.items()}
        return model.checked_q(q)[..., None, :], np.eye(model.nv), given


@dataclass(frozen=True, eq=False)
class CompiledDerivative:
    """function(q, x, *vectors) of an `OperatorDerivative`: the kernel of one direction, over all of them."""

    derivative: OperatorDerivative
    kernel: Any

    @property
    def inputs(self) -> tuple[str, ...]:
        """The arguments in order."""
        return tuple(name for name in self.kernel.inputs if name != self.derivative.direction)

    @property
    def operations(self) -> int:
        """Arithmetic instructions per state."""
        return self.kernel.operations * self.kernel.expression.model.nv

    def __call__(self, *arrays: Any) -> Array:
        """(…, rows, nv), or with `matrix` (…, rows, columns, nv)."""
        wanted = self.inputs
        if len(arrays) != len(wanted):
            raise ShapeError(f"{self.derivative.show()} takes {', '.join(wanted)}; it was given {len(arrays)} arrays.")
        given = dict(zip(wanted, (np.asarray(x, dtype=float)[..., None, :] for x in arrays), strict=True))
        units = np.eye(self.kernel.expression.model.nv)
        made = self.kernel(*(given.get(name, units) for name in self.kernel.inputs))
        return np.moveaxis(made, -3 if self.kernel.matrix else -2, -1)


@dataclass(frozen=True, eq=False)
class LogDeterminant:
    """log det X = Σ log det D(k), by the block-diagonal D that X's triangular factors leave (RJK91 lemma 1)."""

    of: Expression
    diagonal: Expression

    def show(self) -> str:
        return f"log det({self.of.show()})"

    __str__ = __repr__ = show

    def latex(self) -> str:
        return rf"\log\det({self.of.latex()})"

    def value(self, q: Any, **values: Any) -> Array:
        """log det X, (…), in O(n): from the blocks of D."""
        model = self.of.model
        if model is None:
            raise StatementError(f"{self.show()} is abstract; bind it to a robot: ps.algebra(model, frames=…).")
        q = model.checked_q(q)
        most = max((joint.nv for joint in model.joints), default=0)
        total = np.zeros(q.shape[:-1])
        columns = [np.zeros(model.nv) for _ in range(most)]
        for joint in model.joints:
            for i in range(joint.nv):
                columns[i][joint.v_slice.start + i] = 1.0
        made = [self.diagonal.apply(q, column, **values) for column in columns]
        for joint in model.joints:
            block = np.stack([made[i][..., joint.v_slice] for i in range(joint.nv)], axis=-1)
            total = total + np.linalg.slogdet(block)[1]
        return total

    def dense(self, q: Any, **values: Any) -> Array:
        """log det of the matrix from the definitions, (…)."""
        return np.linalg.slogdet(self.of.dense(q, **values))[1]

    def derivative(self, *, wrt: str = "q") -> Expression:
        """∂log det X/∂θ, a vector of joint forces: −2H vex(ΔP⁺), in O(n)."""
        if wrt != "q":
            raise StatementError(f"derivative(wrt={wrt!r}): log det is differentiated by q, wrt='q'.")
        block = self.diagonal.node
        if not isinstance(block, Symbol) or block.name != "D":
            raise StatementError(
                f"{self.show()} has no gradient in closed form; it is {self.diagonal.show()} that says it."
            )
        return self.of._with(log_det_gradient(self.of.node, block))


@dataclass(frozen=True, eq=False)
class Trace:
    """tr X of an operator that maps a space to itself."""

    of: Expression

    def show(self) -> str:
        return f"tr({self.of.show()})"

    __str__ = __repr__ = show

    def latex(self) -> str:
        return rf"\\mathrm{{tr}}({self.of.latex()})"

    def value(self, q: Any, **values: Any) -> Array:
        """tr X, (…), by the sweeps applied to each unit vector."""
        model = self.of.model
        if model is None:
            raise StatementError(f"{self.show()} is abstract; bind it to a robot: ps.algebra(model, frames=…).")
        vectors = {name: np.asarray(x, dtype=float) for name, x in values.items()}
        given = {name: x if name in own_operators(self.of.node) else x[..., None, :] for name, x in vectors.items()}
        units = np.eye(space_sizes(model, self.of.symbols.frames or ())[self.of.node.domain.over])  # type: ignore[union-attr]
        made = self.of.apply(model.checked_q(q)[..., None, :], units, **given)
        return np.trace(made, axis1=-2, axis2=-1)

    def dense(self, q: Any, **values: Any) -> Array:
        """The trace of the matrix from the definitions, (…)."""
        return np.trace(self.of.dense(q, **values), axis1=-2, axis2=-1)

    def derivative(self, *, along: Expression) -> Trace:
        """∂tr X = tr ∂X along a direction."""
        return Trace(self.of.derivative(along=along))
