"""What users hold: a node of the algebra, the symbols it is written in, and (bound) the robot it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from phistar.backends.dense.definitions import Dense
from phistar.backends.links.values import has_constant_axes, has_rotors, has_siblings, links_at
from phistar.backends.programs.program import ARTICULATED, Evaluation, derived_program
from phistar.errors import ShapeError, SpaceError, StatementError, UnknownNameError
from phistar.identities.derivation import Derivation
from phistar.identities.law import Setting
from phistar.identities.polynomial import letters
from phistar.identities.rewriter import simplify
from phistar.model import Model
from phistar.operators.nodes import Node, Symbol, adjoint, inverse, product, summation
from phistar.operators.show import latex, text
from phistar.operators.spaces import SCALARS
from phistar.operators.symbols import NAMES, Symbols
from phistar.sweeps.algorithm import Algorithm
from phistar.sweeps.cost import CostPolynomial, Count, cost_polynomial
from phistar.sweeps.ir import Program, Sweep
from phistar.sweeps.patterns import count


@dataclass(frozen=True, eq=False)
class Expression:
    """An operator statement. `@ + - .T .inv` build new ones; the rest explains or evaluates it."""

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

    def __neg__(self) -> Expression:
        return self._with(summation([(-1, self.node)]))

    def __mul__(self, number: float | Fraction) -> Expression:
        if not isinstance(number, Real) or not isfinite(number):
            given = number.show() if isinstance(number, Expression) else repr(number)
            raise StatementError(f"{self.show()} * {given}: * takes a finite number; operators are composed with @.")
        return self._with(summation([(Fraction(number), self.node)]))

    __rmul__ = __mul__

    @property
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

    def derivation(self, matrix: bool = False) -> Derivation:
        """How the cheapest form is reached: each step, its law and citation."""
        return simplify(self.node, self.symbols, self.setting, matrix)

    def simplify(self, matrix: bool = False) -> Expression:
        """The cheapest form that the laws reach."""
        return self._with(self.derivation(matrix).result)

    def program(self, matrix: bool = False) -> Program:
        """The sweeps of the cheapest form."""
        return derived_program((("y", self.node),), self.symbols, self.setting, matrix, self.form)

    def algorithm(self, matrix: bool = False) -> Algorithm:
        """The recursion as the papers print it."""
        return Algorithm(self.program(matrix))

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        """The passes over the links, inward or outward."""
        return self.program().passes

    def cost(self, n: int, matrix: bool = False) -> Count:
        """Operations for a serial chain of n revolute links, counted on the program."""
        polynomial = self.cost_polynomial(matrix)
        return polynomial(n) if n >= polynomial.from_n else count(self.program(matrix), n)

    def cost_polynomial(self, matrix: bool = False) -> CostPolynomial:
        """The same count as a polynomial in n."""
        return cost_polynomial(self.program(matrix))

    # Evaluating

    def dense(self, q: Any, **vectors: Any) -> np.ndarray:
        """The matrix straight from the definitions, (…, rows, columns); a vector statement gives (…, rows).

        Vectors are named as in the algebra: v, qdd, T, f, a_g.
        """
        model = self._bound()
        q = model.checked(q, model.nq, "q")
        results = [self._dense_at(model, q[index], vectors) for index in np.ndindex(*q.shape[:-1])]
        if not results:
            raise ShapeError("dense() needs at least one configuration; q was empty.")
        return np.reshape(results, (*q.shape[:-1], *results[0].shape))

    def _dense_at(self, model: Model, q: np.ndarray, vectors: Mapping[str, Any]) -> np.ndarray:
        links = links_at(model, q, self.symbols.frames or ())
        gravity = np.concatenate([np.zeros(3), -model.gravity])
        result = Dense(links, {"a_g": gravity, **vectors}, dict(self.operators))(self.node)
        return result[:, 0] if self.node.domain == SCALARS else result

    def apply(self, q: Any, x: Any = None, **vectors: Any) -> np.ndarray:
        """The cheapest form, run as sweeps: e·x for x (…, columns of e), or the value of a vector statement."""
        model = self._bound()
        check_frames(self.node, self.symbols)
        if (x is None) != (self.node.domain == SCALARS):
            wanted = (
                "no operand: it is a vector" if self.node.domain == SCALARS else f"an operand in {self.node.domain}"
            )
            raise StatementError(f"{self.show()} takes {wanted}.")
        evaluation = Evaluation(self.program(), model, self.symbols.frames or (), self.operators)
        given = dict(vectors) if x is None else {**vectors, "x": x}
        value = evaluation(q, given)["y"]
        return value[..., None] if self.node.codomain == SCALARS else value  # as many rows as its matrix has

    def determinant(self) -> Expression:
        """The block-diagonal operator whose determinant this one's is: det ℳ = ∏ det D(k)."""
        result = simplify(inverse(self.node), self.symbols, self.setting).result
        memoryless = [f for f in getattr(result, "factors", (result,)) if _is_inverse_of_blocks(f)]
        unit = [f for f in getattr(result, "factors", ()) if f not in memoryless]
        if len(memoryless) != 1 or not all(_unit_triangular(f) for f in unit):
            raise StatementError(f"No law factors {self.show()} into unit triangular and block diagonal operators.")
        return self._with(inverse(memoryless[0]))

    def _bound(self) -> Model:
        if self.model is None:
            raise StatementError(
                f"{self.show()} is abstract: it has no robot to be evaluated for. Bind it: ps.algebra(model, frames=…)."
            )
        return self.model


