"""A mechanism's semi-implicit Euler step, for the loops of `riccati_loops.py`: its rates decide, coordinates follow.

    δv' = Aδx + Bδu,  A = [h ∂θ̈/∂q, 1 + h ∂θ̈/∂v],  B = h ∂θ̈/∂u          δq' = X̂ δq + hŶ δv'

so that E = [[X̂, 0], [0, 0]] and L = [hŶ; 1], and A has half the rows. X̂ = exp(−h v'~) and Ŷ = ∫₀¹ exp(−s h v'~) ds are
the identity but for their first CURVED rows and columns.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays

STATES, CONTROLS, FIRST, RATES, CURVED = 2, 1, 3, 1, 0  # given when the loops are compiled
PLACES = 4  # entries of `whole` from here on: the joint rate that each control acts on


def rate_rows(m: Arrays, k: int) -> None:
    """F = [A, 0, B] of ∂θ̈ by q, v and joint forces."""
    at, h = k * RATES, m.h[k]
    for i in range(RATES):
        for j in range(RATES):
            m.F[i, j] = h * m.by_q[at + i, j]
            m.F[i, RATES + j] = h * m.by_v[at + i, j]
        m.F[i, RATES + i] += 1.0
        for j in range(CONTROLS):
            m.F[i, FIRST + j] = h * m.by_force[at + i, m.whole[PLACES + j]]


def curved_lift(m: Arrays, k: int) -> None:
    """VL, L*s and E*s where coordinates do not add."""
    first, after, h = k * CURVED, (k + 1) * STATES, m.h[k]
    for i in range(STATES):
        for j in range(CURVED):
            total = 0.0
            for l in range(CURVED):
                total += m.P[after + i, l] * m.spread[first + l, j]
            m.VL[i, j] = h * total + m.P[after + i, RATES + j]
    for i in range(CURVED):
        turned, carried = 0.0, 0.0
        for l in range(CURVED):
            turned += m.spread[first + l, i] * m.slope[l]
            carried += m.carried[first + l, i] * m.slope[l]
        m.lifted[i] = h * turned + m.slope[RATES + i]
        m.straight[i] = carried


def curved_rest(m: Arrays, k: int) -> None:
    """T, `half` and E*PE where coordinates do not add."""
    first, at, after, h = k * CURVED, k * STATES, (k + 1) * STATES, m.h[k]
    for i in range(CURVED):
        for j in range(RATES):
            total = 0.0
            for l in range(CURVED):
                total += m.spread[first + l, i] * m.VL[l, j]
            m.T[i, j] = h * total + m.VL[RATES + i, j]
    for i in range(RATES):
        for j in range(CURVED):
            total = 0.0
            for l in range(CURVED):
                total += m.VL[l, i] * m.carried[first + l, j]
            m.half[i, j] = total
    for i in range(RATES):
        for j in range(CURVED):
            total = 0.0
            for l in range(CURVED):
                total += m.P[after + i, l] * m.carried[first + l, j]
            m.P[at + i, j] = total
    for j in range(RATES):
        for i in range(CURVED):
            total = 0.0
            for l in range(CURVED):
                total += m.carried[first + l, i] * m.P[at + l, j]
            m.column[i] = total
        for i in range(CURVED):
            m.P[at + i, j] = m.column[i]


def prepare_step(m: Arrays, k: int) -> None:
    """F = [A, 0, B], T = L*PL, `half` = L*PE, L*s, E*s and P(k) = E*PE."""
    at, after, h = k * STATES, (k + 1) * STATES, m.h[k]
    rate_rows(m, k)
    for i in range(STATES):
        for j in range(RATES):
            m.VL[i, j] = h * m.P[after + i, j] + m.P[after + i, RATES + j]
        for j in range(STATES):
            m.P[at + i, j] = 0.0
    for i in range(RATES):
        m.lifted[i] = h * m.slope[i] + m.slope[RATES + i]
        m.straight[i] = m.slope[i]
        m.straight[RATES + i] = 0.0
    if CURVED > 0:
        curved_lift(m, k)
    for i in range(RATES):
        for j in range(RATES):
            m.T[i, j] = h * m.VL[i, j] + m.VL[RATES + i, j]
            m.half[i, j] = m.VL[j, i]
            m.half[i, RATES + j] = 0.0
            m.P[at + i, j] = m.P[after + i, j]
    if CURVED > 0:
        curved_rest(m, k)


def advance(m: Arrays, k: int) -> None:
    """δv' += Aδx + Bδu, δq' += X̂ δq + hŶ(Aδx + Bδu)."""
    at, own, after, h = k * STATES, k * CONTROLS, (k + 1) * STATES, m.h[k]
    rate_rows(m, k)
    for i in range(RATES):
        total = 0.0
        for j in range(STATES):
            total += m.F[i, j] * m.x[at + j]
        for j in range(CONTROLS):
            total += m.F[i, FIRST + j] * m.u[own + j]
        m.lifted[i] = total
    for i in range(RATES):
        m.x[after + RATES + i] += m.lifted[i]
        if i < CURVED:
            for l in range(CURVED):
                m.x[after + i] += m.carried[k * CURVED + i, l] * m.x[at + l]
                m.x[after + i] += h * m.spread[k * CURVED + i, l] * m.lifted[l]
        else:
            m.x[after + i] += m.x[at + i] + h * m.lifted[i]
