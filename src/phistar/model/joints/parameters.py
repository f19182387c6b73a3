"""Reading a joint's physical parameters: numbers broadcast to one per degree of freedom, checked with sentences."""

from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.errors import ModelError
from phistar.spatial.value import LARGEST, readonly


def unit_axis(axis: Any, owner: str) -> Array:
    """axis / |axis|, (3,); zero and non-finite axes are refused."""
    vector = _array(axis, owner, "axis")
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ModelError(f"{owner} needs an axis of three finite numbers; it was given {axis!r:.200}.")
    largest = np.abs(vector).max()
    if largest == 0.0:
        raise ModelError(f"{owner} was given a zero axis; give a direction such as (0, 0, 1).")
    vector = vector / largest  # so that the squares of tiny or huge entries stay in range
    return readonly(vector / np.linalg.norm(vector))


def per_dof(value: Any, count: int, owner: str, what: str, minimum: float = -np.inf) -> Array:
    """One finite number ≥ minimum per degree of freedom, (count,)."""
    array = _broadcast(value, count, owner, what)
    if not (np.abs(array) < LARGEST).all():
        raise ModelError(f"{owner} needs finite numbers for {what}; it was given {array.tolist()}.")
    return _at_least(array, minimum, owner, what)


def bound(value: Any, count: int, owner: str, what: str) -> Array:
    """A largest magnitude per degree of freedom, (count,); None is no bound, infinity."""
    array = _broadcast(np.inf if value is None else value, count, owner, what)
    if np.isnan(array).any():
        raise ModelError(f"{owner} was given NaN for {what}; give a number, or None for no bound.")
    return _at_least(array, 0.0, owner, what)


def two_sided(value: Any, count: int, owner: str, what: str) -> Array:
    """[positive; negative] magnitudes, (2, count), from one number or a (positive, negative) pair."""
    several = isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim > 0)
    pair = _pair(value, owner, what) if several else (value, value)
    return readonly([per_dof(side, count, owner, what, minimum=0.0) for side in pair])


def interval(value: Any, count: int, owner: str) -> Array:
    """[lower; upper], (2, count); None (for both, or for one) is unlimited."""
    lower, upper = (None, None) if value is None else _pair(value, owner, "limits")
    low = _broadcast(-np.inf if lower is None else lower, count, owner, "the lower limit")
    high = _broadcast(np.inf if upper is None else upper, count, owner, "the upper limit")
    if not (low <= high).all():  # NaN fails too
        raise ModelError(f"{owner} needs lower limits ≤ upper limits; it was given {low.tolist()} and {high.tolist()}.")
    if (low >= LARGEST).any() or (high <= -LARGEST).any():
        raise ModelError(f"{owner} has limits that leave no coordinate: {low.tolist()} and {high.tolist()}.")
    # Numbers beyond any robot, which some files write for "none", are no limits.
    return readonly([np.where(low > -LARGEST, low, -np.inf), np.where(high < LARGEST, high, np.inf)])


def quaternion_only(limits: Array, quaternion: Array, owner: str) -> None:
    """Refuses limits, which a quaternion cannot have, and a rest position whose quaternion is not unit."""
    if np.isfinite(limits).any():
        raise ModelError(f"{owner} takes no limits: its coordinates are not a vector but hold a quaternion.")
    if abs(np.linalg.norm(quaternion) - 1.0) > 1e-6:
        raise ModelError(f"{owner} needs a unit quaternion (x, y, z, w) at rest; it was given {quaternion.tolist()}.")


def _pair(value: Any, owner: str, what: str) -> tuple[Any, Any]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ModelError(f"{owner} needs a pair for {what}; it was given {value!r:.200}.") from None
    return first, second


def _broadcast(value: Any, count: int, owner: str, what: str) -> Array:
    array = _array(value, owner, what)
    if array.shape not in ((), (count,)):
        raise ModelError(f"{owner} needs one number, or {count}, for {what}; it was given shape {array.shape}.")
    return np.broadcast_to(array, (count,))


def _array(value: Any, owner: str, what: str) -> Array:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{owner} needs numbers for {what}; it was given {value!r:.200}.") from None


def _at_least(array: Array, minimum: float, owner: str, what: str) -> Array:
    if (array < minimum).any():
        raise ModelError(f"{owner} needs {what} ≥ {minimum:g}; it was given {array.tolist()}.")
    return readonly(array)
