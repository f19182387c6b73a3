"""Types of array arguments and results. Shapes are told in the docstrings: Python's types cannot say (…, nv)."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""What functions return."""

IntArray: TypeAlias = NDArray[np.int64]
"""Ranks, counts and indices."""

BoolArray: TypeAlias = NDArray[np.bool_]
"""Whether something holds, entry by entry."""
