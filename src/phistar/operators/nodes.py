"""The six kinds of node that every operator statement is built from: frozen, interned, products and sums flat.

Interning makes equality identity, so that a law can look for a factor by `is` and a program can share what it computes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from phistar.errors import SpaceError, StatementError
from phistar.operators.interned import ONE, Unique, collect, times, walks
from phistar.operators.spaces import Space

MOST_FACTORS, DEEPEST = 1000, 150
"""Limits on factors of one product and on nested operations: far above what people write, and far below what would take
unbounded time or memory to rewrite."""


@dataclass(frozen=True, eq=False)
class Node(Unique):
    """Abstract. `domain` → `codomain`; None on both only for an identity that has not met its space yet."""

    @property
    def domain(self) -> Space | None:
        raise NotImplementedError

    @property
    def codomain(self) -> Space | None:
        raise NotImplementedError

    @property
    def parts(self) -> tuple[Node, ...]:
        """The nodes that it is made of."""
        return ()

    @cached_property
    def depth(self) -> int:
        """Nested operations."""
        return 1 + max((part.depth for part in self.parts), default=-1)

    def __post_init__(self) -> None:
        if self.depth > DEEPEST:
            raise StatementError(
                f"A statement is nested more than {DEEPEST} operations deep; name a part of it with a symbol."
            )

    def __matmul__(self, other: Node) -> Node:
        return product(self, other)

    def __add__(self, other: Node) -> Node:
        return summation([(1, self), (1, other)])

    def __sub__(self, other: Node) -> Node:
        return summation([(1, self), (-1, other)])

    def __neg__(self) -> Node:
        return summation([(-1, self)])

    def __rmul__(self, coefficient: Fraction | int) -> Node:
        return summation([(coefficient, self)])

    @property
    def T(self) -> Node:
        """The adjoint."""
        return adjoint(self)

    @property
    def inv(self) -> Node:
        return inverse(self)

    def __repr__(self) -> str:
        from phistar.operators.show import text

        return text(self)


@dataclass(frozen=True, eq=False, repr=False)
class Symbol(Node):
    """A named operator, or a vector (a map from the scalars).

    `traits` are tested facts: memoryless, causal, strict, symmetric, positive, vector. `of` holds the nodes that the
    symbol is made from, e.g. the mass and armature whose Riccati equation defines P.
    """

    name: str
    source: Space
    target: Space
    traits: frozenset[str]
    of: tuple[Node, ...] = ()

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.of

    @property
    def domain(self) -> Space:
        return self.source

    @property
    def codomain(self) -> Space:
        return self.target


@dataclass(frozen=True, eq=False, repr=False)
class Identity(Node):
    space: Space | None

    @property
    def domain(self) -> Space | None:
        return self.space

    @property
    def codomain(self) -> Space | None:
        return self.space


@dataclass(frozen=True, eq=False, repr=False)
class Product(Node):
    factors: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.factors

    @property
    def domain(self) -> Space | None:
        return self.factors[-1].domain

    @property
    def codomain(self) -> Space | None:
        return self.factors[0].codomain


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Node):
    """Σ cᵢ Xᵢ with rational coefficients; the empty sum is the zero operator."""

    terms: tuple[tuple[Fraction, Node], ...]
    source: Space | None
    target: Space | None

    @property
    def parts(self) -> tuple[Node, ...]:
        return tuple(term for _, term in self.terms)

    @property
    def domain(self) -> Space | None:
        return self.source

    @property
    def codomain(self) -> Space | None:
        return self.target


@dataclass(frozen=True, eq=False, repr=False)
class Adjoint(Node):
    of: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.of,)

    @property
    def domain(self) -> Space | None:
        return _dual(self.of.codomain)

    @property
    def codomain(self) -> Space | None:
        return _dual(self.of.domain)


@dataclass(frozen=True, eq=False, repr=False)
class Inverse(Node):
    of: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.of,)

    @property
    def domain(self) -> Space | None:
        return self.of.codomain

    @property
    def codomain(self) -> Space | None:
        return self.of.domain


@walks
def spelling(node: Node) -> str:
    """An exact name: equal for one node only, the same in every process. What is shown to people is not."""
    return _spell(node)


def _spell(node: Node) -> str:
    match node:
        case Symbol(name=name, source=source, target=target, of=of):
            made_from = "".join(f"<{_spell(part)}>" for part in of)
            return f"{name}:{source}→{target}{made_from}"
        case Identity(space=space):
            return f"I:{space}"
        case Product(factors=factors):
            return "·".join(f"({_spell(f)})" for f in factors)
        case Sum(terms=terms, source=source, target=target):
            return f"Σ[{','.join(f'{c}*({_spell(t)})' for c, t in terms)}]:{source}→{target}"
        case Adjoint(of=inner):
            return f"({_spell(inner)})*"
        case Inverse(of=inner):
            return f"({_spell(inner)})⁻¹"
    raise AssertionError(type(node))


def _dual(space: Space | None) -> Space | None:
    return None if space is None else space.dual


def identity(space: Space | None = None) -> Identity:
    return Identity(space)


def zero(source: Space | None, target: Space | None) -> Sum:
    return Sum((), source, target)


def product(*factors: Node) -> Node:
    """X₁X₂…: checks that neighbours fit, drops identities, flattens, pulls coefficients to the front."""
    flat: list[Node] = []
    for factor in factors:
        flat.extend(factor.factors if isinstance(factor, Product) else (factor,))
    if len(flat) > MOST_FACTORS:
        raise StatementError(f"A product has more than {MOST_FACTORS} factors; name a part of it with a symbol.")
    flat = _with_spaces(flat)
    for left, right in itertools.pairwise(flat):
        if left.domain != right.codomain:
            raise SpaceError(_misfit(left, right))
    source, target = flat[-1].domain, flat[0].codomain
    coefficient, kept = ONE, []
    for factor in flat:
        if isinstance(factor, Sum) and len(factor.terms) <= 1:
            if not factor.terms:
                return zero(source, target)
            scale, factor = factor.terms[0]
            coefficient = times(coefficient, scale)
        if isinstance(factor, Product):
            kept.extend(factor.factors)
        elif not isinstance(factor, Identity):
            kept.append(factor)
    body = Identity(source) if not kept else kept[0] if len(kept) == 1 else Product(tuple(kept))
    return scale_by(coefficient, body)


def summation(terms: Iterable[tuple[Fraction | int, Node]]) -> Node:
    """Σ cᵢXᵢ: checks spaces, flattens, collects equal terms, drops zeros; order of first appearance is kept."""
    given = [(c if isinstance(c, Fraction) else Fraction(c), node) for c, node in terms]
    spaced = next((node for _, node in given if node.domain is not None), None)
    if spaced is not None:
        given = [(c, _identity_as(node, spaced)) for c, node in given]
        for _, node in given:
            if (node.domain, node.codomain) != (spaced.domain, spaced.codomain):
                raise SpaceError(
                    f"{spaced!r} maps {spaced.domain} to {spaced.codomain}, but {node!r} maps {node.domain} to "
                    f"{node.codomain}: only operators between the same spaces can be added."
                )
    collected: dict[Node, Fraction] = {}
    for c, node in given:
        for inner_c, inner in node.terms if isinstance(node, Sum) else ((ONE, node),):
            collect(collected, inner, times(c, inner_c))
    kept = tuple((c, node) for node, c in collected.items() if c)
    if len(kept) == 1 and kept[0][0] == 1:
        return kept[0][1]
    if len(kept) > MOST_FACTORS:
        raise StatementError(f"A sum has more than {MOST_FACTORS} terms; name a part of it with a symbol.")
    return Sum(kept, spaced.domain if spaced else None, spaced.codomain if spaced else None)


def scale_by(coefficient: Fraction | int, node: Node) -> Node:
    return node if coefficient == 1 else summation([(coefficient, node)])


def adjoint(node: Node) -> Node:
    """X*: (AB)* = B*A*, X** = X, symmetric symbols are their own adjoint; a sum keeps its star for the reader."""
    match node:
        case Adjoint(of=inner):
            return inner
        case Product(factors=factors):
            return Product(tuple(adjoint(f) for f in reversed(factors)))
        case Identity(space=space):
            return Identity(_dual(space))
        case Sum(terms=terms, source=source, target=target) if len(terms) <= 1:
            return Sum(tuple((c, adjoint(x)) for c, x in terms), _dual(target), _dual(source))
        case Symbol() if "symmetric" in node.traits:
            return node
        case Inverse(of=inner):
            return Inverse(adjoint(inner))
        case Sum() if is_symmetric(node):
            return node
    return Adjoint(node)


def is_symmetric(node: Sum) -> bool:
    """Whether the terms of a sum are each other's adjoints."""
    terms = {term: c for c, term in node.terms}
    return all(terms.get(adjoint(term)) == c for c, term in node.terms)


