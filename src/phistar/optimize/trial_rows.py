"""Inputs and results of the trial motions of a line search, one row per step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from phistar.model import Model

PARTS = ("u", "d", "low", "high", "q", "v", "K", "gap", "parameters")


class Motions(NamedTuple):
    """q (a, N + 1, nq), v (a, N + 1, nv), u (a, N, nu), and the running cost of each motion (a,)."""

    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    cost: np.ndarray


@dataclass(frozen=True, eq=False)
class TrialRows:
    """Rows of numbers, one a step: controls, their change and bounds, the knot, gains, gap, parameters of costs."""

    model: Model
    controls: int
    parameters: int

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of entries of each part of a row."""
        nq, nv, nu = self.model.nq, self.model.nv, self.controls
        counts = {"u": nu, "d": nu, "low": nu, "high": nu, "q": nq, "v": nv, "K": 2 * nu * nv, "gap": 2 * nv}
        return {name: counts.get(name, self.parameters) for name in PARTS}

    @property
    def length(self) -> int:
        return sum(self.sizes.values())

    def parts(self, rows: Any) -> dict[str, Any]:
        """Views of the parts of rows (…, r)."""
        return {name: rows[..., place] for name, place in self._places.items()}

    @cached_property
    def _places(self) -> dict[str, slice]:
        edges = np.cumsum([0, *self.sizes.values()]).tolist()
        return {name: slice(a, b) for name, (a, b) in zip(PARTS, pairwise(edges), strict=True)}
