"""Moves of free bodies and trees in a step, linearized: positions follow v⁺, and what floats takes the rates that its
momentum asks for. Orientations of free bodies change by δθ in world axes.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    FIRST_TREE,
    GRAVITY,
    NODES,
    OWN,
    OWN_AT,
    TREE,
)
from phistar.plant.free_bodies import INVERSE, TENSOR
from phistar.plant.node_tangents import momentum_columns
from phistar.plant.tangent_columns import COLUMNS_OF, RATES_OF

MOST_TERMS = 60


def sum_series(m: Arrays, n: int, h: float) -> None:
    """exp(G) in `flow_whole` and h∫₀¹exp(sG)ds in `flow_mean` of `flow_of` (n, n), n ≤ 6."""
    for i in range(n * n):
        m.flow_term[i] = 0.0
        m.flow_whole[i], m.flow_mean[i] = 0.0, 0.0
    for i in range(n):
        at = i * (n + 1)
        m.flow_term[at], m.flow_whole[at], m.flow_mean[at] = 1.0, 1.0, h
    for k in range(1, MOST_TERMS):
        largest = 0.0
        for i in range(n):
            for j in range(n):
                total = 0.0
                for l in range(n):
                    total += m.flow_term[i * n + l] * m.flow_of[l * n + j]
                m.flow_next[i * n + j] = total / k
                largest = max(largest, abs(total))
        for i in range(n * n):
            m.flow_term[i] = m.flow_next[i]
            m.flow_whole[i] += m.flow_term[i]
            m.flow_mean[i] += h * m.flow_term[i] / (k + 1)
        if largest < 1e-17:
            return


def set_spin(m: Arrays, x: float, y: float, z: float) -> None:
    """`flow_of` = skew of a vector."""
    m.flow_of[0], m.flow_of[4], m.flow_of[8] = 0.0, 0.0, 0.0
    m.flow_of[1], m.flow_of[2], m.flow_of[3] = -z, y, z
    m.flow_of[5], m.flow_of[6], m.flow_of[7] = -x, -y, x


def spin_derivative(m: Arrays, at: int, x: float, y: float, z: float) -> None:
    """∂(Ix)/∂δθ = I x̃ − (Ix)~ of the inertia in `turning` from `at` on, in `turning` from 18 on."""
    m.flow_next[0], m.flow_next[1], m.flow_next[2] = x, y, z
    for i in range(3):
        m.flow_next[3 + i] = m.turning[at + 3 * i] * x + m.turning[at + 3 * i + 1] * y + m.turning[at + 3 * i + 2] * z
    for j in range(3):
        b, c = (j + 1) % 3, (j + 2) % 3
        for i in range(3):
            m.turning[18 + 3 * i + j] = (
                m.turning[at + 3 * i + b] * m.flow_next[c] - m.turning[at + 3 * i + c] * m.flow_next[b]
            )
        m.turning[18 + 3 * b + j] -= m.flow_next[3 + c]
        m.turning[18 + 3 * c + j] += m.flow_next[3 + b]


def turn_inertia(m: Arrays, f: int, column: int, to: int) -> None:
    """RJR*, or with J⁻¹, of the orientation in `turned_axes`, in `turning` from `to` on."""
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                for l in range(3):
                    total += m.turned_axes[3 * i + k] * m.inertia[f, column + 3 * k + l] * m.turned_axes[3 * j + l]
            m.turning[to + 3 * i + j] = total


def three(m: Arrays, left: int, right: int, to: int) -> None:
    """(3, 3) products in `turning`."""
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += m.turning[left + 3 * i + k] * m.turning[right + 3 * k + j]
            m.turning[to + 3 * i + j] = total


def half_way(m: Arrays, f: int, h: float) -> None:
    """`turned_axes` R' = exp(½hω̃)R, with ∂θ by δθ and by ω in `turning` from 36 and 45 on, and the momentum there,
    Iω⁺ − ½h moment, in `flow_next` from 6 on; I is in `turning`, ∂(Iω⁺)/∂δθ from 27 on."""
    at = m.nodes[f, OWN_AT]
    start_inertia(m, f)
    x, y, z = 0.5 * h * m.start_rates[at], 0.5 * h * m.start_rates[at + 1], 0.5 * h * m.start_rates[at + 2]
    set_spin(m, x, y, z)
    sum_series(m, 3, 0.5 * h)
    for i in range(9):
        m.turning[36 + i], m.turning[45 + i] = m.flow_whole[i], m.flow_mean[i]
    for i in range(3):
        m.flow_next[6 + i] = -0.5 * h * m.start_moment[3 * f + i]
        for k in range(3):
            m.flow_next[6 + i] += m.turning[3 * i + k] * m.v[at + k]
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += m.flow_whole[3 * i + k] * m.start_turn[9 * f + 3 * k + j]
            m.turned_axes[3 * i + j] = total


def start_inertia(m: Arrays, f: int) -> None:
    """RJR* where the step begins in `turning`, and ∂(RJR*ω⁺)/∂δθ from 27 on."""
    at = m.nodes[f, OWN_AT]
    for i in range(9):
        m.turned_axes[i] = m.start_turn[9 * f + i]
    turn_inertia(m, f, TENSOR, 0)
    spin_derivative(m, 0, m.v[at], m.v[at + 1], m.v[at + 2])
    for i in range(9):
        m.turning[27 + i] = m.turning[18 + i]


def coast_tangents(m: Arrays, f: int, h: float) -> None:
    """A body that nothing touches: δθ⁺ by δθ, by ω before, by ω⁺ and by the moment on it, in `turning` from 54, 63, 72
    and 81 on. Half-way ω' = I'⁻¹(Iω⁺ − ½h moment) turns it."""
    half_way(m, f, h)
    turn_inertia(m, f, INVERSE, 90)
    turn_inertia(m, f, TENSOR, 99)
    for i in range(3):
        m.flow_next[9 + i] = 0.0
        for k in range(3):
            m.flow_next[9 + i] += m.turning[90 + 3 * i + k] * m.flow_next[6 + k]
    x, y, z = m.flow_next[9], m.flow_next[10], m.flow_next[11]
    spin_derivative(m, 99, x, y, z)
    set_spin(m, h * x, h * y, h * z)
    sum_series(m, 3, h)
    for i in range(9):
        m.turning[108 + i] = m.flow_mean[i]
    three(m, 108, 90, 117)  # slope I'⁻¹
    three(m, 117, 0, 72)
    three(m, 18, 36, 126)
    x, y, z = (
        -0.5 * h * m.start_moment[3 * f],
        -0.5 * h * m.start_moment[3 * f + 1],
        -0.5 * h * m.start_moment[3 * f + 2],
    )
    for i in range(9):
        m.turning[126 + i] = m.turning[27 + i] - m.turning[126 + i]
    m.turning[127], m.turning[128], m.turning[129] = m.turning[127] + z, m.turning[128] - y, m.turning[129] - z
    m.turning[131], m.turning[132], m.turning[133] = m.turning[131] + x, m.turning[132] + y, m.turning[133] - x
    three(m, 117, 126, 54)
    three(m, 18, 45, 126)
    three(m, 117, 126, 63)
    for i in range(9):
        m.turning[54 + i] += m.flow_whole[i]
        m.turning[63 + i] = -m.turning[63 + i]
        m.turning[81 + i] = -0.5 * h * m.turning[117 + i]


def touched_tangents(m: Arrays, f: int, h: float) -> None:
    """The same of a body that is touched, which turns by hω⁺."""
    at = m.nodes[f, OWN_AT]
    set_spin(m, h * m.v[at], h * m.v[at + 1], h * m.v[at + 2])
    sum_series(m, 3, h)
    for i in range(9):
        m.turning[54 + i], m.turning[72 + i] = m.flow_whole[i], m.flow_mean[i]
        m.turning[63 + i], m.turning[81 + i] = 0.0, 0.0
    start_inertia(m, f)


def free_columns(m: Arrays, f: int, h: float) -> None:
    """`made` of a free body: places and rates after the step by every column. ω follows from Iω⁺, which is kept."""
    at = m.nodes[f, OWN_AT]
    if m.start_touched[f] > 0:
        touched_tangents(m, f, h)
    else:
        coast_tangents(m, f, h)
    for i in range(9):
        m.turned_axes[i] = m.rotation[f, i]
    turn_inertia(m, f, INVERSE, 90)
    turn_inertia(m, f, TENSOR, 99)
    spin_derivative(m, 99, m.before[at], m.before[at + 1], m.before[at + 2])
    half = 0.0 if m.start_touched[f] > 0 else 0.5 * h
    for w in range(m.tangent_counts[COLUMNS_OF]):
        free_column(m, f, w, h, half)


def free_column(m: Arrays, f: int, w: int, h: float, half: float) -> None:
    at, columns, total = m.nodes[f, OWN_AT], m.tangent_counts[COLUMNS_OF], m.tangent_counts[RATES_OF]
    for i in range(3):
        turn, held = 0.0, 0.0
        for k in range(3):
            after = m.solved[(at + k) * columns + w]
            turn += m.turning[72 + 3 * i + k] * after
            turn += m.turning[81 + 3 * i + k] * m.free_moment[(3 * f + k) * columns + w]
            held += m.turning[3 * i + k] * after
        if w >= at and w < at + 3:
            turn += m.turning[54 + 3 * i + w - at]
            held += m.turning[27 + 3 * i + w - at]
        if w >= total + at and w < total + at + 3:
            turn += m.turning[63 + 3 * i + w - total - at]
        m.flow_next[i], m.flow_next[3 + i] = turn, held
        after = m.solved[(at + 3 + i) * columns + w]
        place = (h - half) * after + (1.0 if w == at + 3 + i else 0.0)
        m.made[(at + 3 + i) * columns + w] = place + (half if w == total + at + 3 + i else 0.0)
        m.made[(total + at + 3 + i) * columns + w] = after
    for i in range(3):
        m.made[(at + i) * columns + w] = m.flow_next[i]
        for k in range(3):
            m.flow_next[3 + i] -= m.turning[18 + 3 * i + k] * m.flow_next[k]
    for i in range(3):
        rate = 0.0
        for k in range(3):
            rate += m.turning[90 + 3 * i + k] * m.flow_next[3 + k]
        m.made[(total + at + i) * columns + w] = rate


def joint_columns(m: Arrays, node: int, h: float) -> None:
    """`made` of a tree's joints: q ⊕ h v⁺, and v⁺."""
    at, n, columns, total = (
        m.nodes[node, OWN_AT],
        m.nodes[node, OWN],
        m.tangent_counts[COLUMNS_OF],
        m.tangent_counts[RATES_OF],
    )
    j = at
    while j < at + n:
        size = m.joint_size[j]
        if m.flat[j] > 0.0:
            for w in range(columns):
                after = m.solved[j * columns + w]
                m.made[j * columns + w] = h * after + (1.0 if w == j else 0.0)
                m.made[(total + j) * columns + w] = after
            j += 1
        else:
            if size == 6:
                set_twist(m, -h * m.v[j], -h * m.v[j + 1], -h * m.v[j + 2], j, -h)
            else:
                set_spin(m, -h * m.v[j], -h * m.v[j + 1], -h * m.v[j + 2])
            sum_series(m, size, h)
            for w in range(columns):
                for i in range(size):
                    move = m.flow_whole[i * size + w - j] if w >= j and w < j + size else 0.0
                    for k in range(size):
                        move += m.flow_mean[i * size + k] * m.solved[(j + k) * columns + w]
                    m.made[(j + i) * columns + w] = move
                    m.made[(total + j + i) * columns + w] = m.solved[(j + i) * columns + w]
            j += size


