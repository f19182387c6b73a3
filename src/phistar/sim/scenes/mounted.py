"""What is mounted on a frame: the parts there, those on them, and so on; its momentum, its weight and its shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.contact.pairs import Site
from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.errors import FileError
from phistar.model import Model
from phistar.sim.scenes.parts import Part
from phistar.spatial import Inertia, cross


@dataclass(frozen=True)
class Mounted:
    """Rigid pieces, each an inertia in a frame of the model, and the shapes on them by body and name."""

    frame: str
    pieces: tuple[tuple[str, Inertia], ...]
    shapes: frozenset[tuple[int, str]]

    def carries(self, site: Site) -> bool:
        return (site.body, site.name) in self.shapes

    def momentum(self, model: Model, q: Any, v: Any) -> Any:
        """Σ φ M V, (6,), about the world's origin in world axes; floats or traced numbers of one state."""
        total = np.zeros(6)
        for frame, inertia in self.pieces:
            pose, motion = forward_kinematics(model, q, frame), frame_velocity(model, q, v, frame)
            total = total + outward(pose, np.matmul(inertia.matrix, _turned(pose, motion)))
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


def mounted(model: Model, parts: tuple[Part, ...], frame: str, where: str) -> Mounted:
    """What the parts put on a frame; at least one."""
    model.frame(frame)
    on, pieces, shapes = {frame}, [], set()
    for part in parts:  # parents come first
        if part.parent not in on or part.free:
            continue
        if part.robot is None:
            on.add(part.name)
            pieces.append((part.name, part.inertia))
            shapes |= {(model.frame(part.name).body, shape.name) for shape in part.geometry}
            continue
        bodies = [(f"{part.name}/{body.name}", body) for body in part.robot.bodies]
        on |= {f"{part.name}/{name}" for name in part.robot.frames}
        pieces += [(name, body.inertia) for name, body in bodies]
        shapes |= {(model.body_index(name), shape.name or name) for name, body in bodies for shape in body.geometry}
    if not on - {frame}:
        raise FileError(f"{where}: nothing is mounted on {frame}; a wrist sensor sits between a frame and parts on it.")
    return Mounted(frame, tuple((name, own) for name, own in pieces if not own.is_zero), frozenset(shapes))


def outward(pose: Any, force: Any) -> Any:
    """φ: [moment; force] in the axes and about the origin of a pose, about the world's origin."""
    linear = np.matmul(pose[:3, :3], force[3:])
    return np.concatenate([np.matmul(pose[:3, :3], force[:3]) + cross(pose[:3, 3], linear), linear])


def inward(pose: Any, force: Any) -> Any:
    """The way back."""
    return _turned(pose, np.concatenate([force[:3] - cross(pose[:3, 3], force[3:]), force[3:]]))


def _turned(pose: Any, vector: Any) -> Any:
    """Both halves of a spatial vector in a pose's axes."""
    turn = np.swapaxes(pose[:3, :3], 0, 1)
    return np.concatenate([np.matmul(turn, vector[:3]), np.matmul(turn, vector[3:])])
