"""Islands of nodes that contacts and rows hold together, and the solve of each."""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.blocks import divide_by_factors, factors
from phistar.constraints.columns import (
    AT,
    BLOCK,
    CONTACTS,
    CONVERGED_NODE,
    EQUAL_LAW,
    GAP,
    IMPULSE,
    ISLAND,
    ISLANDS,
    LAW,
    LIMIT,
    LIMIT_LAW,
    MARGIN,
    NODE_A,
    NODE_B,
    NODES,
    OFFSET,
    PRINTED,
    RATE,
    ROW_ASLEEP,
    ROW_IMPULSE,
    ROW_ISLAND,
    ROW_NODE_A,
    ROW_NODE_B,
    ROW_SPEED,
    ROWS,
    SIZE,
    SPANNED,
    TOUCHED,
    TREE,
    VALUE,
)
from phistar.constraints.line_search import SHRINKS
from phistar.constraints.newton import SETTLES, newton, update_rates


def root_of(m: Arrays, node: int) -> int:
    while m.parent[node] != node:
        m.parent[node] = m.parent[m.parent[node]]
        node = m.parent[node]
    return node


def join(m: Arrays, a: int, b: int) -> None:
    a, b = root_of(m, a), root_of(m, b)
    if a < b:
        m.parent[b] = a
    else:
        m.parent[a] = b


def row_sleeps(m: Arrays, r: int) -> bool:
    """Whether a row's law is part of its tree's block."""
    node = m.row_wholes[r, ROW_NODE_A]
    if node < 0 or m.row_wholes[r, ROW_ASLEEP] == 0:
        return False
    return m.nodes[node, SPANNED] > 0


def row_acts(m: Arrays, r: int, impact: int) -> bool:
    """Whether a row is part of a solve: impacts take no time, and of rows only closures have impulses in them."""
    if impact > 0:
        return m.row_wholes[r, LAW] == EQUAL_LAW
    return not row_sleeps(m, r)


def touch(m: Arrays, a: int, b: int) -> None:
    """Something acts on two nodes, or on one of them where the other is the world."""
    if a >= 0:
        m.nodes[a, TOUCHED] = 1
    if b >= 0:
        m.nodes[b, TOUCHED] = 1
        if a >= 0 and a != b:
            join(m, a, b)


def find_islands(m: Arrays, impact: int) -> None:
    """Numbers of islands for nodes (−1: nothing acts on it), contacts and rows, each sorted by them."""
    nodes, contacts, rows = m.counts[NODES], m.counts[CONTACTS], m.counts[ROWS]
    for i in range(nodes):
        m.parent[i] = i
        m.nodes[i, TOUCHED] = 0
    for c in range(contacts):
        if impact == 0 or m.closing[c] > 0:
            touch(m, m.contact_wholes[c, NODE_A], m.contact_wholes[c, NODE_B])
    for r in range(rows):
        if row_acts(m, r, impact):
            touch(m, m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B])
    count = 0
    for i in range(nodes):
        m.island[i] = -1
        if m.nodes[i, TOUCHED] > 0 and m.parent[i] == i:
            m.island[i] = count
            count += 1
    for i in range(nodes):
        if m.nodes[i, TOUCHED] > 0 and m.parent[i] != i:
            m.island[i] = m.island[root_of(m, i)]
    m.counts[ISLANDS] = count
    sort_contacts(m, count, impact)
    sort_rows(m, count, impact)
    sort_nodes(m, count)


def count_contact(m: Arrays, c: int, node: int) -> None:
    m.contact_wholes[c, ISLAND] = m.island[node]
    m.contact_start[m.island[node] + 1] += 1


def place_contact(m: Arrays, c: int, island: int) -> None:
    m.sorted[m.fill[island]] = c
    m.fill[island] += 1


def sort_contacts(m: Arrays, count: int, impact: int) -> None:
    for i in range(count + 1):
        m.contact_start[i] = 0
    for c in range(m.counts[CONTACTS]):
        m.contact_wholes[c, ISLAND] = -1
        if impact == 0 or m.closing[c] > 0:
            node = m.contact_wholes[c, NODE_A]
            count_contact(m, c, node if node >= 0 else m.contact_wholes[c, NODE_B])
    for i in range(count):
        m.contact_start[i + 1] += m.contact_start[i]
        m.fill[i] = m.contact_start[i]
    for c in range(m.counts[CONTACTS]):
        if m.contact_wholes[c, ISLAND] >= 0:
            place_contact(m, c, m.contact_wholes[c, ISLAND])


