"""Inverses of triangular operators: (N − ℰφR)⁻¹ is a sweep, whatever is memoryless in N and R; others come to it.

z = (N − ℰφR)⁻¹y is N(k)z(k) = φ(k, k−1)R(k−1)z(k−1) + y(k): φ has R = I, ψ has R = I − GH. Sums with one of φ, ψ and
the shifts, over links or joints, come to it by the matrix inversion lemma or by taking φ or ψ out, and multiples of
both by taking out both. What is on the diagonal has to be invertible.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from phistar.identities.factor import factor
from phistar.identities.graph import SHIFTS, transition_of
from phistar.identities.inverses import check_invertible, split_product
from phistar.identities.justify import (
    Rewrite,
    Use,
    Uses,
    by_right_inverse,
    in_adjoint,
    inverse_on_the_right,
    product_of,
    scale_uses,
    use,
)
from phistar.identities.kinematic_laws import phi_absorbs_shift
from phistar.identities.match import instance_of
from phistar.identities.polynomial import Polynomial, Word, expand, is_memoryless
from phistar.identities.riccati import psi_absorbs_shift
from phistar.operators.nodes import Identity, Inverse, Node, Product, Symbol, adjoint, inverse, product, summation, zero
from phistar.operators.spaces import FORCES, MOTIONS, RATES, TORQUES
from phistar.operators.symbols import Symbols

_TURNING = ("phi", "psi")  # transition operators whose inverses laws give


@dataclass(frozen=True)
class _Term:
    """c·left·turning·right: memoryless `left`, φ, ψ or (of a shift) nothing, and a shift or nothing before what is
    memoryless in `right`."""

    c: Fraction
    left: Word
    turning: Symbol | None
    right: Word


def by_recursion(node: Node) -> Rewrite | None:
    """The inverse of a triangular operator by that of N − ℰφR, or None."""
    if not isinstance(node, Inverse) or isinstance(node.of, Symbol) or node.domain != node.codomain:
        return None
    if transition_of(node.of) is not None:
        return None
    if node.domain in (FORCES, TORQUES):
        return _inward(node)
    other = inverse(adjoint(node.of)) if node.domain in (MOTIONS, RATES) else None
    found = _inward(other) if isinstance(other, Inverse) else None
    return None if found is None else Rewrite(adjoint(found.node), lambda: in_adjoint(found.uses()))


def _inward(node: Inverse) -> Rewrite | None:
    polynomial = expand(node.of)
    diagonal = {word: c for word, c in polynomial.terms.items() if all(map(is_memoryless, word))}
    others = {word: c for word, c in polynomial.terms.items() if word not in diagonal}
    if not others or any(not _is_causal(x) for word in others for x in word):
        return None
    check_invertible(node.of)
    shape = factor(polynomial)
    if isinstance(shape, Product) and not isinstance(node.of, Product):
        return split_product(Inverse(shape))
    terms = [_as_term(word, c) for word, c in others.items()]
    known = [term for term in terms if term is not None]
    if len(known) < len(terms):
        return None
    letters = list(dict.fromkeys(term.turning for term in known))
    if not diagonal:
        return _take_out_both(node, known)
    if len(letters) != 1:
        return None
    own = factor(Polynomial(diagonal, polynomial.source, polynomial.target))
    if letters[0] is not None and diagonal.keys() != {()}:  # what is on the diagonal is not known to be invertible
        for at_left in (True, False):
            if not any(term.left if at_left else term.right for term in known):
                return _take_out(node, own, letters[0], known, at_left)
    for at_left in (True, False):
        if len({term.left if at_left else term.right for term in known}) == 1:
            left, right = known[0].left, known[0].right
            rest = summation((term.c, product_of(term.right if at_left else term.left)) for term in known)
            ends = (product_of(left), rest) if at_left else (rest, product_of(right))
            return _by_lemma(node, own, ends[0], letters[0], ends[1])
    return None


def _is_causal(letter: Node) -> bool:
    return is_memoryless(letter) or (isinstance(letter, Symbol) and letter.name in (*_TURNING, *SHIFTS))


def _as_term(word: Word, c: Fraction) -> _Term | None:
    """A word with one of φ, ψ, or a shift, or one of φ and ψ right before a shift; None for others."""
    at = [i for i, x in enumerate(word) if not is_memoryless(x)]
    names = [word[i].name for i in at]  # type: ignore[attr-defined]
    first = at[0]
    if names[0] in _TURNING and (len(at) == 1 or (at == [first, first + 1] and names[1] in SHIFTS)):
        letter = word[first]
        assert isinstance(letter, Symbol)
        return _Term(c, word[:first], letter, word[first + 1 :])
    return _Term(c, word[:first], None, word[first:]) if len(at) == 1 else None


def _by_lemma(node: Inverse, own: Node, left: Node, turning: Symbol | None, right: Node) -> Rewrite:
    """(N + UTV)⁻¹ = N⁻¹ − N⁻¹U(T⁻¹ + VN⁻¹U)⁻¹VN⁻¹ with T⁻¹ = I − ℰφ of φ, I − ℰφ + KH of ψ, and I of neither."""
    one, between = inverse(own), Identity(FORCES) if turning is None else turning
    after = product(right, one)
    seen = _inverse_of(turning) + product(after, left)
    split = one - product(one, left, Inverse(seen), after)

    def why() -> Uses:
        """(N + UTV)(…) − I, by NN⁻¹ = I, TT⁻¹ = I and SS⁻¹ = I with S = T⁻¹ + VN⁻¹U."""
        unit: tuple[Use, ...] = (
            use(inverse_on_the_right(own)),
            *scale_uses((use(inverse_on_the_right(own), None, product(left, Inverse(seen), after)),), Fraction(-1)),
            *scale_uses((use(inverse_on_the_right(seen), product(left, between), after),), Fraction(-1)),
            *_uses_of_inverse(turning, left, product(Inverse(seen), after)),
        )
        return by_right_inverse(node, split, unit)

    return Rewrite(split, why)


def _take_out(node: Inverse, own: Node, turning: Symbol, terms: list[_Term], at_left: bool) -> Rewrite:
    """(N + TV)⁻¹ = (V + T⁻¹N)⁻¹T⁻¹, and (N + UT)⁻¹ = T⁻¹(U + NT⁻¹)⁻¹."""
    rest = summation((term.c, product_of(term.right if at_left else term.left)) for term in terms)
    opened, nothing = _inverse_of(turning), product_of(())
    seen = rest + (product(opened, own) if at_left else product(own, opened))
    split = product(Inverse(seen), opened) if at_left else product(opened, Inverse(seen))

    def why() -> Uses:
        """Multiplied back, by TT⁻¹ = I and SS⁻¹ = I with S what is inverted."""
        if not at_left:
            return by_right_inverse(
                node, split, (*_uses_of_inverse(turning, rest, Inverse(seen)), use(inverse_on_the_right(seen)))
            )
        unit = (
            use(inverse_on_the_right(seen), turning, opened),
            *_uses_of_inverse(turning, nothing, nothing),
            *scale_uses(_uses_of_inverse(turning, nothing, product(own, split)), Fraction(-1)),
        )
        return by_right_inverse(node, split, unit)

    return Rewrite(split, why)


def _take_out_both(node: Inverse, terms: list[_Term]) -> Rewrite | None:
    """(cX + dY)⁻¹ = Y⁻¹(cY⁻¹ + dX⁻¹)⁻¹X⁻¹ for X and Y of φ and ψ."""
    if len(terms) != 2 or any(term.left or term.right or term.turning is None for term in terms):
        return None
    (c, x), (d, y) = ((term.c, term.turning) for term in terms)
    assert x is not None and y is not None
    seen = summation([(c, _inverse_of(y)), (d, _inverse_of(x))])
    split = product(_inverse_of(y), Inverse(seen), _inverse_of(x))

    def why() -> Uses:
        """(cX + dY)Y⁻¹S⁻¹X⁻¹ − I, by XX⁻¹ = I, YY⁻¹ = I and SS⁻¹ = I."""
        after, nothing = product(Inverse(seen), _inverse_of(x)), product_of(())
        unit = (
            *scale_uses(_uses_of_inverse(y, nothing, after), d),
            *scale_uses(_uses_of_inverse(x, nothing, after), -d),
            use(inverse_on_the_right(seen), x, _inverse_of(x)),
            *_uses_of_inverse(x, nothing, nothing),
        )
        return by_right_inverse(node, split, unit)

    return Rewrite(split, why)


def _inverse_of(turning: Symbol | None) -> Node:
    """φ⁻¹ = I − ℰφ, ψ⁻¹ = I − ℰφ + KH."""
    if turning is None:
        return Identity(FORCES)
    s = _symbols_of(turning)
    return s.I - s.E_phi + (s.K @ s.axes if turning.of else zero(FORCES, FORCES))


def _uses_of_inverse(turning: Symbol | None, before: Node, after: Node) -> Uses:
    """TT⁻¹ = I: φℰφ = φ − I, ψℰφ = ψ − I + ψKH."""
    if turning is None:
        return ()
    law = psi_absorbs_shift if turning.of else phi_absorbs_shift
    return scale_uses((use(instance_of(law, *law.sides(_symbols_of(turning))), before, after),), Fraction(-1))


def _symbols_of(turning: Symbol) -> Symbols:
    return Symbols().with_pair(*turning.of) if turning.of else Symbols()
