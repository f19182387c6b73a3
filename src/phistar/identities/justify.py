"""Why a step holds: the instances of laws whose multiples add up to the difference of what it begins and ends with.

A step X = Y is justified by uses c·u(L − R)v with Σ c·u(L − R)v = X − Y as noncommutative polynomials, each L = R an
instance of a law. To check that takes no search, and no trust in what found it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from phistar.operators.nodes import (
    Adjoint,
    Identity,
    Inverse,
    Node,
    Product,
    Sum,
    Symbol,
    adjoint,
    identity,
    inverse,
    product,
    summation,
)

ALGEBRA = "algebra"
"""The kind of what holds in any algebra with inverses; a law's kind is "law", what is proved on the way a "lemma"."""


@dataclass(frozen=True, eq=False)
class Instance:
    """L = R: a law for some symbols, with what its wild letter stands for; a lemma has uses of its own."""

    name: str
    citation: str
    left: Node
    right: Node
    kind: str = "law"
    needs: tuple[str, ...] = ()
    substitution: tuple[tuple[str, Node], ...] = ()
    uses: tuple[Use, ...] = ()


@dataclass(frozen=True, eq=False)
class Use:
    """c·before(L − R)after, or with the adjoint of L − R."""

    c: Fraction
    before: Node
    instance: Instance
    after: Node
    adjoint: bool = False


Uses = tuple[Use, ...]
NONE: Callable[[], Uses] = tuple


@dataclass(frozen=True)
class Step:
    """before = after, by a law; `uses` says why."""

    before: Node
    after: Node
    law: str
    citation: str
    uses: Callable[[], Uses] = field(default=NONE, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Rewrite:
    """A node after a rewrite, with the reason, made when it is asked for."""

    node: Node
    uses: Callable[[], Uses] = NONE


def use(instance: Instance, before: Node | None = None, after: Node | None = None, flipped: bool = False) -> Use:
    return Use(Fraction(1), before or identity(), instance, after or identity(), flipped)


def inverse_on_the_right(x: Node) -> Instance:
    """X X⁻¹ = I; coefficients cancel, and the inverse of an inverse is what it inverts."""
    if isinstance(x, Inverse):
        return inverse_on_the_left(x.of)
    if isinstance(x, Sum) and len(x.terms) == 1:
        return inverse_on_the_right(x.terms[0][1])
    return Instance("inverse", "", product(x, inverse(x)), Identity(x.codomain), ALGEBRA, (), (("X", x),))


def inverse_on_the_left(x: Node) -> Instance:
    """X⁻¹X = I."""
    if isinstance(x, Inverse):
        return inverse_on_the_right(x.of)
    if isinstance(x, Sum) and len(x.terms) == 1:
        return inverse_on_the_left(x.terms[0][1])
    return Instance("inverse", "", product(inverse(x), x), Identity(x.domain), ALGEBRA, (), (("X", x),))


def in_product(uses: Iterable[Use], before: Node, after: Node) -> Uses:
    return tuple(Use(u.c, before @ u.before, u.instance, u.after @ after, u.adjoint) for u in uses)


def scale_uses(uses: Iterable[Use], c: Fraction) -> Uses:
    return tuple(Use(c * u.c, u.before, u.instance, u.after, u.adjoint) for u in uses)


def in_adjoint(uses: Iterable[Use]) -> Uses:
    return tuple(Use(u.c, adjoint(u.after), u.instance, adjoint(u.before), not u.adjoint) for u in uses)


def in_inverse(uses: Iterable[Use], old: Node, new: Node) -> Uses:
    """X⁻¹ − Y⁻¹ = X⁻¹(Y − X)Y⁻¹, and what it takes to say so: X⁻¹X = I and YY⁻¹ = I."""
    between = scale_uses(in_product(uses, Inverse(old), Inverse(new)), Fraction(-1))
    ends = (
        Use(Fraction(-1), Inverse(old), inverse_on_the_right(new), identity()),
        Use(Fraction(1), identity(), inverse_on_the_left(old), Inverse(new)),
    )
    return between + ends


def by_right_inverse(whole: Inverse, answer: Node, unit: Iterable[Use]) -> Uses:
    """X⁻¹ = Y, where `unit` says that XY = I: X⁻¹ − Y = (X⁻¹X − I)Y − X⁻¹(XY − I)."""
    back = scale_uses(in_product(unit, whole, identity()), Fraction(-1))
    return (use(inverse_on_the_left(whole.of), None, answer), *back)


def rewrite_once(node: Node, change: Callable[[Node], Rewrite | None], idle: set[Node] | None = None) -> Rewrite | None:
    """The node with `change` made at the innermost place where it applies, or None when it applies nowhere. Of `idle`
    nodes that is known, and it grows: who makes the same change again and again keeps it."""
    idle = set() if idle is None else idle
    if node in idle:
        return None
    match node:
        case Product(factors=parts):
            for i, part in enumerate(parts):
                new = rewrite_once(part, change, idle)
                if new is not None:
                    return _with_factor(parts, i, new)
        case Sum(terms=terms):
            for i, (c, term) in enumerate(terms):
                new = rewrite_once(term, change, idle)
                if new is not None:
                    whole = summation([(d, new.node if j == i else t) for j, (d, t) in enumerate(terms)])
                    return Rewrite(whole, lambda new=new, c=c: scale_uses(new.uses(), c))
        case Inverse(of=inner):
            new = rewrite_once(inner, change, idle)
            if new is not None:
                return Rewrite(inverse(new.node), lambda: in_inverse(new.uses(), inner, new.node))
        case Adjoint(of=inner) if not isinstance(inner, Symbol | Identity):
            new = rewrite_once(inner, change, idle)
            if new is not None:
                return Rewrite(adjoint(new.node), lambda: in_adjoint(new.uses()))
    made = change(node)
    if made is None:
        idle.add(node)
    return made


def _with_factor(parts: tuple[Node, ...], i: int, new: Rewrite) -> Rewrite:
    before, after = product_of(parts[:i]), product_of(parts[i + 1 :])
    return Rewrite(product(*parts[:i], new.node, *parts[i + 1 :]), lambda: in_product(new.uses(), before, after))


def product_of(parts: Iterable[Node]) -> Node:
    """Their product; of none, the identity."""
    found = tuple(parts)
    return product(*found) if found else identity()
