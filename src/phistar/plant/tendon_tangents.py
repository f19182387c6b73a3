"""Tendons of a step, linearized: how the Jacobian of a length, and the inertia that it meets, change with places."""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import BLOCK, FIRST_TREE, OWN, OWN_AT, ROW_IMPULSE, ROW_Q, SIGN
from phistar.plant.contact_tangents import involve
from phistar.plant.tangent_columns import BENDING_CALL, RATES_OF, adjoint, bend_at, coadjoint, screw_at, still
from phistar.plant.tendon_moves import (
    JOINT_TERM,
    STRETCH_TERM,
    TENDON_JAC,
    TENDON_NODE,
    TENDON_ROWS,
    TENDONS,
    TERM_BODY,
    TERM_FACTOR,
    TERM_KIND,
    TERM_TENDON,
    TERM_WRENCH,
    TERMS,
    place_end,
    tendon_mass,
    turn_about_origin,
)


def diagonal_of(m: Arrays, j: int) -> float:
    """ℳ(j, j)."""
    node = m.node_of_rate[j]
    n = m.nodes[node, OWN]
    return m.inertias[m.nodes[node, BLOCK] + (j - m.nodes[node, OWN_AT]) * (n + 1)]


def entry_of(m: Arrays, t: int, j: int) -> float:
    """The Jacobian of a tendon's length at rate j."""
    node = m.node_of_rate[j]
    at = (
        m.tendon_wholes[t, TENDON_JAC]
        if node == m.tendon_wholes[t, TENDON_NODE]
        else m.tendon_wholes[t, TENDON_JAC + 1]
    )
    return m.row_jacobian[at + j - m.nodes[node, OWN_AT]]


def add_turn(m: Arrays, t: int, j: int, k: int, change: float) -> None:
    """∂J_j/∂δ_k of a tendon gains a change: in what turns its force, its rate and its inertia."""
    total = m.tangent_counts[RATES_OF]
    m.turned_by[j * total + k] += m.tendon_pull[t] * change
    m.tendon_speed_by[t * total + k] += change * m.v[j]
    if m.tendon_inertia[t] > 0.0:
        mass = m.tendon_inertia[t]
        m.tendon_inertia_by[t * total + k] -= 2.0 * mass * mass * entry_of(m, t, j) * change / diagonal_of(m, j)


def end_rates(m: Arrays, e: int, count: int) -> None:
    """Motion of both ends of a stretch with every rate, in `end_by`."""
    for x in range(count):
        j = m.involved[x]
        for side in range(2):
            s = screw_at(m, m.term_wholes[e, TERM_BODY + side], j)
            p, q, r = m.tendon_ends[3 * side], m.tendon_ends[3 * side + 1], m.tendon_ends[3 * side + 2]
            a, b, c = m.axes[s, 0], m.axes[s, 1], m.axes[s, 2]
            m.end_by[x, 3 * side] = m.axes[s, 3] + b * r - c * q
            m.end_by[x, 3 * side + 1] = m.axes[s, 4] + c * p - a * r
            m.end_by[x, 3 * side + 2] = m.axes[s, 5] + a * q - b * p


def turn_screw(m: Arrays, moved: int, by: int, after: float) -> None:
    """`carried`, the change of a screw by the place of another's rate, by their rows: `after` times ad(s_k)s_j, and how
    modes bend each other's."""
    for i in range(6):
        m.twisted[i] = m.axes[moved, i]
    adjoint(m, by)
    entry = bend_at(m, moved, by)
    for i in range(6):
        m.carried[i] = after * m.carried[i]
        if entry >= 0:
            m.carried[i] += m.bends[entry + i]


def curved_way(m: Arrays, e: int, x: int, y: int) -> float:
    """u·(∂p_b,j − ∂p_a,j)/∂δ_k along the unit u of a stretch, j = involved[x] and k = involved[y]."""
    j, k, total, sum_ = m.involved[x], m.involved[y], m.tangent_counts[RATES_OF], 0.0
    u, v, w = m.stretch_unit[0], m.stretch_unit[1], m.stretch_unit[2]
    for side in range(2):
        place = m.term_wholes[e, TERM_BODY + side]
        moved, by = screw_at(m, place, j), screw_at(m, place, k)
        if moved < still(m) and by < still(m):
            turn_screw(m, moved, by, m.comes_before[k * total + j])
            p, q, r = m.tendon_ends[3 * side], m.tendon_ends[3 * side + 1], m.tendon_ends[3 * side + 2]
            a, b, c = m.carried[0], m.carried[1], m.carried[2]
            f, g, l = m.end_by[y, 3 * side], m.end_by[y, 3 * side + 1], m.end_by[y, 3 * side + 2]
            d, s, o = m.axes[moved, 0], m.axes[moved, 1], m.axes[moved, 2]
            along = u * (m.carried[3] + b * r - c * q + s * l - o * g)
            along += v * (m.carried[4] + c * p - a * r + o * f - d * l)
            along += w * (m.carried[5] + a * q - b * p + d * g - s * f)
            sum_ += along if side == 1 else -along
    return sum_


