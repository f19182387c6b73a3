"""Types of array arguments and results. The docstrings give the shapes: Python's types cannot express (…, nv)."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""The type of arrays that functions return."""

IntArray: TypeAlias = NDArray[np.int64]
"""Ranks, counts and indices."""

BoolArray: TypeAlias = NDArray[np.bool_]
"""Whether something holds, entry by entry."""

ImageArray: TypeAlias = NDArray[np.uint8]
"""Pictures, (height, width, channels)."""
