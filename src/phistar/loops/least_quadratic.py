"""Small quadratic programs: least ½x*Hx + c*x with Gx ≤ h, by DAQP."""

from __future__ import annotations

import numpy as np

from phistar.errors import PhistarError

FAR = 1e30  # a bound that is none


def least_quadratic(H: np.ndarray, c: np.ndarray, G: np.ndarray, h: np.ndarray) -> np.ndarray | None:
    """The x of least ½x*Hx + c*x that keeps Gx ≤ h; None where none does. H is positive definite."""
    if not len(h):
        return -np.linalg.solve(H, c)
    try:
        from daqp import solve
    except ImportError:
        raise PhistarError("Quadratic programs with limits are solved by DAQP: pip install daqp.") from None
    x, _, flag, _ = solve(H, c, np.ascontiguousarray(G), h, np.full(len(h), -FAR), np.zeros(len(h), dtype=np.int32))
    return np.asarray(x, dtype=float) if flag >= 1 else None