def stretch_tangents(m: Arrays, e: int, count: int) -> None:
    """A straight way between two points."""
    t, share, size = m.term_wholes[e, TERM_TENDON], m.tendon_terms[e, TERM_FACTOR], 0.0
    place_end(m, e, 0)
    place_end(m, e, 1)
    for i in range(3):
        m.stretch_unit[i] = m.tendon_ends[3 + i] - m.tendon_ends[i]
        size += m.stretch_unit[i] * m.stretch_unit[i]
    size = sqrt(size)
    if size < 1e-12 or m.term_wholes[e, TERM_BODY] == m.term_wholes[e, TERM_BODY + 1]:
        return
    for i in range(3):
        m.stretch_unit[i] /= size
    end_rates(m, e, count)
    for y in range(count):
        along = 0.0
        for i in range(3):
            m.stretch_by[i] = m.end_by[y, 3 + i] - m.end_by[y, i]
            along += m.stretch_unit[i] * m.stretch_by[i]
        for i in range(3):
            m.stretch_by[i] = (m.stretch_by[i] - along * m.stretch_unit[i]) / size
        for x in range(count):
            turn = curved_way(m, e, x, y)
            for i in range(3):
                turn += m.stretch_by[i] * (m.end_by[x, 3 + i] - m.end_by[x, i])
            add_turn(m, t, m.involved[x], m.involved[y], share * turn)
        push_stretch(m, e, y)


def push_stretch(m: Arrays, e: int, y: int) -> None:
    """Derivative of a stretch's wrench on floating trees by the place of rate involved[y]."""
    t, total, k = m.term_wholes[e, TERM_TENDON], m.tangent_counts[RATES_OF], m.involved[y]
    first, factor = m.tendon_wholes[t, TENDON_NODE], 0.0
    for side in range(2):
        body = m.term_wholes[e, TERM_BODY + side]
        if body >= 0 and m.tree_of[body] == first:
            factor += m.tendon_terms[e, TERM_FACTOR] if side == 1 else -m.tendon_terms[e, TERM_FACTOR]
    factor *= m.tendon_pull[t]
    if factor == 0.0:
        return
    p, q, r = m.tendon_ends[0], m.tendon_ends[1], m.tendon_ends[2]
    u, v, w = m.stretch_unit[0], m.stretch_unit[1], m.stretch_unit[2]
    a, b, c = m.end_by[y, 0], m.end_by[y, 1], m.end_by[y, 2]
    d, e_, f = m.stretch_by[0], m.stretch_by[1], m.stretch_by[2]
    m.twisted[0], m.twisted[1] = b * w - c * v + q * f - r * e_, c * u - a * w + r * d - p * f
    m.twisted[2] = a * v - b * u + p * e_ - q * d
    m.twisted[3], m.twisted[4], m.twisted[5] = d, e_, f
    for i in range(6):
        m.wrench_place[(6 * first + i) * total + k] += factor * m.twisted[i]
        if m.tendon_wholes[t, TENDON_NODE + 1] >= 0:
            m.wrench_place[(6 * m.tendon_wholes[t, TENDON_NODE + 1] + i) * total + k] -= factor * m.twisted[i]


