"""Tables over pairs of joint rates of one state, from what links are in one common frame: loops in the little language
of `native.py`, along rows, so that a vector register holds neighbouring columns.

Rates stand in the order of a walk through the tree, where what a rate carries follows it without a gap; a limb begins
at a multiple of `GROUP`, so that loops over whole groups touch no other. Of each place `steps` says the first and last
of its joint (or −1: nothing stands there), where what it carries ends, where its parent's rates end, and the layers of
accelerations that it takes over and works on. `rows` has sixteen numbers a rate: H*, rH*, 2rᶜ*H*; what columns need
comes in one array for each of six components.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays

ROW, STEP, RUN = 16, 6, 3  # numbers of a rate in `rows` and `steps`, of a run of rates in `runs`
GROUP = 4  # columns


def first_of(m: Arrays, row: int) -> int:
    return int(m.steps[STEP * row])


def last_of(m: Arrays, row: int) -> int:
    return int(m.steps[STEP * row + 1])


def end_of(m: Arrays, row: int) -> int:
    return int(m.steps[STEP * row + 2])


def groups(columns: int) -> int:
    """Number of groups that hold the columns, the last perhaps in part."""
    return (columns + GROUP - 1) // GROUP


def filled(x, start: int, stop: int, number: float) -> None:
    """x ← number."""
    for c in range(start, stop):
        x[c] = number


def left_behind(x0, x1, x2, x3, x4, x5, start: int, stop: int) -> None:
    """Zero the branches that the walk has left."""
    filled(x0, start, stop, 0.0)
    filled(x1, start, stop, 0.0)
    filled(x2, start, stop, 0.0)
    filled(x3, start, stop, 0.0)
    filled(x4, start, stop, 0.0)
    filled(x5, start, stop, 0.0)


def put(m: Arrays, table, out, number: int, row: int, at: int, start: int, down: int, along: int) -> None:
    """out(row, ·) ← table times the result's factor, in the robot's own order of joints: run by run where the walk
    follows that."""
    to, factor = start + int(m.place[row]) * down, m.factors[number]
    for k in range(int(m.sizes[2])):
        source, count, target = int(m.runs[RUN * k]), int(m.runs[RUN * k + 1]), int(m.runs[RUN * k + 2])
        for c in range(count):
            out[to + (target + c) * along] = factor * table[at + source + c]


# ∂τ and ℳ: (Hφ̃X)(k,j) = H(k)X(j) where k carries j


def six(h, x0, x1, x2, x3, x4, x5, at: int, c: int) -> float:
    """h*x(c), with h from `at` on in the rows."""
    upper = h[at] * x0[c] + h[at + 1] * x1[c] + h[at + 2] * x2[c]
    return upper + h[at + 3] * x3[c] + h[at + 4] * x4[c] + h[at + 5] * x5[c]


def product(h, x0, x1, x2, x3, x4, x5, out, at: int, start: int, stop: int) -> None:
    """out ← h*x in groups of columns."""
    for c in range(GROUP * start, GROUP * stop):
        out[c] = six(h, x0, x1, x2, x3, x4, x5, at, c)


def product_and_more(h, x0, x1, x2, x3, x4, x5, w0, w1, w2, out, at: int, stop: int) -> None:
    """out ← h*x + g*w, where g is three numbers behind h."""
    for c in range(GROUP * stop):
        more = h[at + 6] * w0[c] + h[at + 7] * w1[c] + h[at + 8] * w2[c]
        out[c] = six(h, x0, x1, x2, x3, x4, x5, at, c) + more


def outer(h, x0, x1, x2, x3, x4, x5, out, at: int, start: int, end: int, width: int) -> None:
    """out ← h*x in the columns of what a row carries, nothing beyond."""
    whole = groups(start)
    product(h, x0, x1, x2, x3, x4, x5, out, at, whole, end // GROUP)
    for c in range(start, min(GROUP * whole, end)):
        out[c] = six(h, x0, x1, x2, x3, x4, x5, at, c)
    filled(out, end, width, 0.0)


def mass_row(m: Arrays, row: int) -> None:
    """ℳ(row, ·): against what carries it, itself, and what it carries."""
    last, at = last_of(m, row), ROW * row
    product(m.rows, m.h0, m.h1, m.h2, m.h3, m.h4, m.h5, m.row, at + 6, 0, groups(last + 1))
    outer(m.rows, m.r0, m.r1, m.r2, m.r3, m.r4, m.r5, m.row, at, last + 1, end_of(m, row), int(m.sizes[1]))
    m.row[row] = m.row[row] + m.armature[row]


def mass_matrix(m: Arrays) -> None:
    """ℳ."""
    down, along = int(m.strides[0]), int(m.strides[1])
    for row in range(int(m.sizes[1])):
        first = first_of(m, row)
        if first >= 0:
            if row == first:
                left_behind(m.h0, m.h1, m.h2, m.h3, m.h4, m.h5, int(m.steps[STEP * row + 3]), first)
            mass_row(m, row)
            put(m, m.row, m.out0, 0, row, 0, 0, down, along)


def inverse_row(m: Arrays, row: int) -> None:
    """∂τ(row)/∂θ and ∂τ(row)/∂θ̇: rH*Ψ̈ + 2rᶜ*H*Ψ̇ and rH*Ψ′ + 2rᶜ*H*H* of what carries it and of itself, H times the
    columns of what it carries."""
    last, end, at, width = last_of(m, row), end_of(m, row), ROW * row, int(m.sizes[1])
    inner = groups(last + 1)
    product_and_more(m.rows, m.p0, m.p1, m.p2, m.p3, m.p4, m.p5, m.w0, m.w1, m.w2, m.row, at + 6, inner)
    outer(m.rows, m.q0, m.q1, m.q2, m.q3, m.q4, m.q5, m.row, at, last + 1, end, width)
    put(m, m.row, m.out0, 0, row, 0, 0, int(m.strides[0]), int(m.strides[1]))
    product_and_more(m.rows, m.s0, m.s1, m.s2, m.s3, m.s4, m.s5, m.h0, m.h1, m.h2, m.row, at + 6, inner)
    outer(m.rows, m.v0, m.v1, m.v2, m.v3, m.v4, m.v5, m.row, at, last + 1, end, width)
    put(m, m.row, m.out1, 1, row, 0, 0, int(m.strides[2]), int(m.strides[3]))


def inverse_dynamics_derivatives(m: Arrays) -> None:
    """∂τ/∂θ, ∂τ/∂θ̇ and ℳ."""
    for row in range(int(m.sizes[1])):
        first = first_of(m, row)
        if first >= 0:
            if row == first:
                start = int(m.steps[STEP * row + 3])
                left_behind(m.h0, m.h1, m.h2, m.h3, m.h4, m.h5, start, first)
                left_behind(m.p0, m.p1, m.p2, m.p3, m.p4, m.p5, start, first)
                left_behind(m.s0, m.s1, m.s2, m.s3, m.s4, m.s5, start, first)
                filled(m.w0, start, first, 0.0)
                filled(m.w1, start, first, 0.0)
                filled(m.w2, start, first, 0.0)
            inverse_row(m, row)
            mass_row(m, row)
            put(m, m.row, m.out2, 2, row, 0, 0, int(m.strides[4]), int(m.strides[5]))
