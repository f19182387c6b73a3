"""Noncommutative polynomials: the form in which cancellation is adding coefficients.

A word is a tuple of letters, a letter is a symbol, its adjoint, or an inverse that nothing has resolved. Sums are
always expanded and adjoints pushed to the letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from phistar.errors import StatementError
from phistar.operators.interned import ONE, collect, times, without_zeros
from phistar.operators.nodes import Adjoint, Identity, Inverse, Node, Product, Sum, Symbol, adjoint
from phistar.operators.spaces import Space

Word = tuple[Node, ...]
MOST_TERMS = 1000
MOST_LETTERS = 500


class TooManyTerms(StatementError):
    """A statement that grows beyond use when it is multiplied out."""

    def __init__(self) -> None:
        super().__init__(f"The statement has more than {MOST_TERMS} terms when multiplied out; name a part of it.")


class TooManyLetters(StatementError):
    """A product that is longer than any statement a person writes."""

    def __init__(self) -> None:
        super().__init__(f"The statement has a product of more than {MOST_LETTERS} operators; name a part of it.")


@dataclass(frozen=True)
class Polynomial:
    """Σ c·w, `source` → `target`. The empty word is the identity."""

    terms: Mapping[Word, Fraction]
    source: Space | None
    target: Space | None

    def __add__(self, other: Polynomial) -> Polynomial:
        return self.plus(other, ONE)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self.plus(other, -ONE)

    def plus(self, other: Polynomial, scale: Fraction) -> Polynomial:
        terms = dict(self.terms)
        for word, c in other.terms.items():
            collect(terms, word, times(scale, c))
        return Polynomial(without_zeros(terms), self.source, self.target)

    def __matmul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Word, Fraction] = {}
        for left, c in self.terms.items():
            for right, d in other.terms.items():
                collect(terms, left + right, times(c, d))
                if len(left) + len(right) > MOST_LETTERS:
                    raise TooManyLetters
            if len(terms) > MOST_TERMS:
                raise TooManyTerms
        return Polynomial(without_zeros(terms), other.source, self.target)

    def scale(self, scale: Fraction) -> Polynomial:
        return Polynomial({w: scale * c for w, c in self.terms.items()}, self.source, self.target)

    def adjoint(self) -> Polynomial:
        terms = {tuple(adjoint(x) for x in reversed(w)): c for w, c in self.terms.items()}
        source, target = self.source, self.target
        return Polynomial(terms, target.dual if target else None, source.dual if source else None)

    def same_as(self, other: Polynomial) -> bool:
        return self is other or dict(self.terms) == dict(other.terms)


@cache
def expand(node: Node) -> Polynomial:
    """The polynomial of a node; unresolved inverses stay letters."""
    match node:
        case Identity():
            return Polynomial({(): ONE}, node.domain, node.codomain)
        case Symbol() | Inverse():
            return Polynomial({(node,): ONE}, node.domain, node.codomain)
        case Adjoint(of=inner):
            if isinstance(inner, Symbol):
                return Polynomial({(node,): ONE}, node.domain, node.codomain)
            return expand(inner).adjoint()
        case Product(factors=factors):
            result = expand(factors[0])
            for factor in factors[1:]:
                result = result @ expand(factor)
            return result
        case Sum(terms=terms):
            result = Polynomial({}, node.domain, node.codomain)
            for c, term in terms:
                result = result.plus(expand(term), c)
            return result
    raise AssertionError(type(node))


@cache
def letters(node: Node) -> tuple[Node, ...]:
    """Every symbol in a node, inside inverses and defining pairs too, once, as they come."""
    match node:
        case Identity():
            return ()
        case Symbol(of=parts):
            own: tuple[Node, ...] = (node,)
        case Adjoint(of=inner) | Inverse(of=inner):
            own, parts = (), (inner,)
        case Product(factors=factors):
            own, parts = (), factors
        case Sum(terms=terms):
            own, parts = (), tuple(term for _, term in terms)
        case _:
            raise AssertionError(type(node))
    return tuple(dict.fromkeys((*own, *(letter for part in parts for letter in letters(part)))))


@cache
def is_memoryless(letter: Node) -> bool:
    """Whether a letter is block diagonal; the inverse of what is made of such letters alone is."""
    inner = letter.of if isinstance(letter, Adjoint | Inverse) else letter
    if isinstance(inner, Symbol):
        return "memoryless" in inner.traits
    return isinstance(letter, Inverse) and all(is_memoryless(x) for word in expand(inner).terms for x in word)


def is_unit_triangular(node: Node) -> bool:
    """I plus something strictly causal, or its adjoint."""
    words = dict(expand(node).terms)
    unit = words.pop((), 0)
    return unit == 1 and all(any(_is_strict(letter) for letter in word) for word in words)


def _is_strict(letter: Node) -> bool:
    inner = letter.of if isinstance(letter, Adjoint) else letter
    return isinstance(inner, Symbol) and "strict" in inner.traits


def ratio(left: Polynomial, right: Polynomial) -> Fraction | None:
    """c where one is c times the other, word by word."""
    if left.terms.keys() != right.terms.keys() or not right.terms:
        return None
    word = next(iter(right.terms))
    scale = left.terms[word] / right.terms[word]
    return scale if left.same_as(right.scale(scale)) else None
