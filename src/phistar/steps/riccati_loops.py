"""Riccati's equation swept backward over steps, as loops that compile to machine code.

With the cost ½x*Qx + x*Su + ½u*Ru + q*x + r*u of a step and x' = Ax + Bu + c, one step of the sweep is

    D = R + B*PB,   X = S* + B*PA,   K = D⁻¹X,   d = −D⁻¹(r + B*(p + Pc))          u = d − Kx
    P ← Q + A*PA − X*K,   p ← q + A*(p + Pc) + X*d

which along links is R87 eqs. 37-43 with A* for φ, B for H*, Q for M and R for armature. S does not occur there: it goes
by a change of u. Between `low` and `high` the step's u is the minimum of the quadratic in a box (Tassa 2014), and rows
of K are zero where it stands at a bound.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays

STATES, CONTROLS = 1, 1  # of a system; given when the loops are compiled
COUNT, BOUNDED, FAILED = (
    0,
    1,
    2,
)  # entries of `whole`: steps; whether u has bounds; 1 + the step whose D is not positive
STATE_SHIFT, CONTROL_SHIFT, SLOPE, CURVATURE = 0, 1, 2, 3
"""Entries of `scalars`: what is added to the diagonals of P and D; Σ (r + B*(p + Pc))*d and Σ d*Dd."""
NEWTON = 30  # changes of the set of bounds that are met
EDGE = 1e-12  # how near to a bound is at it


def product_over_state(m: Arrays, k: int) -> None:
    """VA, (n, n), and B*V, (m, n), of V = P + the shift at the end of step k; p + Pc in `slope`."""
    after, at = (k + 1) * STATES, k * STATES
    for i in range(STATES):
        for j in range(STATES):
            m.VA[i, j] = 0.0
            m.V[i, j] = m.P[after + i, j]
        m.V[i, i] += m.scalars[STATE_SHIFT]
        total = m.p[after + i]
        for l in range(STATES):
            total += m.V[i, l] * m.c[at + l]
        m.slope[i] = total
        for l in range(STATES):
            factor = m.V[i, l]
            for j in range(STATES):
                m.VA[i, j] += factor * m.A[at + l, j]
    for i in range(CONTROLS):
        for j in range(STATES):
            m.BV[i, j] = 0.0
        for l in range(STATES):
            factor = m.B[at + l, i]
            for j in range(STATES):
                m.BV[i, j] += factor * m.V[l, j]


def quadratic_in_controls(m: Arrays, k: int) -> None:
    """D = R + B*VB, X = S* + B*VA in `X` and `K`, r + B*(p + Pc) in `gradient`."""
    at, own = k * STATES, k * CONTROLS
    for i in range(CONTROLS):
        for j in range(CONTROLS):
            m.D[own + i, j] = m.R[own + i, j]
        for l in range(STATES):
            factor = m.BV[i, l]
            for j in range(CONTROLS):
                m.D[own + i, j] += factor * m.B[at + l, j]
        m.D[own + i, i] += m.scalars[CONTROL_SHIFT]
    for i in range(CONTROLS):
        total = m.r[own + i]
        for l in range(STATES):
            total += m.B[at + l, i] * m.slope[l]
        m.gradient[i] = total
        for j in range(STATES):
            m.X[i, j] = m.S[at + j, i]
        for l in range(STATES):
            factor = m.B[at + l, i]
            for j in range(STATES):
                m.X[i, j] += factor * m.VA[l, j]
        for j in range(STATES):
            m.K[own + i, j] = m.X[i, j]


def factorized(m: Arrays, own: int) -> bool:
    """D = LL*, rows and columns of controls at a bound as in the identity; whether D is positive."""
    for i in range(CONTROLS):
        for j in range(i + 1):
            total = m.D[own + i, j]
            if m.fixed[i] == 1 or m.fixed[j] == 1:
                total = 1.0 if i == j else 0.0
            for l in range(j):
                total -= m.L[i, l] * m.L[j, l]
            if i != j:
                m.L[i, j] = total / m.L[j, j]
            else:
                if not total > 0.0:
                    return False
                m.L[i, i] = sqrt(total)
    return True


def divide_step(m: Arrays) -> None:
    """(LL*)⁻¹ times `change`, in place."""
    for i in range(CONTROLS):
        total = m.change[i]
        for l in range(i):
            total -= m.L[i, l] * m.change[l]
        m.change[i] = total / m.L[i, i]
    for up in range(CONTROLS):
        i = CONTROLS - 1 - up
        total = m.change[i]
        for l in range(i + 1, CONTROLS):
            total -= m.L[l, i] * m.change[l]
        m.change[i] = total / m.L[i, i]


def divide_gains(m: Arrays, own: int) -> None:
    """(LL*)⁻¹ times the rows of K, in place; those of controls at a bound become zero."""
    for i in range(CONTROLS):
        if m.fixed[i] == 1:
            for j in range(STATES):
                m.K[own + i, j] = 0.0
        for l in range(i):
            factor = m.L[i, l]
            for j in range(STATES):
                m.K[own + i, j] -= factor * m.K[own + l, j]
        scale = 1.0 / m.L[i, i]
        for j in range(STATES):
            m.K[own + i, j] *= scale
    for up in range(CONTROLS):
        i = CONTROLS - 1 - up
        for l in range(i + 1, CONTROLS):
            factor = m.L[l, i]
            for j in range(STATES):
                m.K[own + i, j] -= factor * m.K[own + l, j]
        scale = 1.0 / m.L[i, i]
        for j in range(STATES):
            m.K[own + i, j] *= scale


def bounded_step(m: Arrays, own: int) -> bool:
    """d that makes ½d*Dd + gradient*d least between the bounds: Newton steps in the controls that are free, cut at the
    bounds, until none wants to leave one or meets another; whether D is positive on them."""
    for i in range(CONTROLS):
        m.d[own + i] = min(max(0.0, m.low[own + i]), m.high[own + i])
        m.fixed[i] = 0
    for _ in range(NEWTON):
        changed, largest = 0, 0.0
        for i in range(CONTROLS):
            total = m.gradient[i]
            for j in range(CONTROLS):
                total += m.D[own + i, j] * m.d[own + j]
            below, above = m.d[own + i] - m.low[own + i] <= EDGE, m.high[own + i] - m.d[own + i] <= EDGE
            now = 1 if (below and total > 0.0) or (above and total < 0.0) else 0
            if now != m.fixed[i]:
                changed = 1
            m.fixed[i] = now
            m.change[i] = 0.0 if now == 1 else -total
        if not factorized(m, own):
            return False
        divide_step(m)
        for i in range(CONTROLS):
            before = m.d[own + i]
            if m.fixed[i] == 0:
                m.d[own + i] = min(max(before + m.change[i], m.low[own + i]), m.high[own + i])
            largest = max(largest, abs(m.d[own + i] - before))
        if changed == 0 and largest <= EDGE:
            break
    return True


def free_step(m: Arrays, own: int) -> bool:
    """d = −D⁻¹ gradient; whether D is positive."""
    for i in range(CONTROLS):
        m.fixed[i] = 0
        m.change[i] = -m.gradient[i]
    if not factorized(m, own):
        return False
    divide_step(m)
    for i in range(CONTROLS):
        m.d[own + i] = m.change[i]
    return True


def least_step(m: Arrays, own: int) -> bool:
    """d of the step, between bounds where there are any; whether D is positive."""
    if m.whole[BOUNDED] == 1:
        return bounded_step(m, own)
    return free_step(m, own)


def value_before(m: Arrays, k: int) -> None:
    """P and p at the start of step k; whole rows, which vectors of numbers take faster than halves."""
    at, own = k * STATES, k * CONTROLS
    for i in range(STATES):
        total = m.q[at + i]
        for l in range(STATES):
            total += m.A[at + l, i] * m.slope[l]
        for l in range(CONTROLS):
            total += m.X[l, i] * m.d[own + l]
        m.p[at + i] = total
        for j in range(STATES):
            m.P[at + i, j] = m.Q[at + i, j]
        for l in range(STATES):
            factor = m.A[at + l, i]
            for j in range(STATES):
                m.P[at + i, j] += factor * m.VA[l, j]
        for l in range(CONTROLS):
            factor = m.X[l, i]
            for j in range(STATES):
                m.P[at + i, j] -= factor * m.K[own + l, j]
    for i in range(STATES):
        for j in range(i):
            m.P[at + j, i] = m.P[at + i, j]


def expected(m: Arrays, own: int) -> None:
    """The step's part of Σ gradient*d and Σ d*Dd."""
    for i in range(CONTROLS):
        total = 0.0
        for j in range(CONTROLS):
            total += m.D[own + i, j] * m.d[own + j]
        m.scalars[SLOPE] += m.gradient[i] * m.d[own + i]
        m.scalars[CURVATURE] += total * m.d[own + i]


