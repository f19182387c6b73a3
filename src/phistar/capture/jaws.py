"""Parallel jaws: two flat pads that slide towards each other, and what they can close on.

A jaw holds by itself what fits between its pads: bars (capsules, cylinders), and plates and beams between two parallel
faces. Handles, rings and the edges of panels are made of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phistar.capture.capture_roles import HandLayout
from phistar.errors import ModelError
from phistar.model import Box, Geometry, Model, Prismatic
from phistar.model.names import unknown

FACING = 1e-6  # of a direction: pads that look at each other do so exactly


@dataclass(frozen=True)
class Jaw:
    """The jaw of a hand. `joints` (2,) slide its pads, `ways` (2,) ±1 is the sign of the coordinate that closes, `open`
    (2,) are the coordinates when open, m, and `travel` how far each pad can go from there. `across` (3,) is the way of
    the first pad as it closes, in the axes of the wrist."""

    joints: tuple[str, ...]
    ways: np.ndarray
    open: np.ndarray
    travel: float
    across: np.ndarray


def jaw_of(model: Model, layout: HandLayout) -> Jaw | None:
    """The jaw of a hand, None where its fingers are rigid; one that cannot close is refused."""
    if not layout.closing:
        return None
    wrist, whose = model.frame(layout.frame), f"{model.name}: the hand {layout.name!r}"
    back, names = wrist.placement.rotation.T, {joint.name: joint for joint in model.joints}
    pads: list[np.ndarray] = []
    slides: list[np.ndarray] = []
    for name, finger in zip(layout.closing, layout.fingers, strict=True):
        if name not in names:
            raise unknown("joint", name, names, model.name)
        body = names[name].body
        if model.parents[body] != wrist.body or not isinstance(model.joints[body].kind, Prismatic):
            raise ModelError(f"{whose} closes by {name!r}, which is not a slide between the wrist and a finger.")
        shape = next((each for each in model.bodies[body].geometry if each.name == finger), None)
        if shape is None:
            raise ModelError(f"{whose} closes by {name!r}, which does not move {finger!r}: name them in one order.")
        place = np.linalg.inv(wrist.placement.matrix) @ model.bodies[body].placement.matrix
        pads.append(place[:3, :3] @ shape.placement.translation + place[:3, 3])
        kind = names[name].kind
        assert isinstance(kind, Prismatic)
        slides.append(back @ model.bodies[body].placement.rotation @ np.asarray(kind.axis, dtype=float))
    ways = np.copysign(1.0, [slides[0] @ (pads[1] - pads[0]), slides[1] @ (pads[0] - pads[1])])
    across = [way * slide for way, slide in zip(ways, slides, strict=True)]
    if np.linalg.norm(across[0] + across[1]) > FACING:
        raise ModelError(f"{whose}: its fingers do not slide towards each other, as those of a parallel jaw do.")
    limits = np.array([[float(np.ravel(each)[0]) for each in names[name].kind.limits] for name in layout.closing])
    if not np.isfinite(limits).all():
        raise ModelError(f"{whose}: the joints that close it have no limits; their open ends are not known.")
    return Jaw(
        layout.closing,
        ways,
        np.where(ways > 0.0, limits[:, 0], limits[:, 1]),
        float(np.min(limits[:, 1] - limits[:, 0])),
        across[0],
    )


def pad_corners(pads: Sequence[Geometry], jaw: Jaw, back: np.ndarray, whose: str) -> list[np.ndarray]:
    """The corners (4, 3) of the face of each pad that looks at the other, in the wrist's frame; `back` (4, 4) leads
    from the frame of the shapes to the wrist's."""
    found = []
    for pad, sign in zip(pads, (1.0, -1.0), strict=True):
        local = back @ pad.placement.matrix
        towards = sign * local[:3, :3].T @ jaw.across
        axis = int(np.argmax(np.abs(towards)))
        if not isinstance(pad.shape, Box) or abs(towards[axis]) < 1.0 - FACING:
            raise ModelError(
                f"{whose}: {pad.name!r} has no flat side towards the other finger; the pads of a jaw are boxes with a "
                "side at right angles to the way in which they close."
            )
        corners = np.array([(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
        points = np.insert(corners, axis, np.copysign(0.5, towards[axis]), axis=1) * pad.shape.size
        found.append(points @ local[:3, :3].T + local[:3, 3])
    return found


def jaw_grip(pads: Sequence[np.ndarray], jaw: Jaw) -> np.ndarray:
    """The pose (4, 4) of the grip in the wrist: amid the pads, x the way in which the first closes, z outward."""
    centre = np.concatenate(pads).mean(axis=0)
    outward = centre - jaw.across * (jaw.across @ centre)
    outward = outward / np.linalg.norm(outward)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([jaw.across, np.cross(outward, jaw.across), outward], axis=-1)
    pose[:3, 3] = centre
    return pose
