"""Prismatic: one length along an axis."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.model.joints.kind import JointKind
from phistar.model.joints.parameters import unit_axis


@final
@dataclass(frozen=True, eq=False, repr=False)
class Prismatic(JointKind):
    """A slide: one distance along an axis.

    R = 1, p = q a, H* = [0; a].

    Parameters
    ----------
    axis : (3,)
        Unit vector a, the same on both sides.
    armature, damping, stiffness, rest, friction, limits, effort, velocity, gear_ratio, rotor_inertia, gyroscopic
        As for every joint; see `Revolute`.

    Examples
    --------
    >>> ps.Prismatic(axis=(1, 0, 0), limits=(0, 0.4)).nv
    1
    """

    axis: Any = (0.0, 0.0, 1.0)

    nq = nv = 1
    spread = (1.0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "A Prismatic joint"))
        super().__post_init__()

    def pose(self, q: Any) -> tuple[Array, Array]:
        q = np.asarray(q)
        return np.broadcast_to(np.eye(3), (*q.shape[:-1], 3, 3)), q * self.axis

    def subspace(self, q: Any) -> Array:
        return np.concatenate([np.zeros(3), self.axis])[:, None]
