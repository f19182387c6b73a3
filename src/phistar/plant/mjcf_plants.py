"""Plants from MJCF files, read through MuJoCo's compiler: bodies, collision shapes, contact pairs and excludes,
actuators, sensors and keyframes."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from itertools import product

import numpy as np

from phistar.geometry.shape_records import Material
from phistar.io.mjcf.compile import Compiled, compile_document
from phistar.io.mjcf.document import read_document
from phistar.io.mjcf.geometry import inside_geom, shape_of
from phistar.io.mjcf.load import build_model
from phistar.io.mjcf.meshes import pose
from phistar.io.mjcf.refusals import check_without
from phistar.io.mjcf.tree import read_names
from phistar.io.packages import FolderList, Folders
from phistar.model import Model
from phistar.model.geometry import Mesh, Polytope
from phistar.plant.actuators import Actuator, Kind
from phistar.plant.collision_groups import WORLD, Masks
from phistar.plant.fields import Field
from phistar.plant.fluid import Fluid, FluidBox, WeightSupport
from phistar.plant.keyframes import Keyframe
from phistar.plant.mjcf_sensors import add_sensors
from phistar.plant.plant import Plant
from phistar.spatial import Pose, from_quaternion

_log = logging.getLogger("phistar")


def plant_of_mjcf(path: str | os.PathLike[str], packages: FolderList = (), without: Collection[str] = ()) -> Plant:
    """The plant of an MJCF file, at its qpos0; what acts in MuJoCo and not here is in `plant.warnings`."""
    folders = Folders.around(path, packages)
    check_without(without)
    compiled = compile_document(read_document(path, folders, plant=True), folders, False)
    model = build_model(compiled, path, without=without)
    name = model.name if model.name != WORLD else "scene"  # the world itself is no robot
    plant = Plant(tuple(model.gravity), name)
    plant.add(model, name, collides=False)
    plant.source, plant.without = str(path), tuple(without)
    plant.start = _coordinates(compiled, model, compiled.mj.qpos0)
    if compiled.enabled("CONTACT"):
        _add_geoms(plant, compiled)
        _add_pairs(plant, compiled)
    kept = [number for number in range(compiled.mj.nu) if _acts(compiled, number)]
    plant.motors = tuple(_actuator(compiled, model, number) for number in kept)
    plant.keyframes = _keyframes(compiled, model, kept)
    for field in _fields(plant, compiled, without):
        plant.add_field(field)
    left_out = [*_left_out(compiled), *add_sensors(plant, compiled)]
    plant.file_sensors = len(plant.sensors)
    plant.warnings = (*model.warnings, *left_out)
    for warning in left_out:
        _log.warning("%s: %s", path, warning)
    return plant


def _left_out(compiled: Compiled) -> list[str]:
    """Sentences about features that act in MuJoCo and not in the plant."""
    mj, sentences = compiled.mj, []
    unread = [geom for geom, mesh in compiled.meshes.items() if mesh is None or (mesh.collides and mesh.path is None)]
    unread = [geom for geom in unread if compiled.meshes[geom] or mj.geom_contype[geom] or mj.geom_conaffinity[geom]]
    if unread:
        sentences.append(
            f"{len(unread)} geoms do not collide in the plant: height fields, and meshes whose files cannot be read."
        )
    drives = enumerate(compiled.drives)
    still = [drive.name or f"number {number}" for number, drive in drives if not _acts(compiled, number)]
    if still:
        sentences.append(
            f"{len(still)} actuators do not act in the plant ({', '.join(still[:5])}): it takes motors and affine "
            "servos on joints, not muscles, tendons, actuators with dynamics of their own or gains that drive away."
        )
    return sentences


def _coordinates(compiled: Compiled, model: Model, qpos: np.ndarray) -> np.ndarray:
    """MuJoCo's qpos in the model's order, with quaternions as (x, y, z, w)."""
    mj, kinds = compiled.mj, compiled.mujoco.mjtJoint
    q, names = model.neutral().copy(), read_names(mj).joints
    for joint in range(mj.njnt):
        own, at = model.joints[model.joint_indices[names[joint]]], int(mj.jnt_qposadr[joint])
        count = own.q_slice.stop - own.q_slice.start
        given = qpos[at : at + count].copy()
        if mj.jnt_type[joint] in (int(kinds.mjJNT_FREE), int(kinds.mjJNT_BALL)):
            given[-4:] = np.roll(given[-4:] / np.linalg.norm(given[-4:]), -1)
        q[own.q_slice] = given
    return q


def _rates(compiled: Compiled, model: Model, q: np.ndarray, qvel: np.ndarray) -> np.ndarray:
    """MuJoCo's qvel in the model's order; of free joints [v in world axes; ω] becomes [ω; v] in body axes."""
    mj, names = compiled.mj, read_names(compiled.mj).joints
    v = np.zeros(model.nv)
    for joint in range(mj.njnt):
        own, at = model.joints[model.joint_indices[names[joint]]], int(mj.jnt_dofadr[joint])
        given = qvel[at : at + own.nv]
        if mj.jnt_type[joint] == int(compiled.mujoco.mjtJoint.mjJNT_FREE):
            turn = from_quaternion(q[own.q_slice][3:])
            given = np.concatenate([given[3:], turn.T @ given[:3]])
        v[own.v_slice] = given
    return v


def _keyframes(compiled: Compiled, model: Model, kept: list[int]) -> dict[str, Keyframe]:
    """The file's keyframes by name, those without one by their number; commands of the actuators that act."""
    mj, made = compiled.mj, {}
    for key in range(mj.nkey):
        q = _coordinates(compiled, model, mj.key_qpos[key])
        v = _rates(compiled, model, q, mj.key_qvel[key])
        made[mj.key(key).name or f"key{key}"] = Keyframe(q, v, mj.key_ctrl[key][kept].copy())
    return made


