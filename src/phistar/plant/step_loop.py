"""The step: free bodies and trees moved under their constraints, in parts where gaps would close or bodies collide.

Positions move by x⁺ = x + h v⁺ where a constraint acts, so that x × mv is passed on exactly; in flight by the trapezoid
rule, exact under gravity, and orientations by the midpoint rule on the angular momentum, which is kept.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.blocks import FACTORS
from phistar.constraints.columns import (
    AT,
    BENT,
    BODY,
    BOUND,
    BRISTLE,
    CONTACTS,
    DRY_LAW,
    ELAPSED,
    FAILED,
    FIRST,
    FIRST_TREE,
    FULL,
    GAP,
    HIGH,
    IMPACTS,
    IMPULSE,
    ITERATIONS,
    JOINS,
    LAW,
    LENGTH,
    LIMIT,
    LIMIT_LAW,
    LONG_TREES,
    LOOKING,
    LOW,
    MARGIN,
    MEMORY,
    NEAREST,
    NODE_A,
    NODES,
    NORMAL,
    OFFSET,
    OWN,
    OWN_AT,
    PATCH,
    POINT,
    RATE,
    READY,
    RESIDUAL,
    ROW_IMPULSE,
    ROW_NODE_A,
    ROW_NODE_B,
    ROW_Q,
    ROW_RATE,
    ROW_SPEED,
    ROWS,
    SAVED,
    SAVED_TWIST,
    SERVO_LAW,
    SETTLED,
    SIDEWAYS,
    SIGN,
    STEP,
    SUBSTEPS,
    TANGENT,
    TREE,
    TWIST,
    VALUE,
)
from phistar.constraints.constraint_rates import contact_rates
from phistar.constraints.islands import SOLVE, solve_islands
from phistar.constraints.laws import LAWS
from phistar.constraints.newton import NEWTON
from phistar.geometry.broad_phase import LOOK, look
from phistar.geometry.contact_report import TOUCHING
from phistar.plant.contact_jacobians import CONTACT_JACOBIANS, contact_jacobian, is_on_long, jacobians
from phistar.plant.free_bodies import FREE, body_pose, move_free, prepare_free, read_free, rotation_of, write_free
from phistar.plant.impacts import (
    STRIKES,
    any_lively,
    bounce,
    excuse,
    first_impact,
    give,
    mark_closing,
)
from phistar.plant.sleeping_rows import settle_rows
from phistar.plant.step_books import BOOKS, book_part, clear_books, tell_part
from phistar.plant.tendon_moves import read_tendon_row
from phistar.plant.tree_calls import CALLS, ask_trees
from phistar.plant.tree_columns import AT_STATE, LOOP_FIRST, MOVED, TAKEN_BACK
from phistar.plant.tree_nodes import TREES, apply_forces, prepare_tree, tree_rates
from phistar.plant.tree_span import recover_spans

ROUNDS = 100  # of impacts in a step
HALVINGS = 14  # of one part, until overlaps are let go
PARTS = 1000  # of a step
STUCK, DIVERGED = 1000000, 2000000  # added to FAILED
FADES = 0.1  # s: how fast an overlap of the start is let go


def prepare(m: Arrays, h: float) -> None:
    """Blocks A, v* and Jacobians for a step h."""
    m.numbers[STEP] = h
    for f in range(m.counts[FIRST_TREE]):
        prepare_free(m, f, h)
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        prepare_tree(m, node, h)
    if m.counts[LONG_TREES] > 0:
        for c in range(m.counts[CONTACTS]):
            if is_on_long(m, c):
                contact_jacobian(m, c)


def keep(m: Arrays) -> None:
    """Save free bodies' state, to go back to."""
    for f in range(m.counts[FIRST_TREE]):
        for i in range(3):
            m.kept[f, i] = m.center[f, i]
        for i in range(4):
            m.kept[f, 3 + i] = m.quaternion[f, i]
        for i in range(6):
            m.kept[f, 7 + i] = m.before[m.nodes[f, AT] + i]


def go_back(m: Arrays) -> None:
    for f in range(m.counts[FIRST_TREE]):
        for i in range(3):
            m.center[f, i] = m.kept[f, i]
        for i in range(4):
            m.quaternion[f, i] = m.kept[f, 3 + i]
        for i in range(6):
            m.before[m.nodes[f, AT] + i] = m.kept[f, 7 + i]
        restore_pose(m, f)


