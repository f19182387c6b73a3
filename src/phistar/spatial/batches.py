"""Leading axes: how arrays of many states fit together."""

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
