"""Free: six degrees of freedom, as for a spacecraft or a walking robot's base."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.model.joints.kind import JointKind
from phistar.model.joints.parameters import quaternion_only
from phistar.spatial import (
    conjugate,
    exp_quaternion,
    exp_translation,
    from_quaternion,
    log_quaternion,
    log_translation,
    multiply,
    times,
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Free(JointKind):
    """No joint at all: a body that flies free.

    q = [p; quaternion (x, y, z, w)], v = [ω; v] in the child frame: R = R(q), H* = 1.

    Parameters
    ----------
    armature, damping, stiffness, rest, friction, limits, effort, velocity, gear_ratio, rotor_inertia, gyroscopic
        As for every joint; see `Revolute`.

    Examples
    --------
    >>> joint = ps.Free()
    >>> joint.nq, joint.nv
    (7, 6)
    """

    nq, nv = 7, 6
    spread = (1.0,) * 7
    flat = False
    quaternion_at = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        quaternion_only(self.limits, self.rest[3:], "A Free joint")

    def pose(self, q: Any) -> tuple[Array, Array]:
        q = np.asarray(q)
        return from_quaternion(q[..., 3:]), q[..., :3]

    def subspace(self, q: Any) -> Array:
        return np.eye(6)

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

    def random(self, rng: "np.random.Generator", shape: tuple[int, ...] = ()) -> Array:
        position = 2.0 * rng.random((*shape, 3)) - 1.0
        turn = rng.standard_normal((*shape, 4))
        return np.concatenate([position, turn / np.linalg.norm(turn, axis=-1, keepdims=True)], axis=-1)

    def integrate(self, q: Any, dv: Any) -> Array:
        """The exponential of the body twist: p + R V(ω) v, quaternion ⊗ exp(ω)."""
        q, dv = np.asanyarray(q), np.asanyarray(dv)
        step = times(exp_translation(dv[..., :3]), dv[..., 3:])
        turned = multiply(q[..., 3:], exp_quaternion(dv[..., :3]))
        turned = turned / np.sqrt(np.sum(turned * turned, axis=-1, keepdims=True))
        moved = q[..., :3] + times(from_quaternion(q[..., 3:]), step)
        return np.concatenate([moved, turned], axis=-1)

    def difference(self, q0: Any, q1: Any) -> Array:
        """Inverse of `integrate`: ω = log(quaternion), v = V(ω)⁻¹ R₀ᵀ (p₁ − p₀)."""
        q0, q1 = np.asanyarray(q0), np.asanyarray(q1)
        back = conjugate(q0[..., 3:])
        turn = log_quaternion(multiply(back, q1[..., 3:]))
        step = times(from_quaternion(back), q1[..., :3] - q0[..., :3])
        return np.concatenate([turn, times(log_translation(turn), step)], axis=-1)
