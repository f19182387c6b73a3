"""Where a hand can take hold of a body: pairs of opposite flat faces, and how the fingers must be turned on them.

The body is a union of convex pieces. A face is flat where the fingertips come equally near at any roll of the hand;
where some rolls let them sink deeper, these are its grooves, and the hand keeps to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from phistar.capture.robot import Hand
from phistar.contact.shapes import coal, convex, corners, faces
from phistar.model import Geometry, Model
from phistar.spatial import cross

FLAT = 1e-6  # m: corners this near to a plane lie in it
SUNK = 0.002  # m: fingers that come so much deeper are in a groove
STEP = np.radians(2.0)  # of the search for grooves


@dataclass(frozen=True, eq=False)
class Face:
    """`contact` (4, 4) is the grip in the body's frame when its fingers touch, z inward, at no roll; `rolls` (k,)
    are the turns about z at which fingers sink into grooves, None: any turn will do; `room` is how far the grip may be
    shifted along the face, m."""

    name: str
    contact: np.ndarray
    rolls: np.ndarray | None
    room: float


def face_pairs(model: Model, body: str, hand: Hand, radius: float) -> tuple[tuple[Face, Face], ...]:
    """The opposite faces of a body that have room for a hand with fingertips of a radius; those with grooves alone,
    where there are any: they are made to be held."""
    geometry = model.bodies[model.body_index(body)].geometry
    shapes = tuple(each for each in geometry if each.role == "collision")
    return _found(shapes, tuple(map(tuple, hand.tips.tolist())), radius)


@lru_cache(maxsize=64)  # runs of a campaign share the body's shapes
def _found(shapes: tuple[Geometry, ...], points: tuple[tuple[float, ...], ...], radius: float) -> Any:
    pieces, tips = _Pieces(shapes), np.array(points)
    ring = float(np.max(np.linalg.norm(tips[:, :2], axis=-1))) + radius
    found = []
    for normal in pieces.normals:
        if normal[np.argmax(np.abs(normal) > 1e-9)] > 0.0:
            outlines = [pieces.outline(way) for way in (normal, -normal)]
            if all(outline is not None for outline in outlines):
                pair = _pair(pieces, normal, [outline for outline in outlines if outline is not None], ring)
                found += [] if pair is None else [tuple(_grooved(pieces, face, tips, radius) for face in pair)]
    held = [pair for pair in found if all(face.rolls is not None for face in pair)]
    return tuple(held or found)


class _Pieces:
    """The convex shapes of a body, in its frame."""

    def __init__(self, shapes: tuple[Geometry, ...]) -> None:
        self.shapes = shapes
        turned = [faces(each.shape) @ each.placement.rotation.T for each in self.shapes]
        self.normals = np.unique(np.round(np.concatenate([np.zeros((0, 3)), *turned]), 9), axis=0)
        placed = [corners(each.shape) @ each.placement.rotation.T + each.placement.translation for each in self.shapes]
        self.corners = np.concatenate([np.zeros((0, 3)), *placed])
        self._poses = [coal().Transform3s(each.placement.rotation, each.placement.translation) for each in self.shapes]

    def outline(self, normal: np.ndarray) -> np.ndarray | None:
        """The corners (k, 3) that lie farthest along a normal, if they span a face."""
        if not len(self.corners):  # a plane has a normal and no end
            return None
        height = self.corners @ normal
        on = self.corners[height > height.max() - FLAT]
        return on if np.linalg.matrix_rank(on - on[0], tol=1e-6) == 2 else None

    def distance(self, point: np.ndarray) -> float:
        """Of a point from the nearest piece."""
        library, dot = coal(), coal().Sphere(0.0)
        place = library.Transform3s(np.eye(3), point)
        request, result = library.DistanceRequest(), library.DistanceResult()
        least = np.inf
        for each, pose in zip(self.shapes, self._poses, strict=True):
            result.clear()
            least = min(least, library.distance(convex(each.shape), pose, dot, place, request, result))
        return float(least)


def _pair(pieces: _Pieces, normal: np.ndarray, outlines: list[np.ndarray], ring: float) -> tuple[Face, Face] | None:
    """Both faces across a normal, taken at points opposite each other; None where a hand has no room."""
    across = cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    across = across / np.linalg.norm(across)
    plane = np.stack([across, cross(normal, across)], axis=-1)
    flat = [outline @ plane for outline in outlines]
    center = 0.5 * (np.max([x.min(axis=0) for x in flat], axis=0) + np.min([x.max(axis=0) for x in flat], axis=0))
    room = min(_inside(x, center) for x in flat) - ring
    if room < 0.0:
        return None
    made = []
    for way, outline in zip((1.0, -1.0), outlines, strict=True):
        pose = np.eye(4)
        pose[:3, 0], pose[:3, 2] = across, -way * normal
        pose[:3, 1] = cross(pose[:3, 2], across)
        pose[:3, 3] = plane @ center + normal * float(np.mean(outline @ normal))
        made.append(Face(_name(way * normal), pose, None, room))
    return made[0], made[1]


def _inside(outline: np.ndarray, point: np.ndarray) -> float:
    """How far a point (2,) is from the nearest edge of the hull of others (k, 2), negative outside."""
    from scipy.spatial import ConvexHull

    return float(np.min(-ConvexHull(outline).equations @ np.append(point, 1.0)))


def _name(normal: np.ndarray) -> str:
    axis = int(np.argmax(np.abs(normal)))
    if abs(normal[axis]) > 1.0 - 1e-9:
        return f"{'+' if normal[axis] > 0 else '-'}{'xyz'[axis]}"
    return "(" + ", ".join(f"{x:.2f}" for x in normal) + ")"


def _grooved(pieces: _Pieces, face: Face, tips: np.ndarray, radius: float) -> Face:
    """The face with its grooves, if it has any, and the grip as deep as they let it."""
    if len(pieces.shapes) == 1:
        return face
    centers = tips - np.array([0.0, 0.0, radius])

    def clear(roll: float, depth: float) -> float:
        """The least distance between a fingertip and the body."""
        return min(pieces.distance(point) for point in _placed(face.contact, roll, depth, centers)) - radius

    turns = np.arange(0.0, 2.0 * np.pi, STEP)
    near = np.array([clear(roll, 0.0) for roll in turns])
    peak = (near > SUNK) & (near >= np.roll(near, 1)) & (near > np.roll(near, -1))
    rolls = [_finest(clear, roll) for roll in turns[peak]]
    if not rolls:
        return face
    depth = 0.0
    for _ in range(60):  # as far as is free, again and again: to the walls
        depth += max(min(clear(roll, depth) for roll in rolls), 0.0)
    sunk = face.contact.copy()
    sunk[:3, 3] += depth * sunk[:3, 2]
    return Face(face.name, sunk, np.array(rolls), 0.0)


def _placed(contact: np.ndarray, roll: float, depth: float, points: np.ndarray) -> np.ndarray:
    """Points of a grip that is rolled and pushed in, in the body's frame."""
    c, s = np.cos(roll), np.sin(roll)
    turned = points @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) + np.array([0.0, 0.0, depth])
    return turned @ contact[:3, :3].T + contact[:3, 3]


def _finest(clear: Any, roll: float) -> float:
    """The roll nearby at which the fingers are farthest from the walls."""
    low, high = roll - STEP, roll + STEP
    for _ in range(30):
        one, two = low + (high - low) / 3.0, high - (high - low) / 3.0
        low, high = (one, high) if clear(one, 0.0) < clear(two, 0.0) else (low, two)
    return 0.5 * (low + high)
