"""Report of a step: the contact points of its last part, the pairs that met, and its energy and momentum books.

ΔE = work − loss: of laws that are implicit (contact, friction, stops, damping, springs) work is that of the rates at
the end, λ·u⁺; with ℳ(v⁺ − v) = hf, kinetic energy changes by hf·(v⁺ + v)/2, and the difference ½(v⁺ − v)*ℳ(v⁺ − v) ≥ 0
is the method's own loss. Momentum of what floats freely changes by the impulses from outside.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    AT,
    BODY,
    CHANGE,
    CONTACTS,
    ELAPSED,
    FIRST_TREE,
    FULL,
    GAP,
    GRAVITY,
    IMPULSE,
    LAW,
    LIMIT,
    LIMIT_LAW,
    LOSS,
    MARGIN,
    MET,
    MET_FLOATS,
    MET_IMPULSE,
    MET_LAST,
    MET_NORMAL,
    MET_PEAK,
    MET_SLIDES,
    MET_WHEN,
    NODE_A,
    NODES,
    NORMAL,
    OFFSET,
    OUTSIDE,
    OWN,
    OWN_AT,
    PART_LOSS,
    PART_OUTSIDE,
    PART_WORK,
    PATCH,
    PLACE_IMPULSE,
    PLACE_LENGTH,
    PLACE_NORMAL,
    PLACE_POINT,
    PLACE_SLIDES,
    PLACE_TURN,
    PLACE_WHEN,
    PLACES,
    POINT,
    RATE,
    ROOM,
    ROW_IMPULSE,
    ROW_NODE_A,
    ROW_NODE_B,
    ROW_RATE,
    ROW_SPEED,
    ROWS,
    SHAPE_A,
    SHAPE_B,
    SIGN,
    STOPPED,
    TANGENT,
    TELLING,
    TOUCHED,
    TREE,
    WORK,
)
from phistar.constraints.constraint_rates import contact_rates, row_rate
from phistar.constraints.islands import row_sleeps
from phistar.plant.free_bodies import MASS
from phistar.plant.impacts import give
from phistar.plant.tree_columns import MODAL_DAMPING, MODAL_STIFFNESS

SLIPS = 0.999  # of μλ


def floats_freely(m: Arrays, node: int) -> bool:
    return node >= 0 and (node < m.counts[FIRST_TREE] or m.nodes[node, TREE] == 2)


def clear_books(m: Arrays) -> None:
    """Clear a step's books."""
    m.counts[PLACES], m.counts[MET], m.counts[STOPPED] = 0, 0, 0
    m.numbers[WORK], m.numbers[LOSS], m.numbers[ELAPSED] = 0.0, 0.0, 0.0
    for i in range(6):
        m.numbers[OUTSIDE + i] = 0.0


def add_outside(m: Arrays, x: float, y: float, z: float, fx: float, fy: float, fz: float) -> None:
    """An impulse from outside at a point, on what floats freely."""
    m.numbers[PART_OUTSIDE] += y * fz - z * fy
    m.numbers[PART_OUTSIDE + 1] += z * fx - x * fz
    m.numbers[PART_OUTSIDE + 2] += x * fy - y * fx
    m.numbers[PART_OUTSIDE + 3] += fx
    m.numbers[PART_OUTSIDE + 4] += fy
    m.numbers[PART_OUTSIDE + 5] += fz


