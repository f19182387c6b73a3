"""Derivatives of statements: rates in time, along a direction, by q, and of log det."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, overload

from phistar.errors import StatementError
from phistar.expression.own_values import own_symbols
from phistar.expression.stacked import LogDeterminant, OperatorDerivative, Trace
from phistar.identities.law import Setting
from phistar.identities.polynomial import is_unit_triangular, letters
from phistar.identities.rates import depends_on_motion, rate_of
from phistar.identities.rewriter import simplify
from phistar.identities.vector_derivatives import differentiate
from phistar.operators.interned import walks_its_node
from phistar.operators.linearized import ACCELERATION, PLACE, VELOCITY, partial
from phistar.operators.nodes import Adjoint, Identity, Inverse, Node, Product, Symbol, adjoint, inverse
from phistar.operators.own import is_own_vector, own_vector
from phistar.operators.rate_letters import HELD, RATE, RECURSIVE, gradient, rate
from phistar.operators.show import text
from phistar.operators.spaces import RATES, SCALARS
from phistar.operators.symbols import Symbols

if TYPE_CHECKING:
    from phistar.expression.statement import Expression

_DIRECTIONS = ("v", "qdd", "v_ref")
_BY = {"q": PLACE, "v": VELOCITY, "qdd": ACCELERATION}


class Calculus(ABC):
    """Derivatives of a node over the symbols of a mechanism."""

    node: Node
    symbols: Symbols
    setting: Setting

    @abstractmethod
    def _with(self, node: Node, other: Any = None) -> Expression:
        """Another statement about the same robot."""

    @walks_its_node
    def rate(self) -> Expression:
        """The rate of the statement in time, along a motion with q̇ = v and v̇ = qdd.

        φ̇ = φ ℰφ˙ φ with ℰφ˙ = −ℰφ[H*θ̇]~*, ℳ̇, J̇, ψ̇ and Λ̇ follow by the product rule (RJK91 §6; SRW22).

        Returns
        -------
        Expression
            Evaluated with v, and with qdd where the statement depends on v.

        Raises
        ------
        StatementError
            Where a vector that is given with the state (T, f, …) takes part: its rate is not known.

        Example
        -------
        >>> import numpy as np, phistar as ps
        >>> A = ps.algebra(ps.chain(3))
        >>> A.mass.rate().show()
        'ℳ̇'
        >>> q, v = np.full(3, 0.3), np.ones(3)
        >>> step = 1e-6 * v
        >>> slope = (A.mass.dense(q + step) - A.mass.dense(q - step)) / 2e-6
        >>> bool(np.allclose(A.mass.rate().simplify().dense(q, v=v), slope, atol=1e-8))
        True
        """
        changing = self.symbols.qdd if depends_on_motion(self.node) else None
        return self._check(rate(self.node, self.symbols.v, changing))

    @overload
    def derivative(self, *, along: Expression) -> Expression: ...
    @overload
    def derivative(self, *, wrt: str) -> Expression | OperatorDerivative: ...
    @walks_its_node
    def derivative(self, *, along: Expression | None = None, wrt: str | None = None) -> Expression | OperatorDerivative:
        """The derivative of the statement by the configuration, in the tangent space of `model.integrate`, or by the
        joint rates and accelerations.

        Along w it is d/dε at q ⊕ εw: an operator between the same spaces. By q it has one more axis, the last, with
        nv entries: of a scalar the gradient (…, nv), joint forces; of a vector x the operator ∂x/∂θ, (…, rows, nv),
        which is applied to rates in O(n); of an operator (…, rows, columns, nv). By v and by qdd likewise. Of what is
        differentiated once these are the second derivatives.

        Parameters
        ----------
        along : Expression
            A vector in Rates that is given: A.v, A.qdd or A.vector("w", "Rates").
        wrt : "q", "v" or "qdd"
            By every direction; by qdd vectors and numbers alone.

        Returns
        -------
        Expression or OperatorDerivative
            A statement; of an operator, what stacks the statements along the unit directions.

        Example
        -------
        >>> import numpy as np, phistar as ps
        >>> A = ps.algebra(ps.chain(3))
        >>> w = A.vector("w", "Rates")
        >>> A.mass.derivative(along=w).apply(np.ones(3), np.ones(3), w=[1.0, 0.0, 0.0]).shape
        (3,)
        >>> A.mass.derivative(wrt="q").apply(np.ones(3), np.ones(3)).shape
        (3, 3)
        >>> energy = A.v.T @ A.mass @ A.v / 2
        >>> energy.derivative(wrt="q").apply(np.ones(3), v=np.ones(3)).shape
        (3,)
        """
        if (along is None) == (wrt is None):
            raise StatementError("derivative() takes a direction, along=A.v, or wrt='q', 'v' or 'qdd', one of the two.")
        if along is not None:
            return self._check(rate(self.node, self._direction(along)))
        if wrt not in _BY:
            raise StatementError(
                f"derivative(wrt={wrt!r}): statements are differentiated by q, v or qdd: wrt='q', wrt='v' or wrt='qdd'."
            )
        return self._by(_BY[wrt])

    @walks_its_node
    def log_determinant(self) -> LogDeterminant:
        """log det X of an operator that laws factor into unit triangular and block-diagonal ones.

        log det ℳ = Σ log det D(k) (RJK91 lemma 1); its gradient by q is −2H vex(Δ P⁺), made in O(n). Fixman's
        potential is ½ k_B T log det ℳ.

        Returns
        -------
        LogDeterminant
            With `.value(q)`, `.dense(q)` and `.derivative(wrt="q")`, a statement.

        Example
        -------
        >>> import numpy as np, phistar as ps
        >>> potential = ps.algebra(ps.chain(3)).mass.log_determinant()
        >>> print(potential.derivative(wrt="q").simplify())
        −2·(Hvex(Δ(P − GDG*)))
        >>> potential.derivative(wrt="q").apply(np.ones(3)).shape
        (3,)
        """
        return LogDeterminant(self._with(self.node), self.determinant())

    @walks_its_node
    def trace(self) -> Trace:
        """tr X of an operator that maps a space to itself, such as tr(Λ⁻¹U) or tr(D⁻¹Ḋ).

        Example
        -------
        >>> import numpy as np, phistar as ps
        >>> A = ps.algebra(ps.chain(3))
        >>> bool(np.isclose((A.mass.inv @ A.mass).trace().value(np.ones(3)), 3.0))
        True
        """
        node = self.node
        if node.domain is None or node.domain != node.codomain or node.domain == SCALARS:
            raise StatementError(
                f"tr({text(node)}): the operator maps {node.domain} to {node.codomain}, and traces are of those that "
                "map a space to itself; a metric makes it one, such as U, U.inv, U_task or one of your own."
            )
        return Trace(self._with(node))

    @walks_its_node
    def determinant(self) -> Expression:
        """The block-diagonal operator that has the same determinant: det ℳ = ∏ det D(k), det φ = 1.

        Of an operator on task space, which is small, its cheapest form.

        Example
        -------
        >>> import phistar as ps
        >>> A = ps.algebra()
        >>> A.mass.determinant(), A.phi.determinant()
        (D, I)
        """
        node = self.node
        if _is_unit(node):
            assert node.domain is not None
            return self._with(Identity(node.domain))
        if node.domain is not None and node.domain.over in ("task", "closures", "base"):
            return self._with(simplify(node, self.symbols, self.setting, True).result)
        result = simplify(inverse(node), self.symbols, self.setting).result
        memoryless = [f for f in getattr(result, "factors", (result,)) if _is_inverse_of_blocks(f)]
        unit = [f for f in getattr(result, "factors", ()) if f not in memoryless]
        if len(memoryless) != 1 or not all(map(_is_unit, unit)):
            raise StatementError(f"No law factors {text(node)} into unit triangular and block diagonal operators.")
        return self._with(inverse(memoryless[0]))

    def _by(self, by: str) -> Expression | OperatorDerivative:
        node, s = self.node, self.symbols
        by_vector = node.domain == SCALARS and self.setting.constant_axes
        if by_vector and not _has_recursive_letters(node):
            made = partial(node, by)
            differentiate(made, s)  # what no law differentiates is said at once
            if node.codomain == SCALARS:
                return self._with(gradient(node) if by == PLACE else adjoint(made))
            return self._with(made)
        if by == ACCELERATION:
            raise StatementError(
                f"∂({text(node)})/∂θ̈: vectors made of joints with constant axes are differentiated by qdd; what is "
                "linear in it, as joint forces are, has the same derivative everywhere."
            )
        taken, name = own_symbols(node), "dq" if by == PLACE else "dv"
        while name in taken:
            name += "_"
        along = own_vector(name, RATES)
        made = rate(node, along) if by == PLACE else rate(node, HELD, along)
        return OperatorDerivative(self._with(node), self._check(made), name, by == VELOCITY)

    def _direction(self, along: Expression) -> Symbol:
        node = along.node
        if node.domain != SCALARS or node.codomain != RATES:
            raise StatementError(
                f"derivative(along={text(node)}): a direction is a vector in Rates, and this maps {node.domain} to "
                f"{node.codomain}."
            )
        if not isinstance(node, Symbol) or not (is_own_vector(node) or node.name in _DIRECTIONS):
            raise StatementError(
                f"derivative(along={text(node)}): a direction is given with the state: A.v, A.qdd or one's own, "
                'A.vector("w", "Rates").'
            )
        return node

    def _check(self, made: Symbol) -> Expression:
        """Refuse at once what no law differentiates."""
        rate_of(made, self.symbols, self.setting)
        return self._with(made)


def _has_recursive_letters(node: Node) -> bool:
    """Whether a vector is made with P, D, G, …, whose derivatives are taken along a direction."""
    made = (*RECURSIVE, "psi", "K", "E_psi", "W", RATE)
    return any(isinstance(x, Symbol) and x.name in made for x in letters(node))


def _is_unit(node: Node) -> bool:
    """Whether a node is triangular with identities on its diagonal."""
    match node:
        case Identity():
            return True
        case Product(factors=factors):
            return all(map(_is_unit, factors))
        case Adjoint(of=inner) | Inverse(of=inner):
            return _is_unit(inner)
        case Symbol(name=name):
            return name in ("phi", "psi", "phi_b")
    return is_unit_triangular(node)


def _is_inverse_of_blocks(node: Node) -> bool:
    inner = getattr(node, "of", None)
    return isinstance(inner, Symbol) and inner.name == "D"
