"""Places at which one hand can touch a body: flat faces, sides of cylinders and capsules, balls, with contact points.

The body is a union of convex pieces. On a face fingers come equally near at any roll of the hand; where some rolls let
them sink deeper, these are its grooves, and the hand keeps to them. On a side the hand is rolled and shifted so that
all its fingers come equally near.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from phistar.capture.hands import Hand
from phistar.contact.coal_shapes import coal, convex, corners, faces
from phistar.model import Capsule, Cylinder, Geometry, Sphere
from phistar.spatial import cross

FLAT = 1e-6  # m: corners this near to a plane lie in it
RIM = 24  # corners that stand for the edge of a round face
AROUND = 16  # directions from which a side is taken
ROLLS = 12  # rolls of a hand that are tried on a side
EVEN = 5e-4  # m: fingers that come so near each other in depth touch together
STEEPEST = 0.7  # sine of the angle between a finger and the surface's normal
SUNK = 0.002  # m: fingers that come so much deeper are in a groove
STEP = np.radians(2.0)  # of the search for grooves


@dataclass(frozen=True, eq=False)
class Place:
    """`contact` (4, 4) is the grip in the body's frame when its fingers touch, z inward, at no roll; `rolls` (k,) are
    the turns about z that it may have, None: any will do; `points` (k, 3) and `normals` (k, 3), in the grip, are where
    fingers touch at the first of them. It may be shifted by `room`, m, along the directions `slides` (m, 3), body
    axes."""

    name: str
    contact: np.ndarray
    rolls: np.ndarray | None
    points: np.ndarray
    normals: np.ndarray
    slides: np.ndarray
    room: float

    @property
    def inward(self) -> np.ndarray:
        return self.contact[:3, 2]


@dataclass(frozen=True)
class FlatFace:
    """A plane of a body: its outward `normal`, how far it is from the origin, and the corners (k, 3) of its outline."""

    normal: np.ndarray
    height: float
    outline: np.ndarray


class Pieces:
    """The convex shapes of a body, in its frame."""

    def __init__(self, shapes: tuple[Geometry, ...]) -> None:
        self.shapes = tuple(each for each in shapes if each.role == "collision")
        self._poses = [coal().Transform3s(each.placement.rotation, each.placement.translation) for each in self.shapes]

    @cached_property
    def faces(self) -> tuple[FlatFace, ...]:
        """Every flat face; pieces whose faces lie in one plane share it."""
        found: list[FlatFace] = []
        corners_of = [_corners(each) for each in self.shapes]
        normals = [_normals(each) for each in self.shapes]
        for normal in np.unique(np.round(np.concatenate([np.zeros((0, 3)), *normals]), 9), axis=0):
            heights = [float(np.max(points @ normal)) if len(points) else -np.inf for points in corners_of]
            for height in sorted({round(each, 6) for each in heights if np.isfinite(each)}, reverse=True):
                level = [abs(each - height) < 2 * FLAT for each in heights]
                own = [x[x @ normal > height - 2 * FLAT] for x, on in zip(corners_of, level, strict=True) if on]
                outline = np.concatenate(own)
                if len(outline) > 2 and np.linalg.matrix_rank(outline - outline[0], tol=1e-6) == 2:
                    found.append(FlatFace(normal, height, outline))
        return tuple(found)

    def distance(self, point: np.ndarray) -> float:
        """Signed distance from a point to the nearest piece, negative inside."""
        library, dot = coal(), coal().Sphere(0.0)
        place = library.Transform3s(np.eye(3), point)
        request, result = library.DistanceRequest(), library.DistanceResult()
        least = np.inf
        for each, pose in zip(self.shapes, self._poses, strict=True):
            result.clear()
            least = min(least, library.distance(convex(each.shape), pose, dot, place, request, result))
        return float(least)

    def clears(self, place: Place, hand: Hand) -> bool:
        """Whether the fingers come to a place without meeting another piece: some way before it nothing is near, and
        at it nothing is entered."""
        centers = hand.tips - hand.rounding[:, None] * np.array([0.0, 0.0, 1.0])
        for back in (0.0, 0.01, 0.03, 0.08):
            points = _place_points(place.contact, 0.0 if place.rolls is None else float(place.rolls[0]), -back, centers)
            gaps = [self.distance(point) - r for point, r in zip(points, hand.rounding, strict=True)]
            if min(gaps) < min(0.5 * back, 0.02) - EVEN:
                return False
        return True


def _corners(geometry: Geometry) -> np.ndarray:
    """Corners (k, 3) of a shape in the body's frame; a rim stands for the edge of a round face."""
    shape, own = geometry.shape, corners(geometry.shape)
    if isinstance(shape, Cylinder):
        angles = 2.0 * np.pi * np.arange(RIM) / RIM
        edge = np.stack([shape.radius * np.cos(angles), shape.radius * np.sin(angles)], axis=-1)
        own = np.concatenate([np.insert(edge, 2, sign * 0.5 * shape.length, axis=1) for sign in (-1, 1)])
    return own @ geometry.placement.rotation.T + geometry.placement.translation


