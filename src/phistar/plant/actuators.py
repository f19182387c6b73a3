"""Actuators: what a command does to joints. A joint without one is passive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from phistar.errors import ModelError
from phistar.plant.batch_loop import (
    BATCH,
    DRIVE_FLOATS,
    DRIVE_WHOLES,
    DRIVES,
    ENTRIES,
    FORCE_DRIVE,
    IMPEDANCE_DRIVE,
    LINE_AT,
    LINE_ROOM,
    NV,
    POSITION_DRIVE,
    PRESCRIBED_DRIVE,
    VELOCITY_DRIVE,
)
from phistar.plant.single_rows import SingleRow, servo_row
from phistar.plant.tendon_rows import TendonRow, tendon_servo

Kind = Literal["force", "position", "velocity", "impedance", "prescribed", "locked"]
KINDS: tuple[str, ...] = ("force", "position", "velocity", "impedance", "prescribed", "locked")
TOLD: tuple[str, ...] = ("prescribed", "locked")  # joints that move as told, whatever force it takes
AT_ONCE = 1e-9  # s: the time in which a joint that moves as told takes its rate on


@dataclass(frozen=True)
class Actuator:
    """A motor on one rate of a plant, or on a tendon: its `rate` is −1 then, and `coordinate` the tendon's number.

    The command is multiplied by `gear`, and `offset` added. `force` takes a force (N or N m); `position` a coordinate,
    held with `stiffness` and `damping`; `velocity` a rate, held with `damping`; `impedance` three numbers, coordinate,
    rate and force: K(r − q) + B(ṙ − q̇) + f. Gains are implicit in the step, so that they may be as large as one
    likes. A `prescribed` joint has the acceleration commanded, a `locked` one stays still and takes no command; their
    damping is of a time of 1e-9 s. `limit` bounds the force, or `force_range` where its two ways differ,
    `command_range` the command (its first number); it acts `delay` s late.
    """

    name: str
    kind: Kind
    joint: str
    rate: int
    coordinate: int
    stiffness: float = 0.0
    damping: float = 0.0
    limit: float = np.inf
    gear: float = 1.0
    command_range: tuple[float, float] = (-np.inf, np.inf)
    delay: float = 0.0
    offset: float = 0.0
    force_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ModelError(f"An actuator is of the kind {', '.join(KINDS)}; it was given {self.kind!r:.50}.")
        for name in ("stiffness", "damping", "limit", "delay"):
            if not getattr(self, name) >= 0.0:
                given = getattr(self, name)
                raise ModelError(f"The actuator '{self.name}' needs {name} ≥ 0; it was given {given!r:.50}.")
        if self.kind in ("position", "impedance") and self.stiffness == 0.0:
            raise ModelError(f"The actuator '{self.name}' holds a position with no stiffness; give stiffness=….")
        if self.kind == "velocity" and self.damping == 0.0:
            raise ModelError(f"The actuator '{self.name}' holds a velocity with no damping; give damping=….")

    @property
    def entries(self) -> int:
        """Number of entries of the command."""
        return {"impedance": 3, "locked": 0}.get(self.kind, 1)

    @property
    def is_plain(self) -> bool:
        """Whether it gives the force commanded at once, up to its limit."""
        unbounded = self.command_range == (-np.inf, np.inf)
        return (
            self.kind == "force"
            and self.gear == 1.0
            and unbounded
            and self.delay == 0.0
            and self.offset == 0.0
            and self.rate >= 0
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest force."""
        return (-self.limit, self.limit) if self.force_range is None else self.force_range

    @property
    def has_row(self) -> bool:
        """Whether it acts by a row of the step: servos do, and all that pulls tendons."""
        return self.kind != "force" or self.rate < 0

    @property
    def row(self) -> SingleRow | TendonRow | None:
        """Row of the actuator; a motor that is given its force has none."""
        if not self.has_row:
            return None
        stiffness = 0.0 if self.kind in ("velocity", *TOLD) else self.stiffness
        if self.rate < 0:
            return tendon_servo(self.coordinate, stiffness, self.damping, self.bounds)
        return servo_row(self.rate, self.coordinate, stiffness, self.damping, self.bounds)


def entries_of(actuators: Sequence[Actuator]) -> int:
    """Numbers of a command."""
    return sum(actuator.entries for actuator in actuators)


def drive_tables(actuators: Sequence[Actuator], nv: int) -> dict[str, np.ndarray]:
    """Actuator tables of the compiled step: see `batch_loop.py`."""
    kinds = {"force": FORCE_DRIVE, "position": POSITION_DRIVE, "velocity": VELOCITY_DRIVE, "impedance": IMPEDANCE_DRIVE}
    kinds |= {"prescribed": PRESCRIBED_DRIVE}
    wholes, floats = (
        np.zeros((max(len(actuators), 1), DRIVE_WHOLES), np.int64),
        np.zeros((max(len(actuators), 1), DRIVE_FLOATS)),
    )
    row = entry = number = 0
    for each in actuators:
        if each.entries:  # a locked joint takes no command: its row alone holds it
            wholes[number] = kinds[each.kind], each.rate, row, entry
            floats[number] = each.gear, each.offset, *each.command_range, *each.bounds, each.delay
            number += 1
        row, entry = row + each.has_row, entry + each.entries
    batch = np.zeros(BATCH, np.int64)
    batch[[NV, ENTRIES, DRIVES, LINE_ROOM, LINE_AT]] = nv, entry, number, 1, -1
    line, command = np.zeros(max(entry, 1)), np.zeros(max(entry, 1))
    made = {"drive_wholes": wholes, "drives": floats, "batch": batch, "line": line, "command": command}
    return made | {"outer": np.zeros(max(nv, 1)), "drag": np.zeros(max(nv, 1))}
