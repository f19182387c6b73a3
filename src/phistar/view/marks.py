"""Marks beside the bodies: frames, centre of mass, momentum, contacts, ellipsoids and traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from phistar.dynamics import center_of_mass, forward_kinematics, jacobian, momentum
from phistar.model import Model
from phistar.view.shapes import wxyz
from phistar.view.stage import Stage, poses_of

COM, MOMENTUM, FORCE, TRACE = (30, 110, 220), (140, 60, 200), (215, 45, 45), (20, 140, 110)
NONE = np.zeros((0, 2, 3))
INERTIA, MANIPULABILITY = (230, 150, 30), (40, 150, 200)
MOST_FRAMES = 100
LEAST = 1e-9  # N or N s: less is nothing


@dataclass
class Marks:
    """Marks that follow the state; those turned off cost nothing. `size` (m) is the extent of the scene."""

    stage: Stage
    size: float
    frame: str  # whose trace and manipulability are shown
    seen: set[str] = field(default_factory=set)
    nodes: dict[str, Any] = field(default_factory=dict)
    most_force: float = 0.0  # N: the longest arrow is this one
    most_momentum: float = 0.0

    KINDS: ClassVar[tuple[str, ...]] = (
        "Frames",
        "Centre of mass",
        "Momentum",
        "Contacts",
        "Trace",
        "Inertia ellipsoids",
        "Manipulability",
        "Collision shapes",
    )

    @property
    def model(self) -> Model:
        return self.stage.model.tree

    def show(self, kind: str, visible: bool) -> None:
        """Turn one kind of marks on or off; they appear with the next state."""
        (self.seen.add if visible else self.seen.discard)(kind)
        if kind == "Collision shapes":
            self.stage.show_collision(visible)
        if not visible and kind in self.nodes:
            self.nodes.pop(kind).remove()

    def place(
        self, q: np.ndarray, v: np.ndarray, poses: np.ndarray, contacts: tuple[np.ndarray, np.ndarray] | None = None
    ) -> None:
        """Everything that is seen, at a state; contacts are points and forces, (n, 3) each, world axes."""
        with self.stage.server.atomic():
            if "Frames" in self.seen:
                self._frames(q)
            if "Centre of mass" in self.seen:
                self._ball("Centre of mass", center_of_mass(self.model, q), COM)
            if "Momentum" in self.seen:
                self._momentum(q, v)
            if "Contacts" in self.seen:
                self._contacts(contacts)
            if "Inertia ellipsoids" in self.seen:
                self._inertias(poses)
            if "Manipulability" in self.seen:
                self._manipulability(q)

    def trace(self, points: np.ndarray | None) -> None:
        """The path (n, 3) of the frame."""
        if "Trace" not in self.seen or points is None or len(points) < 2:
            if "Trace" in self.nodes:
                self.nodes.pop("Trace").remove()
            return
        segments = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
        if "Trace" in self.nodes:
            self.nodes["Trace"].points = segments
            return
        self.nodes["Trace"] = self.stage.server.scene.add_line_segments(
            "/marks/trace", segments, np.array(TRACE, np.uint8), thickness=3.0, thickness_units="screen"
        )

    def _frames(self, q: np.ndarray) -> None:
        poses = self._frame_poses(q)
        turns, places = wxyz(poses[:, :3, :3]).astype(np.float32), poses[:, :3, 3].astype(np.float32)
        if "Frames" in self.nodes:
            self.nodes["Frames"].batched_wxyzs, self.nodes["Frames"].batched_positions = turns, places
            return
        self.nodes["Frames"] = self.stage.server.scene.add_batched_axes(
            "/marks/frames", turns, places, axes_length=0.08 * self.size, axes_radius=0.003 * self.size
        )

    @cached_property
    def _frame_poses(self) -> Callable[[Any], np.ndarray]:
        """Frames of the links and added ones; a joint's frame coincides with its link's, or nearly."""
        names = [frame.name for frame in self.model.frame_list if frame.role != "joint"]
        return poses_of(self.model, names[:MOST_FRAMES])

    def _ball(self, kind: str, place: np.ndarray, color: tuple[int, int, int]) -> None:
        if kind in self.nodes:
            self.nodes[kind].position = place
            return
        self.nodes[kind] = self.stage.server.scene.add_icosphere(
            f"/marks/{kind.lower()}", 0.015 * self.size, color, position=place, cast_shadow=False
        )

    def _momentum(self, q: np.ndarray, v: np.ndarray) -> None:
        """The linear part, at the centre of mass; the longest so far is a third of the scene."""
        linear = momentum(self.model, q, v)[3:]
        self.most_momentum = max(self.most_momentum, float(np.linalg.norm(linear)), LEAST)
        start = center_of_mass(self.model, q)
        end = start + linear * (self.size / 3 / self.most_momentum)
        still = np.linalg.norm(linear) < 1e-9 * self.most_momentum or self.most_momentum <= LEAST
        self._arrows("Momentum", NONE if still else np.stack([start, end])[None], MOMENTUM)

    def _contacts(self, contacts: tuple[np.ndarray, np.ndarray] | None) -> None:
        segments = NONE
        if contacts is not None:
            points, forces = contacts
            touching = np.flatnonzero(np.isfinite(points).all(axis=-1) & (np.linalg.norm(forces, axis=-1) > LEAST))
            if len(touching):
                self.most_force = max(self.most_force, float(np.max(np.linalg.norm(forces[touching], axis=-1))))
                reach = forces[touching] * (self.size / 5 / self.most_force)
                both = [np.stack([points[touching], points[touching] + way * reach], axis=1) for way in (1.0, -1.0)]
                segments = np.concatenate(both)  # action and reaction; one of them is outside of what is pushed
        self._arrows("Contacts", segments, FORCE)

    def _arrows(self, kind: str, segments: np.ndarray, color: tuple[int, int, int]) -> None:
        segments = np.asarray(segments, np.float32)
        if kind in self.nodes:
            self.nodes[kind].visible = len(segments) > 0
            if len(segments):
                self.nodes[kind].points = segments
            return
        if not len(segments):
            return
        thick = 0.006 * self.size
        self.nodes[kind] = self.stage.server.scene.add_arrows(
            f"/marks/{kind.lower()}",
            segments,
            np.array(color, np.uint8),
            shaft_radius=thick,
            head_radius=2.2 * thick,
            head_length=5 * thick,
        )

    def _inertias(self, poses: np.ndarray) -> None:
        """Homogeneous ellipsoids with the inertias of the bodies that have mass."""
        found = []
        for body, pose in zip(self.model.bodies, poses, strict=True):
            radii, turn = inertia_ellipsoid(body.inertia.mass, body.inertia.tensor)
            if radii is not None:
                found.append((pose[:3, :3] @ turn, pose[:3, :3] @ body.inertia.com + pose[:3, 3], radii))
        self._ellipsoids("Inertia ellipsoids", found, INERTIA)

    def _manipulability(self, q: np.ndarray) -> None:
        """JJ* of the frame's linear velocity: where unit rates of the joints can take it, at a tenth of the length."""
        linear = jacobian(self.model, q, self.frame)[3:]
        values, turn = np.linalg.eigh(linear @ linear.T)
        if np.linalg.det(turn) < 0.0:
            turn = turn * np.array([1.0, 1.0, -1.0])
        place = forward_kinematics(self.model, q, self.frame)[:3, 3]
        radii = np.maximum(0.1 * np.sqrt(np.maximum(values, 0.0)), 1e-4)
        self._ellipsoids("Manipulability", [(turn, place, radii)], MANIPULABILITY)

    def _ellipsoids(self, kind: str, found: list[Any], color: tuple[int, int, int]) -> None:
        if not found:
            return
        turns = wxyz(np.stack([each[0] for each in found])).astype(np.float32)
        places = np.stack([each[1] for each in found]).astype(np.float32)
        radii = np.stack([each[2] for each in found]).astype(np.float32)
        if kind in self.nodes:
            node = self.nodes[kind]
            node.batched_wxyzs, node.batched_positions, node.batched_scales = turns, places, radii
            return
        self.nodes[kind] = ellipsoids(self.stage.server.scene, f"/marks/{kind.lower()}", turns, places, radii, color)