def tell_place(m: Arrays, c: int, h: float) -> None:
    """A contact that pushes, as a row of `places`."""
    k = m.counts[PLACES]
    m.counts[PLACES] = k + 1
    m.place_shapes[k, 0], m.place_shapes[k, 1] = m.contact_wholes[c, SHAPE_A], m.contact_wholes[c, SHAPE_B]
    turn = m.contacts[c, IMPULSE + 3] if m.contacts[c, PATCH] > 0.0 else 0.0
    for i in range(3):
        across = m.contacts[c, TANGENT + i] * m.contacts[c, IMPULSE]
        across += m.contacts[c, TANGENT + 3 + i] * m.contacts[c, IMPULSE + 1]
        m.places[k, PLACE_POINT + i] = m.contacts[c, POINT + i]
        m.places[k, PLACE_IMPULSE + i] = across + m.contacts[c, NORMAL + i] * m.contacts[c, IMPULSE + 2]
        m.places[k, PLACE_TURN + i] = turn * m.contacts[c, NORMAL + i]
    m.places[k, PLACE_NORMAL], m.places[k, PLACE_LENGTH] = m.contacts[c, IMPULSE + 2], h
    s, t = m.contacts[c, IMPULSE], m.contacts[c, IMPULSE + 1]
    limit = m.contacts[c, LIMIT]
    m.places[k, PLACE_SLIDES] = 1.0 if limit > 0.0 and sqrt(s * s + t * t) > SLIPS * limit else 0.0
    gap, margin = m.contacts[c, GAP] + m.contacts[c, OFFSET], m.contacts[c, MARGIN]
    after = gap + h * m.contacts[c, RATE + 2]
    when = m.numbers[ELAPSED]
    if h > 0.0 and gap > margin and after < margin:
        when += h * (gap - margin) / (gap - after)
    m.places[k, PLACE_WHEN] = when


def book_contact(m: Arrays, c: int, h: float) -> None:
    """A contact's place, work and what it gives from outside to what floats."""
    contact_rates(m, c, CHANGE)
    for row in range(4 if m.contacts[c, PATCH] > 0.0 else 3):
        impulse, after = m.contacts[c, IMPULSE + row], m.contacts[c, RATE + row]
        change = 0.5 * impulse * (after - m.contacts[c, CHANGE + row])
        m.numbers[PART_WORK] += impulse * after
        if h > 0.0:
            m.numbers[PART_LOSS] += change
        else:  # what an impact takes is its restitution's
            m.numbers[PART_WORK] -= change
    k = m.counts[PLACES]
    tell_place(m, c, h)
    a = 1 if floats_freely(m, m.contact_wholes[c, NODE_A]) else 0
    b = 1 if floats_freely(m, m.contact_wholes[c, NODE_A + 1]) else 0
    if a != b:
        sign = 1.0 if a > 0 else -1.0
        x, y, z = m.places[k, PLACE_POINT], m.places[k, PLACE_POINT + 1], m.places[k, PLACE_POINT + 2]
        fx, fy, fz = m.places[k, PLACE_IMPULSE], m.places[k, PLACE_IMPULSE + 1], m.places[k, PLACE_IMPULSE + 2]
        add_outside(m, x, y, z, sign * fx, sign * fy, sign * fz)
        for i in range(3):
            m.numbers[PART_OUTSIDE + i] += sign * m.places[k, PLACE_TURN + i]


def book_row(m: Arrays, r: int, h: float) -> None:
    impulse, after = m.rows[r, ROW_IMPULSE], m.rows[r, ROW_SPEED]
    m.numbers[PART_WORK] += impulse * after
    before = row_rate(m, r)
    if row_sleeps(m, r):
        before = m.rows[r, SIGN] * m.before[m.nodes[m.row_wholes[r, ROW_NODE_A], OWN_AT] + m.row_wholes[r, ROW_RATE]]
    if h > 0.0:
        m.numbers[PART_LOSS] += 0.5 * impulse * (after - before)
    else:  # a closure in an impact
        m.numbers[PART_WORK] -= 0.5 * impulse * (after - before)
    if m.row_wholes[r, ROW_RATE] < 0:
        a, b = m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B]
        sign = 0.0
        if b < 0 and floats_freely(m, a):
            sign = m.rows[r, SIGN]
        elif b >= 0 and floats_freely(m, a) and not floats_freely(m, b):
            sign = 1.0
        elif b >= 0 and floats_freely(m, b) and not floats_freely(m, a):
            sign = -1.0
        for i in range(6):
            m.numbers[PART_OUTSIDE + i] += sign * impulse * m.row_wrench[r, i]


