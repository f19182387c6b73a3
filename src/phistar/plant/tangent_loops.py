"""The derivative of a step as two compiled calls: N and its sides where the step is solved, the moves where it ended.

In between N ∂v⁺ = −∂r is solved, for all columns at once.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import FIRST_TREE, LENGTH, NODES, OWN, OWN_AT, ROWS, TOUCHED, TREE
from phistar.geometry.place_changes import change_places
from phistar.plant.contact_tangents import CONTACT_TANGENTS, contact_sides
from phistar.plant.free_bodies import CENTER
from phistar.plant.loop_tangents import LOOP_TANGENTS, loop_tangents
from phistar.plant.move_tangents import MOVE_TANGENTS, move_columns
from phistar.plant.node_tangents import (
    NODE_TANGENTS,
    add_force,
    ball_sides,
    bending,
    free_sides,
    make_composites,
    modal_sides,
    momentum_columns,
    place_axes,
    root_wrench,
    tree_sides,
)
from phistar.plant.row_tangents import ROW_TANGENTS, all_rows
from phistar.plant.tangent_columns import COLUMNS_OF, FORCES_OF, RATES_OF, SCREWS
from phistar.plant.tendon_moves import TENDONS, place_end, tendon_mass, turn_about_origin
from phistar.plant.tendon_tangents import TENDON_TANGENTS, tendon_tangents


def clear_tangents(m: Arrays) -> None:
    total, columns = m.tangent_counts[RATES_OF], m.tangent_counts[COLUMNS_OF]
    for i in range(total * total):
        m.system[i], m.turned_by[i] = 0.0, 0.0
    for i in range(total * columns):
        m.sides[i] = 0.0
    for i in range(6 * m.counts[NODES] * total):
        m.wrench_rates[i], m.wrench_place[i] = 0.0, 0.0
    for i in range(6 * m.counts[NODES] * columns):
        m.wrench_given[i] = 0.0
    for i in range(3 * m.counts[FIRST_TREE] * columns):
        m.free_moment[i] = 0.0
    for i in range(m.counts[ROWS] * total):
        m.speed_by[i], m.inertia_by[i] = 0.0, 0.0
    for r in range(m.counts[ROWS]):
        m.met_inertia[r] = 0.0


def keep_start(m: Arrays) -> None:
    """Keep the state at which the step begins, for the moves."""
    for f in range(m.counts[FIRST_TREE]):
        m.start_touched[f] = m.nodes[f, TOUCHED]
        for i in range(9):
            m.start_turn[9 * f + i] = m.rotation[f, i]
        for i in range(3):
            m.start_moment[3 * f + i] = m.moment[f, i]
    for j in range(m.tangent_counts[RATES_OF]):
        m.start_rates[j] = m.before[j]
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        if m.nodes[node, TREE] == 2:
            momentum_columns(m, node)
            for i in range(12 * m.nodes[node, OWN_AT], 12 * (m.nodes[node, OWN_AT] + m.nodes[node, OWN])):
                m.start_momentum[i] = m.momentum_by[i]


def solve_tangents(m: Arrays) -> None:
    """`system` and `sides` of the step that is solved and not moved."""
    h = m.numbers[LENGTH]
    clear_tangents(m)
    place_axes(m)
    make_composites(m)
    bending(m)
    keep_start(m)
    change_places(m)
    for f in range(m.counts[FIRST_TREE]):
        free_sides(m, f, h)
    for node in range(m.counts[FIRST_TREE], m.counts[NODES]):
        tree_sides(m, node, h)
        modal_sides(m, node, h)
        if m.nodes[node, TREE] == 2:
            root_wrench(m, node, h)
    ball_sides(m, h)
    contact_sides(m, h)
    if m.tendon_counts[TENDONS] > 0:
        tendon_tangents(m)
    loop_tangents(m)
    all_rows(m, h)
    first = m.tangent_counts[COLUMNS_OF] - m.tangent_counts[FORCES_OF]
    for j in range(m.tangent_counts[FORCES_OF]):
        add_force(m, j, first + j, 1.0, h)


def into_model(m: Arrays, f: int) -> None:
    """Columns of a free body's places and rates from those of its frame, in its axes: [Rω; R(v + ω × c)]."""
    at, columns, total = m.nodes[f, OWN_AT], m.tangent_counts[COLUMNS_OF], m.tangent_counts[RATES_OF]
    x, y, z = m.inertia[f, CENTER], m.inertia[f, CENTER + 1], m.inertia[f, CENTER + 2]
    for row in range(2 * total):
        for half in range(2):
            to = row * columns + half * total + at
            for k in range(3):
                m.flow_next[k], m.flow_next[3 + k] = m.made[to + k], m.made[to + 3 + k]
            if half == 0:  # rates that stay as the body has them turn with it: −[ω̃; ṽ] δθ
                for part in range(2):
                    own, from_ = row * columns + total + at + 3 * part, at + 3 * part
                    a, b, c = m.made[own], m.made[own + 1], m.made[own + 2]
                    u, v, w = m.start_rates[from_], m.start_rates[from_ + 1], m.start_rates[from_ + 2]
                    m.flow_next[0] += b * -w + c * v
                    m.flow_next[1] += a * w - c * u
                    m.flow_next[2] += b * u - a * v
            for k in range(3):
                turn, move = 0.0, 0.0
                for i in range(3):
                    turn += m.flow_next[i] * m.start_turn[9 * f + 3 * i + k]
                    move += m.flow_next[3 + i] * m.start_turn[9 * f + 3 * i + k]
                m.flow_next[6 + k], m.flow_next[9 + k] = turn, move
            a, b, c = m.flow_next[9], m.flow_next[10], m.flow_next[11]
            m.made[to], m.made[to + 1], m.made[to + 2] = (
                m.flow_next[6] - b * z + c * y,
                m.flow_next[7] - c * x + a * z,
                m.flow_next[8] - a * y + b * x,
            )
            m.made[to + 3], m.made[to + 4], m.made[to + 5] = a, b, c


