"""USD files, read by `usd-core`: rigid bodies and joints of UsdPhysics as a model.

Bodies are links, joints connect them with frames on either side; lengths are scaled to metres and the stage's upward
axis becomes z. Joints that close rings, or that the file leaves out of its articulation, are loops. A root that nothing
ties to the world stands fixed unless `floating=True`, and a warning says so.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from phistar import safe_files
from phistar.errors import FileError, ModelError
from phistar.io.packages import FolderList, Folders
from phistar.io.usd.units import Units
from phistar.io.usd.usd_bodies import UsdBody, read_body
from phistar.model import Fixed, Free, Model, Prismatic, Revolute, Spherical
from phistar.model.geometry import Geometry
from phistar.model.mechanism_graph import Connection, from_graph
from phistar.spatial import Pose

LARGEST = 256 * 2**20  # bytes of a layer
MOST_PRIMS = 50_000
MOST_LAYERS = 100
EARTH = 9.81


def load_usd(
    path: str | os.PathLike[str],
    *,
    floating: bool = False,
    packages: FolderList = (),
    gravity: Sequence[float] | None = None,
    strict: bool = False,
) -> Model:
    """The model of a USD file; the arguments are those of `phistar.load`."""
    stage, usd = _stage(path, packages)
    units, warnings = Units.of(stage, usd), []
    prims = _prims(stage, usd, path)
    bodies = {str(prim.GetPath()): read_body(prim, units, usd, warnings)
              for prim in prims if prim.HasAPI(usd.UsdPhysics.RigidBodyAPI)}  # fmt: skip
    if not bodies:
        raise FileError(f"{path}: the stage has no rigid body (PhysicsRigidBodyAPI); a model has at least one.")
    names = _short_names(list(bodies))
    joints = [prim for prim in prims if prim.IsA(usd.UsdPhysics.Joint) and _is_enabled(prim, usd)]
    tied = [(prim, each) for prim in joints if (each := _connection(prim, bodies, names, units, usd, path)) is not None]
    connections, cut = [each for _, each in tied], [each.name for prim, each in tied if _is_cut(prim, usd)]
    connections += _roots(bodies, names, connections, cut, floating, warnings)
    if gravity is None:
        gravity = _gravity(prims, units, usd)
    try:
        links = {names[key]: body.inertia for key, body in bodies.items()}
        model = from_graph(Path(path).stem, links, connections, cut, gravity, _shapes(bodies, names), warnings, strict)
    except ModelError as problem:
        raise ModelError(f"{path}: {problem}") from None
    if strict and warnings:
        raise FileError(f"{path}: {warnings[0]} With strict=False this is a warning.")
    return model


def _stage(path: str | os.PathLike[str], packages: FolderList) -> tuple[Any, Any]:
    """The stage, opened after every layer that it names was found inside the folders that are allowed."""
    try:
        library: Any = importlib.import_module("pxr")
        for name in ("Sdf", "Usd", "UsdGeom", "UsdPhysics"):
            importlib.import_module(f"pxr.{name}")
    except ImportError:
        raise FileError("USD files are read with usd-core: pip install 'phistar[usd]'.") from None
    folders = Folders.around(path, packages)
    waiting, seen = [str(Path(path).resolve())], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if len(seen) > MOST_LAYERS:
            raise FileError(f"{path}: more than {MOST_LAYERS} layers are composed, the most that are read.")
        safe_files.check_file(name, "a layer in USD", LARGEST)
        try:
            layer = library.Sdf.Layer.FindOrOpen(name)
        except Exception as problem:  # the library raises its own kinds
            raise FileError(f"{path}: {name} is no USD layer: {str(problem).splitlines()[0]:.200}.") from None
        if layer is None:
            raise FileError(f"{path}: {name} cannot be read as a USD layer.")
        for address in layer.GetCompositionAssetDependencies():
            beside = os.path.join(os.path.dirname(name), address)
            found = folders.find(beside)
            if found.path is None:
                raise FileError(f"{path}: the layer {address:.100} {found.reason}; {folders.advice(beside)}.")
            waiting.append(str(found.path))
    return library.Usd.Stage.Open(str(path)), library


def _prims(stage: Any, usd: Any, path: str | os.PathLike[str]) -> list[Any]:
    found = []
    for prim in stage.Traverse(usd.Usd.TraverseInstanceProxies()):
        found.append(prim)
        if len(found) > MOST_PRIMS:
            raise FileError(f"{path}: the stage has more than {MOST_PRIMS} prims, the most that are read.")
    return found


def _short_names(paths: list[str]) -> dict[str, str]:
    """Each path's last part; the whole path where two have the same."""
    last = [path.rpartition("/")[2] for path in paths]
    return {path: name if last.count(name) == 1 and name != "world" else path.strip("/").replace("/", "_")
            for path, name in zip(paths, last)}  # fmt: skip


def _is_enabled(prim: Any, usd: Any) -> bool:
    return bool(usd.UsdPhysics.Joint(prim).GetJointEnabledAttr().Get())


def _is_cut(prim: Any, usd: Any) -> bool:
    return bool(usd.UsdPhysics.Joint(prim).GetExcludeFromArticulationAttr().Get())


