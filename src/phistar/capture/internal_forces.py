"""Internal forces of several hands: how hard each pushes so that all push inward and nothing moves.

Pushes wᵢ(c − pᵢ) towards c = Σwⱼpⱼ/Σwⱼ have neither sum nor moment, whatever the places pᵢ and the weights wᵢ > 0. The
weights are chosen so that every push stays within the friction of its place, and the least of them is as large as can
be: two hands press alike, a third that has nothing opposite is held against by their friction.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

PARTS = 20  # that the weights of three hands are compared in, of more in fewer
TRUSTED = 0.7  # of the friction, for what is inside the grasp; the rest is for loads


def pushes(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The pushes (…, h, 3) at points (…, h, 3), of mean size 1."""
    share = weights / weights.sum(axis=-1, keepdims=True)
    forces = share[..., None] * (np.sum(share[..., None] * points, axis=-2, keepdims=True) - points)
    return forces / np.linalg.norm(forces, axis=-1).mean(axis=-1)[..., None, None]


def best_weights(points: np.ndarray, inward: np.ndarray, friction: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights (n, h) for h hands at points (n, h, 3) that push along normals `inward` (n, h, 3), and the least normal
    push (n,), 0 where no weights keep all within friction."""
    best, least = np.ones(points.shape[:2]), np.zeros(len(points))
    for weights in _compositions(points.shape[1]):
        forces = pushes(points, np.broadcast_to(weights, points.shape[:2]))
        normal = np.sum(forces * inward, axis=-1)
        side = np.linalg.norm(forces - normal[..., None] * inward, axis=-1)
        found = np.where(np.all(side <= TRUSTED * friction * normal + 1e-12, axis=-1), normal.min(axis=-1), 0.0)
        better = found > least + 1e-9
        best[better], least[better] = weights, found[better]
    return best, least


@lru_cache(maxsize=8)
def _compositions(hands: int) -> tuple[np.ndarray, ...]:
    """Weights that sum to 1, equal ones first."""
    parts = PARTS if hands <= 3 else 2 * hands
    whole = range(1, parts)
    rest = [(*first, parts - sum(first)) for first in product(whole, repeat=hands - 1) if sum(first) < parts]
    return (np.full(hands, 1.0 / hands), *(np.array(each) / parts for each in rest))
