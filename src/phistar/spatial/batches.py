"""Arrays of many states: which numbers they may hold, and how their leading axes fit together."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.errors import ShapeError


def leading_axes(arrays: Mapping[str, Any], core: int = 1) -> tuple[int, ...]:
    """The common leading axes of arrays, those before the last `core`, broadcast as NumPy does; where they do not
    broadcast, a sentence that names the arrays."""
    try:
        return np.broadcast_shapes(*(np.shape(x)[: np.ndim(x) - core] for x in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {np.shape(x)}" for name, x in arrays.items())
        raise ShapeError(f"The leading axes of {shapes} do not broadcast; make them equal, or 1.") from None


def real_numbers(array: np.ndarray) -> np.ndarray:
    """Array as float64. What would lose its meaning (imaginary parts, dates, fields, text that looks like a number) is
    refused, as NumPy's functions refuse it."""
    if array.dtype.kind not in "biufO" or (array.dtype.kind == "O" and not all(map(_is_number, array.flat))):
        raise TypeError(f"{array.dtype} is not a kind of real number")
    return array.astype(np.float64, copy=False)


def _is_number(entry: Any) -> bool:
    """Whether NumPy may make a float of it: it would of None and of text as well."""
    return entry is not None and not isinstance(entry, str | bytes)


def symbols(array: Any) -> np.ndarray | None:
    """An array of numbers that are not floats but know sine and cosine, and of floats beside them; else None."""
    try:
        found = np.asarray(array, dtype=object)
    except ValueError:
        return None
    return found if found.size and all(isinstance(x, float | int) or hasattr(x, "sin") for x in found.flat) else None
