"""A step x' = Ax + Bu + c of a linear system, for the loops of `riccati_loops.py`: E = 0, L = 1."""

from __future__ import annotations

from phistar.backends.code.native import Arrays

STATES, CONTROLS, FIRST = 1, 1, 2  # given when the loops are compiled


def prepare_step(m: Arrays, k: int) -> None:
    """F = [A, 0, B], T = P, L*s = s, nothing of E."""
    at, after = k * STATES, (k + 1) * STATES
    for i in range(STATES):
        m.lifted[i] = m.slope[i]
        m.straight[i] = 0.0
        for j in range(STATES):
            m.F[i, j] = m.A[at + i, j]
            m.T[i, j] = m.P[after + i, j]
            m.half[i, j] = 0.0
            m.P[at + i, j] = 0.0
        for j in range(CONTROLS):
            m.F[i, FIRST + j] = m.B[at + i, j]


def advance(m: Arrays, k: int) -> None:
    """x' += Ax + Bu."""
    at, own, after = k * STATES, k * CONTROLS, (k + 1) * STATES
    for i in range(STATES):
        total = 0.0
        for j in range(STATES):
            total += m.A[at + i, j] * m.x[at + j]
        for j in range(CONTROLS):
            total += m.B[at + i, j] * m.u[own + j]
        m.x[after + i] += total
