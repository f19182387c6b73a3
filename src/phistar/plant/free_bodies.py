"""Free bodies: poses and rates from the coordinates of their joints and back, and their motion over a step.

A body's node has the rates [ω; v] of its centre of mass, world axes. Angular momentum L is what is kept; ω = R J⁻¹ R* L
follows the orientation.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import AT, BLOCK, GRAVITY, TOUCHED

# `free_wholes`: where q and v begin. `inertia`: mass, centre of mass (3), J about it (9) and J⁻¹ (9), body axes
Q_AT, V_AT = range(2)
MASS, CENTER, TENSOR, INVERSE = 0, 1, 4, 13
INERTIA_FLOATS = 22


def rotation_of(m: Arrays, f: int) -> None:
    """`rotation` of the quaternion (x, y, z, w) in `quaternion`, made unit."""
    x, y, z, w = m.quaternion[f, 0], m.quaternion[f, 1], m.quaternion[f, 2], m.quaternion[f, 3]
    size = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    x, y, z, w = x * size, y * size, z * size, w * size
    m.quaternion[f, 0], m.quaternion[f, 1], m.quaternion[f, 2], m.quaternion[f, 3] = x, y, z, w
    m.rotation[f, 0], m.rotation[f, 4] = 1.0 - 2.0 * (y * y + z * z), 1.0 - 2.0 * (x * x + z * z)
    m.rotation[f, 8] = 1.0 - 2.0 * (x * x + y * y)
    m.rotation[f, 1], m.rotation[f, 3] = 2.0 * (x * y - z * w), 2.0 * (x * y + z * w)
    m.rotation[f, 2], m.rotation[f, 6] = 2.0 * (x * z + y * w), 2.0 * (x * z - y * w)
    m.rotation[f, 5], m.rotation[f, 7] = 2.0 * (y * z - x * w), 2.0 * (y * z + x * w)


def turn_by(m: Arrays, f: int, x: float, y: float, z: float) -> None:
    """`quaternion` turned by a rotation vector, world axes: the exponential of half of it, by its series where it is
    small, squared again where it was not."""
    x, y, z = 0.5 * x, 0.5 * y, 0.5 * z
    squares = x * x + y * y + z * z
    halvings = 0
    while squares > 0.05 and halvings < 60:
        squares *= 0.25
        x, y, z = 0.5 * x, 0.5 * y, 0.5 * z
        halvings += 1
    sine = 1.0 - squares / 6.0 * (1.0 - squares / 20.0 * (1.0 - squares / 42.0 * (1.0 - squares / 72.0)))
    w = 1.0 - squares / 30.0 * (1.0 - squares / 56.0 * (1.0 - squares / 90.0))
    w = 1.0 - squares / 2.0 * (1.0 - squares / 12.0 * w)
    x, y, z = sine * x, sine * y, sine * z
    for _ in range(halvings):
        x, y, z, w = 2.0 * w * x, 2.0 * w * y, 2.0 * w * z, w * w - x * x - y * y - z * z
    a, b, c, d = m.quaternion[f, 0], m.quaternion[f, 1], m.quaternion[f, 2], m.quaternion[f, 3]
    m.quaternion[f, 0] = w * a + x * d + y * c - z * b
    m.quaternion[f, 1] = w * b - x * c + y * d + z * a
    m.quaternion[f, 2] = w * c + x * b - y * a + z * d
    m.quaternion[f, 3] = w * d - x * a - y * b - z * c
    rotation_of(m, f)


def spin_of(m: Arrays, f: int, to: int) -> None:
    """ω = R J⁻¹ R* L of the angular momentum in `spin` (0-2), in `spin` from `to` on."""
    for i in range(3):
        total = 0.0
        for k in range(3):
            total += m.rotation[f, 3 * k + i] * m.spin[k]
        m.spin[12 + i] = total
    for i in range(3):
        total = 0.0
        for k in range(3):
            total += m.inertia[f, INVERSE + 3 * i + k] * m.spin[12 + k]
        m.spin[15 + i] = total
    for i in range(3):
        total = 0.0
        for k in range(3):
            total += m.rotation[f, 3 * i + k] * m.spin[15 + k]
        m.spin[to + i] = total


def body_pose(m: Arrays, f: int) -> None:
    """`pose` of the body's frame, and `speed`, a bound of how fast its points move."""
    for i in range(3):
        total = m.center[f, i]
        for k in range(3):
            m.pose[f, 3 * i + k] = m.rotation[f, 3 * i + k]
            total -= m.rotation[f, 3 * i + k] * m.inertia[f, CENTER + k]
        m.pose[f, 9 + i] = total
    at, linear, angular = m.nodes[f, AT], 0.0, 0.0
    for i in range(3):
        angular += m.before[at + i] * m.before[at + i]
        linear += m.before[at + 3 + i] * m.before[at + 3 + i]
    m.speed[f] = sqrt(linear) + sqrt(angular) * m.extent[f]


