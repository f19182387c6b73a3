"""The state of a plant as numbers that can be added: kept at the start of a long step, extrapolated at its end.

Linear and angular momenta about the world's origin are among them, in place of the rates that follow from them: what
momenta have together is in every row the same, so that extrapolation keeps it. Quaternions are added entry by entry and
made unit again, which keeps the order.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    AT,
    BENT,
    CONTACT_FLOATS,
    CONTACTS,
    FIRST_TREE,
    IMPULSE,
    LONG,
    LOSS,
    MEMORY,
    NODES,
    OUTSIDE,
    OWN,
    OWN_AT,
    READY,
    ROWS,
    SETTLED,
    STEP,
    WORK,
)
from phistar.plant.course_columns import (
    ALL_COORDINATES,
    ALL_RATES,
    BOOKS_AT,
    CENTER_AT,
    CONTACTS_AT,
    ENTRIES_ROOM,
    FREE_ENTRIES,
    MEMORIES_AT,
    MOMENT_AT,
    QUATERNION_AT,
    SAME,
    SPIN_AT,
    START_CONTACTS,
    START_SETTLED,
    TREES_AT,
    VELOCITY_AT,
    WIDTH,
)
from phistar.plant.free_bodies import MASS, TENSOR, body_pose, read_free, rotation_of, spin_of, write_free
from phistar.plant.long_moves import move_long
from phistar.plant.tree_calls import ask_trees
from phistar.plant.tree_columns import AFTER_CALL, STRUCK, TREE_NQ, TREE_Q, ask
from phistar.plant.tree_nodes import tree_rates

AHEAD = 0.01  # s: errors of rates count by how far they lead astray in this time


def keep_start(m: Arrays) -> None:
    """Save the state, with what contacts and rows remember."""
    if m.counts[READY] == 0:
        read_free(m, m.counts[FIRST_TREE])
    for i in range(m.course_wholes[ALL_COORDINATES]):
        m.start_q[i] = m.q[i]
    for i in range(m.course_wholes[ALL_RATES]):
        m.start_rates[i] = m.rates[i]
    for f in range(m.counts[FIRST_TREE]):
        for i in range(3):
            m.start_free[f, i] = m.center[f, i]
        for i in range(4):
            m.start_free[f, 3 + i] = m.quaternion[f, i]
        for i in range(9):
            m.start_free[f, 7 + i] = m.rotation[f, i]
        for i in range(6):
            m.start_free[f, 16 + i] = m.before[m.nodes[f, AT] + i]
    m.course_wholes[START_CONTACTS] = m.counts[CONTACTS]
    for c in range(m.counts[CONTACTS]):
        m.start_shapes[c, 0], m.start_shapes[c, 1] = m.contact_wholes[c, 0], m.contact_wholes[c, 1]
        for i in range(CONTACT_FLOATS):
            m.start_contacts[c, i] = m.contacts[c, i]
    for r in range(m.counts[ROWS]):
        m.start_memory[r] = m.rows[r, MEMORY]
    m.course[START_SETTLED] = m.numbers[SETTLED]


def return_to_start(m: Arrays) -> None:
    """Restore what `keep_start` saved."""
    for i in range(m.course_wholes[ALL_COORDINATES]):
        m.q[i] = m.start_q[i]
    for i in range(m.course_wholes[ALL_RATES]):
        m.rates[i] = m.start_rates[i]
    for f in range(m.counts[FIRST_TREE]):
        for i in range(3):
            m.center[f, i] = m.start_free[f, i]
        for i in range(4):
            m.quaternion[f, i] = m.start_free[f, 3 + i]
        for i in range(9):
            m.rotation[f, i] = m.start_free[f, 7 + i]
        for i in range(6):
            m.before[m.nodes[f, AT] + i] = m.start_free[f, 16 + i]
    m.counts[CONTACTS] = m.course_wholes[START_CONTACTS]
    for c in range(m.counts[CONTACTS]):
        m.contact_wholes[c, 0], m.contact_wholes[c, 1] = m.start_shapes[c, 0], m.start_shapes[c, 1]
        for i in range(CONTACT_FLOATS):
            m.contacts[c, i] = m.start_contacts[c, i]
    for r in range(m.counts[ROWS]):
        m.rows[r, MEMORY] = m.start_memory[r]
    m.numbers[SETTLED] = m.course[START_SETTLED]
    m.counts[READY] = 2


def gather_free(m: Arrays, f: int) -> None:
    """The entries of a free body, its angular momentum c × mv + R J R* ω among them."""
    to, at, mass = FREE_ENTRIES * f, m.nodes[f, AT], m.inertia[f, MASS]
    for i in range(3):
        m.reached[to + CENTER_AT + i] = m.center[f, i]
        m.reached[to + VELOCITY_AT + i] = m.before[at + 3 + i]
        m.reached[to + SPIN_AT + i] = m.before[at + i]
        total = 0.0
        for k in range(3):
            total += m.rotation[f, 3 * k + i] * m.before[at + k]
        m.spin[i] = total
    for i in range(4):
        m.reached[to + QUATERNION_AT + i] = m.quaternion[f, i]
    for i in range(3):
        total = 0.0
        for k in range(3):
            total += m.inertia[f, TENSOR + 3 * i + k] * m.spin[k]
        m.spin[3 + i] = total
    x, y, z = m.center[f, 0], m.center[f, 1], m.center[f, 2]
    a, b, c = mass * m.before[at + 3], mass * m.before[at + 4], mass * m.before[at + 5]
    m.spin[6], m.spin[7], m.spin[8] = y * c - z * b, z * a - x * c, x * b - y * a
    for i in range(3):
        total = m.spin[6 + i]
        for k in range(3):
            total += m.rotation[f, 3 * i + k] * m.spin[3 + k]
        m.reached[to + MOMENT_AT + i] = total


def reach_free(m: Arrays, f: int, base: int) -> None:
    """A free body where the entries from `base` on say."""
    own, at, mass = base + FREE_ENTRIES * f, m.nodes[f, AT], m.inertia[f, MASS]
    for i in range(3):
        m.center[f, i] = m.tableau[own + CENTER_AT + i]
        m.before[at + 3 + i] = m.tableau[own + VELOCITY_AT + i]
    for i in range(4):
        m.quaternion[f, i] = m.tableau[own + QUATERNION_AT + i]
    rotation_of(m, f)
    x, y, z = m.center[f, 0], m.center[f, 1], m.center[f, 2]
    a, b, c = mass * m.before[at + 3], mass * m.before[at + 4], mass * m.before[at + 5]
    m.spin[0] = m.tableau[own + MOMENT_AT] - (y * c - z * b)
    m.spin[1] = m.tableau[own + MOMENT_AT + 1] - (z * a - x * c)
    m.spin[2] = m.tableau[own + MOMENT_AT + 2] - (x * b - y * a)
    spin_of(m, f, 9)
    for i in range(3):
        m.before[at + i] = m.spin[9 + i]
    body_pose(m, f)


def gather_trees(m: Arrays) -> None:
    """Coordinates, rates and momenta of trees."""
    to = m.course_wholes[TREES_AT]
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        tree = node - m.counts[FIRST_TREE]
        first = m.tree_wholes[tree, TREE_Q]
        for i in range(m.tree_wholes[tree, TREE_NQ]):
            m.reached[to + i] = m.tree_q[first + i]
        to += m.tree_wholes[tree, TREE_NQ]
        for j in range(m.nodes[node, OWN]):
            m.reached[to + j] = m.before[m.nodes[node, OWN_AT] + j]
        to += m.nodes[node, OWN]
        for i in range(6):
            m.reached[to + i] = m.momenta[node, i]
        to += 6


def reach_trees(m: Arrays, base: int) -> None:
    """Trees where the entries say; one that floats has the momentum that they say, by its root's twist."""
    to, short = base + m.course_wholes[TREES_AT], m.numbers[STEP]
    m.numbers[STEP] = 0.0
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        tree = node - m.counts[FIRST_TREE]
        first, count = m.tree_wholes[tree, TREE_Q], m.tree_wholes[tree, TREE_NQ]
        for i in range(count):
            m.tree_q[first + i] = m.tableau[to + i]
        to += count
        for j in range(m.nodes[node, OWN]):
            m.v[m.nodes[node, OWN_AT] + j] = m.tableau[to + j]
        to += m.nodes[node, OWN]
        for i in range(6):
            m.owed[node, i] = m.tableau[to + i]
        to += 6
        if m.nodes[node, LONG] > 0:
            move_long(m, node)
        else:
            ask(m.tree_wholes[tree, AFTER_CALL], m.tree_wholes[tree, AFTER_CALL + 1])
        for i in range(first, first + count):
            m.tree_q[i] = m.tree_next[i]
    ask_trees(m, STRUCK)
    tree_rates(m)
    m.numbers[STEP] = short


