"""True readings of touch: normal forces of the contacts that a zone on a body feels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from phistar.constraints import columns as c
from phistar.dynamics import forward_kinematics
from phistar.errors import ModelError
from phistar.model import Box, Capsule, Cylinder, Ellipsoid, Sphere
from phistar.model.geometry import Shape
from phistar.plant.stations import numbers_on

if TYPE_CHECKING:
    from phistar.plant.plant import Plant
    from phistar.plant.sensor_kinds import Sensor
    from phistar.plant.sensor_readers import Instant

STEPS = np.linspace(0.0, 1.0, 65)  # along a ray, of the zone's size


def touch_reader(plant: Plant, sensor: Sensor) -> Callable[[Instant], np.ndarray]:
    """Σ normal forces on the frame's body of contacts that lie in the zone, or whose push points at it."""
    model, zone, frame = plant.model, sensor.zone, str(sensor.of)
    if zone is None:
        raise ModelError(f"The sensor '{sensor.name}' feels touch in a zone; give zone=ps.Sphere(…) or another shape.")
    bodies, reach = numbers_on(plant.system, [model.frame(frame).body]), _reach(zone)

    def read(at: Instant) -> np.ndarray:
        total, pose = 0.0, forward_kinematics(model, at.q, frame)
        for row, whole in zip(at.contacts, at.wholes, strict=True):
            sides = int(whole[c.BODY_A]) in bodies, int(whole[c.BODY_B]) in bodies
            if sides[0] == sides[1] or row[c.IMPULSE + 2] <= 0.0:
                continue
            point = pose[:3, :3].T @ (row[c.POINT : c.POINT + 3] - pose[:3, 3])
            way = pose[:3, :3].T @ row[c.NORMAL : c.NORMAL + 3] * (1.0 if sides[0] else -1.0)
            length = np.linalg.norm(point) + reach
            if is_inside(zone, point + length * STEPS[:, None] * way).any():
                total += at.often * row[c.IMPULSE + 2]
        return np.array([total])

    return read


def is_inside(zone: Shape, points: np.ndarray) -> np.ndarray:
    """(n,): which of the points (n, 3) are in a shape at the origin."""
    match zone:
        case Sphere(radius=radius):
            return np.linalg.norm(points, axis=1) <= radius
        case Box(size=size):
            return np.all(np.abs(points) <= 0.5 * np.asarray(size), axis=1, keepdims=True)[:, 0]
        case Ellipsoid(radii=radii):
            return np.linalg.norm(points / np.asarray(radii), axis=1) <= 1.0
        case Cylinder(radius=radius, length=length):
            return (np.hypot(points[:, 0], points[:, 1]) <= radius) & (np.abs(points[:, 2]) <= 0.5 * length)
        case Capsule(radius=radius, length=length):
            along = points[:, 2] - np.clip(points[:, 2], -0.5 * length, 0.5 * length)
            return np.linalg.norm(np.column_stack([points[:, :2], along]), axis=1) <= radius
    raise ModelError(f"A zone of touch is a ball, box, ellipsoid, cylinder or capsule; it is a {type(zone).__name__}.")


def _reach(zone: Shape) -> float:
    """Reach of a shape from its middle; refuses those that are no zone."""
    is_inside(zone, np.zeros((1, 3)))
    match zone:
        case Sphere(radius=radius):
            return float(radius)
        case Box(size=size):
            return 0.5 * float(np.linalg.norm(size))
        case Ellipsoid(radii=radii):
            return float(np.max(radii))
        case Cylinder(radius=radius, length=length) | Capsule(radius=radius, length=length):
            return float(radius + 0.5 * length)
    return 0.0
