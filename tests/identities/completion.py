"""Knuth-Bendix completion of noncommutative polynomials, small and slow: the judge of the rewriter's rule set.

From a few axioms it makes an oriented rule set in which every overlap of two left sides is resolved, so that a
polynomial is a consequence of the axioms exactly when it reduces to zero.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from phistar.identities.polynomial import Word, expand
from phistar.operators.nodes import Adjoint, Node, Symbol

Terms = dict[Word, Fraction]
Order = Callable[[Word], tuple]
Rules = dict[Word, Terms]  # left side → right side


def by_weight(weights: dict[Node, int], ranks: list[Node]) -> Order:
    """The heavier word first; among equals, the letters' ranks from the left. Compatible with products."""
    place = {letter: i for i, letter in enumerate(ranks)}
    return lambda word: (sum(weights[x] for x in word), tuple(place[x] for x in word))


def reduced(terms: Terms, rules: Rules) -> Terms:
    """The normal form: no word contains a left side."""
    done: Terms = {}
    waiting = dict(terms)
    while waiting:
        word, c = waiting.popitem()
        found = _match(word, rules)
        if found is None:
            _add(done, word, c)
            continue
        start, left = found
        for middle, d in rules[left].items():
            _add(waiting, word[:start] + middle + word[start + len(left) :], c * d)
    return done


def _add(terms: Terms, word: Word, c: Fraction) -> None:
    total = terms.get(word, Fraction(0)) + c
    if total:
        terms[word] = total
    else:
        terms.pop(word, None)


def _match(word: Word, rules: Rules) -> tuple[int, Word] | None:
    for start in range(len(word)):
        for stop in range(start + 1, len(word) + 1):
            if word[start:stop] in rules:
                return start, word[start:stop]
    return None


def oriented(terms: Terms, order: Order) -> tuple[Word, Terms]:
    """lead → rest, of lead − rest = 0."""
    lead = max(terms, key=order)
    return lead, {word: -c / terms[lead] for word, c in terms.items() if word != lead}


def overlaps(rules: Rules) -> Iterator[Terms]:
    """What has to vanish: the two ways to rewrite xyz, where one left side is xy and another yz (or y in xyz)."""
    for one, right_one in rules.items():
        for two, right_two in rules.items():
            for size in range(1, min(len(one), len(two))):
                if one[-size:] == two[:size]:
                    yield _difference(right_one, (), two[size:], right_two, one[:-size], ())
            for start in range(len(one) - len(two) + 1):
                if one is not two and one[start : start + len(two)] == two:
                    yield _difference(right_one, (), (), right_two, one[:start], one[start + len(two) :])


def _difference(first: Terms, left: Word, right: Word, second: Terms, before: Word, after: Word) -> Terms:
    terms: Terms = {}
    for word, c in first.items():
        _add(terms, left + word + right, c)
    for word, c in second.items():
        _add(terms, before + word + after, -c)
    return terms


def complete(axioms: Iterable[Node], order: Order, limit: int = 400) -> Rules:
    """The completed rules of axioms, each a node that is zero; their adjoints are axioms too."""
    waiting: list[Terms] = []
    for axiom in axioms:
        polynomial = expand(axiom)
        waiting += [dict(polynomial.terms), dict(polynomial.adjoint().terms)]
    rules: Rules = {}
    while waiting:
        waiting.sort(key=lambda terms: max(map(order, terms)) if terms else (0, ()), reverse=True)
        terms = reduced(waiting.pop(), rules)
        if not terms:
            continue
        lead, rest = oriented(terms, order)
        superseded = [left for left in rules if _match(left, {lead: rest})]
        waiting += [_difference({left: Fraction(1)}, (), (), rules.pop(left), (), ()) for left in superseded]
        rules[lead] = rest
        assert len(rules) < limit, "the completion does not end"
        waiting += [x for x in (reduced(pair, rules) for pair in _overlaps_with(lead, rules)) if x]
    return {left: reduced(right, rules) for left, right in rules.items()}


def _overlaps_with(lead: Word, rules: Rules) -> Iterator[Terms]:
    for other in rules:
        pair = {lead: rules[lead], other: rules[other]}
        yield from overlaps(pair)


def reduces_to_zero(node: Node, rules: Rules) -> bool:
    return not reduced(dict(expand(node).terms), rules)


def as_rules(word_rules) -> Rules:
    """The rewriter's word rules in the same form; one with a wild letter stands for infinitely many and is left out."""
    rules = {rule.left: dict(rule.right.terms) for rule in word_rules}
    return {left: right for left, right in rules.items() if not any(_is_wild(letter) for letter in left)}


def _is_wild(letter: Node) -> bool:
    symbol = letter.of if isinstance(letter, Adjoint) else letter
    return isinstance(symbol, Symbol) and "wild" in symbol.traits