def inverse(node: Node) -> Node:
    """X⁻¹: (X⁻¹)⁻¹ = X, I⁻¹ = I; the space must be mapped onto one of the same kind and size."""
    match node:
        case Inverse(of=inner):
            return inner
        case Identity():
            return node
        case Sum(terms=()):
            raise StatementError("The zero operator has no inverse.")
        case Sum(terms=((c, term),)):
            return scale_by(1 / c, inverse(term))
    source, target = node.domain, node.codomain
    if source and target and (source.over, source.frames) != (target.over, target.frames):
        raise StatementError(
            f"({node!r})⁻¹: the operator maps {source} to {target}, which are of different size, so it has no inverse. "
            "Invert a square operator, e.g. mass or J @ inv(mass) @ J.T."
        )
    return Inverse(node)


def _identity_as(node: Node, like: Node) -> Node:
    """Give a free identity (or a multiple of it) the space of its neighbours in a sum."""
    if node.domain is not None:
        return node
    if like.domain != like.codomain:
        raise SpaceError(f"I + X needs X to map a space to itself, but {like!r} maps {like.domain} to {like.codomain}.")
    return _on_space(node, like.domain)


def _on_space(node: Node, space: Space | None) -> Node:
    if isinstance(node, Sum):
        return summation([(1, zero(space, space)), *((c, _on_space(term, space)) for c, term in node.terms)])
    return Identity(space)


