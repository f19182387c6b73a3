"""Expression: a node of the algebra, the symbols it is written in, and (bound) the robot it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isfinite
from numbers import Integral, Real
from typing import Any, Literal, overload

import numpy as np

from phistar.array_types import Array
from phistar.backends.dense.definitions import Dense
from phistar.backends.dense.wide_definitions import WideDense
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.links.values import links_at
from phistar.backends.links.wide import mechanism_at
from phistar.backends.programs.derivations import ARTICULATED
from phistar.backends.programs.derived_programs import derived_program
from phistar.backends.programs.program import Evaluation
from phistar.errors import ShapeError, SpaceError, StatementError, UnknownNameError
from phistar.expression.calculus import Calculus
from phistar.expression.given import broadcast_vectors, check_all_given, check_frames, check_regular, checked_vectors
from phistar.expression.mechanisms import mechanisms, states_of
from phistar.expression.own_values import checked_operators, own_symbols, split_values
from phistar.expression.robot_forms import cost_on_robot, form_on_robot, search_on_robot
from phistar.expression.verdict import Verdict, between_same_spaces, find_counterexample
from phistar.identities.derivation import Derivation
from phistar.identities.law import Setting
from phistar.identities.proof import prove
from phistar.model import Model
from phistar.operators.interned import walks_its_node
from phistar.operators.nodes import Node, adjoint, inverse, product, summation
from phistar.operators.show import latex, text
from phistar.operators.spaces import SCALARS
from phistar.operators.symbols import Symbols
from phistar.sweeps.algorithm import Algorithm
from phistar.sweeps.cost import CostPolynomial, Count, cost_polynomial
from phistar.sweeps.ir import Program, Sweep
from phistar.sweeps.patterns import count
from phistar.sweeps.search import Search, cheapest


@dataclass(frozen=True, eq=False)
class Expression(Calculus):
    """An operator statement, together with the robot it is about. `@ + - .T .inv` build new ones; the rest explains or
    evaluates.

    Made from the operators of `ps.algebra`, or had as the `.statement` of a function.

    Examples
    --------
    >>> A = ps.algebra()
    >>> inverse = A.mass.inv
    >>> print(inverse.simplify())
    (I − HψK)*D⁻¹(I − HψK)
    >>> print(inverse.show())
    ℳ⁻¹
    """

    node: Node
    symbols: Symbols
    setting: Setting
    model: Model | None = None
    operators: Mapping[str, Any] = field(default_factory=dict)
    form: str = ARTICULATED

    __array_ufunc__ = None  # array @ statement comes here, and is answered with a sentence

    # Building

    def _with(self, node: Node, other: Expression | None = None) -> Expression:
        if other is not None and not self._same_algebra(other):
            raise SpaceError(
                f"{self.show()} and {other.show()} belong to different robots, frames or settings; "
                "take both from one algebra."
            )
        return replace(self, node=node)

    def _same_algebra(self, other: Expression) -> bool:
        mine, theirs = (self.model, self.symbols, self.setting), (other.model, other.symbols, other.setting)
        names = self.operators.keys() | other.operators.keys()
        missing = np.zeros(0)
        operators = all(np.array_equal(self.operators.get(n, missing), other.operators.get(n, missing)) for n in names)
        return mine == theirs and operators

    def __matmul__(self, other: Expression) -> Expression:
        return self._with(product(self.node, self._operand(other)), other)

    def __rmatmul__(self, other: object) -> Expression:
        return self._with(self._operand(other))

    def __add__(self, other: Expression) -> Expression:
        return self._with(summation([(1, self.node), (1, self._operand(other))]), other)

    def __sub__(self, other: Expression) -> Expression:
        return self._with(summation([(1, self.node), (-1, self._operand(other))]), other)

    def _operand(self, other: object) -> Node:
        if isinstance(other, Expression):
            return other.node
        raise StatementError(
            f"{self.show()} meets {type(other).__name__}, which is no statement. Numbers come in when a statement is "
            "evaluated: .apply(q, x) gives the product with x, .dense(q) the matrix; an identity is A.I."
        )

    def __radd__(self, other: object) -> Expression:
        return self._with(self._operand(other))

    __rsub__ = __radd__

    def __neg__(self) -> Expression:
        return self._with(summation([(-1, self.node)]))

    def __mul__(self, number: float | Fraction) -> Expression:
        if not _is_number(number):
            raise StatementError(
                f"{self.show()} * {_text_of(number)}: * takes a finite number; operators are composed with @."
            )
        return self._with(summation([(Fraction(number), self.node)]))

    __rmul__ = __mul__

    def __truediv__(self, number: float | Fraction) -> Expression:
        if not _is_number(number) or not number:
            raise StatementError(
                f"{self.show()} / {_text_of(number)}: / takes a finite number other than zero; the inverse of an "
                "operator is X.inv, and Y divided by X is Y @ X.inv or X.inv @ Y."
            )
        return self._with(summation([(1 / Fraction(number), self.node)]))

    def __rtruediv__(self, other: object) -> Expression:
        raise StatementError(f"{_text_of(other)} / ({self.show()}): the inverse of an operator is X.inv, or inv(X).")

    def __pow__(self, power: object) -> Expression:
        raise StatementError(
            f"({self.show()}) ** {_text_of(power)}: there are no powers; a square is X @ X and an inverse is X.inv."
        )

    @property
    @walks_its_node
    def T(self) -> Expression:
        """The adjoint."""
        return self._with(adjoint(self.node))

    @property
    def inv(self) -> Expression:
        return self._with(inverse(self.node))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Expression) and self.node is other.node
        return same and (self.model, self.symbols) == (other.model, other.symbols)  # type: ignore[union-attr]

    def __hash__(self) -> int:
        return hash((id(self.node), self.symbols))

    # Explaining

    def show(self) -> str:
        return text(self.node)

    __str__ = __repr__ = show

    def latex(self) -> str:
        return latex(self.node)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    @walks_its_node
    def derivation(self, matrix: bool = False) -> Derivation:
        """Derivation of the cheapest form: each step, its law and citation."""
        return cheapest(self.node, self.symbols, self.setting, matrix, True, form_on_robot(self, matrix))

    @overload
    def simplify(self, matrix: bool = False, explain: Literal[False] = False) -> Expression: ...
    @overload
    def simplify(self, matrix: bool = False, *, explain: Literal[True]) -> Search: ...
    @walks_its_node
    def simplify(self, matrix: bool = False, explain: bool = False) -> Expression | Search:
        """The cheapest form that the laws reach: the one whose program has the fewest operations, on the robot of a
        bound statement, else on a chain of thirty links.

        With `matrix` the operator itself is wanted, not its product with one vector; with `explain` the forms that were
        tried are given in place of the cheapest, each with its operations, as a table that prints. For a robot with few
        joints the table also has the form that runs where mass matrices are factored as numbers (R87, Fig. 4).

        Example
        -------
        >>> print((ps.algebra().J @ ps.algebra().mass.inv @ ps.algebra().T).simplify(explain=True))
        Jℳ⁻¹T: operations at n = 30
              16,313    B*ψ*H*D⁻¹(I − HψK)T
              17,843    B*ψ*(H*(D⁻¹ + G*[ΔG]) − [ΔG])T    by tip hears joint forces, tip hears link forces
              19,479    B*ψ*(H*D⁻¹ − ΩK)T    by omega decomposition
        """
        if explain:
            return search_on_robot(self, matrix)
        return self._with(self.derivation(matrix).result)

    @walks_its_node
    def program(self, matrix: bool = False) -> Program:
        """The sweeps of the cheapest form."""
        which = form_on_robot(self, matrix)
        named = (("y", self.node),)
        return derived_program(named, self.symbols, self.setting, matrix, self.form, (which,) if which else ())

    def algorithm(self, matrix: bool = False) -> Algorithm:
        """The recursion as the papers print it."""
        return Algorithm(self.program(matrix))

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        """The passes over the links, inward or outward."""
        return self.program().passes

    @walks_its_node
    def cost(self, n: int | None = None, matrix: bool = False) -> Count:
        """Operations of one evaluation, counted and not timed.

        Of a statement that is bound to a robot, the arithmetic instructions that `ps.compile` writes for this robot.
        Of an abstract one, the operations of its program on a serial chain of n links with revolute joints and general
        geometry, as the papers count.

        Parameters
        ----------
        n : int, optional
            Number of links; needed by an abstract statement. A bound statement has the links of its robot.
        matrix : bool
            Count the operator itself in place of its product with one vector.

        Returns
        -------
        Count
            Additions, multiplications, divisions and, of a robot, all other instructions; `.total` is their sum.

        Example
        -------
        >>> import phistar as ps
        >>> print(ps.algebra().phi.cost(7))
        144 additions, 144 multiplications, 0 divisions
        >>> robot = ps.chain(3)
        >>> statement = ps.algebra(robot).mass.inv
        >>> statement.cost().total == ps.compile(statement).operations
        True
        """
        if self.model is not None:
            return cost_on_robot(self, self.model, n, matrix)
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise StatementError(
                f"{self.show()}.cost({'' if n is None else repr(n)}): the statement is abstract, so it is counted for "
                "a number of links, a whole number from 1 on, e.g. cost(7); bound to a robot, cost() counts that one."
            )
        polynomial = self.cost_polynomial(matrix)
        return polynomial(int(n)) if n >= polynomial.from_n else count(self.program(matrix), int(n))

    @walks_its_node
    def cost_polynomial(self, matrix: bool = False) -> CostPolynomial:
        """Operations of the program as a polynomial in n, on a serial chain of n revolute links."""
        return cost_polynomial(self.program(matrix))

    @walks_its_node
    def equals(self, other: Expression) -> Verdict:
        """Whether two statements are one operator.

        Both are brought to normal form by the laws that define the symbols (a completed rule set); where that does not
        show them equal they are evaluated on random mechanisms of the algebra's kind, or at random states of the robot.

        Parameters
        ----------
        other : Expression
            A statement of the same algebra between the same spaces.

        Returns
        -------
        Verdict
            `.proved` is True (`.derivation` has the cited steps), False (`.counterexample` has the mechanism and the
            numbers) or None, not decided.

        Example
        -------
        >>> import phistar as ps
        >>> A = ps.algebra()
        >>> factor, whitening = A.I + A.H @ A.phi @ A.K, A.I - A.H @ A.psi @ A.K
        >>> factor.inv.equals(whitening).proved
        True
        >>> A.phi.equals(A.psi).proved
        False
        """
        right = self._operand(other)
        left, right = between_same_spaces(self._with(self.node, other).node, right)
        found = prove(left, right, self.symbols, self.setting)
        if found is not None:
            return Verdict(left, right, True, found)
        if self.model is None:
            tried = mechanisms(self.symbols, self.setting, (left, right))
        else:
            check_frames(left, self.symbols)
            tried = states_of(self.model, self.symbols.frames or (), self.operators, (left, right))
        shown = find_counterexample(left, right, tried)
        return Verdict(left, right, None if shown is None else False, None, shown)

    # Evaluating

    @walks_its_node
    def given(self, **values: Any) -> Expression:
        """The statement with numbers for operators of one's own, as constants: what `ps.compile` and export take."""
        own = own_symbols(self.node)
        for name in values:
            if name not in own or "vector" in own[name].traits:
                raise UnknownNameError(
                    f"{self.show()} has no operator {name} of your own; it has {', '.join(own) or 'none'}."
                )
        model = self._model_or_raise()
        made = checked_operators(self.node, values, self.operators, model, self.symbols.frames or ())
        return replace(self, operators=made)

    @walks_its_node
    def dense(self, q: Any, **vectors: Any) -> Array:
        """The matrix straight from the definitions, (…, rows, columns); a vector statement gives (…, rows).

        Vectors are named as in the algebra: v, qdd, T, f, a_g.
        """
        model = self._model_or_raise()
        check_frames(self.node, self.symbols)
        own, vectors = split_values(self.node, vectors)
        operators = checked_operators(self.node, own, self.operators, model, self.symbols.frames or ())
        given = checked_vectors(self.node, vectors, self.symbols, model)
        check_all_given(self.node, given, self.symbols, model)
        q, given = broadcast_vectors(model.checked_q(q), given)
        states = np.ndindex(*q.shape[:-1])
        spelled = {name: symbol.name for name, symbol in own_symbols(self.node).items()}
        given = {spelled.get(name, name): x for name, x in given.items()}
        results = [self._dense_at(model, q[at], {n: x[at] for n, x in given.items()}, operators) for at in states]
        if not results:
            raise ShapeError("dense() needs at least one configuration; q was empty.")
        return np.reshape(results, (*q.shape[:-1], *results[0].shape))

    def _dense_at(
        self, model: Model, q: np.ndarray, vectors: Mapping[str, Any], operators: Mapping[str, Any]
    ) -> np.ndarray:
        frames, gravity = self.symbols.frames or (), np.concatenate([np.zeros(3), -model.gravity])
        if has_wide_links(model):
            result = WideDense(mechanism_at(model, q, frames), frames, {"a_g": gravity, **vectors})(self.node)
        else:
            result = Dense(links_at(model, q, frames), {"a_g": gravity, **vectors}, dict(operators))(self.node)
        return result[:, 0] if self.node.domain == SCALARS else result

    @walks_its_node
    def apply(self, q: Any, x: Any = None, **vectors: Any) -> Array:
        """The cheapest form, run as sweeps: e·x for x (…, columns of e), or the value of a vector statement."""
        model = self._model_or_raise()
        check_frames(self.node, self.symbols)
        if (x is None) != (self.node.domain == SCALARS):
            wanted = (
                "no operand: it is a vector" if self.node.domain == SCALARS else f"an operand in {self.node.domain}"
            )
            raise StatementError(f"{self.show()} takes {wanted}.")
        own, vectors = split_values(self.node, vectors)
        operators = checked_operators(self.node, own, self.operators, model, self.symbols.frames or ())
        given: dict[str, Any] = dict(checked_vectors(self.node, vectors, self.symbols, model))
        value = self._run_sweeps(model, q, given if x is None else {**given, "x": x}, operators)
        check_regular(self.node, value, (q, *given.values(), *([] if x is None else [x])))
        return value[..., None] if self.node.codomain == SCALARS else value  # as many rows as its matrix has

    def _run_sweeps(self, model: Model, q: Any, given: Mapping[str, Any], operators: Mapping[str, Any]) -> np.ndarray:
        """The value, by the program's sweeps over the links."""
        program = derived_program((("y", self.node),), self.symbols, self.setting, False, self.form)
        return Evaluation(program, model, self.symbols.frames or (), operators)(q, given)["y"]

    def _model_or_raise(self) -> Model:
        if self.model is None:
            raise StatementError(
                f"{self.show()} is abstract: it has no robot to be evaluated for. Bind it: ps.algebra(model, frames=…)."
            )
        return self.model


def _is_number(number: object) -> bool:
    return isinstance(number, Real) and not isinstance(number, bool) and isfinite(number)


def _text_of(thing: object) -> str:
    return thing.show() if isinstance(thing, Expression) else repr(thing)[:60]
