"""Balls and capsules before boxes and half-spaces: distance, point and normal in closed form. Loops, compiled as they
stand; other pairs are coal's.

A capsule is what lies within its radius of a segment c + t d, |t| ≤ half its length. In a box's axes the square of a
point's distance is Σ max(|x| − half, 0)²; along the segment it is convex, and half its slope grows piece by piece
straight, so that Newton's method, kept between two ends, finds where it is zero in a few steps.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays

OTHER, ROUND, BLOCK, PLANE = range(4)  # kinds of shapes
MOST = 60


def excess(m: Arrays, box: int, k: int, x: float) -> float:
    """How far a coordinate is beyond a box's side, with its sign."""
    half = m.sizes[box, k]
    return x - half if x > half else x + half if x < -half else 0.0


def slope(m: Arrays, box: int, t: float) -> float:
    """Half the slope of the squared distance at c + t d."""
    total = 0.0
    for k in range(3):
        total += excess(m, box, k, m.segment[k] + t * m.segment[3 + k]) * m.segment[3 + k]
    return total


def nearest_on(m: Arrays, box: int, length: float) -> float:
    """t of the segment's point that is nearest to a box."""
    low, high = -length, length
    below, above = slope(m, box, low), slope(m, box, high)
    if below >= 0.0 and above <= 0.0:
        return 0.0  # it lies along a face
    if below >= 0.0:
        return low
    if above <= 0.0:
        return high
    t, count = 0.0, 0
    while count < MOST:
        value, growth = slope(m, box, t), 0.0
        for k in range(3):
            if excess(m, box, k, m.segment[k] + t * m.segment[3 + k]) != 0.0:
                growth += m.segment[3 + k] * m.segment[3 + k]
        if value > 0.0:
            high = t
        else:
            low = t
        after = t - value / growth if growth > 0.0 else low
        if not (after > low and after < high):
            after = 0.5 * (low + high)
        count = MOST if value == 0.0 or abs(after - t) < 1e-16 else count + 1
        t = t if value == 0.0 else after
    return t


def before_box(m: Arrays, found: int, one: int, box: int, way: float) -> float:
    """The row of a round shape before a box, its normal turned by `way`; its distance, and 0 where its middle is in
    the box."""
    for k in range(3):
        m.segment[k], m.segment[3 + k] = 0.0, 0.0
        for j in range(3):
            m.segment[k] += m.rotation[box, 3 * j + k] * (m.center[one, j] - m.center[box, j])
            m.segment[3 + k] += m.rotation[box, 3 * j + k] * m.rotation[one, 3 * j + 2]
    t = nearest_on(m, box, m.sizes[one, 1])
    total = 0.0
    for k in range(3):
        x = m.segment[k] + t * m.segment[3 + k]
        m.segment[k], m.segment[3 + k] = x, excess(m, box, k, x)
        total += m.segment[3 + k] * m.segment[3 + k]
    if total == 0.0:
        return 0.0
    away = sqrt(total)
    for j in range(3):
        point, normal = m.center[box, j], 0.0
        for k in range(3):
            beyond = m.segment[3 + k] / away
            point += m.rotation[box, 3 * j + k] * (m.segment[k] - 0.5 * beyond * (away + m.sizes[one, 0]))
            normal += m.rotation[box, 3 * j + k] * beyond
        m.ready[found, 1 + j], m.ready[found, 4 + j] = point, way * normal
    return away - m.sizes[one, 0]


def before_plane(m: Arrays, found: int, one: int, plane: int, way: float) -> float:
    """The same before a half-space."""
    height, lean = 0.0, 0.0
    for j in range(3):
        height += m.rotation[plane, 3 * j + 2] * (m.center[one, j] - m.center[plane, j])
        lean += m.rotation[plane, 3 * j + 2] * m.rotation[one, 3 * j + 2]
    t = m.sizes[one, 1] if lean < 0.0 else -m.sizes[one, 1]
    t = t if lean != 0.0 else 0.0
    away = height + t * lean
    for j in range(3):
        normal = m.rotation[plane, 3 * j + 2]
        middle = m.center[one, j] + t * m.rotation[one, 3 * j + 2]
        m.ready[found, 1 + j], m.ready[found, 4 + j] = middle - 0.5 * normal * (away + m.sizes[one, 0]), way * normal
    return away - m.sizes[one, 0]


def measured(m: Arrays, found: int, a: int, b: int) -> float:
    """The row of a pair that needs no library, and its distance; 0 for others, and for what is not apart."""
    distance = 0.0
    if m.kinds[a] == ROUND and m.kinds[b] == BLOCK:
        distance = before_box(m, found, a, b, 1.0)
    elif m.kinds[a] == BLOCK and m.kinds[b] == ROUND:
        distance = before_box(m, found, b, a, -1.0)
    elif m.kinds[a] == ROUND and m.kinds[b] == PLANE:
        distance = before_plane(m, found, a, b, 1.0)
    elif m.kinds[a] == PLANE and m.kinds[b] == ROUND:
        distance = before_plane(m, found, b, a, -1.0)
    m.ready[found, 0] = distance
    return max(distance, 0.0)


ROUNDS = (excess, slope, nearest_on, before_box, before_plane, measured)
