"""Simple solids for the bundled robots: each is drawn, each collides, and rods and blocks know their inertia."""

from collections.abc import Sequence

import numpy as np

from phistar.model import Box, Capsule, Cylinder, Geometry, Sphere
from phistar.spatial import Inertia, Pose, skew

Color = tuple[float, float, float, float]
Solid = tuple[Geometry, Geometry]

DARK: Color = (0.25, 0.27, 0.30, 1.0)
LIGHT: Color = (0.82, 0.84, 0.86, 1.0)
ORANGE: Color = (0.92, 0.49, 0.13, 1.0)
BLUE: Color = (0.20, 0.42, 0.70, 1.0)
GOLD: Color = (0.85, 0.68, 0.25, 1.0)


def rod(start: Sequence[float], end: Sequence[float], radius: float, color: Color = LIGHT) -> Solid:
    """A capsule whose two ball centres are `start` and `end`."""
    placement, length = _between(start, end)
    return _solid(Capsule(radius, length), placement, color)


def tube(start: Sequence[float], end: Sequence[float], radius: float, color: Color = LIGHT) -> Solid:
    """A cylinder from `start` to `end`."""
    placement, length = _between(start, end)
    return _solid(Cylinder(radius, length), placement, color)


def block(size: Sequence[float], centre: Sequence[float] = (0.0, 0.0, 0.0), color: Color = LIGHT) -> Solid:
    """A box with sides along the frame's axes."""
    return _solid(Box(size), Pose(xyz=centre), color)


def ball(radius: float, centre: Sequence[float] = (0.0, 0.0, 0.0), color: Color = LIGHT) -> Solid:
    """A sphere."""
    return _solid(Sphere(radius), Pose(xyz=centre), color)


def rod_inertia(mass: float, start: Sequence[float], end: Sequence[float], radius: float) -> Inertia:
    """m (3r² + l²)/12 across and m r²/2 along: a uniform cylinder from `start` to `end`."""
    placement, length = _between(start, end)
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    return Inertia(mass, tensor=np.diag([across, across, mass * radius**2 / 2.0])).transformed(placement)


def block_inertia(mass: float, size: Sequence[float]) -> Inertia:
    """m (y² + z²)/12 about x, and so on: a uniform box centred on the frame."""
    squares = np.square(size)
    return Inertia(mass, tensor=np.diag(mass * (squares.sum() - squares) / 12.0))


def _solid(shape: Box | Capsule | Cylinder | Sphere, placement: Pose, color: Color) -> Solid:
    return (
        Geometry(shape, placement, color=color, role="visual"),
        Geometry(shape, placement, color=color, role="collision"),
    )


def _between(start: Sequence[float], end: Sequence[float]) -> tuple[Pose, float]:
    """The pose midway whose z axis points from `start` to `end`, and their distance."""
    first, second = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(second - first))
    direction = (second - first) / length
    turn = np.cross((0.0, 0.0, 1.0), direction)
    # Rodrigues' formula for the shortest turn of z onto the direction; straight down, any half turn will do.
    if direction[2] < -1.0 + 1e-9:
        rotation = np.diag([1.0, -1.0, -1.0])
    else:
        rotation = np.eye(3) + skew(turn) + skew(turn) @ skew(turn) / (1.0 + direction[2])
    return Pose(xyz=0.5 * (first + second), rotation=rotation), length
