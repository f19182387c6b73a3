"""Rows on one rate: joint limits, dry friction, servos."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.constraints import columns as c

DEAD = 200.0  # s/rad or s/m: stops take what comes against them and give nothing back


@dataclass(frozen=True)
class SingleRow:
    """A law on one rate of the model, `rate`, whose coordinate is `coordinate` of q; `values` by column."""

    law: int
    rate: int
    coordinate: int
    sign: float = 1.0
    values: tuple[tuple[int, float], ...] = ()
    size: int = 0

    def fill(self, number: int, table: dict[str, np.ndarray], node: int, rate: int) -> None:
        whole, row = table["row_wholes"][number], table["rows"][number]
        whole[[c.LAW, c.ROW_NODE_A, c.ROW_NODE_B, c.ROW_RATE, c.ROW_Q]] = self.law, node, -1, rate, self.coordinate
        row[c.SIGN] = self.sign
        for column, value in self.values:
            row[column] = value


def limit_row(rate: int, coordinate: int, bound: float, upper: bool, margin: float, strength: float) -> SingleRow:
    """A joint's stop: room ±(q − bound), the contact's barrier within `margin`, of a strength in N or N m."""
    values = ((c.BOUND, bound), (c.FIRST, margin), (c.SECOND, strength), (c.THIRD, DEAD))
    return SingleRow(c.LIMIT_LAW, rate, coordinate, -1.0 if upper else 1.0, values)


def dry_row(rate: int, coordinate: int, low: float, high: float, stiffness: float, damping: float) -> SingleRow:
    """Coulomb's friction of a joint, within −low and high, held by a bristle."""
    values = ((c.FIRST, stiffness), (c.SECOND, damping), (c.LOW, -low), (c.HIGH, high))
    return SingleRow(c.DRY_LAW, rate, coordinate, 1.0, values)


def servo_row(rate: int, coordinate: int, stiffness: float, damping: float, bounds: tuple[float, float]) -> SingleRow:
    """K(r − q) + B(r' − q̇) within bounds, both gains implicit."""
    values: Any = ((c.FIRST, stiffness), (c.SECOND, damping), (c.LOW, bounds[0]), (c.HIGH, bounds[1]))
    return SingleRow(c.SERVO_LAW, rate, coordinate, 1.0, values)
