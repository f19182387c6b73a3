"""A long tree as a node of the solve: in the span of what touches it, S = Y*D⁻¹Y with Y = HψBQ*.

Directions are unit wrenches at the bodies that contacts touch and unit forces on rates whose rows may reach their
bounds. x = A⁻¹g of each, A = ℳ + hB + h²K, is one column of a kernel that runs link by link; of the directions, of
A v and of h f the products g·x are S bordered, and its factor L has the coordinates of all of them in a basis that is
orthonormal in A: the block is I, rates are rows of L, and v⁺ = v* + Σ x λ. Redundant directions have no pivot, so that
S may be singular. Where that costs more than ℳ itself, or there are more directions than rates, all rates are unknowns.

Rows on single rates sleep while their law is linear, which is then part of A (`sleeping_rows.py`).
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays, wide_range
from phistar.constraints.columns import (
    AT,
    BLOCK,
    BLOCKS_MADE,
    BODY_A,
    CONTACTS,
    CONVERGED_NODE,
    FIRST,
    FIRST_TREE,
    IMPULSE,
    LAW,
    LIMIT_LAW,
    LONG,
    NODE_A,
    NODES,
    NORMAL,
    OWN,
    OWN_AT,
    PATCH,
    POINT,
    ROW_ASLEEP,
    ROW_IMPULSE,
    ROW_JAC_A,
    ROW_NODE_A,
    ROW_RATE,
    ROWS,
    SECOND,
    SIGN,
    SIZE,
    SPANNED,
    SPANS_MADE,
    TANGENT,
    TOUCHED,
    WHOLE,
)
from phistar.plant.long_trees import (
    COLUMN_COST,
    COLUMNS_AT,
    FACTOR_AT,
    LIST_AT,
    MATRIX,
    MATRIX_COST,
    RESPONSE,
    SPAN_AT,
    SPAN_ROWS_AT,
)
from phistar.plant.sleeping_rows import SLEEPING, awake_rows, linear_impulse, wake_rows
from phistar.plant.tree_columns import ask

EMPTY = 1e-13  # of a direction's own g·x: what is left below it, the others have
NEWTONS = 4  # solves of a step in all rates: two of the free motion, and Newton's own
LANES = 4  # columns that one pass of the links takes


def list_directions(m: Arrays, node: int) -> int:
    """The bodies of a tree that are touched, in `span_list` from its start, and the rows that are awake, from its end;
    how many directions that makes, or −1 where a loop acts on it."""
    first = m.long_wholes[m.nodes[node, LONG] - 1, LIST_AT]
    last, bodies, awake = first + m.nodes[node, OWN], 0, 0
    for c in range(m.counts[CONTACTS]):
        for side in range(2):
            if m.contact_wholes[c, NODE_A + side] == node:
                m.span_of[m.contact_wholes[c, BODY_A + side]] = -1
    for c in range(m.counts[CONTACTS]):
        for side in range(2):
            body = m.contact_wholes[c, BODY_A + side]
            if m.contact_wholes[c, NODE_A + side] == node and m.span_of[body] < 0:
                if 6 * (bodies + 1) > m.nodes[node, OWN]:
                    return -1
                m.span_of[body] = bodies
                m.span_list[first + bodies] = body
                bodies += 1
    for r in range(m.counts[ROWS]):
        if m.row_wholes[r, ROW_NODE_A] == node or m.row_wholes[r, ROW_NODE_A + 1] == node:
            if m.row_wholes[r, ROW_RATE] < 0:  # a closure or a tendon
                return -1
            if m.row_wholes[r, ROW_ASLEEP] == 0:
                awake += 1
                if 6 * bodies + awake > m.nodes[node, OWN]:
                    return -1
                m.span_list[last - awake] = r
    return 6 * bodies + awake


def is_cheaper(m: Arrays, node: int, directions: int) -> bool:
    """Whether a step in the span of so many directions has fewer operations than one in all rates."""
    tree, n = m.nodes[node, LONG] - 1, m.nodes[node, OWN]
    if directions < 0 or directions + 2 > n:
        return False
    passes = (directions + LANES) // LANES
    spanned = passes * m.long_wholes[tree, COLUMN_COST] + (n + NEWTONS * directions) * directions * directions
    whole = m.long_wholes[tree, MATRIX_COST] + NEWTONS * n * n * n // 3
    return spanned < whole


def gather_forces(m: Arrays, node: int, h: float) -> None:
    """h f in the first column, f without the directions, and what is added to D(k) in the kernel's armatures."""
    tree, n, own = m.nodes[node, LONG] - 1, m.nodes[node, OWN], m.nodes[node, OWN_AT]
    to = m.long_wholes[tree, COLUMNS_AT]
    for j in wide_range(n):
        i = own + j
        extra = m.viscous[i] + h * m.elastic[i]
        m.columns[to + j] = h * (m.generalized[i] + m.applied[i] - extra * m.before[i])
        m.constants[m.motor_at[i]] = m.armature[i] + h * extra
    for r in range(m.counts[ROWS]):
        if m.row_wholes[r, ROW_NODE_A] == node and m.row_wholes[r, ROW_ASLEEP] > 0:
            j = m.row_wholes[r, ROW_RATE]
            if m.row_wholes[r, LAW] != LIMIT_LAW and h > 0.0:
                m.columns[to + j] += linear_impulse(m, r, h, m.before[own + j])
                m.constants[m.motor_at[own + j]] += h * (m.rows[r, SECOND] + h * m.rows[r, FIRST])


