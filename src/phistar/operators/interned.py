"""What nodes and terms have in common: equal ones are one object, so that equality is identity and hashing costs
nothing; sums have rational coefficients, nearly all one or minus one; and deep ones are walked on a thread with room,
so that no caller's small stack ends the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

from phistar.errors import StatementError
from phistar.roomy import with_room

_interned: dict[tuple[Any, ...], Any] = {}


class Interned(type):
    """Classes whose equal values are one object."""

    def __call__(cls, *arguments: Any) -> Any:
        fields = cls.__dataclass_fields__  # type: ignore[attr-defined]
        if len(arguments) < len(fields):
            arguments += tuple(field.default for field in fields.values())[len(arguments) :]
        key = (cls, *arguments)
        found = _interned.get(key)
        return found if found is not None else _interned.setdefault(key, super().__call__(*arguments))


class Unique(metaclass=Interned):
    """Abstract: a frozen dataclass without an equality of its own. It pickles and copies to itself."""

    @cached_property
    def place(self) -> Any:
        """Sort key of a value: its kind, then what it is made of. Unlike the order in which
        values happen to be made it is the same in every process, so that sums print and round the same."""
        return (type(self).__name__, *(_place_of(getattr(self, name)) for name in self.__dataclass_fields__))  # type: ignore[attr-defined]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, name) for name in self.__dataclass_fields__)  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __copy__(self) -> Any:
        return self


def _place_of(part: Any) -> Any:
    if isinstance(part, Unique):
        return part.place
    if isinstance(part, tuple):
        return tuple(map(_place_of, part))
    return part if isinstance(part, Fraction) else str(sorted(part) if isinstance(part, frozenset) else part)


SHALLOW = 12
"""Nested operations that a thread with 64 kB of stack can walk; what dynamics is stated in has ten at most."""

Walk = TypeVar("Walk", bound=Callable[..., Any])


def walks(walk: Walk) -> Walk:
    """Decorate a function of a node that recurses over it."""
    return _with_room_for(lambda node: (node,), walk)


def walks_its_node(walk: Walk) -> Walk:
    """Decorate a method, or a function, of what holds a node."""
    return _with_room_for(lambda *given: [each.node for each in given if "node" in getattr(each, "__dict__", ())], walk)


def walks_both_ends(walk: Walk) -> Walk:
    """Decorate a method of a derivation, which goes from one node to another."""
    return _with_room_for(lambda derivation, *_: (derivation.start, derivation.result), walk)


def _with_room_for(nodes: Callable[..., Iterable[Any]], walk: Walk) -> Walk:
    @wraps(walk)
    def door(*given: Any, **named: Any) -> Any:
        if max((node.depth for node in nodes(*given)), default=0) <= SHALLOW:
            return walk(*given, **named)
        try:
            return with_room(lambda: walk(*given, **named))
        except RecursionError:
            raise StatementError("The statement is nested too deep; name a part of it, and derive its parts.") from None

    return cast(Walk, door)


Part = TypeVar("Part")
ONE = Fraction(1)


def times(c: Fraction, d: Fraction) -> Fraction:
    """cd."""
    return d if c == 1 else c if d == 1 else c * d


def collect(terms: dict[Part, Fraction], part: Part, c: Fraction) -> None:
    """Add c·part to some terms; what comes to zero stays, until `without_zeros`."""
    found = terms.get(part)
    terms[part] = c if found is None else found + c


def without_zeros(terms: dict[Part, Fraction]) -> dict[Part, Fraction]:
    return {part: c for part, c in terms.items() if c}
