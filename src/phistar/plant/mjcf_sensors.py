"""Sensors of an MJCF file as sensors of a plant, each under its own name."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from phistar.io.mjcf.compile import Compiled
from phistar.io.mjcf.mjcf_geometry import site_shape
from phistar.io.mjcf.mjcf_tree import read_names
from phistar.model.geometry import Shape
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
    "FRAMEXAXIS": ("frame_axes", (0, 1, 2)),
    "FRAMEYAXIS": ("frame_axes", (3, 4, 5)),
    "FRAMEZAXIS": ("frame_axes", (6, 7, 8)),
    "FORCE": ("frame_wrench", LAST),
    "TORQUE": ("frame_wrench", FIRST),
    "TOUCH": ("touch", ()),
}
RELATIVE: dict[str, tuple[int, ...]] = {  # rows of a pose that another frame sees
    "FRAMEPOS": (0, 1, 2),
    "FRAMEQUAT": (3, 4, 5, 6),
    "FRAMEANGVEL": (7, 8, 9),
    "FRAMELINVEL": (10, 11, 12),
}
OF_MASSES: dict[str, SensorKind] = {
    "SUBTREECOM": "center_of_mass",
    "SUBTREELINVEL": "mass_velocity",
    "SUBTREEANGMOM": "spin_momentum",
}
OF_TENDONS: dict[str, SensorKind] = {"TENDONPOS": "tendon_length", "TENDONVEL": "tendon_rate"}


class _Found(NamedTuple):
    """Arguments of `plant.sense`."""

    kind: SensorKind
    of: str
    rows: tuple[int, ...] = ()
    seen_from: str = "world"
    zone: Shape | None = None


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
            own = _unique_name(plant, mj.sensor(number).name or f"{name.lower()}{number}")
            plant.sense(found.kind, found.of, own, rows=found.rows, seen_from=found.seen_from, zone=found.zone)
    if not missing:
        return []
    told = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in missing.items())
    return [f"{missing.total()} sensors have no like in a plant and were left out: {told}."]


def _unique_name(plant: Plant, name: str) -> str:
    """A sensor's name, which here has no slash and is not another's."""
    taken, name = {sensor.name for sensor in plant.sensors}, name.replace("/", "_")
    candidates = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _sensor(plant: Plant, compiled: Compiled, number: int, name: str) -> _Found | None:
    """Kind, subject and rows of a sensor; None where a plant has no such thing."""
    mj, names = compiled.mj, read_names(compiled.mj)
    what, seen = int(mj.sensor_objid[number]), int(mj.sensor_refid[number])
    if name in OF_JOINTS:
        kind, rows = OF_JOINTS[name]
        return _Found(kind, names.joints[what], rows)
    if name in OF_MASSES and names.bodies[what] in plant.model.body_indices:
        return _Found(OF_MASSES[name], names.bodies[what])
    if name in OF_TENDONS:
        own = mj.tendon(what).name or f"tendon{what}"
        return _Found(OF_TENDONS[name], own) if any(each.name == own for each in plant.tendons) else None
    if name == "ACTUATORFRC":
        return _of_actuator(plant, compiled, what)
    if name not in OF_FRAMES:
        return None
    kind, rows = OF_FRAMES[name]
    frame = _frame(compiled, int(mj.sensor_objtype[number]), what, names)
    if frame is None or seen < 0:
        return None if frame is None else _of_frame(compiled, _Found(kind, frame, rows), what)
    other = _frame(compiled, int(mj.sensor_reftype[number]), seen, names)
    return _Found("pose", frame, RELATIVE[name], other) if other and name in RELATIVE else None


def _of_frame(compiled: Compiled, found: _Found, site: int) -> _Found | None:
    """A touch has its site's shape; wrenches are passed on by joints, not by welds."""
    mj = compiled.mj
    if found.kind == "touch":
        return found._replace(zone=site_shape(compiled, site))
    if found.kind == "frame_wrench" and not mj.body_jntnum[mj.site_bodyid[site]]:
        return None
    return found


def _of_actuator(plant: Plant, compiled: Compiled, number: int) -> _Found | None:
    """An actuator that acts and whose gear is 1: MuJoCo tells its force before the gear, a plant behind it."""
    name = compiled.drives[number].name
    known = any(actuator.name == name for actuator in plant.actuators)
    return _Found("actuator_force", name) if known and compiled.mj.actuator_gear[number, 0] == 1.0 else None


def _frame(compiled: Compiled, kind: int, number: int, names: Any) -> str | None:
    """The frame of a site, or of a body as its joints move it; geoms and centres of mass have none of their own."""
    kinds = compiled.mujoco.mjtObj
    if kind == int(kinds.mjOBJ_SITE):
        return names.sites[number]
    return names.bodies[number] if kind == int(kinds.mjOBJ_XBODY) else None
