"""Jacobians of contacts and rows: times the rates in `given`, and their transposes times impulses, in `pushed`."""

from __future__ import annotations

from phistar.backends.code.native import Arrays, wide_range
from phistar.constraints.columns import (
    AT,
    JAC_A,
    NODE_A,
    PATCH,
    ROW_JAC_A,
    ROW_JAC_B,
    ROW_NODE_A,
    ROW_NODE_B,
    ROW_RATE,
    SIGN,
    SIZE,
    SPANNED,
)


def clear_rates(m: Arrays, c: int, to: int) -> None:
    for row in range(4):
        m.contacts[c, to + row] = 0.0


def add_rates(m: Arrays, c: int, to: int, jac: int, node: int, rows: int) -> None:
    """A contact's columns from `to` on gain its Jacobian times a node's `given` rates."""
    n, at = m.nodes[node, SIZE], m.nodes[node, AT]
    for row in range(rows):
        total = 0.0
        for j in wide_range(n):
            total += m.jacobian[jac + row * n + j] * m.given[at + j]
        m.contacts[c, to + row] += total


def contact_rates(m: Arrays, c: int, to: int) -> None:
    """J times the rates in `given`, for a contact, to its columns from `to` on."""
    clear_rates(m, c, to)
    rows = 4 if m.contacts[c, PATCH] > 0.0 else 3
    for side in range(2):
        node = m.contact_wholes[c, NODE_A + side]
        if node >= 0:
            add_rates(m, c, to, m.contact_wholes[c, JAC_A + side], node, rows)


def row_rate(m: Arrays, r: int) -> float:
    """The same for a single row."""
    a, b, rate = m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B], m.row_wholes[r, ROW_RATE]
    if rate >= 0 and m.nodes[a, SPANNED] == 0:
        return m.rows[r, SIGN] * m.given[m.nodes[a, AT] + rate]
    total = 0.0
    if a >= 0:
        for j in wide_range(m.nodes[a, SIZE]):
            total += m.row_jacobian[m.row_wholes[r, ROW_JAC_A] + j] * m.given[m.nodes[a, AT] + j]
    if b >= 0:
        for j in wide_range(m.nodes[b, SIZE]):
            total += m.row_jacobian[m.row_wholes[r, ROW_JAC_B] + j] * m.given[m.nodes[b, AT] + j]
    return total


def push_node(m: Arrays, jac: int, node: int, x: float, y: float, z: float) -> None:
    """`pushed` of a node gains a contact's J*λ."""
    n, at = m.nodes[node, SIZE], m.nodes[node, AT]
    for j in wide_range(n):
        m.pushed[at + j] += m.jacobian[jac + j] * x + m.jacobian[jac + n + j] * y + m.jacobian[jac + 2 * n + j] * z


def turn_node(m: Arrays, jac: int, node: int, turn: float) -> None:
    """`pushed` of a node gains what an impulse about a contact's normal does."""
    n, at = m.nodes[node, SIZE], m.nodes[node, AT]
    for j in wide_range(n):
        m.pushed[at + j] += m.jacobian[jac + 3 * n + j] * turn


def clear_pushed(m: Arrays, node: int) -> None:
    for j in range(m.nodes[node, AT], m.nodes[node, AT] + m.nodes[node, SIZE]):
        m.pushed[j] = 0.0


RATES_OF = (clear_rates, add_rates, contact_rates, row_rate, push_node, turn_node, clear_pushed)
