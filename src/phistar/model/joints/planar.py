"""Planar: two lengths in a plane and the angle about its normal."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.model.joints.kind import JointKind
from phistar.model.joints.parameters import unit_axis
from phistar.spatial import cross, from_axis_angle, skew


@final
@dataclass(frozen=True, eq=False, repr=False)
class Planar(JointKind):
    """Motion in a plane: two distances and an angle, q = (x, y, θ), v = q̇.

    R = exp(θ ñ), p = x e₁ + y e₂, H* = [[0, 0, n], [Rᵀe₁, Rᵀe₂, 0]]; e₁, e₂, n are right-handed, in the parent-side
    frame; for n = ẑ they are x̂, ŷ.

    Parameters
    ----------
    normal : (3,)
        n, of the plane.
    armature, damping, stiffness, rest, friction, limits, effort, velocity, gear_ratio, rotor_inertia, gyroscopic
        As for every joint; see `Revolute`.

    Examples
    --------
    >>> ps.Planar().nv
    3
    """

    normal: Any = (0.0, 0.0, 1.0)

    nq = nv = 3
    spread = (1.0, 1.0, np.pi)

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit_axis(self.normal, "A Planar joint"))
        super().__post_init__()

    @property
    def axes(self) -> Array:
        """[e₁; e₂], (2, 3)."""
        n = self.normal
        after = np.eye(3)[(int(np.argmax(np.abs(n))) + 1) % 3]  # the basis vector that cyclically follows n's largest
        first = after - np.dot(after, n) * n
        first /= np.linalg.norm(first)
        return np.stack([first, cross(n, first)])

    def pose(self, q: Any) -> tuple[Array, Array]:
        q = np.asarray(q)
        return from_axis_angle(self.normal, q[..., 2]), np.matmul(q[..., :2], self.axes)

    def subspace(self, q: Any) -> Array:
        inverse = from_axis_angle(self.normal, -np.asarray(q)[..., 2])
        linear = np.matmul(inverse, self.axes.T)
        upper = np.broadcast_to(np.stack([np.zeros(3), np.zeros(3), self.normal], axis=-1), inverse.shape)
        lower = np.concatenate([linear, np.zeros((*inverse.shape[:-1], 1))], axis=-1)
        return np.concatenate([upper, lower], axis=-2)

    def subspace_rate(self, q: Any, v: Any) -> Array:
        v = np.asarray(v)
        inverse = from_axis_angle(self.normal, -np.asarray(q)[..., 2])
        turned = -v[..., 2:, None] * np.matmul(skew(self.normal), np.matmul(inverse, self.axes.T))
        lower = np.concatenate([turned, np.zeros((*turned.shape[:-1], 1))], axis=-1)
        return np.concatenate([np.zeros(lower.shape), lower], axis=-2)
