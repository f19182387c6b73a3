"""Units and axes of a USD stage: lengths to metres, the upward axis to z, poses out of its matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.spatial import Pose, from_quaternion


@dataclass(frozen=True)
class Units:
    """`metres` of a unit of length, `kilograms` of a unit of mass, and the turn `upright` that makes z upward."""

    metres: float
    kilograms: float
    upright: Pose
    usd: Any

    @staticmethod
    def of(stage: Any, usd: Any) -> Units:
        z_up = str(usd.UsdGeom.GetStageUpAxis(stage)) == "Z"
        turn = np.eye(3) if z_up else np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
        metres = float(usd.UsdGeom.GetStageMetersPerUnit(stage))
        kilograms = float(usd.UsdPhysics.GetStageKilogramsPerUnit(stage))
        return Units(metres, kilograms, Pose(rotation=turn), usd)

    def force(self, drive: str) -> float:
        """Newtons, or newton metres, of a unit of a drive's force."""
        return self.kilograms * self.metres ** (2 if drive == "angular" else 1)

    def local_pose(self, place: Any, turn: Any) -> Pose:
        """A joint's frame on its body."""
        return Pose(xyz=self.metres * np.array(place, dtype=float), rotation=rotation_of(turn))

    def pose_of(self, prim: Any, body: Any = None) -> Pose:
        """A prim's pose in the world, z upward, or on a body; without its scale."""
        found = self.upright @ self.parts(prim)[0]
        return found if body is None else body.pose.inverse @ found

    def parts(self, prim: Any) -> tuple[Pose, np.ndarray]:
        """A prim's pose in the stage's own axes, in metres, and its scale along its axes."""
        matrix = np.array(self.usd.UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(0), dtype=float).T
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        turn = matrix[:3, :3] / np.where(scale > 0.0, scale, 1.0)
        left, _, right = np.linalg.svd(turn)  # the nearest rotation
        return Pose(
            xyz=self.metres * matrix[:3, 3], rotation=left @ np.diag([1, 1, np.linalg.det(left @ right)]) @ right
        ), scale


def rotation_of(quaternion: Any) -> np.ndarray:
    """The matrix of one of USD's quaternions, (w, [x y z]); of a zero one the identity."""
    real, (x, y, z) = float(quaternion.GetReal()), (float(part) for part in quaternion.GetImaginary())
    given = np.array([x, y, z, real])
    size = np.linalg.norm(given)
    return from_quaternion(given / size) if size > 0.0 else np.eye(3)
