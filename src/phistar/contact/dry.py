"""Dry friction of joints in an implicit step: forces within ±F that bring the rates of a step's end to rest."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from phistar.backends.arrays import traced
from phistar.backends.kernel import compile_trace
from phistar.backends.trace import Scalar, Tape, finish

SWEEPS = 10  # of projected Gauss-Seidel
LARGEST_WRITTEN = 24  # joints with dry friction; more are solved in NumPy


def dry_forces(inverse: Any, rates: Any, limits: Any, step: float) -> np.ndarray:
    """f (n,) with −F₊ ≤ f ≤ F₋ and rates + h ℳ⁻¹f zero, or f at its limit against them; limits (2, n): F₊, F₋.

    `inverse` is ℳ⁻¹ (n, n) of the joints that have dry friction, `rates` what they would have without it.
    """
    count = len(rates)
    if count > LARGEST_WRITTEN:
        return _swept(inverse, rates, limits, step)
    return _solver(count)(np.concatenate([np.ravel(inverse), rates, np.ravel(limits), [step]]))


def _swept(inverse: Any, rates: Any, limits: Any, step: Any) -> Any:
    count = len(rates)
    force: list[Any] = [0.0] * count
    for _ in range(SWEEPS):
        for i in range(count):
            rate = rates[i]
            for j in range(count):
                if j != i:
                    rate = rate + step * inverse[i, j] * force[j]
            force[i] = np.minimum(np.maximum(-rate / (step * inverse[i, i]), -limits[0, i]), limits[1, i])
    return np.stack(force)


@cache
def _solver(count: int) -> Any:
    tape, sizes = Tape(), [count * count, count, 2 * count, 1]
    inputs = traced(tape.inputs((sum(sizes),)))
    inverse, rates, limits, step = np.split(inputs, np.cumsum(sizes)[:-1])
    found = _swept(inverse.reshape(count, count), rates, limits.reshape(2, count), step[0])
    values = [x.item() if isinstance(x, np.ndarray) else x for x in np.asarray(found)]
    trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in values])
    return compile_trace(trace, [sum(sizes)], [(count,)], f"dry friction of {count} joints", ("force",)).function
