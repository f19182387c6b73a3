"""One island's step: v⁺ = argmin ½‖v − v*‖²_A + Σ ℓ(Jv) by Newton's method, whose line search never closes a gap.

A is a node's ℳ + hB + h²K, v* its rates without the constraints; the gradient A(v − v*) − J*λ vanishes at the step. In
the end v = v* + A⁻¹J*λ, so that momentum is exactly that of the impulses.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.blocks import eliminate, factorize, substitute
from phistar.constraints.columns import (
    AT,
    BLOCK,
    BLOCKS,
    CHANGE,
    FAILED,
    FRICTION,
    FULL,
    GAP,
    HESSIAN,
    IMPULSE,
    ITERATIONS,
    JAC_A,
    JAC_B,
    LAW,
    LIMIT,
    LIMIT_LAW,
    NODE_A,
    NODE_B,
    OFFSET,
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
    VALUE,
)
from phistar.constraints.laws import evaluate, evaluate_row, row_impulse, work_along

MOST, FROZEN = 60, 20  # iterations; from when on friction's limits stay
CONVERGED, TOLD = 1e-9, 1e-8  # of the impulses: where Newton's method ends, and what is told
SETTLES = 1e-6  # the same: up to where the rates are those of the impulses, and not as Newton's method left them
ROUNDED = 1e-5  # of a momentum: impulses below CONVERGED of it are lost in its last digits
SHRINKS = 0.9  # of a gap, at most, in an iteration


def rates_of(m: Arrays, jac: int, node: int, row: int) -> float:
    """A row of a contact's Jacobian times a node's `given` rates."""
    n, at = m.nodes[node, SIZE], m.nodes[node, AT]
    total = 0.0
    for j in range(n):
        total += m.jacobian[jac + row * n + j] * m.given[at + j]
    return total


def contact_rates(m: Arrays, c: int, to: int) -> None:
    """J times the rates in `given`, for a contact, to its columns from `to` on."""
    for row in range(4 if m.contacts[c, PATCH] > 0.0 else 3):
        total = 0.0
        if m.contact_wholes[c, NODE_A] >= 0:
            total += rates_of(m, m.contact_wholes[c, JAC_A], m.contact_wholes[c, NODE_A], row)
        if m.contact_wholes[c, NODE_B] >= 0:
            total += rates_of(m, m.contact_wholes[c, JAC_B], m.contact_wholes[c, NODE_B], row)
        m.contacts[c, to + row] = total


def row_rate(m: Arrays, r: int) -> float:
    """The same for a single row."""
    a, b, rate = m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B], m.row_wholes[r, ROW_RATE]
    if rate >= 0 and m.nodes[a, SPANNED] == 0:
        return m.rows[r, SIGN] * m.given[m.nodes[a, AT] + rate]
    total = 0.0
    if a >= 0:
        for j in range(m.nodes[a, SIZE]):
            total += m.row_jacobian[m.row_wholes[r, ROW_JAC_A] + j] * m.given[m.nodes[a, AT] + j]
    if b >= 0:
        for j in range(m.nodes[b, SIZE]):
            total += m.row_jacobian[m.row_wholes[r, ROW_JAC_B] + j] * m.given[m.nodes[b, AT] + j]
    return total


def push_node(m: Arrays, jac: int, node: int, x: float, y: float, z: float) -> None:
    """`pushed` of a node gains a contact's J*λ."""
    n, at = m.nodes[node, SIZE], m.nodes[node, AT]
    for j in range(n):
        m.pushed[at + j] += m.jacobian[jac + j] * x + m.jacobian[jac + n + j] * y + m.jacobian[jac + 2 * n + j] * z


def turn_node(m: Arrays, c: int, jac: int, node: int) -> None:
    """`pushed` of a node gains what a contact's patch turns it by."""
    n, at = m.nodes[node, SIZE], m.nodes[node, AT]
    for j in range(n):
        m.pushed[at + j] += m.jacobian[jac + 3 * n + j] * m.contacts[c, IMPULSE + 3]


def push_row(m: Arrays, r: int) -> None:
    """`pushed` gains a single row's J*λ."""
    a, b, rate = m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B], m.row_wholes[r, ROW_RATE]
    impulse = m.rows[r, ROW_IMPULSE]
    if rate >= 0 and m.nodes[a, SPANNED] == 0:
        m.pushed[m.nodes[a, AT] + rate] += m.rows[r, SIGN] * impulse
        return
    if a >= 0:
        for j in range(m.nodes[a, SIZE]):
            m.pushed[m.nodes[a, AT] + j] += m.row_jacobian[m.row_wholes[r, ROW_JAC_A] + j] * impulse
    if b >= 0:
        for j in range(m.nodes[b, SIZE]):
            m.pushed[m.nodes[b, AT] + j] += m.row_jacobian[m.row_wholes[r, ROW_JAC_B] + j] * impulse