def thrust_tangents(m: Arrays, e: int, count: int) -> None:
    """A wrench W that is fixed in a body: ∂J_j/∂δ_k = (before(k, j) − 1) ad(s_k)s_j·W, where both move it."""
    t, body, total = m.term_wholes[e, TERM_TENDON], m.term_wholes[e, TERM_BODY], m.tangent_counts[RATES_OF]
    if body < 0:
        return
    place_end(m, e, 0)
    for i in range(3):
        m.tendon_unit[i], m.tendon_unit[3 + i] = 0.0, 0.0
        for k in range(3):
            m.tendon_unit[i] += m.pose[body, 3 * i + k] * m.tendon_terms[e, TERM_WRENCH + k]
            m.tendon_unit[3 + i] += m.pose[body, 3 * i + k] * m.tendon_terms[e, TERM_WRENCH + 3 + k]
    turn_about_origin(m)
    for y in range(count):
        k = m.involved[y]
        by = screw_at(m, body, k)
        if by < still(m):
            for x in range(count):
                j, turn = m.involved[x], 0.0
                moved = screw_at(m, body, j)
                if moved < still(m):
                    turn_screw(m, moved, by, m.comes_before[k * total + j] - 1.0)
                    for i in range(6):
                        turn += m.carried[i] * m.tendon_unit[i]
                    add_turn(m, t, j, k, turn)
            for i in range(6):
                m.twisted[i] = m.tendon_unit[i]
            coadjoint(m, by)
            for i in range(6):
                m.wrench_place[(6 * m.tree_of[body] + i) * total + k] -= m.tendon_pull[t] * m.carried[i]


def heavier_tendon(m: Arrays, t: int, count: int) -> None:
    """The inertia that a tendon meets changes with ℳ(j, j): by what lies beyond j, and by what bends."""
    total, mass = m.tangent_counts[RATES_OF], m.tendon_inertia[t]
    for x in range(count):
        j = m.involved[x]
        node, entry = m.node_of_rate[j], entry_of(m, t, j) / diagonal_of(m, j)
        bent = m.tangent_calls[node - m.counts[FIRST_TREE], BENDING_CALL] != 0
        for y in range(count):
            k = m.involved[y]
            if bent and m.node_of_rate[k] == node:
                at = m.nodes[node, BLOCK] + (j - m.nodes[node, OWN_AT]) * m.nodes[node, OWN] + k - m.nodes[node, OWN_AT]
                m.tendon_inertia_by[t * total + k] += mass * mass * entry * entry * m.mass_slopes[at]
            if not bent and m.comes_before[j * total + k] > 0.0 and m.body_of_rate[j] != m.body_of_rate[k]:
                for i in range(6):
                    m.twisted[i] = m.axes[j, i]
                adjoint(m, k)
                change, at = 0.0, 36 * m.body_of_rate[k]
                for i in range(6):
                    for l in range(6):
                        change -= 2.0 * m.axes[j, i] * m.composite[at + 6 * i + l] * m.carried[l]
                m.tendon_inertia_by[t * total + k] += mass * mass * entry * entry * change


def tendon_tangents(m: Arrays) -> None:
    """`turned_by`, and by rows `speed_by`, `inertia_by` and `met_inertia`."""
    total, tendons = m.tangent_counts[RATES_OF], m.tendon_counts[TENDONS]
    for t in range(tendons):
        m.tendon_pull[t], m.tendon_inertia[t] = 0.0, tendon_mass(m, t)
        for k in range(total):
            m.tendon_speed_by[t * total + k], m.tendon_inertia_by[t * total + k] = 0.0, 0.0
    for x in range(m.tendon_counts[TENDON_ROWS]):
        r = m.tendon_rows[x]
        m.tendon_pull[m.row_wholes[r, ROW_Q]] += m.rows[r, SIGN] * m.rows[r, ROW_IMPULSE]
    for e in range(m.tendon_counts[TERMS]):
        t, kind = m.term_wholes[e, TERM_TENDON], m.term_wholes[e, TERM_KIND]
        count = involve(m, m.tendon_wholes[t, TENDON_NODE], m.tendon_wholes[t, TENDON_NODE + 1])
        if kind == STRETCH_TERM:
            stretch_tangents(m, e, count)
        elif kind != JOINT_TERM:
            thrust_tangents(m, e, count)
    for t in range(tendons):
        if m.tendon_inertia[t] > 0.0:
            heavier_tendon(m, t, involve(m, m.tendon_wholes[t, TENDON_NODE], m.tendon_wholes[t, TENDON_NODE + 1]))
    for x in range(m.tendon_counts[TENDON_ROWS]):
        r = m.tendon_rows[x]
        t = m.row_wholes[r, ROW_Q]
        m.met_inertia[r] = m.tendon_inertia[t]
        for k in range(total):
            m.speed_by[r * total + k] = m.rows[r, SIGN] * m.tendon_speed_by[t * total + k]
            m.inertia_by[r * total + k] = m.tendon_inertia_by[t * total + k]


TENDON_TANGENTS = (
    *(diagonal_of, entry_of, add_turn, end_rates, turn_screw, curved_way, push_stretch, stretch_tangents),
    *(thrust_tangents, heavier_tendon, tendon_tangents),
)
