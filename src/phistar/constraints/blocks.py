"""Block-sparse Cholesky factors of an island's Hessian A + J*WJ: a block per node, in an order of least degree.

H = LL* by blocks: L(p,p) of the pivot, L(q,p) = H(q,p) L(p,p)⁻ᵀ of its later neighbours, and H(q,r) −= L(q,p) L(r,p)ᵀ
of every two of them; blocks off the diagonal are kept transposed, so that inner loops run along memory. The order and
the fill are found once a step; Newton's iterations change only numbers.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import AT, BLOCK, BLOCKS, FULL, ROOM_BLOCKS, SIZE


def cholesky(m: Arrays, at: int, n: int) -> None:
    """L in the lower triangle of the block at `at`."""
    for i in range(n):
        row = at + i * n
        for j in range(i):
            other = at + j * n
            total = m.blocks[row + j]
            for k in range(j):
                total -= m.blocks[row + k] * m.blocks[other + k]
            m.blocks[row + j] = total / m.blocks[other + j]
        total = m.blocks[row + i]
        for k in range(i):
            total -= m.blocks[row + k] * m.blocks[row + k]
        m.blocks[row + i] = sqrt(max(total, 1e-300))


def divide_by_root(m: Arrays, node: int) -> None:
    """`side` of a node becomes (LL*)⁻¹ `side`, with L in `roots`."""
    n, at, block = m.nodes[node, SIZE], m.nodes[node, AT], m.nodes[node, BLOCK]
    for i in range(n):
        total = m.side[at + i]
        for j in range(i):
            total -= m.roots[block + i * n + j] * m.side[at + j]
        m.side[at + i] = total / m.roots[block + i * n + i]
    for up in range(n):
        i = n - 1 - up
        known = m.side[at + i] / m.roots[block + i * n + i]
        m.side[at + i] = known
        for j in range(i):
            m.side[at + j] -= m.roots[block + i * n + j] * known


def divide_block(m: Arrays, at: int, rows: int, pivot: int, n: int) -> None:
    """L⁻¹X for the block X (n, rows) at `at`."""
    for j in range(n):
        row = at + j * rows
        for k in range(j):
            factor = m.blocks[pivot + j * n + k]
            for i in range(rows):
                m.blocks[row + i] -= factor * m.blocks[at + k * rows + i]
        scale = 1.0 / m.blocks[pivot + j * n + j]
        for i in range(rows):
            m.blocks[row + i] *= scale


def subtract_product(m: Arrays, at: int, left: int, right: int, rows: int, columns: int, n: int) -> None:
    """The block at `at` (columns, rows) less YᵀX, X (n, rows) and Y (n, columns)."""
    for j in range(columns):
        for k in range(n):
            factor = m.blocks[right + k * columns + j]
            for i in range(rows):
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


def factorize(m: Arrays, k: int) -> None:
    """L in place of H."""
    for p in range(k):
        n = m.nodes[m.members[m.order[p]], SIZE]
        pivot = m.pivot[p]
        cholesky(m, pivot, n)
        for x in range(m.below[p], m.below[p + 1]):
            divide_block(m, m.lower_at[x], m.nodes[m.members[m.lower[x]], SIZE], pivot, n)
        for x in range(m.below[p], m.below[p + 1]):
            i = m.lower[x]
            rows = m.nodes[m.members[i], SIZE]
            left = m.lower_at[x]
            for y in range(m.below[p], m.below[p + 1]):
                j = m.lower[y]
                if m.position[j] <= m.position[i]:
                    at = m.pivot[m.position[i]] if i == j else m.adjacent[i * k + j] - 2
                    columns = m.nodes[m.members[j], SIZE]
                    if n == 6 and rows == 6 and columns == 6:
                        subtract_six(m, at, left, m.lower_at[y])
                    else:
                        subtract_product(m, at, left, m.lower_at[y], rows, columns, n)


def substitute(m: Arrays, k: int) -> None:
    """`side` becomes (LL*)⁻¹ `side`, over the rates of the island's nodes."""
    for p in range(k):
        node = m.members[m.order[p]]
        n, at, pivot = m.nodes[node, SIZE], m.nodes[node, AT], m.pivot[p]
        for i in range(n):
            total = m.side[at + i]
            for j in range(i):
                total -= m.blocks[pivot + i * n + j] * m.side[at + j]
            m.side[at + i] = total / m.blocks[pivot + i * n + i]
        for x in range(m.below[p], m.below[p + 1]):
            other = m.members[m.lower[x]]
            rows, to, block = m.nodes[other, SIZE], m.nodes[other, AT], m.lower_at[x]
            for j in range(n):
                known = m.side[at + j]
                for i in range(rows):
                    m.side[to + i] -= m.blocks[block + j * rows + i] * known
    for back in range(k):
        p = k - 1 - back
        node = m.members[m.order[p]]
        n, at, pivot = m.nodes[node, SIZE], m.nodes[node, AT], m.pivot[p]
        for x in range(m.below[p], m.below[p + 1]):
            other = m.members[m.lower[x]]
            rows, to, block = m.nodes[other, SIZE], m.nodes[other, AT], m.lower_at[x]
            for j in range(n):
                total = 0.0
                for i in range(rows):
                    total += m.blocks[block + j * rows + i] * m.side[to + i]
                m.side[at + j] -= total
        for up in range(n):
            i = n - 1 - up
            total = m.side[at + i]
            for j in range(i + 1, n):
                total -= m.blocks[pivot + j * n + i] * m.side[at + j]
            m.side[at + i] = total / m.blocks[pivot + i * n + i]


FACTORS = (cholesky, divide_by_root, divide_block, subtract_product, subtract_six, eliminate, factorize, substitute)