def out_of_model(m: Arrays, f: int) -> None:
    """Rows of a free body's places and rates as those of its frame, where the step ended."""
    at, columns, total = m.nodes[f, OWN_AT], m.tangent_counts[COLUMNS_OF], m.tangent_counts[RATES_OF]
    x, y, z = m.inertia[f, CENTER], m.inertia[f, CENTER + 1], m.inertia[f, CENTER + 2]
    for column in range(columns):
        a, b, c = (
            m.made[at * columns + column],
            m.made[(at + 1) * columns + column],
            m.made[(at + 2) * columns + column],
        )
        for half in range(2):
            row = half * total + at
            for i in range(6):
                m.flow_next[i] = m.made[(row + i) * columns + column]
            if half == 1:
                for part in range(2):
                    u, v, w = m.before[at + 3 * part], m.before[at + 3 * part + 1], m.before[at + 3 * part + 2]
                    m.flow_next[3 * part] += v * c - w * b
                    m.flow_next[3 * part + 1] += w * a - u * c
                    m.flow_next[3 * part + 2] += u * b - v * a
            for i in range(3):
                turn, move = 0.0, 0.0
                for k in range(3):
                    turn += m.rotation[f, 3 * k + i] * m.flow_next[k]
                    move += m.rotation[f, 3 * k + i] * m.flow_next[3 + k]
                m.flow_next[6 + i], m.flow_next[9 + i] = turn, move
            u, v, w = m.flow_next[6], m.flow_next[7], m.flow_next[8]
            m.flow_next[9] += y * w - z * v
            m.flow_next[10] += z * u - x * w
            m.flow_next[11] += x * v - y * u
            for i in range(6):
                m.made[(row + i) * columns + column] = m.flow_next[6 + i]


def end_tangents(m: Arrays) -> None:
    """`answer` (2R, columns) as the model has it, of `solved`, the change of v⁺; the step has moved."""
    h, columns, total = m.numbers[LENGTH], m.tangent_counts[COLUMNS_OF], m.tangent_counts[RATES_OF]
    place_axes(m)
    make_composites(m)
    bending(m)
    move_columns(m, h)
    for f in range(m.counts[FIRST_TREE]):
        into_model(m, f)
    for f in range(m.counts[FIRST_TREE]):
        out_of_model(m, f)
    forces = columns - m.tangent_counts[FORCES_OF]
    for half in range(2):
        for i in range(total):
            row, to = (half * total + i) * columns, (half * total + m.rate_in_model[i]) * columns
            for j in range(total):
                k = m.rate_in_model[j]
                m.answer[to + k], m.answer[to + total + k] = m.made[row + j], m.made[row + total + j]
                if m.tangent_counts[FORCES_OF] > 0:
                    m.answer[to + forces + k] = m.made[row + forces + j]
            for w in range(2 * total, forces):
                m.answer[to + w] = m.made[row + w]


def serve_tangents(m: Arrays) -> None:
    if m.tangent_mode[0] == 0:
        solve_tangents(m)
    else:
        end_tangents(m)


TANGENTS = (
    *(*SCREWS, place_end, turn_about_origin, tendon_mass, *NODE_TANGENTS, *CONTACT_TANGENTS, *TENDON_TANGENTS),
    *(*LOOP_TANGENTS, *ROW_TANGENTS, *MOVE_TANGENTS, clear_tangents, keep_start, solve_tangents, into_model),
    *(out_of_model, end_tangents, serve_tangents),
)
