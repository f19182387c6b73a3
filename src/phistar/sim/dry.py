"""Dry friction of joints in an implicit step: forces within ±F that bring the rates of a step's end to rest."""

from __future__ import annotations

from typing import Any

import numpy as np

SWEEPS = 10  # of projected Gauss-Seidel


def dry_forces(inverse: Any, rates: Any, limits: Any, step: Any) -> Any:
    """f (n,) with −F₊ ≤ f ≤ F₋ and rates + h ℳ⁻¹f zero, or f at its limit against them; limits (2, n): F₊, F₋.

    `inverse` is ℳ⁻¹ (n, n) of the joints that have dry friction, `rates` what they would have without it; floats or
    traced numbers.
    """
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
