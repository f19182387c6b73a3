"""Balls and capsules before each other, boxes and half-spaces: distances in closed form, as loops that are compiled.

A capsule is what lies within its radius of a segment c + t d, |t| ≤ half its length; a ball is one of length 0. In a
box's axes the square of a point's distance is Σ max(|x| − half, 0)², convex along the segment.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.geometry.contact_report import report
from phistar.geometry.shape_columns import SIZES

MOST = 60


def round_plane(m: Arrays, a: int, b: int) -> None:
    """A capsule a before a half-space b: its ends."""
    nx, ny, nz = m.placed[b, 2], m.placed[b, 5], m.placed[b, 8]
    dx, dy, dz = m.placed[a, 2], m.placed[a, 5], m.placed[a, 8]
    radius, half = m.shapes[a, SIZES], m.shapes[a, SIZES + 1]
    for end in range(2 if half > 0.0 else 1):
        t = half if end == 0 else -half
        x, y, z = m.placed[a, 9] + t * dx, m.placed[a, 10] + t * dy, m.placed[a, 11] + t * dz
        height = nx * (x - m.placed[b, 9]) + ny * (y - m.placed[b, 10]) + nz * (z - m.placed[b, 11])
        gap = height - radius
        away = radius + 0.5 * gap
        report(m, a, b, gap, x - away * nx, y - away * ny, z - away * nz, nx, ny, nz)


def clamp(x: float, half: float) -> float:
    return min(max(x, -half), half)


def round_round(m: Arrays, a: int, b: int) -> None:
    """Two capsules: the nearest points of their segments; where they are parallel, at both ends of what they share."""
    ax, ay, az = m.placed[a, 2], m.placed[a, 5], m.placed[a, 8]
    bx, by, bz = m.placed[b, 2], m.placed[b, 5], m.placed[b, 8]
    rx, ry, rz = m.placed[a, 9] - m.placed[b, 9], m.placed[a, 10] - m.placed[b, 10], m.placed[a, 11] - m.placed[b, 11]
    ha, hb = m.shapes[a, SIZES + 1], m.shapes[b, SIZES + 1]
    along = ax * bx + ay * by + az * bz
    pa, pb = ax * rx + ay * ry + az * rz, bx * rx + by * ry + bz * rz
    across = 1.0 - along * along
    if across < 1e-8 and ha > 0.0 and hb > 0.0:
        sign = 1.0 if along > 0.0 else -1.0
        low, high = max(-ha, -pa - hb), min(ha, -pa + hb)
        if high > low:
            spheres(m, a, b, low, sign * (low + pa))
            spheres(m, a, b, high, sign * (high + pa))
            return
    s = clamp((along * pb - pa) / across, ha) if across > 1e-8 else clamp(-pa, ha)
    t = clamp(along * s + pb, hb)
    s = clamp(along * t - pa, ha)
    t = clamp(along * s + pb, hb)
    spheres(m, a, b, s, t)


def spheres(m: Arrays, a: int, b: int, s: float, t: float) -> None:
    """The balls at parameters s and t of two capsules."""
    x = m.placed[a, 9] + s * m.placed[a, 2] - m.placed[b, 9] - t * m.placed[b, 2]
    y = m.placed[a, 10] + s * m.placed[a, 5] - m.placed[b, 10] - t * m.placed[b, 5]
    z = m.placed[a, 11] + s * m.placed[a, 8] - m.placed[b, 11] - t * m.placed[b, 8]
    away = sqrt(x * x + y * y + z * z)
    nx, ny, nz = 0.0, 0.0, 1.0
    if away > 1e-12:
        nx, ny, nz = x / away, y / away, z / away
    gap = away - m.shapes[a, SIZES] - m.shapes[b, SIZES]
    out = m.shapes[b, SIZES] + 0.5 * gap
    px = m.placed[b, 9] + t * m.placed[b, 2] + out * nx
    py = m.placed[b, 10] + t * m.placed[b, 5] + out * ny
    pz = m.placed[b, 11] + t * m.placed[b, 8] + out * nz
    report(m, a, b, gap, px, py, pz, nx, ny, nz)


def excess(x: float, half: float) -> float:
    """Distance of a coordinate beyond a box's side, with its sign."""
    return x - half if x > half else x + half if x < -half else 0.0


def slope(m: Arrays, b: int, t: float) -> float:
    """Half the slope of the squared distance of c + t d, in `segment`, from a box."""
    total = 0.0
    for k in range(3):
        total += excess(m.segment[k] + t * m.segment[3 + k], m.shapes[b, SIZES + k]) * m.segment[3 + k]
    return total


def nearest_on(m: Arrays, b: int, length: float) -> float:
    """t of the segment's point that is nearest to a box."""
    low, high = -length, length
    below, above = slope(m, b, low), slope(m, b, high)
    if below >= 0.0 and above <= 0.0:
        return 0.0  # it lies along a face
    if below >= 0.0:
        return low
    if above <= 0.0:
        return high
    t = 0.0
    for _ in range(MOST):
        value, growth = slope(m, b, t), 0.0
        for k in range(3):
            if excess(m.segment[k] + t * m.segment[3 + k], m.shapes[b, SIZES + k]) != 0.0:
                growth += m.segment[3 + k] * m.segment[3 + k]
        if value == 0.0:
            return t
        if value > 0.0:
            high = t
        else:
            low = t
        after = t - value / growth if growth > 0.0 else low
        if not (after > low and after < high):
            after = 0.5 * (low + high)
        if abs(after - t) < 1e-16:
            return after
        t = after
    return t


