"""Convex hulls before anything convex: the nearest points by Gilbert, Johnson and Keerthi's algorithm (1988).

The difference A − B of two convex sets is as far from the origin as they are apart; a simplex of up to four of its
corners is moved towards the origin until no corner is nearer. Corners that face the other shape are then measured one
by one, so that faces rest on faces; where none does, a bar across a box rests where it crosses the edges of a face.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.geometry.contact_report import report
from phistar.geometry.shape_columns import BLOCK_SHAPE, HULL, KIND, POINT_COUNT, POINT_FIRST, SIZES

MOST = 64
NEAR, ALIKE = 1e-12, 0.995  # of a distance: nothing nearer is left; cosine of normals of one face
# `simplex` (4, 10): corner of A − B, its point on A and on B, its weight. `closest`: the nearest point (3), and work
WEIGHT = 9


def support(m: Arrays, s: int, x: float, y: float, z: float) -> None:
    """The farthest point of a shape's core along a direction, world axes, in `far`; s = −1 is the point in `lone`, −2
    the line between those in `edge`."""
    if s == -2:
        near = m.edge[0] * x + m.edge[1] * y + m.edge[2] * z
        first = 0 if near > m.edge[3] * x + m.edge[4] * y + m.edge[5] * z else 3
        m.far[0], m.far[1], m.far[2] = m.edge[first], m.edge[first + 1], m.edge[first + 2]
        return
    if s < 0:
        m.far[0], m.far[1], m.far[2] = m.lone[0], m.lone[1], m.lone[2]
        return
    u = m.placed[s, 0] * x + m.placed[s, 3] * y + m.placed[s, 6] * z
    v = m.placed[s, 1] * x + m.placed[s, 4] * y + m.placed[s, 7] * z
    w = m.placed[s, 2] * x + m.placed[s, 5] * y + m.placed[s, 8] * z
    a, b, c = 0.0, 0.0, 0.0
    if m.shape_wholes[s, KIND] == HULL:
        best = -1e300
        first = m.shape_wholes[s, POINT_FIRST]
        for i in range(first, first + m.shape_wholes[s, POINT_COUNT]):
            along = m.points[i, 0] * u + m.points[i, 1] * v + m.points[i, 2] * w
            if along > best:
                best, a, b, c = along, m.points[i, 0], m.points[i, 1], m.points[i, 2]
    elif m.shape_wholes[s, KIND] == BLOCK_SHAPE:
        a = m.shapes[s, SIZES] if u > 0.0 else -m.shapes[s, SIZES]
        b = m.shapes[s, SIZES + 1] if v > 0.0 else -m.shapes[s, SIZES + 1]
        c = m.shapes[s, SIZES + 2] if w > 0.0 else -m.shapes[s, SIZES + 2]
    else:
        c = m.shapes[s, SIZES + 1] if w > 0.0 else -m.shapes[s, SIZES + 1]
    for i in range(3):
        m.far[i] = m.placed[s, 9 + i] + m.placed[s, 3 * i] * a + m.placed[s, 3 * i + 1] * b + m.placed[s, 3 * i + 2] * c


def corner(m: Arrays, a: int, b: int, k: int, x: float, y: float, z: float) -> None:
    """The corner of A − B that is farthest against a direction, as entry k of the simplex."""
    support(m, a, -x, -y, -z)
    for i in range(3):
        m.simplex[k, 3 + i] = m.far[i]
    support(m, b, x, y, z)
    for i in range(3):
        m.simplex[k, 6 + i] = m.far[i]
        m.simplex[k, i] = m.simplex[k, 3 + i] - m.far[i]


def dots(m: Arrays, i: int, j: int) -> float:
    return m.simplex[i, 0] * m.simplex[j, 0] + m.simplex[i, 1] * m.simplex[j, 1] + m.simplex[i, 2] * m.simplex[j, 2]


def weigh(m: Arrays, count: int, mask: int) -> float:
    """The nearest point to the origin of the flat through some corners, if it lies within them: its squared distance,
    and the weights in `trial`; else a huge number. Solved by elimination on differences from the first of them."""
    found = 0
    for k in range(count):
        m.trial[k] = 0.0
        if mask // m.powers[k] % 2 == 1:
            m.chosen[found] = k
            found += 1
    first = m.chosen[0]
    n = found - 1
    for i in range(n):
        for j in range(n):
            p, q = m.chosen[i + 1], m.chosen[j + 1]
            m.normal[4 * i + j] = dots(m, p, q) - dots(m, p, first) - dots(m, first, q) + dots(m, first, first)
        m.normal[4 * i + 3] = dots(m, first, first) - dots(m, m.chosen[i + 1], first)
    for i in range(n):
        pivot = m.normal[4 * i + i]
        if pivot <= 1e-14 * (dots(m, m.chosen[i + 1], m.chosen[i + 1]) + dots(m, first, first)):
            return 1e300
        for k in range(i + 1, n):
            factor = m.normal[4 * k + i] / pivot
            for j in range(4):
                m.normal[4 * k + j] -= factor * m.normal[4 * i + j]
    rest = 1.0
    for up in range(n):
        i = n - 1 - up
        total = m.normal[4 * i + 3]
        for j in range(i + 1, n):
            total -= m.normal[4 * i + j] * m.trial[m.chosen[j + 1]]
        m.trial[m.chosen[i + 1]] = total / m.normal[4 * i + i]
        rest -= m.trial[m.chosen[i + 1]]
    m.trial[first] = rest
    size = 0.0
    for k in range(count):
        if m.trial[k] < -1e-13:
            return 1e300
    for i in range(3):
        total = 0.0
        for k in range(count):
            total += m.trial[k] * m.simplex[k, i]
        m.closest[3 + i] = total
        size += total * total
    return size


def reduce(m: Arrays, count: int) -> int:
    """The simplex cut to the corners that carry its nearest point, which goes to `closest`; how many are left."""
    best, kept = 1e300, 1
    for mask in range(1, m.powers[count]):
        size = weigh(m, count, mask)
        if size < best * (1.0 - 1e-14):
            best, kept = size, mask
            for i in range(3):
                m.closest[i] = m.closest[3 + i]
            for k in range(count):
                m.simplex[k, WEIGHT] = m.trial[k]
    left = 0
    for k in range(count):
        if kept // m.powers[k] % 2 == 1:
            for j in range(10):
                m.simplex[left, j] = m.simplex[k, j]
            left += 1
    return left


def separate(m: Arrays, a: int, b: int) -> float:
    """How far the cores of two shapes are apart, 0 where they overlap; points in `touching` (a's, b's), the direction
    from b to a in `apart`."""
    x, y, z = 1.0, 0.0, 0.0
    if a >= 0:
        x, y, z = m.placed[a, 9] - m.placed[b, 9], m.placed[a, 10] - m.placed[b, 10], m.placed[a, 11] - m.placed[b, 11]
    corner(m, a, b, 0, x, y, z)
    count = reduce(m, 1)
    for _ in range(MOST):
        size = m.closest[0] * m.closest[0] + m.closest[1] * m.closest[1] + m.closest[2] * m.closest[2]
        if count == 4 or size < 1e-24:
            return 0.0
        corner(m, a, b, count, m.closest[0], m.closest[1], m.closest[2])
        along = m.closest[0] * m.simplex[count, 0] + m.closest[1] * m.simplex[count, 1]
        along += m.closest[2] * m.simplex[count, 2]
        if size - along <= NEAR * size + 1e-16 * sqrt(size):
            break
        before = size
        count = reduce(m, count + 1)
        size = m.closest[0] * m.closest[0] + m.closest[1] * m.closest[1] + m.closest[2] * m.closest[2]
        if size >= before * (1.0 - 1e-15) and count < 4:
            break
    size = sqrt(m.closest[0] * m.closest[0] + m.closest[1] * m.closest[1] + m.closest[2] * m.closest[2])
    for i in range(3):
        m.touching[i], m.touching[3 + i] = 0.0, 0.0
        for k in range(count):
            m.touching[i] += m.simplex[k, WEIGHT] * m.simplex[k, 3 + i]
            m.touching[3 + i] += m.simplex[k, WEIGHT] * m.simplex[k, 6 + i]
        m.apart[i] = m.closest[i] / max(size, 1e-300)
    return size


def radius_of(m: Arrays, s: int) -> float:
    """Radius of a shape about its core."""
    if s < 0 or m.shape_wholes[s, KIND] == HULL or m.shape_wholes[s, KIND] == BLOCK_SHAPE:
        return 0.0
    return m.shapes[s, SIZES]


def convex_pair(m: Arrays, a: int, b: int) -> None:
    """Two convex shapes, of which one is a hull: their nearest points, and corners of either that face the other."""
    size = separate(m, a, b)
    ra, rb = radius_of(m, a), radius_of(m, b)
    horizon = m.law[0] + m.moves[a] + m.moves[b]
    if size == 0.0:
        overlap(m, a, b)
        return
    gap = size - ra - rb
    if gap > horizon:
        return
    nx, ny, nz = m.apart[0], m.apart[1], m.apart[2]
    px, py, pz = m.touching[3], m.touching[4], m.touching[5]
    out = rb + 0.5 * gap
    level = nx * px + ny * py + nz * pz
    m.middle[0], m.middle[1], m.middle[2] = m.touching[0], m.touching[1], m.touching[2]
    found = facing(m, a, b, 1.0, horizon, level + rb, nx, ny, nz)
    m.middle[0], m.middle[1], m.middle[2] = px, py, pz
    found += facing(m, b, a, -1.0, horizon, ra - level - size, nx, ny, nz)
    crossed = 0
    if found == 0 and m.shape_wholes[a, KIND] == BLOCK_SHAPE:
        crossed = cross_edges(m, a, b, 1.0, horizon, nx, ny, nz)
    elif found == 0 and m.shape_wholes[b, KIND] == BLOCK_SHAPE:
        crossed = cross_edges(m, b, a, -1.0, horizon, nx, ny, nz)
    if crossed < 2:  # else it lies anywhere between
        report(m, a, b, gap, px + out * nx, py + out * ny, pz + out * nz, nx, ny, nz)


def overlap(m: Arrays, a: int, b: int) -> None:
    """Cores that overlap: away from each other's middles, by a little at a time."""
    x, y, z = m.placed[a, 9] - m.placed[b, 9], m.placed[a, 10] - m.placed[b, 10], m.placed[a, 11] - m.placed[b, 11]
    size = sqrt(x * x + y * y + z * z)
    if size < 1e-12:
        x, y, z, size = 0.0, 0.0, 1.0, 1.0
    px, py, pz = 0.5 * (m.placed[a, 9] + m.placed[b, 9]), 0.5 * (m.placed[a, 10] + m.placed[b, 10]), 0.0
    pz = 0.5 * (m.placed[a, 11] + m.placed[b, 11])
    report(m, a, b, -m.law[0], px, py, pz, x / size, y / size, z / size)