def set_twist(m: Arrays, x: float, y: float, z: float, j: int, h: float) -> None:
    """`flow_of` (6, 6) = ad of [x y z] and h times the last three rates of a joint from j on."""
    u, v, w = h * m.v[j + 3], h * m.v[j + 4], h * m.v[j + 5]
    for i in range(36):
        m.flow_of[i] = 0.0
    for half in range(2):
        at = 21 * half
        m.flow_of[at + 1], m.flow_of[at + 2], m.flow_of[at + 6] = -z, y, z
        m.flow_of[at + 8], m.flow_of[at + 12], m.flow_of[at + 13] = -x, -y, x
    m.flow_of[19], m.flow_of[20], m.flow_of[24] = -w, v, w
    m.flow_of[26], m.flow_of[30], m.flow_of[31] = -u, -v, u


def invert(m: Arrays, n: int) -> None:
    """`flow_whole` = `flow_of`⁻¹ (n, n), rows exchanged for the largest pivot."""
    for i in range(n * n):
        m.flow_whole[i] = 0.0
    for i in range(n):
        m.flow_whole[i * (n + 1)] = 1.0
    for i in range(n):
        best = i
        for k in range(i + 1, n):
            if abs(m.flow_of[k * n + i]) > abs(m.flow_of[best * n + i]):
                best = k
        for j in range(n):
            x, y = m.flow_of[i * n + j], m.flow_whole[i * n + j]
            m.flow_of[i * n + j], m.flow_whole[i * n + j] = m.flow_of[best * n + j], m.flow_whole[best * n + j]
            m.flow_of[best * n + j], m.flow_whole[best * n + j] = x, y
        scale = 1.0 / m.flow_of[i * (n + 1)]
        for j in range(n):
            m.flow_of[i * n + j] *= scale
            m.flow_whole[i * n + j] *= scale
        for k in range(n):
            if k != i:
                factor = m.flow_of[k * n + i]
                for j in range(n):
                    m.flow_of[k * n + j] -= factor * m.flow_of[i * n + j]
                    m.flow_whole[k * n + j] -= factor * m.flow_whole[i * n + j]


