"""ℳ⁻¹X of one state, (1 − HψK)*D⁻¹(1 − HψK)X (RJK91 lemma 3), as loops in the little language of `native.py`.

Order and tables are those of `loops.py`; `rows` has of each rate H*, G, the slope 2H𝒴/D and 1/D. Columns come as
the force y that holds a joint's body: an inward loop takes it through the rates that carry it, u = −Hy, y ← y + Gu.
Where a rate carries the row, −ℳ⁻¹∂τ has nothing to take inward: its acceleration Ψ̈ is as good as its parent's, and the
force 𝒴 has been eliminated already. An outward loop makes θ̈ = u/D − G*a, a ← a + H*θ̈ of it, for all columns at once.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.backends.pairwise.loops import GROUP, ROW, STEP, end_of, filled, first_of, last_of, left_behind, put


def eliminated(y0, y1, y2, y3, y4, y5, u, rows, row: int, at: int, start: int, stop: int) -> None:
    """u ← −Hy/D, y ← y − GHy, in groups of columns of one row."""
    i = ROW * row
    h0, h1, h2, h3, h4, h5 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3], rows[i + 4], rows[i + 5]
    g0, g1, g2, g3, g4, g5 = rows[i + 6], rows[i + 7], rows[i + 8], rows[i + 9], rows[i + 10], rows[i + 11]
    scale = rows[i + 15]
    for c in range(GROUP * start, GROUP * stop):
        x = (h0 * y0[c] + h1 * y1[c] + h2 * y2[c]) + (h3 * y3[c] + h4 * y4[c] + h5 * y5[c])
        u[at + c] = -(scale * x)
        y0[c] = y0[c] - g0 * x
        y1[c] = y1[c] - g1 * x
        y2[c] = y2[c] - g2 * x
        y3[c] = y3[c] - g3 * x
        y4[c] = y4[c] - g4 * x
        y5[c] = y5[c] - g5 * x


def accelerated(a0, a1, a2, a3, a4, a5, u, rows, row: int, at: int, layer: int, start: int, stop: int) -> None:
    """θ̈ ← u − G*a, a ← a + H*θ̈, in groups of columns of one row."""
    i = ROW * row
    h0, h1, h2, h3, h4, h5 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3], rows[i + 4], rows[i + 5]
    g0, g1, g2, g3, g4, g5 = rows[i + 6], rows[i + 7], rows[i + 8], rows[i + 9], rows[i + 10], rows[i + 11]
    for c in range(GROUP * start, GROUP * stop):
        k = layer + c
        x = (u[at + c] - g0 * a0[k] - g1 * a1[k] - g2 * a2[k]) - (g3 * a3[k] + g4 * a4[k] + g5 * a5[k])
        u[at + c] = x
        a0[k] = a0[k] + h0 * x
        a1[k] = a1[k] + h1 * x
        a2[k] = a2[k] + h2 * x
        a3[k] = a3[k] + h3 * x
        a4[k] = a4[k] + h4 * x
        a5[k] = a5[k] + h5 * x


def slope(w0, w1, w2, rows, at: int, c: int) -> float:
    return rows[at] * w0[c] + rows[at + 1] * w1[c] + rows[at + 2] * w2[c]


def carried(w0, w1, w2, u, rows, row: int, at: int, stop: int) -> None:
    """u ← −(slope)w of the rates that carry the row."""
    whole = stop // GROUP
    for c in range(GROUP * whole):
        u[at + c] = -slope(w0, w1, w2, rows, ROW * row + 12, c)
    for c in range(GROUP * whole, stop):
        u[at + c] = -slope(w0, w1, w2, rows, ROW * row + 12, c)


def copied(x, source: int, target: int, count: int) -> None:
    """A layer of accelerations from another; from none, zeros."""
    if source < 0:
        filled(x, target, target + count, 0.0)
    elif source != target:
        for c in range(count):
            x[target + c] = x[source + c]


def begun(m: Arrays, a0, a1, a2, a3, a4, a5, row: int) -> None:
    """The accelerations that the row's joint starts from."""
    width = int(m.sizes[1])
    source, target = int(m.steps[STEP * row + 4]) * width, int(m.steps[STEP * row + 5]) * width
    copied(a0, source, target, width)
    copied(a1, source, target, width)
    copied(a2, source, target, width)
    copied(a3, source, target, width)
    copied(a4, source, target, width)
    copied(a5, source, target, width)


