"""Products and sums of blocks. One that is zero by structure is None, and nothing is computed with it."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from phistar.backends.traces.solve import solve_symmetric

Block = Any  # an array (…, rows, columns), a pose, or None


def block_times(left: Block, right: Block) -> Block:
    return None if left is None or right is None else np.matmul(left, right)


def block_transposed(block: Block) -> Block:
    return None if block is None else np.swapaxes(block, -1, -2)


def block_divided(left: Block, matrix: np.ndarray) -> Block:
    """X Y⁻¹ for symmetric Y."""
    return None if left is None else block_transposed(solve_symmetric(matrix, block_transposed(left)))


def block_total(terms: list[tuple[float, Block]]) -> Block:
    scaled = [x if c == 1 else -x if c == -1 else c * x for c, x in terms if x is not None]
    return reduce(np.add, scaled) if scaled else None
