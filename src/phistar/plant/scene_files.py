"""Plants in files: MJCF read through MuJoCo's compiler, and TOML both ways."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import FileError
from phistar.geometry.shape_records import Material
from phistar.io.mjcf.compile import Compiled, compile_document
from phistar.io.mjcf.document import read_document
from phistar.io.mjcf.geometry import inside_geom, shape_of
from phistar.io.mjcf.load import load_mjcf
from phistar.io.mjcf.meshes import pose
from phistar.io.mjcf.tree import read_names
from phistar.io.packages import FolderList, Folders
from phistar.model.geometry import Mesh, Polytope
from phistar.plant.actuators import Actuator, Kind
from phistar.plant.collision_groups import WORLD
from phistar.plant.plant import Plant

_log = logging.getLogger("phistar")


def load_plant(path: str | os.PathLike[str], packages: FolderList = ()) -> Plant:
    """A plant from .xml or .toml."""
    end = Path(path).suffix.lower()
    if end in (".xml", ".mjcf"):
        return plant_of_mjcf(path, packages)
    if end == ".toml":
        from phistar.plant.scene_tables import read_plant

        return read_plant(path, packages)
    raise FileError(f"{path}: a plant is read from MJCF (.xml) or from TOML (.toml), not from '{end}'.")


def save_plant(plant: Plant, path: str | os.PathLike[str]) -> None:
    from phistar.plant.scene_tables import write_plant

    write_plant(plant, path)


def plant_of_mjcf(path: str | os.PathLike[str], packages: FolderList = ()) -> Plant:
    """Bodies, geoms, planes, friction, contact masks and actuators of an MJCF file, at its qpos0."""
    folders = Folders.around(path, packages)
    compiled = compile_document(read_document(path, folders), folders, False)
    model = load_mjcf(path, packages=packages)
    name = model.name if model.name != WORLD else "scene"  # the world itself is no robot
    plant = Plant(tuple(model.gravity), name)
    plant.add(model, name, collides=False)
    plant.source = str(path)
    plant.start = _start(compiled, model)
    masks = _add_geoms(plant, compiled)
    _ignore(plant, compiled, masks)
    plant.motors = _actuators(compiled, model)
    plant.warnings = (*model.warnings, *_left_out(compiled))
    for warning in _left_out(compiled):
        _log.warning("%s: %s", path, warning)
    return plant


def _left_out(compiled: Compiled) -> list[str]:
    """What the file has that would act in MuJoCo and does not act in the plant, in sentences."""
    mj, sentences = compiled.mj, []
    unread = [geom for geom, mesh in compiled.meshes.items() if mesh is None or (mesh.collides and mesh.path is None)]
    unread = [geom for geom in unread if compiled.meshes[geom] or mj.geom_contype[geom] or mj.geom_conaffinity[geom]]
    if unread:
        sentences.append(
            f"{len(unread)} geoms do not collide in the plant: height fields, and meshes whose files cannot be read."
        )
    still = [
        drive.name or f"number {number}"
        for number, (joint, drive) in enumerate(zip(compiled.driven, compiled.drives, strict=True))
        if joint < 0 or not drive.plain or drive.bias[1] > 0.0 or drive.bias[2] > 0.0
    ]
    if still:
        sentences.append(
            f"{len(still)} actuators do not act in the plant ({', '.join(still[:5])}): it takes motors and affine "
            "servos on joints, not muscles, tendons, actuators with dynamics of their own or gains that drive away."
        )
    return sentences


def _start(compiled: Compiled, model: Any) -> np.ndarray:
    """qpos0 with quaternions as (x, y, z, w)."""
    mj, kinds = compiled.mj, compiled.mujoco.mjtJoint
    q, names = model.neutral().copy(), read_names(mj).joints
    for joint in range(mj.njnt):
        own, at = model.joints[model.joint_indices[names[joint]]], int(mj.jnt_qposadr[joint])
        count = own.q_slice.stop - own.q_slice.start
        given = mj.qpos0[at : at + count].copy()
        if mj.jnt_type[joint] in (int(kinds.mjJNT_FREE), int(kinds.mjJNT_BALL)):
            given[-4:] = np.roll(given[-4:], -1)
        q[own.q_slice] = given
    return q


def _add_geoms(plant: Plant, compiled: Compiled) -> list[tuple[str, int, int]]:
    """Shapes that collide; the body, contype and conaffinity of each."""
    mj, names, masks = compiled.mj, read_names(compiled.mj).bodies, []
    for geom in range(mj.ngeom):
        own, other = int(mj.geom_contype[geom]), int(mj.geom_conaffinity[geom])
        mesh = compiled.meshes.get(geom)
        if mesh is not None:  # MuJoCo is not shown what a mesh collides with
            own, other = (own or 1, other or 1) if mesh.collides else (0, 0)
        if not (own or other) or (geom in compiled.meshes and (mesh is None or mesh.path is None)):
            continue
        shape = shape_of(compiled, geom) if mesh is None else Polytope.hull(Mesh(mesh.path or "", mesh.scale))
        material = Material(friction=float(mj.geom_friction[geom, 0]))
        placement = pose(mj.geom_pos[geom], mj.geom_quat[geom]) @ inside_geom(mj, geom, mesh)
        body = names[int(mj.geom_bodyid[geom])]
        plant.add_shape(shape, body, placement, material, mj.geom(geom).name)
        masks.append((body, own, other))
    return masks


def _ignore(plant: Plant, compiled: Compiled, masks: list[tuple[str, int, int]]) -> None:
    """Pairs that the masks, or <exclude>, keep apart: shape by shape."""
    mj, names = compiled.mj, read_names(compiled.mj).bodies
    plant.masks = [(own, other) for _, own, other in masks]
    for pair in range(mj.nexclude):
        code = int(mj.exclude_signature[pair])
        plant.apart.append((names[code >> 16], names[code & 0xFFFF]))


def _actuators(compiled: Compiled, model: Any) -> tuple[Actuator, ...]:
    """Motors and servos on joints with one rate, gear·(gain·u + b₀ + b₁ gear·q + b₂ gear·q̇): what falls with q and q̇
    is implicit, the rest is what the command is multiplied by and what is added to it."""
    mj, names, made = compiled.mj, read_names(compiled.mj).joints, []
    for number, (joint, drive) in enumerate(zip(compiled.driven, compiled.drives, strict=True)):
        if joint < 0 or not drive.plain or drive.bias[1] > 0.0 or drive.bias[2] > 0.0:
            continue
        own, gear = model.joints[model.joint_indices[names[joint]]], float(mj.actuator_gear[number, 0])
        limit, span = max(map(abs, drive.force_range)) * abs(gear), drive.control_range
        stiffness, damping = -drive.bias[1] * gear**2, -drive.bias[2] * gear**2
        kind: Kind = "position" if stiffness > 0.0 else "velocity" if damping > 0.0 else "force"
        held = {"position": stiffness, "velocity": damping, "force": 1.0}[kind]
        scale, offset = gear * drive.gain / held, gear * drive.bias[0] / held
        name, rate, place = drive.name or names[joint], own.v_slice.start, own.q_slice.start
        gains = (stiffness if kind == "position" else 0.0, 0.0 if kind == "force" else max(damping, 0.0))
        made.append(Actuator(name, kind, names[joint], rate, place, *gains, limit, scale, span, offset=offset))
    return tuple(made)
