"""Tables over pairs of joint rates of one state, from what links are in one common frame: loops in the little language
of `native.py`, along rows, so that a vector register holds neighbouring columns.

Rates stand in the order of a walk through the tree, where what a rate carries follows it without a gap. Of each row
`steps` says the first and last rate of its joint, where what it carries ends, where its parent's rates end, and the
layers of accelerations that it takes over and works on. `rows` has sixteen numbers a rate: H*, rH*,
2rᶜ*H*; what columns need comes in one array for each of six components.
"""

from __future__ import annotations

from phistar.backends.native import Arrays

ROW, STEP = 16, 6  # numbers of a rate in `rows` and in `steps`


def first_of(m: Arrays, row: int) -> int:
    return int(m.steps[STEP * row])


def last_of(m: Arrays, row: int) -> int:
    return int(m.steps[STEP * row + 1])


def end_of(m: Arrays, row: int) -> int:
    return int(m.steps[STEP * row + 2])


def filled(x, start: int, stop: int, number: float) -> None:
    """x ← number."""
    for c in range(start, stop):
        x[c] = number


# ∂τ and ℳ: (Hφ̃X)(k,j) = H(k)X(j) where k carries j


def one_product(h, x0, x1, x2, x3, x4, x5, out, place: int, at: int, start: int, stop: int) -> None:
    """out(c) ← h*x(c), with h from `place` on in the rows."""
    h0, h1, h2 = h[place], h[place + 1], h[place + 2]
    h3, h4, h5 = h[place + 3], h[place + 4], h[place + 5]
    for c in range(start, stop):
        out[at + c] = h0 * x0[c] + h1 * x1[c] + h2 * x2[c] + h3 * x3[c] + h4 * x4[c] + h5 * x5[c]


def three_more(h, x0, x1, x2, out, place: int, at: int, start: int, stop: int) -> None:
    """out(c) ← out(c) + h*x(c), of angular parts."""
    h0, h1, h2 = h[place], h[place + 1], h[place + 2]
    for c in range(start, stop):
        out[at + c] = out[at + c] + h0 * x0[c] + h1 * x1[c] + h2 * x2[c]


def mass_row(m: Arrays, row: int, count: int) -> None:
    """ℳ(row, ·): against what carries it, itself, and what it carries."""
    last, end = last_of(m, row), end_of(m, row)
    one_product(m.rows, m.h0, m.h1, m.h2, m.h3, m.h4, m.h5, m.row, ROW * row + 6, 0, 0, last + 1)
    one_product(m.rows, m.r0, m.r1, m.r2, m.r3, m.r4, m.r5, m.row, ROW * row, 0, last + 1, end)
    filled(m.row, end, count, 0.0)
    m.row[row] = m.row[row] + m.armature[row]


def left_behind(x0, x1, x2, x3, x4, x5, start: int, stop: int) -> None:
    """Of branches that the walk has left, nothing."""
    filled(x0, start, stop, 0.0)
    filled(x1, start, stop, 0.0)
    filled(x2, start, stop, 0.0)
    filled(x3, start, stop, 0.0)
    filled(x4, start, stop, 0.0)
    filled(x5, start, stop, 0.0)


def put(m: Arrays, table, out, row: int, at: int, start: int, down: int, along: int) -> None:
    """out(row, ·) ← table, in the robot's own order of joints."""
    count, to = int(m.sizes[0]), start + int(m.place[row]) * down
    if m.sizes[2] > 0.0:
        for c in range(count):
            out[to + c * along] = table[at + c]
    else:
        for c in range(count):
            out[to + int(m.place[c]) * along] = table[at + c]


def mass_matrix(m: Arrays) -> None:
    """ℳ."""
    count, down, along = int(m.sizes[0]), int(m.strides[0]), int(m.strides[1])
    for row in range(count):
        first = first_of(m, row)
        if row == first:
            left_behind(m.h0, m.h1, m.h2, m.h3, m.h4, m.h5, int(m.steps[STEP * row + 3]), first)
        mass_row(m, row, count)
        put(m, m.row, m.out0, row, 0, 0, down, along)


def inverse_row(m: Arrays, row: int, count: int) -> None:
    """∂τ(row)/∂θ and ∂τ(row)/∂θ̇: rH*Ψ̈ + 2rᶜ*H*Ψ̇ and rH*Ψ′ + 2rᶜ*H*H* of what carries it and of itself, H times the
    columns of what it carries."""
    last, end, at = last_of(m, row), end_of(m, row), ROW * row
    one_product(m.rows, m.p0, m.p1, m.p2, m.p3, m.p4, m.p5, m.row, at + 6, 0, 0, last + 1)
    three_more(m.rows, m.w0, m.w1, m.w2, m.row, at + 12, 0, 0, last + 1)
    one_product(m.rows, m.q0, m.q1, m.q2, m.q3, m.q4, m.q5, m.row, at, 0, last + 1, end)
    filled(m.row, end, count, 0.0)
    put(m, m.row, m.out0, row, 0, 0, int(m.strides[0]), int(m.strides[1]))
    one_product(m.rows, m.s0, m.s1, m.s2, m.s3, m.s4, m.s5, m.row, at + 6, 0, 0, last + 1)
    three_more(m.rows, m.h0, m.h1, m.h2, m.row, at + 12, 0, 0, last + 1)
    one_product(m.rows, m.v0, m.v1, m.v2, m.v3, m.v4, m.v5, m.row, at, 0, last + 1, end)
    filled(m.row, end, count, 0.0)
    put(m, m.row, m.out1, row, 0, 0, int(m.strides[2]), int(m.strides[3]))


def inverse_dynamics_derivatives(m: Arrays) -> None:
    """∂τ/∂θ, ∂τ/∂θ̇ and ℳ."""
    count = int(m.sizes[0])
    for row in range(count):
        first = first_of(m, row)
        if row == first:
            start = int(m.steps[STEP * row + 3])
            left_behind(m.h0, m.h1, m.h2, m.h3, m.h4, m.h5, start, first)
            left_behind(m.p0, m.p1, m.p2, m.p3, m.p4, m.p5, start, first)
            left_behind(m.s0, m.s1, m.s2, m.s3, m.s4, m.s5, start, first)
            filled(m.w0, start, first, 0.0)
            filled(m.w1, start, first, 0.0)
            filled(m.w2, start, first, 0.0)
        inverse_row(m, row, count)
        mass_row(m, row, count)
        put(m, m.row, m.out2, row, 0, 0, int(m.strides[4]), int(m.strides[5]))
