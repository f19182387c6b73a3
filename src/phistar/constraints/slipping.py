"""Newton's direction where contacts slip: friction's bound falls and rises with the normal impulse.

A contact that slips has λ_t = μλ_n ŝ, so that the gradient's derivative is N = H + J*CJ with C = μ ŝ W_n, unsymmetric,
W_n = −∂λ_n/∂u. N δ = −g is solved by conjugate residuals with the factors of H (GCR, Eisenstat, Elman and Schultz
1983): with H alone the lag of friction's bounds would shrink by a constant factor in each iteration.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays, wide_range
from phistar.constraints.blocks import substitute
from phistar.constraints.columns import (
    AT,
    CHANGE,
    FRICTION,
    HESSIAN,
    IMPULSE,
    JAC_A,
    LIMIT,
    NODE_A,
    PATCH,
    SIZE,
)
from phistar.constraints.constraint_rates import clear_pushed, contact_rates, push_node, turn_node

RESIDUALS = 10  # directions that are kept
REST = 1e-3  # of g: what may be left of it
KRYLOV = 2 + 2 * RESIDUALS  # rows of `krylov`: the answer, what is left, and pairs p, Np


def slips(m: Arrays, c: int) -> bool:
    """Whether a contact's friction is at its bound, which follows a normal impulse."""
    limit, s, t = m.contacts[c, LIMIT], m.contacts[c, IMPULSE], m.contacts[c, IMPULSE + 1]
    if limit <= 0.0 or m.contacts[c, HESSIAN + 3] == 0.0:
        return False
    if m.contacts[c, PATCH] > 0.0 and abs(m.contacts[c, IMPULSE + 3]) >= limit * m.contacts[c, PATCH]:
        return True
    return s * s + t * t >= limit * limit * (1.0 - 1e-9)


def any_slips(m: Arrays, first: int, last: int) -> bool:
    for x in range(first, last):  # noqa: SIM110  # the language has no generators
        if slips(m, m.sorted[x]):
            return True
    return False


def push_slip(m: Arrays, c: int) -> None:
    """`pushed` gains J*CJ times the rates in `given`, of a contact that slips."""
    contact_rates(m, c, CHANGE)
    limit = m.contacts[c, LIMIT]
    change = m.contacts[c, FRICTION] * m.contacts[c, HESSIAN + 3] * m.contacts[c, CHANGE + 2] / limit
    s, t = m.contacts[c, IMPULSE], m.contacts[c, IMPULSE + 1]
    across = change if s * s + t * t >= limit * limit * (1.0 - 1e-9) else 0.0
    turn = m.contacts[c, IMPULSE + 3]
    for side in range(2):
        node = m.contact_wholes[c, NODE_A + side]
        if node >= 0:
            push_node(m, m.contact_wholes[c, JAC_A + side], node, across * s, across * t, 0.0)
            if m.contacts[c, PATCH] > 0.0 and abs(turn) >= limit * m.contacts[c, PATCH]:
                turn_node(m, m.contact_wholes[c, JAC_A + side], node, change * turn)


def dot_rows(m: Arrays, a: int, b: int, n: int) -> float:
    total = 0.0
    for j in wide_range(n):
        total += m.krylov[a + j] * m.krylov[b + j]
    return total


def add_to_row(m: Arrays, to: int, factor: float, a: int, n: int) -> None:
    for j in wide_range(n):
        m.krylov[to + j] += factor * m.krylov[a + j]


def scale_row(m: Arrays, to: int, factor: float, n: int) -> None:
    for j in wide_range(n):
        m.krylov[to + j] *= factor


def row_of_side(m: Arrays, k: int, to: int) -> int:
    """`side` of the island's nodes, one after the other, in a row; where it ends."""
    for i in range(k):
        node = m.members[i]
        n, at = m.nodes[node, SIZE], m.nodes[node, AT]
        for j in wide_range(n):
            m.krylov[to + j] = m.side[at + j]
        to += n
    return to


def multiply_slips(m: Arrays, k: int, first: int, last: int, from_: int) -> None:
    """`side` = H⁻¹J*CJ times a row."""
    for i in range(k):
        node = m.members[i]
        n, at = m.nodes[node, SIZE], m.nodes[node, AT]
        for j in wide_range(n):
            m.given[at + j] = m.krylov[from_ + j]
        clear_pushed(m, node)
        from_ += n
    for x in range(first, last):
        if slips(m, m.sorted[x]):
            push_slip(m, m.sorted[x])
    for i in range(k):
        node = m.members[i]
        for j in range(m.nodes[node, AT], m.nodes[node, AT] + m.nodes[node, SIZE]):
            m.side[j] = m.pushed[j]
    substitute(m, k)


def follow_slips(m: Arrays, k: int, first: int, last: int) -> None:
    """`side`, H⁻¹g, becomes N⁻¹g."""
    n = row_of_side(m, k, 0)
    row_of_side(m, k, n)
    scale_row(m, 0, 0.0, n)
    start = dot_rows(m, n, n, n)
    for i in range(RESIDUALS):
        p = (2 + 2 * i) * n
        scale_row(m, p, 0.0, n)
        add_to_row(m, p, 1.0, n, n)
        multiply_slips(m, k, first, last, p)
        row_of_side(m, k, p + n)
        add_to_row(m, p + n, 1.0, p, n)
        for l in range(i):
            q = (2 + 2 * l) * n
            part = dot_rows(m, p + n, q + n, n)
            add_to_row(m, p + n, -part, q + n, n)
            add_to_row(m, p, -part, q, n)
        size = dot_rows(m, p + n, p + n, n)
        if size <= 0.0:
            break
        scale_row(m, p, 1.0 / sqrt(size), n)
        scale_row(m, p + n, 1.0 / sqrt(size), n)
        part = dot_rows(m, n, p + n, n)
        add_to_row(m, 0, part, p, n)
        add_to_row(m, n, -part, p + n, n)
        if dot_rows(m, n, n, n) <= REST * REST * start:
            break
    at = 0
    for i in range(k):
        node = m.members[i]
        for j in wide_range(m.nodes[node, SIZE]):
            m.side[m.nodes[node, AT] + j] = m.krylov[at + j]
        at += m.nodes[node, SIZE]


SLIPPING = (*(slips, any_slips, push_slip, dot_rows, add_to_row, scale_row, row_of_side, multiply_slips, follow_slips),)
