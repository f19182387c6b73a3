"""Sensors of an MJCF file as sensors of a plant, each under its own name."""

from __future__ import annotations

from collections import Counter
from typing import Any

from phistar.io.mjcf.compile import Compiled
from phistar.io.mjcf.tree import read_names
from phistar.plant.plant import Plant
from phistar.plant.sensor_kinds import SensorKind

FIRST, LAST, QUATERNION = (0, 1, 2), (3, 4, 5), (3, 4, 5, 6)

# MuJoCo's types by name, less their mjSENS_: what a plant calls them, and which numbers of its reading they are.
OF_JOINTS: dict[str, tuple[SensorKind, tuple[int, ...]]] = {
    "JOINTPOS": ("joint_position", ()),
    "JOINTVEL": ("joint_velocity", ()),
    "BALLQUAT": ("joint_position", ()),
    "BALLANGVEL": ("joint_velocity", ()),
    "JOINTACTFRC": ("joint_torque", ()),
}
OF_FRAMES: dict[str, tuple[SensorKind, tuple[int, ...]]] = {
    "FRAMEPOS": ("frame_pose", FIRST),
    "FRAMEQUAT": ("frame_pose", QUATERNION),
    "FRAMEANGVEL": ("frame_twist", FIRST),
    "FRAMELINVEL": ("frame_twist", LAST),
    "FRAMEANGACC": ("frame_acceleration", FIRST),
    "FRAMELINACC": ("frame_acceleration", LAST),
    "GYRO": ("imu", FIRST),
    "ACCELEROMETER": ("imu", LAST),
    "VELOCIMETER": ("body_twist", LAST),
}


def add_sensors(plant: Plant, compiled: Compiled) -> list[str]:
    """Add those that a plant has; say in a sentence which it has not.

    Readings are MuJoCo's, but for quaternions, which are (x, y, z, w); accelerations are the mean over the last step.
    """
    mj, missing = compiled.mj, Counter()
    types = {int(kind): name.removeprefix("mjSENS_") for name, kind in compiled.mujoco.mjtSensor.__members__.items()}
    for number in range(mj.nsensor):
        name = types[int(mj.sensor_type[number])]
        found = _sensor(plant, compiled, number, name)
        if found is None:
            missing[name.lower()] += 1
        else:
            kind, of, rows = found
            plant.sense(kind, of, _unused(plant, mj.sensor(number).name or f"{name.lower()}{number}"), rows=rows)
    if not missing:
        return []
    told = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in missing.items())
    return [f"{missing.total()} sensors have no like in a plant and were left out: {told}."]


def _unused(plant: Plant, name: str) -> str:
    """A sensor's name, which here has no slash and is not another's."""
    taken, name = {sensor.name for sensor in plant.sensors}, name.replace("/", "_")
    candidates = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _sensor(plant: Plant, compiled: Compiled, number: int, name: str) -> tuple[SensorKind, str, tuple[int, ...]] | None:
    """Kind, subject and rows of a sensor; None where a plant has no such thing, or not as seen from another frame."""
    mj, names = compiled.mj, read_names(compiled.mj)
    what = int(mj.sensor_objid[number])
    if name in OF_JOINTS:
        kind, rows = OF_JOINTS[name]
        return kind, names.joints[what], rows
    if name == "SUBTREECOM" and names.bodies[what] in plant.model.body_indices:
        return "center_of_mass", names.bodies[what], ()
    if name not in OF_FRAMES or mj.sensor_refid[number] >= 0:
        return None
    kind, rows = OF_FRAMES[name]
    frame = _frame(compiled, int(mj.sensor_objtype[number]), what, names)
    return None if frame is None else (kind, frame, rows)


def _frame(compiled: Compiled, kind: int, number: int, names: Any) -> str | None:
    """The frame of a site, or of a body as its joints move it; geoms and centres of mass have none of their own."""
    kinds = compiled.mujoco.mjtObj
    if kind == int(kinds.mjOBJ_SITE):
        return names.sites[number]
    return names.bodies[number] if kind == int(kinds.mjOBJ_XBODY) else None
