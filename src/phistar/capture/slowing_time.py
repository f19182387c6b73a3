"""The time that a grasp needs to take a heavy body's momentum: force closure weighed against what is to be borne."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phistar.capture.force_closure import LENGTH
from phistar.contact.coal_shapes import convex
from phistar.model import Geometry

PEAK = 1.875  # of the force that takes a twist by a quintic, next to its mean
SHARE = 0.15  # of the margin: more winds up the fingers' friction, and the body swings on it
LONGEST = 20.0  # s: what takes longer is not held


def gyration(shapes: Sequence[Geometry]) -> np.ndarray:
    """(3, 3): the inertia about its middle, over the mass, of an even block as large as some shapes."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for each in shapes:
        solid = convex(each.shape)
        solid.computeLocalAABB()
        own = solid.aabb_local
        middle, half = 0.5 * (own.max_ + own.min_), 0.5 * (own.max_ - own.min_)
        turn = each.placement.rotation
        middle, half = each.placement.translation + turn @ middle, np.abs(turn) @ half
        low, high = np.minimum(low, middle - half), np.maximum(high, middle + half)
    squares = (high - low) ** 2 / 12.0
    return np.diag(squares.sum() - squares)


def slowing_time(momentum: np.ndarray, margin: float, push: float) -> float:
    """Time, s, in which a grasp whose force closure has a margin brings a body to rest, pushing with so many newtons in
    all; `momentum` (6,) is about the mass centre. The load may come from any side: hands err, and bodies swing."""
    size = float(np.linalg.norm(momentum / ([LENGTH] * 3 + [1.0] * 3)))
    return PEAK * size / (SHARE * margin * push)
