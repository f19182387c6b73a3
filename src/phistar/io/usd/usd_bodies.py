"""Rigid bodies of a USD stage: where they stand, their masses, and the shapes below them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.io.usd.units import Units, rotation_of
from phistar.model import Box, Capsule, Cylinder, Polytope, Sphere
from phistar.model.geometry import Geometry
from phistar.spatial import Inertia, Pose

DENSITY = 1000.0  # kg/m³: UsdPhysics' own where a file has none
ALONG = {  # from z, along which shapes here lie, to a shape's axis
    "X": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}


@dataclass(frozen=True)
class UsdBody:
    """A body's pose in the world, z upward, its inertia in its frame, and its shapes."""

    pose: Pose
    inertia: Inertia
    shapes: tuple[Geometry, ...]


def read_body(prim: Any, units: Units, usd: Any, warnings: list[str]) -> UsdBody:
    """The body of a prim with PhysicsRigidBodyAPI."""
    pose = units.pose_of(prim)
    shapes = _shapes(prim, pose, units, usd, warnings)
    return UsdBody(pose, _inertia(prim, shapes, units, usd, warnings), shapes)


def _shapes(prim: Any, pose: Pose, units: Units, usd: Any, warnings: list[str]) -> tuple[Geometry, ...]:
    """Shapes below a body, but for those of bodies below it; meshes by their hulls."""
    made: list[Geometry] = []
    below = iter(usd.Usd.PrimRange(prim, usd.Usd.TraverseInstanceProxies()))
    for each in below:
        if each != prim and each.HasAPI(usd.UsdPhysics.RigidBodyAPI):
            below.PruneChildren()
            continue
        shape, turn = _shape(each, units, usd, warnings)
        if shape is not None:
            at = pose.inverse @ units.pose_of(each) @ Pose(rotation=turn)
            collides = each.HasAPI(usd.UsdPhysics.CollisionAPI)
            drawn = str(usd.UsdGeom.Imageable(each).ComputePurpose()) != "guide"
            roles = (["visual"] if drawn else []) + (["collision"] if collides else [])
            made += [Geometry(shape, at, each.GetName(), role=role) for role in roles]
    return tuple(made)


def _shape(prim: Any, units: Units, usd: Any, warnings: list[str]) -> tuple[Any, np.ndarray]:
    """A shape in metres and how it is turned; None for prims that are none, or that cannot be had."""
    geometry, scale = (
        usd.UsdGeom,
        units.metres * units.parts(prim)[1] if prim.IsA(usd.UsdGeom.Xformable) else np.ones(3),
    )
    try:
        if prim.IsA(geometry.Cube):
            return Box(float(geometry.Cube(prim).GetSizeAttr().Get()) * scale), np.eye(3)
        if prim.IsA(geometry.Sphere):
            return Sphere(float(geometry.Sphere(prim).GetRadiusAttr().Get()) * float(scale.mean())), np.eye(3)
        for kind, made in ((geometry.Cylinder, Cylinder), (geometry.Capsule, Capsule)):
            if prim.IsA(kind):
                own = kind(prim)
                axis = str(own.GetAxisAttr().Get())
                along, across = scale["XYZ".index(axis)], np.delete(scale, "XYZ".index(axis)).mean()
                radius, length = float(own.GetRadiusAttr().Get()) * across, float(own.GetHeightAttr().Get()) * along
                return made(float(radius), float(length)), ALONG[axis]
        if prim.IsA(geometry.Mesh):
            return _hull(
                np.array(geometry.Mesh(prim).GetPointsAttr().Get(), dtype=float).reshape(-1, 3) * scale
            ), np.eye(3)
    except ModelError as problem:
        warnings.append(f"The shape {prim.GetPath()} was left out: {problem}")
    return None, np.eye(3)


def _hull(points: np.ndarray) -> Polytope:
    """The convex hull of a mesh's points."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return Polytope(points[np.sort(ConvexHull(points, qhull_options="QbB Pp Qt").vertices)])
    except (QhullError, ValueError):
        raise ModelError("its points have no convex hull.") from None


def _inertia(prim: Any, shapes: tuple[Geometry, ...], units: Units, usd: Any, warnings: list[str]) -> Inertia:
    """Inertia by PhysicsMassAPI; where it lacks mass or moments, that of the colliding shapes."""
    api = usd.UsdPhysics.MassAPI(prim)
    mass = float(api.GetMassAttr().Get() or 0.0) * units.kilograms
    density = float(api.GetDensityAttr().Get() or 0.0) * units.kilograms / units.metres**3
    center = np.array(api.GetCenterOfMassAttr().Get() or (-np.inf,) * 3, dtype=float)
    moments = np.array(api.GetDiagonalInertiaAttr().Get() or (0.0,) * 3, dtype=float)
    solid = _solid([each for each in shapes if each.role == "collision"], density or DENSITY)
    if mass <= 0.0:
        if solid.mass <= 0.0:
            warnings.append(f"The body {prim.GetPath()} has neither a mass nor shapes that give it one: it has none.")
        return solid
    place = units.metres * center if np.isfinite(center).all() else np.asarray(solid.com)
    if moments.any():
        turn = rotation_of(api.GetPrincipalAxesAttr().Get())
        tensor = turn @ np.diag(moments * units.kilograms * units.metres**2) @ turn.T
    else:
        tensor = np.asarray(solid.tensor) * (mass / solid.mass) if solid.mass > 0.0 else np.zeros((3, 3))
        if solid.mass <= 0.0:
            warnings.append(f"The body {prim.GetPath()} has a mass and no moments of inertia: it is a point.")
    return Inertia.unchecked(mass, place, 0.5 * (tensor + tensor.T))


def _solid(shapes: list[Geometry], density: float) -> Inertia:
    """Boxes, balls, cylinders and capsules filled with a density, together; hulls of meshes weigh as their boxes."""
    total = Inertia.unchecked(0.0, np.zeros(3), np.zeros((3, 3)))
    for each in shapes:
        match each.shape:
            case Sphere(radius=r):
                volume, square = 4.0 / 3.0 * np.pi * r**3, np.full(3, r**2 / 5.0)
            case Box(size=size):
                volume, square = float(np.prod(size)), np.asarray(size) ** 2 / 12.0
            case Cylinder(radius=r, length=h) | Capsule(radius=r, length=h):
                volume, square = np.pi * r**2 * h, np.array([r**2 / 4.0, r**2 / 4.0, h**2 / 12.0])
            case Polytope(points=points):
                volume, square = float(np.prod(np.ptp(points, axis=0))), np.ptp(points, axis=0) ** 2 / 12.0
            case _:
                continue
        mass = density * float(volume)
        own = Inertia.unchecked(mass, np.zeros(3), mass * np.diag(square.sum() - square))
        total = total + own.transformed(each.placement)
    return total