def _owner(targets: list[Any], bodies: dict[str, UsdBody]) -> tuple[str | None, str]:
    """The rigid body that a joint's target is or lies under, None for the world; and the target."""
    where = str(targets[0]) if targets else ""
    up = where
    while up and up not in bodies:
        up = up.rpartition("/")[0]
    return up or None, where


def _connection(prim: Any, bodies: dict[str, UsdBody], names: dict[str, str], units: Units, usd: Any, path: Any) -> Any:
    """A joint between two bodies, or a body and the world; None where it ties nothing."""
    joint, ends, frames = usd.UsdPhysics.Joint(prim), [], []
    for targets, place, turn in (
        (joint.GetBody0Rel().GetTargets(), joint.GetLocalPos0Attr().Get(), joint.GetLocalRot0Attr().Get()),
        (joint.GetBody1Rel().GetTargets(), joint.GetLocalPos1Attr().Get(), joint.GetLocalRot1Attr().Get()),
    ):
        owner, target = _owner(targets, bodies)
        ends.append("world" if owner is None else names[owner])
        local = units.local_pose(place, turn)
        if target and target != owner:  # a frame below a body, or one of the world
            local = (
                units.pose_of(prim.GetStage().GetPrimAtPath(target), None if owner is None else bodies[owner]) @ local
            )
        elif owner is None:
            local = units.upright @ local
        frames.append(local)
    if ends[0] == ends[1]:
        return None
    return Connection(prim.GetName(), _kind(prim, units, usd, path), ends[0], ends[1], frames[0], frames[1])


def _kind(prim: Any, units: Units, usd: Any, path: Any) -> Any:
    physics, axis = usd.UsdPhysics, {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}
    if prim.IsA(physics.FixedJoint):
        return Fixed()
    if prim.IsA(physics.SphericalJoint):
        return Spherical()
    if prim.IsA(physics.RevoluteJoint):
        own, drive, unit = physics.RevoluteJoint(prim), "angular", np.pi / 180.0
    elif prim.IsA(physics.PrismaticJoint):
        own, drive, unit = physics.PrismaticJoint(prim), "linear", units.metres
    else:
        raise FileError(
            f"{path}: the joint {prim.GetPath()} is a {prim.GetTypeName()}; fixed, revolute, prismatic and spherical "
            "ones are read."
        )
    limits = own.GetLowerLimitAttr().Get(), own.GetUpperLimitAttr().Get()
    given: dict[str, Any] = {"axis": axis[str(own.GetAxisAttr().Get())]}
    if np.isfinite(limits).all() and limits[0] <= limits[1] and max(map(abs, limits)) < 1e8:
        given["limits"] = (unit * limits[0], unit * limits[1])
    if prim.HasAPI(physics.DriveAPI, drive):
        force = physics.DriveAPI(prim, drive).GetMaxForceAttr().Get()
        if force is not None and np.isfinite(force) and 0.0 <= force < 1e30:
            given["effort"] = float(force) * units.force(drive)
    return Revolute(**given) if drive == "angular" else Prismatic(**given)


def _roots(
    bodies: dict[str, UsdBody], names: dict[str, str], connections: list[Connection], cut: list[str], floating: bool,
    warnings: list[str],
) -> list[Connection]:  # fmt: skip
    """A joint to the world for the first body of everything that nothing ties to it."""
    group = {"world": "world"} | {name: name for name in names.values()}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    for each in connections:
        if each.name not in cut:
            group[root(each.link_b)] = root(each.link_a)
    made: list[Connection] = []
    for key, body in bodies.items():
        name = names[key]
        if root(name) != root("world"):
            group[root(name)] = root("world")
            at = Pose() if floating else body.pose
            kind = Free() if floating else Fixed()
            taken = f"root{len(made) or ''}" if floating else f"{name}_fixed"
            made.append(Connection(taken, kind, "world", name, on_a=at))
    if made and not floating:
        told = ", ".join(each.link_b for each in made[:5])
        warnings.append(f"Nothing ties {told} to the world: it stands fixed; floating=True frees it.")
    return made


def _gravity(prims: list[Any], units: Units, usd: Any) -> list[float]:
    """Gravity of the physics scene; the stage's downward axis and the earth's where it says nothing."""
    down, size = np.array([0.0, 0.0, -1.0]), EARTH
    for prim in prims:
        if prim.IsA(usd.UsdPhysics.Scene):
            scene = usd.UsdPhysics.Scene(prim)
            way, given = (
                np.array(scene.GetGravityDirectionAttr().Get(), dtype=float),
                scene.GetGravityMagnitudeAttr().Get(),
            )
            if np.linalg.norm(way) > 0.0:
                down = units.upright.rotation @ (way / np.linalg.norm(way))
            if given is not None and np.isfinite(given) and given >= 0.0:
                size = float(given) * units.metres
            break
    return (size * down).tolist()


def _shapes(bodies: dict[str, UsdBody], names: dict[str, str]) -> dict[str, tuple[Geometry, ...]]:
    return {names[key]: body.shapes for key, body in bodies.items()}