def gradient(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int) -> float:
    """A(v − v*) − J*λ in `side` and `slope`, J*λ in `pushed`; its size as a part of both."""
    for i in range(k):
        at = m.nodes[m.members[i], AT]
        for j in range(m.nodes[m.members[i], SIZE]):
            m.pushed[at + j] = 0.0
    for x in range(first, last):
        c = m.sorted[x]
        s, t, u = m.contacts[c, IMPULSE], m.contacts[c, IMPULSE + 1], m.contacts[c, IMPULSE + 2]
        if u != 0.0 or s != 0.0 or t != 0.0:
            if m.contact_wholes[c, NODE_A] >= 0:
                push_node(m, m.contact_wholes[c, JAC_A], m.contact_wholes[c, NODE_A], s, t, u)
            if m.contact_wholes[c, NODE_B] >= 0:
                push_node(m, m.contact_wholes[c, JAC_B], m.contact_wholes[c, NODE_B], s, t, u)
            if m.contacts[c, PATCH] > 0.0:
                for side in range(2):
                    if m.contact_wholes[c, NODE_A + side] >= 0:
                        turn_node(m, c, m.contact_wholes[c, JAC_A + side], m.contact_wholes[c, NODE_A + side])
    for x in range(row_first, row_last):
        push_row(m, m.sorted_rows[x])
    missed, size = 0.0, 1e-300
    for i in range(k):
        node = m.members[i]
        n, at, block = m.nodes[node, SIZE], m.nodes[node, AT], m.nodes[node, BLOCK]
        for j in range(n):
            total = 0.0
            for l in range(n):
                total += m.mass[block + j * n + l] * (m.v[at + l] - m.free[at + l])
            rest = total - m.pushed[at + j]
            scale = m.mass[block + j * n + j]
            digits = ROUNDED * scale * (abs(m.v[at + j]) + abs(m.free[at + j]))
            missed += rest * rest / scale
            size += digits * digits / scale
            size += (total * total + m.pushed[at + j] * m.pushed[at + j]) / scale
            m.side[at + j], m.slope[at + j] = rest, rest
    return sqrt(missed / size)


def add_product(m: Arrays, at: int, left: int, rows: int, right: int, columns: int, c: int) -> None:
    """The block at `at` gains J*WJ of a contact."""
    a, b = m.contacts[c, HESSIAN], m.contacts[c, HESSIAN + 1]
    d, e = m.contacts[c, HESSIAN + 2], m.contacts[c, HESSIAN + 3]
    for i in range(rows):
        s, t, u = m.jacobian[left + i], m.jacobian[left + rows + i], m.jacobian[left + 2 * rows + i]
        x, y, z = a * s + b * t, b * s + d * t, e * u
        for j in range(columns):
            across = x * m.jacobian[right + j] + y * m.jacobian[right + columns + j]
            m.blocks[at + i * columns + j] += across + z * m.jacobian[right + 2 * columns + j]
    if m.contacts[c, PATCH] > 0.0 and m.contacts[c, HESSIAN + 4] > 0.0:
        for i in range(rows):
            x = m.contacts[c, HESSIAN + 4] * m.jacobian[left + 3 * rows + i]
            for j in range(columns):
                m.blocks[at + i * columns + j] += x * m.jacobian[right + 3 * columns + j]


def add_contact(m: Arrays, c: int, k: int) -> None:
    a, b = m.contact_wholes[c, NODE_A], m.contact_wholes[c, NODE_B]
    left, right = m.contact_wholes[c, JAC_A], m.contact_wholes[c, JAC_B]
    if m.contacts[c, HESSIAN] == 0.0 and m.contacts[c, HESSIAN + 2] == 0.0 and m.contacts[c, HESSIAN + 3] == 0.0:
        return
    if a >= 0:
        add_product(m, m.pivot[m.position[m.local[a]]], left, m.nodes[a, SIZE], left, m.nodes[a, SIZE], c)
    if b >= 0:
        add_product(m, m.pivot[m.position[m.local[b]]], right, m.nodes[b, SIZE], right, m.nodes[b, SIZE], c)
    if a >= 0 and b >= 0 and a != b:
        at = m.adjacent[m.local[a] * k + m.local[b]] - 2
        if m.position[m.local[a]] < m.position[m.local[b]]:
            add_product(m, at, left, m.nodes[a, SIZE], right, m.nodes[b, SIZE], c)
        else:
            add_product(m, at, right, m.nodes[b, SIZE], left, m.nodes[a, SIZE], c)


