"""True readings of tendons and actuators: lengths, rates and forces, out of the step's tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from phistar.constraints import columns as c
from phistar.model.names import unknown
from phistar.plant.tendon_rows import tendon_jacobian

if TYPE_CHECKING:
    from phistar.plant.plant import Plant
    from phistar.plant.sensor_readers import Instant

Read = Callable[["Instant"], np.ndarray]


def tendon_reader(plant: Plant, kind: str, of: str) -> Read:
    """Length of a tendon, or its rate."""
    names = [tendon.name for tendon in plant.tendons]
    if of not in names:
        raise unknown("tendon", of, names, plant.name)
    number = names.index(of)
    if kind == "tendon_length":
        return lambda at: at.tendon_tables()["tendon_length"][number : number + 1].copy()
    return lambda at: np.array([tendon_jacobian(at.tendon_tables(), number, len(at.v)) @ at.v])


def actuator_reader(plant: Plant, of: str) -> Read:
    """The force that an actuator gave its joint, or along its tendon, in the last step."""
    names = [actuator.name for actuator in plant.actuators]
    if of not in names:
        raise unknown("actuator", of, names, plant.name)
    number = names.index(of)
    actuator, before = plant.actuators[number], plant.actuators[:number]
    row, entry = sum(each.has_row for each in before), sum(each.entries for each in before)

    def read(at: Instant) -> np.ndarray:
        if actuator.has_row:
            return np.array([at.often * at.tables["rows"][row, c.ROW_IMPULSE]])
        given = np.clip(at.tables["command"][entry], *actuator.command_range)
        return np.array([np.clip(actuator.gear * given + actuator.offset, *actuator.bounds)])

    return read
