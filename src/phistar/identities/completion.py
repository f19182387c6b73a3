"""Knuth and Bendix's completion of noncommutative polynomials: from a few laws to rules that decide what follows.

Every overlap of two left sides is resolved, so that (where the completion ends) a polynomial is a consequence of the
laws exactly when it reduces to zero. Each rule knows which rules it came from, and so can be checked without it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from phistar.identities.justify import Instance, Use, Uses, product_of, scale_uses
from phistar.identities.polynomial import Polynomial, Word, expand
from phistar.operators.interned import ONE
from phistar.operators.nodes import Identity, Node, Sum, product, summation

Terms = dict[Word, Fraction]
Order = Callable[[Word], tuple]
MOST_RULES, LONGEST_WORD, MOST_TERMS, MOST_STEPS = 150, 16, 150, 1500


class TooMany(Exception):
    """A completion, or a reduction, that is given up."""


class Rule(NamedTuple):
    """lead → rest, which an instance of a law, or a lemma, says."""

    lead: Word
    rest: Terms
    instance: Instance
    flipped: bool = False  # by the adjoint of the instance


@dataclass(frozen=True)
class Rules:
    """Rules by their first letter, so that few are tried at a place."""

    by_lead: Mapping[Word, Rule]
    lengths: tuple[int, ...]

    @staticmethod
    def of(rules: Mapping[Word, Rule]) -> Rules:
        return Rules(rules, tuple(sorted({len(lead) for lead in rules})))

    def find(self, word: Word) -> tuple[int, Rule] | None:
        for start in range(len(word)):
            for length in self.lengths:
                rule = self.by_lead.get(word[start : start + length])
                if rule is not None and start + length <= len(word):
                    return start, rule
        return None


Found = tuple[Fraction, Word, Rule, Word]


def reduce_terms(terms: Mapping[Word, Fraction], rules: Rules, found: list[Found] | None = None) -> Terms:
    """The normal form: no word contains a left side; the rules used are appended to `found`."""
    done: Terms = {}
    waiting = dict(terms)
    for _ in range(MOST_STEPS):
        if not waiting:
            return done
        word, c = waiting.popitem()
        place = rules.find(word)
        if place is None:
            add(done, word, c)
            continue
        start, rule = place
        before, after = word[:start], word[start + len(rule.lead) :]
        if found is not None:
            found.append((c, before, rule, after))
        for middle, d in rule.rest.items():
            add(waiting, before + middle + after, c * d)
        if len(waiting) > MOST_TERMS or any(len(w) > LONGEST_WORD for w in rule.rest):
            raise TooMany
    raise TooMany


def add(terms: Terms, word: Word, c: Fraction) -> None:
    total = terms.get(word, Fraction(0)) + c
    if total:
        terms[word] = total
    else:
        terms.pop(word, None)


def uses_of(found: Iterable[Found]) -> Uses:
    """The same as uses of instances."""
    return tuple(
        Use(c, product_of(before), rule.instance, product_of(after), rule.flipped) for c, before, rule, after in found
    )


MOST_WORK = 6000  # overlaps and reductions in one completion; the papers' sets need a few hundred


def complete(laws: Iterable[Instance], order: Order, limit: int = MOST_RULES) -> Rules:
    """The completed rules of some laws; their adjoints are laws too."""
    queue = _Queue(order)
    for law in laws:
        polynomial = expand(law.left).plus(expand(law.right), -ONE)
        for flipped, side in ((False, polynomial), (True, polynomial.adjoint())):
            queue.push(dict(side.terms), (Use(ONE, product_of(()), law, product_of(()), flipped),))
    rules: dict[Word, Rule] = {}
    known, spaces, work = Rules.of(rules), _Spaces(), 0
    while queue.waiting:
        terms, why = queue.pop()
        found: list[Found] = []
        left = reduce_terms(terms, known, found)
        work += 1 + len(found)
        if work > MOST_WORK or len(rules) >= limit:
            raise TooMany
        if not left:
            continue
        rule = spaces.rule(left, order, why + scale_uses(uses_of(found), -ONE))
        if len(rule.lead) > LONGEST_WORD:
            raise TooMany
        for old in [lead for lead in rules if _contains(lead, rule.lead)]:
            queue.push(*_equation(rules.pop(old)))
        rules[rule.lead] = rule
        known = Rules.of(rules)
        for pair in _overlaps_with(rule, rules):
            queue.push(*pair)
    return known


class _Queue:
    """Equations that wait to become rules, the lightest first."""

    def __init__(self, order: Order) -> None:
        self.order, self.count = order, 0
        self.waiting: list[tuple] = []

    def push(self, terms: Terms, why: Uses) -> None:
        if terms:
            self.count += 1
            heapq.heappush(self.waiting, (max(map(self.order, terms)), self.count, terms, why))

    def pop(self) -> tuple[Terms, Uses]:
        return heapq.heappop(self.waiting)[2:]


class _Spaces:
    """Makes rules of polynomials; a rule that is its law as it stands keeps the law's name."""

    def __init__(self) -> None:
        self.count = 0

    def rule(self, terms: Terms, order: Order, why: Uses) -> Rule:
        lead = max(terms, key=order)
        scale = 1 / terms[lead]
        rest = {word: -c * scale for word, c in terms.items() if word != lead}
        if len(why) == 1 and not scale_uses(why, scale)[0].c - 1:
            return Rule(lead, rest, why[0].instance, why[0].adjoint)
        self.count += 1
        left = product(*lead)
        right = as_node(Polynomial(rest, left.domain, left.codomain))
        return Rule(
            lead, rest, Instance(f"lemma {self.count}", "", left, right, "lemma", (), (), scale_uses(why, scale))
        )


def as_node(polynomial: Polynomial) -> Node:
    """A sum of products, nothing pulled out."""
    zero = Sum((), polynomial.source, polynomial.target)
    words = [(c, product(*word) if word else Identity(polynomial.source)) for word, c in polynomial.terms.items()]
    return summation([(1, zero), *words])


def _equation(rule: Rule) -> tuple[Terms, Uses]:
    return {rule.lead: ONE, **{word: -c for word, c in rule.rest.items()}}, uses_of([(ONE, (), rule, ())])


def _contains(word: Word, part: Word) -> bool:
    return any(word[i : i + len(part)] == part for i in range(len(word) - len(part) + 1))


def _overlaps_with(rule: Rule, rules: Mapping[Word, Rule]) -> Iterator[tuple[Terms, Uses]]:
    for other in list(rules.values()):
        yield from overlaps(rule, other)
        if other is not rule:
            yield from overlaps(other, rule)


def overlaps(one: Rule, two: Rule) -> Iterator[tuple[Terms, Uses]]:
    """Differences that have to vanish: the two ways to rewrite xyz, where one left side is xy and the other yz."""
    for size in range(1, min(len(one.lead), len(two.lead)) + (one is not two and len(one.lead) != len(two.lead))):
        if one.lead[-size:] == two.lead[:size] and len(one.lead) + len(two.lead) - size <= LONGEST_WORD:
            before, after = one.lead[:-size], two.lead[size:]
            terms: Terms = {}
            for word, c in one.rest.items():
                add(terms, word + after, c)
            for word, c in two.rest.items():
                add(terms, before + word, -c)
            yield terms, uses_of([(-ONE, (), one, after), (ONE, before, two, ())])


def reduces_to_zero(node: Node, rules: Rules) -> bool:
    return not reduce_terms(dict(expand(node).terms), rules)
