"""One island's step: v⁺ = argmin ½‖v − v*‖²_A + Σ ℓ(Jv) by Newton's method, whose line search never closes a gap.

A is a node's ℳ + hB + h²K, v* its rates without the constraints; the gradient A(v − v*) − J*λ vanishes at the step. In
the end v = v* + A⁻¹J*λ, so that momentum is exactly that of the impulses.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays, wide_range
from phistar.constraints.blocks import eliminate, factorize, substitute
from phistar.constraints.columns import (
    AT,
    BLOCK,
    BLOCKS,
    CHANGE,
    FAILED,
    FRICTION,
    FULL,
    HESSIAN,
    IMPULSE,
    ITERATIONS,
    JAC_A,
    JAC_B,
    LIMIT,
    NODE_A,
    NODE_B,
    PATCH,
    RATE,
    RESIDUAL,
    ROW_CHANGE,
    ROW_HESSIAN,
    ROW_IMPULSE,
    ROW_JAC_A,
    ROW_JAC_B,
    ROW_NODE_A,
    ROW_NODE_B,
    ROW_RATE,
    ROW_SPEED,
    SIGN,
    SIZE,
    SPANNED,
)
from phistar.constraints.constraint_rates import RATES_OF, clear_pushed, contact_rates, push_node, row_rate, turn_node
from phistar.constraints.laws import evaluate, evaluate_row
from phistar.constraints.line_search import SEARCH, look_along, search
from phistar.constraints.primal_dual import PRIMAL_DUAL, begin_dual, follow_dual, stiffen
from phistar.constraints.slipping import SLIPPING, any_slips, follow_slips

MOST, FROZEN = 60, 20  # iterations; from when on friction's limits stay
CONVERGED, TOLD = 1e-9, 1e-8  # of the impulses: where Newton's method ends, and what is told
NEAR = 0.05  # of the impulses: from where on directions know that friction's bounds follow normal impulses
SETTLES = 1e-6  # the same: up to where the rates are those of the impulses, and not as Newton's method left them
ROUNDED = 1e-5  # of a momentum: impulses below CONVERGED of it are lost in its last digits


def push_row(m: Arrays, r: int) -> None:
    """`pushed` gains a single row's J*λ."""
    a, b, rate = m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B], m.row_wholes[r, ROW_RATE]
    impulse = m.rows[r, ROW_IMPULSE]
    if rate >= 0 and m.nodes[a, SPANNED] == 0:
        m.pushed[m.nodes[a, AT] + rate] += m.rows[r, SIGN] * impulse
        return
    if a >= 0:
        for j in wide_range(m.nodes[a, SIZE]):
            m.pushed[m.nodes[a, AT] + j] += m.row_jacobian[m.row_wholes[r, ROW_JAC_A] + j] * impulse
    if b >= 0:
        for j in wide_range(m.nodes[b, SIZE]):
            m.pushed[m.nodes[b, AT] + j] += m.row_jacobian[m.row_wholes[r, ROW_JAC_B] + j] * impulse


def push_contact(m: Arrays, c: int) -> None:
    """`pushed` gains a contact's J*λ."""
    s, t, u = m.contacts[c, IMPULSE], m.contacts[c, IMPULSE + 1], m.contacts[c, IMPULSE + 2]
    if u != 0.0 or s != 0.0 or t != 0.0:
        for side in range(2):
            node = m.contact_wholes[c, NODE_A + side]
            if node >= 0:
                push_node(m, m.contact_wholes[c, JAC_A + side], node, s, t, u)
                if m.contacts[c, PATCH] > 0.0:
                    turn_node(m, m.contact_wholes[c, JAC_A + side], node, m.contacts[c, IMPULSE + 3])


def node_gradient(m: Arrays, node: int) -> float:
    """A(v − v*) − J*λ of a node in `side` and `slope`; the sum of its squares over A(i,i)."""
    n, at, block = m.nodes[node, SIZE], m.nodes[node, AT], m.nodes[node, BLOCK]
    for j in wide_range(n):
        m.side[at + j] = -m.pushed[at + j]
    for l in range(n):
        change = m.v[at + l] - m.free[at + l]
        for j in wide_range(n):
            m.side[at + j] += m.mass[block + l * n + j] * change
    missed = 0.0
    for j in wide_range(n):
        rest = m.side[at + j]
        missed += rest * rest / m.mass[block + j * n + j]
        m.slope[at + j] = rest
    return missed


