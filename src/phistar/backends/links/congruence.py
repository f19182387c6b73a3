"""RXR* of 3×3 blocks, half the work where R, by its structure, turns about one axis; and what a shift adds to them.

A joint that is placed by a turn of its own takes two or three such turns: less work than all of R at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Order = tuple[int, int, int]


def rotate_symmetric(rotation: np.ndarray, x: np.ndarray) -> np.ndarray:
    """RXR*, (…, 3, 3). About an axis, with k = s (X_ii − X_jj) + c (X_ij + X_ji), the block across it becomes
    [[X_ii − s k, c k − X_ji], [c k − X_ij, X_jj + s k]], because c² + s² = 1."""
    axis = _axis(rotation)
    if axis is None:
        return np.matmul(np.matmul(rotation, x), np.swapaxes(rotation, -1, -2))
    (along, i, j), (from_along, m, n), sign = axis
    cosine, sine = rotation[i, m], rotation[j, m]
    upper, lower = sign * x[m, n], sign * x[n, m]
    twist = sine * (x[m, m] - x[n, n]) + cosine * (upper + lower)
    result = np.full((3, 3), 0.0, dtype=object)
    result[along, along] = x[from_along, from_along]
    result[i, i], result[j, j] = x[m, m] - sine * twist, x[n, n] + sine * twist
    result[i, j], result[j, i] = cosine * twist - lower, cosine * twist - upper
    result[i, along], result[j, along] = _turned_pair(cosine, sine, sign * x[m, from_along], x[n, from_along])
    result[along, i], result[along, j] = _turned_pair(cosine, sine, sign * x[from_along, m], x[from_along, n])
    return result


def lever_terms(x: np.ndarray, shifted: np.ndarray, lever: np.ndarray) -> np.ndarray:
    """YL + (XL)* where that is symmetric, (…, 3, 3), L skew. In a trace what has a factor of L in common is added up
    before it is multiplied: 15 products in place of 24, and 5 in place of 8 for a shift along an axis."""
    if lever.dtype != object or lever.ndim != 2:
        return np.matmul(shifted, lever) + np.swapaxes(np.matmul(x, lever), -1, -2)
    result = np.full((3, 3), 0.0, dtype=object)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        result[i, i] = lever[j, i] * (shifted[i, j] + x[i, j]) + lever[k, i] * (shifted[i, k] + x[i, k])
        row, column = min(i, j), max(i, j)
        across = lever[row, column] * (shifted[row, row] - x[column, column])
        entry = across + shifted[row, k] * lever[k, column] + x[column, k] * lever[k, row]
        result[row, column] = result[column, row] = entry
    return result


def turns_in_a_row(placing: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, ...]:
    """Factors of a constant rotation R₀ times a joint's traced one, each about one axis: R₀ as it is, or by Euler's
    angles about the joint's axis, the one across it, and the joint's again. Just the product where that is about one
    axis already, or the joint's is not."""
    whole, first, joint = np.matmul(placing, turn), placing.astype(object), _axis(turn)
    if joint is None or _axis(whole) is not None:
        return (whole,)
    if _axis(first) is not None:
        return first, turn
    c, i, j = joint[0]
    alpha = np.arctan2(placing[i, c], -placing[j, c])
    beta = np.arctan2(np.hypot(placing[i, c], placing[j, c]), placing[c, c])
    outer, across = _about(c, np.cos(alpha), np.sin(alpha)), _about(i, np.cos(beta), np.sin(beta))
    rest = np.matmul(np.matmul(outer, across).astype(float).T, placing)
    return outer, across, np.matmul(_about(c, rest[i, i], rest[j, i]), turn)


def _about(axis: int, cosine: Any, sine: Any) -> np.ndarray:
    """A turn about a coordinate axis, of plain numbers."""
    result, i, j = np.full((3, 3), 0.0, dtype=object), (axis + 1) % 3, (axis + 2) % 3
    result[axis, axis] = 1.0
    result[i, i] = result[j, j] = float(cosine)
    result[i, j], result[j, i] = -float(sine), float(sine)
    return result


def _turned_pair(cosine: Any, sine: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return cosine * x - sine * y, sine * x + cosine * y


def _axis(rotation: np.ndarray) -> tuple[Order, Order, float] | None:
    """Row and column of a traced rotation's lone ±1, each followed by the others in cyclic order, and its sign. The
    rest is [[c, −s], [s, c]], for −1 with the second column turned around."""
    if rotation.dtype != object or rotation.ndim != 2:
        return None
    for row in range(3):
        for column in range(3):
            entry = rotation[row, column]
            if type(entry) is float and abs(entry) == 1.0:
                i, j, m, n = (row + 1) % 3, (row + 2) % 3, (column + 1) % 3, (column + 2) % 3
                crossing = (rotation[row, m], rotation[row, n], rotation[i, column], rotation[j, column])
                if all(type(x) is float and x == 0.0 for x in crossing):
                    return (row, i, j), (column, m, n), entry
    return None
