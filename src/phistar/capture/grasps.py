"""Grasps of a body by several hands: places that oppose each other, judged by force closure.

What a body's shapes and the hands allow is found once, when a scene is read; where nothing holds, the reason is given
then, and not after a minute of waiting.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, permutations, product
from typing import NamedTuple

import numpy as np

from phistar.capture.force_closure import ForceClosure, force_closure
from phistar.capture.hands import Hand
from phistar.capture.internal_forces import best_weights, pushes
from phistar.capture.jaw_places import jaw_places
from phistar.capture.places import (
    AROUND,
    FlatFace,
    Pieces,
    Place,
    ball_place,
    flat_place,
    room_on,
    side_places,
    with_grooves,
)
from phistar.errors import ModelError
from phistar.model import Geometry, Sphere
from phistar.spatial.rotations import from_axis_angle

LEAST_PUSH = 0.15  # of the mean push: hands that press less do not tell that they touch
THINNEST = 0.005  # m between faces that hands oppose each other on
DIRECTIONS = tuple(np.array(x) / np.linalg.norm(x) for x in product((-1.0, 0.0, 1.0), repeat=3) if any(x))


class Grasp(NamedTuple):
    """Which hand takes which place, in the order of the hands; `shift` (3,) moves all of them, in the body's frame;
    `margin` is that of force closure, `weights` (h,) are those of the hands' pushes on each other, 0 of jaws, which
    push by themselves."""

    places: tuple[Place, ...]
    shift: np.ndarray
    margin: float
    weights: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(place.name for place in self.places)

    @property
    def shares(self) -> np.ndarray:
        """Share of each hand in the push, (h,), relative to the mean."""
        if not self.weights.any():
            return np.ones(len(self.places))
        return np.linalg.norm(pushes(self.grips[:, :3, 3], self.weights), axis=-1)

    @property
    def grips(self) -> np.ndarray:
        """(h, 4, 4) in the body's frame, at no roll."""
        grips = np.stack([place.contact for place in self.places])
        grips[:, :3, 3] += self.shift
        return grips


def found_grasps(
    shapes: tuple[Geometry, ...], hands: tuple[Hand, ...], friction: float, shift: float, whose: str
) -> tuple[Grasp, ...]:
    """Every grasp that has force closure, shifted and not; ModelError with the reason where there is none."""
    key = tuple(
        (tuple(map(tuple, hand.tips.tolist())), tuple(hand.rounding.tolist()), hand.jaw and hand.shapes)
        for hand in hands
    )
    made, reason = _find_grasps(shapes, _Hands(hands, key), friction, shift)
    if not made:
        raise ModelError(f"{whose} {reason}")
    return made


class _Hands:
    """Hands that are equal where their tips are."""

    def __init__(self, hands: tuple[Hand, ...], key: tuple) -> None:
        self.hands, self.key = hands, key

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hands) and self.key == other.key


@lru_cache(maxsize=64)  # runs of a campaign share the body's shapes
def _find_grasps(
    shapes: tuple[Geometry, ...], hands: _Hands, friction: float, shift: float
) -> tuple[tuple[Grasp, ...], str]:
    pieces, own = Pieces(shapes), hands.hands
    together = _together(pieces, own, friction)
    if not together:
        wanted = "place" if len(own) == 1 else f"{len(own)} places that oppose each other"
        return (), (
            f"has no {wanted} with room for a hand; hands take flat faces, sides of cylinders and capsules, and balls, "
            "where all their fingers touch; jaws close on bars, and on plates and beams, that fit between their pads."
        )
    made, judged, best = [], {}, ForceClosure(0.0, "")
    for places, weights in together:
        verdict = _force_closure(places, friction, judged)
        best = max(best, verdict, key=lambda each: (each.is_closed, each.margin, bool(each.weakest)))
        if verdict.is_closed:
            made += [Grasp(places, by, verdict.margin, weights) for by in _shifts(places, shift)]
    if not made:
        return (), (
            f"cannot be held: of {len(together)} ways to take it none has force closure with a friction of "
            f"{friction:g}; on the best, nothing resists a {best.weakest}."
            + (" One rigid hand only pushes: give it fingers that close, or another hand." if len(own) == 1 else "")
        )
    return tuple(made), ""


def _together(pieces: Pieces, hands: tuple[Hand, ...], friction: float) -> list[tuple[tuple[Place, ...], np.ndarray]]:
    """Places that hands may take at the same time, in the order of the hands, with the weights of their pushes."""
    count = len(hands)
    if all(hand.jaw is not None for hand in hands):
        return [(places, np.zeros(count)) for places in _apart(pieces, hands)]
    if count == 1:
        return [((place,), np.ones(1)) for place in _single(pieces, hands[0])]
    if count > 2:
        return _around(pieces, hands, friction)
    return [(pair, np.ones(2)) for pair in _opposite_places(pieces, hands)]


def _apart(pieces: Pieces, hands: tuple[Hand, ...]) -> list[tuple[Place, ...]]:
    """Places of jaws, each of which holds by itself, with room for all hands beside each other."""
    found = []
    for places in product(*(jaw_places(pieces, hand) for hand in hands)):
        pairs = combinations(zip(places, hands, strict=True), 2)
        if all(
            np.linalg.norm(a.contact[:3, 3] - b.contact[:3, 3]) > one.ring + two.ring for (a, one), (b, two) in pairs
        ):
            found.append(places)
    return found


