"""Boxes before half-spaces and boxes: the face that separates two boxes best, with the other's face cut to it; where
nothing of it is left, the nearest corners, sides and edges.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.geometry.contact_report import report
from phistar.geometry.round_pairs import excess
from phistar.geometry.shape_columns import SIZES

# `frame`: the axes of b in a's (9), its middle in a's axes (3), and what was found best (8)
MIDDLE, FOUND = 9, 12
EDGES_WIN = 1e-9


def box_plane(m: Arrays, a: int, b: int) -> None:
    """The corners of a box a above a half-space b."""
    nx, ny, nz = m.placed[b, 2], m.placed[b, 5], m.placed[b, 8]
    for corner in range(8):
        u = m.shapes[a, SIZES] if corner % 2 == 1 else -m.shapes[a, SIZES]
        v = m.shapes[a, SIZES + 1] if corner // 2 % 2 == 1 else -m.shapes[a, SIZES + 1]
        w = m.shapes[a, SIZES + 2] if corner // 4 == 1 else -m.shapes[a, SIZES + 2]
        x = m.placed[a, 9] + m.placed[a, 0] * u + m.placed[a, 1] * v + m.placed[a, 2] * w
        y = m.placed[a, 10] + m.placed[a, 3] * u + m.placed[a, 4] * v + m.placed[a, 5] * w
        z = m.placed[a, 11] + m.placed[a, 6] * u + m.placed[a, 7] * v + m.placed[a, 8] * w
        gap = nx * (x - m.placed[b, 9]) + ny * (y - m.placed[b, 10]) + nz * (z - m.placed[b, 11])
        report(m, a, b, gap, x - 0.5 * gap * nx, y - 0.5 * gap * ny, z - 0.5 * gap * nz, nx, ny, nz)


def relative(m: Arrays, a: int, b: int) -> None:
    """`frame`: b's axes and middle in a's axes."""
    for i in range(3):
        total = 0.0
        for k in range(3):
            total += m.placed[a, 3 * k + i] * (m.placed[b, 9 + k] - m.placed[a, 9 + k])
        m.frame[MIDDLE + i] = total
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += m.placed[a, 3 * k + i] * m.placed[b, 3 * k + j]
            m.frame[3 * i + j] = total


def best_face(m: Arrays, a: int, b: int) -> float:
    """The separation along the normals of faces; in FOUND: whose (0: a, 1: b), which axis and side."""
    best = -1e300
    for i in range(3):
        away = abs(m.frame[MIDDLE + i]) - m.shapes[a, SIZES + i]
        for j in range(3):
            away -= abs(m.frame[3 * i + j]) * m.shapes[b, SIZES + j]
        if away > best:
            best = away
            m.frame[FOUND], m.frame[FOUND + 1] = 0.0, i
            m.frame[FOUND + 2] = 1.0 if m.frame[MIDDLE + i] > 0.0 else -1.0
    for j in range(3):
        middle = 0.0
        away = -m.shapes[b, SIZES + j]
        for i in range(3):
            middle -= m.frame[3 * i + j] * m.frame[MIDDLE + i]
            away -= abs(m.frame[3 * i + j]) * m.shapes[a, SIZES + i]
        away += abs(middle)
        if away > best + 1e-6 * abs(best) + 1e-9:
            best = away
            m.frame[FOUND], m.frame[FOUND + 1] = 1.0, j
            m.frame[FOUND + 2] = 1.0 if middle > 0.0 else -1.0
    return best


def best_edges(m: Arrays, a: int, b: int) -> float:
    """The separation across pairs of edges, and which in FOUND + 3 and + 4."""
    best = -1e300
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            size = sqrt(m.frame[3 * i1 + j] * m.frame[3 * i1 + j] + m.frame[3 * i2 + j] * m.frame[3 * i2 + j])
            if size > 1e-3:
                away = abs(m.frame[MIDDLE + i2] * m.frame[3 * i1 + j] - m.frame[MIDDLE + i1] * m.frame[3 * i2 + j])
                away -= m.shapes[a, SIZES + i1] * abs(m.frame[3 * i2 + j]) + m.shapes[a, SIZES + i2] * abs(
                    m.frame[3 * i1 + j]
                )
                away -= m.shapes[b, SIZES + j1] * abs(m.frame[3 * i + j2]) + m.shapes[b, SIZES + j2] * abs(
                    m.frame[3 * i + j1]
                )
                if away / size > best:
                    best = away / size
                    m.frame[FOUND + 3], m.frame[FOUND + 4] = i, j
    return best


def box_box(m: Arrays, a: int, b: int) -> None:
    relative(m, a, b)
    face = best_face(m, a, b)
    horizon = m.law[0] + m.moves[a] + m.moves[b]
    if face > horizon:
        return
    edges = best_edges(m, a, b)
    if edges > horizon:
        return
    if edges > face + 0.02 * abs(face) + EDGES_WIN:
        if edges > 0.0:
            nearest_features(m, a, b)
        else:
            crossing(m, a, b, int(m.frame[FOUND + 3]), int(m.frame[FOUND + 4]), edges)
        return
    axis, side = int(m.frame[FOUND + 1]), m.frame[FOUND + 2]
    if m.frame[FOUND] == 0.0:
        found = cut_face(m, a, b, axis, side, -1.0)
    else:
        relative(m, b, a)
        found = cut_face(m, b, a, axis, side, 1.0)
    if found == 0 and face > 0.0:
        nearest_features(m, a, b)


def cut_face(m: Arrays, a: int, b: int, axis: int, side: float, way: float) -> int:
    """b's face that looks at a's, cut to its borders: places above it. How many corners were left."""
    j, most = 0, -1.0
    for k in range(3):
        if abs(m.frame[3 * axis + k]) > most:
            j, most = k, abs(m.frame[3 * axis + k])
    sign = -1.0 if m.frame[3 * axis + j] * side > 0.0 else 1.0
    j1, j2 = (j + 1) % 3, (j + 2) % 3
    for corner in range(4):
        u = 1.0 if corner == 0 or corner == 3 else -1.0
        w = 1.0 if corner < 2 else -1.0
        for i in range(3):
            m.polygon[3 * corner + i] = (
                m.frame[MIDDLE + i]
                + sign * m.frame[3 * i + j] * m.shapes[b, SIZES + j]
                + u * m.frame[3 * i + j1] * m.shapes[b, SIZES + j1]
                + w * m.frame[3 * i + j2] * m.shapes[b, SIZES + j2]
            )
    count = 4
    for border in range(4):
        across = (axis + 1 + border // 2) % 3
        count = cut(m, count, across, 1.0 if border % 2 == 0 else -1.0, m.shapes[a, SIZES + across])
    for corner in range(count):
        place(m, a, b, corner, axis, side, way)
    return count


def cut(m: Arrays, count: int, axis: int, side: float, half: float) -> int:
    """The polygon's part within side·x ≤ half (Sutherland and Hodgman 1974)."""
    for i in range(3 * count):
        m.corners[i] = m.polygon[i]
    kept = 0
    for corner in range(count):
        after = corner + 1 if corner + 1 < count else 0
        here, there = half - side * m.corners[3 * corner + axis], half - side * m.corners[3 * after + axis]
        if here >= 0.0:
            for i in range(3):
                m.polygon[3 * kept + i] = m.corners[3 * corner + i]
            kept += 1
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            part = here / (here - there)
            for i in range(3):
                m.polygon[3 * kept + i] = m.corners[3 * corner + i] + part * (
                    m.corners[3 * after + i] - m.corners[3 * corner + i]
                )
            kept += 1
    return kept


