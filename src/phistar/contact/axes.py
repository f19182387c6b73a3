"""How places of contact move with the bodies, and along which axes their forces act."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.arrays import sign
from phistar.spatial import skew


def contact_map(point: Any, bases: Any, origins: Any, sides: tuple[tuple[int, int], ...]) -> Any:
    """C, (n, 4, 6m): velocities of a against b along the columns of each basis, and of turning about the last, from the
    motions of m bodies at their origins; floats or traced numbers.

    `sides` numbers the bodies of a and b among the m; −1 is the world, which does not move.
    """
    result = np.zeros((len(sides), 4, 6 * len(origins)), dtype=np.result_type(point, bases, origins))
    for i, pair in enumerate(sides):
        across = np.swapaxes(bases[i], -1, -2)
        for body, way in zip(pair, (1.0, -1.0), strict=True):
            if body >= 0:
                start = 6 * body
                result[i, :3, start : start + 3] = -way * np.matmul(across, skew(point[i] - origins[body]))
                result[i, :3, start + 3 : start + 6] = way * across
                result[i, 3, start : start + 3] = way * bases[i][:, 2]
    return result


def bases_of(normal: Any) -> Any:
    """(n, 3, 3): two tangents and the normal as columns."""
    x, y, z = normal[:, 0], normal[:, 1], normal[:, 2]
    side = sign(np.asarray(z + 1e-300))  # Duff et al. 2017: no direction is special
    a = -1.0 / (side + z)
    b = x * y * a
    first = np.stack([1.0 + side * x * x * a, side * b, -side * x], axis=-1)
    second = np.stack([b, side + y * y * a, -y], axis=-1)
    return np.stack([first, second, normal], axis=-1)