def restore_pose(m: Arrays, f: int) -> None:
    rotation_of(m, f)
    body_pose(m, f)


def move(m: Arrays, h: float) -> None:
    for f in range(m.counts[FIRST_TREE]):
        move_free(m, f, h)
    if m.counts[FIRST_TREE] < m.counts[NODES]:
        tree_wrenches(m)
        ask_trees(m, MOVED)
        tree_rates(m)


def remember_contacts(m: Arrays, h: float) -> None:
    """Bristles bend, or are cut to what friction bears; offsets of overlaps fade."""
    for c in range(m.counts[CONTACTS]):
        if m.excused[c] > 0.0:
            m.contacts[c, OFFSET], m.excused[c] = 0.0, 0.0
        size = 0.0
        for i in range(3):
            t, s = m.contacts[c, TANGENT + i], m.contacts[c, TANGENT + 3 + i]
            m.contacts[c, SAVED + i] = m.contacts[c, BENT + i]
            m.contacts[c, BENT + i] += h * (t * m.contacts[c, RATE] + s * m.contacts[c, RATE + 1])
            size += m.contacts[c, BENT + i] * m.contacts[c, BENT + i]
        longest = m.contacts[c, LIMIT] / (h * m.contacts[c, BRISTLE]) if m.contacts[c, IMPULSE + 2] > 0.0 else 0.0
        if size > longest * longest:
            for i in range(3):
                m.contacts[c, BENT + i] *= longest / sqrt(size)
        if m.contacts[c, PATCH] > 0.0:
            m.contacts[c, SAVED_TWIST] = m.contacts[c, TWIST]
            widest = m.contacts[c, LIMIT] / (h * m.contacts[c, PATCH] * m.contacts[c, BRISTLE])
            m.contacts[c, TWIST] = min(max(m.contacts[c, TWIST] + h * m.contacts[c, RATE + 3], -widest), widest)
        if m.contacts[c, OFFSET] > 0.0:
            least = 0.5 * TOUCHING * m.contacts[c, MARGIN] - m.contacts[c, GAP] - h * m.contacts[c, RATE + 2]
            m.contacts[c, OFFSET] = min(m.contacts[c, OFFSET], max(m.contacts[c, OFFSET] / (1.0 + h / FADES), least))
            if m.contacts[c, OFFSET] < 1e-9 * m.contacts[c, MARGIN]:
                m.contacts[c, OFFSET] = 0.0


def remember_rows(m: Arrays, h: float) -> None:
    """Bend the bristles of dry-friction rows over a step, as far as they bear."""
    for r in range(m.counts[ROWS]):
        u, law = m.rows[r, ROW_SPEED], m.row_wholes[r, LAW]
        if law == DRY_LAW:
            bent = m.rows[r, MEMORY] + h * u
            low, high = -m.rows[r, HIGH] / m.rows[r, FIRST], -m.rows[r, LOW] / m.rows[r, FIRST]
            m.rows[r, MEMORY] = min(max(bent, low), high)


def read_rows(m: Arrays) -> None:
    """Distances of joints to their limits and errors of servos, at q; joints beyond a limit return slowly."""
    for r in range(m.counts[ROWS]):
        law, q = m.row_wholes[r, LAW], m.row_wholes[r, ROW_Q]
        if m.row_wholes[r, ROW_RATE] < 0:
            if r < m.loop_wholes[0, LOOP_FIRST]:
                read_tendon_row(m, r)
        elif law == LIMIT_LAW:
            room = m.rows[r, SIGN] * (m.q[q] - m.rows[r, BOUND])
            m.rows[r, VALUE] = room if room > 0.0 else TOUCHING * m.rows[r, FIRST]
        elif law == SERVO_LAW:
            m.rows[r, VALUE] = m.rows[r, BOUND] - m.q[q]