def add_outer(m: Arrays, at: int, left: int, rows: int, right: int, columns: int, weight: float) -> None:
    for i in range(rows):
        for j in range(columns):
            m.blocks[at + i * columns + j] += weight * m.row_jacobian[left + i] * m.row_jacobian[right + j]


def add_row(m: Arrays, r: int, k: int) -> None:
    weight = m.rows[r, ROW_HESSIAN]
    a, b, rate = m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B], m.row_wholes[r, ROW_RATE]
    if weight == 0.0:
        return
    if rate >= 0 and m.nodes[a, SPANNED] == 0:
        m.blocks[m.pivot[m.position[m.local[a]]] + rate * (m.nodes[a, SIZE] + 1)] += weight
        return
    left, right = m.row_wholes[r, ROW_JAC_A], m.row_wholes[r, ROW_JAC_B]
    if a >= 0:
        add_outer(m, m.pivot[m.position[m.local[a]]], left, m.nodes[a, SIZE], left, m.nodes[a, SIZE], weight)
    if b >= 0:
        add_outer(m, m.pivot[m.position[m.local[b]]], right, m.nodes[b, SIZE], right, m.nodes[b, SIZE], weight)
    if a >= 0 and b >= 0:
        at = m.adjacent[m.local[a] * k + m.local[b]] - 2
        if m.position[m.local[a]] < m.position[m.local[b]]:
            add_outer(m, at, left, m.nodes[a, SIZE], right, m.nodes[b, SIZE], weight)
        else:
            add_outer(m, at, right, m.nodes[b, SIZE], left, m.nodes[a, SIZE], weight)


def assemble(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int) -> None:
    """H = A + J*WJ in the blocks."""
    for p in range(k):
        node = m.members[m.order[p]]
        n, block, pivot = m.nodes[node, SIZE], m.nodes[node, BLOCK], m.pivot[p]
        for i in range(n * n):
            m.blocks[pivot + i] = m.mass[block + i]
        for x in range(m.below[p], m.below[p + 1]):
            for i in range(n * m.nodes[m.members[m.lower[x]], SIZE]):
                m.blocks[m.lower_at[x] + i] = 0.0
    for x in range(first, last):
        add_contact(m, m.sorted[x], k)
    for x in range(row_first, row_last):
        add_row(m, m.sorted_rows[x], k)


def look_along(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int, h: float, impact: int) -> float:
    """Rates of the direction −`side` in CHANGE; how far it may be followed before a gap has shrunk too much."""
    for i in range(k):
        at = m.nodes[m.members[i], AT]
        for j in range(m.nodes[m.members[i], SIZE]):
            m.side[at + j] = -m.side[at + j]
            m.given[at + j] = m.side[at + j]
    most = 1.0
    for x in range(first, last):
        c = m.sorted[x]
        contact_rates(m, c, CHANGE)
        if impact == 0:
            y = m.contacts[c, GAP] + m.contacts[c, OFFSET] + h * m.contacts[c, RATE + 2]
            if -h * m.contacts[c, CHANGE + 2] * most > SHRINKS * y:
                most = SHRINKS * y / (-h * m.contacts[c, CHANGE + 2])
    for x in range(row_first, row_last):
        r = m.sorted_rows[x]
        m.rows[r, ROW_CHANGE] = row_rate(m, r)
        if m.row_wholes[r, LAW] == LIMIT_LAW and impact == 0:
            y = m.rows[r, VALUE] + h * m.rows[r, ROW_SPEED]
            if -h * m.rows[r, ROW_CHANGE] * most > SHRINKS * y:
                most = SHRINKS * y / (-h * m.rows[r, ROW_CHANGE])
    return most


def slope_at(
    m: Arrays, first: int, last: int, row_first: int, row_last: int, h: float, impact: int, part: float
) -> float:
    """−Σ λ(u + sδ)·δ."""
    total = 0.0
    for x in range(first, last):
        total -= work_along(m, m.sorted[x], h, impact, part)
    for x in range(row_first, row_last):
        r = m.sorted_rows[x]
        total -= row_impulse(m, r, h, m.rows[r, ROW_SPEED] + part * m.rows[r, ROW_CHANGE]) * m.rows[r, ROW_CHANGE]
    return total


