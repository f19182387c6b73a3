"""Products and sums of blocks. One that is zero by structure is None, and nothing is computed with it."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from phistar.backends.traces.solve import invert, solve, solve_symmetric, solve_task
from phistar.sweeps.evaluate import Domain, Terms
from phistar.sweeps.ir import Times

Block = Any  # an array (…, rows, columns), a pose, or None


def block_times(left: Block, right: Block) -> Block:
    return None if left is None or right is None else np.matmul(left, right)


def transpose_block(block: Block) -> Block:
    return None if block is None else np.swapaxes(block, -1, -2)


def divide_block(left: Block, matrix: np.ndarray) -> Block:
    """X Y⁻¹ for symmetric Y."""
    return None if left is None else transpose_block(solve_symmetric(matrix, transpose_block(left)))


def block_total(terms: list[tuple[float, Block]]) -> Block:
    scaled = [x if c == 1 else -x if c == -1 else c * x for c, x in terms if x is not None]
    return reduce(np.add, scaled) if scaled else None


class BlockDomain(Domain):
    """Abstract. Domains whose values are blocks: arrays (…, rows, columns), of numbers or of traced scalars."""

    def product(self, left: Block, right: Block, term: Times, at: Any, half: bool) -> Block:
        return block_times(left, right)

    def total(self, terms: Terms, half: bool) -> Block:
        return block_total([(float(c), x) for c, x in terms])

    def transpose(self, x: Block) -> Block:
        return transpose_block(x)

    def invert(self, x: Block) -> Block:
        return invert(x) if x.shape[-1] else x  # over no rates there is nothing to invert

    def divide(self, x: Block, matrix: Block) -> Block:
        return divide_block(x, matrix)

    def solve(self, matrix: Block, right: Block, symmetric: bool) -> Block:
        return (solve_task if symmetric else solve)(matrix, right)
