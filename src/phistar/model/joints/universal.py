"""Universal: two angles about two axes, the second carried by the first."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.errors import ModelError
from phistar.model.joints.kind import JointKind
from phistar.model.joints.parameters import unit_axis
from phistar.spatial import cross, from_axis_angle


@final
@dataclass(frozen=True, eq=False, repr=False)
class Universal(JointKind):
    """Two hinges at one point, as in a universal coupling.

    R = R₁(q₁) R₂(q₂), p = 0, H* = [[R₂ᵀa₁, a₂], [0, 0]].

    Parameters
    ----------
    axis1, axis2 : (3,)
        a₁ on the parent's side, a₂ on the child's.
    armature, damping, stiffness, rest, friction, limits, effort, velocity, gear_ratio, rotor_inertia, gyroscopic
        As for every joint; see `Revolute`.

    Examples
    --------
    >>> ps.Universal().nv
    2
    """

    axis1: Any = (1.0, 0.0, 0.0)
    axis2: Any = (0.0, 1.0, 0.0)

    nq = nv = 2
    spread = (np.pi, np.pi)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis1", unit_axis(self.axis1, "A Universal joint"))
        object.__setattr__(self, "axis2", unit_axis(self.axis2, "A Universal joint"))
        if np.linalg.norm(np.cross(self.axis1, self.axis2)) < 1e-9:
            raise ModelError("A Universal joint needs two axes that are not parallel; for one axis use Revolute.")
        super().__post_init__()

    def _first_axis(self, q: Array) -> Array:
        """R₂ᵀ a₁, (…, 3): the first axis as the child sees it."""
        return np.matmul(from_axis_angle(self.axis2, -q[..., 1]), self.axis1)

    def pose(self, q: Any) -> tuple[Array, Array]:
        q = np.asarray(q)
        first, second = from_axis_angle(self.axis1, q[..., 0]), from_axis_angle(self.axis2, q[..., 1])
        return np.matmul(first, second), np.zeros((*q.shape[:-1], 3))

    def subspace(self, q: Any) -> Array:
        first = self._first_axis(np.asarray(q))
        angular = np.stack([first, np.broadcast_to(self.axis2, first.shape)], axis=-1)
        return np.concatenate([angular, np.zeros(angular.shape)], axis=-2)

    def subspace_rate(self, q: Any, v: Any) -> Array:
        q, v = np.asarray(q), np.asarray(v)
        first = -v[..., 1:2] * cross(self.axis2, self._first_axis(q))
        angular = np.stack([first, np.zeros(first.shape)], axis=-1)
        return np.concatenate([angular, np.zeros(angular.shape)], axis=-2)
