"""Consistency of a filter: whether its errors are as large as it says.

Normalized innovations squared (NIS, e*D⁻¹e) and normalized errors squared (NEES, x*P⁻¹x) of a consistent filter are
chi-squared, so that the mean of many lies in a known band (Bar-Shalom, Li and Kirubarajan 2001, §5.4).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtri

from phistar.errors import ShapeError
from phistar.short_repr import short_repr


@short_repr
class Consistency(NamedTuple):
    """The `mean` of `count` normalized squares, and the band from `low` to `high` in which a consistent filter has it
    in the stated part of cases. Above it a filter is surer than it may be, below it less sure."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def consistent(self) -> bool:
        """Whether the mean is inside the band."""
        return self.low <= self.mean <= self.high


def consistency(squares: Any, freedom: Any, confidence: float = 0.95) -> Consistency:
    """Judge a filter by its normalized squares: NIS along time, or NEES of many runs at one time.

    Each must be independent of the others, as innovations of one run are, and errors of different runs; errors of one
    run at different times are not.

    Parameters
    ----------
    squares : (…)
        `nis` or `nees` of estimates; NaN where there was none.
    freedom : int or (…)
        Degrees of freedom of each: how many numbers were measured, or how many errors the state has.
    confidence : float
        The part of cases in which a consistent filter's mean lies in the band.

    Returns
    -------
    Consistency

    Examples
    --------
    >>> squares = np.random.default_rng(0).chisquare(3, size=500)
    >>> ps.estimation.consistency(squares, 3).consistent
    True
    >>> ps.estimation.consistency(1.5 * squares, 3).consistent  # errors larger by a fifth than is said
    False
    """
    try:
        found, degrees = np.broadcast_arrays(np.asarray(squares, dtype=float), np.asarray(freedom, dtype=float))
    except (TypeError, ValueError):
        raise ShapeError(
            f"freedom is one number or one for each square; squares {np.shape(squares)}, freedom {np.shape(freedom)}."
        ) from None
    counted = ~np.isnan(found) & (degrees > 0.0)
    if not counted.any() or not np.isfinite(degrees).all() or (found[counted] < 0.0).any():
        raise ShapeError(
            "Normalized squares are none of them negative, and some are numbers with degrees of freedom above zero; "
            f"of {found.size} given {int(counted.sum())} count."
        )
    if not 0.0 < confidence < 1.0:
        raise ShapeError(f"confidence is a part of all cases, between 0 and 1; it is {confidence!r:.50}.")
    count, whole = int(counted.sum()), float(degrees[counted].sum())
    low, high = (float(chdtri(whole, above)) / count for above in (0.5 + 0.5 * confidence, 0.5 - 0.5 * confidence))
    return Consistency(float(found[counted].mean()), low, high, count)