def gather_state(m: Arrays, row: int) -> None:
    """The state that a row of short steps reached, its books, and what its rows and contacts remember."""
    for f in range(m.counts[FIRST_TREE]):
        gather_free(m, f)
    gather_trees(m)
    to = m.course_wholes[MEMORIES_AT]
    for r in range(m.counts[ROWS]):
        m.reached[to + r] = m.rows[r, MEMORY]
    to = m.course_wholes[BOOKS_AT]
    m.reached[to], m.reached[to + 1] = m.numbers[WORK], m.numbers[LOSS]
    for i in range(6):
        m.reached[to + 2 + i] = m.numbers[OUTSIDE + i]
    to = m.course_wholes[CONTACTS_AT]
    same = 1 if row == 0 or m.course_wholes[SAME] == m.counts[CONTACTS] else 0
    for c in range(m.counts[CONTACTS]):
        if row == 0:
            m.row_shapes[c, 0], m.row_shapes[c, 1] = m.contact_wholes[c, 0], m.contact_wholes[c, 1]
        elif m.row_shapes[c, 0] != m.contact_wholes[c, 0] or m.row_shapes[c, 1] != m.contact_wholes[c, 1]:
            same = 0
        for i in range(4):
            m.reached[to + 4 * c + i] = m.contacts[c, BENT + i]
    m.course_wholes[SAME] = m.counts[CONTACTS] if same > 0 else -1
    m.course_wholes[WIDTH] = to + 4 * m.counts[CONTACTS]


