"""Meshes of an MJCF file: only those that decide a body's inertia are opened; the others are kept as paths.

A mesh that is not needed is replaced, before MuJoCo compiles, by a massless stand-in at the same place: so a file whose
meshes are missing still loads, and MuJoCo never reads a stranger's mesh without need.
"""

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import FileError
from phistar.io.packages import Folders, Found
from phistar.io.xml import quote
from phistar.model.mesh_files import LARGEST_MESH
from phistar.safe_files import read_bytes
from phistar.spatial import Pose

_MUJOCO_FORMATS = (".stl", ".obj", ".msh")


@dataclass(frozen=True)
class MeshFile:
    """A mesh file, its scale, and where the scaled mesh sits in its geom; `path` is None where the file is missing."""

    path: str | None
    scale: tuple[float, ...]
    placement: Pose
    collides: bool


@dataclass
class Meshes:
    """Geoms that are not primitives, each with its mesh, or None where it cannot be determined."""

    geoms: list[tuple[Any, MeshFile | None]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def by_id(self) -> dict[int, MeshFile | None]:
        """The same by the geom's number in the compiled model."""
        return {geom.id: mesh for geom, mesh in self.geoms}


@dataclass(frozen=True)
class _Settler:
    """The spec being changed, and what is gathered on the way."""

    mujoco: Any
    spec: Any
    folders: Folders
    origin: Callable[[Any], tuple[str, int]]
    meshes: Meshes
    opened: dict[str, Path]

    def geom(self, geom: Any) -> None:
        asset = self.spec.mesh(geom.meshname)
        if asset is None:
            return  # an unknown mesh: MuJoCo says so when it compiles
        found = self._find(asset)
        fitted = geom.type != self.mujoco.mjtGeom.mjGEOM_MESH  # a primitive that takes its size from the mesh
        if self._weighs(geom) or (fitted and found.path):
            self._open(geom, asset, found)
            if fitted:
                return  # compiled, it is a primitive like any other
        else:
            _stand_in(self.mujoco, geom)
        collides = bool(geom.contype or geom.conaffinity)
        geom.contype = geom.conaffinity = 0  # spares MuJoCo the convex hull
        self.meshes.geoms.append((geom, None if fitted else self._file(asset, found, collides)))
        if fitted:
            self.meshes.left_out["shapes fitted to missing meshes"] += 1

    def _address(self, asset: Any) -> str:
        """The mesh's file in the main file's mesh folder; empty for a mesh whose vertices are in the robot file."""
        name = Path(asset.file).name if self.spec.strippath else asset.file
        return str(Path(self.spec.compiler.meshdir) / name) if name else ""

    def _find(self, asset: Any) -> Found:
        """MuJoCo's rule: in the main file's mesh folder, else beside the file that names the mesh."""
        name = Path(asset.file).name if self.spec.strippath else asset.file
        if not name:
            return Found(None)
        found = self.folders.find(self._address(asset))
        beside = Found(None)
        if found.path is None:
            beside = self.folders.find(str(Path(self.origin(asset)[0]).absolute().parent / name))
        return beside if beside.path else found

    def _weighs(self, geom: Any) -> bool:
        """Whether the compiler takes the body's inertia from this geom."""
        compiler, body = self.spec.compiler, geom.parent
        inferred = self.mujoco.mjtInertiaFromGeom
        if body.name == "world" or compiler.inertiafromgeom == inferred.mjINERTIAFROMGEOM_FALSE:
            return False
        if compiler.inertiafromgeom == inferred.mjINERTIAFROMGEOM_AUTO and body.explicitinertial:
            return False
        lowest, highest = compiler.inertiagrouprange
        return lowest <= geom.group <= highest and bool(geom.density if math.isnan(geom.mass) else geom.mass)

    def _open(self, geom: Any, asset: Any, found: Found) -> None:
        if not asset.file:
            return  # its vertices are in the robot file
        if found.path is None:
            file, line = self.origin(geom)
            raise FileError(
                f"{file}:{line}: the inertia of body {quote(geom.parent.name)} follows from the mesh "
                f"{quote(asset.file)}, which {found.reason}; put it there, name its folder "
                f"({self.folders.advice(self._address(asset))}), or give the body an <inertial>."
            )
        if found.path.suffix.lower() not in _MUJOCO_FORMATS:
            raise FileError(f"{found.path} is of no format of meshes that MuJoCo reads: STL, OBJ and MSH.")
        self.opened[asset.name] = found.path

    def _file(self, asset: Any, found: Found, collides: bool) -> MeshFile | None:
        """v ↦ S R*(v − r) for scale S and reference pose (R, r), as a scale followed by a pose."""
        if not asset.file:
            self.meshes.left_out["meshes written in the file"] += 1
            return None
        scale, reference = np.array(asset.scale), pose(asset.refpos, asset.refquat)
        if np.ptp(scale) and (np.abs(reference.rotation - np.eye(3)) > 1e-12).any():
            self.meshes.left_out["meshes scaled along turned axes"] += 1
            return None
        if found.path is None:
            address = self._address(asset)
            advice = f" ({self.folders.advice(address)})" if self.folders.above(address) else ""
            self.meshes.left_out[f"paths of meshes whose file {found.reason}{advice}"] += 1
        offset = -scale * (reference.rotation.T @ reference.translation)
        placement = Pose(xyz=offset, rotation=reference.rotation.T)
        return MeshFile(found.path and str(found.path), tuple(scale.tolist()), placement, collides)


def settle_meshes(mujoco: Any, spec: Any, folders: Folders, origin: Callable[[Any], tuple[str, int]]) -> Meshes:
    """Changes the spec so that it compiles without opening a file; `origin` gives an element's file and line."""
    settler = _Settler(mujoco, spec, folders, origin, Meshes(), {})
    geoms = list(spec.geoms)
    for geom in geoms:
        if geom.type == mujoco.mjtGeom.mjGEOM_HFIELD:
            _stand_in(mujoco, geom)
            settler.meshes.geoms.append((geom, None))
            settler.meshes.left_out["height fields"] += 1
        elif geom.meshname:
            settler.geom(geom)
    for site in spec.sites:
        if site.meshname:
            _stand_in(mujoco, site)
    for number, (name, path) in enumerate(settler.opened.items()):
        mesh = spec.mesh(name)
        mesh.file = re.sub(r"[^\w.-]", "_", f"{number}_{path.name}", flags=re.ASCII)
        spec.assets[mesh.file] = read_bytes(path, "a mesh", LARGEST_MESH)
    spec.compiler.meshdir = ""
    used = {geom.meshname for geom in geoms}
    for asset in spec.meshes:
        if asset.name not in used:
            _empty(asset)
    return settler.meshes


def pose(position: Any, quaternion: Any) -> Pose:
    """A pose from MuJoCo's position and (w, x, y, z) quaternion."""
    w, x, y, z = np.asarray(quaternion, dtype=np.float64)
    return Pose(xyz=np.array(position, dtype=np.float64), quaternion=(x, y, z, w))


def _stand_in(mujoco: Any, element: Any) -> None:
    """A unit sphere instead of a mesh or height field; a geom's weighs nothing."""
    element.type = mujoco.mjtGeom.mjGEOM_SPHERE
    element.size = [1.0, 0.0, 0.0]
    element.meshname = ""
    if hasattr(element, "hfieldname"):
        element.hfieldname = ""
        element.mass = 0.0


def _empty(asset: Any) -> None:
    """A tetrahedron instead of a mesh that nothing uses; deleting it would take time with every element there is."""
    asset.file = ""
    asset.uservert = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    asset.userface = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
    for extra in ("usernormal", "usertexcoord", "userfacenormal", "userfacetexcoord", "usernode", "usertet"):
        setattr(asset, extra, [])
    asset.scale, asset.refpos, asset.refquat = [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
    asset.needsdf = False
