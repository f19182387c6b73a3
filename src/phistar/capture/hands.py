"""A hand by its shapes: where its fingers and pads touch, and the grip frame amid them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from phistar.capture.capture_roles import HandLayout
from phistar.capture.jaws import Jaw, jaw_grip, pad_corners
from phistar.errors import ModelError
from phistar.model import Box, Capsule, Cylinder, Free, Geometry, Model, Sphere
from phistar.model.names import unknown
from phistar.model.parts import Joint
from phistar.spatial import Pose, cross

RIM = 6  # points on the edge of a round pad that stand for it
ALONG = 1e-6  # m: tips that spread less than this lie in a line


@dataclass(frozen=True)
class Hand:
    """A hand on the frame `wrist` of an arm. `grip` is a frame amid its tips, z outward and x towards the first;
    `tips` (k, 3) are the points that touch first, in it, each rounded with a radius `rounding` (k,) that lies behind
    it, and `finger_of` (k,) the number of the shape that it belongs to. `reach` (4, 4) is the grip in the wrist.

    Where there is a `jaw`, the tips are the corners of its two pads when it is open, x is the way in which the first
    closes, and `shapes` are all of the hand's, in the grip."""

    name: str
    wrist: str
    grip: str
    fingers: tuple[str, ...]
    tips: np.ndarray
    rounding: np.ndarray
    finger_of: np.ndarray
    reach: np.ndarray
    joints: np.ndarray  # where the arm's joints stand in v of `Arms.model`
    coordinates: np.ndarray  # and in q
    jaw: Jaw | None = None
    shapes: tuple[Geometry, ...] = ()

    @property
    def ahead(self) -> float:
        """Reach of the fingers beyond the grip's origin, m."""
        return 0.0 if self.jaw is None else float(self.tips[:, 2].max())

    @property
    def opening(self) -> float:
        """The distance between the pads of a jaw when it is open, m."""
        return float(np.ptp(self.tips[:, 0]))

    @property
    def ring(self) -> float:
        """The radius of a disk about the grip's z that holds all tips."""
        return float(np.max(np.linalg.norm(self.tips[:, :2], axis=-1) + self.rounding))


def hand_of(model: Model, layout: HandLayout, base: int, jaw: Jaw | None = None) -> Hand:
    """The hand of a model in which its jaw, if it has one, stands open; what it lacks is said. `base` is the body that
    carries the arms."""
    wrist = model.frame(layout.frame)
    shapes = {geometry.name: geometry for geometry in model.bodies[wrist.body].geometry if geometry.role == "collision"}
    for name in layout.fingers:
        if name not in shapes:
            raise unknown("shape", name, shapes, f"{model.name}, at {layout.frame!r},")
    fingers, back = [shapes[name] for name in layout.fingers], np.linalg.inv(wrist.placement.matrix)
    if jaw is None:
        found = [_touching_points(each, back, model.name) for each in fingers]
        reach = _grip_pose(np.concatenate([points for points, _ in found]), layout.name)
    else:
        found = [(points, 0.0) for points in pad_corners(fingers, jaw, back, model.name)]
        reach = jaw_grip([points for points, _ in found], jaw)
    tips = np.concatenate([points for points, _ in found])
    counts, chain = [len(points) for points, _ in found], arm_joints(model, layout, base)
    at_grip = np.linalg.inv(reach) @ back
    own = Pose(rotation=at_grip[:3, :3], xyz=at_grip[:3, 3])
    return Hand(
        layout.name,
        wrist.name,
        f"{layout.name}/grip",
        layout.fingers,
        (tips - reach[:3, 3]) @ reach[:3, :3],
        np.repeat([rounding for _, rounding in found], counts),
        np.repeat(np.arange(len(found)), counts),
        reach,
        np.array([joint.v_slice.start for joint in chain]),
        np.array([joint.q_slice.start for joint in chain]),
        jaw,
        tuple(replace(each, placement=own @ each.placement) for each in shapes.values()),
    )


def arm_joints(model: Model, layout: HandLayout, base: int) -> list[Joint]:
    """The joints of the arm of a hand, from the base outward."""
    wrist = model.frame(layout.frame)
    if wrist.body in (base, -1):
        raise ModelError(f"{model.name}: no joint moves {layout.frame!r}, where the hand {layout.name!r} is.")
    return _chain(model, wrist.body, base)


def _touching_points(geometry: Geometry, back: np.ndarray, where: str) -> tuple[np.ndarray, float]:
    """The points (k, 3) of a finger or pad that touch first, in the wrist's frame, and the radius that rounds them."""
    shape, local = geometry.shape, back @ geometry.placement.matrix
    away = local[:3, :3].T @ local[:3, 3]  # from the wrist, in the shape's axes
    if isinstance(shape, Capsule | Sphere):
        half = 0.5 * shape.length if isinstance(shape, Capsule) else 0.0
        ends = [(local @ [0.0, 0.0, sign * half, 1.0])[:3] for sign in (1.0, -1.0)]
        end = max(ends, key=lambda point: float(np.linalg.norm(point)))
        along = local[:3, 2] if isinstance(shape, Capsule) else end / max(float(np.linalg.norm(end)), 1e-9)
        return (end + shape.radius * along * np.copysign(1.0, along @ end))[None], shape.radius
    if isinstance(shape, Box):
        axis = int(np.argmax(np.abs(away)))
        corners = np.array([(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
        points = np.insert(corners, axis, np.copysign(0.5, away[axis]), axis=1) * shape.size
    elif isinstance(shape, Cylinder):
        angles = 2.0 * np.pi * np.arange(RIM) / RIM
        top = np.full(RIM, np.copysign(0.5 * shape.length, away[2]))
        points = np.stack([shape.radius * np.cos(angles), shape.radius * np.sin(angles), top], axis=-1)
    else:
        raise ModelError(
            f"{where}: {geometry.name!r} is a {type(shape).__name__}; fingers are capsules or spheres, pads boxes or "
            "cylinders."
        )
    return points @ local[:3, :3].T + local[:3, 3], 0.0


def _grip_pose(tips: np.ndarray, name: str) -> np.ndarray:
    """The pose (4, 4) of the grip in the wrist: amid the tips, z at right angles to their plane, away from the arm."""
    centre = tips.mean(axis=0)
    _, sizes, axes = np.linalg.svd(tips - centre)
    if len(tips) < 3 or sizes[1] < ALONG:
        raise ModelError(
            f"The hand {name!r} touches in {len(tips)} points that span no plane; it needs three fingers, or a pad."
        )
    outward = axes[2] * np.copysign(1.0, axes[2] @ centre)
    first = tips[0] - centre - outward * (outward @ (tips[0] - centre))
    if np.linalg.norm(first) < ALONG:
        first = axes[0]
    x = first / np.linalg.norm(first)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = np.stack([x, cross(outward, x), outward], axis=-1), centre
    return pose


def _chain(model: Model, body: int, base: int) -> list[Joint]:
    """The joints of an arm, from the base outward."""
    chain: list[Joint] = []
    while body not in (base, -1):
        joint = model.joints[body]
        if isinstance(joint.kind, Free) or joint.nv != 1:
            raise ModelError(f"{model.name}: the joint {joint.name} of an arm moves in {joint.nv} ways, not in one.")
        chain, body = [joint, *chain], model.parents[body]
    return chain