def _fields(plant: Plant, compiled: Compiled, without: Collection[str]) -> list[Field]:
    """The fluid of <option> and the bodies' gravcomp, each rigid part for itself."""
    mj, made = compiled.mj, []
    if not compiled.has_passive_forces:
        return made
    parts = [(body, plant.model.frames[name]) for body, name in enumerate(read_names(mj).bodies) if body]
    parts = [(body, frame) for body, frame in parts if frame.body >= 0 and mj.body_mass[body] > 0.0]
    if (mj.opt.density or mj.opt.viscosity) and "fluid" not in without:
        boxes = [
            FluidBox.of_inertia(
                frame.body,
                frame.placement @ pose(mj.body_ipos[body], mj.body_iquat[body]),
                float(mj.body_mass[body]),
                mj.body_inertia[body],
            )
            for body, frame in parts
        ]
        made.append(Fluid(boxes, float(mj.opt.density), float(mj.opt.viscosity), tuple(mj.opt.wind.tolist())))
    held = [(body, frame) for body, frame in parts if mj.body_gravcomp[body]]
    if held and "gravcomp" not in without:
        centers = [(frame.placement @ Pose(xyz=mj.body_ipos[body])).translation for body, frame in held]
        shares = [float(mj.body_mass[body] * mj.body_gravcomp[body]) for body, _ in held]
        bodies = [frame.body for _, frame in held]
        made.append(WeightSupport(list(zip(bodies, centers, shares, strict=True)), plant.gravity))
    return made


def _add_geoms(plant: Plant, compiled: Compiled) -> None:
    """Shapes that may touch others by their contype and conaffinity."""
    mj = compiled.mj
    labels = _labels(compiled)
    for geom in range(mj.ngeom):
        own, other = int(mj.geom_contype[geom]), int(mj.geom_conaffinity[geom])
        mesh = compiled.meshes.get(geom)
        if mesh is not None:  # MuJoCo is not shown what a mesh collides with
            own, other = (own or 1, other or 1) if mesh.collides else (0, 0)
        if (own or other) and _is_readable(compiled, geom):
            frictionless = mj.geom_condim[geom] == 1
            friction = 0.0 if frictionless else float(mj.geom_friction[geom, 0])
            _add_geom(plant, compiled, geom, friction, Masks(own, other, labels[geom]))


def _labels(compiled: Compiled) -> list[str]:
    """Label of each geom: its own where a <pair> names it, its body's where an <exclude> does, else empty."""
    mj = compiled.mj
    listed = {geom for pair in _listed_pairs(compiled) for geom in pair}
    excluded = {body for pair in _excluded_bodies(compiled) for body in pair}
    bodies = [f"body{body}" if body in excluded else "" for body in mj.geom_bodyid.tolist()]
    return [f"geom{geom}" if geom in listed else bodies[geom] for geom in range(mj.ngeom)]