def added(y0, y1, y2, y3, y4, y5, x0, x1, x2, x3, x4, x5, layer: int, start: int, stop: int) -> None:
    """y ← y + x."""
    for c in range(start, stop):
        y0[layer + c] = y0[layer + c] + x0[c]
        y1[layer + c] = y1[layer + c] + x1[c]
        y2[layer + c] = y2[layer + c] + x2[c]
        y3[layer + c] = y3[layer + c] + x3[c]
        y4[layer + c] = y4[layer + c] + x4[c]
        y5[layer + c] = y5[layer + c] + x5[c]


def unit_inward(m: Arrays, row: int, at: int) -> None:
    """A force of one at the row's own rate, and what those at the rates that it carries come to."""
    i = ROW * row
    eliminated(m.e0, m.e1, m.e2, m.e3, m.e4, m.e5, m.ue, m.rows, row, at, row // GROUP, end_of(m, row) // GROUP)
    m.ue[at + row] = m.rows[i + 15]
    m.e0[row], m.e1[row], m.e2[row] = m.rows[i + 6], m.rows[i + 7], m.rows[i + 8]
    m.e3[row], m.e4[row], m.e5[row] = m.rows[i + 9], m.rows[i + 10], m.rows[i + 11]


def unit_outward(m: Arrays, row: int, at: int, layer: int) -> None:
    """ℳ⁻¹(row, ·) from the diagonal on."""
    width = int(m.sizes[1])
    if row == first_of(m, row):
        begun(m, m.c0, m.c1, m.c2, m.c3, m.c4, m.c5, row)
    filled(m.ue, at + end_of(m, row), at + width, 0.0)
    accelerated(m.c0, m.c1, m.c2, m.c3, m.c4, m.c5, m.ue, m.rows, row, at, layer, row // GROUP, width // GROUP)


def mirrored(u, width: int) -> None:
    """The lower triangle is the upper one."""
    for row in range(width):
        for c in range(row):
            u[row * width + c] = u[c * width + row]


def mass_matrix_inverse(m: Arrays) -> None:
    """ℳ⁻¹."""
    width = int(m.sizes[1])
    left_behind(m.e0, m.e1, m.e2, m.e3, m.e4, m.e5, 0, width)
    for k in range(width):
        row = width - 1 - k
        if first_of(m, row) >= 0:
            unit_inward(m, row, row * width)
    for row in range(width):
        if first_of(m, row) >= 0:
            unit_outward(m, row, row * width, int(m.steps[STEP * row + 5]) * width)
    mirrored(m.ue, width)
    for row in range(width):
        if first_of(m, row) >= 0:
            put(m, m.ue, m.out0, 0, row, row * width, 0, int(m.strides[0]), int(m.strides[1]))


def forward_inward(m: Arrays, row: int, at: int) -> None:
    """u of −∂τ/∂θ and −∂τ/∂θ̇ in the columns of the row's joint and of what it carries."""
    first, last, start, stop = first_of(m, row), last_of(m, row), first_of(m, row) // GROUP, end_of(m, row) // GROUP
    if row == last:
        added(m.f0, m.f1, m.f2, m.f3, m.f4, m.f5, m.q0, m.q1, m.q2, m.q3, m.q4, m.q5, 0, first, last + 1)
        added(m.g0, m.g1, m.g2, m.g3, m.g4, m.g5, m.v0, m.v1, m.v2, m.v3, m.v4, m.v5, 0, first, last + 1)
    eliminated(m.f0, m.f1, m.f2, m.f3, m.f4, m.f5, m.uq, m.rows, row, at, start, stop)
    eliminated(m.g0, m.g1, m.g2, m.g3, m.g4, m.g5, m.uv, m.rows, row, at, start, stop)
    if row == first:
        added(m.f0, m.f1, m.f2, m.f3, m.f4, m.f5, m.z0, m.z1, m.z2, m.z3, m.z4, m.z5, 0, first, last + 1)


def forward_outward(m: Arrays, row: int, at: int, layer: int) -> None:
    """−ℳ⁻¹∂τ/∂θ and −ℳ⁻¹∂τ/∂θ̇ of the row."""
    first, last, end, width = first_of(m, row), last_of(m, row), end_of(m, row), int(m.sizes[1])
    if row == first:
        begun(m, m.a0, m.a1, m.a2, m.a3, m.a4, m.a5, row)
        begun(m, m.b0, m.b1, m.b2, m.b3, m.b4, m.b5, row)
        left_behind(m.w0, m.w1, m.w2, m.h0, m.h1, m.h2, int(m.steps[STEP * row + 3]), first)
    carried(m.w0, m.w1, m.w2, m.uq, m.rows, row, at, first)
    carried(m.h0, m.h1, m.h2, m.uv, m.rows, row, at, first)
    filled(m.uq, at + end, at + width, 0.0)
    filled(m.uv, at + end, at + width, 0.0)
    accelerated(m.a0, m.a1, m.a2, m.a3, m.a4, m.a5, m.uq, m.rows, row, at, layer, 0, width // GROUP)
    accelerated(m.b0, m.b1, m.b2, m.b3, m.b4, m.b5, m.uv, m.rows, row, at, layer, 0, width // GROUP)
    if row == last:
        added(m.a0, m.a1, m.a2, m.a3, m.a4, m.a5, m.p0, m.p1, m.p2, m.p3, m.p4, m.p5, layer, first, last + 1)
        added(m.b0, m.b1, m.b2, m.b3, m.b4, m.b5, m.s0, m.s1, m.s2, m.s3, m.s4, m.s5, layer, first, last + 1)


def forward_tables(m: Arrays) -> None:
    """−ℳ⁻¹∂τ/∂θ, −ℳ⁻¹∂τ/∂θ̇ and ℳ⁻¹."""
    width = int(m.sizes[1])
    left_behind(m.e0, m.e1, m.e2, m.e3, m.e4, m.e5, 0, width)
    left_behind(m.f0, m.f1, m.f2, m.f3, m.f4, m.f5, 0, width)
    left_behind(m.g0, m.g1, m.g2, m.g3, m.g4, m.g5, 0, width)
    for k in range(width):
        row = width - 1 - k
        if first_of(m, row) >= 0:
            forward_inward(m, row, row * width)
            unit_inward(m, row, row * width)
    for row in range(width):
        if first_of(m, row) >= 0:
            layer = int(m.steps[STEP * row + 5]) * width
            forward_outward(m, row, row * width, layer)
            unit_outward(m, row, row * width, layer)
    mirrored(m.ue, width)


def forward_dynamics_derivatives(m: Arrays) -> None:
    """The three tables."""
    width = int(m.sizes[1])
    forward_tables(m)
    for row in range(width):
        if first_of(m, row) >= 0:
            put(m, m.uq, m.out0, 0, row, row * width, 0, int(m.strides[0]), int(m.strides[1]))
            put(m, m.uv, m.out1, 1, row, row * width, 0, int(m.strides[2]), int(m.strides[3]))
            put(m, m.ue, m.out2, 2, row, row * width, 0, int(m.strides[4]), int(m.strides[5]))


def linearize(m: Arrays) -> None:
    """A = [[−v~, 1], [∂a/∂θ, ∂a/∂θ̇]], B = [[0], [ℳ⁻¹]]; `drift` has the entries of −v~: row, column, sign, rate."""
    count, width = int(m.sizes[0]), int(m.sizes[1])
    down, along, b_down, b_along = int(m.strides[0]), int(m.strides[1]), int(m.strides[2]), int(m.strides[3])
    forward_tables(m)
    for row in range(count):
        for c in range(2 * count):
            m.out0[row * down + c * along] = 0.0
        for c in range(count):
            m.out1[row * b_down + c * b_along] = 0.0
        m.out0[row * down + (count + row) * along] = 1.0
    for row in range(width):
        if first_of(m, row) >= 0:
            put(m, m.uq, m.out0, 0, row, row * width, count * down, down, along)
            put(m, m.uv, m.out0, 1, row, row * width, count * (down + along), down, along)
            put(m, m.ue, m.out1, 2, row, row * width, count * b_down, b_down, b_along)
    for k in range(int(m.sizes[3])):
        to = int(m.drift[4 * k]) * down + int(m.drift[4 * k + 1]) * along
        m.out0[to] = m.drift[4 * k + 2] * m.rate[int(m.drift[4 * k + 3])]
