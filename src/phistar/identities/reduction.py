"""A polynomial under the laws that are always used: one entry per law, applied wherever it fits, until none does."""

from __future__ import annotations

from functools import partial

from phistar.errors import StatementError
from phistar.identities.factor import factor
from phistar.identities.inverses import cancel
from phistar.identities.justify import Step, Use, Uses
from phistar.identities.law import Law, Setting
from phistar.identities.match import WordRule, word_rules
from phistar.identities.polynomial import Polynomial, expand, letters
from phistar.operators.nodes import Node, Symbol
from phistar.operators.symbols import Symbols, has_pair

Path = list[tuple[WordRule | None, Polynomial]]
ROUNDS = 200  # far above any derivation; the rules terminate, this only turns a mistake in a new law into a sentence


class Endless(StatementError):
    """Laws that rewrite in circles."""


def as_polynomial(
    polynomial: Polynomial, symbols: Symbols, setting: Setting, chosen: tuple[WordRule, ...], without: Law | None = None
) -> Path:
    """One entry per law, applied wherever it matches, until nothing matches. None is X X⁻¹ = I."""
    known = known_symbols(polynomial, symbols)
    always = [rule for one in known for rule in word_rules(one, setting, "always") if rule.law is not without]
    return by_rules(polynomial, [*always, *chosen])


def by_rules(polynomial: Polynomial, rules: list[WordRule]) -> Path:
    path: Path = []
    for _ in range(ROUNDS):
        there = {letter for word in polynomial.terms for letter in word}
        for rule in (None, *(rule for rule in rules if rule.letters <= there)):
            after = cancel(polynomial) if rule is None else rule.apply(polynomial)
            if not after.same_as(polynomial):
                path.append((rule, after))
                polynomial = after
                break
        else:
            return path or [(None, polynomial)]
    raise Endless(f"The laws do not come to an end on {factor(polynomial)!r}; one of them rewrites in circles.")


def steps_to_show(node: Node, path: Path) -> list[Step]:
    """A path from a node on as steps for a reader."""
    steps: list[Step] = []
    before = expand(node)
    for rule, polynomial in path:
        title, citation = (title_of(rule.law), rule.law.citation) if rule else ("collecting terms", "")
        why = partial(uses_of, rule, before)
        steps.append(Step(node, factor(polynomial), title, citation, why))
        node, before = steps[-1].after, polynomial
    return steps


def uses_of(rule: WordRule | None, polynomial: Polynomial) -> Uses:
    """Places at which a rule, or X X⁻¹ = I, applies."""
    uses: list[Use] = []
    if rule is None:
        cancel(polynomial, uses)
    else:
        rule.apply(polynomial, uses)
    return tuple(uses)


def title_of(law: Law) -> str:
    return law.name.replace("_", " ")


def known_symbols(polynomial: Polynomial, symbols: Symbols) -> list[Symbols]:
    """The symbols of every Riccati pair in a polynomial."""
    letters_there = dict.fromkeys(x for word in polynomial.terms for x in word)
    return list(dict.fromkeys(one for letter in letters_there for one in all_symbols(letter, symbols))) or [symbols]


def all_symbols(node: Node, symbols: Symbols) -> list[Symbols]:
    """The symbols of every Riccati pair that occurs in a node, the mechanism's own first."""
    pairs = [x.of for x in letters(node) if isinstance(x, Symbol) and has_pair(x)]
    return list(dict.fromkeys([symbols, *(symbols.with_pair(*pair) for pair in pairs)]))
