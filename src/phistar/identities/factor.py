"""Statements as a person would write them, from polynomials: shared factors are pulled out, left and right."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from phistar.identities.polynomial import Polynomial, Word, expand
from phistar.operators.nodes import Adjoint, Identity, Node, Product, Sum, adjoint, product, scale_by, summation, zero

Terms = dict[Word, Fraction]


def factor(polynomial: Polynomial) -> Node:
    """A node with `expand(factor(p)) = p` and as few factors as the greedy search finds."""
    if not polynomial.terms:
        return zero(polynomial.source, polynomial.target)
    return _fold_adjoints(_factor(dict(polynomial.terms), polynomial))


def _factor(terms: Terms, like: Polynomial) -> Node:
    if len(terms) == 1:
        ((word, c),) = terms.items()
        return scale_by(c, _word_node(word, like))
    if all(c < 0 for c in terms.values()):
        return scale_by(-1, _factor({word: -c for word, c in terms.items()}, like))
    left, right = _shared_ends(terms)
    if left or right:
        inner = {word[left : len(word) - right]: c for word, c in terms.items()}
        word = next(iter(terms))
        sign = -1 if _begins_with_minus_one(inner) else 1
        body = _factor({word: sign * c for word, c in inner.items()}, _between(word, left, right, like))
        return scale_by(sign, product(*word[:left], body, *word[len(word) - right :])) if word else body
    split = _best_split(terms)
    if split is not None:
        inside, u, letter, v = split
        sign = -1 if _begins_with_minus_one(v) else 1
        right = _factor({word: sign * c for word, c in v.items()}, _right_of(letter, like))
        grouped = scale_by(sign, product(_factor(u, _zero_left_of(letter, like)), letter, right))
        rest = {word: c for word, c in terms.items() if word not in inside}
        return summation([(1, grouped), (1, _factor(rest, like))]) if rest else grouped
    return summation([(1, _factor(group, like)) for group in _groups(terms)])


def _begins_with_minus_one(terms: Terms) -> bool:
    """XY − I, which is written and computed as −(I − XY); ψ − I stays."""
    return terms.get((), 0) < 0 and all(len(word) != 1 for word in terms)


def _word_node(word: Word, like: Polynomial) -> Node:
    return product(*word) if word else Identity(like.source)


def _between(word: Word, left: int, right: int, like: Polynomial) -> Polynomial:
    target = word[left - 1].domain if left else like.target
    source = word[len(word) - right].codomain if right else like.source
    return Polynomial({}, source, target)


def _zero_left_of(letter: Node, like: Polynomial) -> Polynomial:
    return Polynomial({}, letter.codomain, like.target)


def _right_of(letter: Node, like: Polynomial) -> Polynomial:
    return Polynomial({}, like.source, letter.domain)


def _shared_ends(terms: Terms) -> tuple[int, int]:
    """Numbers of first and of last letters that all words have in common."""
    words = list(terms)
    shortest = min(len(word) for word in words)
    left = next((i for i in range(shortest) if len({word[i] for word in words}) > 1), shortest)
    room = shortest - left
    right = next((i for i in range(room) if len({word[-1 - i] for word in words}) > 1), room)
    return left, right


def _best_split(terms: Terms) -> tuple[set[Word], Terms, Node, Terms] | None:
    """p = u·x·v + rest: a letter x whose table of coefficients, left parts × right parts, has rank one."""
    best = None
    for letter, count in Counter(x for word in terms for x in dict.fromkeys(word)).items():
        if count < 4:  # two left parts with two right parts each
            continue
        inside = {word: c for word, c in terms.items() if word.count(letter) == 1}
        table = {(word[: word.index(letter)], word[word.index(letter) + 1 :]): c for word, c in inside.items()}
        lefts = sorted(dict.fromkeys(k[0] for k in table), key=len)
        rights = list(dict.fromkeys(k[1] for k in table))
        if len(lefts) < 2 or len(rights) < 2 or len(table) != len(lefts) * len(rights):
            continue
        pivot = table[lefts[0], rights[0]]
        u = {left: table[left, rights[0]] / pivot for left in lefts}
        v = {right: table[lefts[0], right] for right in rights}
        if all(table[left, right] == u[left] * v[right] for left in lefts for right in rights):
            gain = len(table) - len(lefts) - len(rights)
            if best is None or gain > best[0]:
                best = (gain, set(inside), u, letter, v)
    return best[1:] if best else None


def _groups(terms: Terms) -> list[Terms]:
    """Words grouped by their first letter or by their last, whichever makes fewer groups."""
    by_first: dict[Node | None, Terms] = {}
    by_last: dict[Node | None, Terms] = {}
    for word, c in terms.items():
        by_first.setdefault(word[0] if word else None, {})[word] = c
        by_last.setdefault(word[-1] if word else None, {})[word] = c
    groups = min((by_first, by_last), key=len)
    if len(groups) == len(terms):
        return [{word: c} for word, c in terms.items()]
    return list(groups.values()) if len(groups) > 1 else [{word: c} for word, c in terms.items()]


def _fold_adjoints(node: Node) -> Node:
    """Write (I − K*ψ*H*) as (I − HψK)*, as the papers do."""
    if isinstance(node, Product):
        return product(*(_fold_sum(f) if isinstance(f, Sum) else f for f in node.factors))
    if isinstance(node, Sum):
        return summation([(c, _fold_adjoints(t) if isinstance(t, Product) else t) for c, t in node.terms])
    return node


def _fold_sum(node: Node) -> Node:
    terms = expand(node).terms
    letters = [x for word in terms for x in word]
    if () in terms and len(letters) > 1 and all(isinstance(x, Adjoint) for x in letters):
        return adjoint(factor(expand(node).adjoint()))
    return node
