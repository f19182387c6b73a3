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
from phistar.io.mjcf.load_mjcf import build_model
from phistar.io.mjcf.meshes import pose
from phistar.io.mjcf.mjcf_geometry import inside_geom, shape_of
from phistar.io.mjcf.mjcf_tree import read_names
from phistar.io.mjcf.refusals import check_without
from phistar.io.packages import FolderList, Folders
from phistar.model import Model
from phistar.model.geometry import Mesh, Polytope
from phistar.plant.actuators import Actuator
from phistar.plant.collision_groups import WORLD, Masks
from phistar.plant.fields import Field
from phistar.plant.fluid import Fluid, FluidBox, WeightSupport
from phistar.plant.keyframes import Keyframe
from phistar.plant.mjcf_sensors import add_sensors
from phistar.plant.mjcf_tendons import (
    FileTendons,
    control_range,
    read_tendons,
    servo_numbers,
    tendon_actuator,
    tendon_of_actuator,
    tendon_warnings,
)
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
    if compiled.is_enabled("CONTACT"):
        _add_geoms(plant, compiled)
        _add_pairs(plant, compiled)
    kept = _add_actuators(plant, compiled, model, "tendons" in without)
    plant.keyframes = _keyframes(compiled, model, kept)
    for field in _fields(plant, compiled, without):
        plant.add_field(field)
    left_out = [*_omissions(compiled, kept), *tendon_warnings(compiled), *add_sensors(plant, compiled)]
    plant.file_sensors = len(plant.sensors)
    plant.warnings = (*model.warnings, *left_out)
    for warning in left_out:
        _log.warning("%s: %s", path, warning)
    return plant


def _omissions(compiled: Compiled, kept: list[int]) -> list[str]:
    """Sentences about features that act in MuJoCo and not in the plant."""
    mj, sentences = compiled.mj, []
    unread = [geom for geom, mesh in compiled.meshes.items() if mesh is None or (mesh.collides and mesh.path is None)]
    unread = [geom for geom in unread if compiled.meshes[geom] or mj.geom_contype[geom] or mj.geom_conaffinity[geom]]
    if unread:
        sentences.append(
            f"{len(unread)} geoms do not collide in the plant: height fields, and meshes whose files cannot be read."
        )
    shared = mj.jnt_actgravcomp.astype(bool) & mj.jnt_actfrclimited.astype(bool)
    if shared.any() and mj.body_gravcomp.any():
        sentences.append(
            f"{int(shared.sum())} joints bear their gravity compensation within the limits of their motors' forces "
            "(actuatorgravcomp); in the plant these limits are of the motors' own forces alone."
        )
    return [*sentences, *_still(compiled, kept)]


def _still(compiled: Compiled, kept: list[int]) -> list[str]:
    """A sentence for each reason for which actuators do not act, with their names and the way out."""
    found: dict[str, list[str]] = {}
    for number, drive in enumerate(compiled.drives):
        if number not in kept:
            found.setdefault(_reason(compiled, number), []).append(drive.name or f"number {number}")
    return [
        f"{len(names)} actuators do not act in the plant ({', '.join(names[:5])}{' …' if len(names) > 5 else ''}): "
        f"{reason}."
        for reason, names in found.items()
    ]


def _reason(compiled: Compiled, number: int) -> str:
    """Why an actuator does not act, and what does in its place."""
    drive = compiled.drives[number]
    if drive.muscle:
        return (
            "they are muscles; plant.add_tendon and plant.actuate_tendon pull along a way with forces that you compute"
        )
    if not drive.plain:
        return "they have dynamics or gains of their own; compute their forces in a controller and give them to a motor"
    if drive.bias[1] > 0.0 or drive.bias[2] > 0.0:
        return "their gains drive away from where they are; give such forces by a motor"
    return (
        "they act on bodies, slider-cranks, sites as seen from others, joints of several coordinates or tendons that "
        "wrap around geoms; plant.actuate and plant.actuate_tendon drive joints and straight tendons"
    )


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


def _add_actuators(plant: Plant, compiled: Compiled, model: Model, untied: bool) -> list[int]:
    """Tendons and actuators of the file; gives the numbers of those that act, in the order of commands."""
    robot, kept, motors = next(iter(plant.robots)), [], []
    found = FileTendons((), {}) if untied else read_tendons(compiled, robot)
    tendons = list(found.tendons)
    for number in range(compiled.mj.nu):
        drive = compiled.drives[number]
        if not drive.plain or drive.bias[1] > 0.0 or drive.bias[2] > 0.0:
            continue
        if compiled.driven_joints[number] >= 0:
            motors.append(_actuator(compiled, model, number))
            kept.append(number)
            continue
        way = tendon_of_actuator(compiled, number, found, robot)
        if way is not None:
            at = way if isinstance(way, int) else len(tendons)
            tendons += [] if isinstance(way, int) else [way]
            motors.append(tendon_actuator(compiled, number, at, drive.name or tendons[at].name))
            kept.append(number)
    plant.tendons, plant.motors = tuple(tendons), tuple(motors)
    return kept


def _actuator(compiled: Compiled, model: Model, number: int) -> Actuator:
    """A motor or affine servo on a joint of one coordinate, within its own range of forces and the joint's."""
    mj, drive, target = compiled.mj, compiled.drives[number], int(compiled.driven_joints[number])
    joint = read_names(mj).joints[target]
    own, gear = model.joints[model.joint_indices[joint]], float(mj.actuator_gear[number, 0])
    low, high = sorted(gear * bound if gear else 0.0 for bound in drive.force_range)
    if mj.jnt_actfrclimited[target]:
        low, high = max(low, float(mj.jnt_actfrcrange[target, 0])), min(high, float(mj.jnt_actfrcrange[target, 1]))
    kind, scale, offset, gains = servo_numbers(drive.gain, drive.bias, gear)
    span = control_range(drive, mj.jnt_range[target])
    place, rate, most = own.q_slice.start, own.v_slice.start, max(abs(low), abs(high))
    return Actuator(
        drive.name or joint, kind, joint, rate, place, *gains, most, scale, span,
        offset=offset, force_range=(low, high),
    )  # fmt: skip