def round_box(m: Arrays, a: int, b: int) -> None:
    """A capsule a before a box b: the nearest point of its segment, its ends, and where it leaves the face that it lies
    along, which hold it where it is longer than that; a place that is near another one is not told again."""
    for k in range(3):
        m.segment[k], m.segment[3 + k] = 0.0, 0.0
        for j in range(3):
            m.segment[k] += m.placed[b, 3 * j + k] * (m.placed[a, 9 + j] - m.placed[b, 9 + j])
            m.segment[3 + k] += m.placed[b, 3 * j + k] * m.placed[a, 3 * j + 2]
    half = m.shapes[a, SIZES + 1]
    if half == 0.0:
        ball_box(m, a, b, 0.0)
        return
    t, first, last = nearest_on(m, b, half), over_face(m, b, half, -1.0), over_face(m, b, half, 1.0)
    apart, radius = m.law[0], m.shapes[a, SIZES]
    over = last - first > apart
    enters = over and first > apart - half and (t > first + apart or t < first - radius)
    leaves = over and last < half - apart and (t < last - apart or t > last + radius)
    if enters:
        ball_box(m, a, b, first)
    if leaves:
        ball_box(m, a, b, last)
    between = (enters or leaves) and t > first and t < last  # then it lies along the face, and is as near at its ends
    if abs(t) < half and not between:
        ball_box(m, a, b, t)
    ball_box(m, a, b, half)
    ball_box(m, a, b, -half)


def over_face(m: Arrays, b: int, half: float, side: float) -> float:
    """Where the segment, in `segment`, comes over (side −1) or leaves (1) the face of a box that its middle is farthest
    beyond; beyond `half` where it never does."""
    axis, most = 0, -1e300
    for k in range(3):
        beyond = abs(m.segment[k]) - m.shapes[b, SIZES + k]
        if beyond > most:
            axis, most = k, beyond
    low, high = -half, half
    for k in range(3):
        if k != axis:
            c, d, size = m.segment[k], m.segment[3 + k], m.shapes[b, SIZES + k]
            if abs(d) > 1e-12:
                low, high = (
                    max(low, min((size - c) / d, (-size - c) / d)),
                    min(high, max((size - c) / d, (-size - c) / d)),
                )
            elif abs(c) > size:
                high = -2.0 * half
    return low if side < 0.0 else high


def ball_box(m: Arrays, a: int, b: int, t: float) -> None:
    """The ball at t of `segment` before a box; where its middle is inside, out by the nearest side."""
    x, y, z = m.segment[0] + t * m.segment[3], m.segment[1] + t * m.segment[4], m.segment[2] + t * m.segment[5]
    ex, ey, ez = excess(x, m.shapes[b, SIZES]), excess(y, m.shapes[b, SIZES + 1]), excess(z, m.shapes[b, SIZES + 2])
    away = sqrt(ex * ex + ey * ey + ez * ez)
    if away > 0.0:
        ex, ey, ez = ex / away, ey / away, ez / away
    else:
        dx, dy, dz = m.shapes[b, SIZES] - abs(x), m.shapes[b, SIZES + 1] - abs(y), m.shapes[b, SIZES + 2] - abs(z)
        if dx <= dy and dx <= dz:
            ex, away = 1.0 if x > 0.0 else -1.0, -dx
        elif dy <= dz:
            ey, away = 1.0 if y > 0.0 else -1.0, -dy
        else:
            ez, away = 1.0 if z > 0.0 else -1.0, -dz
    gap = away - m.shapes[a, SIZES]
    back = m.shapes[a, SIZES] + 0.5 * gap
    x, y, z = x - back * ex, y - back * ey, z - back * ez
    px = m.placed[b, 0] * x + m.placed[b, 1] * y + m.placed[b, 2] * z + m.placed[b, 9]
    py = m.placed[b, 3] * x + m.placed[b, 4] * y + m.placed[b, 5] * z + m.placed[b, 10]
    pz = m.placed[b, 6] * x + m.placed[b, 7] * y + m.placed[b, 8] * z + m.placed[b, 11]
    nx = m.placed[b, 0] * ex + m.placed[b, 1] * ey + m.placed[b, 2] * ez
    ny = m.placed[b, 3] * ex + m.placed[b, 4] * ey + m.placed[b, 5] * ez
    nz = m.placed[b, 6] * ex + m.placed[b, 7] * ey + m.placed[b, 8] * ez
    report(m, a, b, gap, px, py, pz, nx, ny, nz)


ROUND_PAIRS = (*(round_plane, clamp, round_round, spheres, excess, slope, nearest_on, round_box, over_face, ball_box),)