def owed_columns(m: Arrays, node: int, h: float) -> None:
    """`owed_by` (6, columns): the momentum after the step of a tree that floats, what it had, its weight's and what
    contacts and rows gave; the momentum by its rates is of the start, in `start_momentum`."""
    at, n, columns, total = (
        m.nodes[node, OWN_AT],
        m.nodes[node, OWN],
        m.tangent_counts[COLUMNS_OF],
        m.tangent_counts[RATES_OF],
    )
    for i in range(6):
        for w in range(columns):
            change = m.wrench_given[(6 * node + i) * columns + w]
            for k in range(total):
                change += m.wrench_rates[(6 * node + i) * total + k] * m.solved[k * columns + w]
            if w < total:
                change += m.wrench_place[(6 * node + i) * total + w]
            m.owed_by[i * columns + w] = change
        for j in range(at, at + n):
            m.owed_by[i * columns + j] += m.start_momentum[12 * j + 6 + i]
            m.owed_by[i * columns + total + j] += m.start_momentum[12 * j + i]
            if i < 3:
                b, c = (i + 1) % 3, (i + 2) % 3
                weight = m.start_momentum[12 * j + 3 + b] * m.numbers[GRAVITY + c]
                weight -= m.start_momentum[12 * j + 3 + c] * m.numbers[GRAVITY + b]
                m.owed_by[i * columns + j] += h * weight


