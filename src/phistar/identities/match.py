"""Matching laws: in a product of factors (statements as written) and in a word of letters (polynomials)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial

from phistar.identities.justify import Instance, Rewrite, Use, product_of, rewrite_once, use
from phistar.identities.law import LAWS, Law, Setting
from phistar.identities.polynomial import (
    MOST_LETTERS,
    MOST_TERMS,
    Polynomial,
    TooManyLetters,
    TooManyTerms,
    Word,
    expand,
    is_memoryless,
)
from phistar.operators.interned import collect, times, without_zeros
from phistar.operators.nodes import (
    Adjoint,
    Identity,
    Inverse,
    Node,
    Product,
    Sum,
    Symbol,
    adjoint,
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
    lemma: Instance | None = None  # of a rule that follows from other laws: the equation with its reason

    @property
    def group(self) -> tuple[str, bool]:
        """Group of laws that it is chosen with."""
        return self.law.group, self.law.apart and self.adjoint

    @cached_property
    def letters(self) -> frozenset[Node]:
        """Letters without which the law does not apply."""
        return frozenset(letter for letter in self.left if not _is_wild(letter))

    @cached_property
    def right(self) -> Polynomial:
        """The right side, made when it is needed: most laws have nothing to say about most statements."""
        return expand(self.to).adjoint() if self.adjoint else expand(self.to)

    def apply(self, polynomial: Polynomial, uses: list[Use] | None = None) -> Polynomial:
        """Every occurrence in every word replaced, until none is left; the polynomial itself where there is none. What
        was replaced is told to `uses`."""
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
            if uses is not None:
                around = product_of(word[:start]), self.instance(wild), product_of(word[stop:])
                uses.append(Use(c, *around, self.adjoint))
            if len(word) > MOST_LETTERS:
                raise TooManyLetters
            for middle, d in self.right.terms.items():
                filled = tuple(x for letter in middle for x in (wild if _is_wild(letter) else (letter,)))
                collect(open_terms, word[:start] + filled + word[stop:], times(c, d))
        return Polynomial(without_zeros(done), polynomial.source, polynomial.target)

    def instance(self, wild: Word) -> Instance:
        """The law as it is used, with what its wild letter stands for."""
        if self.lemma is not None:
            return self.lemma
        left = expand(product(*self.left))
        sides = (left.adjoint() if self.adjoint else left), expand(self.to)
        if not wild:
            return instance_of(self.law, _node(sides[0]), _node(sides[1]))
        filled = wild if not self.adjoint else tuple(adjoint(x) for x in reversed(wild))
        left, right = (_node(_fill_wild(side, filled)) for side in sides)
        return instance_of(self.law, left, right, (("X", product(*filled)),))

    def find(self, word: Word) -> tuple[int, int, Word] | None:
        first, start = self.left[0], -1
        if any(letter not in word for letter in self.letters):  # most words by far
            return None
        for _ in range(word.count(first)):
            start = word.index(first, start + 1)
            found = self._at(word, start)
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


def instance_of(law: Law, left: Node, right: Node, substitution: tuple[tuple[str, Node], ...] = ()) -> Instance:
    return Instance(law.name, law.citation, left, right, "law", law.needs, substitution)


def _fill_wild(polynomial: Polynomial, wild: Word) -> Polynomial:
    """The polynomial with a word in place of the wild letter."""
    back = tuple(adjoint(x) for x in reversed(wild))
    terms = {}
    for word, c in polynomial.terms.items():
        filling = [(back if isinstance(x, Adjoint) else wild) if _is_wild(x) else (x,) for x in word]
        terms[tuple(x for part in filling for x in part)] = c
    return Polynomial(terms, polynomial.source, polynomial.target)


def _node(polynomial: Polynomial) -> Node:
    """The polynomial as a sum of products, nothing pulled out."""
    zero = Sum((), polynomial.source, polynomial.target)
    words = [(c, product(*word) if word else Identity(polynomial.source)) for word, c in polynomial.terms.items()]
    return summation([(1, zero), *words])


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
        if law.as_rule != use or not setting.meets(law.needs) or not law.speaks_of(symbols):
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

    def rewrite(self, node: Node) -> Rewrite | None:
        """The node with the first run replaced, or None."""
        factors = node.factors if isinstance(node, Product) else (node,)
        width = len(self.left)
        for start in range(len(factors) - width + 1):
            if all(a is b for a, b in zip(factors[start : start + width], self.left, strict=True)):
                before, after = factors[:start], factors[start + width :]
                instance = instance_of(self.law, product(*self.left), self.right)
                why = (use(instance, product_of(before), product_of(after)),)
                return Rewrite(product(*before, self.right, *after), partial(tuple, why))
        return None


def whole_factors(law: Law, symbols: Symbols) -> tuple[FactorRule, FactorRule]:
    """A law as a rule for runs of factors, and its adjoint."""
    left, right = law.sides(symbols)
    sides = (left, right), (adjoint(left), adjoint(right))
    first, second = (FactorRule(law, x.factors if isinstance(x, Product) else (x,), y) for x, y in sides)
    return first, second


@cache
def factor_rules(symbols: Symbols, setting: Setting) -> tuple[FactorRule, ...]:
    """Definitions, and the lemmas whose left side is not a single word."""
    rules: list[FactorRule] = []
    for law in LAWS:
        if law.as_rule != "always" or not setting.meets(law.needs) or not law.speaks_of(symbols):
            continue
        left = law.sides(symbols)[0]
        if is_definition(left) or not is_word(left):
            rules += whole_factors(law, symbols)
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

    def plain(part: Node) -> Rewrite | None:
        new = change(part)
        return None if new is None else Rewrite(new)

    found = rewrite_once(node, plain)
    return None if found is None else found.node
