"""Places at which a jaw can close on a body: around bars, and on the two sides of plates and beams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from phistar.capture.hands import Hand
from phistar.capture.places import AROUND, Pieces, Place, direction_name, facing
from phistar.contact.coal_shapes import coal, convex, corners, faces
from phistar.model import Capsule, Cylinder, Geometry
from phistar.spatial import cross

ROOM = 0.012  # m that open pads, and the palm, keep from the body on their way: sightings may be 10 mm wrong
BACK = (0.0, 0.03, 0.06, 0.1)  # m before a place, where the way of the open hand is looked at
EITHER_WAY = np.array([0.0, np.pi])  # rolls of a jaw: which pad is on which side does not matter


def jaw_places(pieces: Pieces, hand: Hand) -> list[Place]:
    """Every place where a jaw closes on something with its way to there free."""
    found: list[Place] = []
    for geometry in pieces.shapes:
        round_ = isinstance(geometry.shape, Cylinder | Capsule)
        found += _on_bar(geometry, hand) if round_ else _on_plate(geometry, hand)
    return [place for place in found if _clears(pieces, place, hand)]


def _pad(hand: Hand) -> tuple[float, float]:
    """Half the width and half the height of the pads."""
    return float(hand.tips[:, 1].max()), float(hand.tips[:, 2].max())


def _fits(hand: Hand, thickness: float) -> bool:
    assert hand.jaw is not None
    return hand.opening - 2.0 * hand.jaw.travel < thickness < hand.opening - 2.0 * ROOM


def _on_bar(geometry: Geometry, hand: Hand) -> list[Place]:
    """A jaw around a bar, from all sides; the pads touch it along lines."""
    shape = geometry.shape
    assert isinstance(shape, Cylinder | Capsule)
    width, half = _pad(hand)[0], 0.5 * shape.length
    if not _fits(hand, 2.0 * shape.radius) or half < width:
        return []
    axis, first = geometry.placement.rotation[:, 2], geometry.placement.rotation[:, 0]
    ends = np.array([[side * shape.radius, y, 0.0] for side in (-1.0, 1.0) for y in (-width, width)])
    found = []
    for angle in 2.0 * np.pi * np.arange(AROUND) / AROUND:
        outward = np.cos(angle) * first + np.sin(angle) * cross(axis, first)
        contact = facing(-outward, cross(axis, -outward), geometry.placement.translation)
        name = f"{geometry.name} bar {np.degrees(angle):.0f}°"
        found.append(Place(name, contact, EITHER_WAY, ends, _inward(ends), axis[None], half - width))
    return found


def _on_plate(geometry: Geometry, hand: Hand) -> list[Place]:
    """A jaw on two parallel faces of one piece, from each of its other sides."""
    points, normals = corners(geometry.shape), faces(geometry.shape)
    found = []
    for number, normal in enumerate(normals):
        thickness = float(np.ptp(points @ normal))
        opposite = np.min(np.linalg.norm(normals[:number] + normal, axis=-1), initial=2.0) < 1e-6  # each pair once
        if not opposite or not _fits(hand, thickness):
            continue
        for side in normals:
            if abs(side @ normal) < 1e-6:
                place = _over_edge(points, normal, side, thickness, hand)
                found += [] if place is None else [place]
    whole, named = geometry.placement.matrix, []
    for place in found:
        way = direction_name(-(whole @ place.contact)[:3, 2])
        slides = place.slides @ geometry.placement.rotation.T
        named.append(replace(place, contact=whole @ place.contact, slides=slides, name=f"{geometry.name} edge {way}"))
    return named


def _over_edge(points: np.ndarray, normal: np.ndarray, side: np.ndarray, thickness: float, hand: Hand) -> Place | None:
    """A jaw that comes from `side` over a plate with corners `points` (k, 3), whose faces look along ±`normal`."""
    along = cross(-side, normal)
    width, height = _pad(hand)
    low, high = float((points @ along).min()), float((points @ along).max())
    top, bottom = float((points @ side).max()), float((points @ side).min())
    half, deep = min(width, 0.5 * (high - low)), min(height, 0.5 * (top - bottom))
    middle = 0.5 * (high + low)
    origin = normal * float((points @ normal).max() - 0.5 * thickness) + along * middle + side * (top - deep)
    ends = np.array([[x * 0.5 * thickness, y, z] for x in (-1.0, 1.0) for y in (-half, half) for z in (-deep, deep)])
    on = [np.isclose(points @ normal, extreme).sum() for extreme in ((points @ normal).max(), (points @ normal).min())]
    if min(on) < 3:  # an edge opposite a face
        return None
    room = max(0.5 * (high - low) - width, 0.0)
    return Place("", facing(-side, normal, origin), EITHER_WAY, ends, _inward(ends), along[None], room)


def _inward(points: np.ndarray) -> np.ndarray:
    """Pushes (k, 3) of pads at points on either side of x = 0."""
    return np.stack([-np.sign(points[:, 0]), np.zeros(len(points)), np.zeros(len(points))], axis=-1)


def _clears(pieces: Pieces, place: Place, hand: Hand) -> bool:
    """Whether the open hand comes to a place along its z with room on all sides."""
    library = coal()
    request, result = library.DistanceRequest(), library.DistanceResult()
    for back in BACK:
        pose = place.contact.copy()
        pose[:3, 3] -= back * pose[:3, 2]
        for own in hand.shapes:
            turn = pose[:3, :3] @ own.placement.rotation
            at = library.Transform3s(turn, pose[:3, :3] @ own.placement.translation + pose[:3, 3])
            for piece in pieces.shapes:
                there = library.Transform3s(piece.placement.rotation, piece.placement.translation)
                result.clear()
                if library.distance(convex(own.shape), at, convex(piece.shape), there, request, result) < ROOM:
                    return False
    return True
