"""Long trees at a state and after a step, as compiled loops around their kernels: joints, poses, momentum."""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import BODIES, BODY, FIRST_TREE, LONG, NODES, OWN, OWN_AT, STEP, TREE
from phistar.plant.long_trees import (
    BIAS,
    CALL,
    CURVED,
    CURVED_END,
    GATHERED,
    GATHERED_END,
    GIVEN,
    KINDS,
    KINDS_END,
    MOMENTUM,
    MOMENTUM_AFTER,
    RATES_BEGIN,
    RATES_END,
    TURNED,
    WEIGHT,
)
from phistar.plant.tree_columns import TREE_NQ, TREE_Q, ask


def place_joints(m: Arrays, node: int) -> None:
    """Pose and H* of every joint of a long tree at its coordinates, kind by kind."""
    tree = m.nodes[node, LONG] - 1
    for k in range(m.long_wholes[tree, KINDS], m.long_wholes[tree, KINDS_END]):
        for i in range(m.kind_calls[k, GATHERED], m.kind_calls[k, GATHERED_END]):
            m.joint_q[i] = m.tree_q[m.joint_q_from[i]]
        ask(m.kind_calls[k, CALL], m.kind_calls[k, GIVEN])


def tree_end(m: Arrays, node: int) -> int:
    """The body after the last one of a tree."""
    return m.counts[BODIES] if node + 1 == m.counts[NODES] else m.nodes[node + 1, BODY]


def place_body(m: Arrays, body: int) -> None:
    """Pose of a body in the world from its parent's, and the screws of its rates about the world's origin."""
    up, made = m.above[body], m.joint_at[body]
    for i in range(3):
        for j in range(3):
            total = m.joint_before[body, 3 * i + j]
            if up >= 0:
                total = 0.0
                for k in range(3):
                    total += m.pose[up, 3 * i + k] * m.joint_before[body, 3 * k + j]
            m.turned[3 * i + j] = total
    for i in range(3):
        place = m.joint_shift[body, i]
        if up >= 0:
            place = m.pose[up, 9 + i]
            for k in range(3):
                place += m.pose[up, 3 * i + k] * m.joint_shift[body, k]
        for k in range(3):
            place += m.turned[3 * i + k] * m.joint_made[made + 9 + k]
        m.pose[body, 9 + i] = place
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += m.turned[3 * i + k] * m.joint_made[made + 3 * k + j]
            m.turned[9 + 3 * i + j] = total
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += m.turned[9 + 3 * i + k] * m.joint_after[body, 3 * k + j]
            m.pose[body, 3 * i + j] = total
    x, y, z = m.pose[body, 9], m.pose[body, 10], m.pose[body, 11]
    for s in range(m.first_rate[body], m.last_rate[body]):
        at = made + 12 + 6 * (s - m.first_rate[body])
        for i in range(3):
            spin, slide = 0.0, 0.0
            for k in range(3):
                spin += m.turned[9 + 3 * i + k] * m.joint_made[at + k]
                slide += m.turned[9 + 3 * i + k] * m.joint_made[at + 3 + k]
            m.screws[s, i], m.screws[s, 3 + i] = spin, slide
        a, b, c = m.screws[s, 0], m.screws[s, 1], m.screws[s, 2]
        m.screws[s, 3] += y * c - z * b
        m.screws[s, 4] += z * a - x * c
        m.screws[s, 5] += x * b - y * a


def place_tree(m: Arrays, node: int) -> None:
    """Poses, screws and the centre of mass of a long tree at its coordinates."""
    place_joints(m, node)
    mass, x, y, z = 0.0, 0.0, 0.0, 0.0
    for body in range(m.nodes[node, BODY], tree_end(m, node)):
        place_body(m, body)
        own = m.body_mass[body, 0]
        a, b, c = m.body_mass[body, 1], m.body_mass[body, 2], m.body_mass[body, 3]
        mass += own
        x += own * m.pose[body, 9] + m.pose[body, 0] * a + m.pose[body, 1] * b + m.pose[body, 2] * c
        y += own * m.pose[body, 10] + m.pose[body, 3] * a + m.pose[body, 4] * b + m.pose[body, 5] * c
        z += own * m.pose[body, 11] + m.pose[body, 6] * a + m.pose[body, 7] * b + m.pose[body, 8] * c
    if mass > 0.0:
        m.root_center[node, 0], m.root_center[node, 1], m.root_center[node, 2] = x / mass, y / mass, z / mass
    m.root_inertia[36] = mass


