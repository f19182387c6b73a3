"""Pose: where one frame is in another."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from phistar.array_types import Array
from phistar.errors import ModelError
from phistar.spatial.rotations import from_quaternion, from_rpy
from phistar.spatial.value import Value, checked_numbers, readonly

ORTHONORMAL = 1e-9  # how far RᵀR may be from 1 in a rotation given


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Pose(Value):
    """Position and orientation of one frame in another: frame B in frame A.

    x_A = R x_B + p.

    Parameters
    ----------
    xyz : (3,)
        p [m].
    rpy : (3,), optional
        Rotation as URDF's roll, pitch, yaw about fixed axes [rad].
    rotation : (3, 3), optional
        Rotation as a matrix.
    quaternion : (4,), optional
        Rotation as a unit quaternion (x, y, z, w).

    Examples
    --------
    >>> quarter = ps.Pose(xyz=(1, 0, 0), rpy=(0, 0, np.pi / 2))
    >>> quarter.matrix.round(9)[:3, 3], (quarter @ quarter).translation.round(9)
    (array([1., 0., 0.]), array([1., 1., 0.]))
    """

    rotation: Array
    translation: Array

    def __init__(self, xyz: Any = (0.0, 0.0, 0.0), rpy: Any = None, rotation: Any = None, quaternion: Any = None):
        if sum(given is not None for given in (rpy, rotation, quaternion)) > 1:
            raise ModelError("A pose was given several rotations; give one of rpy, rotation and quaternion.")
        matrix = np.eye(3)
        if rpy is not None:
            matrix = from_rpy(checked_numbers(rpy, (3,), "A pose", "rpy"))
        elif rotation is not None:
            matrix = _checked_rotation(checked_numbers(rotation, (3, 3), "A pose", "rotation"))
        elif quaternion is not None:
            matrix = from_quaternion(_unit(checked_numbers(quaternion, (4,), "A pose", "quaternion")))
        object.__setattr__(self, "rotation", readonly(matrix))
        object.__setattr__(self, "translation", readonly(checked_numbers(xyz, (3,), "A pose", "xyz")))

    def __repr__(self) -> str:
        """The constructor's call, to six digits: Pose(xyz=…, rpy=…)."""
        xyz = ", ".join(f"{entry:g}" for entry in self.translation)
        turn = self.rotation
        if (turn == np.eye(3)).all():
            return f"Pose(xyz=[{xyz}])"
        level = np.hypot(turn[0, 0], turn[1, 0])
        pitch = np.arctan2(-turn[2, 0], level)
        if level > 1e-9:
            roll, yaw = np.arctan2(turn[2, 1], turn[2, 2]), np.arctan2(turn[1, 0], turn[0, 0])
        else:  # looking straight up or down, roll and yaw turn about one axis: all of it is given as roll
            roll, yaw = np.arctan2(-turn[1, 2], turn[1, 1]), 0.0
        rpy = ", ".join(f"{entry + 0.0:g}" for entry in (roll, pitch, yaw))
        return f"Pose(xyz=[{xyz}], rpy=[{rpy}])"

    @classmethod
    def of(cls, rotation: np.ndarray, translation: np.ndarray) -> Self:
        """Pose from numbers known to be right, such as results of composing poses."""
        pose = object.__new__(cls)
        object.__setattr__(pose, "rotation", readonly(rotation))
        object.__setattr__(pose, "translation", readonly(translation))
        return pose

    @staticmethod
    def identity() -> "Pose":
        """R = 1, p = 0."""
        return IDENTITY

    def __matmul__(self, other: "Pose") -> "Pose":
        """A→B @ B→C = A→C."""
        if not isinstance(other, Pose):
            return NotImplemented
        if self.is_identity or other.is_identity:
            return other if self.is_identity else self
        moved = self.rotation @ other.translation + self.translation
        return Pose.of(self.rotation @ other.rotation, moved)

    @property
    def inverse(self) -> "Pose":
        """(Rᵀ, −Rᵀp)."""
        return Pose.of(self.rotation.T, -(self.rotation.T @ self.translation))

    @property
    def matrix(self) -> Array:
        """[[R, p], [0, 1]], (4, 4)."""
        matrix = np.eye(4, dtype=np.result_type(self.rotation, self.translation))
        matrix[:3, :3] = self.rotation
        matrix[:3, 3] = self.translation
        return matrix

    @cached_property
    def is_identity(self) -> bool:
        """Exactly R = 1 and p = 0."""
        return not self.translation.any() and bool((self.rotation == np.eye(3)).all())


IDENTITY = Pose()


def _checked_rotation(matrix: np.ndarray) -> np.ndarray:
    error = np.abs(matrix.T @ matrix - np.eye(3)).max()
    if error > ORTHONORMAL:
        raise ModelError(
            f"A rotation matrix must be orthonormal; in the one given RᵀR differs from 1 by {error:.2g}. "
            "Give it with all its digits, or give rpy or a quaternion."
        )
    if np.linalg.det(matrix) < 0.0:
        raise ModelError("A rotation matrix must have determinant +1; the one given has −1: it mirrors. Flip one axis.")
    return matrix


def _unit(quaternion: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(quaternion)
    if not 1e-12 < length < 1e12:
        raise ModelError(f"The quaternion {quaternion.tolist()} has no direction; give (x, y, z, w) of length 1.")
    return quaternion / length
