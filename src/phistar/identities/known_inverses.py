"""Inverses that lemmas give, however what is inverted is written: I + KH − ℰφ, 2I − 2ℰφ, HφG for I + HφK.

What stands under an inverse is brought to normal form by the laws that are always used, and so is what each lemma
inverts; where one is a multiple of the other the lemma is the answer.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import cache, partial

from phistar.identities.justify import (
    Rewrite,
    Step,
    Uses,
    by_right_inverse,
    in_product,
    inverse_on_the_right,
    product_of,
    rewrite_once,
    scale_uses,
    use,
)
from phistar.identities.law import Setting
from phistar.identities.match import FactorRule, factor_rules, instance_of
from phistar.identities.polynomial import Polynomial, TooManyLetters, TooManyTerms, expand, ratio
from phistar.identities.reduction import Endless, Path, as_polynomial, title_of, uses_of
from phistar.operators.nodes import Inverse, Node, Symbol, scale_by
from phistar.operators.symbols import Symbols


def by_known_inverse(node: Node, known: list[Symbols], setting: Setting) -> Step | None:
    """The node with the first inverse replaced that a lemma gives."""
    told: list[str] = []

    def change(part: Node) -> Rewrite | None:
        if not isinstance(part, Inverse) or isinstance(part.of, Symbol) or part.domain != part.codomain:
            return None
        for one in known:
            found = _lemma_of(part, one, setting)
            if found is not None:
                told[:] = found[1:]
                return found[0]
        return None

    new = rewrite_once(node, change)
    return None if new is None else Step(node, new.node, told[0], told[1], new.uses)


def _lemma_of(whole: Inverse, symbols: Symbols, setting: Setting) -> tuple[Rewrite, str, str] | None:
    """The inverse that a lemma gives, the names of the laws that show it, and their citations."""
    with suppress(TooManyTerms, TooManyLetters, Endless):
        path = as_polynomial(expand(whole.of), symbols, setting, ())
        for rule, known, there in inverse_lemmas(symbols, setting):
            c = ratio(path[-1][1], there[-1][1])
            if c:
                laws = [x.law for x, _ in path if x] + [rule.law]
                titles, sources = dict.fromkeys(map(title_of, laws)), dict.fromkeys(x.citation for x in laws)
                why = partial(_uses, whole, path, known, there, rule, c)
                return Rewrite(scale_by(1 / c, rule.right), why), ", ".join(titles), "; ".join(sources)
    return None


@cache
def inverse_lemmas(symbols: Symbols, setting: Setting) -> tuple[tuple[FactorRule, Node, Path], ...]:
    """Lemmas of the form X⁻¹ = Y, with X and its way to normal form."""
    found = []
    for rule in factor_rules(symbols, setting):
        first = rule.left[0]
        if len(rule.left) == 1 and isinstance(first, Inverse) and first.domain == first.codomain:
            found.append((rule, first.of, as_polynomial(expand(first.of), symbols, setting, ())))
    return tuple(found)


def _uses(whole: Inverse, path: Path, known: Node, there: Path, rule: FactorRule, c: Fraction) -> Uses:
    """X⁻¹ = Y/c of X = cL and L⁻¹ = Y: X⁻¹ − Y/c = (X⁻¹X − I)Y/c − X⁻¹((X − cL)Y/c − L(L⁻¹ − Y) + LL⁻¹ − I)."""
    answer, nothing = scale_by(1 / c, rule.right), product_of(())
    inside = (*_uses_along(whole.of, path), *scale_uses(_uses_along(known, there), -c))
    lemma = use(instance_of(rule.law, Inverse(known), rule.right), known)
    unit = (
        *in_product(inside, nothing, answer),
        *scale_uses((lemma,), Fraction(-1)),
        use(inverse_on_the_right(known)),
    )
    return by_right_inverse(whole, answer, unit)


def _uses_along(node: Node, path: Path) -> Uses:
    uses: list[Uses] = []
    before: Polynomial = expand(node)
    for rule, after in path:
        uses.append(uses_of(rule, before))
        before = after
    return tuple(use for each in uses for use in each)
