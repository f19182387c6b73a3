"""Inverses of sums that hold other inverses: push-through, the matrix inversion lemma backwards, and S⁻¹ beside a term
of S.

(I + XY⁻¹)⁻¹ = Y(X + Y)⁻¹ has one inverse in place of two. (A − uS⁻¹v)⁻¹ = A⁻¹ + A⁻¹u(S − vA⁻¹u)⁻¹vA⁻¹ has an easier one
where S − vA⁻¹u is a part of S: (ℳ − ℳ(ℳ + R)⁻¹ℳ)⁻¹ = ℳ⁻¹ + R⁻¹.
"""

from __future__ import annotations

from fractions import Fraction

from phistar.identities.factor import factor
from phistar.identities.graph import transition_of
from phistar.identities.inverses import cancel
from phistar.identities.justify import (
    Instance,
    Rewrite,
    Use,
    Uses,
    by_right_inverse,
    in_product,
    inverse_on_the_left,
    inverse_on_the_right,
    product_of,
    scale_uses,
    use,
)
from phistar.identities.law import Law
from phistar.identities.match import WordRule
from phistar.identities.polynomial import Polynomial, Word, expand
from phistar.operators.interned import ONE
from phistar.operators.nodes import Identity, Inverse, Node, Product, Sum, inverse, product, scale_by, summation
from phistar.operators.symbols import E_PHI

Term = tuple[Fraction, Node]


def push_through(node: Node) -> Rewrite | None:
    """(cI + ΣXY⁻¹)⁻¹ = Y(cY + ΣX)⁻¹, and (cI + ΣY⁻¹X)⁻¹ = (cY + ΣX)⁻¹Y."""
    if not isinstance(node, Inverse) or not isinstance(node.of, Sum):
        return None
    unit = [c for c, x in node.of.terms if isinstance(x, Identity)]
    others = [(c, x.factors) for c, x in node.of.terms if isinstance(x, Product)]
    if len(unit) != 1 or not others or len(others) + 1 != len(node.of.terms):
        return None
    for at in (-1, 0):
        ends = {factors[at] for _, factors in others}
        end = next(iter(ends))
        if len(ends) == 1 and isinstance(end, Inverse):
            rest = [(c, product(*(factors[:-1] if at else factors[1:]))) for c, factors in others]
            return _push(node, end.of, unit[0], rest, right=bool(at))
    return None


def _push(node: Inverse, y: Node, unit: Fraction, rest: list[Term], right: bool) -> Rewrite:
    whole = summation([(unit, y), *rest])
    if right:
        split = product(y, inverse(whole))

        def why() -> Uses:
            """Multiplied back on the right: (cI + ΣXY⁻¹)Y(cY + ΣX)⁻¹ = I."""
            back = [u for c, x in rest for u in scale_uses((use(inverse_on_the_left(y), x, Inverse(whole)),), c)]
            back.append(use(inverse_on_the_right(whole)))
            return by_right_inverse(node, split, back)

        return Rewrite(split, why)
    split = product(inverse(whole), y)

    def why_left() -> Uses:
        """Multiplied back on the left: (cY + ΣX)⁻¹Y(cI + ΣY⁻¹X) = I."""
        back = [u for c, x in rest for u in scale_uses((use(inverse_on_the_right(y), Inverse(whole), x),), c)]
        back.append(use(inverse_on_the_left(whole)))
        ends = scale_uses(in_product(back, product_of(()), node), -ONE)
        return (use(inverse_on_the_right(node.of), split), *ends)

    return Rewrite(split, why_left)


def split_difference(node: Node) -> Rewrite | None:
    """(A + cuS⁻¹v)⁻¹ = A⁻¹ − cA⁻¹u(S + cvA⁻¹u)⁻¹vA⁻¹ where terms of the sum S go away."""
    if not isinstance(node, Inverse) or not isinstance(node.of, Sum) or len(node.of.terms) != 2:
        return None
    for (c, term), (d, rest) in (node.of.terms, node.of.terms[::-1]):
        factors = term.factors if isinstance(term, Product) else (term,)
        at = [i for i, x in enumerate(factors) if isinstance(x, Inverse) and isinstance(x.of, Sum)]
        if len(at) == 1:
            inner = factors[at[0]]
            assert isinstance(inner, Inverse)
            found = _difference(node, scale_by(d, rest), c, factors[: at[0]], inner.of, factors[at[0] + 1 :])
            if found is not None:
                return found
    return None


def _difference(node: Inverse, rest: Node, c: Fraction, left: Word, inner: Node, right: Word) -> Rewrite | None:
    u, v, one = product_of(left), product_of(right), inverse(rest)
    seen = expand(inner).plus(expand(product(v, one, u)), c)
    short = cancel(seen)
    if not short.terms or len(short.terms) >= len(expand(inner).terms):
        return None
    left_of_it = factor(short)
    split = one - c * product(one, u, inverse(left_of_it), v, one)

    def why() -> Uses:
        after, cancelled = v @ one, list[Use]()
        cancel(seen, cancelled)
        short_inverse, long_inverse = inverse(left_of_it), Inverse(inner)
        unit = (
            use(inverse_on_the_right(rest)),
            *scale_uses((use(inverse_on_the_right(rest), None, product(u, short_inverse, after)),), -c),
            *scale_uses((use(inverse_on_the_right(left_of_it), u @ long_inverse, after),), -c),
            *scale_uses((use(inverse_on_the_left(inner), u, short_inverse @ after),), c),
            *scale_uses(in_product(cancelled, u @ long_inverse, short_inverse @ after), -c),
        )
        return by_right_inverse(node, split, unit)

    return Rewrite(split, why)


_BESIDE = Law("inverse_beside_a_term_of_its_sum", "", lambda s: (s.I, s.I), (), "never", "", "")


def sum_rules(polynomial: Polynomial) -> list[WordRule]:
    """tS⁻¹ = I − …S⁻¹ and S⁻¹t = I − S⁻¹… for the longest term t, or ℰφ, of each sum S with an inverse there."""
    found = dict.fromkeys(x for word in polynomial.terms for x in word if isinstance(x, Inverse))
    rules: list[WordRule] = []
    for letter in found:
        inner = expand(letter.of)
        longest = max(inner.terms, key=len, default=())
        if (E_PHI,) in inner.terms and transition_of(letter.of) is not None:
            longest = (E_PHI,)  # a shift beside a recursion is in it already
        elif len(inner.terms) < 2 or len(longest) < 2:
            continue
        c = inner.terms[longest]
        others = [(-d / c, product_of(word)) for word, d in inner.terms.items() if word != longest]
        for on_left in (True, False):
            side = inner.target if on_left else inner.source
            beside = [(d, x @ letter if on_left else letter @ x) for d, x in others]
            after = summation([(1 / c, Identity(side)), *beside])
            word = (*longest, letter) if on_left else (letter, *longest)
            reason = inverse_on_the_right(letter.of) if on_left else inverse_on_the_left(letter.of)
            why = scale_uses((use(reason),), 1 / c)
            lemma = Instance("inverse beside a term of its sum", "", product(*word), after, "lemma", (), (), why)
            rules.append(WordRule(_BESIDE, word, after, False, lemma))
    return rules