def count_row(m: Arrays, r: int, node: int) -> None:
    m.row_wholes[r, ROW_ISLAND] = m.island[node]
    m.row_start[m.island[node] + 1] += 1


def place_row(m: Arrays, r: int, island: int) -> None:
    m.sorted_rows[m.fill[island]] = r
    m.fill[island] += 1


def sort_rows(m: Arrays, count: int, impact: int) -> None:
    for i in range(count + 1):
        m.row_start[i] = 0
    for r in range(m.counts[ROWS]):
        m.row_wholes[r, ROW_ISLAND] = -1
        if row_acts(m, r, impact):
            node = m.row_wholes[r, ROW_NODE_A]
            count_row(m, r, node if node >= 0 else m.row_wholes[r, ROW_NODE_B])
    for i in range(count):
        m.row_start[i + 1] += m.row_start[i]
        m.fill[i] = m.row_start[i]
    for r in range(m.counts[ROWS]):
        if m.row_wholes[r, ROW_ISLAND] >= 0:
            place_row(m, r, m.row_wholes[r, ROW_ISLAND])


def sort_nodes(m: Arrays, count: int) -> None:
    for i in range(count + 1):
        m.node_start[i] = 0
    for i in range(m.counts[NODES]):
        if m.island[i] >= 0:
            m.node_start[m.island[i] + 1] += 1
    for i in range(count):
        m.node_start[i + 1] += m.node_start[i]
        m.fill[i] = m.node_start[i]
    for i in range(m.counts[NODES]):
        if m.island[i] >= 0:
            m.sorted_nodes[m.fill[m.island[i]]] = i
            m.fill[m.island[i]] += 1


def gather(m: Arrays, island: int) -> int:
    """The island's nodes in `members`, their numbers in `local`, and which of them meet in `adjacent`."""
    first, k = m.node_start[island], m.node_start[island + 1] - m.node_start[island]
    for i in range(k):
        node = m.sorted_nodes[first + i]
        m.members[i] = node
        m.local[node] = i
    for i in range(k * k):
        m.adjacent[i] = 0
    for x in range(m.contact_start[island], m.contact_start[island + 1]):
        meet(m, m.contact_wholes[m.sorted[x], NODE_A], m.contact_wholes[m.sorted[x], NODE_B], k)
    for x in range(m.row_start[island], m.row_start[island + 1]):
        meet(m, m.row_wholes[m.sorted_rows[x], ROW_NODE_A], m.row_wholes[m.sorted_rows[x], ROW_NODE_B], k)
    return k


def meet(m: Arrays, a: int, b: int, k: int) -> None:
    if a >= 0 and b >= 0 and a != b:
        m.adjacent[m.local[a] * k + m.local[b]] = 1
        m.adjacent[m.local[b] * k + m.local[a]] = 1


def stays_apart(m: Arrays, c: int, h: float) -> bool:
    """Whether a contact does not reach its margin at the rates v*."""
    gap, margin = m.contacts[c, GAP] + m.contacts[c, OFFSET], m.contacts[c, MARGIN]
    return gap + h * m.contacts[c, RATE + 2] >= margin and (m.contacts[c, PRINTED] <= 0.0 or gap >= margin)


def let_go(m: Arrays, c: int) -> None:
    """No impulses of a contact; nothing grips, so that soft fingers do not stay twisted."""
    m.contacts[c, LIMIT] = 0.0
    for j in range(4):
        m.contacts[c, IMPULSE + j] = 0.0


def is_free(m: Arrays, first: int, last: int, h: float) -> bool:
    """Whether no contact reaches its margin at the rates v*; their impulses are then none."""
    for x in range(first, last):
        if not stays_apart(m, m.sorted[x], h):
            return False
    for x in range(first, last):
        let_go(m, m.sorted[x])
    return True


def begin_node(m: Arrays, node: int) -> None:
    for j in range(m.nodes[node, AT], m.nodes[node, AT] + m.nodes[node, SIZE]):
        m.v[j] = m.before[j]


def slow_node(m: Arrays, node: int, part: float) -> None:
    for j in range(m.nodes[node, AT], m.nodes[node, AT] + m.nodes[node, SIZE]):
        m.v[j] *= part


