"""What a scene's controller can know: sensors of joints, wrists, finger tips and poses, as the file describes them.

joints    q and v of a part's joints: `part`
wrist     [moment; force] that the surroundings exert on what is mounted on a frame: `frame`
tactile   the normal force on each of some shapes: `shapes`
pose      xyz, quaternion (x y z w), ω and v of a frame as another one sees it, in its axes: `of`, `seen_from`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from phistar.errors import FileError
from phistar.sim.scenes.table import Table

NOISES: Mapping[str, tuple[str, ...]] = {
    "joints": ("noise", "rate_noise"),
    "wrist": ("moment_noise", "noise"),
    "tactile": ("noise",),
    "pose": ("noise", "turn_noise", "spin_noise", "rate_noise"),
}


@dataclass(frozen=True)
class Sensor:
    """A sensor: what it is `of` (a part, a frame, shapes, or a frame and the one that sees it), the standard deviations
    of its groups of numbers (see NOISES), its constant errors, how late its readings are, and how far apart, s."""

    name: str
    kind: str
    of: tuple[str, ...]
    noise: tuple[float, ...]
    bias: np.ndarray | None
    turn_bias: np.ndarray
    delay: float
    period: float | None
    where: str


def read_sensor(table: Table) -> Sensor:
    """One [[sensors]] table."""
    name, kind = table.text("name"), table.text("kind", choices=tuple(NOISES))
    if "/" in name or name in (".", ".."):  # its readings are kept as sensed/NAME
        raise table.wrong("name", "a name without /")
    noise = tuple(table.number(each, 0.0, 0.0) for each in NOISES[kind])
    bias = table.vector("bias", {"wrist": 6, "pose": 3}.get(kind), None)
    turn_bias = table.vector("turn_bias", 3, np.zeros(3)) if kind == "pose" else np.zeros(3)
    delay, period = table.number("delay", 0.0, 0.0, 10.0), table.number("period", None, 1e-6)
    sensor = Sensor(name, kind, _subject(table, kind), noise, bias, turn_bias, delay, period, table.where)
    table.done()
    return sensor


def _subject(table: Table, kind: str) -> tuple[str, ...]:
    if kind == "joints":
        return (table.text("part"),)
    if kind == "wrist":
        return (table.text("frame"),)
    if kind == "pose":
        return (table.text("of"), table.text("seen_from", "world"))
    shapes = table.take("shapes")
    if not isinstance(shapes, list) or not shapes or not all(isinstance(each, str) for each in shapes):
        raise table.wrong("shapes", "a list of names of shapes")
    return tuple(shapes)


def read_sensors(table: Table) -> tuple[Sensor, ...]:
    """All of them, their names unlike."""
    sensors = tuple(read_sensor(each) for each in table.tables("sensors"))
    names = [sensor.name for sensor in sensors]
    for name in names:
        if names.count(name) > 1:
            raise FileError(f"{table.where}: two sensors are called {name!r}; give each its own name.")
    return sensors