def facing(m: Arrays, a: int, b: int, way: float, horizon: float, level: float, x: float, y: float, z: float) -> int:
    """Corners of a that are as near to b as its nearest point, within the horizon, each with its own distance; how
    many."""
    nx, ny, nz = way * x, way * y, way * z
    qx, qy, qz = m.middle[0], m.middle[1], m.middle[2]
    count, first = 0, 0
    if m.shape_wholes[a, KIND] == HULL:
        count, first = m.shape_wholes[a, POINT_COUNT], m.shape_wholes[a, POINT_FIRST]
    elif m.shape_wholes[a, KIND] == BLOCK_SHAPE:
        count = 8
    found = 0
    for i in range(count):
        a_corner(m, a, first, i)
        height = nx * m.lone[0] + ny * m.lone[1] + nz * m.lone[2] - level
        dx, dy, dz = m.lone[0] - qx, m.lone[1] - qy, m.lone[2] - qz
        if height < horizon and dx * dx + dy * dy + dz * dz > m.law[0] * m.law[0] and found < 12:
            found += report_part(m, -1, a, b, way, horizon, nx, ny, nz)
    return found


def report_part(m: Arrays, part: int, a: int, b: int, way: float, horizon: float, x: float, y: float, z: float) -> int:
    """Report a part of a, its point in `lone` (−1) or its edge in `edge` (−2), where it is before b along a direction:
    1, else 0."""
    rb, size = radius_of(m, b), separate(m, part, b)
    gap = size - rb
    if size <= 0.0 or gap >= horizon or m.apart[0] * x + m.apart[1] * y + m.apart[2] * z <= ALIKE:
        return 0
    if part == -2 and (near_end(m, 0) or near_end(m, 3)):
        return 0
    out = rb + 0.5 * gap
    cx, cy = m.touching[3] + out * m.apart[0], m.touching[4] + out * m.apart[1]
    cz = m.touching[5] + out * m.apart[2]
    if way > 0.0:
        report(m, a, b, gap, cx, cy, cz, m.apart[0], m.apart[1], m.apart[2])
    else:
        report(m, b, a, gap, cx, cy, cz, -m.apart[0], -m.apart[1], -m.apart[2])
    return 1


