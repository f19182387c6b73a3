"""Riccati's equation swept backward over steps, as loops that compile to machine code.

With the cost ½[x; u]*W[x; u] + w*[x; u] of a step, W = [[Q, S], [S*, R]], and x' = Ex + L(Ax + Bu) + c, one step of the
sweep is

    T = L*PL,   G = L*PE + TA,   s = p + Pc
    D = R + B*TB,   X = S* + B*G,   K = D⁻¹X,   d = −D⁻¹(r + B*L*s)                                u = d − Kx
    P ← Q + E*PE + A*(L*PE + ½TA) + (L*PE + ½TA)*A − X*K,   p ← q + E*s + A*L*s + X*d

which along links is R87 eqs. 37-43 with A* for φ, B for H*, Q for M and R for armature. S does not occur there: it goes
by a change of u. What E, L, A and B are stands in `system_step.py` (E = 0, L = 1) and `mechanism_step.py` (A and B are
those of the rates alone, half the rows). Between `low` and `high` the step's u is the minimum of the quadratic in a box
(Tassa 2014), and rows of K are zero where it stands at a bound.

Products take three rows at once: a row of the result is then loaded and stored once for three multiplications. Tables
that are worked in have rows of whole vectors of numbers; what stands beyond their own columns is never read.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays

STATES, CONTROLS, BOTH, ROWS = 1, 1, 2, 1  # states, controls, both, rows of A; given when the loops are compiled
FIRST = 2  # the column of B in F, of D in X: after those of the states and one more
NARROW, WIDE = 2, 3  # columns of tables that hold STATES + 1 or BOTH + 1: as many as whole vectors of numbers have
COUNT, BOUNDED, FAILED, DRIFTS = 0, 1, 2, 3
"""Entries of `whole`: steps; whether u has bounds; 1 + the step whose D is not positive; whether any c is not zero."""
STATE_SHIFT, CONTROL_SHIFT, SLOPE, CURVATURE = 0, 1, 2, 3
"""Entries of `scalars`: what is added to the diagonals of P and D; Σ (r + B*L*s)*d and Σ d*Dd."""
NEWTON = 30  # changes of the set of bounds that are met
EDGE = 1e-12  # how near to a bound is at it


def value_after(m: Arrays, k: int) -> None:
    """P at the end of step k gets its shift; s = p + Pc in `slope`."""
    after, at = (k + 1) * STATES, k * STATES
    for i in range(STATES):
        m.P[after + i, i] += m.scalars[STATE_SHIFT]
        m.slope[i] = m.p[after + i]
    if m.whole[DRIFTS] == 1:
        for l in range(STATES):
            factor = m.c[at + l]
            for i in range(STATES):
                m.slope[i] += factor * m.P[after + l, i]


def products(m: Arrays) -> None:
    """G = [L*PE + TA, L*s, TB], and `half` = [L*PE + ½TA, ½L*s], whose first part begins as L*PE."""
    for i in range(ROWS):
        for j in range(WIDE):
            m.G[i, j] = 0.0
        for block in range(ROWS // 3):
            l = 3 * block
            a, b, c = m.T[i, l], m.T[i, l + 1], m.T[i, l + 2]
            for j in range(WIDE):
                m.G[i, j] += a * m.F[l, j] + (b * m.F[l + 1, j] + c * m.F[l + 2, j])
        for l in range(3 * (ROWS // 3), ROWS):
            a = m.T[i, l]
            for j in range(WIDE):
                m.G[i, j] += a * m.F[l, j]
        for j in range(STATES):
            first = m.half[i, j]
            m.half[i, j] = first + 0.5 * m.G[i, j]
            m.G[i, j] += first
        m.half[i, STATES] = 0.5 * m.lifted[i]
        m.G[i, STATES] = m.lifted[i]


def quadratic_in_controls(m: Arrays, k: int) -> None:
    """[X, r + B*L*s, D] = [S*, r, R] + B*G in `X`, D also in its table, the column between in `gradient`."""
    own, at = k * CONTROLS, k * BOTH + STATES
    for i in range(CONTROLS):
        for j in range(STATES):
            m.X[i, j] = m.W[at + i, j]
        m.X[i, STATES] = m.w[at + i]
        for j in range(CONTROLS):
            m.X[i, FIRST + j] = m.W[at + i, STATES + j]
        m.X[i, FIRST + i] += m.scalars[CONTROL_SHIFT]
        for block in range(ROWS // 3):
            l = 3 * block
            a, b, c = m.F[l, FIRST + i], m.F[l + 1, FIRST + i], m.F[l + 2, FIRST + i]
            for j in range(WIDE):
                m.X[i, j] += a * m.G[l, j] + (b * m.G[l + 1, j] + c * m.G[l + 2, j])
        for l in range(3 * (ROWS // 3), ROWS):
            a = m.F[l, FIRST + i]
            for j in range(WIDE):
                m.X[i, j] += a * m.G[l, j]
        m.gradient[i] = m.X[i, STATES]
        for j in range(CONTROLS):
            m.D[own + i, j] = m.X[i, FIRST + j]


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
                m.L[i, j] = total * m.inverse[j]
            else:
                if not total > 0.0:
                    return False
                m.L[i, i] = sqrt(total)
                m.inverse[i] = 1.0 / m.L[i, i]
    return True


def divide_step(m: Arrays) -> None:
    """(LL*)⁻¹ times `change`, in place."""
    for i in range(CONTROLS):
        total = m.change[i]
        for l in range(i):
            total -= m.L[i, l] * m.change[l]
        m.change[i] = total * m.inverse[i]
    for up in range(CONTROLS):
        i = CONTROLS - 1 - up
        total = m.change[i]
        for l in range(i + 1, CONTROLS):
            total -= m.L[l, i] * m.change[l]
        m.change[i] = total * m.inverse[i]


def eliminate(m: Arrays) -> bool:
    """[Y, y, U] = N⁻¹[X, gradient, D] with D = NU, row by row, in `Y`; 1/U(i, i) in `inverse`; whether D is positive.

    Rows of controls at a bound are left out: those of X become zero, those of D as in the identity."""
    for i in range(CONTROLS):
        for j in range(WIDE):
            m.Y[i, j] = m.X[i, j]
    if m.whole[BOUNDED] == 1:
        for i in range(CONTROLS):
            if m.fixed[i] == 1:
                for j in range(WIDE):
                    m.Y[i, j] = 0.0
                for l in range(CONTROLS):
                    m.Y[l, FIRST + i] = 0.0
                m.Y[i, FIRST + i] = 1.0
    for l in range(CONTROLS):
        pivot = m.Y[l, FIRST + l]
        if not pivot > 0.0:
            return False
        m.inverse[l] = 1.0 / pivot
        for i in range(l + 1, CONTROLS):
            factor = m.Y[i, FIRST + l] * m.inverse[l]
            for j in range(WIDE):
                m.Y[i, j] -= factor * m.Y[l, j]
    return True


def divide_gains(m: Arrays, own: int) -> None:
    """K = U⁻¹Y and, without bounds, d = −U⁻¹y."""
    for up in range(CONTROLS):
        i = CONTROLS - 1 - up
        for j in range(WIDE):
            m.solved[i, j] = m.Y[i, j]
        for l in range(i + 1, CONTROLS):
            factor = m.Y[i, FIRST + l]
            for j in range(WIDE):
                m.solved[i, j] -= factor * m.solved[l, j]
        scale = m.inverse[i]
        for j in range(WIDE):
            m.solved[i, j] *= scale
        for j in range(STATES):
            m.K[own + i, j] = m.solved[i, j]
    if m.whole[BOUNDED] == 0:
        for i in range(CONTROLS):
            m.d[own + i] = -m.solved[i, STATES]


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


def least_step(m: Arrays, own: int) -> bool:
    """Gains and d of the step, between bounds where there are any; whether D is positive."""
    if m.whole[BOUNDED] == 1 and not bounded_step(m, own):
        return False
    if not eliminate(m):
        return False
    divide_gains(m, own)
    return True


def half_value(m: Arrays) -> None:
    """Z = A*[L*PE + ½TA, ½L*s] − ½Y*U⁻¹[Y, y]: with its own transpose added, what P has beside Q and E*PE, and, twice
    its last column, what p has beside q and E*s."""
    for l in range(CONTROLS):
        scale = -0.5 * m.inverse[l]
        for j in range(STATES):
            m.scaled[l, j] = scale * m.Y[l, j]
    for i in range(STATES):
        for j in range(NARROW):
            m.Z[i, j] = 0.0
        for block in range(ROWS // 3):
            l = 3 * block
            a, b, c = m.F[l, i], m.F[l + 1, i], m.F[l + 2, i]
            for j in range(NARROW):
                m.Z[i, j] += a * m.half[l, j] + (b * m.half[l + 1, j] + c * m.half[l + 2, j])
        for l in range(3 * (ROWS // 3), ROWS):
            a = m.F[l, i]
            for j in range(NARROW):
                m.Z[i, j] += a * m.half[l, j]
        for block in range(CONTROLS // 3):
            l = 3 * block
            a, b, c = m.scaled[l, i], m.scaled[l + 1, i], m.scaled[l + 2, i]
            for j in range(NARROW):
                m.Z[i, j] += a * m.Y[l, j] + (b * m.Y[l + 1, j] + c * m.Y[l + 2, j])
        for l in range(3 * (CONTROLS // 3), CONTROLS):
            a = m.scaled[l, i]
            for j in range(NARROW):
                m.Z[i, j] += a * m.Y[l, j]


def value_before(m: Arrays, k: int) -> None:
    """P and p at the start of step k; P has E*PE already."""
    at, own, both = k * STATES, k * CONTROLS, k * BOTH
    for i in range(STATES):
        for j in range(i):
            twice = m.Z[i, j] + m.Z[j, i]
            m.Z[i, j] = twice
            m.Z[j, i] = twice
        m.Z[i, i] *= 2.0
    for i in range(STATES):
        for j in range(STATES):
            m.P[at + i, j] += m.W[both + i, j] + m.Z[i, j]
        m.p[at + i] = m.w[both + i] + m.straight[i] + 2.0 * m.Z[i, STATES]
    if m.whole[BOUNDED] == 1:  # y does not make d: X*d in place of −Y*U⁻¹y
        for i in range(STATES):
            total = 0.0
            for l in range(CONTROLS):
                total += m.X[l, i] * m.d[own + l] - 2.0 * m.scaled[l, i] * m.Y[l, STATES]
            m.p[at + i] += total


def expected(m: Arrays, own: int) -> None:
    """The step's part of Σ gradient*d and Σ d*Dd."""
    for i in range(CONTROLS):
        total = 0.0
        for j in range(CONTROLS):
            total += m.D[own + i, j] * m.d[own + j]
        m.scalars[SLOPE] += m.gradient[i] * m.d[own + i]
        m.scalars[CURVATURE] += total * m.d[own + i]