def backward(m: Arrays) -> None:
    """Gains and values of all steps, from the last to the first; P and p at the end stand in their last rows."""
    m.whole[FAILED] = 0
    m.scalars[SLOPE] = 0.0
    m.scalars[CURVATURE] = 0.0
    for back in range(m.whole[COUNT]):
        k = m.whole[COUNT] - 1 - back
        own = k * CONTROLS
        product_over_state(m, k)
        quadratic_in_controls(m, k)
        if not least_step(m, own):
            m.whole[FAILED] = k + 1
            return
        divide_gains(m, own)
        value_before(m, k)
        expected(m, own)


def forward(m: Arrays) -> None:
    """x' = Ax + Bu + c with u = d − Kx, from the first row of x."""
    for k in range(m.whole[COUNT]):
        at, own, after = k * STATES, k * CONTROLS, (k + 1) * STATES
        for i in range(CONTROLS):
            total = m.d[own + i]
            for j in range(STATES):
                total -= m.K[own + i, j] * m.x[at + j]
            m.u[own + i] = total
        for i in range(STATES):
            total = m.c[at + i]
            for j in range(STATES):
                total += m.A[at + i, j] * m.x[at + j]
            for j in range(CONTROLS):
                total += m.B[at + i, j] * m.u[own + j]
            m.x[after + i] = total


SWEEP = (
    product_over_state,
    quadratic_in_controls,
    factorized,
    divide_step,
    divide_gains,
    bounded_step,
    free_step,
    least_step,
    value_before,
    expected,
    backward,
)