def outward(m: Arrays, node: int, kept: int) -> None:
    """A force at the root of a floating tree, its axes and origin, in `turned` (0-5), about the world's origin: as
    momentum (kept 0) or weight (1)."""
    body = m.nodes[node, BODY]
    for i in range(3):
        m.turned[6 + i], m.turned[9 + i] = 0.0, 0.0
        for k in range(3):
            m.turned[6 + i] += m.pose[body, 3 * i + k] * m.turned[k]
            m.turned[9 + i] += m.pose[body, 3 * i + k] * m.turned[3 + k]
    x, y, z = m.pose[body, 9], m.pose[body, 10], m.pose[body, 11]
    m.turned[6] += y * m.turned[11] - z * m.turned[10]
    m.turned[7] += z * m.turned[9] - x * m.turned[11]
    m.turned[8] += x * m.turned[10] - y * m.turned[9]
    for i in range(6):
        if kept == 0:
            m.momenta[node, i] = m.turned[6 + i]
        else:
            m.weight[node, i] = m.turned[6 + i]


def write_long(m: Arrays, node: int) -> None:
    """The tables of a long tree's dynamics at its state, but for ℳ (`AtState`)."""
    tree, n, own = m.nodes[node, LONG] - 1, m.nodes[node, OWN], m.nodes[node, OWN_AT]
    given, floats = TURNED * own, 1 if m.nodes[node, TREE] == 2 else 0
    place_tree(m, node)
    ask(m.long_wholes[tree, BIAS], m.long_wholes[tree, BIAS + 1])
    for j in range(n):
        m.generalized[own + j] = -m.bias[own + j]
        m.mass_given[given + j] = m.before[own + j]
        m.mass_given[given + n + j] = 0.0
    m.long_rows[tree, 1] = 1 + floats
    if floats > 0:  # θ̈ lacks the ω×v of its turning axes, which contacts must see
        a, b, c = m.before[own], m.before[own + 1], m.before[own + 2]
        x, y, z = m.before[own + 3], m.before[own + 4], m.before[own + 5]
        m.mass_given[given + n + 3] = b * z - c * y
        m.mass_given[given + n + 4] = c * x - a * z
        m.mass_given[given + n + 5] = a * y - b * x
    ask(m.long_wholes[tree, MOMENTUM], m.long_wholes[tree, MOMENTUM + 1])
    for j in range(n):
        m.momentum[own + j] = m.mass_made[given + j]
    if floats > 0:
        for j in range(n):
            m.generalized[own + j] += m.mass_made[given + n + j]
        for i in range(6):
            m.turned[i] = m.momentum[own + i]
        outward(m, node, 0)
        ask(m.long_wholes[tree, WEIGHT], m.long_wholes[tree, WEIGHT + 1])
        for i in range(6):
            m.turned[i] = -m.load[own + i]
        outward(m, node, 1)


def move_long(m: Arrays, node: int) -> None:
    """q ⊕ h v⁺ of a long tree and the rates there; one that floats has the momentum that it is owed."""
    tree, own, h = m.nodes[node, LONG] - 1, m.nodes[node, OWN_AT], m.numbers[STEP]
    number = node - m.counts[FIRST_TREE]
    first = m.tree_wholes[number, TREE_Q]
    for i in range(first, first + m.tree_wholes[number, TREE_NQ]):
        m.tree_next[i] = m.tree_q[i]
    for s in range(own, own + m.nodes[node, OWN]):
        m.tree_next[m.flat_q[s]] += h * m.v[s] * m.flat[s]
        m.before[s] = m.v[s]
    for k in range(m.long_wholes[tree, CURVED], m.long_wholes[tree, CURVED_END]):
        start = m.curved_calls[k, GATHERED]
        for i in range(m.curved_calls[k, RATES_BEGIN], m.curved_calls[k, RATES_END]):
            m.joint_rates[i] = m.v[m.joint_rate_from[i]]
        ask(m.curved_calls[k, CALL], m.curved_calls[k, GIVEN])
        for i in range(start, m.curved_calls[k, GATHERED_END]):
            m.tree_next[m.joint_q_from[i]] = m.joint_moved[i]
    if m.nodes[node, TREE] == 2:
        float_long(m, node)