def ellipsoids(scene: Any, name: str, turns: Any, places: Any, radii: Any, color: Any, opacity: float = 0.45) -> Any:
    """n clear ellipsoids as one node: quaternions (n, 4), centres (n, 3), half-axes (n, 3)."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=3)
    return scene.add_batched_meshes_simple(
        name,
        np.asarray(ball.vertices, np.float32),
        np.asarray(ball.faces, np.uint32),
        turns,
        places,
        batched_scales=radii,
        batched_colors=np.asarray(color, np.uint8),
        opacity=opacity,
        lod="off",
        cast_shadow=False,
        receive_shadow=False,
    )


def inertia_ellipsoid(mass: float, tensor: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Half-axes with I_x = m(b² + c²)/5 …, and the principal axes; None where no body has such moments."""
    if mass <= 0.0:
        return None, np.eye(3)
    moments, turn = np.linalg.eigh(np.asarray(tensor, dtype=float))
    squares = 2.5 / mass * (np.sum(moments) - 2.0 * moments)
    if np.min(squares) < -1e-9 * np.max(np.abs(squares)):
        return None, np.eye(3)
    if np.linalg.det(turn) < 0.0:
        turn = turn * np.array([1.0, 1.0, -1.0])
    return np.sqrt(np.maximum(squares, 1e-6)), turn
