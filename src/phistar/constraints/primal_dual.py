"""Weights of barriers in Newton's method far from the answer: primal and dual, as in interior-point methods.

A contact's law is λy = hK(ε − y)(1 − αu)₊. Linearized in λ and y together its weight is −∂λ/∂u = (h(hK(1 − αu) + λ) +
hKα(ε − y))/y with an estimate λ of the impulse beside the gap y = d + hu; the law's own slope has λ(y) in its place,
which is wrong by as much as the gap is, so that gaps that are too small would only double in an iteration.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    CHANGE,
    DAMPING,
    DUAL,
    GAP,
    GUESS,
    HESSIAN,
    IMPULSE,
    LINEAR,
    MARGIN,
    OFFSET,
    RATE,
    STRENGTH,
)


def begin_dual(m: Arrays, c: int) -> None:
    """The first estimate of a normal impulse is that of the step before."""
    m.contacts[c, DUAL] = m.contacts[c, GUESS]


def stiffen(m: Arrays, c: int, h: float) -> None:
    """The weight of a barrier by its gap and the estimate of its impulse."""
    if m.contacts[c, LINEAR] > 0.0:
        return
    u, margin, dual = m.contacts[c, RATE + 2], m.contacts[c, MARGIN], m.contacts[c, DUAL]
    y = m.contacts[c, GAP] + m.contacts[c, OFFSET] + h * u
    lively = 1.0 - m.contacts[c, DAMPING] * u
    if lively <= 0.0 or (y >= margin and dual <= 0.0):
        return
    strength = h * m.contacts[c, STRENGTH]
    weight = h * (strength * lively + dual)
    if y < margin:
        weight += strength * (margin - y) * m.contacts[c, DAMPING]
    m.contacts[c, HESSIAN + 3] = weight / y


def follow_dual(m: Arrays, c: int, part: float) -> None:
    """The estimate after a part of the direction, to whose end it has the linearized law's impulse."""
    after = m.contacts[c, IMPULSE + 2] - m.contacts[c, HESSIAN + 3] * m.contacts[c, CHANGE + 2]
    m.contacts[c, DUAL] += part * (max(after, 0.0) - m.contacts[c, DUAL])


PRIMAL_DUAL = (begin_dual, stiffen, follow_dual)