def book_free(m: Arrays, f: int, h: float) -> None:
    """Weight and forces on a free body: they act at its centre, in flight at that of half the step."""
    at, mass = m.nodes[f, AT], m.inertia[f, MASS]
    half = 0.0 if m.nodes[f, TOUCHED] > 0 else 0.5 * h
    for i in range(3):
        pull = m.free[at + 3 + i] - m.before[at + 3 + i] - h * m.numbers[GRAVITY + i]
        m.spin[i], m.spin[3 + i] = mass * pull, mass * (pull + h * m.numbers[GRAVITY + i])
        m.spin[6 + i] = m.center[f, i] + half * m.before[at + 3 + i]
        m.numbers[PART_WORK] += 0.5 * m.spin[i] * (m.v[at + 3 + i] + m.before[at + 3 + i])
        m.numbers[PART_WORK] += 0.5 * h * m.moment[f, i] * (m.v[at + i] + m.before[at + i])
        m.numbers[PART_OUTSIDE + i] += h * m.moment[f, i]
        if m.nodes[f, TOUCHED] > 0:
            m.numbers[PART_LOSS] += 0.5 * h * mass * m.numbers[GRAVITY + i] * (m.v[at + 3 + i] - m.before[at + 3 + i])
    add_outside(m, m.spin[6], m.spin[7], m.spin[8], m.spin[3], m.spin[4], m.spin[5])


def book_tree(m: Arrays, node: int, h: float) -> None:
    """Forces on the joints of a tree; weight and forces at a root that is free."""
    at = m.nodes[node, OWN_AT]
    for i in range(at, at + m.nodes[node, OWN]):
        mean, change = 0.5 * (m.v[i] + m.before[i]), 0.5 * (m.v[i] - m.before[i])
        held = m.viscous[i] * m.v[i] + m.elastic[i] * (m.deflection[i] + h * m.v[i])
        explicit = m.generalized[i] + m.elastic[i] * m.deflection[i]
        m.numbers[PART_WORK] += h * (m.applied[i] * mean - held * m.v[i])
        m.numbers[PART_LOSS] += h * (explicit - held) * change
    for s in range(m.modal_start[node], m.modal_start[node + 1]):
        i, j = m.modal_wholes[s, 0], m.modal_wholes[s, 1]
        stiffness, change = m.modal_numbers[s, MODAL_STIFFNESS], 0.5 * (m.v[i] - m.before[i])
        held = m.modal_numbers[s, MODAL_DAMPING] * m.v[j] + stiffness * (m.deflection[j] + h * m.v[j])
        m.numbers[PART_WORK] -= h * held * m.v[i]
        m.numbers[PART_LOSS] += h * (stiffness * m.deflection[j] - held) * change
    if m.nodes[node, TREE] == 2:
        body = m.nodes[node, BODY]
        for i in range(6):
            m.numbers[PART_OUTSIDE + i] += h * m.weight[node, i]
        for i in range(3):
            m.spin[i], m.spin[3 + i] = 0.0, 0.0
            for k in range(3):
                m.spin[i] += h * m.pose[body, 3 * i + k] * m.applied[at + k]
                m.spin[3 + i] += h * m.pose[body, 3 * i + k] * m.applied[at + 3 + k]
            m.numbers[PART_OUTSIDE + i] += m.spin[i]
        x, y, z = m.pose[body, 9], m.pose[body, 10], m.pose[body, 11]
        add_outside(m, x, y, z, m.spin[3], m.spin[4], m.spin[5])


