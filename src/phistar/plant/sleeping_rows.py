"""Rows on single rates of long trees, whose law is part of the tree's own block while it is linear.

Servos and dry friction inside their bounds, and limits that are far, sleep; what a solve drives out of that wakes, and
the solve is made again.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    DRY_LAW,
    FIRST,
    HIGH,
    LAW,
    LIMIT_LAW,
    LONG,
    LOW,
    MEMORY,
    OWN_AT,
    ROW_ASLEEP,
    ROW_IMPULSE,
    ROW_NODE_A,
    ROW_RATE,
    ROW_SPEED,
    ROWS,
    SECOND,
    SIGN,
    THIRD,
    VALUE,
)
from phistar.constraints.laws import row_impulse


def linear_impulse(m: Arrays, r: int, h: float, u: float) -> float:
    """The law of a row without its bounds."""
    if m.row_wholes[r, LAW] == LIMIT_LAW:
        return 0.0
    if m.row_wholes[r, LAW] == DRY_LAW:
        return -h * (m.rows[r, FIRST] * (m.rows[r, MEMORY] + h * u) + m.rows[r, SECOND] * u)
    return h * (m.rows[r, FIRST] * (m.rows[r, VALUE] - h * u) + m.rows[r, SECOND] * (m.rows[r, THIRD] - u))


def is_linear(m: Arrays, r: int, h: float, u: float) -> bool:
    """Whether a row acts by its law without bounds."""
    if m.row_wholes[r, LAW] == LIMIT_LAW:
        return row_impulse(m, r, h, u) == 0.0
    impulse = linear_impulse(m, r, h, u)
    return impulse >= h * m.rows[r, LOW] and impulse <= h * m.rows[r, HIGH]


def awake_rows(m: Arrays, node: int) -> int:
    """Number of awake rows on a tree."""
    count = 0
    for r in range(m.counts[ROWS]):
        if m.row_wholes[r, ROW_NODE_A] == node and m.row_wholes[r, ROW_ASLEEP] == 0:
            count += 1
    return count


def wake_rows(m: Arrays, node: int, h: float) -> int:
    """Impulses of the rows that sleep, at v⁺; how many of them left what is linear in their laws, and wake."""
    own, woken = m.nodes[node, OWN_AT], 0
    for r in range(m.counts[ROWS]):
        if m.row_wholes[r, ROW_NODE_A] == node and m.row_wholes[r, ROW_ASLEEP] > 0:
            u = m.rows[r, SIGN] * m.v[own + m.row_wholes[r, ROW_RATE]]
            m.rows[r, ROW_IMPULSE], m.rows[r, ROW_SPEED] = linear_impulse(m, r, h, u), u
            if not is_linear(m, r, h, u):
                m.row_wholes[r, ROW_ASLEEP] = 0
                woken += 1
    return woken


def settle_rows(m: Arrays, h: float) -> None:
    """Rows on long trees whose law was linear in the step that stands sleep in the next."""
    for r in range(m.counts[ROWS]):
        node = m.row_wholes[r, ROW_NODE_A]
        on_rate = node >= 0 and m.row_wholes[r, ROW_RATE] >= 0
        if on_rate and m.nodes[node, LONG] > 0 and is_linear(m, r, h, m.rows[r, ROW_SPEED]):
            m.row_wholes[r, ROW_ASLEEP] = 1


SLEEPING = (linear_impulse, is_linear, awake_rows, wake_rows, settle_rows)