def shrinks_contact(m: Arrays, c: int, h: float, most: float) -> float:
    """The part of the rates, `most` at most, at which a gap does not shrink too much."""
    y = m.contacts[c, GAP] + m.contacts[c, OFFSET]
    if -h * m.contacts[c, RATE + 2] * most > SHRINKS * y:
        return SHRINKS * y / (-h * m.contacts[c, RATE + 2])
    return most


def shrinks_row(m: Arrays, r: int, h: float, most: float) -> float:
    """The same of a limit's room."""
    if m.row_wholes[r, LAW] == LIMIT_LAW and -h * m.rows[r, ROW_SPEED] * most > SHRINKS * m.rows[r, VALUE]:
        return SHRINKS * m.rows[r, VALUE] / (-h * m.rows[r, ROW_SPEED])
    return most


def begin(m: Arrays, k: int, first: int, last: int, row_first: int, row_last: int, h: float) -> None:
    """v at the rates from before the step, as far as no gap shrinks too much: at v = 0 none does."""
    most = 1.0
    for i in range(k):
        begin_node(m, m.members[i])
    update_rates(m, k, first, last, row_first, row_last)
    for x in range(first, last):
        most = shrinks_contact(m, m.sorted[x], h, most)
    for x in range(row_first, row_last):
        most = shrinks_row(m, m.sorted_rows[x], h, most)
    if most < 1.0:
        for i in range(k):
            slow_node(m, m.members[i], most)


def settle(m: Arrays, node: int) -> None:
    """v = v* + A⁻¹J*λ of a node: its momentum is exactly that of the impulses."""
    n, at, block = m.nodes[node, SIZE], m.nodes[node, AT], m.nodes[node, BLOCK]
    for i in range(n):
        m.side[at + i] = m.pushed[at + i]
    if m.nodes[node, SPANNED] == 0:  # else A = I
        if m.nodes[node, TREE] == 0:
            for i in range(36):
                m.blocks[i] = m.mass[block + i]
            factors(m, 0, 6)
            for i in range(36):
                m.roots[block + i] = m.blocks[i]
        divide_by_factors(m, node)
    for i in range(n):
        m.v[at + i] = m.free[at + i] + m.side[at + i]


def take_free(m: Arrays, node: int) -> None:
    for j in range(m.nodes[node, AT], m.nodes[node, AT] + m.nodes[node, SIZE]):
        m.v[j] = m.free[j]


def end_node(m: Arrays, node: int, converged: int) -> None:
    m.nodes[node, CONVERGED_NODE] = converged
    if converged > 0:
        settle(m, node)


def solve_island(
    m: Arrays, island: int, k: int, first: int, last: int, row_first: int, row_last: int, h: float, impact: int
) -> None:
    """An island of k nodes with its contacts and rows."""
    for i in range(k):
        node = m.sorted_nodes[m.node_start[island] + i]
        m.members[i] = node
        m.local[node] = i
        take_free(m, node)
    if impact == 0 and row_first == row_last:
        update_rates(m, k, first, last, row_first, row_last)
        if is_free(m, first, last, h):
            for i in range(k):
                m.nodes[m.members[i], TOUCHED] = 0
            return
    gather(m, island)
    if impact == 0:
        begin(m, k, first, last, row_first, row_last, h)
    converged = 1 if newton(m, k, first, last, row_first, row_last, h, impact) < SETTLES else 0
    for i in range(k):
        end_node(m, m.members[i], converged)


def solve_islands(m: Arrays, h: float, impact: int) -> None:
    """v of every node at the step's end, and the impulses."""
    find_islands(m, impact)
    for i in range(m.counts[NODES]):
        if m.island[i] < 0:
            take_free(m, i)
    for r in range(m.counts[ROWS]):
        m.rows[r, ROW_IMPULSE] = 0.0
    for island in range(m.counts[ISLANDS]):
        first, last = m.contact_start[island], m.contact_start[island + 1]
        row_first, row_last = m.row_start[island], m.row_start[island + 1]
        k = m.node_start[island + 1] - m.node_start[island]
        solve_island(m, island, k, first, last, row_first, row_last, h, impact)


SOLVE = (
    *(root_of, join, row_sleeps, row_acts, touch, count_contact, place_contact, sort_contacts, count_row, place_row),
    *(sort_rows, sort_nodes, find_islands, meet, gather),
    *(stays_apart, let_go, is_free, begin_node, slow_node, shrinks_contact, shrinks_row, begin, settle, take_free),
    *(end_node, solve_island, solve_islands),
)