def node_scale(m: Arrays, node: int) -> float:
    """The same sum of A(v − v*) and of J*λ, and of the digits that they may lose."""
    n, at, block = m.nodes[node, SIZE], m.nodes[node, AT], m.nodes[node, BLOCK]
    size = 0.0
    for j in wide_range(n):
        scale, total = m.mass[block + j * n + j], m.side[at + j] + m.pushed[at + j]
        digits = ROUNDED * scale * (abs(m.v[at + j]) + abs(m.free[at + j]))
        size += (digits * digits + total * total + m.pushed[at + j] * m.pushed[at + j]) / scale
    return size


def gradient(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int) -> float:
    """A(v − v*) − J*λ in `side` and `slope`, J*λ in `pushed`; its size as a part of both."""
    for i in range(k):
        clear_pushed(m, m.members[i])
    for x in range(first, last):
        push_contact(m, m.sorted[x])
    for x in range(row_first, row_last):
        push_row(m, m.sorted_rows[x])
    missed, size = 0.0, 1e-300
    for i in range(k):
        missed += node_gradient(m, m.members[i])
        size += node_scale(m, m.members[i])
    return sqrt(missed / size)


def add_product(m: Arrays, at: int, left: int, rows: int, right: int, columns: int, c: int) -> None:
    """The block at `at` gains J*WJ of a contact."""
    a, b = m.contacts[c, HESSIAN], m.contacts[c, HESSIAN + 1]
    d, e = m.contacts[c, HESSIAN + 2], m.contacts[c, HESSIAN + 3]
    for i in range(rows):
        s, t, u = m.jacobian[left + i], m.jacobian[left + rows + i], m.jacobian[left + 2 * rows + i]
        x, y, z = a * s + b * t, b * s + d * t, e * u
        if x != 0.0 or y != 0.0 or z != 0.0:  # a rate that moves the body
            for j in wide_range(columns):
                across = x * m.jacobian[right + j] + y * m.jacobian[right + columns + j]
                m.blocks[at + i * columns + j] += across + z * m.jacobian[right + 2 * columns + j]
    if m.contacts[c, PATCH] > 0.0 and m.contacts[c, HESSIAN + 4] > 0.0:
        for i in range(rows):
            x = m.contacts[c, HESSIAN + 4] * m.jacobian[left + 3 * rows + i]
            for j in wide_range(columns):
                m.blocks[at + i * columns + j] += x * m.jacobian[right + 3 * columns + j]


def add_square(m: Arrays, at: int, left: int, n: int, c: int) -> None:
    """The same on the diagonal, of which only the lower triangle is read."""
    a, b = m.contacts[c, HESSIAN], m.contacts[c, HESSIAN + 1]
    d, e = m.contacts[c, HESSIAN + 2], m.contacts[c, HESSIAN + 3]
    for i in range(n):
        s, t, u = m.jacobian[left + i], m.jacobian[left + n + i], m.jacobian[left + 2 * n + i]
        x, y, z = a * s + b * t, b * s + d * t, e * u
        if x != 0.0 or y != 0.0 or z != 0.0:
            for j in wide_range(i + 1):
                across = x * m.jacobian[left + j] + y * m.jacobian[left + n + j]
                m.blocks[at + i * n + j] += across + z * m.jacobian[left + 2 * n + j]
    if m.contacts[c, PATCH] > 0.0 and m.contacts[c, HESSIAN + 4] > 0.0:
        for i in range(n):
            x = m.contacts[c, HESSIAN + 4] * m.jacobian[left + 3 * n + i]
            for j in wide_range(i + 1):
                m.blocks[at + i * n + j] += x * m.jacobian[left + 3 * n + j]