def _is_readable(compiled: Compiled, geom: int) -> bool:
    mesh = compiled.meshes.get(geom)
    return geom not in compiled.meshes or (mesh is not None and mesh.path is not None)


def _add_geom(plant: Plant, compiled: Compiled, geom: int, friction: float, masks: Masks) -> None:
    mj, mesh = compiled.mj, compiled.meshes.get(geom)
    shape = shape_of(compiled, geom) if mesh is None else Polytope.hull(Mesh(mesh.path or "", mesh.scale))
    placement = pose(mj.geom_pos[geom], mj.geom_quat[geom]) @ inside_geom(mj, geom, mesh)
    body = read_names(mj).bodies[int(mj.geom_bodyid[geom])]
    plant.add_shape(shape, body, placement, Material(friction=friction), mj.geom(geom).name)
    plant.masks.append(masks)


def _listed_pairs(compiled: Compiled) -> list[tuple[int, int]]:
    """Geoms of each <pair>, but for meshes that cannot be read."""
    mj = compiled.mj
    pairs = [(int(mj.pair_geom1[pair]), int(mj.pair_geom2[pair])) for pair in range(mj.npair)]
    return [pair for pair in pairs if all(_is_readable(compiled, geom) for geom in pair)]


def _excluded_bodies(compiled: Compiled) -> list[tuple[int, int]]:
    codes = compiled.mj.exclude_signature.tolist()
    return [(code >> 16, code & 0xFFFF) for code in codes]


def _add_pairs(plant: Plant, compiled: Compiled) -> None:
    """<exclude>: bodies that pass through each other. <pair>: two geoms that meet whatever their masks, with friction
    of their own; the two stand a second time among the shapes, and the second ones meet each other alone."""
    mj, labels = compiled.mj, _labels(compiled)
    for a, b in _excluded_bodies(compiled):
        sides = [{labels[geom] for geom in np.flatnonzero(mj.geom_bodyid == body)} for body in (a, b)]
        plant.kept_apart |= {frozenset(pair) for pair in product(*sides)}
    for number, pair in enumerate(_listed_pairs(compiled)):
        friction = 0.0 if mj.pair_dim[number] == 1 else float(mj.pair_friction[number, 0])
        again = [f"pair{number}/{side}" for side in range(2)]
        for geom, label in zip(pair, again, strict=True):
            _add_geom(plant, compiled, geom, friction, Masks(0, 0, label))
        plant.brought_together.add(frozenset(again))
        plant.kept_apart.add(frozenset(labels[geom] for geom in pair))


def _acts(compiled: Compiled, number: int) -> bool:
    """Whether an actuator is one that a plant has: a motor or affine servo on a joint with one rate."""
    drive = compiled.drives[number]
    return compiled.driven[number] >= 0 and drive.plain and drive.bias[1] <= 0.0 and drive.bias[2] <= 0.0


def _actuator(compiled: Compiled, model: Model, number: int) -> Actuator:
    """gear·(gain·u + b₀ + b₁ gear·q + b₂ gear·q̇): what falls with q and q̇ is implicit, the rest is what the command is
    multiplied by and what is added to it."""
    mj, drive, joint = compiled.mj, compiled.drives[number], read_names(compiled.mj).joints[compiled.driven[number]]
    own, gear = model.joints[model.joint_indices[joint]], float(mj.actuator_gear[number, 0])
    limit, span = max(map(abs, drive.force_range)) * abs(gear), drive.control_range
    stiffness, damping = -drive.bias[1] * gear**2, -drive.bias[2] * gear**2
    kind: Kind = "position" if stiffness > 0.0 else "velocity" if damping > 0.0 else "force"
    held = {"position": stiffness, "velocity": damping, "force": 1.0}[kind]
    scale, offset = gear * drive.gain / held, gear * drive.bias[0] / held
    gains = (stiffness if kind == "position" else 0.0, 0.0 if kind == "force" else max(damping, 0.0))
    place, rate = own.q_slice.start, own.v_slice.start
    return Actuator(drive.name or joint, kind, joint, rate, place, *gains, limit, scale, span, offset=offset)