def push_tree(m: Arrays, c: int, node: int, sign: float) -> None:
    """`wrench` of a tree gains a contact's impulse."""
    s, t, u = sign * m.contacts[c, IMPULSE], sign * m.contacts[c, IMPULSE + 1], sign * m.contacts[c, IMPULSE + 2]
    fx = m.contacts[c, TANGENT] * s + m.contacts[c, SIDEWAYS] * t + m.contacts[c, NORMAL] * u
    fy = m.contacts[c, TANGENT + 1] * s + m.contacts[c, SIDEWAYS + 1] * t + m.contacts[c, NORMAL + 1] * u
    fz = m.contacts[c, TANGENT + 2] * s + m.contacts[c, SIDEWAYS + 2] * t + m.contacts[c, NORMAL + 2] * u
    x, y, z = m.contacts[c, POINT], m.contacts[c, POINT + 1], m.contacts[c, POINT + 2]
    m.wrench[node, 0] += y * fz - z * fy
    m.wrench[node, 1] += z * fx - x * fz
    m.wrench[node, 2] += x * fy - y * fx
    m.wrench[node, 3] += fx
    m.wrench[node, 4] += fy
    m.wrench[node, 5] += fz
    if m.contacts[c, PATCH] > 0.0:
        for i in range(3):
            m.wrench[node, i] += sign * m.contacts[c, NORMAL + i] * m.contacts[c, IMPULSE + 3]


def tree_wrenches(m: Arrays) -> None:
    """Impulses on trees, [moment; force] about the world's origin."""
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        for i in range(6):
            m.wrench[node, i] = 0.0
        if m.nodes[node, TREE] == 2:  # a free root: what pushes at it
            body, at, h = m.nodes[node, BODY], m.nodes[node, OWN_AT], m.numbers[STEP]
            for i in range(3):
                for k in range(3):
                    m.wrench[node, i] += h * m.pose[body, 3 * i + k] * m.applied[at + k]
                    m.wrench[node, 3 + i] += h * m.pose[body, 3 * i + k] * m.applied[at + 3 + k]
            x, y, z = m.pose[body, 9], m.pose[body, 10], m.pose[body, 11]
            m.wrench[node, 0] += y * m.wrench[node, 5] - z * m.wrench[node, 4]
            m.wrench[node, 1] += z * m.wrench[node, 3] - x * m.wrench[node, 5]
            m.wrench[node, 2] += x * m.wrench[node, 4] - y * m.wrench[node, 3]
    for r in range(m.counts[ROWS]):
        if m.row_wholes[r, ROW_RATE] < 0:
            for side in range(2):
                node = m.row_wholes[r, ROW_NODE_A + side]
                if node >= 0 and m.row_wholes[r, ROW_NODE_B] >= 0:
                    sign = m.rows[r, ROW_IMPULSE] if side == 0 else -m.rows[r, ROW_IMPULSE]
                    for i in range(6):
                        m.wrench[node, i] += sign * m.row_wrench[r, i]
                elif node >= 0 and m.rows[r, SIGN] != 0.0:
                    for i in range(6):
                        m.wrench[node, i] += m.rows[r, SIGN] * m.rows[r, ROW_IMPULSE] * m.row_wrench[r, i]
    for c in range(m.counts[CONTACTS]):
        for side in range(2):
            node = m.contact_wholes[c, NODE_A + side]
            if node >= m.counts[FIRST_TREE]:
                push_tree(m, c, node, 1.0 if side == 0 else -1.0)


def solve_part(m: Arrays, h: float) -> None:
    """The rates after a part of the step, and its impulses."""
    solve_islands(m, h, 0)
    while m.counts[LONG_TREES] > 0 and recover_spans(m, h, 0) > 0 and m.counts[FULL] == 0:
        prepare(m, h)
        solve_islands(m, h, 0)


def advance(m: Arrays, h: float) -> bool:
    """One part of the step; False, with the state restored, where a gap would close."""
    solve_part(m, h)
    tell_part(m, h, 0)
    keep(m)
    move(m, h)
    remember_contacts(m, h)
    look(m, m.numbers[LENGTH])
    if m.numbers[NEAREST] > 0.0:
        book_part(m)
        m.numbers[ELAPSED] += h
        remember_rows(m, h)
        if m.counts[LONG_TREES] > 0:
            settle_rows(m, h)
        read_rows(m)
        jacobians(m)
        return True
    go_back(m)
    if m.counts[FIRST_TREE] < m.counts[NODES]:
        ask_trees(m, TAKEN_BACK)
        tree_rates(m)
        read_rows(m)
    for c in range(m.counts[CONTACTS]):
        for i in range(3):
            m.contacts[c, BENT + i] = m.contacts[c, SAVED + i]
        m.contacts[c, TWIST] = m.contacts[c, SAVED_TWIST]
    look(m, m.numbers[LENGTH])
    jacobians(m)
    return False