def floating_columns(m: Arrays, node: int, h: float) -> None:
    """`made` of a tree that floats: its root where the centre of mass belongs, c + h p/m, with the momentum owed."""
    at, n, columns, total = (
        m.nodes[node, OWN_AT],
        m.nodes[node, OWN],
        m.tangent_counts[COLUMNS_OF],
        m.tangent_counts[RATES_OF],
    )
    momentum_columns(m, node)
    owed_columns(m, node, h)
    for i in range(3):
        for j in range(3):
            m.flow_of[3 * i + j] = m.momentum_by[12 * (at + 3 + j) + 3 + i]
    invert(m, 3)
    for w in range(columns):
        for i in range(3):
            rest = h * m.owed_by[(3 + i) * columns + w]
            if w >= at and w < at + n:
                rest += m.start_momentum[12 * w + 3 + i]
            for j in range(at, at + n):
                if j < at + 3 or j >= at + 6:
                    rest -= m.momentum_by[12 * j + 3 + i] * m.made[j * columns + w]
            m.flow_next[i] = rest
        for i in range(3):
            move = 0.0
            for k in range(3):
                move += m.flow_whole[3 * i + k] * m.flow_next[k]
            m.made[(at + 3 + i) * columns + w] = move
    for i in range(6):
        for j in range(6):
            m.flow_of[6 * i + j] = m.momentum_by[12 * (at + j) + i]
    invert(m, 6)
    for w in range(columns):
        for i in range(6):
            rest = m.owed_by[i * columns + w]
            for j in range(at, at + n):
                rest -= m.momentum_by[12 * j + 6 + i] * m.made[j * columns + w]
                if j >= at + 6:
                    rest -= m.momentum_by[12 * j + i] * m.made[(total + j) * columns + w]
            m.flow_next[i] = rest
        for i in range(6):
            rate = 0.0
            for k in range(6):
                rate += m.flow_whole[6 * i + k] * m.flow_next[k]
            m.made[(total + at + i) * columns + w] = rate


def move_columns(m: Arrays, h: float) -> None:
    for f in range(m.counts[FIRST_TREE]):
        free_columns(m, f, h)
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        joint_columns(m, node, h)
        if m.nodes[node, TREE] == 2:
            floating_columns(m, node, h)


MOVE_TANGENTS = (
    *(sum_series, set_spin, spin_derivative, turn_inertia, three, start_inertia, half_way, coast_tangents),
    *(touched_tangents, free_column, free_columns, set_twist),
    *(joint_columns, invert, owed_columns, floating_columns, move_columns),
)