def place(m: Arrays, a: int, b: int, corner: int, axis: int, side: float, way: float) -> None:
    """A corner of the polygon, in a's axes, above a's face; `way` turns the normal to point from the second shape."""
    gap = side * m.polygon[3 * corner + axis] - m.shapes[a, SIZES + axis]
    m.polygon[3 * corner + axis] -= 0.5 * gap * side
    u, v, w = m.polygon[3 * corner], m.polygon[3 * corner + 1], m.polygon[3 * corner + 2]
    x = m.placed[a, 9] + m.placed[a, 0] * u + m.placed[a, 1] * v + m.placed[a, 2] * w
    y = m.placed[a, 10] + m.placed[a, 3] * u + m.placed[a, 4] * v + m.placed[a, 5] * w
    z = m.placed[a, 11] + m.placed[a, 6] * u + m.placed[a, 7] * v + m.placed[a, 8] * w
    turned = way * side
    nx, ny, nz = turned * m.placed[a, axis], turned * m.placed[a, 3 + axis], turned * m.placed[a, 6 + axis]
    if way < 0.0:
        report(m, a, b, gap, x, y, z, nx, ny, nz)
    else:
        report(m, b, a, gap, x, y, z, nx, ny, nz)


def corner_box(m: Arrays, a: int, b: int, corner: int, way: float) -> None:
    """A corner of a before the box b, kept in `nearest` where it is the nearest yet: distance, point, normal."""
    m.ray[0] = m.shapes[a, SIZES] if corner % 2 == 1 else -m.shapes[a, SIZES]
    m.ray[1] = m.shapes[a, SIZES + 1] if corner // 2 % 2 == 1 else -m.shapes[a, SIZES + 1]
    m.ray[2] = m.shapes[a, SIZES + 2] if corner // 4 == 1 else -m.shapes[a, SIZES + 2]
    total = 0.0
    for i in range(3):
        m.ray[3 + i] = m.placed[a, 9 + i] - m.placed[b, 9 + i]
        for k in range(3):
            m.ray[3 + i] += m.placed[a, 3 * i + k] * m.ray[k]
    for k in range(3):
        x = 0.0
        for i in range(3):
            x += m.placed[b, 3 * i + k] * m.ray[3 + i]
        m.ray[6 + k] = excess(x, m.shapes[b, SIZES + k])
        total += m.ray[6 + k] * m.ray[6 + k]
    away = sqrt(total)
    if away < m.nearest[0] and away > 0.0:
        m.nearest[0] = away
        for i in range(3):
            normal = 0.0
            for k in range(3):
                normal += m.placed[b, 3 * i + k] * m.ray[6 + k] / away
            m.nearest[1 + i] = m.ray[3 + i] + m.placed[b, 9 + i] - 0.5 * away * normal
            m.nearest[4 + i] = way * normal


