"""Composite bodies: everything outboard of a joint as one rigid body (R87 eqs. 28-33)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.backends.programs.program import BLOCKS
from phistar.estimation.link_arrays import over_links
from phistar.model import Model, require_tree
from phistar.short_repr import short_repr
from phistar.spatial import mass_moment
from phistar.stated import states


@short_repr
@dataclass(frozen=True)
class CompositeBodies:
    """Inertia of each link together with all links outboard of it.

    r(k) = [[J, ρC̃], [−ρC̃, ρ]]; read as a covariance, that of the force on link k before any joint force is known (R87
    eq. 29).

    Attributes
    ----------
    inertias : (…, n, 6, 6)
        About each link's origin, in its axes; bodies that bend as they are bent at q.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> ps.estimation.composite_bodies(arm, q).inertias.shape
    (6, 6, 6)
    """

    inertias: Array

    @property
    def masses(self) -> Array:
        """ρ, (…, n): the first of the ten parameters (R87 eq. 33)."""
        return self.inertias[..., 3, 3]

    @property
    def moments(self) -> Array:
        """ρC, (…, n, 3): mass times mass centre, the next three; it exists without mass too."""
        return mass_moment(self.inertias)

    @property
    def centers(self) -> Array:
        """C, (…, n, 3): the mass centre, from the link's origin."""
        return self.moments / self.masses[..., None]

    @property
    def tensors(self) -> Array:
        """J, (…, n, 3, 3), about the link's origin: the last six."""
        return self.inertias[..., :3, :3]


@states(lambda s: {"inertias": s.r}, matrix=BLOCKS, form=AS_WRITTEN)
def composite_bodies(model: Model, q: Any) -> CompositeBodies:
    """Inertia of each link together with all links outboard of it, by one inward pass.

    The mass matrix is m(k,i) = H(k)φ(k,i)r(i)H*(i) (R87 eq. 32).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    CompositeBodies

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> whole = ps.estimation.composite_bodies(arm, q).inertias[0]
    >>> bool(np.isclose(whole[3, 3], arm.total_mass))
    True
    """
    require_tree(model, "composite_bodies")
    found = over_links(model, composite_bodies.evaluate_all(model, q)["inertias"], columns=True)
    if not model.is_flexible:
        return CompositeBodies(found)
    own = [
        found[..., k, body.modes : body.modes + 6, body.modes : body.modes + 6] for k, body in enumerate(model.bodies)
    ]
    return CompositeBodies(np.stack(own, axis=-3))
