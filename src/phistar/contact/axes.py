"""The axes that forces at places of contact act along."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.arrays import sign


def bases_of(normal: Any) -> Any:
    """(n, 3, 3): two tangents and the normal as columns."""
    x, y, z = normal[:, 0], normal[:, 1], normal[:, 2]
    side = sign(np.asarray(z + 1e-300))  # Duff et al. 2017: no direction is special
    a = -1.0 / (side + z)
    b = x * y * a
    first = np.stack([1.0 + side * x * x * a, side * b, -side * x], axis=-1)
    second = np.stack([b, side + y * y * a, -y], axis=-1)
    return np.stack([first, second, normal], axis=-1)