def float_long(m: Arrays, node: int) -> None:
    """The root where the centre of mass has moved by h p/m, with the twist that makes the momentum what is owed."""
    tree, n, own = m.nodes[node, LONG] - 1, m.nodes[node, OWN], m.nodes[node, OWN_AT]
    first, given, body = m.tree_wholes[node - m.counts[FIRST_TREE], TREE_Q], TURNED * own, m.nodes[node, BODY]
    for i in range(3):
        m.turned[21 + i] = m.root_center[node, i]
    for i in range(m.tree_wholes[node - m.counts[FIRST_TREE], TREE_NQ]):
        m.tree_q[first + i] = m.tree_next[first + i]
    place_tree(m, node)
    for i in range(3):
        reached = m.root_center[node, i]
        missing = m.turned[21 + i] + m.numbers[STEP] / m.root_inertia[36] * m.owed[node, 3 + i] - reached
        m.pose[body, 9 + i] += missing
        for k in range(3):  # the placement's axes, on the world
            m.tree_next[first + k] += m.root_axes[node, 3 * i + k] * missing
    for row in range(7):
        for j in range(n):
            m.mass_given[given + row * n + j] = 0.0
    for i in range(6):
        m.mass_given[given + (1 + i) * n + i] = 1.0
    for j in range(n):
        m.mass_given[given + j] = m.v[own + j]
    m.long_rows[tree, 1] = 7
    ask(m.long_wholes[tree, MOMENTUM_AFTER], m.long_wholes[tree, MOMENTUM_AFTER + 1])
    x, y, z = m.pose[body, 9], m.pose[body, 10], m.pose[body, 11]
    a, b, c = m.owed[node, 3], m.owed[node, 4], m.owed[node, 5]
    m.turned[12] = m.owed[node, 0] - (y * c - z * b)
    m.turned[13] = m.owed[node, 1] - (z * a - x * c)
    m.turned[14] = m.owed[node, 2] - (x * b - y * a)
    for i in range(3):
        turn, push = 0.0, 0.0
        for k in range(3):
            turn += m.pose[body, 3 * k + i] * m.turned[12 + k]
            push += m.pose[body, 3 * k + i] * m.owed[node, 3 + k]
        m.root_inertia[37 + i] = turn - m.mass_made[given + i]
        m.root_inertia[40 + i] = push - m.mass_made[given + 3 + i]
    for i in range(6):
        for j in range(6):
            m.root_inertia[6 * i + j] = m.mass_made[given + (1 + j) * n + i]
    solve_root(m)
    for i in range(6):
        m.before[own + i] += m.root_inertia[37 + i]


def solve_root(m: Arrays) -> None:
    """The 6×6 system of `root_inertia`, symmetric and positive, in place."""
    for p in range(6):
        for i in range(p + 1, 6):
            factor = m.root_inertia[6 * i + p] / m.root_inertia[6 * p + p]
            for j in range(p, 6):
                m.root_inertia[6 * i + j] -= factor * m.root_inertia[6 * p + j]
            m.root_inertia[37 + i] -= factor * m.root_inertia[37 + p]
    for back in range(6):
        i = 5 - back
        for j in range(i + 1, 6):
            m.root_inertia[37 + i] -= m.root_inertia[6 * i + j] * m.root_inertia[37 + j]
        m.root_inertia[37 + i] /= m.root_inertia[6 * i + i]


LONG_MOVES = (
    *(place_joints, tree_end, place_body, place_tree, outward, write_long, move_long, solve_root, float_long),
)