def prepare_step(m: Arrays, k: int) -> None:
    """Stands for that of a kind of system: F = [A, 0, B], T, `half`, `lifted` = L*s, `straight` = E*s, P(k) = E*PE."""
    raise NotImplementedError


def backward(m: Arrays) -> None:
    """Gains and values of all steps, from the last to the first; P and p at the end stand in their last rows."""
    m.whole[FAILED] = 0
    m.scalars[SLOPE] = 0.0
    m.scalars[CURVATURE] = 0.0
    for back in range(m.whole[COUNT]):
        k = m.whole[COUNT] - 1 - back
        own = k * CONTROLS
        value_after(m, k)
        prepare_step(m, k)
        products(m)
        quadratic_in_controls(m, k)
        if not least_step(m, own):
            m.whole[FAILED] = k + 1
            return
        half_value(m)
        value_before(m, k)
        expected(m, own)


def advance(m: Arrays, k: int) -> None:
    """Stands for that of a kind of system: x' of x and u."""
    raise NotImplementedError


def forward(m: Arrays) -> None:
    """x' = Ex + L(Ax + Bu) + c with u = d − Kx, from the first row of x."""
    for k in range(m.whole[COUNT]):
        at, own, after = k * STATES, k * CONTROLS, (k + 1) * STATES
        for i in range(CONTROLS):
            total = m.d[own + i]
            for j in range(STATES):
                total -= m.K[own + i, j] * m.x[at + j]
            m.u[own + i] = total
        for i in range(STATES):
            m.x[after + i] = m.c[at + i]
        advance(m, k)


SWEEP = (
    value_after,
    products,
    quadratic_in_controls,
    factorized,
    divide_step,
    eliminate,
    divide_gains,
    bounded_step,
    least_step,
    half_value,
    value_before,
    expected,
    backward,
)
"""The loops of `backward`, which wants a `prepare_step` before them; `forward` wants an `advance`."""
