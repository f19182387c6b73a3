"""Jacobians of contacts: rows t, s, n and about n, over the unknowns of the nodes on either side."""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    BODY_A,
    BODY_B,
    CONTACTS,
    FIRST_TREE,
    JAC_A,
    JAC_B,
    LONG,
    NODE_A,
    NODE_B,
    NORMAL,
    POINT,
    SIZE,
    SPANNED,
    STRIDE,
    TANGENT,
)
from phistar.plant.tree_nodes import tree_jacobian
from phistar.plant.tree_span import span_jacobian


def body_jacobian(m: Arrays, c: int, node: int, body: int, at: int, sign: float) -> None:
    """Rows t, s, n of a contact for one side."""
    if m.nodes[node, SPANNED] > 0:
        span_jacobian(m, c, node, body, at, sign)
        return
    if node >= m.counts[FIRST_TREE]:
        tree_jacobian(m, c, node, body, at, sign)
        return
    x = m.contacts[c, POINT] - m.center[node, 0]
    y = m.contacts[c, POINT + 1] - m.center[node, 1]
    z = m.contacts[c, POINT + 2] - m.center[node, 2]
    for row in range(3):
        axis = NORMAL if row == 2 else TANGENT + 3 * row
        a, b, d = m.contacts[c, axis], m.contacts[c, axis + 1], m.contacts[c, axis + 2]
        to = at + 6 * row
        m.jacobian[to], m.jacobian[to + 1] = sign * (y * d - z * b), sign * (z * a - x * d)
        m.jacobian[to + 2] = sign * (x * b - y * a)
        m.jacobian[to + 3], m.jacobian[to + 4], m.jacobian[to + 5] = sign * a, sign * b, sign * d
    for i in range(3):
        m.jacobian[at + 18 + i], m.jacobian[at + 21 + i] = sign * m.contacts[c, NORMAL + i], 0.0


def is_on_long(m: Arrays, c: int) -> bool:
    """Whether a contact is on a long tree, whose unknowns are known only with the step's length."""
    for side in range(2):
        node = m.contact_wholes[c, NODE_A + side]
        if node >= 0 and m.nodes[node, LONG] > 0:
            return True
    return False


def contact_jacobian(m: Arrays, c: int) -> None:
    at = c * m.counts[STRIDE]
    m.contact_wholes[c, JAC_A], m.contact_wholes[c, JAC_B] = at, at + m.counts[STRIDE] // 2
    if m.contact_wholes[c, NODE_A] >= 0:
        body_jacobian(m, c, m.contact_wholes[c, NODE_A], m.contact_wholes[c, BODY_A], at, 1.0)
    if m.contact_wholes[c, NODE_B] >= 0:
        other = m.contact_wholes[c, JAC_B]
        body_jacobian(m, c, m.contact_wholes[c, NODE_B], m.contact_wholes[c, BODY_B], other, -1.0)
        if m.contact_wholes[c, NODE_A] == m.contact_wholes[c, NODE_B]:  # two bodies of one tree: one Jacobian
            for j in range(4 * m.nodes[m.contact_wholes[c, NODE_A], SIZE]):
                m.jacobian[at + j] += m.jacobian[other + j]
                m.jacobian[other + j] = 0.0


def jacobians(m: Arrays) -> None:
    for c in range(m.counts[CONTACTS]):
        if not is_on_long(m, c):
            contact_jacobian(m, c)


CONTACT_JACOBIANS = (body_jacobian, is_on_long, contact_jacobian, jacobians)
