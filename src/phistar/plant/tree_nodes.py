"""Trees of joints as nodes of the step: the block ℳ + hB + h²K, v*, and Jacobians from the joints' screws.

`trees` writes ℳ, the forces, the screws [ω; v] at the world's origin and the bodies' poses to the tables; the rest is
done here, as loops that are compiled.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays, wide_range
from phistar.constraints.blocks import divide_by_factors, factors
from phistar.constraints.columns import (
    AT,
    BLOCK,
    BODIES,
    FIRST_TREE,
    LONG,
    NODES,
    NORMAL,
    OWN,
    OWN_AT,
    POINT,
    SIZE,
    TANGENT,
    WIDEST,
)
from phistar.plant.tree_columns import MODAL_DAMPING, MODAL_STIFFNESS
from phistar.plant.tree_span import SPANS, make_matrix, prepare_span


def prepare_tree(m: Arrays, node: int, h: float) -> None:
    """A = ℳ + hB + h²K and v* = v + A⁻¹ h(T − 𝒞 − 𝒢 − K(q − r) − Bv − hKv); modes of a body share K and B."""
    if m.nodes[node, LONG] > 0:
        if prepare_span(m, node, h):
            return
        make_matrix(m, node)
    n, at, block = m.nodes[node, SIZE], m.nodes[node, AT], m.nodes[node, BLOCK]
    for i in wide_range(n * n):
        m.mass[block + i] = m.inertias[block + i]
        m.blocks[i] = m.inertias[block + i]
    for i in range(n):
        extra = h * m.viscous[at + i] + h * h * m.elastic[at + i]
        m.mass[block + i * (n + 1)] += extra
        m.blocks[i * (n + 1)] += extra
        held = (m.viscous[at + i] + h * m.elastic[at + i]) * m.before[at + i]
        m.side[at + i] = h * (m.generalized[at + i] + m.applied[at + i] - held)
    for s in range(m.modal_start[node], m.modal_start[node + 1]):
        i, j = m.modal_wholes[s, 0], m.modal_wholes[s, 1]
        between = m.modal_numbers[s, MODAL_DAMPING] + h * m.modal_numbers[s, MODAL_STIFFNESS]
        entry = (i - at) * n + j - at
        m.mass[block + entry] += h * between
        m.blocks[entry] += h * between
        m.side[i] -= h * between * m.before[j]
    factors(m, 0, n)
    for i in wide_range(n * n):
        m.roots[block + i] = m.blocks[i]
    divide_by_factors(m, node)
    for i in range(n):
        m.free[at + i] = m.before[at + i] + m.side[at + i]


def apply_forces(m: Arrays) -> None:
    """`applied`, in the order of nodes, of the forces on the model's rates."""
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        for i in range(m.nodes[node, OWN_AT], m.nodes[node, OWN_AT] + m.nodes[node, OWN]):
            m.applied[i] = m.force[m.rate_of[i]]


def tree_jacobian(m: Arrays, c: int, node: int, body: int, to: int, sign: float) -> None:
    """Rows t, s, n of a contact for a body of a tree: d·(s_v + s_ω × p) for each rate that moves it."""
    n, own = m.nodes[node, OWN], body * m.counts[WIDEST]
    x, y, z = m.contacts[c, POINT], m.contacts[c, POINT + 1], m.contacts[c, POINT + 2]
    for j in wide_range(n):
        s = m.screw_of[own + j]
        vx = m.screws[s, 3] + m.screws[s, 1] * z - m.screws[s, 2] * y
        vy = m.screws[s, 4] + m.screws[s, 2] * x - m.screws[s, 0] * z
        vz = m.screws[s, 5] + m.screws[s, 0] * y - m.screws[s, 1] * x
        for row in range(3):
            axis = NORMAL if row == 2 else TANGENT + 3 * row
            m.jacobian[to + n * row + j] = sign * (
                m.contacts[c, axis] * vx + m.contacts[c, axis + 1] * vy + m.contacts[c, axis + 2] * vz
            )
        about = m.contacts[c, NORMAL] * m.screws[s, 0] + m.contacts[c, NORMAL + 1] * m.screws[s, 1]
        m.jacobian[to + 3 * n + j] = sign * (about + m.contacts[c, NORMAL + 2] * m.screws[s, 2])


def tree_rates(m: Arrays) -> None:
    """`speed` of the bodies of trees: a bound of how fast their points move."""
    for body in range(m.counts[FIRST_TREE], m.counts[BODIES]):
        up, first, screw = m.above[body], m.first_rate[body], m.first_screw[body]
        for i in range(6):
            total = m.body_twist[up, i] if up >= 0 else 0.0
            for j in range(m.last_rate[body] - first):
                total += m.screws[screw + j, i] * m.before[first + j]
            m.body_twist[body, i] = total
            m.twist[i] = total
        x, y, z = m.pose[body, 9], m.pose[body, 10], m.pose[body, 11]
        vx = m.twist[3] + m.twist[1] * z - m.twist[2] * y
        vy = m.twist[4] + m.twist[2] * x - m.twist[0] * z
        vz = m.twist[5] + m.twist[0] * y - m.twist[1] * x
        angular = sqrt(m.twist[0] * m.twist[0] + m.twist[1] * m.twist[1] + m.twist[2] * m.twist[2])
        m.speed[body] = sqrt(vx * vx + vy * vy + vz * vz) + angular * m.extent[body]


TREES = (*SPANS, prepare_tree, apply_forces, tree_jacobian, tree_rates)
