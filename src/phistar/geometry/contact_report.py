"""Places of contact as the narrow phase reports them: rows of the table of contacts, with the memory of the last step.

A place takes over the bristle of the nearest place that its pair of shapes had before: features may flicker, points
move little.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    BEFORE_CONTACTS,
    BENT,
    BODY_A,
    BODY_B,
    CONTACTS,
    FULL,
    GAP,
    GUESS,
    IMPULSE,
    LAW_FLOATS,
    MARGIN,
    NEAREST,
    NODE_A,
    NODE_B,
    NORMAL,
    OFFSET,
    POINT,
    ROOM,
    SAVED,
    SAVED_TWIST,
    SETTLED,
    SHAPE_A,
    SHAPE_B,
    SIDEWAYS,
    TANGENT,
    TWIST,
)
from phistar.geometry.shape_columns import (
    REACH,
    SHAPE_DAMPING,
    SHAPE_FRICTION,
    SHAPE_MARGIN,
    SHAPE_MASS,
    SHAPE_RESTITUTION,
    SHAPE_STRENGTH,
    SHAPE_TIME,
)

SPRUNG = 1e-3  # s: the time constant of bristles
TOUCHING = 0.2  # of the margin: where a place begins that overlaps at the start
OLD_POINT, OLD_BENT, OLD_OFFSET, OLD_IMPULSE, OLD_SAVED, OLD_TWIST, OLD_SAVED_TWIST = 0, 3, 6, 7, 10, 13, 14
OLD_FLOATS = 15


def pair_law(m: Arrays, a: int, b: int, stated: int) -> None:
    """The numbers of a pair's law, in `law`: those of the law that is stated for it, by `meets`; or the rougher and the
    livelier surface, the smaller margin, the masses that meet; a strength that is given stands."""
    if stated > 1:
        for j in range(LAW_FLOATS):
            m.law[j] = m.stated_laws[stated - 2, j]
        return
    ma, mb = m.shapes[a, SHAPE_MASS], m.shapes[b, SHAPE_MASS]
    mass = ma if mb <= 0.0 else mb if ma <= 0.0 else ma * mb / (ma + mb)
    margin = min(m.shapes[a, SHAPE_MARGIN], m.shapes[b, SHAPE_MARGIN])
    time = max(m.shapes[a, SHAPE_TIME], m.shapes[b, SHAPE_TIME])
    given = max(m.shapes[a, SHAPE_STRENGTH], m.shapes[b, SHAPE_STRENGTH])
    m.law[0] = margin
    m.law[1] = given if given > 0.0 else mass * margin / (time * time)
    m.law[2] = max(m.shapes[a, SHAPE_DAMPING], m.shapes[b, SHAPE_DAMPING])
    m.law[3] = max(m.shapes[a, SHAPE_FRICTION], m.shapes[b, SHAPE_FRICTION])
    m.law[4] = mass / (SPRUNG * SPRUNG)
    m.law[5] = mass / SPRUNG
    m.law[6] = max(m.shapes[a, SHAPE_RESTITUTION], m.shapes[b, SHAPE_RESTITUTION])
    m.law[7], m.law[8], m.law[9] = 0.0, 0.0, 0.0


def report(
    m: Arrays, a: int, b: int, gap: float, x: float, y: float, z: float, nx: float, ny: float, nz: float
) -> None:
    """A place of the shapes a and b, where it may come inside its margin before the step's end."""
    if gap > m.law[0] + m.moves[a] + m.moves[b]:
        return
    c = m.counts[CONTACTS]
    if c >= m.counts[ROOM]:
        m.counts[FULL] = 1
        return
    m.counts[CONTACTS] = c + 1
    m.contact_wholes[c, SHAPE_A], m.contact_wholes[c, SHAPE_B] = a, b
    m.contact_wholes[c, BODY_A], m.contact_wholes[c, NODE_A] = m.shape_wholes[a, 1], m.shape_wholes[a, 2]
    m.contact_wholes[c, BODY_B], m.contact_wholes[c, NODE_B] = m.shape_wholes[b, 1], m.shape_wholes[b, 2]
    m.contacts[c, GAP] = gap
    m.contacts[c, POINT], m.contacts[c, POINT + 1], m.contacts[c, POINT + 2] = x, y, z
    m.contacts[c, NORMAL], m.contacts[c, NORMAL + 1], m.contacts[c, NORMAL + 2] = nx, ny, nz
    tangents(m, c, nx, ny, nz)
    for j in range(LAW_FLOATS):
        m.contacts[c, MARGIN + j] = m.law[j]
    remember(m, c, a, b)
    m.numbers[NEAREST] = min(m.numbers[NEAREST], gap + m.contacts[c, OFFSET])