def given_along(m: Arrays, first: int, last: int, row_first: int, row_last: int) -> float:
    """Σ λ·δ, of the impulses as they are and the rates of the direction."""
    total = 0.0
    for x in range(first, last):
        c = m.sorted[x]
        for row in range(4 if m.contacts[c, PATCH] > 0.0 else 3):
            total += m.contacts[c, IMPULSE + row] * m.contacts[c, CHANGE + row]
    for x in range(row_first, row_last):
        r = m.sorted_rows[x]
        total += m.rows[r, ROW_IMPULSE] * m.rows[r, ROW_CHANGE]
    return total


def search(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int, h: float, impact: int) -> float:
    """The part of the direction δ at which what is minimised no longer falls. Its slope at s is δ·A(v − v*) + s δ·Aδ −
    Σ λ(u + sJδ)·Jδ, at 0 δ·g with the gradient g, which `slope` has."""
    most = look_along(m, k, first, last, row_first, row_last, h, impact)
    start, growth = 0.0, 0.0
    for i in range(k):
        node = m.members[i]
        n, at, block = m.nodes[node, SIZE], m.nodes[node, AT], m.nodes[node, BLOCK]
        for j in range(n):
            along = 0.0
            for l in range(n):
                along += m.mass[block + j * n + l] * m.side[at + l]
            start += m.side[at + j] * m.slope[at + j]
            growth += m.side[at + j] * along
    constant = start + given_along(m, first, last, row_first, row_last)
    low, high, part = 0.0, most, most
    for _ in range(30):
        slope = constant + part * growth + slope_at(m, first, last, row_first, row_last, h, impact, part)
        if slope <= 0.2 * abs(start) and (slope >= -0.2 * abs(start) or part == most):
            break
        if slope > 0.0:
            high = part
        else:
            low = part
        part = 0.5 * (low + high)
    return part


def friction_lag(m: Arrays, first: int, last: int) -> float:
    """By how much friction's limits are not those of the normal impulses, as a part of the largest of these."""
    lag, largest = 0.0, 1e-300
    for x in range(first, last):
        c = m.sorted[x]
        normal = max(m.contacts[c, IMPULSE + 2], 0.0)
        largest = max(largest, normal)
        lag = max(lag, abs(m.contacts[c, LIMIT] - m.contacts[c, FRICTION] * normal))
    return lag / largest


def newton(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int, h: float, impact: int) -> float:
    """v of an island; by how much the gradient missed, as a part of the impulses. Friction's limits follow the normal
    impulses in every iteration; where that goes on for long they stay, so that the problem is convex, and follow again
    when it is solved."""
    m.counts[BLOCKS] = 0
    eliminate(m, k)
    if m.counts[FULL] > 0:
        return 1.0
    missed, lag, fresh = 1.0, 0.0, 1 - impact
    for count in range(MOST):
        update_rates(m, k, first, last, row_first, row_last)
        for x in range(first, last):
            evaluate(m, m.sorted[x], h, impact, fresh)
        for x in range(row_first, row_last):
            evaluate_row(m, m.sorted_rows[x], h, m.rows[m.sorted_rows[x], ROW_SPEED])
        missed = gradient(m, k, first, last, row_first, row_last)
        lag = 0.0 if fresh > 0 else friction_lag(m, first, last)
        fresh = 1 if count + 1 < FROZEN or missed < CONVERGED else 0
        if (missed < CONVERGED and lag < CONVERGED) or not missed < 1e300:
            break
        if missed < CONVERGED:
            continue
        m.counts[ITERATIONS] += 1
        assemble(m, k, first, last, row_first, row_last)
        factorize(m, k)
        substitute(m, k)
        part = search(m, k, first, last, row_first, row_last, h, impact)
        for i in range(k):
            at = m.nodes[m.members[i], AT]
            for j in range(m.nodes[m.members[i], SIZE]):
                m.v[at + j] += part * m.side[at + j]
    missed = max(missed, lag)
    m.numbers[RESIDUAL] = max(m.numbers[RESIDUAL], missed)
    if not missed < TOLD:
        m.counts[FAILED] += 1
    return missed


def update_rates(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int) -> None:
    """Rates of every contact and row at v."""
    for i in range(k):
        at = m.nodes[m.members[i], AT]
        for j in range(m.nodes[m.members[i], SIZE]):
            m.given[at + j] = m.v[at + j]
    for x in range(first, last):
        contact_rates(m, m.sorted[x], RATE)
    for x in range(row_first, row_last):
        m.rows[m.sorted_rows[x], ROW_SPEED] = row_rate(m, m.sorted_rows[x])


NEWTON = (
    *(
        rates_of,
        contact_rates,
        row_rate,
        push_node,
        turn_node,
        push_row,
        gradient,
        add_product,
        add_contact,
        add_outer,
        add_row,
    ),
    *(assemble, look_along, slope_at, given_along, search, update_rates, friction_lag, newton),
)
