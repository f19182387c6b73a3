"""Equations of motion of free bodies and trees in a step, linearized, as compiled loops.

A node's residual is r = ℳ(v⁺ − v) + hBv⁺ + h²Kv⁺ + hK(q − r₀) + h(𝒞 + 𝒢 − T) − J*λ. `sides` are −∂r by places and
rates, by the statements of ∂ID for trees. Composite bodies about the world's origin (RJK91 eq. 16) say how the momentum
of a tree changes: with rate j it has I_j s_j, with its place −I_j ad(s_j)V − ad(s_j)* h_j, V the twist that carries j.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    BALLS,
    BLOCK,
    BODIES,
    BODY,
    FIRST_TREE,
    NODES,
    OWN,
    OWN_AT,
    TREE,
)
from phistar.plant.ball_springs import BALL_RATE
from phistar.plant.free_bodies import CENTER, V_AT
from phistar.plant.tangent_columns import (
    BENDING_CALL,
    BODY_CENTER,
    BODY_MASS,
    BODY_TENSOR,
    COLUMNS_OF,
    DYNAMICS_CALL,
    RATES_OF,
    SCREWS_OF,
    adjoint,
    coadjoint,
)
from phistar.plant.tree_columns import MODAL_STIFFNESS, ask


def place_axes(m: Arrays) -> None:
    """`axes`: screws of all rates where the tables have the bodies now, of free bodies [e; c × e] and [0; e]; then
    those of modes at nodes."""
    for f in range(m.counts[FIRST_TREE]):
        at = m.nodes[f, OWN_AT]
        x, y, z = m.center[f, 0], m.center[f, 1], m.center[f, 2]
        for i in range(6):
            for k in range(6):
                m.axes[at + i, k] = 1.0 if i == k else 0.0
        m.axes[at, 4], m.axes[at, 5] = z, -y
        m.axes[at + 1, 3], m.axes[at + 1, 5] = -z, x
        m.axes[at + 2, 3], m.axes[at + 2, 4] = y, -x
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        for j in range(m.nodes[node, OWN_AT], m.nodes[node, OWN_AT] + m.nodes[node, OWN]):
            for i in range(6):
                m.axes[j, i] = m.screws[j, i]
    for s in range(m.tangent_counts[RATES_OF], m.tangent_counts[SCREWS_OF]):
        for i in range(6):
            m.axes[s, i] = m.screws[s, i]


def body_inertia(m: Arrays, body: int) -> None:
    """A body's inertia (6, 6) and momentum about the world's origin, in `composite` and `held_momentum`."""
    at, mass = 36 * body, m.body_numbers[body, BODY_MASS]
    for i in range(3):
        m.turned_center[i] = m.pose[body, 9 + i]
        for k in range(3):
            m.turned_center[i] += m.pose[body, 3 * i + k] * m.body_numbers[body, BODY_CENTER + k]
    x, y, z = m.turned_center[0], m.turned_center[1], m.turned_center[2]
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                for l in range(3):
                    own = m.body_numbers[body, BODY_TENSOR + 3 * k + l]
                    total += m.pose[body, 3 * i + k] * own * m.pose[body, 3 * j + l]
            total -= mass * m.turned_center[i] * m.turned_center[j]
            if i == j:
                total += mass * (x * x + y * y + z * z)
            m.composite[at + 6 * i + j] = total
            m.composite[at + 6 * i + 3 + j], m.composite[at + 18 + 6 * i + j] = 0.0, 0.0
            m.composite[at + 21 + 6 * i + j] = mass if i == j else 0.0
    m.composite[at + 4], m.composite[at + 5] = -mass * z, mass * y
    m.composite[at + 9], m.composite[at + 11] = mass * z, -mass * x
    m.composite[at + 15], m.composite[at + 16] = -mass * y, mass * x
    for i in range(3):
        for j in range(3):
            m.composite[at + 18 + 6 * i + j] = m.composite[at + 6 * j + 3 + i]
    for i in range(6):
        total = 0.0
        for k in range(6):
            total += m.composite[at + 6 * i + k] * m.body_twist[body, k]
        m.held_momentum[6 * body + i] = total


def make_composites(m: Arrays) -> None:
    """Make the composite inertia of every body of trees with all that it carries."""
    first, count = m.counts[FIRST_TREE], m.counts[BODIES]
    for body in range(first, count):
        body_inertia(m, body)
    for back in range(count - first):
        body = count - 1 - back
        up = m.above[body]
        if up >= 0:
            for i in range(36):
                m.composite[36 * up + i] += m.composite[36 * body + i]
            for i in range(6):
                m.held_momentum[6 * up + i] += m.held_momentum[6 * body + i]


def bending(m: Arrays) -> None:
    """`momentum_by`, `bends` and `mass_slopes` of trees that bend, where they are now."""
    for tree in range(m.counts[NODES] - m.counts[FIRST_TREE]):
        if m.tangent_calls[tree, BENDING_CALL] != 0:
            ask(m.tangent_calls[tree, BENDING_CALL], m.tangent_calls[tree, BENDING_CALL + 1])


def momentum_columns(m: Arrays, node: int) -> None:
    """`momentum_by` of a tree's rates: by the rate (6), and by its place (6); of `before` and where bodies are now.
    Of trees that bend `bending` has made it."""
    if m.tangent_calls[node - m.counts[FIRST_TREE], BENDING_CALL] != 0:
        return
    for j in range(m.nodes[node, OWN_AT], m.nodes[node, OWN_AT] + m.nodes[node, OWN]):
        body = m.body_of_rate[j]
        up = m.above[body]
        for i in range(6):
            m.twisted[i] = m.body_twist[up, i] if up >= 0 else 0.0
        if m.flat[j] > 0.0:
            for k in range(m.first_rate[body], j):
                for i in range(6):
                    m.twisted[i] += m.axes[k, i] * m.before[k]
        adjoint(m, j)
        for i in range(6):
            along, turned = 0.0, 0.0
            for k in range(6):
                along += m.composite[36 * body + 6 * i + k] * m.axes[j, k]
                turned -= m.composite[36 * body + 6 * i + k] * m.carried[k]
            m.momentum_by[12 * j + i], m.momentum_by[12 * j + 6 + i] = along, turned
        for i in range(6):
            m.twisted[i] = m.held_momentum[6 * body + i]
        coadjoint(m, j)
        for i in range(6):
            m.momentum_by[12 * j + 6 + i] -= m.carried[i]


def tree_sides(m: Arrays, node: int, h: float) -> None:
    """−∂r of a tree: h ∂ID at the acceleration (v⁺ − v)/h less what turning axes add, and springs."""
    n, at, block, columns = (
        m.nodes[node, OWN],
        m.nodes[node, OWN_AT],
        m.nodes[node, BLOCK],
        m.tangent_counts[COLUMNS_OF],
    )
    total, tree = m.tangent_counts[RATES_OF], node - m.counts[FIRST_TREE]
    for i in range(at, at + n):
        m.accelerations[i] = (m.v[i] - m.before[i]) / h
    a, b, c, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if m.nodes[node, TREE] == 2:
        a, b, c = m.before[at], m.before[at + 1], m.before[at + 2]
        u, v, w = m.before[at + 3], m.before[at + 4], m.before[at + 5]
        m.accelerations[at + 3] -= b * w - c * v
        m.accelerations[at + 4] -= c * u - a * w
        m.accelerations[at + 5] -= a * v - b * u
    ask(m.tangent_calls[tree, DYNAMICS_CALL], m.tangent_calls[tree, DYNAMICS_CALL + 1])
    for i in range(n):
        row, from_ = (at + i) * columns, block + i * n
        for j in range(n):
            m.sides[row + at + j] -= h * m.by_place[from_ + j]
            m.sides[row + total + at + j] += m.by_inertia[from_ + j] - h * m.by_rate[from_ + j]
            m.system[(at + i) * total + at + j] += m.mass[from_ + j]
        m.sides[row + at + i] -= h * m.elastic[at + i]
        if m.nodes[node, TREE] == 2:
            x, y, z = h * m.by_inertia[from_ + 3], h * m.by_inertia[from_ + 4], h * m.by_inertia[from_ + 5]
            rates = row + total + at
            m.sides[rates] += z * v - y * w
            m.sides[rates + 1] += x * w - z * u
            m.sides[rates + 2] += y * u - x * v
            m.sides[rates + 3] += y * c - z * b
            m.sides[rates + 4] += z * a - x * c
            m.sides[rates + 5] += x * b - y * a


def modal_sides(m: Arrays, node: int, h: float) -> None:
    """−∂r of the stiffness that modes of a body have between each other."""
    for s in range(m.modal_start[node], m.modal_start[node + 1]):
        row = m.modal_wholes[s, 0] * m.tangent_counts[COLUMNS_OF]
        m.sides[row + m.modal_wholes[s, 1]] -= h * m.modal_numbers[s, MODAL_STIFFNESS]


def half_cotangent(angle: float) -> float:
    """x cot x of x = ½ angle ≥ 0, by the sine's and cosine's series of a small part, doubled again."""
    x, doublings = 0.5 * angle, 0
    while x * x > 0.05:
        x *= 0.5
        doublings += 1
    s = x * x
    sine = x * (1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0)))))
    cosine = 1.0 - s / 2.0 * (1.0 - s / 12.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0 * (1.0 - s / 90.0))))
    for _ in range(doublings):
        sine, cosine = 2.0 * sine * cosine, cosine * cosine - sine * sine
    return 0.5 * angle * cosine / sine


def ball_sides(m: Arrays, h: float) -> None:
    """Springs of ball joints pull along log(exp(θ)exp(δ)): 1 + ½θ̂ + (1 − x cot x)/θ² θ̂², x = ½θ, in place of 1."""
    columns = m.tangent_counts[COLUMNS_OF]
    for k in range(m.counts[BALLS]):
        at = m.ball_wholes[k, BALL_RATE]
        x, y, z = m.deflection[at], m.deflection[at + 1], m.deflection[at + 2]
        squares = x * x + y * y + z * z
        factor = 1.0 / 12.0 if squares < 1e-6 else 0.0
        if squares >= 1e-6:
            factor = (1.0 - half_cotangent(sqrt(squares))) / squares
        for i in range(3):
            for j in range(3):
                change = factor * (m.deflection[at + i] * m.deflection[at + j] - (squares if i == j else 0.0))
                if i != j:
                    other = m.deflection[at + 3 - i - j]
                    change += -0.5 * other if (j - i) % 3 == 1 else 0.5 * other
                m.sides[(at + i) * columns + at + j] -= h * m.elastic[at + i] * change


def free_sides(m: Arrays, f: int, h: float) -> None:
    """−∂r of a free body, whose forces turn with it."""
    at, block, columns, total = (
        m.nodes[f, OWN_AT],
        m.nodes[f, BLOCK],
        m.tangent_counts[COLUMNS_OF],
        m.tangent_counts[RATES_OF],
    )
    for i in range(6):
        for j in range(6):
            m.system[(at + i) * total + at + j] += m.mass[block + 6 * i + j]
            m.sides[(at + i) * columns + total + at + j] += m.mass[block + 6 * i + j]
    for i in range(3):
        m.spin[i] = m.v[at + i] - m.before[at + i]
        m.spin[6 + i] = 0.0
        for k in range(3):
            m.spin[6 + i] += m.rotation[f, 3 * i + k] * m.force[m.free_wholes[f, V_AT] + 3 + k]
    for i in range(3):
        m.spin[3 + i] = 0.0
        for k in range(3):
            m.spin[3 + i] += m.mass[block + 6 * i + k] * m.spin[k]
    for j in range(3):
        b, c = (j + 1) % 3, (j + 2) % 3  # columns of x̃: e_j to x × e_j
        for i in range(3):
            across = m.mass[block + 6 * i + b] * m.spin[c] - m.mass[block + 6 * i + c] * m.spin[b]
            m.sides[(at + i) * columns + at + j] -= across
        m.sides[(at + b) * columns + at + j] += m.spin[3 + c] - h * m.moment[f, c]
        m.sides[(at + c) * columns + at + j] -= m.spin[3 + b] - h * m.moment[f, b]
        m.sides[(at + 3 + b) * columns + at + j] -= h * m.spin[6 + c]
        m.sides[(at + 3 + c) * columns + at + j] += h * m.spin[6 + b]


def add_force(m: Arrays, j: int, column: int, factor: float, h: float) -> None:
    """`sides` gain a generalized force on rate j, as the model has it; wrenches on trees that float, and moments on
    free bodies, with it."""
    node, columns = m.node_of_rate[j], m.tangent_counts[COLUMNS_OF]
    at = m.nodes[node, OWN_AT]
    if m.nodes[node, TREE] != 0:
        m.sides[j * columns + column] += h * factor
        if m.nodes[node, TREE] == 2 and j < at + 6:
            body, k = m.nodes[node, BODY], (j - at) % 3
            to = 3 if j >= at + 3 else 0
            x, y, z = factor * m.pose[body, k], factor * m.pose[body, 3 + k], factor * m.pose[body, 6 + k]
            p, q, r = m.pose[body, 9], m.pose[body, 10], m.pose[body, 11]
            own = 6 * node * columns + column
            m.wrench_given[own + to * columns] += h * x
            m.wrench_given[own + (to + 1) * columns] += h * y
            m.wrench_given[own + (to + 2) * columns] += h * z
            if to == 3:
                m.wrench_given[own] += h * (q * z - r * y)
                m.wrench_given[own + columns] += h * (r * x - p * z)
                m.wrench_given[own + 2 * columns] += h * (p * y - q * x)
        return
    k = (j - at) % 3
    if j < at + 3:
        for i in range(3):
            m.free_moment[(3 * node + i) * columns + column] += factor * m.rotation[node, 3 * i + k]
    else:
        b, c = (k + 1) % 3, (k + 2) % 3
        for i in range(3):
            moment = m.rotation[node, 3 * i + c] * m.inertia[node, CENTER + b]
            moment -= m.rotation[node, 3 * i + b] * m.inertia[node, CENTER + c]
            m.free_moment[(3 * node + i) * columns + column] += factor * moment
            m.sides[(at + 3 + i) * columns + column] += h * factor * m.rotation[node, 3 * i + k]
    for i in range(3):
        m.sides[(at + i) * columns + column] = h * m.free_moment[(3 * node + i) * columns + column]


def root_wrench(m: Arrays, node: int, h: float) -> None:
    """Derivative of a wrench at the root of a floating tree, which turns with it: −ad(s_j)* of the wrench."""
    body, at, total = m.nodes[node, BODY], m.nodes[node, OWN_AT], m.tangent_counts[RATES_OF]
    pushes = 0.0
    for i in range(3):
        m.root_push[i], m.root_push[3 + i] = 0.0, 0.0
        for k in range(3):
            m.root_push[i] += h * m.pose[body, 3 * i + k] * m.applied[at + k]
            m.root_push[3 + i] += h * m.pose[body, 3 * i + k] * m.applied[at + 3 + k]
        pushes += abs(m.root_push[i]) + abs(m.root_push[3 + i])
    if pushes == 0.0:
        return
    p, q, r = m.pose[body, 9], m.pose[body, 10], m.pose[body, 11]
    m.root_push[0] += q * m.root_push[5] - r * m.root_push[4]
    m.root_push[1] += r * m.root_push[3] - p * m.root_push[5]
    m.root_push[2] += p * m.root_push[4] - q * m.root_push[3]
    for j in range(at, at + 6):
        for i in range(6):
            m.twisted[i] = m.root_push[i]
        coadjoint(m, j)
        for i in range(6):
            m.wrench_place[(6 * node + i) * total + j] -= m.carried[i]


NODE_TANGENTS = (
    *(place_axes, body_inertia, make_composites, bending, momentum_columns, tree_sides, modal_sides, half_cotangent),
    *(ball_sides, free_sides, add_force, root_wrench),
)
