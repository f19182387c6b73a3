"""Values that a statement computes, as a hash-consed graph: equal ones are one object, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from phistar.operators.interned import Unique
from phistar.operators.nodes import Node
from phistar.operators.spaces import SCALARS, Space


@dataclass(frozen=True, eq=False)
class Value(Unique):
    """Abstract: something the program computes, in `space`."""


@dataclass(frozen=True, eq=False)
class Operand(Value):
    """The operand of a statement: a vector x of the space, or (columns) the identity on it."""

    space: Space
    columns: bool


@dataclass(frozen=True, eq=False)
class Apply(Value):
    """An operator letter applied to a value; a vector symbol is applied to the scalar operand."""

    letter: Node
    argument: Value

    @property
    def space(self) -> Space:
        assert self.letter.codomain is not None
        return self.letter.codomain


@dataclass(frozen=True, eq=False)
class Total(Value):
    terms: tuple[tuple[Fraction, Value], ...]
    space: Space


@dataclass(frozen=True, eq=False)
class Solve(Value):
    """X⁻¹y for an operator that no law inverts: `matrix` is X applied to the identity."""

    matrix: Value
    argument: Value
    space: Space
    symmetric: bool

    def with_argument(self, argument: Value) -> Solve:
        return Solve(self.matrix, argument, self.space, self.symmetric)


@dataclass(frozen=True, eq=False)
class Bracketed(Value):
    """x~y, F^y or [X]y: a letter made from another value, the vector that it is the bracket of or blocks that are taken
    together, or its adjoint; applied to a value."""

    letter: Node
    made_from: Value
    argument: Value

    def with_argument(self, argument: Value) -> Bracketed:
        return Bracketed(self.letter, self.made_from, argument)

    @property
    def space(self) -> Space:
        assert self.letter.codomain is not None
        return self.letter.codomain


@dataclass(frozen=True, eq=False)
class Blocks(Value):
    """A memoryless operator itself, block by block; `vectors` are those that its letters are brackets of."""

    node: Node
    vectors: tuple[Value, ...]
    space: Space


@dataclass(frozen=True, eq=False)
class Pairing(Value):
    """x*y, a scalar: a vector symbol that stands to the left, as in V*MV."""

    vector: Value
    argument: Value
    space: Space = SCALARS


ONE = Operand(SCALARS, False)


def operand_of(node: Node, columns: bool = False) -> Value:
    assert node.domain is not None
    return ONE if node.domain == SCALARS else Operand(node.domain, columns)


def walk(root: Value) -> list[Value]:
    """Every value below `root` once, arguments first."""
    seen: dict[Value, None] = {}
    stack: list[tuple[Value, bool]] = [(root, False)]
    while stack:
        value, ready = stack.pop()
        if value in seen:
            continue
        if ready:
            seen[value] = None
        else:
            stack.append((value, True))
            stack.extend((child, False) for child in reversed(arguments(value)))
    return list(seen)


def arguments(value: Value) -> tuple[Value, ...]:
    match value:
        case Apply(argument=argument):
            return (argument,)
        case Total(terms=terms):
            return tuple(inner for _, inner in terms)
        case Solve(matrix=matrix, argument=argument):
            return (matrix, argument)
        case Pairing(vector=vector, argument=argument) | Bracketed(made_from=vector, argument=argument):
            return (vector, argument)
        case Blocks(vectors=vectors):
            return vectors
    return ()
