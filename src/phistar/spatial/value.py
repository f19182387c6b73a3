"""Immutable data that compares, hashes, pickles and copies by content."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from functools import cache, cached_property
from typing import Any, Self

import numpy as np

from phistar.errors import ModelError

LARGEST = 1e40  # no robot has a number beyond it, and its products with others stay finite


def readonly(array: Any) -> np.ndarray:
    """A float64 copy that cannot be written to; −0 becomes 0, so that equal numbers have equal bytes."""
    copy = np.array(array, dtype=np.float64) + 0.0
    copy.flags.writeable = False
    return copy


def checked_numbers(value: Any, shape: tuple[int, ...], owner: str, what: str) -> np.ndarray:
    """The value as a float64 array of this shape, finite; else a sentence: "A pose needs …"."""
    try:
        if _has_text(value):
            raise TypeError
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{owner} needs numbers for {what} in shape {shape}; it was given {value!r:.200}.") from None
    if array.shape != shape:
        raise ModelError(f"{owner} needs {what} in shape {shape}; it was given shape {array.shape}.")
    if not (np.abs(array) < LARGEST).all():  # NaN fails too
        raise ModelError(f"{owner} needs finite numbers (below {LARGEST:g}) for {what}; it was given {array.tolist()}.")
    return array


def _has_text(value: Any) -> bool:
    """Whether texts stand where numbers are meant, which NumPy would read: "1" is no number."""
    if isinstance(value, str | bytes):
        return True
    if isinstance(value, list | tuple):
        return any(map(_has_text, value))
    return isinstance(value, np.ndarray) and value.dtype.kind in "US"


def digest(*values: Any) -> bytes:
    """A 32-byte digest of nested plain data, arrays and Values; the same in every process."""
    state = hashlib.sha256()
    for value in values:
        _feed(state, value)
    return state.digest()


def _feed(state: Any, value: Any) -> None:
    if isinstance(value, Value):
        state.update(b"V" + value.content_digest)
    elif isinstance(value, np.ndarray):
        state.update(f"A{value.dtype.str}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, (tuple, list)):
        state.update(f"T{len(value)}".encode())
        for item in value:
            _feed(state, item)
    elif value is None or isinstance(value, (bool, int, float, str, bytes, slice)):
        text = repr(value).encode()
        state.update(f"{type(value).__name__}{len(text)}:".encode() + text)
    elif isinstance(value, Mapping):  # asked last: it takes longer than all the others together
        _feed(state, tuple(value.items()))
    else:
        raise TypeError(f"content of type {type(value).__name__} has no digest")


def _text(value: Any) -> str:
    """Arrays as short lists; everything else as Python shows it."""
    if isinstance(value, np.ndarray):
        return "[" + ", ".join(_text(item) for item in value) + "]" if value.ndim else f"{value:g}"
    return f"{value:g}" if isinstance(value, float) else repr(value)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """The fields of a kind of Value."""
    return tuple(field.name for field in fields(kind))


def _restore(kind: type, content: tuple) -> Any:
    value = object.__new__(kind)
    for name, item in zip(_names(kind), content, strict=True):
        if isinstance(item, np.ndarray):
            item.flags.writeable = False
        object.__setattr__(value, name, item)
    return value


def restore(kind: type, content: Mapping[str, Any]) -> Any:
    """A value of a kind with this content, field by field, as it was: nothing is checked or scaled again."""
    return _restore(kind, tuple(content[name] for name in _names(kind)))


class Value:
    """Abstract: frozen dataclasses that are their content (`@dataclass(frozen=True, eq=False, repr=False)`)."""

    def _content(self) -> tuple:
        return tuple(getattr(self, name) for name in _names(type(self)))

    @cached_property
    def content_digest(self) -> bytes:
        """sha256 over the type's name and the fields."""
        return digest(type(self).__name__, self._content())

    def _shown_fields(self) -> list[str]:
        """The fields worth printing."""
        return list(_names(type(self)))

    def __repr__(self) -> str:
        fields = (f"{name}={_text(getattr(self, name))}" for name in self._shown_fields())
        return f"{type(self).__name__}({', '.join(fields)})"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return self.content_digest == other.content_digest  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.content_digest)

    def __reduce__(self) -> tuple:
        return _restore, (type(self), self._content())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict) -> Self:
        return self
