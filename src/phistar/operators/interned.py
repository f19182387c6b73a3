"""Values of which equal ones are one object, so that equality is identity and hashing costs nothing."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

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
