"""Assembly mounted on a frame: the parts there, those on them, and so on; its momentum, weight and shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.errors import FileError
from phistar.model import Model
from phistar.spatial import Inertia, cross

if TYPE_CHECKING:
    from phistar.plant.plant import Plant


@dataclass(frozen=True)
class Mounted:
    """Rigid pieces, each an inertia in a frame of the model, and the members of the plant whose shapes they carry."""

    frame: str
    pieces: tuple[tuple[str, Inertia], ...]
    owners: frozenset[str]

    def momentum(self, model: Model, q: Any, v: Any) -> Any:
        """Σ φ M V, (6,), about the world's origin in world axes; floats or traced numbers of one state."""
        total = np.zeros(6)
        for frame, inertia in self.pieces:
            pose, motion = forward_kinematics(model, q, frame), frame_velocity(model, q, v, frame)
            total = total + outward(pose, np.matmul(inertia.matrix, _rotate(pose, motion)))
        return total

    def weight(self, model: Model, q: Any, gravity: np.ndarray) -> Any:
        """[c × m g; m g], (6,), about the world's origin."""
        total = np.zeros(6)
        for frame, inertia in self.pieces:
            pose = forward_kinematics(model, q, frame)
            center = np.matmul(pose[:3, :3], inertia.com) + pose[:3, 3]
            force = inertia.mass * np.asarray(gravity)
            total = total + np.concatenate([cross(center, force), force])
        return total


def mount(plant: Plant, frame: str, where: str) -> Mounted:
    """Return the assembly on a frame; at least one part."""
    plant.model.frame(frame)
    on, pieces, owners = {frame}, [], set()
    for name, robot in plant.robots.items():  # what they stand on comes first
        if robot.on not in on or (robot.bare and robot.floats):
            continue
        prefix = plant.prefix(name)
        on |= {prefix + each for each in robot.model.frames}
        owners.add(name)
        if not robot.model.base_inertia.is_zero:
            base = robot.model.base_inertia
            pieces.append((name, base) if robot.bare else (robot.on, base.transformed(robot.at)))
        pieces += [(prefix + body.name, body.inertia) for body in robot.model.bodies]
    if not owners:
        raise FileError(f"{where}: nothing is mounted on {frame}; a wrist sensor sits between a frame and parts on it.")
    return Mounted(frame, tuple((name, own) for name, own in pieces if not own.is_zero), frozenset(owners))


def outward(pose: Any, force: Any) -> Any:
    """φ: [moment; force] in the axes and about the origin of a pose, about the world's origin."""
    linear = np.matmul(pose[:3, :3], force[3:])
    return np.concatenate([np.matmul(pose[:3, :3], force[:3]) + cross(pose[:3, 3], linear), linear])


def inward(pose: Any, force: Any) -> Any:
    """Inverse of `outward`."""
    return _rotate(pose, np.concatenate([force[:3] - cross(pose[:3, 3], force[3:]), force[3:]]))


def _rotate(pose: Any, vector: Any) -> Any:
    """Express both halves of a spatial vector in a pose's axes."""
    turn = np.swapaxes(pose[:3, :3], 0, 1)
    return np.concatenate([np.matmul(turn, vector[:3]), np.matmul(turn, vector[3:])])