def add_contact(m: Arrays, c: int, k: int) -> None:
    a, b = m.contact_wholes[c, NODE_A], m.contact_wholes[c, NODE_B]
    left, right = m.contact_wholes[c, JAC_A], m.contact_wholes[c, JAC_B]
    if m.contacts[c, HESSIAN] == 0.0 and m.contacts[c, HESSIAN + 2] == 0.0 and m.contacts[c, HESSIAN + 3] == 0.0:
        return
    if a >= 0:
        add_square(m, m.home[a], left, m.nodes[a, SIZE], c)
    if b >= 0:
        add_square(m, m.home[b], right, m.nodes[b, SIZE], c)
    if a >= 0 and b >= 0 and a != b:
        at = m.adjacent[m.local[a] * k + m.local[b]] - 2
        if m.position[m.local[a]] < m.position[m.local[b]]:
            add_product(m, at, left, m.nodes[a, SIZE], right, m.nodes[b, SIZE], c)
        else:
            add_product(m, at, right, m.nodes[b, SIZE], left, m.nodes[a, SIZE], c)


def add_outer(m: Arrays, at: int, left: int, rows: int, right: int, columns: int, weight: float) -> None:
    for i in range(rows):
        for j in wide_range(columns):
            m.blocks[at + i * columns + j] += weight * m.row_jacobian[left + i] * m.row_jacobian[right + j]


def add_entry(m: Arrays, at: int, weight: float) -> None:
    m.blocks[at] += weight


def add_row(m: Arrays, r: int, k: int) -> None:
    weight = m.rows[r, ROW_HESSIAN]
    a, b, rate = m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B], m.row_wholes[r, ROW_RATE]
    if weight == 0.0:
        return
    if rate >= 0 and m.nodes[a, SPANNED] == 0:
        add_entry(m, m.home[a] + rate * (m.nodes[a, SIZE] + 1), weight)
        return
    left, right = m.row_wholes[r, ROW_JAC_A], m.row_wholes[r, ROW_JAC_B]
    if a >= 0:
        add_outer(m, m.home[a], left, m.nodes[a, SIZE], left, m.nodes[a, SIZE], weight)
    if b >= 0:
        add_outer(m, m.home[b], right, m.nodes[b, SIZE], right, m.nodes[b, SIZE], weight)
    if a >= 0 and b >= 0:
        at = m.adjacent[m.local[a] * k + m.local[b]] - 2
        if m.position[m.local[a]] < m.position[m.local[b]]:
            add_outer(m, at, left, m.nodes[a, SIZE], right, m.nodes[b, SIZE], weight)
        else:
            add_outer(m, at, right, m.nodes[b, SIZE], left, m.nodes[a, SIZE], weight)


def copy_mass(m: Arrays, to: int, block: int, n: int) -> None:
    """A node's A to a pivot, the lower triangle, which is all that is read."""
    for i in range(n):
        for j in wide_range(i + 1):
            m.blocks[to + i * n + j] = m.mass[block + i * n + j]


def clear_blocks(m: Arrays, at: int, count: int) -> None:
    for i in range(at, at + count):
        m.blocks[i] = 0.0


def clear_below(m: Arrays, first: int, last: int, n: int) -> None:
    for x in range(first, last):
        clear_blocks(m, m.lower_at[x], n * m.nodes[m.members[m.lower[x]], SIZE])


def assemble(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int) -> None:
    """H = A + J*WJ in the blocks."""
    for p in range(k):
        node = m.members[m.order[p]]
        n = m.nodes[node, SIZE]
        copy_mass(m, m.pivot[p], m.nodes[node, BLOCK], n)
        clear_below(m, m.below[p], m.below[p + 1], n)
    for x in range(first, last):
        add_contact(m, m.sorted[x], k)
    for x in range(row_first, row_last):
        add_row(m, m.sorted_rows[x], k)


def normal_of(m: Arrays, c: int) -> float:
    return max(m.contacts[c, IMPULSE + 2], 0.0)


def lag_of(m: Arrays, c: int) -> float:
    return abs(m.contacts[c, LIMIT] - m.contacts[c, FRICTION] * normal_of(m, c))


def friction_lag(m: Arrays, first: int, last: int) -> float:
    """Largest gap between friction's limits and those of the normal impulses, relative to the largest impulse."""
    lag, largest = 0.0, 1e-300
    for x in range(first, last):
        largest = max(largest, normal_of(m, m.sorted[x]))
        lag = max(lag, lag_of(m, m.sorted[x]))
    return lag / largest


def move_node(m: Arrays, node: int, part: float) -> None:
    """v of a node gains a part of the direction."""
    for j in range(m.nodes[node, AT], m.nodes[node, AT] + m.nodes[node, SIZE]):
        m.v[j] += part * m.side[j]


