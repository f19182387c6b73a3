"""Polynomials brought to the form in which no rule applies, a step per rule, each with the law that it cites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial

from phistar.identities.completion import Found, Rule, Rules, TooMany, add, uses_of
from phistar.identities.factor import factor
from phistar.identities.justify import Instance, Step, Use, Uses, product_of, use
from phistar.identities.law import LAWS, Law
from phistar.identities.match import WordRule
from phistar.identities.polynomial import Polynomial, Word, expand, letters
from phistar.operators.interned import ONE
from phistar.operators.nodes import Node, Symbol, adjoint, spelling
from phistar.operators.spaces import SCALARS
from phistar.operators.symbols import Symbols, has_pair

_NUMBER = "a number is its own adjoint"


def title_and_citation(law: Law) -> tuple[str, str]:
    """Name and citation, as they are shown."""
    return law.name.replace("_", " "), law.citation


def to_normal_form(node: Node, rules: Rules, wild: tuple[WordRule, ...]) -> tuple[list[Step], Polynomial]:
    """A step per rule, applied wherever it fits, until none does."""
    polynomial, steps = expand(node), []
    for _ in range(500):
        after, title, citation, why = _next(polynomial, rules, wild)
        if after is None:
            return steps, polynomial
        steps.append(Step(node, factor(after), title, citation, why))
        node, polynomial = steps[-1].after, after
    raise TooMany


def with_numbers_sorted(steps: list[Step], polynomial: Polynomial, node: Node) -> tuple[list[Step], Polynomial]:
    """x*y = y*x: of a number and its adjoint, the one that is spelled first."""
    if not polynomial.source == polynomial.target == SCALARS:
        return steps, polynomial
    terms: dict[Word, Fraction] = {}
    uses: list[Use] = []
    for word, c in polynomial.terms.items():
        turned = tuple(adjoint(x) for x in reversed(word))
        kept = min(word, turned, key=lambda letters: [spelling(x) for x in letters])
        if kept != word:
            law = Instance(_NUMBER, "", product_of(word), product_of(turned))
            uses.append(replace(use(law), c=c))
        add(terms, kept, c)
    if not uses:
        return steps, polynomial
    after = Polynomial(terms, polynomial.source, polynomial.target)
    before = steps[-1].after if steps else node
    return [*steps, Step(before, factor(after), _NUMBER, "", partial(tuple, uses))], after


def _next(
    polynomial: Polynomial, rules: Rules, wild: tuple[WordRule, ...]
) -> tuple[Polynomial | None, str, str, Callable[[], Uses]]:
    """Apply the first rule that fits to a polynomial; return the result with the reason."""
    for rule in wild:
        uses: list[Use] = []
        after = rule.apply(polynomial, uses)
        if uses:
            return after, *title_and_citation(rule.law), partial(tuple, uses)
    place = next((found for word in polynomial.terms if (found := rules.find(word))), None)
    if place is None:
        return None, "", "", tuple
    after, found = _apply_rule(polynomial, place[1])
    return after, *_citation(place[1].instance), partial(uses_of, found)


def _apply_rule(polynomial: Polynomial, rule: Rule) -> tuple[Polynomial, list[Found]]:
    """One rule wherever it fits."""
    only, done, found = Rules.of({rule.lead: rule}), {}, []
    waiting = dict(polynomial.terms)
    while waiting:
        word = next(iter(waiting))
        c = waiting.pop(word)
        place = only.find(word)
        if place is None:
            add(done, word, c)
            continue
        before, after = word[: place[0]], word[place[0] + len(rule.lead) :]
        found.append((c, before, rule, after))
        for middle, d in rule.rest.items():
            add(waiting, before + middle + after, c * d)
        if len(waiting) > 1000:
            raise TooMany
    return Polynomial(done, polynomial.source, polynomial.target), found


@cache
def _citation(instance: Instance) -> tuple[str, str]:
    """The law that an instance or a lemma is, by its name; a lemma that no law is, by the laws it follows from."""
    if instance.kind != "lemma":
        return instance.name.replace("_", " "), instance.citation
    for law in LAWS:
        if not law.needs and _says(law, instance):
            return title_and_citation(law)
    names = [name for name in _leaves(instance) if name != "inverse"] or ["inverse"]
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else ""), ""


@cache
def _leaves(instance: Instance) -> tuple[str, ...]:
    """The laws that a lemma comes from in the end."""
    if instance.kind != "lemma":
        return (instance.name.replace("_", " "),)
    return tuple(dict.fromkeys(name for u in instance.uses for name in _leaves(u.instance)))


def _says(law: Law, instance: Instance) -> bool:
    difference = expand(instance.left).plus(expand(instance.right), -ONE)
    for one in (x for x in _symbols_of(instance.left) if law.speaks_of(x)):
        left, right = law.sides(one)
        theirs = expand(left).plus(expand(right), -ONE)
        if difference.same_as(theirs) or difference.same_as(theirs.adjoint()):
            return True
    return False


def _symbols_of(node: Node) -> list[Symbols]:
    """The symbols that a lemma may be about: of its Riccati pair."""
    pairs = dict.fromkeys(x.of for x in letters(node) if isinstance(x, Symbol) and has_pair(x))
    return [Symbols().with_pair(*pair) for pair in pairs] or [Symbols()]