def edge_middle(m: Arrays, a: int, axis: int, side: int, to: int) -> None:
    """The middle of an edge of a along an axis, in `ray` from `to` on, and its direction times half its length."""
    i1, i2 = (axis + 1) % 3, (axis + 2) % 3
    u = m.shapes[a, SIZES + i1] if side % 2 == 1 else -m.shapes[a, SIZES + i1]
    w = m.shapes[a, SIZES + i2] if side // 2 == 1 else -m.shapes[a, SIZES + i2]
    for k in range(3):
        m.ray[to + k] = m.placed[a, 9 + k] + u * m.placed[a, 3 * k + i1] + w * m.placed[a, 3 * k + i2]
        m.ray[to + 3 + k] = m.placed[a, 3 * k + axis] * m.shapes[a, SIZES + axis]


def edge_edge(m: Arrays) -> None:
    """Two edges in `ray`, kept where they are the nearest yet."""
    aa, ab, bb, ar, br = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        r = m.ray[k] - m.ray[6 + k]
        aa += m.ray[3 + k] * m.ray[3 + k]
        bb += m.ray[9 + k] * m.ray[9 + k]
        ab += m.ray[3 + k] * m.ray[9 + k]
        ar += m.ray[3 + k] * r
        br += m.ray[9 + k] * r
    across = aa * bb - ab * ab
    if across < 1e-10 * aa * bb:
        return
    s = (ab * br - ar * bb) / across
    t = (aa * br - ab * ar) / across
    if abs(s) > 1.0 or abs(t) > 1.0:
        return
    total = 0.0
    for k in range(3):
        d = m.ray[k] + s * m.ray[3 + k] - m.ray[6 + k] - t * m.ray[9 + k]
        m.ray[12 + k] = d
        total += d * d
    away = sqrt(total)
    if away < m.nearest[0] and away > 0.0:
        m.nearest[0] = away
        for k in range(3):
            m.nearest[4 + k] = m.ray[12 + k] / away
            m.nearest[1 + k] = m.ray[6 + k] + t * m.ray[9 + k] + 0.5 * m.ray[12 + k]


def nearest_features(m: Arrays, a: int, b: int) -> None:
    """The nearest points of two boxes that are apart: corners before a box, or two edges."""
    m.nearest[0] = 1e300
    for corner in range(8):
        corner_box(m, a, b, corner, 1.0)
        corner_box(m, b, a, corner, -1.0)
    for i in range(3):
        for side in range(4):
            edge_middle(m, a, i, side, 0)
            for j in range(3):
                for other in range(4):
                    edge_middle(m, b, j, other, 6)
                    edge_edge(m)
    report_nearest(m, a, b)


def report_nearest(m: Arrays, a: int, b: int) -> None:
    x, y, z = m.nearest[1], m.nearest[2], m.nearest[3]
    report(m, a, b, m.nearest[0], x, y, z, m.nearest[4], m.nearest[5], m.nearest[6])


def crossing(m: Arrays, a: int, b: int, i: int, j: int, away: float) -> None:
    """Two edges of boxes that overlap, by −`away` across the edges."""
    nx = m.placed[a, 3 + i] * m.placed[b, 6 + j] - m.placed[a, 6 + i] * m.placed[b, 3 + j]
    ny = m.placed[a, 6 + i] * m.placed[b, j] - m.placed[a, i] * m.placed[b, 6 + j]
    nz = m.placed[a, i] * m.placed[b, 3 + j] - m.placed[a, 3 + i] * m.placed[b, j]
    size = sqrt(nx * nx + ny * ny + nz * nz)
    toward = 0.0
    for k in range(3):
        n = nx if k == 0 else ny if k == 1 else nz
        toward += n * (m.placed[a, 9 + k] - m.placed[b, 9 + k])
    size = size if toward > 0.0 else -size
    nx, ny, nz = nx / size, ny / size, nz / size
    x, y, z = m.placed[a, 9], m.placed[a, 10], m.placed[a, 11]
    for k in range(3):
        if k != i:
            lean = nx * m.placed[a, k] + ny * m.placed[a, 3 + k] + nz * m.placed[a, 6 + k]
            half = -m.shapes[a, SIZES + k] if lean > 0.0 else m.shapes[a, SIZES + k]
            x, y, z = x + half * m.placed[a, k], y + half * m.placed[a, 3 + k], z + half * m.placed[a, 6 + k]
    report(m, a, b, away, x - 0.5 * away * nx, y - 0.5 * away * ny, z - 0.5 * away * nz, nx, ny, nz)


BOX_PAIRS = (
    *(box_plane, relative, best_face, best_edges, cut, place, cut_face, corner_box, edge_middle, edge_edge),
    *(report_nearest, nearest_features, crossing, box_box),
)
