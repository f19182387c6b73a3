"""Spherical: any rotation, as a unit quaternion."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.model.joints.kind import JointKind
from phistar.model.joints.parameters import quaternion_only
from phistar.spatial import conjugate, exp_quaternion, from_quaternion, log_quaternion, multiply


@final
@dataclass(frozen=True, eq=False, repr=False)
class Spherical(JointKind):
    """A ball joint.

    R = R(q), p = 0, H* = [1; 0]: q is a unit quaternion (x, y, z, w), v is ω in the child frame [rad/s].

    Parameters
    ----------
    armature, damping, stiffness, rest, friction, limits, effort, velocity, gear_ratio, rotor_inertia, gyroscopic
        As for every joint; see `Revolute`.

    Examples
    --------
    >>> joint = ps.Spherical()
    >>> joint.nq, joint.nv
    (4, 3)
    """

    nq, nv = 4, 3
    spread = (1.0,) * 4
    flat = False
    quaternion_at = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        quaternion_only(self.limits, self.rest, "A Spherical joint")

    def pose(self, q: Any) -> tuple[Array, Array]:
        q = np.asarray(q)
        return from_quaternion(q), np.zeros((*q.shape[:-1], 3))

    def subspace(self, q: Any) -> Array:
        return np.eye(6)[:, :3]

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 1.0])

    def random(self, rng: "np.random.Generator", shape: tuple[int, ...] = ()) -> Array:
        q = rng.standard_normal((*shape, 4))
        return q / np.linalg.norm(q, axis=-1, keepdims=True)

    def integrate(self, q: Any, dv: Any) -> Array:
        turned = multiply(q, exp_quaternion(dv))
        return turned / np.sqrt(np.sum(turned * turned, axis=-1, keepdims=True))

    def difference(self, q0: Any, q1: Any) -> Array:
        return log_quaternion(multiply(conjugate(q0), q1))