def gather_directions(m: Arrays, node: int, directions: int) -> None:
    """Unit wrenches at the touched bodies, [moment; force] about their origins, and unit forces, as columns."""
    tree, n, own = m.nodes[node, LONG] - 1, m.nodes[node, OWN], m.nodes[node, OWN_AT]
    first, to = m.long_wholes[tree, LIST_AT], m.long_wholes[tree, COLUMNS_AT] + n
    for i in range(n * directions):
        m.columns[to + i] = 0.0
    d = 0
    while d < directions and d + 6 <= directions - awake_rows(m, node):
        body = m.span_list[first + d // 6]
        x, y, z = m.pose[body, 9], m.pose[body, 10], m.pose[body, 11]
        up = body
        while up >= 0:
            for s in range(m.first_rate[up], m.last_rate[up]):
                j = s - own
                for i in range(3):
                    m.columns[to + (d + i) * n + j] = m.screws[s, i]
                m.columns[to + (d + 3) * n + j] = m.screws[s, 3] + m.screws[s, 1] * z - m.screws[s, 2] * y
                m.columns[to + (d + 4) * n + j] = m.screws[s, 4] + m.screws[s, 2] * x - m.screws[s, 0] * z
                m.columns[to + (d + 5) * n + j] = m.screws[s, 5] + m.screws[s, 0] * y - m.screws[s, 1] * x
            up = m.above[up]
        d += 6
    for k in range(directions - d):
        r = m.span_list[first + n - 1 - k]
        m.columns[to + (d + k) * n + m.row_wholes[r, ROW_RATE]] = m.rows[r, SIGN]


def make_gram(m: Arrays, node: int, directions: int, h: float) -> None:
    """g·x of the directions, of A v and of h f, the lower half."""
    tree, n, own = m.nodes[node, LONG] - 1, m.nodes[node, OWN], m.nodes[node, OWN_AT]
    at, width = m.long_wholes[tree, COLUMNS_AT], directions + 2
    momentum = directions * width
    for i in range(directions):
        for k in range(i + 1):
            total = 0.0
            for j in wide_range(n):
                total += m.columns[at + (1 + i) * n + j] * m.responses[at + (1 + k) * n + j]
            m.gram[i * width + k] = total
        along, forced = 0.0, 0.0
        for j in wide_range(n):
            along += m.columns[at + (1 + i) * n + j] * m.before[own + j]
            forced += m.columns[at + (1 + i) * n + j] * m.responses[at + j]
        m.gram[momentum + i], m.gram[momentum + width + i] = along, forced
    energy, forced, work = 0.0, 0.0, 0.0
    for j in wide_range(n):
        i = own + j
        seen = m.momentum[i] + (m.constants[m.motor_at[i]] - m.armature[i]) * m.before[i]
        energy += m.before[i] * seen
        forced += m.before[i] * m.columns[at + j]
        work += m.responses[at + j] * m.columns[at + j]
    m.gram[momentum + directions] = energy
    m.gram[momentum + width + directions] = forced
    m.gram[momentum + width + directions + 1] = work


def factor_gram(m: Arrays, node: int, width: int) -> int:
    """L of the Gram matrix, the largest of what is left first, as a part of what was; its rank."""
    to = m.long_wholes[m.nodes[node, LONG] - 1, FACTOR_AT]
    for i in range(width):
        m.drawn[i] = m.gram[i * width + i]
        m.remaining[i] = m.drawn[i]
    rank = 0
    for p in range(width):
        best, largest = -1, EMPTY
        for i in range(width):
            if m.drawn[i] > 0.0 and m.remaining[i] > largest * m.drawn[i]:
                best, largest = i, m.remaining[i] / m.drawn[i]
        if best < 0:
            for i in range(width):
                for q in range(p, width):
                    m.factor[to + i * width + q] = 0.0
            break
        pivot = sqrt(m.remaining[best])
        m.pivots[p] = best
        rank = p + 1
        for i in range(width):
            if m.remaining[i] < 0.0:
                m.factor[to + i * width + p] = 0.0
                continue
            total = m.gram[i * width + best] if i > best else m.gram[best * width + i]
            for q in wide_range(p):
                total -= m.factor[to + i * width + q] * m.factor[to + best * width + q]
            m.factor[to + i * width + p] = pivot if i == best else total / pivot
        for i in range(width):
            if m.remaining[i] >= 0.0:
                m.remaining[i] -= m.factor[to + i * width + p] * m.factor[to + i * width + p]
        m.remaining[best] = -1.0
    return rank


def prepare_span(m: Arrays, node: int, h: float) -> bool:
    """v* of a long tree, and its unknowns and block in the span of what touches it; False where that costs more than
    all rates, or they are asked for."""
    tree, n, own = m.nodes[node, LONG] - 1, m.nodes[node, OWN], m.nodes[node, OWN_AT]
    m.nodes[node, SPANNED] = 0
    directions = list_directions(m, node)
    if m.counts[WHOLE] > 0 or not is_cheaper(m, node, directions):
        return False
    gather_forces(m, node, h)
    gather_directions(m, node, directions)
    m.long_rows[tree, 0] = directions + 1
    ask(m.long_wholes[tree, RESPONSE], m.long_wholes[tree, RESPONSE + 1])
    at, width = m.long_wholes[tree, COLUMNS_AT], directions + 2
    for j in range(n):
        m.free[own + j] = m.before[own + j] + m.responses[at + j]
    make_gram(m, node, directions, h)
    rank = factor_gram(m, node, width)
    span, block, to = m.long_wholes[tree, SPAN_AT], m.nodes[node, BLOCK], m.long_wholes[tree, FACTOR_AT]
    m.nodes[node, SIZE], m.nodes[node, AT], m.nodes[node, SPANNED] = rank, span, width
    for i in range(rank * rank):
        m.mass[block + i] = 0.0
    for i in range(rank):
        m.mass[block + i * (rank + 1)] = 1.0
        m.before[span + i] = m.factor[to + directions * width + i]
        m.free[span + i] = m.before[span + i] + m.factor[to + (directions + 1) * width + i]
    place_rows(m, node, directions, rank)
    m.counts[SPANS_MADE] += 1
    return True


def place_rows(m: Arrays, node: int, directions: int, rank: int) -> None:
    """Jacobians of the rows that are awake, in the span."""
    tree, width = m.nodes[node, LONG] - 1, directions + 2
    last, to = m.long_wholes[tree, LIST_AT] + m.nodes[node, OWN], m.long_wholes[tree, SPAN_ROWS_AT]
    awake = awake_rows(m, node)
    for k in range(awake):
        r, source = m.span_list[last - 1 - k], (directions - awake + k) * width + m.long_wholes[tree, FACTOR_AT]
        m.row_wholes[r, ROW_JAC_A] = to + k * m.nodes[node, OWN]
        for i in range(rank):
            m.row_jacobian[to + k * m.nodes[node, OWN] + i] = m.factor[source + i]


def span_jacobian(m: Arrays, c: int, node: int, body: int, to: int, sign: float) -> None:
    """Rows t, s, n and about n of a contact for a body of a long tree: its wrench times rows of L."""
    rank, width = m.nodes[node, SIZE], m.nodes[node, SPANNED]
    source = m.long_wholes[m.nodes[node, LONG] - 1, FACTOR_AT] + 6 * m.span_of[body] * width
    x = m.contacts[c, POINT] - m.pose[body, 9]
    y = m.contacts[c, POINT + 1] - m.pose[body, 10]
    z = m.contacts[c, POINT + 2] - m.pose[body, 11]
    for row in range(3):
        axis = NORMAL if row == 2 else TANGENT + 3 * row
        a, b, d = sign * m.contacts[c, axis], sign * m.contacts[c, axis + 1], sign * m.contacts[c, axis + 2]
        p, q, s = y * d - z * b, z * a - x * d, x * b - y * a
        for i in wide_range(rank):
            turned = p * m.factor[source + i] + q * m.factor[source + width + i] + s * m.factor[source + 2 * width + i]
            pushed = a * m.factor[source + 3 * width + i] + b * m.factor[source + 4 * width + i]
            m.jacobian[to + row * rank + i] = turned + pushed + d * m.factor[source + 5 * width + i]
    for i in range(rank):
        total = 0.0
        for k in range(3):
            total += m.contacts[c, NORMAL + k] * m.factor[source + k * width + i]
        m.jacobian[to + 3 * rank + i] = sign * total


def weigh_directions(m: Arrays, node: int, impact: int) -> None:
    """Impulses of contacts and awake rows along each direction, in `remaining`."""
    tree, directions = m.nodes[node, LONG] - 1, m.nodes[node, SPANNED] - 2
    for i in range(directions):
        m.remaining[i] = 0.0
    for c in range(m.counts[CONTACTS]):
        for side in range(2):
            if m.contact_wholes[c, NODE_A + side] == node and (impact == 0 or m.closing[c] > 0):
                sign = 1.0 if side == 0 else -1.0
                body = m.contact_wholes[c, BODY_A + side]
                d = 6 * m.span_of[body]
                for i in range(3):
                    total = m.contacts[c, NORMAL + i] * m.contacts[c, IMPULSE + 2]
                    total += m.contacts[c, TANGENT + i] * m.contacts[c, IMPULSE]
                    m.turned[i] = sign * (total + m.contacts[c, TANGENT + 3 + i] * m.contacts[c, IMPULSE + 1])
                    m.remaining[d + 3 + i] += m.turned[i]
                    if m.contacts[c, PATCH] > 0.0:
                        m.remaining[d + i] += sign * m.contacts[c, NORMAL + i] * m.contacts[c, IMPULSE + 3]
                x = m.contacts[c, POINT] - m.pose[body, 9]
                y = m.contacts[c, POINT + 1] - m.pose[body, 10]
                z = m.contacts[c, POINT + 2] - m.pose[body, 11]
                m.remaining[d] += y * m.turned[2] - z * m.turned[1]
                m.remaining[d + 1] += z * m.turned[0] - x * m.turned[2]
                m.remaining[d + 2] += x * m.turned[1] - y * m.turned[0]
    if impact == 0:
        awake = awake_rows(m, node)
        for k in range(awake):
            r = m.span_list[m.long_wholes[tree, LIST_AT] + m.nodes[node, OWN] - 1 - k]
            m.remaining[directions - awake + k] = m.rows[r, ROW_IMPULSE]


def weigh_unknowns(m: Arrays, node: int) -> None:
    """The weights of the pivots that make v of the unknowns as they are, of a solve that did not converge: L*w = z."""
    width, rank, at = m.nodes[node, SPANNED], m.nodes[node, SIZE], m.nodes[node, AT]
    to = m.long_wholes[m.nodes[node, LONG] - 1, FACTOR_AT]
    for i in range(width):
        m.remaining[i] = 0.0
    for back in range(rank):
        p = rank - 1 - back
        total = m.v[at + p]
        for q in wide_range(p + 1, rank):
            total -= m.factor[to + m.pivots[q] * width + p] * m.remaining[m.pivots[q]]
        m.remaining[m.pivots[p]] = total / m.factor[to + m.pivots[p] * width + p]


def recover_span(m: Arrays, node: int, impact: int) -> None:
    """v⁺ = v* + Σ x λ of a long tree, all its own rates."""
    n, own = m.nodes[node, OWN], m.nodes[node, OWN_AT]
    directions = m.nodes[node, SPANNED] - 2
    at = m.long_wholes[m.nodes[node, LONG] - 1, COLUMNS_AT]
    for j in wide_range(n):
        m.v[own + j] = m.free[own + j]
    if m.nodes[node, TOUCHED] == 0:
        return
    if m.nodes[node, CONVERGED_NODE] > 0:
        weigh_directions(m, node, impact)
    else:
        weigh_unknowns(m, node)
        for j in wide_range(n):
            m.v[own + j] = m.remaining[directions] * m.before[own + j]
            m.v[own + j] += m.remaining[directions + 1] * m.responses[at + j]
    for i in range(directions):
        for j in wide_range(n):
            m.v[own + j] += m.remaining[i] * m.responses[at + (1 + i) * n + j]


def recover_spans(m: Arrays, h: float, impact: int) -> int:
    """v⁺ of every long tree that was solved in a span; how many rows woke."""
    woken = 0
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        if m.nodes[node, SPANNED] > 0:
            recover_span(m, node, impact)
            if impact == 0:
                woken += wake_rows(m, node, h)
    return woken


def make_matrix(m: Arrays, node: int) -> None:
    """ℳ of a long tree whose rates are all unknowns."""
    tree = m.nodes[node, LONG] - 1
    m.nodes[node, SIZE], m.nodes[node, AT] = m.nodes[node, OWN], m.nodes[node, OWN_AT]
    ask(m.long_wholes[tree, MATRIX], m.long_wholes[tree, MATRIX + 1])
    m.counts[BLOCKS_MADE] += 1


SPANS = (
    *(*SLEEPING, list_directions, is_cheaper, gather_forces, gather_directions, make_gram),
    *(factor_gram, place_rows, prepare_span, span_jacobian, weigh_directions, weigh_unknowns, recover_span),
    *(recover_spans, make_matrix),
)
