"""Lengths of tendons and their Jacobians at a state, as loops that are compiled with the step.

A term adds to the length and, as a wrench of unit force about the world's origin, to J: a rate's share is the power of
that wrench on the rate's screw, summed over the bodies that it acts on.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    BLOCK,
    BOUND,
    DRY_LAW,
    EQUAL_LAW,
    FIRST,
    HIGH,
    LAW,
    LIMIT_LAW,
    LOW,
    OWN,
    OWN_AT,
    ROW_JAC_A,
    ROW_NODE_A,
    ROW_NODE_B,
    ROW_Q,
    SECOND,
    SERVO_LAW,
    SIGN,
    VALUE,
    WIDEST,
)
from phistar.geometry.contact_report import TOUCHING

JOINT_TERM, STRETCH_TERM, THRUST_TERM = range(3)

# `term_wholes`: the kind, the tendon, and the bodies of both ends (−1: the world); of a joint its coordinate and rate
TERM_KIND, TERM_TENDON, TERM_BODY, TERM_RATE = range(4)
TERM_WHOLES = 4
# `tendon_terms`: factor, the two ends on their bodies; of a thrust its place, moment and force in the body's axes
TERM_FACTOR, TERM_END, TERM_WRENCH = 0, 1, 4
TERM_FLOATS = 10
# `tendon_wholes`: nodes, and where their Jacobians begin
TENDON_NODE, TENDON_JAC = 0, 2
TENDON_WHOLES = 4
TERMS, TENDONS, TENDON_ROWS = range(3)  # `tendon_counts`
ROW_SLACK = 13  # of a row's floats: how long the interval is, from BOUND on, in which a spring is slack

STOP_TIME = 0.01  # s: how fast a stop gives
BRISTLE_TIME = 1e-3  # s: the time constant of dry friction's bristle


def place_end(m: Arrays, e: int, side: int) -> None:
    """World position of an end of a term, in `tendon_ends`."""
    body, at = m.term_wholes[e, TERM_BODY + side], TERM_END + 3 * side
    for i in range(3):
        place = m.tendon_terms[e, at + i]
        if body >= 0:
            place = m.pose[body, 9 + i]
            for k in range(3):
                place += m.pose[body, 3 * i + k] * m.tendon_terms[e, at + k]
        m.tendon_ends[3 * side + i] = place


def add_unit(m: Arrays, t: int, body: int, factor: float) -> None:
    """The Jacobian of tendon t gains `factor` times the power of `tendon_unit`, a wrench on a body."""
    node = m.tree_of[body]
    side = 0 if node == m.tendon_wholes[t, TENDON_NODE] else 1
    own, to = body * m.counts[WIDEST], m.tendon_wholes[t, TENDON_JAC + side]
    for j in range(m.nodes[node, OWN]):
        s = m.screw_of[own + j]
        for i in range(6):
            m.row_jacobian[to + j] += factor * m.tendon_unit[i] * m.screws[s, i]
    for i in range(6):
        m.tendon_wrench[2 * t + side, i] += factor * m.tendon_unit[i]


def turn_about_origin(m: Arrays) -> None:
    """`tendon_unit` gains the moment of its force at the first of `tendon_ends`."""
    x, y, z = m.tendon_ends[0], m.tendon_ends[1], m.tendon_ends[2]
    m.tendon_unit[0] += y * m.tendon_unit[5] - z * m.tendon_unit[4]
    m.tendon_unit[1] += z * m.tendon_unit[3] - x * m.tendon_unit[5]
    m.tendon_unit[2] += x * m.tendon_unit[4] - y * m.tendon_unit[3]


def add_stretch(m: Arrays, e: int) -> None:
    """A straight way between two points: the same unit wrench at one end and against it at the other."""
    t, a, b = m.term_wholes[e, TERM_TENDON], m.term_wholes[e, TERM_BODY], m.term_wholes[e, TERM_BODY + 1]
    place_end(m, e, 0)
    place_end(m, e, 1)
    size = 0.0
    for i in range(3):
        away = m.tendon_ends[3 + i] - m.tendon_ends[i]
        m.tendon_unit[i], m.tendon_unit[3 + i] = 0.0, away
        size += away * away
    size = sqrt(size)
    share = m.tendon_terms[e, TERM_FACTOR]
    m.tendon_length[t] += share * size
    if a == b or size < 1e-12:
        return
    for i in range(3):
        m.tendon_unit[3 + i] /= size
    turn_about_origin(m)
    if a >= 0:
        add_unit(m, t, a, -share)
    if b >= 0:
        add_unit(m, t, b, share)


def add_thrust(m: Arrays, e: int) -> None:
    """A wrench that is fixed in a body."""
    t, body = m.term_wholes[e, TERM_TENDON], m.term_wholes[e, TERM_BODY]
    if body < 0:
        return
    place_end(m, e, 0)
    for i in range(3):
        m.tendon_unit[i], m.tendon_unit[3 + i] = 0.0, 0.0
        for k in range(3):
            m.tendon_unit[i] += m.pose[body, 3 * i + k] * m.tendon_terms[e, TERM_WRENCH + k]
            m.tendon_unit[3 + i] += m.pose[body, 3 * i + k] * m.tendon_terms[e, TERM_WRENCH + 3 + k]
    turn_about_origin(m)
    add_unit(m, t, body, 1.0)


def add_joint_term(m: Arrays, e: int) -> None:
    t, rate, factor = m.term_wholes[e, TERM_TENDON], m.term_wholes[e, TERM_RATE], m.tendon_terms[e, TERM_FACTOR]
    m.tendon_length[t] += factor * m.q[m.term_wholes[e, TERM_BODY]]
    for side in range(2):
        node = m.tendon_wholes[t, TENDON_NODE + side]
        if node >= 0:
            j = rate - m.nodes[node, OWN_AT]
            if j >= 0 and j < m.nodes[node, OWN]:
                m.row_jacobian[m.tendon_wholes[t, TENDON_JAC + side] + j] += factor


def tendon_mass(m: Arrays, t: int) -> float:
    """The inertia that a force along a tendon meets, 1/Σ J²/ℳ(i,i)."""
    softness = 0.0
    for side in range(2):
        node = m.tendon_wholes[t, TENDON_NODE + side]
        if node >= 0:
            n, block, at = m.nodes[node, OWN], m.nodes[node, BLOCK], m.tendon_wholes[t, TENDON_JAC + side]
            for j in range(n):
                entry, inertia = m.row_jacobian[at + j], m.inertias[block + j * (n + 1)]
                if inertia > 0.0:
                    softness += entry * entry / inertia
    return 1.0 / softness if softness > 0.0 else 0.0


def write_tendon_row(m: Arrays, r: int) -> None:
    """A row's own Jacobian and wrench, and the strengths that follow from the inertia it meets."""
    t, sign, law = m.row_wholes[r, ROW_Q], m.rows[r, SIGN], m.row_wholes[r, LAW]
    for side in range(2):
        node = m.row_wholes[r, ROW_NODE_A + side]
        if node >= 0:
            own, source = m.row_wholes[r, ROW_JAC_A + side], m.tendon_wholes[t, TENDON_JAC + side]
            for j in range(m.nodes[node, OWN]):
                m.row_jacobian[own + j] = sign * m.row_jacobian[source + j]
    sign = sign if m.row_wholes[r, ROW_NODE_B] >= 0 else 1.0  # SIGN itself is applied where there is one node
    for i in range(6):
        m.row_wrench[r, i] = sign * m.tendon_wrench[2 * t, i]
    if law == LIMIT_LAW:
        m.rows[r, SECOND] = tendon_mass(m, t) * m.rows[r, FIRST] / (STOP_TIME * STOP_TIME)
    elif law == DRY_LAW:
        mass = max(tendon_mass(m, t), 1e-12)
        m.rows[r, FIRST], m.rows[r, SECOND] = mass / (BRISTLE_TIME * BRISTLE_TIME), mass / BRISTLE_TIME
    elif law == EQUAL_LAW:
        m.rows[r, FIRST] = tendon_mass(m, t)


