"""Line search along Newton's direction: to where the objective no longer falls, with every gap kept open."""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    AT,
    BLOCK,
    CHANGE,
    GAP,
    IMPULSE,
    LAW,
    LIMIT_LAW,
    OFFSET,
    PATCH,
    RATE,
    ROW_CHANGE,
    ROW_IMPULSE,
    ROW_SPEED,
    SIZE,
    VALUE,
)
from phistar.constraints.constraint_rates import contact_rates, row_rate
from phistar.constraints.laws import row_impulse, work_along

SHRINKS = 0.9  # of a gap, at most, in an iteration


def turn_back(m: Arrays, node: int) -> None:
    """The direction −`side` of a node, in `side` and `given`."""
    for j in range(m.nodes[node, AT], m.nodes[node, AT] + m.nodes[node, SIZE]):
        m.side[j] = -m.side[j]
        m.given[j] = m.side[j]


def follow_contact(m: Arrays, c: int, h: float, impact: int, most: float) -> float:
    """Rates of the direction in CHANGE; the part of it, `most` at most, before the gap has shrunk too much."""
    contact_rates(m, c, CHANGE)
    if impact == 0:
        y = m.contacts[c, GAP] + m.contacts[c, OFFSET] + h * m.contacts[c, RATE + 2]
        if -h * m.contacts[c, CHANGE + 2] * most > SHRINKS * y:
            return SHRINKS * y / (-h * m.contacts[c, CHANGE + 2])
    return most


def follow_row(m: Arrays, r: int, h: float, impact: int, most: float) -> float:
    """The same for a row."""
    m.rows[r, ROW_CHANGE] = row_rate(m, r)
    if m.row_wholes[r, LAW] == LIMIT_LAW and impact == 0:
        y = m.rows[r, VALUE] + h * m.rows[r, ROW_SPEED]
        if -h * m.rows[r, ROW_CHANGE] * most > SHRINKS * y:
            return SHRINKS * y / (-h * m.rows[r, ROW_CHANGE])
    return most


def look_along(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int, h: float, impact: int) -> float:
    """Rates of the direction −`side` in CHANGE; how far it may be followed before a gap has shrunk too much."""
    for i in range(k):
        turn_back(m, m.members[i])
    most = 1.0
    for x in range(first, last):
        most = follow_contact(m, m.sorted[x], h, impact, most)
    for x in range(row_first, row_last):
        most = follow_row(m, m.sorted_rows[x], h, impact, most)
    return most


def row_work(m: Arrays, r: int, h: float, part: float) -> float:
    """λ(u + sδ)·δ of a row."""
    return row_impulse(m, r, h, m.rows[r, ROW_SPEED] + part * m.rows[r, ROW_CHANGE]) * m.rows[r, ROW_CHANGE]


def slope_at(
    m: Arrays, first: int, last: int, row_first: int, row_last: int, h: float, impact: int, part: float
) -> float:
    """−Σ λ(u + sδ)·δ."""
    total = 0.0
    for x in range(first, last):
        total -= work_along(m, m.sorted[x], h, impact, part)
    for x in range(row_first, row_last):
        total -= row_work(m, m.sorted_rows[x], h, part)
    return total


def contact_along(m: Arrays, c: int) -> float:
    """λ·δ of a contact."""
    total = 0.0
    for row in range(4 if m.contacts[c, PATCH] > 0.0 else 3):
        total += m.contacts[c, IMPULSE + row] * m.contacts[c, CHANGE + row]
    return total


def row_along(m: Arrays, r: int) -> float:
    return m.rows[r, ROW_IMPULSE] * m.rows[r, ROW_CHANGE]


def directional_power(m: Arrays, first: int, last: int, row_first: int, row_last: int) -> float:
    """Σ λ·δ, of the impulses as they are and the rates of the direction."""
    total = 0.0
    for x in range(first, last):
        total += contact_along(m, m.sorted[x])
    for x in range(row_first, row_last):
        total += row_along(m, m.sorted_rows[x])
    return total


def node_slope(m: Arrays, node: int) -> float:
    """δ·g of a node, the direction δ in `side`."""
    total = 0.0
    for j in range(m.nodes[node, AT], m.nodes[node, AT] + m.nodes[node, SIZE]):
        total += m.side[j] * m.slope[j]
    return total


def node_growth(m: Arrays, node: int) -> float:
    """δ·Aδ of a node: twice what is below the diagonal, and the diagonal."""
    n, at, block = m.nodes[node, SIZE], m.nodes[node, AT], m.nodes[node, BLOCK]
    growth = 0.0
    for j in range(n):
        along = 0.0
        for l in range(j):
            along += m.mass[block + j * n + l] * m.side[at + l]
        growth += m.side[at + j] * (2.0 * along + m.mass[block + j * n + j] * m.side[at + j])
    return growth


def search(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int, h: float, impact: int) -> float:
    """The part of the direction δ at which what is minimised no longer falls. Its slope at s is δ·A(v − v*) + s δ·Aδ −
    Σ λ(u + sJδ)·Jδ, at 0 δ·g with the gradient g, which `slope` has."""
    most = look_along(m, k, first, last, row_first, row_last, h, impact)
    start, growth = 0.0, 0.0
    for i in range(k):
        start += node_slope(m, m.members[i])
        growth += node_growth(m, m.members[i])
    constant = start + directional_power(m, first, last, row_first, row_last)
    low, high, part = 0.0, most, most
    for _ in range(30):
        slope = constant + part * growth + slope_at(m, first, last, row_first, row_last, h, impact, part)
        if slope <= 0.2 * abs(start) and (slope >= -0.2 * abs(start) or part == most):
            break
        if slope > 0.0:
            high = part
        else:
            low = part
        part = 0.5 * (low + high)
    return part


SEARCH = (
    turn_back,
    follow_contact,
    follow_row,
    look_along,
    row_work,
    slope_at,
    contact_along,
    row_along,
    directional_power,
    node_slope,
    node_growth,
    search,
)
