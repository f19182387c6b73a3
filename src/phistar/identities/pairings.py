"""Scalar products in a graph: y*Xz is taken as (X*y)*z where X*y is made already, θ̇*HφMφ*H*θ̇ as V*MV."""

from __future__ import annotations

from fractions import Fraction

from phistar.identities.graph import apply, pull_coefficient, total
from phistar.identities.graph_values import ONE, Apply, Pairing, Total, Value, walk
from phistar.operators.nodes import adjoint
from phistar.operators.spaces import SCALARS
from phistar.operators.symbols import Symbols

Terms = list[tuple[Fraction, Value]]


def halfway(root: Value) -> Value:
    """A scalar with its products where their two sides meet; any other value as it is."""
    terms = _terms(root)
    if not all(isinstance(x, Pairing) for _, x in terms):
        return root
    free = _velocities(walk(root)).values()
    first = total([(c, _meet(x.vector, x.argument)) for c, x in terms if isinstance(x, Pairing)], SCALARS)
    found = (root, first, _one_pairing(root), _one_pairing(first))
    return min(found, key=lambda value: sum(x not in free for x in walk(value)))


def _terms(value: Value) -> Terms:
    """Σ c·x, flat."""
    if not isinstance(value, Total):
        return [(Fraction(1), value)]
    return [(c * d, x) for c, part in value.terms for d, x in _terms(part)]


def _meet(vector: Value, value: Value) -> Value:
    """y*Xz as (X*y)*z, as far as X*y is there already."""
    if isinstance(value, Total):
        by: dict[Value, Terms] = {}
        for c, part in ((c, _meet(vector, part)) for c, part in value.terms):
            by.setdefault(part.vector if isinstance(part, Pairing) else part, []).append((c, part))
        return total([_beside(group) for group in by.values()], SCALARS)
    if isinstance(value, Apply) and value.argument is not ONE:
        moved, known = apply(adjoint(value.letter), vector), walk(value.argument)
        velocities = _velocities(known)
        if moved in known or moved in velocities:
            return _meet(velocities.get(moved, moved), value.argument)
    return Pairing(vector, value)


def _beside(group: Terms) -> tuple[Fraction, Value]:
    """Σ c·x*y of one x as x*Σ c·y."""
    first = group[0][1]
    if len(group) == 1 or not isinstance(first, Pairing):
        return group[0]
    parts = [(c, x.argument) for c, x in group if isinstance(x, Pairing)]
    scale, whole = pull_coefficient(total(parts, first.argument.space))  # type: ignore[attr-defined]
    return scale, Pairing(first.vector, whole)


def _velocities(known: list[Value]) -> dict[Value, Value]:
    """H*θ̇ and φ*H*θ̇ = V, which a and b are made of, and what they are in a program."""
    if not any(isinstance(x, Apply) and x.argument is ONE and getattr(x.letter, "name", "") in "ab" for x in known):
        return {}
    s = Symbols()
    own = apply(s.H.T @ s.v, ONE)
    return {own: own, apply(s.phi.T, own): apply(s.V, ONE)}


def _one_pairing(root: Value) -> Value:
    """Σ c·x*Xy of one y as (Σ c·X*x)*y where that is made of fewer values: the square of a sum, with weights."""
    terms = _terms(root)
    pairings = [(c, x) for c, x in terms if isinstance(x, Pairing)]
    best, least = root, len(walk(root))
    if len(pairings) < max(len(terms), 2):
        return root
    for y in (x for x in walk(pairings[0][1].argument) if isinstance(x, Apply) and x.argument is not ONE):
        moved = [_carry(x.vector, x.argument, y) for _, x in pairings]
        parts = [(c, x) for (c, _), x in zip(pairings, moved, strict=True) if x is not None]
        if len(parts) == len(pairings):
            scale, vector = pull_coefficient(total(parts, y.space))
            made = total([(scale, Pairing(vector, y))], SCALARS)
            if len(walk(made)) < least:
                best, least = made, len(walk(made))
    return best


def _carry(vector: Value, value: Value, to: Value) -> Value | None:
    """X*x of x*Xy, where the value is Xy."""
    while value is not to:
        if not isinstance(value, Apply) or value.argument is ONE:
            return None
        vector, value = apply(adjoint(value.letter), vector), value.argument
    return vector