def extrapolate(m: Arrays, row: int) -> None:
    """A new row of the tableau over those before it, of which the last is kept, entry by entry."""
    room = m.course_wholes[ENTRIES_ROOM]
    for i in range(m.course_wholes[WIDTH]):
        value = m.reached[i]
        for k in range(row):
            before = m.tableau[k * room + i]
            m.tableau[k * room + i] = value
            value += (value - before) * (row - k) / (k + 1.0)  # over n(row)/n(row − 1 − k) − 1, n = 1, 2, 3 …
        m.tableau[row * room + i] = value


def widest_error(m: Arrays, row: int) -> float:
    """Largest difference of the last two columns in any place, m or rad, now or after AHEAD seconds more."""
    best = row * m.course_wholes[ENTRIES_ROOM]
    second, error = best - m.course_wholes[ENTRIES_ROOM], 0.0
    for f in range(m.counts[FIRST_TREE]):
        for i in range(FREE_ENTRIES):
            at = FREE_ENTRIES * f + i
            missed = abs(m.tableau[best + at] - m.tableau[second + at])
            if i < QUATERNION_AT:
                error = larger(error, missed)
            elif i < VELOCITY_AT:
                error = larger(error, 2.0 * missed)
            elif i < MOMENT_AT or i >= SPIN_AT:
                error = larger(error, AHEAD * missed)
    at = m.course_wholes[TREES_AT]
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        tree = node - m.counts[FIRST_TREE]
        first = m.tree_wholes[tree, TREE_Q]
        for i in range(m.tree_wholes[tree, TREE_NQ]):
            missed = abs(m.tableau[best + at + i] - m.tableau[second + at + i])
            error = larger(error, m.turns[first + i] * missed)
        at += m.tree_wholes[tree, TREE_NQ]
        for j in range(m.nodes[node, OWN]):
            error = larger(error, AHEAD * abs(m.tableau[best + at + j] - m.tableau[second + at + j]))
        at += m.nodes[node, OWN] + 6
    return error


def larger(error: float, missed: float) -> float:
    """The larger one; what is no number is larger than all."""
    return max(error, missed) if missed < 1e300 else 1e300


def reach_state(m: Arrays, row: int) -> None:
    """The plant at the state of the last row of the tableau."""
    base = row * m.course_wholes[ENTRIES_ROOM]
    for f in range(m.counts[FIRST_TREE]):
        reach_free(m, f, base)
    write_free(m, m.counts[FIRST_TREE])
    if m.counts[FIRST_TREE] < m.counts[NODES]:
        reach_trees(m, base)
    own = base + m.course_wholes[MEMORIES_AT]
    for r in range(m.counts[ROWS]):
        m.rows[r, MEMORY] = m.tableau[own + r]
    own = base + m.course_wholes[BOOKS_AT]
    m.numbers[WORK], m.numbers[LOSS] = m.tableau[own], m.tableau[own + 1]
    for i in range(6):
        m.numbers[OUTSIDE + i] = m.tableau[own + 2 + i]
    if m.course_wholes[SAME] >= 0:
        own = base + m.course_wholes[CONTACTS_AT]
        for c in range(m.counts[CONTACTS]):
            if m.contacts[c, IMPULSE + 2] > 0.0:
                for i in range(4):
                    m.contacts[c, BENT + i] = m.tableau[own + 4 * c + i]
    m.counts[READY] = 1


COURSE_STATES = (
    *(keep_start, return_to_start, gather_free, reach_free, gather_trees, reach_trees, gather_state, extrapolate),
    *(larger, widest_error, reach_state),
)
