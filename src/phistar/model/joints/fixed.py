"""Fixed: no motion. In a tree it merges the body into its parent; as a cut joint it is a weld."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.model.joints.kind import JointKind


@final
@dataclass(frozen=True, eq=False, repr=False)
class Fixed(JointKind):
    """A weld: the body becomes part of its parent, and its name a frame.

    R = 1, p = 0, H* has no columns.

    Parameters
    ----------
    armature, damping, stiffness, rest, friction, limits, effort, velocity, gear_ratio, rotor_inertia, gyroscopic
        As for every joint; see `Revolute`.

    Examples
    --------
    >>> ps.Fixed().nv
    0
    """

    nq = nv = 0
    spread = ()

    def pose(self, q: Any) -> tuple[Array, Array]:
        batch = np.shape(q)[:-1]
        return np.broadcast_to(np.eye(3), (*batch, 3, 3)), np.zeros((*batch, 3))

    def subspace(self, q: Any) -> Array:
        return np.zeros((6, 0))


FIXED = Fixed()
