"""Link frames that suit a loop over many links: z along the joint's axis, x along the common normal to the next axis.

Between two such frames lies a screw along x, then one along z (Denavit and Hartenberg, as Khalil and Kleinfinger number
them). A body's frame can suit one child only: its other children, the links that hang on the world, and joints without
an axis are placed by a general pose. All links at once, on arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.model import Helical, Model, Prismatic, Revolute
from phistar.spatial import cross, times

ROOT, SCREW, BRANCH = "root", "screw", "branch"
"""How a link is placed in its parent: on the world, by two screws, by a general pose."""

FARTHEST = 1e3  # of a common normal's foot, in distances between the origins: beyond, digits would be lost


@dataclass(frozen=True, eq=False)
class LinkFrames:
    """Per body: its role; `rotation` (n, 3, 3) and `offset` (n, 3) place it in its parent, or, for a screw, `screws`
    (n, 5) = cos α, sin α, a, θ₀, d; `inertia` (n, 10) in the new frame; `old_*` is the new frame in the old one."""

    roles: tuple[str, ...]
    rotation: np.ndarray
    offset: np.ndarray
    screws: np.ndarray
    inertia: np.ndarray
    old_rotation: np.ndarray
    old_offset: np.ndarray

    def point(self, body: int, point: np.ndarray) -> np.ndarray:
        """A point of a body's old frame, in the new one."""
        return self.old_rotation[body].T @ (point - self.old_offset[body])


def link_frames(model: Model, keep_origins: bool = False) -> LinkFrames:
    """Frames for a model with the same q, v and dynamics; with `keep_origins` the bodies' own, only turned, so that a
    and b, which depend on the points they are about, are theirs."""
    rotation = np.array([body.placement.rotation for body in model.bodies])
    offset = np.array([body.placement.translation for body in model.bodies])
    parents = np.array(model.parents)
    axes, has_axis = _axes(model)
    normals = _Normals(axes, has_axis & (not keep_origins), parents, rotation, offset)
    x, along = normals.frames()
    turn = np.where(has_axis[:, None, None], np.stack([x, cross(axes, x), axes], axis=-1), np.eye(3))
    shift = np.where(has_axis[:, None], along[:, None] * axes, 0.0)
    above = np.maximum(parents, 0)
    inner = np.where((parents >= 0)[:, None, None], turn[above], np.eye(3)).transpose(0, 2, 1)
    start = np.where((parents >= 0)[:, None], shift[above], 0.0)
    placed = offset + times(rotation, shift) - start
    roles = tuple(ROOT if p < 0 else SCREW if s else BRANCH for p, s in zip(parents, normals.is_screw, strict=True))
    return LinkFrames(
        roles,
        np.matmul(np.matmul(inner, rotation), turn),
        times(inner, placed),
        normals.screws(x, along),
        _inertias(model, turn, shift),
        turn,
        shift,
    )


def _axes(model: Model) -> tuple[np.ndarray, np.ndarray]:
    kinds = [joint.kind for joint in model.joints]
    has_axis = np.array([isinstance(kind, Revolute | Prismatic | Helical) for kind in kinds])
    return np.array([getattr(kind, "axis", (0.0, 0.0, 1.0)) for kind in kinds], dtype=float), has_axis


def _dots(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.sum(x * y, axis=-1)


class _Normals:
    """Common normals between each link's axis and its parent's, where the parent's frame is to follow it."""

    def __init__(self, axes: Any, has_axis: Any, parents: Any, rotation: Any, offset: Any) -> None:
        self.axes, self.parents, self.rotation = axes, parents, rotation
        above = np.maximum(parents, 0)
        z, u, t = axes[above], times(rotation, axes), offset
        normal = cross(z, u)
        size = np.sqrt(_dots(normal, normal))
        parallel = size < 1e-14
        square = np.where(parallel, 1.0, size) ** 2
        self.on_parent = np.where(parallel, _dots(t, z), _dots(cross(t, u), normal) / square)
        self.on_own = np.where(parallel, 0.0, _dots(cross(t, z), normal) / square)
        between = t + self.on_own[:, None] * u - self.on_parent[:, None] * z
        apart = np.where(parallel[:, None], between, normal)
        self.x = _unit_across(apart, z)
        self.alpha = np.stack([_dots(z, u), _dots(normal, self.x), _dots(between, self.x)], axis=-1)
        reach = FARTHEST * (np.sqrt(_dots(t, t)) + 1e-3)
        near = np.maximum(np.abs(self.on_parent), np.abs(self.on_own)) < reach
        fit = has_axis & (parents >= 0) & has_axis[above] & near
        self.is_screw = fit & _first(np.where(fit, parents, -1))

    def frames(self) -> tuple[np.ndarray, np.ndarray]:
        """x and the origin's place on the axis of each body's frame: towards the child that is to be a screw; at an
        end, what the body's own screw makes simplest."""
        own_x = times(self.rotation.transpose(0, 2, 1), self.x)
        x = np.where(self.is_screw[:, None], own_x, _across(self.axes))
        along = np.where(self.is_screw, self.on_own, 0.0)
        children = np.flatnonzero(self.is_screw)
        x[self.parents[children]] = self.x[children]
        along[self.parents[children]] = self.on_parent[children]
        return x, along

    def screws(self, x: np.ndarray, along: np.ndarray) -> np.ndarray:
        """cos α, sin α, a, θ₀, d of each link that is one."""
        start = times(self.rotation.transpose(0, 2, 1), self.x)
        angle = np.arctan2(_dots(cross(start, x), self.axes), _dots(start, x))
        return np.concatenate([self.alpha, np.stack([angle, along - self.on_own], axis=-1)], axis=-1)


def _first(values: np.ndarray) -> np.ndarray:
    """Index of the first occurrence of each value that is not negative."""
    result = np.zeros(len(values), dtype=bool)
    found, places = np.unique(values, return_index=True)
    result[places[found >= 0]] = True
    return result


def _across(axes: np.ndarray) -> np.ndarray:
    """A unit vector across each axis: a coordinate axis gives a coordinate axis."""
    least = np.eye(3)[np.argmin(np.abs(axes), axis=-1)]
    return _unit_across(least, axes)


def _unit_across(wanted: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """`wanted` made square to the axes and of unit length; some vector across where it has no length."""
    square = wanted - _dots(wanted, axes)[:, None] * axes
    size = np.sqrt(_dots(square, square))
    if np.any(size < 1e-12):
        least = np.eye(3)[np.argmin(np.abs(axes), axis=-1)]
        other = least - _dots(least, axes)[:, None] * axes
        square = np.where((size < 1e-12)[:, None], other, square)
        size = np.sqrt(_dots(square, square))
    return square / size[:, None]


def _inertias(model: Model, turn: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Mass, mass·com and the tensor about the new origins, (n, 10)."""
    inertias = [body.inertia for body in model.bodies]
    mass = np.array([inertia.mass for inertia in inertias])
    com = np.array([inertia.com for inertia in inertias])
    tensor = np.array([inertia.tensor for inertia in inertias])
    back = turn.transpose(0, 2, 1)
    com = times(back, com - shift)
    spread = _dots(com, com)[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
    tensor = np.matmul(np.matmul(back, tensor), turn) + mass[:, None, None] * spread
    rows, columns = np.array([0, 0, 1, 0, 1, 2]), np.array([0, 1, 1, 2, 2, 2])
    return np.concatenate([mass[:, None], mass[:, None] * com, tensor[:, rows, columns]], axis=-1)