def read_free(m: Arrays, count: int) -> None:
    """Centres of mass, orientations and rates from q and v."""
    for f in range(count):
        q, v, at = m.free_wholes[f, Q_AT], m.free_wholes[f, V_AT], m.nodes[f, AT]
        a, b, c, d = m.placement[f, 3], m.placement[f, 4], m.placement[f, 5], m.placement[f, 6]
        x, y, z, w = m.q[q + 3], m.q[q + 4], m.q[q + 5], m.q[q + 6]
        m.quaternion[f, 0] = d * x + a * w + b * z - c * y
        m.quaternion[f, 1] = d * y - a * z + b * w + c * x
        m.quaternion[f, 2] = d * z + a * y - b * x + c * w
        m.quaternion[f, 3] = d * w - a * x - b * y - c * z
        rotation_of(m, f)
        for i in range(3):
            place = m.placement[f, i]
            for k in range(3):
                place += m.placement[f, 7 + 3 * i + k] * m.q[q + k]
                place += m.rotation[f, 3 * i + k] * m.inertia[f, CENTER + k]
            m.center[f, i] = place
        cx, cy, cz = m.inertia[f, CENTER], m.inertia[f, CENTER + 1], m.inertia[f, CENTER + 2]
        m.spin[0] = m.rates[v + 3] + m.rates[v + 1] * cz - m.rates[v + 2] * cy
        m.spin[1] = m.rates[v + 4] + m.rates[v + 2] * cx - m.rates[v] * cz
        m.spin[2] = m.rates[v + 5] + m.rates[v] * cy - m.rates[v + 1] * cx
        for i in range(3):
            turn, move = 0.0, 0.0
            for k in range(3):
                turn += m.rotation[f, 3 * i + k] * m.rates[v + k]
                move += m.rotation[f, 3 * i + k] * m.spin[k]
            m.before[at + i], m.before[at + 3 + i] = turn, move
        body_pose(m, f)


def write_free(m: Arrays, count: int) -> None:
    """q and v from centres of mass, orientations and rates."""
    for f in range(count):
        q, v, at = m.free_wholes[f, Q_AT], m.free_wholes[f, V_AT], m.nodes[f, AT]
        a, b, c, d = -m.placement[f, 3], -m.placement[f, 4], -m.placement[f, 5], m.placement[f, 6]
        x, y, z, w = m.quaternion[f, 0], m.quaternion[f, 1], m.quaternion[f, 2], m.quaternion[f, 3]
        m.q[q + 3], m.q[q + 4] = d * x + a * w + b * z - c * y, d * y - a * z + b * w + c * x
        m.q[q + 5], m.q[q + 6] = d * z + a * y - b * x + c * w, d * w - a * x - b * y - c * z
        for i in range(3):
            place, turn, move = 0.0, 0.0, 0.0
            for k in range(3):
                place += m.placement[f, 7 + 3 * k + i] * (m.pose[f, 9 + k] - m.placement[f, k])
                turn += m.rotation[f, 3 * k + i] * m.before[at + k]
                move += m.rotation[f, 3 * k + i] * m.before[at + 3 + k]
            m.q[q + i] = place
            m.rates[v + i] = turn
            m.spin[i] = move
        cx, cy, cz = m.inertia[f, CENTER], m.inertia[f, CENTER + 1], m.inertia[f, CENTER + 2]
        m.rates[v + 3] = m.spin[0] - m.rates[v + 1] * cz + m.rates[v + 2] * cy
        m.rates[v + 4] = m.spin[1] - m.rates[v + 2] * cx + m.rates[v] * cz
        m.rates[v + 5] = m.spin[2] - m.rates[v] * cy + m.rates[v + 1] * cx


