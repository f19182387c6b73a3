"""Rigid links as a mechanism: φ is a rotation and an offset, which cost a fraction of its 36 entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from phistar.backends.links import moves
from phistar.backends.links import values as link
from phistar.backends.links.formulas import FORMULAS, carry_acceleration, inertial_force
from phistar.backends.links.link_sizes import PARAMETERS
from phistar.backends.links.mechanism import Block, Mechanism
from phistar.backends.links.two_velocities import TwoMotions, reference_acceleration, reference_force
from phistar.backends.links.values import Links
from phistar.spatial import cross, force_transform
from phistar.sweeps.ir import COMPLIANCE, INERTIA


class SixWide(Mechanism):
    """Abstract. Links of width six, as rotations and offsets say them."""

    plain: Links

    @property
    def parents(self) -> tuple[int, ...]:
        return self.plain.parents

    @property
    def rates(self) -> tuple[slice, ...]:
        return tuple(joint.v_slice for joint in self.plain.model.joints)

    @property
    def frames(self) -> tuple[str, ...]:
        return self.plain.frames

    def width(self, k: int) -> int:
        return 6

    def parameters(self, k: int) -> int:
        return PARAMETERS

    def crossing(self, k: int) -> np.ndarray:
        return force_transform(self.plain.rotation[k], self.plain.offset[k])

    def subspace(self, k: int) -> np.ndarray:
        return self.plain.subspace[k]

    def armature(self, k: int) -> np.ndarray:
        return self.plain.armature(k)

    def mass(self, k: int) -> np.ndarray:
        return self.plain.mass(k)

    def rotor(self, k: int) -> np.ndarray:
        return self.plain.rotor(k)

    # Memoryless functions

    def bias_force(self, k: int, mass: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        return link.bias_force(mass, velocity)

    def bias_acceleration(self, k: int, velocity: np.ndarray, above: Any, v: np.ndarray) -> np.ndarray:
        return link.bias_acceleration(self.plain, k, velocity, v)

    def reference_acceleration(self, k: int, motion: TwoMotions) -> np.ndarray:
        return reference_acceleration(self.plain, k, *motion.own)

    def reference_force(self, k: int, mass: np.ndarray, velocity: np.ndarray, reference: np.ndarray) -> np.ndarray:
        return reference_force(mass, velocity, reference)

    def parameter_forces(self, k: int, velocity: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        return link.parameter_forces(velocity, alpha)

    def apply(self, function: str, k: int, arguments: list[Block], above: Callable[[str], Block]) -> Block:
        return FORMULAS[function](self.plain, k, *arguments)

    # φ acting

    def carry(self, act: str, k: int, x: np.ndarray, outward: bool = False) -> np.ndarray:
        if self.plain.still:
            return x
        path = self.plain.path(k) if act in (INERTIA, COMPLIANCE) else self.plain.way(k)
        return moves.carry(act, path, x, outward)

    # Task frames

    def link_of(self, frame: str) -> int:
        return self.plain.model.frame(frame).body

    def _point(self, frame: str) -> np.ndarray:
        return self.plain.point(frame)

    def frame_pose(self, frame: str, pose: Any) -> tuple[np.ndarray, np.ndarray]:
        rotation = self.plain.model.frame(frame).placement.rotation
        turn, shift = (np.eye(3), np.zeros(3)) if pose is None else pose
        return np.matmul(turn, rotation), shift + np.matmul(turn, self._point(frame))

    def frame_motion(self, frame: str, pose: Any) -> np.ndarray:
        return self.to_frame(frame, pose, np.eye(6))

    def frame_bias(self, frame: str, pose: Any, velocity: np.ndarray) -> np.ndarray:
        omega = velocity[..., :3, 0]
        linear = np.matmul(pose[0], cross(omega, cross(omega, self._point(frame)))[..., None])
        return np.concatenate([0.0 * linear, linear], axis=-2)

    def to_frame(self, frame: str, pose: Any, x: np.ndarray) -> np.ndarray:
        return link.to_world_axes(pose[0], self._point(frame), x)

    def from_frame(self, frame: str, pose: Any, x: np.ndarray) -> np.ndarray:
        return link.from_world_axes(pose[0], self._point(frame), x)


@dataclass(frozen=True, eq=False)
class RigidLinks(SixWide):
    """All links of a robot."""

    plain: Links
    is_fused: ClassVar[bool] = True

    def inertial_force(self, mass: np.ndarray, velocity: np.ndarray, alpha: Block) -> np.ndarray:
        return inertial_force(mass, velocity, _or_zeros(alpha, velocity))

    def carry_acceleration(self, k: int, velocity: np.ndarray, alpha: Block) -> np.ndarray:
        return carry_acceleration(self.plain.way(k), velocity, _or_zeros(alpha, velocity))

    def to_base(self, k: int, x: np.ndarray) -> np.ndarray:
        return link.inward(self.plain.rotation[k], self.plain.offset[k], x)

    def from_base(self, k: int, x: np.ndarray) -> np.ndarray:
        return link.outward(self.plain.rotation[k], self.plain.offset[k], x)

    def pose(self, k: int, above: Any) -> tuple[np.ndarray, np.ndarray]:
        rotation, offset = self.plain.rotation[k], self.plain.offset[k]
        if above is None:
            return rotation, offset
        turn, place = above
        return np.matmul(turn, rotation), place + np.matmul(turn, offset[..., None])[..., 0]


def _or_zeros(block: Block, like: np.ndarray) -> np.ndarray:
    """A motion, zeros where it is zero by structure."""
    return np.full((6, 1), 0.0, dtype=like.dtype) if block is None else block
