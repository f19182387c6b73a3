"""3-vectors and 6-vectors (angular first) with leading batch axes, or of traced scalars; how batch axes fit together,
and which numbers arrays may hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.errors import PhistarError, ShapeError


def cross(a: Any, b: Any) -> np.ndarray:
    """a × b, (…, 3)."""
    a, b = np.asarray(a), np.asarray(b)
    a1, a2, a3 = a[..., 0], a[..., 1], a[..., 2]
    b1, b2, b3 = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], axis=-1)


def skew(x: Any) -> np.ndarray:
    """x̃ with x̃ y = x × y, (…, 3) → (…, 3, 3)."""
    x = np.asarray(x)
    zero = np.zeros(x.shape[:-1])
    x1, x2, x3 = x[..., 0], x[..., 1], x[..., 2]
    rows = [[zero, -x3, x2], [x3, zero, -x1], [-x2, x1, zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def axial(matrix: Any) -> np.ndarray:
    """The vector of X − Xᵀ, (…, 3, 3) → (…, 3): 2y of X = ỹ, 2 sin(θ) n of the rotation by θ about n."""
    x = np.asanyarray(matrix)
    differences = [x[..., 2, 1] - x[..., 1, 2], x[..., 0, 2] - x[..., 2, 0], x[..., 1, 0] - x[..., 0, 1]]
    return np.stack(differences, axis=-1)


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """X y, (…, m, n) and (…, n) → (…, m)."""
    return np.matmul(matrix, vector[..., None])[..., 0]


def transposed(matrix: np.ndarray) -> np.ndarray:
    """Xᵀ, (…, m, n) → (…, n, m)."""
    return np.swapaxes(matrix, -1, -2)


def force_transform(rotation: Any, translation: Any) -> np.ndarray:
    """[[R, p̃R], [0, R]], (…, 6, 6): RJK91's φ between two frames, in their own axes.

    Takes a force [moment; force] at the child's origin in child axes to the parent's origin in parent axes, where
    (R, p) places the child in the parent. Its transpose takes motions from parent to child.
    """
    rotation, translation = np.asarray(rotation), np.asarray(translation)
    upper = np.concatenate([rotation, np.matmul(skew(translation), rotation)], axis=-1)
    lower = np.concatenate([np.zeros(rotation.shape), rotation], axis=-1)
    return np.concatenate([upper, lower], axis=-2)


def leading_axes(arrays: Mapping[str, Any], core: int = 1) -> tuple[int, ...]:
    """The common leading axes of arrays, those before the last `core`, broadcast as NumPy does; where they do not
    broadcast, a sentence that names the arrays."""
    try:
        return np.broadcast_shapes(*(np.shape(x)[: np.ndim(x) - core] for x in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {np.shape(x)}" for name, x in arrays.items())
        raise ShapeError(f"The leading axes of {shapes} do not broadcast; make them equal, or 1.") from None


def require_finite(samples: Any, what: str) -> None:
    """Refuse a log (…, T, n) of which some samples are not finite, with how many and the first."""
    log = np.asarray(samples, dtype=float)
    good = np.isfinite(log).all(axis=-1).reshape(-1, log.shape[-2]).all(axis=0)
    if not good.all():
        count, first = int(np.sum(~good)), int(np.argmin(good))
        raise PhistarError(f"{what} is not finite in {count} samples, the first is {first}; leave them out.")


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
