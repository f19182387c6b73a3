"""Composite bodies: everything outboard of a joint as one rigid body (R87 eqs. 28-33)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.programs.program import AS_WRITTEN, BLOCKS
from phistar.estimation.blocks import over_links
from phistar.model import Model
from phistar.spatial import mass_moment
from phistar.stated import states


@dataclass(frozen=True)
class CompositeBodies:
    """r(k) = [[J, ρC̃], [−ρC̃, ρ]], (…, n, 6, 6): inertia about link k's origin, in its axes, of k and all outboard of
    it; as covariance, that of the force on link k before any joint force is known (R87 eq. 29)."""

    inertias: np.ndarray

    @property
    def masses(self) -> np.ndarray:
        """ρ, (…, n): the first of the ten parameters (R87 eq. 33)."""
        return self.inertias[..., 3, 3]

    @property
    def moments(self) -> np.ndarray:
        """ρC, (…, n, 3): mass times mass centre, the next three; it exists without mass too."""
        return mass_moment(self.inertias)

    @property
    def centers(self) -> np.ndarray:
        """C, (…, n, 3): the mass centre, from the link's origin."""
        return self.moments / self.masses[..., None]

    @property
    def tensors(self) -> np.ndarray:
        """J, (…, n, 3, 3), about the link's origin: the last six."""
        return self.inertias[..., :3, :3]


@states(lambda s: {"inertias": s.r}, matrix=BLOCKS, form=AS_WRITTEN)
def composite_bodies(model: Model, q: Any) -> CompositeBodies:
    """r(k), one inward pass; m(k,i) = H(k)φ(k,i)r(i)H*(i) is `ps.mass_matrix` (R87 eq. 32)."""
    return CompositeBodies(over_links(model, composite_bodies.evaluate_all(model, q)["inertias"], columns=True))