def _normals(geometry: Geometry) -> np.ndarray:
    own = np.array([[0, 0, 1.0], [0, 0, -1.0]]) if isinstance(geometry.shape, Cylinder) else faces(geometry.shape)
    return own @ geometry.placement.rotation.T


def flat_place(face: FlatFace, point: np.ndarray, hand: Hand, room: float) -> Place:
    """A hand on a face, amid a point (3,)."""
    across = cross(face.normal, np.eye(3)[np.argmin(np.abs(face.normal))])
    pose = facing(-face.normal, across / np.linalg.norm(across), point)
    pose[:3, 3] += face.normal * (face.height - point @ face.normal)
    normals = np.broadcast_to([0.0, 0.0, 1.0], hand.tips.shape)
    return Place(direction_name(face.normal), pose, None, hand.tips, normals, pose[:3, :2].T, room)


def facing(inward: np.ndarray, x: np.ndarray, point: np.ndarray) -> np.ndarray:
    """The pose of a grip that looks along `inward`, its first axis along x."""
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 2], pose[:3, 3] = x, inward, point
    pose[:3, 1] = cross(pose[:3, 2], x)
    return pose


def room_on(face: FlatFace, point: np.ndarray) -> float:
    """Distance of a point from the nearest edge of a face, seen along its normal; negative outside."""
    from scipy.spatial import ConvexHull

    across = cross(face.normal, np.eye(3)[np.argmin(np.abs(face.normal))])
    plane = np.stack([across, cross(face.normal, across)], axis=-1) / np.linalg.norm(across)
    return float(np.min(-ConvexHull(face.outline @ plane).equations @ np.append(point @ plane, 1.0)))


def side_places(geometry: Geometry, hand: Hand) -> list[list[Place]]:
    """A hand on the side of a cylinder or a capsule: for each of AROUND directions the ways it may be rolled there."""
    shape = geometry.shape
    if not isinstance(shape, Cylinder | Capsule):
        return []
    axis, middle = geometry.placement.rotation[:, 2], geometry.placement.translation
    first, found = geometry.placement.rotation[:, 0], []
    for angle in 2.0 * np.pi * np.arange(AROUND) / AROUND:
        outward = np.cos(angle) * first + np.sin(angle) * cross(axis, first)
        base = facing(-outward, cross(outward, axis), middle)
        ways = _rolls_on_side(shape.radius, 0.5 * shape.length, base, hand)
        found.append([replace(way, name=f"{geometry.name} side {np.degrees(angle):.0f}°") for way in ways])
    return found


def _rolls_on_side(radius: float, half: float, base: np.ndarray, hand: Hand) -> list[Place]:
    """The grips on a side whose axis is y of `base`: those that are shifted alike are one place with several rolls."""
    by_shift: dict[float, list[float]] = {}
    for roll in (2.0 * np.pi * np.arange(ROLLS) / ROLLS).tolist():
        across = hand.tips[:, 0] * np.cos(roll) - hand.tips[:, 1] * np.sin(roll)  # x of the tips at no roll
        shift = -0.5 * float(across.max() + across.min())
        lateral = across + shift if hand.rounding.any() else np.zeros(len(across))  # a pad lies on it along a line
        crest = np.sqrt(np.maximum((radius + hand.rounding) ** 2 - lateral**2, 0.0))
        if np.all(np.abs(lateral) < STEEPEST * (radius + hand.rounding)) and np.ptp(crest) < EVEN:
            by_shift.setdefault(round(shift, 6), []).append(roll)
    made = []
    for shift, rolls in by_shift.items():
        c, s = np.cos(rolls[0]), np.sin(rolls[0])
        across = hand.tips[:, 0] * c - hand.tips[:, 1] * s
        lateral = across + shift if hand.rounding.any() else np.zeros(len(across))
        place = _on_curve(base, rolls[0], radius, lateral, np.zeros(len(across)), hand)
        contact = place.contact.copy()
        contact[:3, 3] += shift * base[:3, 0]
        points = place.points - (across + shift - lateral)[:, None] * np.array([c, -s, 0.0])
        along = np.abs(hand.tips[:, 0] * s + hand.tips[:, 1] * c)
        room = half - float(np.max(along + hand.rounding))
        if room >= 0.0:
            own = {"contact": contact, "points": points, "rolls": np.array(rolls)}
            made.append(replace(place, **own, slides=base[:3, 1:2].T, room=room))
    return made


