"""Shapes as numbers for the compiled narrow phase: their kind, their sizes, and how far they reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phistar.errors import ModelError
from phistar.geometry.shape_columns import BLOCK_SHAPE, HALFSPACE, HULL, ROUND
from phistar.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Plane, Polytope, Shape, Sphere
from phistar.spatial import Pose

SHARE, MOST_MARGIN, LEAST_MARGIN = 0.01, 1e-3, 1e-5  # the margin as a part of a shape's reach, in m
TIME = 0.01  # s: how fast a contact gives, at the margin's half
DAMPING = 20.0  # s/m
SIDES = 24  # of the prism that stands for a cylinder, and of the hull for an ellipsoid
FAR = 1e9  # m: the reach of a half-space


@dataclass(frozen=True)
class Material:
    """Contact properties of a surface: Coulomb friction μ, Newton restitution e, and a barrier scaled to the shape.

    Two surfaces that meet have the larger friction and restitution and the smaller margin of the two.

    Parameters
    ----------
    friction, restitution
        μ ≥ 0 and 0 ≤ e ≤ 1.
    margin
        ε in m: within it, contact pushes; None takes 1 % of the shape's reach, between 0.01 and 1 mm.
    time_constant
        In s; the strength is (mass that meets) · ε/time_constant², unless it is given.
    strength
        K_p in N of the barrier K_p(ε − d)/d, or None.
    damping
        α in s/m of the factor (1 − αḋ)₊.

    Examples
    --------
    >>> ps.Material(friction=0.8).restitution
    0.0
    """

    friction: float = 0.5
    restitution: float = 0.0
    margin: float | None = None
    time_constant: float = TIME
    strength: float | None = None
    damping: float = DAMPING

    def __post_init__(self) -> None:
        _check("friction", self.friction, "0 or more", 0.0, np.inf)
        _check("restitution", self.restitution, "between 0 and 1", 0.0, 1.0)
        _check("damping", self.damping, "0 or more", 0.0, np.inf)
        for name in ("margin", "strength"):
            if getattr(self, name) is not None:
                _check(name, getattr(self, name), "greater than 0", 1e-12, np.inf)
        _check("time_constant", self.time_constant, "greater than 0", 1e-9, np.inf)


def _check(name: str, value: object, expected: str, low: float, high: float) -> None:
    number = float(value) if isinstance(value, int | float | np.floating) and not isinstance(value, bool) else np.nan
    if not (np.isfinite(number) and low <= number <= high):
        raise ModelError(f"A material needs {name} {expected}; it was given {value!r:.100}.")


class ShapeRecord(NamedTuple):
    """The kind of `shape_columns`, three sizes, and the radius of a ball about the origin that holds the shape."""

    kind: int
    sizes: tuple[float, float, float]
    reach: float
    points: np.ndarray = np.zeros((0, 3))


def record_of(shape: Shape) -> ShapeRecord:
    """A shape's record; refused for a shape that the narrow phase does not know."""
    match shape:
        case Sphere(radius=radius):
            return ShapeRecord(ROUND, (radius, 0.0, 0.0), radius)
        case Capsule(radius=radius, length=length):
            return ShapeRecord(ROUND, (radius, length / 2, 0.0), radius + length / 2)
        case Box(size=size):
            half = tuple(float(x) / 2 for x in size)
            return ShapeRecord(BLOCK_SHAPE, half, float(np.linalg.norm(half)))  # pyright: ignore[reportArgumentType]
        case Polytope(points=points):
            return ShapeRecord(HULL, (0.0, 0.0, 0.0), float(np.linalg.norm(points, axis=1).max()), np.asarray(points))
        case Cylinder(radius=radius, length=length):
            return _prism(radius, length)
        case Ellipsoid(radii=radii):
            return _ellipsoid_hull(np.asarray(radii, dtype=float))
        case Plane():
            return ShapeRecord(HALFSPACE, (0.0, 0.0, 0.0), FAR)
    raise ModelError(
        f"A plant does not collide {type(shape).__name__}: it knows spheres, capsules, boxes, planes, cylinders, "
        "ellipsoids and polytopes; ps.Polytope.hull(mesh) is the convex hull of a mesh."
    )


def _prism(radius: float, length: float) -> ShapeRecord:
    """A cylinder as a hull of twice SIDES corners on its rims."""
    turn = 2.0 * np.pi * np.arange(SIDES) / SIDES
    rim = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.full(SIDES, length / 2)], axis=-1)
    points = np.concatenate([rim, rim * [1.0, 1.0, -1.0]])
    return ShapeRecord(HULL, (0.0, 0.0, 0.0), float(np.hypot(radius, length / 2)), points)


def _ellipsoid_hull(radii: np.ndarray) -> ShapeRecord:
    """An ellipsoid as a hull of corners on it, SIDES around and half as many from pole to pole."""
    turn, rise = np.meshgrid(
        2.0 * np.pi * np.arange(SIDES) / SIDES, np.pi * np.arange(1, SIDES // 2) / (SIDES // 2), indexing="ij"
    )
    around = np.stack([np.sin(rise) * np.cos(turn), np.sin(rise) * np.sin(turn), np.cos(rise)], axis=-1).reshape(-1, 3)
    points = radii * np.concatenate([around, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    return ShapeRecord(HULL, (0.0, 0.0, 0.0), float(radii.max()), points)


def margin_of(material: Material, reach: float) -> float:
    """ε of a surface in m: as given, or from the shape's size."""
    if material.margin is not None:
        return material.margin
    return FAR if reach >= FAR else min(max(SHARE * reach, LEAST_MARGIN), MOST_MARGIN)


@dataclass(frozen=True)
class PlacedShape:
    """A shape on a body of a model (−1: the world), placed in the body's frame, or in that of a node of a body that
    bends; `group` says what it may meet."""

    body: int
    shape: Shape
    placement: Pose
    material: Material = Material()
    group: int = 0
    name: str = ""
    node: int = -1
