"""Several robots in one algebra: operators of each, which meet at common points (RJK91 §5.3).

`A = ps.algebra({"left": …, "right": …}, frames=…)` has an algebra for each robot, `A.left.J`, `A.right.mass`, … Task
frames of different robots are the same points, in world axes: what robots do there adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.traces.solve import invert
from phistar.errors import ShapeError, StatementError, UnknownNameError
from phistar.expression.given import needed_vectors
from phistar.expression.statement import Expression
from phistar.expression.verdict import DIFFERENT, Verdict, between_same_spaces
from phistar.identities.completion import as_node
from phistar.identities.derivation import Derivation
from phistar.identities.law import Setting
from phistar.identities.polynomial import expand
from phistar.identities.proof import prove
from phistar.model import Model
from phistar.operators.interned import walks_its_node
from phistar.operators.nodes import (
    Adjoint,
    Identity,
    Inverse,
    Node,
    Product,
    Sum,
    Symbol,
    adjoint,
    inverse,
    product,
    summation,
)
from phistar.operators.robot_letters import letters_of_robots, merge_letters, replace_letters, robot_letter
from phistar.operators.show import latex, text
from phistar.operators.spaces import SCALARS, Space
from phistar.operators.symbols import Symbols

Robots = Mapping[str, Any]  # an Algebra each


@dataclass(frozen=True)
class RobotsAlgebra:
    """An algebra for each of several robots, as attributes or items: A.left, A["right"]."""

    robots: Robots

    def __getattr__(self, name: str) -> RobotSymbols:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.robots:
            raise UnknownNameError(f"The algebra has no robot {name!r}; it has {', '.join(self.robots)}.")
        return RobotSymbols(name, self.robots)

    __getitem__ = __getattr__

    def __dir__(self) -> list[str]:
        return [*self.robots]


@dataclass(frozen=True)
class RobotSymbols:
    """The symbols of one of several robots: A.left.J, A.left.mass, …"""

    robot: str
    robots: Robots

    def __getattr__(self, name: str) -> RobotStatement:
        if name.startswith("_"):
            raise AttributeError(name)
        return RobotStatement(robot_letter(self.robot, self._space_of(name)), self.robots)

    def _space_of(self, name: str) -> Node:
        node = getattr(self.robots[self.robot], name).node
        if node.domain is None:
            raise StatementError(f"Which space {name} acts on has to be said between robots; leave it out.")
        return node

    def __dir__(self) -> list[str]:
        return [x for x in dir(self.robots[self.robot]) if x not in ("expression", "symbols", "setting", "model")]


@dataclass(frozen=True, eq=False)
class RobotStatement:
    """A statement about several robots. `@ + - .T .inv` build new ones; the rest explains or evaluates.

    Examples
    --------
    >>> arms = {"left": ps.chain(7), "right": ps.chain(6)}
    >>> A = ps.algebra(arms, frames={"left": "tip", "right": "tip"})
    >>> mobility = [r.J @ r.mass.inv @ r.J.T for r in (A.left, A.right)]
    >>> (mobility[0] + mobility[1]).inv.simplify()
    ((B*ΩB)₍left₎ + (B*ΩB)₍right₎)⁻¹
    """

    node: Node
    robots: Robots

    __array_ufunc__ = None

    # Building

    def _with(self, node: Node, *others: Any) -> RobotStatement:
        for other in others:
            if not isinstance(other, RobotStatement):
                raise StatementError(f"{self} meets {type(other).__name__}, which is no statement about these robots.")
            if dict(other.robots) != dict(self.robots):
                raise StatementError(f"{self} and {other} are about different robots; take both from one algebra.")
        return replace(self, node=merge_letters(node))

    def __matmul__(self, other: RobotStatement) -> RobotStatement:
        return self._with(self.node, other)._then(lambda: product(self.node, other.node))

    def __add__(self, other: RobotStatement) -> RobotStatement:
        return self._with(self.node, other)._then(lambda: summation([(1, self.node), (1, other.node)]))

    def __sub__(self, other: RobotStatement) -> RobotStatement:
        return self._with(self.node, other)._then(lambda: summation([(1, self.node), (-1, other.node)]))

    def _then(self, make: Callable[[], Node]) -> RobotStatement:
        return replace(self, node=merge_letters(make()))

    def __neg__(self) -> RobotStatement:
        return self._with(summation([(-1, self.node)]))

    @property
    @walks_its_node
    def T(self) -> RobotStatement:
        """The adjoint."""
        return self._with(adjoint(self.node))

    @property
    def inv(self) -> RobotStatement:
        return self._with(inverse(self.node))

    # Explaining

    def show(self) -> str:
        return text(self.node)

    __str__ = __repr__ = show

    def latex(self) -> str:
        return latex(self.node)

    @property
    def parts(self) -> dict[str, list[Expression]]:
        """Expressions of each robot alone."""
        found: dict[str, list[Expression]] = {name: [] for name in self.robots}
        for letter in letters_of_robots(self.node):
            found[letter.name].append(self.robots[letter.name].expression(letter.of[0]))
        return found

    @walks_its_node
    def derivation(self) -> RobotDerivation:
        """Derivation of the cheapest form of each robot's expressions."""
        return RobotDerivation(
            self, self.simplify(), {n: [e.derivation(*_whole(e)) for e in x] for n, x in self.parts.items()}
        )

    @walks_its_node
    def simplify(self) -> RobotStatement:
        """Products multiplied out where letters of one robot meet, then each robot's part in its cheapest form."""
        node = merge_letters(as_node(expand(self.node))) if not isinstance(self.node, Inverse) else self.node
        cheapest = {}
        for letter in letters_of_robots(node):
            part = self.robots[letter.name].expression(letter.of[0])
            cheapest[letter] = robot_letter(letter.name, part.simplify(*_whole(part)).node)
        return replace(self, node=replace_letters(node, cheapest))

    @walks_its_node
    def equals(self, other: RobotStatement) -> Verdict:
        """Whether two statements about the same robots are one operator: proved, refuted at random states, or open."""
        self._with(self.node, other)
        ends = between_same_spaces(*(_plain_letters(x.simplify().node) for x in (self, other)))
        found = prove(*ends, Symbols(), Setting())
        if found is not None:
            return Verdict(self.node, other.node, True, found)
        if any(robot.model is None for robot in self.robots.values()):
            return Verdict(self.node, other.node, None)
        q = {name: robot.model.random(np.random.default_rng(0)) for name, robot in self.robots.items()}
        drawn = {name: _draw(robot.model) for name, robot in self.robots.items()}
        one, two = (x.dense(q, **drawn) for x in (self, other))
        scale = max(np.abs(one).max(initial=0.0), np.abs(two).max(initial=0.0))
        return Verdict(self.node, other.node, False if np.abs(one - two).max(initial=0.0) > DIFFERENT * scale else None)

    # Evaluating

    @walks_its_node
    def dense(self, q: Mapping[str, Any], **vectors: Mapping[str, Any]) -> Array:
        """The matrix straight from the definitions, (rows, columns), or the vector (rows).

        Parameters
        ----------
        q : {robot: array}
            A configuration of each robot.
        **vectors : {name: array}
            For each robot, the vectors that its statements name: `left={"v": …, "T": …}`.
        """
        value = _Values(self, q, vectors, dense=True).matrix(self.node)
        return value[:, 0] if self.node.domain == SCALARS else value

    @walks_its_node
    def apply(self, q: Mapping[str, Any], x: Any = None, **vectors: Mapping[str, Any]) -> Array:
        """The cheapest form of each robot's part run as sweeps: e·x, or the value of a vector statement."""
        if (x is None) != (self.node.domain == SCALARS):
            raise StatementError(
                f"{self} takes {'no operand' if x is not None else f'an operand in {self.node.domain}'}."
            )
        return _Values(self, q, vectors).product(self.node, None if x is None else np.asarray(x, dtype=float))


