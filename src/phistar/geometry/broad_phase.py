"""Pairs of shapes that may be near: boxes about them, sorted along x and swept, then each pair's own distance."""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import GRAVITY, GROUPS, PLANES, SHAPES
from phistar.geometry.box_pairs import BOX_PAIRS, box_box, box_plane
from phistar.geometry.contact_report import REPORT, pair_law, store_old
from phistar.geometry.hull_pairs import HULL_PAIRS, convex_pair, hull_plane
from phistar.geometry.round_pairs import ROUND_PAIRS, round_box, round_plane, round_round
from phistar.geometry.shape_columns import (
    BLOCK_SHAPE,
    GROUP,
    HALFSPACE,
    HULL,
    KIND,
    PLACE,
    REACH,
    ROUND,
    SHAPE_BODY,
    SHAPE_FARTHEST,
    SIZES,
    TURN,
)

FEW_SHAPES = 12  # up to so many, every two are looked at; to sort them costs more


def place_shape(m: Arrays, s: int, h: float) -> None:
    """Place of a shape, the distance it may move in a step, and the box that holds both."""
    body = m.shape_wholes[s, SHAPE_BODY]
    speed = 0.0
    if body >= 0:
        for i in range(3):
            total = m.pose[body, 9 + i]
            for k in range(3):
                total += m.pose[body, 3 * i + k] * m.shapes[s, PLACE + k]
            m.placed[s, 9 + i] = total
            for j in range(3):
                total = 0.0
                for k in range(3):
                    total += m.pose[body, 3 * i + k] * m.shapes[s, TURN + 3 * k + j]
                m.placed[s, 3 * i + j] = total
        speed = m.speed[body]
        gravity = 0.0
        for i in range(3):
            gravity += m.numbers[GRAVITY + i] * m.numbers[GRAVITY + i]
        speed += h * sqrt(gravity)
    m.moves[s] = 1.1 * h * speed
    if m.shape_wholes[s, KIND] == HALFSPACE:
        return
    extra = m.moves[s] + m.shapes[s, SHAPE_FARTHEST]
    for i in range(3):
        half = m.shapes[s, REACH]
        if m.shape_wholes[s, KIND] == ROUND:
            half = m.shapes[s, SIZES] + m.shapes[s, SIZES + 1] * abs(m.placed[s, 3 * i + 2])
        elif m.shape_wholes[s, KIND] == BLOCK_SHAPE:
            half = 0.0
            for k in range(3):
                half += abs(m.placed[s, 3 * i + k]) * m.shapes[s, SIZES + k]
        m.lowest[s, i], m.highest[s, i] = m.placed[s, 9 + i] - half - extra, m.placed[s, 9 + i] + half + extra


def sort_shapes(m: Arrays, count: int) -> None:
    """`swept` by where boxes begin along x; it is nearly sorted from the last time."""
    for i in range(1, count):
        s = m.swept[i]
        j = i
        while j > 0 and m.lowest[m.swept[j - 1], 0] > m.lowest[s, 0]:
            m.swept[j] = m.swept[j - 1]
            j -= 1
        m.swept[j] = s


def meet_plane(m: Arrays, s: int, plane: int) -> None:
    height = 0.0
    for k in range(3):
        height += m.placed[plane, 3 * k + 2] * (m.placed[s, 9 + k] - m.placed[plane, 9 + k])
    if height > m.shapes[s, REACH] + m.shapes[s, SHAPE_FARTHEST] + m.moves[s] + m.moves[plane]:
        return
    if m.shape_wholes[s, SHAPE_BODY] == m.shape_wholes[plane, SHAPE_BODY]:
        return
    stated = m.meets[m.shape_wholes[s, GROUP] * m.counts[GROUPS] + m.shape_wholes[plane, GROUP]]
    if stated == 0:
        return
    pair_law(m, s, plane, stated)
    if m.shape_wholes[s, KIND] == ROUND:
        round_plane(m, s, plane)
    elif m.shape_wholes[s, KIND] == BLOCK_SHAPE:
        box_plane(m, s, plane)
    elif m.shape_wholes[s, KIND] == HULL:
        hull_plane(m, s, plane)


def meet_shape(m: Arrays, a: int, b: int) -> None:
    """Two shapes whose boxes overlap along x."""
    if m.shape_wholes[a, SHAPE_BODY] == m.shape_wholes[b, SHAPE_BODY]:
        return
    stated = m.meets[m.shape_wholes[a, GROUP] * m.counts[GROUPS] + m.shape_wholes[b, GROUP]]
    if stated == 0:
        return
    if m.lowest[a, 1] > m.highest[b, 1] or m.lowest[b, 1] > m.highest[a, 1]:
        return
    if m.lowest[a, 2] > m.highest[b, 2] or m.lowest[b, 2] > m.highest[a, 2]:
        return
    first, second = min(a, b), max(a, b)
    pair_law(m, first, second, stated)
    one, other = m.shape_wholes[first, KIND], m.shape_wholes[second, KIND]
    if one == ROUND and other == ROUND:
        round_round(m, first, second)
    elif one == ROUND and other == BLOCK_SHAPE:
        round_box(m, first, second)
    elif one == BLOCK_SHAPE and other == ROUND:
        round_box(m, second, first)
    elif one == BLOCK_SHAPE and other == BLOCK_SHAPE:
        box_box(m, first, second)
    else:
        convex_pair(m, first, second)


def meet_all(m: Arrays, count: int) -> None:
    """Every two of few shapes, in the order of their numbers, which is that of all scenes."""
    for a in range(count):
        for plane in range(count, m.counts[SHAPES]):
            meet_plane(m, a, plane)
        for b in range(a + 1, count):
            if m.lowest[b, 0] <= m.highest[a, 0] and m.lowest[a, 0] <= m.highest[b, 0]:
                meet_shape(m, a, b)


def meet_swept(m: Arrays, count: int) -> None:
    """Pairs whose boxes overlap along x."""
    sort_shapes(m, count)
    for i in range(count):
        a = m.swept[i]
        for plane in range(count, m.counts[SHAPES]):
            meet_plane(m, a, plane)
        for j in range(i + 1, count):
            b = m.swept[j]
            if m.lowest[b, 0] > m.highest[a, 0]:
                break
            meet_shape(m, a, b)


def look(m: Arrays, h: float) -> None:
    """The contacts of the bodies where they are, with what may come inside its margin within h."""
    store_old(m)
    for s in range(m.counts[SHAPES]):
        place_shape(m, s, h)
    count = m.counts[SHAPES] - m.counts[PLANES]
    if count <= FEW_SHAPES:
        meet_all(m, count)
    else:
        meet_swept(m, count)


LOOK = (
    *(*REPORT, *ROUND_PAIRS, *BOX_PAIRS, *HULL_PAIRS, place_shape, sort_shapes, meet_plane, meet_shape),
    *(meet_all, meet_swept, look),
)