def _with_spaces(factors: list[Node]) -> list[Node]:
    """Give free identities in a product the space of the nearest factor."""
    if all(f.domain is None for f in factors):
        return factors
    result = list(factors)
    for i in range(len(result) - 2, -1, -1):
        if result[i].domain is None and result[i + 1].codomain is not None:
            result[i] = _on_space(result[i], result[i + 1].codomain)
    for i in range(1, len(result)):
        if result[i].domain is None:
            result[i] = _on_space(result[i], result[i - 1].domain)
    return result


def _metric_hint(left: Node, right: Node) -> str:
    """Advice for products of X and X*: a metric takes a space to its dual."""
    if adjoint(right) is not left or left.domain is None or right.codomain is None:
        return ""
    source, target = right.codomain, left.domain
    metrics = {"Torques": "U", "Rates": "U.inv", "TaskMotions": "U_task", "TaskForces": "U_task.inv"}
    metric = metrics.get(source.name, "Z")
    shown = f" A metric takes {source} to {target}: ({left!r}) @ {metric} @ ({right!r}), where {metric} is "
    if metric != "Z":
        return f"{shown}the unit."
    return f'{shown}A.operator("Z", "{source.name}", "{target.name}", structure="positive").'


def _misfit(left: Node, right: Node) -> str:
    hint = _metric_hint(left, right)
    if not hint and adjoint(right).codomain == left.domain:
        hint = f" Did you mean ({left!r}) @ ({right!r}).T?"
    elif not hint and adjoint(left).domain == right.codomain:
        hint = f" Did you mean ({left!r}).T @ ({right!r})?"
    return (
        f"{left!r} ⟶ {right!r}: {right!r} gives {right.codomain}, but {left!r} takes {left.domain}, "
        f"so they do not compose.{hint}"
    )