def _on_curve(base: np.ndarray, roll: float, radius: float, x: np.ndarray, y: np.ndarray, hand: Hand) -> Place:
    """A place whose tips, rolled, touch a round surface about the origin of `base`: x (k,) of the tips across its axis,
    and y (k,) where it is a ball, else zero."""
    c, s, whole = np.cos(roll), np.sin(roll), radius + hand.rounding
    crest = np.sqrt(whole**2 - x**2 - y**2)
    contact = base.copy()
    contact[:3, 3] -= float(np.mean(crest - hand.rounding)) * base[:3, 2]
    inward = np.stack([-x, -y, crest], axis=-1) / whole[:, None]  # at no roll
    normals = inward @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])  # in the grip as it is rolled
    points = hand.tips + hand.rounding[:, None] * (normals - np.array([0.0, 0.0, 1.0]))
    return Place("", contact, np.array([roll]), points, normals, np.zeros((0, 3)), 0.0)


def ball_place(geometry: Geometry, outward: np.ndarray, hand: Hand) -> Place | None:
    """A hand on a ball, from a direction; any roll will do."""
    shape = geometry.shape
    assert isinstance(shape, Sphere)
    span = np.linalg.norm(hand.tips[:, :2], axis=-1)
    if not hand.rounding.all() or np.any(span > STEEPEST * (shape.radius + hand.rounding)) or np.ptp(span) > EVEN:
        return None
    across = cross(outward, np.eye(3)[np.argmin(np.abs(outward))])
    base = facing(-outward, across / np.linalg.norm(across), geometry.placement.translation)
    made = _on_curve(base, 0.0, shape.radius, hand.tips[:, 0], hand.tips[:, 1], hand)
    return replace(made, name=f"{geometry.name} {direction_name(outward)}", rolls=None)


def direction_name(normal: np.ndarray) -> str:
    axis = int(np.argmax(np.abs(normal)))
    if abs(normal[axis]) > 1.0 - 1e-9:
        return f"{'+' if normal[axis] > 0 else '-'}{'xyz'[axis]}"
    return "(" + ", ".join(f"{x:.2f}" for x in normal) + ")"


def with_grooves(pieces: Pieces, place: Place, hand: Hand) -> Place:
    """The place with its grooves, if it has any, and the grip as deep as they let it."""
    if len(pieces.shapes) == 1 or not hand.rounding.all():
        return place
    radius = float(hand.rounding.max())
    centers = hand.tips - np.array([0.0, 0.0, radius])

    def clear(roll: float, depth: float) -> float:
        """The least distance between a fingertip and the body."""
        return min(pieces.distance(point) for point in _place_points(place.contact, roll, depth, centers)) - radius

    turns = np.arange(0.0, 2.0 * np.pi, STEP)
    near = np.array([clear(roll, 0.0) for roll in turns])
    peak = (near > SUNK) & (near >= np.roll(near, 1)) & (near > np.roll(near, -1))
    rolls = [_finest(clear, roll) for roll in turns[peak]]
    if not rolls:
        return place
    depth = 0.0
    for _ in range(60):  # as far as is free, again and again: to the walls
        depth += max(min(clear(roll, depth) for roll in rolls), 0.0)
    sunk = place.contact.copy()
    sunk[:3, 3] += depth * sunk[:3, 2]
    return _between_walls(replace(place, contact=sunk, rolls=np.array(rolls), room=0.0), hand)


def _between_walls(place: Place, hand: Hand) -> Place:
    """Both walls of each finger's groove that touch, taken at right angles to it and 45° steep."""
    out = hand.tips[:, :2] / np.linalg.norm(hand.tips[:, :2], axis=-1, keepdims=True)
    side = np.stack([-out[:, 1], out[:, 0], np.zeros(len(out))], axis=-1)
    walls = [(np.array([0.0, 0.0, 1.0]) + sign * side) / np.sqrt(2.0) for sign in (1.0, -1.0)]
    centers = hand.tips - hand.rounding[:, None] * np.array([0.0, 0.0, 1.0])
    points = np.concatenate([centers + hand.rounding[:, None] * wall for wall in walls])
    return replace(place, points=points, normals=np.concatenate(walls))


def _place_points(contact: np.ndarray, roll: float, depth: float, points: np.ndarray) -> np.ndarray:
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