def tell_part(m: Arrays, h: float, impact: int) -> None:
    """The books of a part of the step, after its solve and before it moves anything."""
    m.numbers[PART_WORK], m.numbers[PART_LOSS] = 0.0, 0.0
    for i in range(6):
        m.numbers[PART_OUTSIDE + i] = 0.0
    m.counts[PLACES] = 0
    if m.counts[TELLING] == 0:
        return
    give(m, 0)
    for c in range(m.counts[CONTACTS]):
        if (impact == 0 or m.closing[c] > 0) and m.contacts[c, IMPULSE + 2] != 0.0:
            book_contact(m, c, h)
    if impact > 0:
        for r in range(m.counts[ROWS]):
            if m.rows[r, ROW_IMPULSE] != 0.0:
                book_row(m, r, h)
        return
    m.counts[STOPPED] = 0
    for r in range(m.counts[ROWS]):
        if m.rows[r, ROW_IMPULSE] != 0.0:
            book_row(m, r, h)
            if m.row_wholes[r, LAW] == LIMIT_LAW:
                m.counts[STOPPED] += 1
    for f in range(m.counts[FIRST_TREE]):
        book_free(m, f, h)
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        book_tree(m, node, h)


def met_row(m: Arrays, a: int, b: int) -> int:
    """The row of `met` of two shapes; a new one where they had none."""
    for k in range(m.counts[MET]):
        i = m.counts[MET] - 1 - k
        if m.met_shapes[i, 0] == a and m.met_shapes[i, 1] == b:
            return i
    i = m.counts[MET]
    if i >= m.counts[ROOM]:
        m.counts[FULL] = 1
        return 0
    m.counts[MET] = i + 1
    m.met_shapes[i, 0], m.met_shapes[i, 1] = a, b
    for j in range(MET_FLOATS):
        m.met[i, j] = 0.0
    m.met[i, MET_WHEN] = 1e300
    return i


def book_part(m: Arrays) -> None:
    """Add an accepted part of the step to the books of the whole."""
    m.numbers[WORK] += m.numbers[PART_WORK]
    m.numbers[LOSS] += m.numbers[PART_LOSS]
    for i in range(6):
        m.numbers[OUTSIDE + i] += m.numbers[PART_OUTSIDE + i]
    for i in range(m.counts[MET]):
        m.met[i, MET_LAST], m.met[i, MET_SLIDES] = 0.0, 0.0
    for k in range(m.counts[PLACES]):
        i = met_row(m, m.place_shapes[k, 0], m.place_shapes[k, 1])
        x, y, z = m.places[k, PLACE_POINT], m.places[k, PLACE_POINT + 1], m.places[k, PLACE_POINT + 2]
        fx, fy, fz = m.places[k, PLACE_IMPULSE], m.places[k, PLACE_IMPULSE + 1], m.places[k, PLACE_IMPULSE + 2]
        m.met[i, MET_IMPULSE] += y * fz - z * fy + m.places[k, PLACE_TURN]
        m.met[i, MET_IMPULSE + 1] += z * fx - x * fz + m.places[k, PLACE_TURN + 1]
        m.met[i, MET_IMPULSE + 2] += x * fy - y * fx + m.places[k, PLACE_TURN + 2]
        m.met[i, MET_IMPULSE + 3] += fx
        m.met[i, MET_IMPULSE + 4] += fy
        m.met[i, MET_IMPULSE + 5] += fz
        normal, length = m.places[k, PLACE_NORMAL], m.places[k, PLACE_LENGTH]
        m.met[i, MET_NORMAL] += normal
        m.met[i, MET_WHEN] = min(m.met[i, MET_WHEN], m.places[k, PLACE_WHEN])
        if length > 0.0:  # an impact takes no time and has an impulse, but no force
            m.met[i, MET_PEAK] = max(m.met[i, MET_PEAK], normal / length)
            m.met[i, MET_LAST] += normal / length
            m.met[i, MET_SLIDES] = max(m.met[i, MET_SLIDES], m.places[k, PLACE_SLIDES])


BOOKS = (
    *(floats_freely, clear_books, add_outside, tell_place, book_contact, book_row, book_free, book_tree, tell_part),
    *(met_row, book_part),
)
