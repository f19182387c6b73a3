"""Results that print in one line: the names of their fields, with shapes in place of arrays."""

from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)
LONGEST = 60  # characters of a field that is shown as it is


def short_repr(result: Class) -> Class:
    """Decorate a result class (a NamedTuple or a dataclass) so that it prints `Innovations(factor (7, 7), …)`.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @short_repr
    ... class Found(NamedTuple):
    ...     matrix: np.ndarray
    ...     rank: int
    >>> Found(np.zeros((5, 3, 3)), 2)
    Found(matrix (5, 3, 3), rank 2)
    """
    result.__repr__ = _repr  # type: ignore[method-assign]
    return result


def _repr(self: Any) -> str:
    names = getattr(self, "_fields", None) or list(getattr(self, "__dataclass_fields__", ()))
    shown = [f"{name} {_field(getattr(self, name))}" for name in names if not name.startswith("_")]
    return f"{type(self).__name__}({', '.join(shown)})"


def _field(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return str(shape)
    if shape == () and hasattr(value, "item"):
        value = value.item()
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= LONGEST else f"<{type(value).__name__}>"
