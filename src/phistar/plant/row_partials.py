"""Rows on single rates, linearized: joint limits, dry friction and servos, and what commands do to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from phistar.constraints import columns as c
from phistar.plant.actuators import Actuator
from phistar.plant.world_screws import RateOrder


class RowPart(NamedTuple):
    """−∂λ/∂v⁺ and ∂λ/∂δ of single rows, summed on the rates that they act on, (R,) each."""

    slopes: np.ndarray
    by_place: np.ndarray


def add_rows(engine: Any, h: float) -> RowPart:
    """All single rows at the rates of the solve."""
    table, total = engine.tables, engine.system.model.nv
    slopes, by_place = np.zeros(total), np.zeros(total)
    for number in range(int(engine.counts[c.ROWS])):
        row, whole = table["rows"][number], table["row_wholes"][number]
        rate = int(table["nodes"][whole[c.ROW_NODE_A], c.AT] + whole[c.ROW_RATE])
        slopes[rate] += row[c.ROW_HESSIAN]
        if whole[c.LAW] == c.LIMIT_LAW:
            room = row[c.SIGN] * (table["q"][whole[c.ROW_Q]] - row[c.BOUND])
            y, lively = row[c.VALUE] + h * row[c.ROW_SPEED], 1.0 - row[c.THIRD] * row[c.ROW_SPEED]
            if y < row[c.FIRST] and lively > 0.0 and room > 0.0:
                by_place[rate] -= h * row[c.SECOND] * row[c.FIRST] / y**2 * lively
        elif whole[c.LAW] == c.SERVO_LAW and row[c.ROW_HESSIAN] > 0.0:
            by_place[rate] -= h * row[c.FIRST]
    return RowPart(slopes, by_place)


def command_partials(
    engine: Any, actuators: Sequence[Actuator], given: np.ndarray, order: RateOrder, h: float
) -> np.ndarray:
    """∂(impulse)/∂(command) (R, nu); none where a command or a force is at its bound."""
    places = {int(rate): number for number, rate in enumerate(order.rates)}
    made, row, entry = np.zeros((len(order.rates), len(given))), 0, 0
    for actuator in actuators:
        place = places[actuator.rate]
        low, high = actuator.command_range
        free = 1.0 if low < given[entry] < high else 0.0
        if actuator.kind == "force":
            value = actuator.gear * given[entry] + actuator.offset
            made[place, entry] = h * actuator.gear * free * (actuator.bounds[0] < value < actuator.bounds[1])
        else:
            own = engine.tables["rows"][row]
            acts = 1.0 if own[c.ROW_HESSIAN] > 0.0 else 0.0
            gain = own[c.SECOND] if actuator.kind == "velocity" else own[c.FIRST]
            made[place, entry] = h * gain * actuator.gear * free * acts
            if actuator.kind == "impedance":
                made[place, entry + 1] = h * own[c.SECOND] * acts
                made[place, entry + 2] = h * acts * (actuator.bounds[0] < given[entry + 2] < actuator.bounds[1])
            row += 1
        entry += actuator.entries
    return made