def near_end(m: Arrays, first: int) -> bool:
    """Whether the point in `touching` is within the margin of an end of `edge`."""
    total = 0.0
    for i in range(3):
        total += (m.touching[i] - m.edge[first + i]) * (m.touching[i] - m.edge[first + i])
    return total < m.law[0] * m.law[0]


def cross_edges(m: Arrays, a: int, b: int, way: float, horizon: float, x: float, y: float, z: float) -> int:
    """Where b crosses the edges of the face of a box a that looks at it: how many."""
    axis, most, side = 0, -1.0, 1.0
    for k in range(3):
        along = m.placed[a, k] * x + m.placed[a, 3 + k] * y + m.placed[a, 6 + k] * z
        if abs(along) > most:
            axis, most, side = k, abs(along), -way if along > 0.0 else way
    found = 0
    for j in range(1, 3):
        across = (axis + j) % 3
        other = 3 - axis - across
        for sign in range(2):
            for end in range(2):
                for i in range(3):
                    place = m.placed[a, 9 + i] + side * m.shapes[a, SIZES + axis] * m.placed[a, 3 * i + axis]
                    place += (2.0 * sign - 1.0) * m.shapes[a, SIZES + across] * m.placed[a, 3 * i + across]
                    m.edge[3 * end + i] = (
                        place + (2.0 * end - 1.0) * m.shapes[a, SIZES + other] * m.placed[a, 3 * i + other]
                    )
            found += report_part(m, -2, a, b, way, horizon, way * x, way * y, way * z)
    return found


