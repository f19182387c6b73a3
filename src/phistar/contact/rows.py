"""Rows of J at places of contact and at stops of joints: how fast each moves for joint rates θ̇, along two tangents,
along the normal and about it, and how the rates answer to forces there, h ℳ⁻¹J*f. Loops, compiled as they stand.

Sizes: NV joint rates, PLACES that are near at most, STOPS of joints.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.contact.surface import MARGIN

NV = PLACES = STOPS = 0  # given when the loops are compiled
TINY = 1e-30

GAP, LEFT, TOUCH, PRESS, ROOT, FREE, MISSED, SIDE, CHANGE, ROW = range(10)  # columns of `normals`
BENT, BENT2, TWIST, PULL, PULL2, TURN, ACROSS, GIVE, ABOUT, GRIPS = range(10)  # columns of `grips`


def along(m: Arrays, row: int) -> float:
    """A row of J times w."""
    total = 0.0
    for j in range(NV):
        total += m.jacobian[row, j] * m.w[j]
    return total


def add(m: Arrays, row: int, amount: float) -> None:
    """w + ℳ⁻¹J* amount, of a row of J."""
    for j in range(NV):
        m.w[j] += m.answers[row, j] * amount


def answer(m: Arrays, row: int, slot: int) -> None:
    """ℳ⁻¹J* of a row of J: only rates of the trees of its two bodies move and are moved."""
    for j in range(NV):
        m.answers[row, j] = 0.0
    for side in range(2):
        start, stop = int(m.spans[slot, 2 * side]), int(m.spans[slot, 2 * side + 1])
        for j in range(start, stop):
            total = 0.0
            for k in range(start, stop):
                total += m.inverse[j, k] * m.jacobian[row, k]
            m.answers[row, j] = total


def basis(m: Arrays, i: int) -> None:
    """Two tangents and the normal (Duff et al. 2017: no direction is special)."""
    x, y, z = m.table[i, 4], m.table[i, 5], m.table[i, 6]
    side = 1.0 if z + 1e-300 > 0.0 else -1.0
    a = -1.0 / (side + z)
    m.axes[i, 0], m.axes[i, 1], m.axes[i, 2] = 1.0 + side * x * x * a, side * x * y * a, -side * x
    m.axes[i, 3], m.axes[i, 4], m.axes[i, 5] = x * y * a, side + y * y * a, -y
    m.axes[i, 6], m.axes[i, 7], m.axes[i, 8] = x, y, z


def place(m: Arrays, i: int, slot: int) -> None:
    """The rows of J of place i, of a against b, from the joints' screws at the world's origin."""
    a, b = int(m.sides[slot, 0]), int(m.sides[slot, 1])
    x, y, z = m.table[i, 1], m.table[i, 2], m.table[i, 3]
    for j in range(NV):
        way = m.masks[a, j] - m.masks[b, j]
        p, q, r = way * m.screws[j, 0], way * m.screws[j, 1], way * m.screws[j, 2]
        u = way * m.screws[j, 3] + q * z - r * y
        v = way * m.screws[j, 4] + r * x - p * z
        w = way * m.screws[j, 5] + p * y - q * x
        m.jacobian[4 * i, j] = m.axes[i, 0] * u + m.axes[i, 1] * v + m.axes[i, 2] * w
        m.jacobian[4 * i + 1, j] = m.axes[i, 3] * u + m.axes[i, 4] * v + m.axes[i, 5] * w
        m.jacobian[4 * i + 2, j] = m.axes[i, 6] * u + m.axes[i, 7] * v + m.axes[i, 8] * w
        m.jacobian[4 * i + 3, j] = m.axes[i, 6] * p + m.axes[i, 7] * q + m.axes[i, 8] * r


def bend(m: Arrays, i: int, slot: int, h: float) -> None:
    """What place i holds, in its axes: the bristle was carried by b, or by a where b is the world."""
    body = int(m.sides[slot, 1]) if m.sides[slot, 1] > 0.0 else int(m.sides[slot, 0])
    p, q, r = 0.0, 0.0, 0.0
    for j in range(NV):
        rate = m.masks[body, j] * m.rates[j]
        p += m.screws[j, 0] * rate
        q += m.screws[j, 1] * rate
        r += m.screws[j, 2] * rate
    x, y, z = m.held[slot, 0], m.held[slot, 1], m.held[slot, 2]
    x, y, z = x + h * (q * z - r * y), y + h * (r * x - p * z), z + h * (p * y - q * x)
    m.grips[i, BENT] = m.axes[i, 0] * x + m.axes[i, 1] * y + m.axes[i, 2] * z
    m.grips[i, BENT2] = m.axes[i, 3] * x + m.axes[i, 4] * y + m.axes[i, 5] * z
    m.grips[i, TWIST] = m.held[slot, 3]
    m.grips[i, PULL], m.grips[i, PULL2], m.grips[i, TURN] = 0.0, 0.0, 0.0


def stop_near(m: Arrays, s: int, k: int, h: float) -> float:
    """1 and the rows of stop s as normal k, where its joint may be at its margin before the step's end; else 0."""
    at, rate, way = int(m.stops[s, 0]), int(m.stops[s, 1]), m.stops[s, 2]
    room = way * m.q[at] - m.stops[s, 3]
    if room + 2.0 * h * min(way * m.rates[rate], 0.0) >= m.stop_surface[MARGIN]:
        return 0.0
    row = 4 * PLACES + s
    for j in range(NV):
        m.jacobian[row, j] = 0.0
        m.answers[row, j] = way * m.inverse[rate, j]
    m.jacobian[row, rate] = way
    for j in range(9):
        m.surface[k, j] = m.stop_surface[j]
    m.normals[k, GAP], m.normals[k, TOUCH], m.normals[k, ROW] = room, 0.0, row
    return 1.0


ROWS = (along, add, answer, basis, place, bend, stop_near)
