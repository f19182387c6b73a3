"""The matrix inversion lemma: a mass matrix to which springs, metrics or closures at a few points are added.

(X + L*WL)⁻¹ = X⁻¹ − X⁻¹L*(W⁻¹ + LX⁻¹L*)⁻¹LX⁻¹, where W > 0 is between the spaces of frames, closures or the base, or
the identity of a few coordinates: what is inverted anew is of their size, and X⁻¹ is O(n) by the papers' lemmas. With
L = Hφ or φ what is inverted anew is as large, but a sum that lemma 1 factors.
"""

from __future__ import annotations

from fractions import Fraction

from phistar.identities.inverses import mass_and_armature
from phistar.identities.justify import (
    Rewrite,
    Use,
    Uses,
    by_right_inverse,
    inverse_on_the_right,
    scale_uses,
    use,
)
from phistar.identities.polynomial import Word, expand
from phistar.operators.nodes import Identity, Inverse, Node, Sum, Symbol, adjoint, inverse, product, summation
from phistar.operators.spaces import FORCES, MOTIONS, RANKS, TORQUES
from phistar.operators.symbols import Symbols

_FEW = ("task", "closures", "base", "root")


def split_low_rank(node: Node) -> Rewrite | None:
    """An inverse over joints or links with a term L*WL apart, or several with the same L; others are taken one after
    the other."""
    if not isinstance(node, Inverse) or not isinstance(node.of, Sum) or node.domain not in (TORQUES, FORCES, MOTIONS):
        return None
    whole = expand(node.of)
    if mass_and_armature(whole, Symbols()) is not None or len(whole.terms) < 2:
        return None
    cuts = {word: cut for word, c in whole.terms.items() if (cut := _cut(word, c)) is not None}
    if not cuts:
        return None
    left, _, right = next(iter(cuts.values()))
    alike = [word for word, cut in cuts.items() if (cut[0], cut[2]) == (left, right)]
    weight = summation((whole.terms[word], cuts[word][1]) for word in alike)
    rest = summation((d, product(*other)) for other, d in whole.terms.items() if other not in alike)
    if isinstance(rest, Sum) and not rest.terms:
        return None
    return _split(node, rest, product(*left), weight, product(*right))


def _cut(word: Word, c: Fraction) -> tuple[Word, Node, Word] | None:
    """Return what stands before a weight between spaces of a few points, the weight, and what stands behind it.

    The weight is positive and stands in the middle of a square, so that nothing can become singular; or it is the
    identity of a few coordinates, and whether the inverse exists is for the numbers to say.
    """
    at = next((i for i, x in enumerate(word) if i and x.codomain is not None and x.codomain.over in RANKS), None)
    if at is not None:
        return word[:at], Identity(word[at].codomain), word[at:]
    middle = len(word) // 2
    weight = word[middle] if len(word) % 2 else None
    if weight is None or weight.domain is None or not _is_positive(weight) or c < 0:
        return None
    if weight.domain.over not in _FEW and word[0] is not adjoint(Symbols.phi):
        return None
    is_square = word[:middle] == tuple(adjoint(letter) for letter in reversed(word[middle + 1 :]))
    return (word[:middle], weight, word[middle + 1 :]) if is_square else None


def _is_positive(weight: Node) -> bool:
    letter = weight.of if isinstance(weight, Inverse) else weight
    return isinstance(letter, Symbol) and "positive" in letter.traits and letter.name != "A"


def _split(node: Inverse, rest: Node, left: Node, weight: Node, right: Node) -> Rewrite:
    one = inverse(rest)
    seen = inverse(weight) + product(right, one, left)
    split = one - product(one, left, Inverse(seen), right, one)

    def why() -> Uses:
        """(X + L*WL)(X⁻¹ − X⁻¹L*S⁻¹LX⁻¹) − I, by XX⁻¹ = I, SS⁻¹ = I and WW⁻¹ = I."""
        after = product(right, one)
        unit: tuple[Use, ...] = (
            use(inverse_on_the_right(rest)),
            *scale_uses((use(inverse_on_the_right(rest), None, product(left, Inverse(seen), after)),), Fraction(-1)),
            *scale_uses((use(inverse_on_the_right(seen), product(left, weight), after),), Fraction(-1)),
        )
        if len(expand(weight).terms) > 1 or not expand(weight).terms.get(()):  # a multiple of I needs no law
            unit = (*unit, use(inverse_on_the_right(weight), left, product(Inverse(seen), after)))
        return by_right_inverse(node, split, unit)

    return Rewrite(split, why)
