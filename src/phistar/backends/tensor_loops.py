"""Second derivatives of forward dynamics from those of inverse dynamics: products with ℳ⁻¹, as loops that compile.

τ(q ⊕ δ, v, θ̈) is what the joint forces are held to, so that with ∂θ̈ = −ℳ⁻¹∂τ

    ∂²θ̈/∂q∂q = −ℳ⁻¹(∂²τ/∂q∂q + ∂ℳ/∂q ∂θ̈/∂q + (∂ℳ/∂q ∂θ̈/∂q)*)      ∂²θ̈/∂q∂v = −ℳ⁻¹(∂²τ/∂q∂v + ∂ℳ/∂q ∂θ̈/∂v)
    ∂²θ̈/∂v∂v = −ℳ⁻¹∂²τ/∂v∂v                                         ∂²θ̈/∂τ∂q = −ℳ⁻¹ ∂ℳ/∂q ℳ⁻¹

(* exchanges the two q). For each q_k all four are one product of ℳ⁻¹ with a table Y over the few joints that are on one
way with k: its columns are those of v_k v_j, of q, of v and of T.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays

SIZE = 1  # joint rates, given when the loops are compiled


def first_derivatives(m: Arrays, s: int) -> None:
    """∂θ̈/∂q, ∂θ̈/∂v and ℳ⁻¹ beside one another; the rows behind stay zero."""
    for i in range(SIZE):
        for j in range(SIZE):
            m.first[i, j] = m.by_q[s * SIZE + i, j]
            m.first[i, SIZE + j] = m.by_v[s * SIZE + i, j]
            m.first[i, 2 * SIZE + j] = m.inverse[s * SIZE + i, j]


def mass_change(m: Arrays, s: int, k: int) -> None:
    """∂ℳ/∂q_k, over the rows of k."""
    rows = m.row_start[k + 1] - m.row_start[k]
    for r in range(rows):
        for c in range(rows):
            m.change[r, c] = 0.0
    for entry in range(m.mass_start[k], m.mass_start[k + 1]):
        x = m.entries[s, m.mass_entry[entry]]
        m.change[m.mass_row[entry], m.mass_column[entry]] = x
        m.change[m.mass_column[entry], m.mass_row[entry]] = x


def right_side(m: Arrays, s: int, k: int) -> None:
    """Y = ∂²τ + ∂ℳ/∂q_k ∂θ̈ over the rows of k, which come in fours."""
    start, rows = m.row_start[k], m.row_start[k + 1] - m.row_start[k]
    own, width = m.paired[k], m.width[k]
    for r in range(rows):
        for c in range(width):
            m.Y[r, c] = 0.0
    if m.moves[k] == 1:
        for r in range(0, rows, 2):
            for l in range(0, rows, 4):
                a, b, c, d = m.row[start + l], m.row[start + l + 1], m.row[start + l + 2], m.row[start + l + 3]
                a0, b0, c0, d0 = m.change[r, l], m.change[r, l + 1], m.change[r, l + 2], m.change[r, l + 3]
                e = r + 1
                a1, b1, c1, d1 = m.change[e, l], m.change[e, l + 1], m.change[e, l + 2], m.change[e, l + 3]
                for j in range(3 * SIZE):
                    w, x, y, z = m.first[a, j], m.first[b, j], m.first[c, j], m.first[d, j]
                    m.Y[r, own + j] += a0 * w + b0 * x + c0 * y + d0 * z
                    m.Y[e, own + j] += a1 * w + b1 * x + c1 * y + d1 * z
    for entry in range(m.own_start[k], m.own_start[k + 1]):
        m.Y[m.own_row[entry], m.own_column[entry]] += m.own_factor[entry] * m.entries[s, m.own_entry[entry]]


def solved_rows(m: Arrays, k: int, i: int, width: int) -> None:
    """Rows i and i + 1 of −ℳ⁻¹Y."""
    start, rows = m.row_start[k], m.row_start[k + 1] - m.row_start[k]
    for c in range(width):
        m.made[0, c] = 0.0
        m.made[1, c] = 0.0
    for r in range(0, rows, 4):
        a, b, c, d = m.row[start + r], m.row[start + r + 1], m.row[start + r + 2], m.row[start + r + 3]
        at = 2 * SIZE
        a0, b0, c0, d0 = m.first[a, at + i], m.first[b, at + i], m.first[c, at + i], m.first[d, at + i]
        at += 1
        a1, b1, c1, d1 = m.first[a, at + i], m.first[b, at + i], m.first[c, at + i], m.first[d, at + i]
        for j in range(width):
            w, x, y, z = m.Y[r, j], m.Y[r + 1, j], m.Y[r + 2, j], m.Y[r + 3, j]
            m.made[0, j] -= a0 * w + b0 * x + c0 * y + d0 * z
            m.made[1, j] -= a1 * w + b1 * x + c1 * y + d1 * z


def put_row(m: Arrays, s: int, k: int, i: int, line: int) -> None:
    """Row i of −ℳ⁻¹Y to where its parts belong."""
    own, at = m.paired[k], m.vv_start[k] + m.paired[k] * i
    for j in range(own):
        m.dvdv[s, at + j] = m.made[line, j]
    for j in range(SIZE):
        m.once[k * SIZE + i, j] = m.made[line, own + j]
    if m.moves[k] == 1:
        at = m.number[k] * SIZE * SIZE + SIZE * i
        for j in range(SIZE):
            m.dqdv[s, at + j] = m.made[line, own + SIZE + j]
        at = m.number[k] * SIZE * (SIZE + 1) // 2 + i * (i + 1) // 2
        for j in range(i + 1):
            m.dtaudq[s, at + j] = m.made[line, own + 2 * SIZE + j]


def both_orders(m: Arrays, s: int) -> None:
    """∂²θ̈/∂q_j∂q_k from what q_j and q_k make of each other."""
    at = 0
    for k in range(SIZE):
        for i in range(SIZE):
            for l in range(m.with_start[k], m.with_start[k + 1]):
                j = m.with_rate[l]
                m.dqdq[s, at] = m.once[k * SIZE + i, j] + m.once[j * SIZE + i, k]
                at += 1


def solved_tensors(m: Arrays) -> None:
    """The second derivatives of all states."""
    for s in range(m.sizes[0]):
        first_derivatives(m, s)
        for k in range(SIZE):
            if m.moves[k] == 1:
                mass_change(m, s, k)
            right_side(m, s, k)
            for i in range(0, SIZE, 2):
                width = m.width[k]
                if m.moves[k] == 1:
                    width = m.paired[k] + 2 * SIZE + min(i + 2, SIZE)
                solved_rows(m, k, i, width)
                put_row(m, s, k, i, 0)
                if i + 1 < SIZE:
                    put_row(m, s, k, i + 1, 1)
        both_orders(m, s)


LOOPS = (
    first_derivatives,
    mass_change,
    right_side,
    solved_rows,
    put_row,
    both_orders,
    solved_tensors,
)
