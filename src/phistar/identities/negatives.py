"""x − y and y − x computed once: of two sums in a graph that differ by their sign, the second is minus the first."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from phistar.identities.graph import total
from phistar.identities.graph_values import Apply, Blocks, Bracketed, Operand, Pairing, Solve, Total, Value, walk
from phistar.operators.interned import ONE, times

Key = frozenset[tuple[Value, Fraction]]


def with_shared_negatives(roots: Iterable[Value]) -> list[Value]:
    """The same values, with every sum that is the negative of an earlier one made from that."""
    roots = list(roots)
    sums = {_key(value) for root in roots for value in walk(root) if isinstance(value, Total) and len(value.terms) > 1}
    if not any(_negative(key) in sums for key in sums):
        return roots
    made: dict[Value, Value] = {}
    known: dict[Key, Value] = {}
    for value in dict.fromkeys(value for root in roots for value in walk(root)):
        made[value] = _share(_rebuild(value, made), known)
    return [made[root] for root in roots]


def _key(value: Total) -> Key:
    return frozenset((inner, c) for c, inner in value.terms)


def _negative(key: Key) -> Key:
    return frozenset((inner, -c) for inner, c in key)


def _share(value: Value, known: dict[Key, Value]) -> Value:
    """Minus an earlier sum, where there is one."""
    if not isinstance(value, Total) or len(value.terms) < 2:
        return value
    key = _key(value)
    earlier = known.get(_negative(key))
    if earlier is not None:
        return Total(((-ONE, earlier),), value.space)
    known.setdefault(key, value)
    return value


def _pull(value: Value) -> tuple[Fraction, Value]:
    if isinstance(value, Total) and len(value.terms) == 1:
        return value.terms[0]
    return ONE, value


def _scale(scale: Fraction, value: Value) -> Value:
    return value if scale == 1 else total([(scale, value)], value.space)  # type: ignore[attr-defined]


def _rebuild(value: Value, made: dict[Value, Value]) -> Value:
    """A value with its arguments replaced, their signs pulled out."""
    match value:
        case Apply(letter=letter, argument=argument):
            scale, inner = _pull(made[argument])
            return _scale(scale, Apply(letter, inner))
        case Total(terms=terms, space=space):
            return total([(c, made[inner]) for c, inner in terms], space)
        case Solve(matrix=matrix, argument=argument, space=space, symmetric=symmetric):
            (over, whole), (scale, inner) = _pull(made[matrix]), _pull(made[argument])
            return _scale(scale / over, Solve(whole, inner, space, symmetric))
        case Pairing(vector=vector, argument=argument):
            (left, x), (right, y) = _pull(made[vector]), _pull(made[argument])
            return _scale(times(left, right), Pairing(x, y, value.space))
        case Bracketed(letter=letter, made_from=origin, argument=argument):
            scale, inner = _pull(made[argument])
            return _scale(scale, Bracketed(letter, origin, inner))  # named by its letter, so made as it says
        case Operand() | Blocks():
            return value
    raise AssertionError(type(value))