def tangents(m: Arrays, c: int, nx: float, ny: float, nz: float) -> None:
    """Two directions across the normal: the first across the axis that it has least of."""
    tx, ty, tz = 0.0, nz, -ny
    if abs(ny) < abs(nx) and abs(ny) <= abs(nz):
        tx, ty, tz = -nz, 0.0, nx
    elif abs(nz) < abs(nx):
        tx, ty, tz = ny, -nx, 0.0
    size = sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = tx / size, ty / size, tz / size
    m.contacts[c, TANGENT], m.contacts[c, TANGENT + 1], m.contacts[c, TANGENT + 2] = tx, ty, tz
    m.contacts[c, SIDEWAYS] = ny * tz - nz * ty
    m.contacts[c, SIDEWAYS + 1] = nz * tx - nx * tz
    m.contacts[c, SIDEWAYS + 2] = nx * ty - ny * tx


def remember(m: Arrays, c: int, a: int, b: int) -> None:
    """Bristle, offset and impulses of the nearest place that the pair had before; none where it had none."""
    for j in range(3):
        m.contacts[c, BENT + j] = 0.0
        m.contacts[c, SAVED + j] = 0.0
        m.contacts[c, IMPULSE + j] = 0.0
    m.contacts[c, OFFSET], m.contacts[c, TWIST], m.contacts[c, SAVED_TWIST] = 0.0, 0.0, 0.0
    m.contacts[c, IMPULSE + 3], m.contacts[c, GUESS] = 0.0, 0.0
    near = 0.25 * min(m.shapes[a, REACH], m.shapes[b, REACH])
    best, least, overlapped = -1, near * near, 0
    old = m.counts[BEFORE_CONTACTS]
    at = m.cursor[0]
    for step in range(old):
        i = at + step
        i = i if i < old else i - old
        if m.old_wholes[i, 0] == a and m.old_wholes[i, 1] == b:
            m.cursor[0] = at if best >= 0 else i
            if m.old[i, OLD_OFFSET] > 0.0:
                overlapped = 1
            if m.old_wholes[i, 2] == 0:
                away = 0.0
                for j in range(3):
                    d = m.old[i, OLD_POINT + j] - m.contacts[c, POINT + j]
                    away += d * d
                if away < least:
                    best, least = i, away
        elif best >= 0:
            break
    if best >= 0:
        m.old_wholes[best, 2] = 1
        for j in range(3):
            m.contacts[c, BENT + j] = m.old[best, OLD_BENT + j]
            m.contacts[c, IMPULSE + j] = m.old[best, OLD_IMPULSE + j]
            m.contacts[c, SAVED + j] = m.old[best, OLD_SAVED + j]
        m.contacts[c, GUESS] = max(m.contacts[c, IMPULSE + 2], 0.0)
        m.contacts[c, OFFSET], m.contacts[c, TWIST] = m.old[best, OLD_OFFSET], m.old[best, OLD_TWIST]
        m.contacts[c, SAVED_TWIST] = m.old[best, OLD_SAVED_TWIST]
    least = TOUCHING * m.contacts[c, MARGIN]
    if best < 0 and m.contacts[c, GAP] < least and (m.numbers[SETTLED] == 0.0 or overlapped > 0):
        m.contacts[c, OFFSET] = least - m.contacts[c, GAP]


def store_old(m: Arrays) -> None:
    """The table's memory, before it is written anew."""
    for c in range(m.counts[CONTACTS]):
        m.old_wholes[c, 0], m.old_wholes[c, 1] = m.contact_wholes[c, SHAPE_A], m.contact_wholes[c, SHAPE_B]
        m.old_wholes[c, 2] = 0
        for j in range(3):
            m.old[c, OLD_POINT + j] = m.contacts[c, POINT + j]
            m.old[c, OLD_BENT + j] = m.contacts[c, BENT + j]
            m.old[c, OLD_IMPULSE + j] = m.contacts[c, IMPULSE + j]
            m.old[c, OLD_SAVED + j] = m.contacts[c, SAVED + j]
        m.old[c, OLD_OFFSET], m.old[c, OLD_TWIST] = m.contacts[c, OFFSET], m.contacts[c, TWIST]
        m.old[c, OLD_SAVED_TWIST] = m.contacts[c, SAVED_TWIST]
    m.counts[BEFORE_CONTACTS] = m.counts[CONTACTS]
    m.counts[CONTACTS] = 0
    m.cursor[0] = 0
    m.numbers[NEAREST] = 1e300


REPORT = (pair_law, tangents, remember, report, store_old)
