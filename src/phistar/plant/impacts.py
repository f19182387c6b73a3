"""Impacts inside a step: when a gap reaches its margin fast enough to bounce, and the rates after it."""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    AT,
    BEFORE,
    BLOCK,
    CONTACTS,
    FIRST_TREE,
    GAP,
    GRAVITY,
    IMPACTS,
    JAC_A,
    LENGTH,
    LIMIT,
    MARGIN,
    NODE_A,
    NODES,
    OFFSET,
    OWN,
    OWN_AT,
    RATE,
    RESTITUTION,
    SIZE,
    SLOWEST,
)
from phistar.constraints.constraint_rates import contact_rates
from phistar.plant.tree_calls import ask_trees
from phistar.plant.tree_columns import STRUCK

NEARLY_RIGID = 1e-7  # σ of an impact, as a part of the inverse mass that meets it


def any_lively(m: Arrays) -> bool:
    lively = 0.0
    for c in range(m.counts[CONTACTS]):
        lively = max(lively, m.contacts[c, RESTITUTION])
    return lively > 0.0


def give(m: Arrays, free: int) -> None:
    """The rates of all nodes in `given`: those before, or v*."""
    for i in range(m.counts[NODES]):
        for j in range(m.nodes[i, AT], m.nodes[i, AT] + m.nodes[i, SIZE]):
            m.given[j] = m.free[j] if free > 0 else m.before[j]


def slowest_impact(m: Arrays) -> float:
    gravity = 0.0
    for i in range(3):
        gravity += m.numbers[GRAVITY + i] * m.numbers[GRAVITY + i]
    return max(m.numbers[SLOWEST], 0.5 * sqrt(gravity) * m.numbers[LENGTH])


def first_impact(m: Arrays, h: float) -> float:
    """Time at which a gap first reaches its margin fast enough to bounce, d + u t + ½ a t² = ε; h where none does."""
    give(m, 0)
    for c in range(m.counts[CONTACTS]):
        contact_rates(m, c, RATE)
        m.contacts[c, BEFORE] = m.contacts[c, RATE + 2]
    give(m, 1)
    first, slowest = h, slowest_impact(m)
    for c in range(m.counts[CONTACTS]):
        if m.contacts[c, RESTITUTION] > 0.0:
            contact_rates(m, c, RATE)
            u = m.contacts[c, BEFORE]
            a = (m.contacts[c, RATE + 2] - u) / h
            room = m.contacts[c, GAP] - m.contacts[c, MARGIN]
            inside = u * u - 2.0 * a * room
            if room > 0.0 and inside > 0.0:
                root = sqrt(inside)
                t = h
                if u < 0.0:
                    t = 2.0 * room / (root - u)
                elif a < 0.0:
                    t = (-u - root) / a
                if t < first and root > slowest:
                    first = t
    return first


def excuse(m: Arrays, h: float) -> None:
    """Contacts that will bounce at the step's end, or later, feel no barrier before: by the trapezoid rule they reach
    their margin then, by v⁺ alone a little earlier."""
    give(m, 1)
    for c in range(m.counts[CONTACTS]):
        if m.contacts[c, RESTITUTION] > 0.0:
            contact_rates(m, c, RATE)
            after = m.contacts[c, GAP] + h * m.contacts[c, RATE + 2]
            reached = m.contacts[c, GAP] + 0.5 * h * (m.contacts[c, RATE + 2] + m.contacts[c, BEFORE])
            margin = m.contacts[c, MARGIN]
            if after < margin and reached >= margin * (1.0 - 1e-6) and m.contacts[c, OFFSET] == 0.0:
                m.excused[c] = (margin - after) * (1.0 + 1e-9) + 1e-15
                m.contacts[c, OFFSET] = m.excused[c]


def mark_closing(m: Arrays) -> int:
    """Contacts at their margin that close fast enough to bounce, in `closing`; how many."""
    found, slowest = 0, slowest_impact(m)
    give(m, 0)
    for c in range(m.counts[CONTACTS]):
        m.closing[c] = 0
        if m.contacts[c, RESTITUTION] > 0.0 and m.contacts[c, GAP] <= m.contacts[c, MARGIN] * (1.0 + 1e-6):
            contact_rates(m, c, RATE)
            if m.contacts[c, RATE + 2] < -slowest:
                m.closing[c] = 1
                m.contacts[c, BEFORE] = m.contacts[c, RESTITUTION] * m.contacts[c, RATE + 2]
                m.contacts[c, LIMIT] = 0.0
                m.stiff[c] = 1.0 / (NEARLY_RIGID * effective(m, c))
                found += 1
    return found


def effective(m: Arrays, c: int) -> float:
    """About J A⁻¹ J* of the normal: the inverse of the mass that meets it."""
    total = 1e-300
    for side in range(2):
        node = m.contact_wholes[c, NODE_A + side]
        if node >= 0:
            n, block, at = m.nodes[node, SIZE], m.nodes[node, BLOCK], m.contact_wholes[c, JAC_A + side]
            for j in range(n):
                total += m.jacobian[at + 2 * n + j] * m.jacobian[at + 2 * n + j] / m.mass[block + j * (n + 1)]
    return total


def bounce(m: Arrays) -> None:
    """The rates found for the impacts that are marked, which take no time, are those that all goes on from."""
    for i in range(m.counts[NODES]):
        for j in range(m.nodes[i, OWN_AT], m.nodes[i, OWN_AT] + m.nodes[i, OWN]):
            m.before[j] = m.v[j]
    if m.counts[FIRST_TREE] < m.counts[NODES]:
        ask_trees(m, STRUCK)
    m.counts[IMPACTS] += 1


STRIKES = (any_lively, give, slowest_impact, first_impact, excuse, mark_closing, effective, bounce)
