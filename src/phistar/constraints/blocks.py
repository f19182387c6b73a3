"""Block-sparse factors of an island's Hessian A + J*WJ: a block per node, in an order of least degree.

A pivot is P = L*DL, last rate first: rates are numbered outward, and those of branches apart stay apart (as in the
papers' (I + HφK)D(I + HφK)*, swept inward). Its later neighbours have Y(q) = D^-½L⁻*H(q,p)ᵀ, and H(q,r) −= Y(q)ᵀY(r) of
every two of them; blocks off the diagonal are kept transposed, so that inner loops run along memory. The order and
the fill are found once a step; Newton's iterations change only numbers.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays, wide_range
from phistar.constraints.columns import AT, BLOCK, BLOCKS, FULL, ROOM_BLOCKS, SIZE


def factors(m: Arrays, at: int, n: int) -> None:
    """The factors of L*DL of the block at `at`, of which the lower triangle is read: there L, with L* in the upper one,
    and D^-½ on the diagonal."""
    for back in range(n):
        k = n - 1 - back
        row = at + k * n
        inverse = 1.0 / max(m.blocks[row + k], 1e-300)
        m.blocks[row + k] = sqrt(inverse)
        for i in range(k):
            above, factor = at + i * n, m.blocks[row + i] * inverse
            m.blocks[above + k] = factor
            if factor != 0.0:
                for j in wide_range(i + 1):
                    m.blocks[above + j] -= factor * m.blocks[row + j]
        for i in wide_range(k):
            m.blocks[row + i] *= inverse


def divide_by_factors(m: Arrays, node: int) -> None:
    """`side` of a node becomes (L*DL)⁻¹ `side`, with the factors in `roots`."""
    n, at, block = m.nodes[node, SIZE], m.nodes[node, AT], m.nodes[node, BLOCK]
    for back in range(n):
        i = n - 1 - back
        known = m.side[at + i]
        for j in wide_range(i):
            m.side[at + j] -= m.roots[block + i * n + j] * known
    for i in wide_range(n):
        scale = m.roots[block + i * (n + 1)]
        m.side[at + i] *= scale * scale
    for i in range(n):
        known = m.side[at + i]
        for j in wide_range(i + 1, n):
            m.side[at + j] -= m.roots[block + i * n + j] * known


def divide_block(m: Arrays, at: int, rows: int, pivot: int, n: int) -> None:
    """D^-½L⁻*X for the block X (n, rows) at `at`."""
    for back in range(n):
        k = n - 1 - back
        row = at + k * rows
        for j in range(k):
            factor = m.blocks[pivot + k * n + j]
            if factor != 0.0:
                for i in wide_range(rows):
                    m.blocks[at + j * rows + i] -= factor * m.blocks[row + i]
    for k in range(n):
        scale = m.blocks[pivot + k * (n + 1)]
        for i in wide_range(rows):
            m.blocks[at + k * rows + i] *= scale


def subtract_product(m: Arrays, at: int, left: int, right: int, rows: int, columns: int, n: int) -> None:
    """The block at `at` (columns, rows) less YᵀX, X (n, rows) and Y (n, columns)."""
    for j in range(columns):
        for k in range(n):
            factor = m.blocks[right + k * columns + j]
            for i in wide_range(rows):
                m.blocks[at + j * rows + i] -= factor * m.blocks[left + k * rows + i]


def subtract_six(m: Arrays, at: int, left: int, right: int) -> None:
    """The same for blocks (6, 6), which free bodies have: a row at a time, in registers."""
    for j in range(6):
        row = at + 6 * j
        a, b, c = m.blocks[row], m.blocks[row + 1], m.blocks[row + 2]
        d, e, f = m.blocks[row + 3], m.blocks[row + 4], m.blocks[row + 5]
        for k in range(6):
            factor, other = m.blocks[right + k * 6 + j], left + k * 6
            a -= factor * m.blocks[other]
            b -= factor * m.blocks[other + 1]
            c -= factor * m.blocks[other + 2]
            d -= factor * m.blocks[other + 3]
            e -= factor * m.blocks[other + 4]
            f -= factor * m.blocks[other + 5]
        m.blocks[row], m.blocks[row + 1], m.blocks[row + 2] = a, b, c
        m.blocks[row + 3], m.blocks[row + 4], m.blocks[row + 5] = d, e, f


def eliminate(m: Arrays, k: int) -> None:
    """An order of least degree for the k nodes of `members`, and the blocks that appear: `adjacent` (k·k) has 1 where
    two nodes meet, and then, in either triangle, 2 + where their block begins."""
    for i in range(k):
        degree = 0
        for j in range(k):
            degree += m.adjacent[i * k + j]
        m.degree[i] = degree
        m.position[i] = -1
    used = m.counts[BLOCKS]
    found = 0
    for p in range(k):
        best, least = 0, 1000000000
        for i in range(k):
            if m.position[i] < 0 and m.degree[i] < least:
                best, least = i, m.degree[i]
        m.order[p] = best
        m.position[best] = p
        n = m.nodes[m.members[best], SIZE]
        m.pivot[p] = used
        m.home[m.members[best]] = used
        used += n * n
        m.below[p] = found
        first = found
        for j in range(k):
            if m.position[j] < 0 and m.adjacent[best * k + j] == 1:
                if found >= m.counts[ROOM_BLOCKS]:
                    m.counts[FULL] = 1
                    return
                m.lower[found] = j
                found += 1
        for x in range(first, found):
            i = m.lower[x]
            m.degree[i] -= 1
            for y in range(first, x):
                j = m.lower[y]
                if m.adjacent[i * k + j] == 0:
                    m.adjacent[i * k + j] = 1
                    m.adjacent[j * k + i] = 1
                    m.degree[i] += 1
                    m.degree[j] += 1
        for x in range(first, found):
            i = m.lower[x]
            m.lower_at[x] = used
            m.adjacent[i * k + best] = 2 + used
            m.adjacent[best * k + i] = 2 + used
            used += n * m.nodes[m.members[i], SIZE]
    m.below[k] = found
    m.counts[BLOCKS] = used
    if used > m.counts[ROOM_BLOCKS] * 36:
        m.counts[FULL] = 1


def divide_below(m: Arrays, first: int, last: int, pivot: int, n: int) -> None:
    """Y(q) of the later neighbours q of a pivot."""
    for x in range(first, last):
        divide_block(m, m.lower_at[x], m.nodes[m.members[m.lower[x]], SIZE], pivot, n)


def subtract_below(m: Arrays, k: int, x: int, first: int, last: int, n: int) -> None:
    """H(q,r) −= Y(q)ᵀY(r) of neighbour q, number x, and every r that is no later."""
    i = m.lower[x]
    rows, left = m.nodes[m.members[i], SIZE], m.lower_at[x]
    for y in range(first, last):
        j = m.lower[y]
        if m.position[j] <= m.position[i]:
            at = m.pivot[m.position[i]] if i == j else m.adjacent[i * k + j] - 2
            columns = m.nodes[m.members[j], SIZE]
            if n == 6 and rows == 6 and columns == 6:
                subtract_six(m, at, left, m.lower_at[y])
            else:
                subtract_product(m, at, left, m.lower_at[y], rows, columns, n)


def factorize_pivot(m: Arrays, k: int, pivot: int, n: int, first: int, last: int) -> None:
    factors(m, pivot, n)
    divide_below(m, first, last, pivot, n)
    for x in range(first, last):
        subtract_below(m, k, x, first, last, n)


def factorize(m: Arrays, k: int) -> None:
    """The factors in place of H."""
    for p in range(k):
        factorize_pivot(m, k, m.pivot[p], m.nodes[m.members[m.order[p]], SIZE], m.below[p], m.below[p + 1])


def substitute_pivot(m: Arrays, node: int, pivot: int) -> None:
    """D^-½L⁻* of a pivot times its `side`."""
    n, at = m.nodes[node, SIZE], m.nodes[node, AT]
    for back in range(n):
        i = n - 1 - back
        known = m.side[at + i]
        for j in wide_range(i):
            m.side[at + j] -= m.blocks[pivot + i * n + j] * known
    for i in wide_range(n):
        m.side[at + i] *= m.blocks[pivot + i * (n + 1)]


def substitute_below(m: Arrays, n: int, at: int, other: int, block: int) -> None:
    rows, to = m.nodes[other, SIZE], m.nodes[other, AT]
    for j in range(n):
        known = m.side[at + j]
        for i in wide_range(rows):
            m.side[to + i] -= m.blocks[block + j * rows + i] * known


def substitute_forward(m: Arrays, node: int, pivot: int, first: int, last: int) -> None:
    substitute_pivot(m, node, pivot)
    for x in range(first, last):
        substitute_below(m, m.nodes[node, SIZE], m.nodes[node, AT], m.members[m.lower[x]], m.lower_at[x])


def gather_above(m: Arrays, n: int, at: int, other: int, block: int) -> None:
    rows, to = m.nodes[other, SIZE], m.nodes[other, AT]
    for j in range(n):
        total = 0.0
        for i in wide_range(rows):
            total += m.blocks[block + j * rows + i] * m.side[to + i]
        m.side[at + j] -= total


def substitute_back(m: Arrays, node: int, pivot: int, first: int, last: int) -> None:
    n, at = m.nodes[node, SIZE], m.nodes[node, AT]
    for x in wide_range(first, last):
        gather_above(m, n, at, m.members[m.lower[x]], m.lower_at[x])
    for i in wide_range(n):
        m.side[at + i] *= m.blocks[pivot + i * (n + 1)]
    for i in range(n):
        known = m.side[at + i]
        for j in wide_range(i + 1, n):
            m.side[at + j] -= m.blocks[pivot + i * n + j] * known


def substitute(m: Arrays, k: int) -> None:
    """`side` becomes H⁻¹ `side`, over the rates of the island's nodes."""
    for p in range(k):
        substitute_forward(m, m.members[m.order[p]], m.pivot[p], m.below[p], m.below[p + 1])
    for back in range(k):
        p = k - 1 - back
        substitute_back(m, m.members[m.order[p]], m.pivot[p], m.below[p], m.below[p + 1])


FACTORS = (
    *(
        factors,
        divide_by_factors,
        divide_block,
        subtract_product,
        subtract_six,
        eliminate,
        divide_below,
        subtract_below,
    ),
    *(factorize_pivot, factorize, substitute_pivot, substitute_below, substitute_forward, gather_above),
    *(substitute_back, substitute),
)