def _is_inverse_of_blocks(node: Node) -> bool:
    inner = getattr(node, "of", None)
    return isinstance(inner, Symbol) and inner.name == "D"


def _unit_triangular(node: Node) -> bool:
    """I plus something strictly causal, or its adjoint."""
    return text(node).startswith("(I ") or text(node).startswith("I ")


@dataclass(frozen=True)
class Algebra:
    """The symbols as attributes: A.H, A.phi, A.psi, … Each is an Expression."""

    symbols: Symbols
    setting: Setting
    model: Model | None = None
    operators: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Expression:
        if name not in NAMES:
            if name.startswith("_"):
                raise AttributeError(name)
            near = [known for known in NAMES if known.lower() == name.lower()] or get_close_matches(name, NAMES)
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(NAMES)}."
            raise UnknownNameError(f"The algebra has no symbol {name!r}; {hint}")
        return self.expression(getattr(self.symbols, name))

    def __dir__(self) -> list[str]:
        return [*NAMES, "expression", "symbols", "setting", "model"]

    def expression(self, node: Node) -> Expression:
        return Expression(node, self.symbols, self.setting, self.model, self.operators)

    @cached_property
    def Lambda(self) -> Expression:
        """The operational-space inertia (Jℳ⁻¹J*)⁻¹."""
        s = self.symbols
        return self.expression((s.J @ s.mass.inv @ s.J.T).inv)


def algebra(
    model: Model | None = None,
    frames: str | list[str] | tuple[str, ...] = (),
    *,
    tree: bool = False,
    armature: bool = False,
    nonredundant: bool = False,
    Q: Any = None,
) -> Algebra:
    """The operators of a model with task frames, or (without a model) the abstract ones.

    Abstract, the mechanism is the papers': a serial chain with one tip and no armature, unless `tree` or `armature`.
    `Q` gives the closure operator, (rows, 6·frames).
    """
    names = (frames,) if isinstance(frames, str) else tuple(frames)
    if model is None:
        setting = Setting(not tree, not tree, not tree, not armature, nonredundant)
        return Algebra(Symbols(names or None, armature, siblings=tree), setting)
    operators = {} if Q is None else {"Q": np.asarray(Q, dtype=float)}
    return Algebra(symbols_of(model, names), setting_of(model, names), model, operators)


def check_frames(node: Node, symbols: Symbols) -> None:
    """Task symbols mean something only at named frames of a robot."""
    spaces = {space for x in letters(node) for space in (x.domain, x.codomain) if space and space.over == "task"}
    if spaces and not all(space.frames for space in spaces):
        raise StatementError(f"{text(node)} speaks of task frames, but none were named: ps.algebra(model, frames=[…]).")


def symbols_of(model: Model, frames: tuple[str, ...]) -> Symbols:
    """The symbols of a model: with armature, rotors and siblings where it has them."""
    return Symbols(frames, bool(np.any(model.armature)), rotors=has_rotors(model), siblings=has_siblings(model))


def setting_of(model: Model, frames: tuple[str, ...]) -> Setting:
    """What laws may assume of a model and frames on it."""
    bodies = [model.frame(name).body for name in frames]
    return Setting(
        serial=model.is_serial,
        tips=all(body < 0 or not model.children[body] for body in bodies),
        one_frame=len(frames) == 1,
        no_armature=not np.any(model.armature),
        nonredundant=model.nv <= 6 * len(frames),
        constant_axes=has_constant_axes(model),
    )
