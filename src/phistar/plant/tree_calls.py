"""Tree operations of the step, as compiled loops: dynamics at a state, a move by the solved rates, and back;
then the closures between them. The robots' own statements are kernels, called where they lie.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    BLOCK,
    FIRST,
    FIRST_TREE,
    LONG,
    LOOP_GROUPS,
    NODES,
    OWN,
    OWN_AT,
    ROW_JAC_A,
    ROW_NODE_A,
    ROWS,
    STEP,
    VALUE,
)
from phistar.plant.ball_springs import BALL_SPRINGS, deflect_balls
from phistar.plant.long_moves import LONG_MOVES, move_long, write_long
from phistar.plant.tendon_moves import TENDON_MOVES, TENDONS, write_tendons
from phistar.plant.tree_columns import (
    AFTER_CALL,
    AT_STATE,
    LOOP_CALL,
    LOOP_COORDINATES,
    LOOP_ENTRIES,
    LOOP_FIRST,
    MODAL_STIFFNESS,
    MOVED,
    STATE_CALL,
    TAKEN_BACK,
    TREE_NQ,
    TREE_Q,
    ask,
)

HELD = 1e-12  # of the softest row: what no rate moves more, as across a plane, holds nothing


def read_tree(m: Arrays, node: int) -> None:
    """Coordinates and rates out of q and v."""
    tree = node - m.counts[FIRST_TREE]
    first = m.tree_wholes[tree, TREE_Q]
    for i in range(first, first + m.tree_wholes[tree, TREE_NQ]):
        m.tree_q[i] = m.q[m.q_of[i]]
    for j in range(m.nodes[node, OWN_AT], m.nodes[node, OWN_AT] + m.nodes[node, OWN]):
        m.before[j] = m.rates[m.rate_of[j]]


def move_tree(m: Arrays, node: int) -> None:
    """q ⊕ h v⁺ and the rates there; a tree that floats has its momentum, gravity's and what contacts gave."""
    tree = node - m.counts[FIRST_TREE]
    first, h = m.tree_wholes[tree, TREE_Q], m.numbers[STEP]
    for i in range(6):
        m.owed[node, i] = m.momenta[node, i] + h * m.weight[node, i] + m.wrench[node, i]
    for i in range(first, first + m.tree_wholes[tree, TREE_NQ]):
        m.tree_saved[i] = m.tree_q[i]
    for j in range(m.nodes[node, OWN_AT], m.nodes[node, OWN_AT] + m.nodes[node, OWN]):
        m.saved_rates[j] = m.before[j]
    if m.nodes[node, LONG] > 0:
        move_long(m, node)
    else:
        ask(m.tree_wholes[tree, AFTER_CALL], m.tree_wholes[tree, AFTER_CALL + 1])
    for i in range(first, first + m.tree_wholes[tree, TREE_NQ]):
        m.tree_q[i] = m.tree_next[i]


def take_tree_back(m: Arrays, node: int) -> None:
    tree = node - m.counts[FIRST_TREE]
    first = m.tree_wholes[tree, TREE_Q]
    for i in range(first, first + m.tree_wholes[tree, TREE_NQ]):
        m.tree_q[i] = m.tree_saved[i]
    for j in range(m.nodes[node, OWN_AT], m.nodes[node, OWN_AT] + m.nodes[node, OWN]):
        m.before[j] = m.saved_rates[j]


def write_tree(m: Arrays, node: int) -> None:
    """q, v and the tables of a tree's dynamics at its state; its springs pull."""
    tree = node - m.counts[FIRST_TREE]
    first = m.tree_wholes[tree, TREE_Q]
    for i in range(first, first + m.tree_wholes[tree, TREE_NQ]):
        m.q[m.q_of[i]] = m.tree_q[i]
    for j in range(m.nodes[node, OWN_AT], m.nodes[node, OWN_AT] + m.nodes[node, OWN]):
        m.rates[m.rate_of[j]] = m.before[j]
    if m.nodes[node, LONG] > 0:
        write_long(m, node)
    else:
        ask(m.tree_wholes[tree, STATE_CALL], m.tree_wholes[tree, STATE_CALL + 1])
    deflect_balls(m)
    for j in range(m.nodes[node, OWN_AT], m.nodes[node, OWN_AT] + m.nodes[node, OWN]):
        if m.elastic[j] != 0.0:
            if m.flat[j] > 0.0:
                m.deflection[j] = m.q[m.spring_q[j]] - m.rest[j]
            m.generalized[j] -= m.elastic[j] * m.deflection[j]
    for s in range(m.modal_start[node], m.modal_start[node + 1]):
        m.generalized[m.modal_wholes[s, 0]] -= m.modal_numbers[s, MODAL_STIFFNESS] * m.deflection[m.modal_wholes[s, 1]]


def write_loops(m: Arrays) -> None:
    """Residuals, Jacobians and stiffnesses of closures: a row's is 1/Σ J²/ℳ(i,i)."""
    first, last = m.loop_wholes[0, LOOP_FIRST], m.counts[ROWS]
    for i in range(m.loop_wholes[0, LOOP_COORDINATES]):
        m.loop_q[i] = m.q[m.loop_q_of[i]]
    for group in range(m.counts[LOOP_GROUPS]):
        ask(m.loop_wholes[group, LOOP_CALL], m.loop_wholes[group, LOOP_CALL + 1])
    for i in range(m.loop_wholes[0, LOOP_ENTRIES]):
        m.row_jacobian[i] = m.closed_jacobian[m.jacobian_from[i]]
    for r in range(first, last):
        for i in range(6):
            m.row_wrench[r, i] = m.closed_wrench[m.closed_of[r - first], i]
    softest = 0.0
    for r in range(first, last):
        m.softness[r] = 0.0
        for side in range(2):
            node = m.row_wholes[r, ROW_NODE_A + side]
            if node >= 0:
                n, block, at = m.nodes[node, OWN], m.nodes[node, BLOCK], m.row_wholes[r, ROW_JAC_A + side]
                for j in range(n):
                    entry = m.row_jacobian[at + j]
                    m.softness[r] += entry * entry / m.inertias[block + j * (n + 1)]
        softest = max(softest, m.softness[r])
    for r in range(first, last):
        m.rows[r, VALUE] = m.closed[m.closed_of[r - first]]
        m.rows[r, FIRST] = 1.0 / m.softness[r] if m.softness[r] > HELD * softest else 0.0


def ask_trees(m: Arrays, what: int) -> None:
    """Trees: to take q and v, to move by v⁺, to go back, to take the rates of an impact; then their tables."""
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        if what == AT_STATE:
            read_tree(m, node)
        elif what == MOVED:
            move_tree(m, node)
        elif what == TAKEN_BACK:
            take_tree_back(m, node)
        write_tree(m, node)
    if m.counts[LOOP_GROUPS] > 0:
        write_loops(m)
    if m.tendon_counts[TENDONS] > 0:
        write_tendons(m)


CALLS = (
    *BALL_SPRINGS,
    *LONG_MOVES,
    *TENDON_MOVES,
    read_tree,
    move_tree,
    take_tree_back,
    write_tree,
    write_loops,
    ask_trees,
)