def write_tendons(m: Arrays) -> None:
    """Lengths, Jacobians and wrenches at the state, and those of the rows."""
    for t in range(m.tendon_counts[TENDONS]):
        m.tendon_length[t] = 0.0
        for side in range(2):
            for i in range(6):
                m.tendon_wrench[2 * t + side, i] = 0.0
            for j in range(m.counts[WIDEST]):
                m.row_jacobian[m.tendon_wholes[t, TENDON_JAC + side] + j] = 0.0
    for e in range(m.tendon_counts[TERMS]):
        kind = m.term_wholes[e, TERM_KIND]
        if kind == JOINT_TERM:
            add_joint_term(m, e)
        elif kind == STRETCH_TERM:
            add_stretch(m, e)
        else:
            add_thrust(m, e)
    for k in range(m.tendon_counts[TENDON_ROWS]):
        write_tendon_row(m, m.tendon_rows[k])


def read_tendon_row(m: Arrays, r: int) -> None:
    """Distance of a tendon from its stop, from a servo's reference, or from where its spring is slack."""
    law, length, low = m.row_wholes[r, LAW], m.tendon_length[m.row_wholes[r, ROW_Q]], m.rows[r, BOUND]
    slack = m.rows[r, ROW_SLACK]
    if law == LIMIT_LAW:
        room = m.rows[r, SIGN] * (length - low)
        m.rows[r, VALUE] = room if room > 0.0 else TOUCHING * m.rows[r, FIRST]
    elif law == EQUAL_LAW:
        m.rows[r, VALUE] = length - low
    elif law == SERVO_LAW:
        m.rows[r, VALUE] = low - length
        if slack > 0.0:
            below, above = length < low, length > low + slack
            m.rows[r, VALUE] = low - length if below else low + slack - length
            m.rows[r, LOW] = -1e300 if above else 0.0
            m.rows[r, HIGH] = 1e300 if below else 0.0


TENDON_MOVES = (
    *(place_end, turn_about_origin, add_unit, add_stretch, add_thrust, add_joint_term, tendon_mass),
    *(write_tendon_row, write_tendons, read_tendon_row),
)
