"""A model on the stage: one node per body, moved in batches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from phistar.compiled import compile as compiled
from phistar.dynamics import forward_kinematics
from phistar.model import Geometry, Model, Plane
from phistar.view.bent_surfaces import Surface, surfaces
from phistar.view.report_shapes import color_of, visible_geometry
from phistar.view.shapes import bounds, draw, draw_ground, wxyz

UNSEEN = 1e-7  # m, and of rotations: less is not sent
VIEW_ANGLE = 0.75  # rad, up and down

_log = logging.getLogger("phistar")


def body_poses(model: Model) -> Callable[[Any], np.ndarray]:
    """q (…, nq) → the poses of all bodies, (…, bodies, 4, 4)."""
    return poses_of(model, body_frames(model))


def poses_of(model: Model, frames: Sequence[str]) -> Callable[[Any], np.ndarray]:
    """q (…, nq) → the poses of frames, (…, frames, 4, 4), in one compiled function."""
    if not frames:
        return lambda q: np.zeros((*np.shape(q)[:-1], 0, 4, 4))
    return compiled(lambda q: np.stack([forward_kinematics(model.tree, q, name) for name in frames]), model.tree)


def body_frames(model: Model) -> list[str]:
    """The names of frames that are those of the bodies; a link's own frame may stand elsewhere on its body."""
    found = {frame.body: frame.name for frame in reversed(model.frame_list) if frame.placement.is_identity}
    return [found[index] for index in range(len(model.bodies))]


