"""The matrix inversion lemma: a mass matrix to which springs, metrics or closures at a few points are added.

(X + L*WL)⁻¹ = X⁻¹ − X⁻¹L*(W⁻¹ + LX⁻¹L*)⁻¹LX⁻¹, where W > 0 is between the spaces of frames, closures or the base: what
is inverted anew is of their size, and X⁻¹ is O(n) by the papers' lemmas.
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
    scaled,
    use,
)
from phistar.identities.polynomial import Word, expand
from phistar.operators.nodes import Inverse, Node, Sum, Symbol, adjoint, inverse, product, summation
from phistar.operators.spaces import TORQUES
from phistar.operators.symbols import Symbols

_FEW = ("task", "closures", "base", "root")


def split_low_rank(node: Node) -> Rewrite | None:
    """An inverse over the joints with a term L*WL of low rank apart, or several with the same L; others are taken one
    after the other."""
    if not isinstance(node, Inverse) or node.domain != TORQUES or not isinstance(node.of, Sum):
        return None
    whole = expand(node.of)
    if mass_and_armature(whole, Symbols()) is not None or len(whole.terms) < 2:
        return None
    first = next((word for word, c in whole.terms.items() if c > 0 and _is_low_rank(word)), None)
    if first is None:
        return None
    middle = len(first) // 2
    alike = [word for word, c in whole.terms.items() if c > 0 and _is_low_rank(word) and _ends(word) == _ends(first)]
    weight = summation((whole.terms[word], word[middle]) for word in alike)
    rest = summation((d, product(*other)) for other, d in whole.terms.items() if other not in alike)
    return (
        None if isinstance(rest, Sum) and not rest.terms else _split(node, rest, weight, product(*first[middle + 1 :]))
    )


def _ends(word: Word) -> tuple[Word, Word]:
    """L* and L of L*WL."""
    middle = len(word) // 2
    return word[:middle], word[middle + 1 :]


def _is_low_rank(word: Word) -> bool:
    """L*WL with a positive W between spaces of a few points, L linear in what stands there."""
    middle = len(word) // 2
    weight = word[middle] if len(word) % 2 else None
    if not isinstance(weight, Symbol) or "positive" not in weight.traits or weight.source.over not in _FEW:
        return False
    return word[:middle] == tuple(adjoint(letter) for letter in reversed(word[middle + 1 :]))


def _split(node: Inverse, rest: Node, weight: Node, right: Node) -> Rewrite:
    left, one = adjoint(right), Inverse(rest)
    seen = inverse(weight) + product(right, one, left)
    split = one - product(one, left, Inverse(seen), right, one)

    def why() -> Uses:
        """(X + L*WL)(X⁻¹ − X⁻¹L*S⁻¹LX⁻¹) − I, by XX⁻¹ = I, SS⁻¹ = I and WW⁻¹ = I."""
        after = product(right, one)
        unit: tuple[Use, ...] = (
            use(inverse_on_the_right(rest)),
            *scaled((use(inverse_on_the_right(rest), None, product(left, Inverse(seen), after)),), Fraction(-1)),
            *scaled((use(inverse_on_the_right(seen), product(left, weight), after),), Fraction(-1)),
            use(inverse_on_the_right(weight), left, product(Inverse(seen), after)),
        )
        return by_right_inverse(node, split, unit)

    return Rewrite(split, why)