def newton(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int, h: float, impact: int) -> float:
    """v of an island; by how much the gradient missed, as a part of the impulses. Friction's limits follow the normal
    impulses in every iteration, and near the answer directions know it; where that goes on for long they stay, so that
    the problem is convex, and follow again when it is solved."""
    m.counts[BLOCKS] = 0
    eliminate(m, k)
    if m.counts[FULL] > 0:
        return 1.0
    missed, lag, fresh, near = 1.0, 0.0, 1 - impact, NEAR
    update_rates(m, k, first, last, row_first, row_last)
    for x in range(first, last):
        begin_dual(m, m.sorted[x])
    for count in range(MOST):
        for x in range(first, last):
            evaluate(m, m.sorted[x], h, impact, fresh)
        for x in range(row_first, row_last):
            evaluate_row(m, m.sorted_rows[x], h)
        missed = gradient(m, k, first, last, row_first, row_last)
        lag = 0.0 if fresh > 0 else friction_lag(m, first, last)
        follow = fresh
        fresh = 1 if count + 1 < FROZEN or missed < CONVERGED else 0
        if (missed < CONVERGED and lag < CONVERGED) or not missed < 1e300:
            break
        if missed < CONVERGED:
            continue
        m.counts[ITERATIONS] += 1
        if impact == 0 and missed > NEAR:
            for x in range(first, last):
                stiffen(m, m.sorted[x], h)
        assemble(m, k, first, last, row_first, row_last)
        factorize(m, k)
        substitute(m, k)
        if follow > 0 and fresh > 0 and missed < near and any_slips(m, first, last):
            follow_slips(m, k, first, last)
            part = look_along(m, k, first, last, row_first, row_last, h, impact)
            near = 0.5 * missed
        else:
            part = search(m, k, first, last, row_first, row_last, h, impact)
        for i in range(k):
            move_node(m, m.members[i], part)
        if impact == 0:
            for x in range(first, last):
                follow_dual(m, m.sorted[x], part)
        follow_rates(m, first, last, row_first, row_last, part)
    missed = max(missed, lag)
    m.numbers[RESIDUAL] = max(m.numbers[RESIDUAL], missed)
    if not missed < TOLD:
        m.counts[FAILED] += 1
    return missed


def give_node(m: Arrays, node: int) -> None:
    for j in range(m.nodes[node, AT], m.nodes[node, AT] + m.nodes[node, SIZE]):
        m.given[j] = m.v[j]


def rate_row(m: Arrays, r: int) -> None:
    m.rows[r, ROW_SPEED] = row_rate(m, r)


def update_rates(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int) -> None:
    """Rates of every contact and row at v."""
    for i in range(k):
        give_node(m, m.members[i])
    for x in range(first, last):
        contact_rates(m, m.sorted[x], RATE)
    for x in range(row_first, row_last):
        rate_row(m, m.sorted_rows[x])


def follow_contact_rates(m: Arrays, c: int, part: float) -> None:
    for row in range(4):
        m.contacts[c, RATE + row] += part * m.contacts[c, CHANGE + row]


def follow_row_rate(m: Arrays, r: int, part: float) -> None:
    m.rows[r, ROW_SPEED] += part * m.rows[r, ROW_CHANGE]


def follow_rates(m: Arrays, first: int, last: int, row_first: int, row_last: int, part: float) -> None:
    """Rates of contacts and rows after a part of the direction. They are not made of v anew: nearly rigid rows would
    multiply the digits that large rates lose."""
    for x in range(first, last):
        follow_contact_rates(m, m.sorted[x], part)
    for x in range(row_first, row_last):
        follow_row_rate(m, m.sorted_rows[x], part)


NEWTON = (
    *(*RATES_OF, *SLIPPING, *PRIMAL_DUAL, push_row, push_contact, node_gradient, node_scale, gradient),
    *(
        add_product,
        add_square,
        add_contact,
        add_outer,
        add_entry,
        add_row,
        copy_mass,
        clear_blocks,
        clear_below,
        assemble,
    ),
    *(*SEARCH, normal_of, lag_of, friction_lag, move_node, give_node, rate_row, update_rates),
    *(follow_contact_rates, follow_row_rate, follow_rates, newton),
)