@dataclass
class Stage:
    """The bodies of a model as nodes of a viser scene.

    `place(poses)` moves them: two messages for each body that moved, sent together.
    """

    server: Any
    model: Model
    nodes: list[Any] = field(default_factory=list)
    solids: dict[str, int] = field(default_factory=dict)
    hidden: dict[str, Geometry] = field(default_factory=dict)
    collision: list[Any] = field(default_factory=list)
    bending: list[tuple[int, Surface, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        scene = self.server.scene
        everything = [(-1, self.model.base_geometry), *((i, b.geometry) for i, b in enumerate(self.model.bodies))]
        for index, geometry in everything:
            path = "/world" if index < 0 else f"/bodies/{index:03d} {_flat(self.model.bodies[index].name)}"
            node = scene.add_frame(path, show_axes=False)
            if index >= 0:
                self.nodes.append(node)
            if index >= 0 and self.model.bodies[index].modes:
                self._add_bending(path, index)
                continue
            drawn = visible_geometry(geometry)
            for number, each in enumerate(geometry):
                place = f"{path}/{number} {_flat(each.name)}".rstrip()
                if each in drawn:
                    self._add(place, index, each)
                else:
                    self.hidden[place] = each

    def _add(self, path: str, index: int, geometry: Geometry) -> None:
        handle = draw(self.server.scene, path, geometry)
        if handle is not None and not isinstance(geometry.shape, Plane):
            self.solids[path] = index
            handle.on_click(lambda event: self.clicked(self.solids[event.target.name]))

    def _add_bending(self, path: str, index: int) -> None:
        """The surfaces of a body that bends, which `bend` shapes."""
        for number, surface in enumerate(surfaces(self.model, index)):
            rgb = tuple(round(255 * float(x)) for x in color_of(surface.geometry, index, self.model))
            place, look = f"{path}/{number}", {"color": rgb, "side": "double", "flat_shading": True}
            handle = self.server.scene.add_mesh_simple(place, surface.points, surface.faces, **look)
            self.solids[place] = index
            handle.on_click(lambda event: self.clicked(self.solids[event.target.name]))
            self.bending.append((index, surface, handle))

    def bend(self, q: np.ndarray) -> None:
        """Every body that bends as its modal coordinates in q (nq,) say."""
        for index, surface, handle in self.bending:
            eta = np.asarray(q)[self.model.bodies[index].mode_q_slice]
            handle.vertices = surface.deform(eta)[0].astype(np.float32)

    @cached_property
    def sent_poses(self) -> np.ndarray:
        """Poses of the nodes as last sent; at first the world's."""
        return np.broadcast_to(np.eye(4), (len(self.nodes), 4, 4))

    clicked: Callable[[int], None] = field(default=lambda index: None)

    @cached_property
    def poses(self) -> Callable[[Any], np.ndarray]:
        """q (…, nq) → (…, bodies, 4, 4)."""
        return body_poses(self.model)

    def place(self, poses: np.ndarray) -> None:
        """Move every body to its pose, (bodies, 4, 4)."""
        moved = np.max(np.abs(poses - self.sent_poses), axis=(1, 2), initial=0.0) > UNSEEN
        if not moved.any():
            return
        turns, self.sent_poses = wxyz(poses[:, :3, :3]), np.where(moved[:, None, None], poses, self.sent_poses)
        with self.server.atomic():
            for index in np.flatnonzero(moved):
                self.nodes[index].position = poses[index, :3, 3]
                self.nodes[index].wxyz = turns[index]

    def show_collision(self, visible: bool) -> None:
        """Show or hide the collision shapes that are not drawn anyway."""
        if visible and not self.collision:
            made = [draw(self.server.scene, path, each, opacity=0.35) for path, each in self.hidden.items()]
            self.collision = [handle for handle in made if handle is not None]
        for handle in self.collision:
            handle.visible = visible

    def bounds(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The corners of a box around everything drawn, over poses (…, bodies, 4, 4)."""
        poses = poses.reshape(int(np.prod(poses.shape[:-3])), len(self.nodes), 4, 4)
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        still = np.broadcast_to(np.eye(4), (1, 4, 4))
        for index, geometry in [(-1, self.model.base_geometry), *enumerate(b.geometry for b in self.model.bodies)]:
            places = still if index < 0 else poses[:, index]
            corners = [_corners(each) for each in visible_geometry(geometry)]
            corners += [surface.points for own, surface, _ in self.bending if own == index]
            local = np.concatenate([c for c in corners if c is not None] or [np.zeros((0, 3))])
            points = local if len(local) else np.zeros((1, 3))  # a body that shows nothing is where its origin is
            if index < 0 and not len(local):
                continue
            world = np.einsum("nij,kj->nki", places[:, :3, :3], points) + places[:, None, :3, 3]
            low, high = np.minimum(low, world.min(axis=(0, 1))), np.maximum(high, world.max(axis=(0, 1)))
        if not np.isfinite(low).all():
            return np.full(3, -0.5), np.full(3, 0.5)
        middle, reach = 0.5 * (low + high), np.maximum(0.5 * (high - low), 0.05)
        return middle - reach, middle + reach

    def furnish(self, low: np.ndarray, high: np.ndarray) -> None:
        """Light, ground and a camera that sees the box."""
        scene = self.server.scene
        middle, reach = 0.5 * (low + high), float(np.linalg.norm(high - low)) / 2
        planes = [each for each in self.model.base_geometry if isinstance(each.shape, Plane)]
        if not planes:
            draw_ground(scene, "/ground", float(low[2]) - 1e-3, max(4.0, np.ceil(4 * reach)))
        scene.configure_default_lights(True, cast_shadow=True)
        camera = self.server.initial_camera
        way = np.array([0.75, -0.85, 0.5])
        camera.fov = VIEW_ANGLE
        camera.position = tuple(middle + 1.3 * reach / np.sin(VIEW_ANGLE / 2) * way / np.linalg.norm(way))
        camera.look_at = tuple(middle)


def _corners(geometry: Geometry) -> np.ndarray | None:
    """The eight corners of a geometry's own box, in its body's frame."""
    found = bounds(geometry.shape)
    if found is None:
        return None
    low, high = found
    grid = np.stack(np.meshgrid(*zip(low, high, strict=True)), axis=-1).reshape(-1, 3)
    return grid @ geometry.placement.rotation.T + geometry.placement.translation


def _flat(name: str) -> str:
    """A name as one level of viser's tree."""
    return name.replace("/", "⁄")