def begin_step(m: Arrays) -> None:
    if m.counts[JOINS] == 0:
        m.counts[ITERATIONS], m.counts[SUBSTEPS], m.counts[FAILED], m.counts[IMPACTS] = 0, 0, 0, 0
        m.numbers[RESIDUAL] = 0.0
        clear_books(m)
    if m.counts[READY] != 1:
        if m.counts[READY] == 0:
            read_free(m, m.counts[FIRST_TREE])
        else:  # a state that was written down: centres, orientations and rates are there, to the last bit
            for f in range(m.counts[FIRST_TREE]):
                body_pose(m, f)
        if m.counts[FIRST_TREE] < m.counts[NODES]:
            ask_trees(m, AT_STATE)
            tree_rates(m)
        look(m, m.numbers[LENGTH])
        m.numbers[SETTLED] = 1.0
        jacobians(m)
    read_rows(m)
    apply_forces(m)


def rate_contacts(m: Arrays) -> None:
    """Speeds at which gaps change, at the rates of the state."""
    prepare(m, m.numbers[LENGTH])
    give(m, 0)
    for c in range(m.counts[CONTACTS]):
        contact_rates(m, c, RATE)


def end_step(m: Arrays, left: float) -> None:
    """Rates and coordinates are written; time that is left, and rates that are no numbers, are failures."""
    if left > 0.0 and m.counts[FULL] == 0:
        m.counts[FAILED] += STUCK
    m.numbers[SETTLED] = 1.0
    write_free(m, m.counts[FIRST_TREE])
    m.counts[READY] = 1
    for i in range(m.counts[NODES]):
        for j in range(m.nodes[i, OWN_AT], m.nodes[i, OWN_AT] + m.nodes[i, OWN]):
            if not abs(m.before[j]) < 1e12:
                m.counts[FAILED] += DIVERGED
                return


def step(m: Arrays) -> None:
    """A step of `numbers[LENGTH]`, in parts where need be; or a look at what may touch within it."""
    begin_step(m)
    if m.counts[LOOKING] > 0:
        rate_contacts(m)
        return
    left = m.numbers[LENGTH]
    part, rounds, halvings = left, 0, 0
    lively = any_lively(m)
    while left > 0.0 and m.counts[FULL] == 0 and m.counts[SUBSTEPS] < PARTS:
        h = min(part, left)
        if lively and rounds < ROUNDS:
            prepare(m, 0.0)
            if mark_closing(m) > 0:
                solve_islands(m, 0.0, 1)
                recover_spans(m, 0.0, 1)
                tell_part(m, 0.0, 1)
                book_part(m)
                bounce(m)
                rounds += 1
                continue
        prepare(m, h)
        if lively and rounds < ROUNDS:
            when = first_impact(m, h)
            if when < h:
                h = max(when, 1e-9 * m.numbers[LENGTH])
                prepare(m, h)
                rounds += 1
            excuse(m, h)
        if advance(m, h):
            m.counts[SUBSTEPS] += 1
            left -= h
            left = left if left > 1e-12 * m.numbers[LENGTH] else 0.0
            part, halvings = left if halvings == 0 else min(left, 2.0 * h), 0
            lively = any_lively(m)
        else:
            part = 0.5 * h
            halvings += 1
            if halvings > HALVINGS:
                m.numbers[SETTLED] = 0.0  # overlaps are let go slowly, as at the start
                if halvings > 2 * HALVINGS:
                    break
    end_step(m, left)


STEPS = (
    *(*FACTORS, *LAWS, *NEWTON, *SOLVE, *LOOK, *FREE, *TREES, *CALLS, *STRIKES, *BOOKS, *CONTACT_JACOBIANS),
    *(prepare, keep, restore_pose, go_back, push_tree, tree_wrenches, move, remember_contacts),
    *(remember_rows, read_rows, solve_part, advance, begin_step, end_step, rate_contacts, step),
)