def a_corner(m: Arrays, s: int, first: int, i: int) -> None:
    """A corner of a hull or box, world axes, in `lone`."""
    u, v, w = 0.0, 0.0, 0.0
    if m.shape_wholes[s, KIND] == HULL:
        u, v, w = m.points[first + i, 0], m.points[first + i, 1], m.points[first + i, 2]
    else:
        u = m.shapes[s, SIZES] if i % 2 == 1 else -m.shapes[s, SIZES]
        v = m.shapes[s, SIZES + 1] if i // 2 % 2 == 1 else -m.shapes[s, SIZES + 1]
        w = m.shapes[s, SIZES + 2] if i // 4 == 1 else -m.shapes[s, SIZES + 2]
    for k in range(3):
        m.lone[k] = (
            m.placed[s, 9 + k] + m.placed[s, 3 * k] * u + m.placed[s, 3 * k + 1] * v + m.placed[s, 3 * k + 2] * w
        )


def hull_plane(m: Arrays, a: int, b: int) -> None:
    """The corners of a hull a above a half-space b."""
    nx, ny, nz = m.placed[b, 2], m.placed[b, 5], m.placed[b, 8]
    for i in range(m.shape_wholes[a, POINT_COUNT]):
        a_corner(m, a, m.shape_wholes[a, POINT_FIRST], i)
        gap = nx * (m.lone[0] - m.placed[b, 9]) + ny * (m.lone[1] - m.placed[b, 10])
        gap += nz * (m.lone[2] - m.placed[b, 11])
        x, y, z = m.lone[0] - 0.5 * gap * nx, m.lone[1] - 0.5 * gap * ny, m.lone[2] - 0.5 * gap * nz
        report(m, a, b, gap, x, y, z, nx, ny, nz)


HULL_PAIRS = (
    *(support, corner, dots, weigh, reduce, separate, radius_of, a_corner, near_end, report_part, facing, cross_edges),
    *(overlap, convex_pair, hull_plane),
)