def _opposite_places(pieces: Pieces, hands: tuple[Hand, ...]) -> list[tuple[Place, ...]]:
    """Places of two hands opposite each other."""
    found: list[tuple[Place, ...]] = []
    for one, two in combinations(pieces.faces, 2):
        if one.normal @ two.normal < -1.0 + 1e-6 and one.height + two.height > THINNEST:
            for a, b in ((one, two), (two, one)):
                pair = _opposite_faces(pieces, (a, b), hands)
                found += [] if pair is None else [pair]
    grooved = [pair for pair in found if all(place.rolls is not None for place in pair)]
    if grooved:  # they are made to be held
        return grooved
    for geometry in pieces.shapes:
        ways = [side_places(geometry, hand) for hand in hands]
        for number in range(len(ways[0])):
            found += list(product(ways[0][number], ways[1][(number + AROUND // 2) % AROUND]))
        if isinstance(geometry.shape, Sphere):
            for way in DIRECTIONS:
                pair = tuple(ball_place(geometry, sign * way, hand) for sign, hand in zip((1, -1), hands, strict=True))
                found += [pair] if all(pair) else []  # type: ignore[list-item]
    return [pair for pair in found if all(pieces.clears(*each) for each in zip(pair, hands, strict=True))]


def _opposite_faces(
    pieces: Pieces, pair: tuple[FlatFace, FlatFace], hands: tuple[Hand, ...]
) -> tuple[Place, ...] | None:
    """Hands on two parallel faces, at points opposite each other; None where one has no room."""
    low = np.max([face.outline.min(axis=0) for face in pair], axis=0)
    high = np.min([face.outline.max(axis=0) for face in pair], axis=0)
    normal = pair[0].normal
    plane = np.eye(3) - np.outer(normal, normal)
    center = _middle(pair, plane) if np.abs(normal).max() < 1.0 - 1e-9 else plane @ (0.5 * (low + high))
    room = min(room_on(face, center) - hand.ring for face, hand in zip(pair, hands, strict=True))
    if room < 0.0:
        return None
    made = (flat_place(face, center, hand, room) for face, hand in zip(pair, hands, strict=True))
    return tuple(with_grooves(pieces, place, hand) for place, hand in zip(made, hands, strict=True))


def _middle(pair: tuple[FlatFace, FlatFace], plane: np.ndarray) -> np.ndarray:
    """The middle (3,) of what two slanted faces have in common, seen along their normal."""
    _, _, axes = np.linalg.svd(plane)
    across = axes[:2].T
    flat = [face.outline @ across for face in pair]
    low, high = np.max([x.min(axis=0) for x in flat], axis=0), np.min([x.max(axis=0) for x in flat], axis=0)
    return across @ (0.5 * (low + high))


def _single(pieces: Pieces, hand: Hand) -> list[Place]:
    """Every place of one hand."""
    found = []
    for face in pieces.faces:
        center = 0.5 * (face.outline.min(axis=0) + face.outline.max(axis=0))
        room = room_on(face, center) - hand.ring
        found += [flat_place(face, center, hand, room)] if room >= 0.0 else []
    for geometry in pieces.shapes:
        found += [way for ways in side_places(geometry, hand) for way in ways]
        if isinstance(geometry.shape, Sphere):
            found += [place for way in DIRECTIONS if (place := ball_place(geometry, way, hand)) is not None]
    return [place for place in found if pieces.clears(place, hand)]


def _around(pieces: Pieces, hands: tuple[Hand, ...], friction: float) -> list[tuple[tuple[Place, ...], np.ndarray]]:
    """Places around a body that push on each other within their friction cones."""
    every = [_single(pieces, hand) for hand in hands]
    numbers = np.array(list(combinations(range(len(every[0])), len(hands)))).reshape(-1, len(hands))
    points = np.array([place.contact[:3, 3] for place in every[0]]).reshape(-1, 3)[numbers]
    inward = np.array([place.inward for place in every[0]]).reshape(-1, 3)[numbers]
    weights, least = best_weights(points, inward, friction)
    found = []
    for row in np.flatnonzero(least > LEAST_PUSH).tolist():
        for order in permutations(range(len(hands))):
            places = tuple(own[numbers[row, i]] for own, i in zip(every, order, strict=True))
            found.append((places, weights[row][list(order)]))
    return found


def _force_closure(places: tuple[Place, ...], friction: float, known: dict) -> ForceClosure:
    """Force closure of some places; those that are turned copies of others share the answer."""
    points, normals = [], []
    first = np.linalg.inv(places[0].contact)
    for place in places:
        roll = 0.0 if place.rolls is None else float(place.rolls[0])
        own = first @ place.contact
        turn = own[:3, :3] @ from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(roll))
        points.append(place.points @ turn.T + own[:3, 3])
        normals.append(place.normals @ turn.T)
    p, n = np.concatenate(points), np.concatenate(normals)
    key = np.round(np.concatenate([p, n]), 7).tobytes()
    if key not in known:
        known[key] = force_closure(p, n, friction, center=p.mean(axis=0))
    return known[key]


def _shifts(places: tuple[Place, ...], most: float) -> list[np.ndarray]:
    """None, and along the directions in which all places may be moved."""
    size = min(most, *(place.room for place in places))
    found = [np.zeros(3)]
    if size > 0.0:
        found += [sign * size * way for way in places[0].slides for sign in (1.0, -1.0)]
    return found