def prepare_free(m: Arrays, f: int, h: float) -> None:
    """The block [[RJR*, 0], [0, m]] of a body, its angular momentum, and v* = v + h M⁻¹(force)."""
    at, block, v = m.nodes[f, AT], m.nodes[f, BLOCK], m.free_wholes[f, V_AT]
    for i in range(36):
        m.mass[block + i] = 0.0
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += m.inertia[f, TENSOR + 3 * i + k] * m.rotation[f, 3 * j + k]
            m.spin[3 * i + j] = total
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += m.rotation[f, 3 * i + k] * m.spin[3 * k + j]
            m.mass[block + 6 * i + j] = total
        m.mass[block + 21 + 7 * i] = m.inertia[f, MASS]
    cx, cy, cz = m.inertia[f, CENTER], m.inertia[f, CENTER + 1], m.inertia[f, CENTER + 2]
    fx, fy, fz = m.force[v + 3], m.force[v + 4], m.force[v + 5]
    m.spin[6] = m.force[v] - cy * fz + cz * fy
    m.spin[7] = m.force[v + 1] - cz * fx + cx * fz
    m.spin[8] = m.force[v + 2] - cx * fy + cy * fx
    for i in range(3):
        moment, pull = 0.0, 0.0
        for k in range(3):
            moment += m.rotation[f, 3 * i + k] * m.spin[6 + k]
            pull += m.rotation[f, 3 * i + k] * m.force[v + 3 + k]
        m.moment[f, i] = moment
        m.free[at + 3 + i] = m.before[at + 3 + i] + h * (m.numbers[GRAVITY + i] + pull / m.inertia[f, MASS])
    for i in range(3):
        m.spin[i] = m.moment[f, i]
    spin_of(m, f, 9)
    for i in range(3):
        m.free[at + i] = m.before[at + i] + h * m.spin[9 + i]


def momentum_of(m: Arrays, f: int, h: float) -> None:
    """The angular momentum about the centre of mass of the rates v, with the block of the step's start, in `spin`."""
    at, block = m.nodes[f, AT], m.nodes[f, BLOCK]
    for i in range(3):
        total = 0.0
        for k in range(3):
            total += m.mass[block + 6 * i + k] * m.v[at + k]
        m.spin[i] = total


def move_free(m: Arrays, f: int, h: float) -> None:
    """The body after h, with `before` the rates there."""
    at = m.nodes[f, AT]
    momentum_of(m, f, h)
    lx, ly, lz = m.spin[0], m.spin[1], m.spin[2]
    if m.nodes[f, TOUCHED] > 0:
        for i in range(3):
            m.center[f, i] += h * m.v[at + 3 + i]
        turn_by(m, f, h * m.v[at], h * m.v[at + 1], h * m.v[at + 2])
    else:
        for i in range(3):
            m.center[f, i] += 0.5 * h * (m.before[at + 3 + i] + m.v[at + 3 + i])
        for i in range(4):
            m.spin[18 + i] = m.quaternion[f, i]
        turn_by(m, f, 0.5 * h * m.before[at], 0.5 * h * m.before[at + 1], 0.5 * h * m.before[at + 2])
        for i in range(3):
            m.spin[i] -= 0.5 * h * m.moment[f, i]
        spin_of(m, f, 9)
        for i in range(4):
            m.quaternion[f, i] = m.spin[18 + i]
        turn_by(m, f, h * m.spin[9], h * m.spin[10], h * m.spin[11])
    m.spin[0], m.spin[1], m.spin[2] = lx, ly, lz
    spin_of(m, f, 9)
    for i in range(3):
        m.before[at + i], m.before[at + 3 + i] = m.spin[9 + i], m.v[at + 3 + i]
    body_pose(m, f)


FREE = (*(rotation_of, turn_by, spin_of, body_pose, read_free, write_free, prepare_free, momentum_of, move_free),)