@dataclass(frozen=True, eq=False)
class RobotDerivation:
    """The derivations of each robot's part, and the whole that they make."""

    start: RobotStatement
    result: RobotStatement
    parts: Mapping[str, list[Derivation]]

    def __str__(self) -> str:
        told = [f"{name}:\n{part}" for name, parts in self.parts.items() for part in parts]
        return "\n".join([f"  {self.start}", f"= {self.result}", *told])

    __repr__ = __str__


def _plain_letters(node: Node) -> Node:
    """The same with letters of which nothing is known but their spaces."""
    known = {
        x: Symbol(text(x), x.source, x.target, x.traits & {"symmetric", "vector"}) for x in letters_of_robots(node)
    }
    return replace_letters(node, known)


def _whole(expression: Expression) -> tuple[bool]:
    """Whether a part is wanted as a matrix: between the spaces of points it is added to others."""
    return ((expression.node.domain or SCALARS).over == "task",)


def _draw(model: Model) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {name: rng.normal(size=model.nv) for name in ("v", "T", "qdd")}


class _Values:
    """Numbers of a statement about several robots at one state of each."""

    def __init__(
        self, statement: RobotStatement, q: Mapping[str, Any], vectors: Mapping[str, Any], dense: bool = False
    ) -> None:
        robots = statement.robots
        check_robots(robots, q, "q")
        for name in vectors:
            if name not in robots:
                raise UnknownNameError(f"There is no robot {name}; there are {', '.join(robots)}.")
        self.robots, self.q, self.vectors, self.as_matrices = robots, q, vectors, dense

    def letter(self, letter: Symbol, x: Any = None) -> np.ndarray:
        part = self.robots[letter.name].expression(letter.of[0])
        given = {n: v for n, v in self.vectors.get(letter.name, {}).items() if n in needed_vectors(letter.of[0])}
        if self.as_matrices:
            value = part.dense(self.q[letter.name], **given)
            return value if x is None else value @ x
        return part.apply(self.q[letter.name], x, **given)

    def product(self, node: Node, x: Any) -> np.ndarray:
        """node·x; of a vector statement x is None."""
        match node:
            case Symbol():
                return self.letter(node, x)
            case Product(factors=factors):
                for factor in reversed(factors):
                    x = self.product(factor, x)
                return x
            case Sum(terms=terms):
                return sum((float(c) * self.product(term, x) for c, term in terms), np.zeros(self.size(node.codomain)))
            case Inverse(of=inner):
                return np.linalg.solve(self.matrix(inner), x)
            case Adjoint():
                return self.matrix(node) @ x
        return x

    def matrix(self, node: Node) -> np.ndarray:
        match node:
            case Identity(space=space):
                return np.eye(self.size(space))
            case Symbol():
                return self.columns(node)
            case Product(factors=factors):
                return np.linalg.multi_dot([*map(self.matrix, factors)])
            case Sum(terms=terms):
                none = np.zeros((self.size(node.codomain), self.size(node.domain)))
                return sum((float(c) * self.matrix(term) for c, term in terms), none)
            case Inverse(of=inner):
                return np.asarray(invert(self.matrix(inner)))
            case Adjoint(of=inner):
                return self.matrix(inner).T
        raise AssertionError(type(node))

    def columns(self, letter: Symbol) -> np.ndarray:
        if letter.domain == SCALARS:
            return self.letter(letter)[:, None]
        if self.as_matrices:
            return self.letter(letter)
        return self.letter(letter, np.eye(self.size(letter.domain))).T

    def size(self, space: Space | None) -> int:
        assert space is not None
        return space_rows(space, self.robots)


def space_rows(space: Space, robots: Robots) -> int:
    """Entries of a vector in a space that robots share, or that one of them has."""
    if space == SCALARS:
        return 1
    if space.over == "task":
        return 6 * len(space.frames or ())
    (name,) = space.frames or ("",)
    model = robots[name].model
    if space.over not in ("joints", "links"):
        raise StatementError(
            f"Between robots and points there are rates, forces and motions of links; {space} is none."
        )
    return model.nv if space.over == "joints" else 6 * len(model.bodies)


def check_robots(robots: Robots, given: Mapping[str, Any], what: str) -> None:
    """Refuse values that are not one per robot."""
    if not isinstance(given, Mapping) or set(given) != set(robots):
        told = ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
        raise ShapeError(
            f"{what} is given per robot, {{{', '.join(f'{n!r}: …' for n in robots)}}}; it was given {told}."
        )
    abstract = [name for name, robot in robots.items() if robot.model is None]
    if abstract:
        raise StatementError(f"{', '.join(abstract)}: no model was named, so there is nothing to be evaluated for.")
