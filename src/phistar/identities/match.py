"""Matching laws: in a product of factors (statements as written) and in a word of letters (polynomials)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from phistar.identities.law import LAWS, Law, Setting
from phistar.identities.polynomial import MOST_TERMS, Polynomial, TooManyTerms, Word, expand, is_memoryless
from phistar.operators.coefficients import collect, times, without_zeros
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
from phistar.operators.symbols import Symbols


@dataclass(frozen=True)
class WordRule:
    """left → right wherever `left` stands in a word; a wild letter takes any run of memoryless letters."""

    law: Law
    left: Word
    to: Node
    adjoint: bool = False  # whether the law is used on adjoints: left → to*

    @cached_property
    def letters(self) -> frozenset[Node]:
        """What must be there for the law to have anything to say."""
        return frozenset(letter for letter in self.left if not _is_wild(letter))

    @cached_property
    def right(self) -> Polynomial:
        """Made when it is needed: most laws have nothing to say about most statements."""
        return expand(self.to).adjoint() if self.adjoint else expand(self.to)

    def applied(self, polynomial: Polynomial) -> Polynomial:
        """Every occurrence in every word replaced, until none is left; the polynomial itself where there is none."""
        if not any(self.find(word) for word in polynomial.terms):
            return polynomial
        done: dict[Word, Fraction] = {}
        open_terms = dict(polynomial.terms)
        while open_terms:
            word = next(iter(open_terms))  # first come, first served: results keep the order a reader expects
            c = open_terms.pop(word)
            found = self.find(word)
            if len(open_terms) + len(done) > MOST_TERMS:
                raise TooManyTerms
            if found is None:
                collect(done, word, c)
                continue
            start, stop, wild = found
            for middle, d in self.right.terms.items():
                filled = tuple(x for letter in middle for x in (wild if _is_wild(letter) else (letter,)))
                collect(open_terms, word[:start] + filled + word[stop:], times(c, d))
        return Polynomial(without_zeros(done), polynomial.source, polynomial.target)

    def find(self, word: Word) -> tuple[int, int, Word] | None:
        if self.left[0] not in word:  # most words by far
            return None
        for start, letter in enumerate(word):
            found = self._at(word, start) if letter is self.left[0] else None
            if found is not None:
                return found
        return None

    def _at(self, word: Word, start: int) -> tuple[int, int, Word] | None:
        """The left side at one place of a word; its first letter is there."""
        stop, wild = start + 1, ()
        for letter in self.left[1:]:
            if _is_wild(letter):
                run = stop
                while run < len(word) and is_memoryless(word[run]):
                    run += 1
                wild, stop = word[stop:run], run
                if not wild:
                    return None
            elif stop < len(word) and word[stop] is letter:
                stop += 1
            else:
                return None
        return start, stop, wild


def _is_wild(letter: Node) -> bool:
    inner = letter.of if isinstance(letter, Adjoint) else letter
    return isinstance(inner, Symbol) and "wild" in inner.traits


def is_word(node: Node) -> bool:
    """Whether a law's left side is one product of letters, so that polynomials can use it."""
    terms = expand(node).terms
    return len(terms) == 1 and next(iter(terms.values())) == 1 and not any(isinstance(x, Inverse) for x in _open(node))


def _open(node: Node) -> tuple[Node, ...]:
    factors = node.factors if isinstance(node, Product) else (node,)
    return tuple(x for x in factors if isinstance(x, Inverse) and not is_memoryless(x))


def is_definition(node: Node) -> bool:
    """A left side that is a bare symbol: the law says what a physical quantity is in operators."""
    return isinstance(node, Symbol)


@cache
def word_rules(symbols: Symbols, setting: Setting, use: str) -> tuple[WordRule, ...]:
    rules: dict[Word, WordRule] = {}
    for law in LAWS:
        if law.as_rule != use or not setting.meets(law.needs):
            continue
        left, right = law.sides(symbols)
        if not is_word(left):
            continue
        for flipped in (False, True):
            (word,) = (expand(left).adjoint() if flipped else expand(left)).terms
            rules.setdefault(word, WordRule(law, word, right, flipped))
    return tuple(rules.values())


@dataclass(frozen=True)
class FactorRule:
    """A run of factors of a product, as the papers write it, replaced by another node."""

    law: Law
    left: tuple[Node, ...]
    right: Node

    def rewrite(self, node: Node) -> Node | None:
        """The node with the first run replaced, or None."""
        factors = node.factors if isinstance(node, Product) else (node,)
        width = len(self.left)
        for start in range(len(factors) - width + 1):
            if all(a is b for a, b in zip(factors[start : start + width], self.left, strict=True)):
                return product(*factors[:start], self.right, *factors[start + width :])
        return None


@cache
def factor_rules(symbols: Symbols, setting: Setting) -> tuple[FactorRule, ...]:
    """Definitions, and the lemmas whose left side is not a single word."""
    rules: list[FactorRule] = []
    for law in LAWS:
        if law.as_rule != "always" or not setting.meets(law.needs):
            continue
        left, right = law.sides(symbols)
        if is_definition(left) or not is_word(left):
            for side, other in ((left, right), (adjoint(left), adjoint(right))):
                rules.append(FactorRule(law, side.factors if isinstance(side, Product) else (side,), other))
    return tuple(rules)


@cache
def parts_of(node: Node) -> frozenset[Node]:
    """The nodes that `everywhere` comes to."""
    match node:
        case Product(factors=factors):
            below: Iterable[Node] = factors
        case Sum(terms=terms):
            below = (term for _, term in terms)
        case Inverse(of=inner):
            below = (inner,)
        case Adjoint(of=inner) if not isinstance(inner, Symbol | Identity):
            below = (inner,)
        case _:
            below = ()
    return frozenset({node}).union(*map(parts_of, below))


def everywhere(node: Node, change: Callable[[Node], Node | None]) -> Node | None:
    """The node with `change` made at the innermost place where it applies, or None when it applies nowhere."""
    match node:
        case Product(factors=parts):
            for i, part in enumerate(parts):
                new = everywhere(part, change)
                if new is not None:
                    return product(*parts[:i], new, *parts[i + 1 :])
        case Sum(terms=terms):
            for i, (_, term) in enumerate(terms):
                new = everywhere(term, change)
                if new is not None:
                    return summation([(c, new if j == i else t) for j, (c, t) in enumerate(terms)])
        case Inverse(of=inner):
            new = everywhere(inner, change)
            if new is not None:
                return inverse(new)
        case Adjoint(of=inner) if not isinstance(inner, Symbol | Identity):
            new = everywhere(inner, change)
            if new is not None:
                return adjoint(new)
    return change(node)
