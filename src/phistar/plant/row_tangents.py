"""Rows of a step, linearized: limits, dry friction, servos, tendons, closures, and what commands do to them.

J*λ changes with the rates by −w J*J; with places by J*(λ_y dy − w d(Jv)) + dJ*λ. A tendon's J turns as its ends move,
closures' by kernels of their own statements (`loop_tangents.py`). Strengths of tendons' stops and bristles follow the
inertia that they meet, whose change composite bodies tell: dℳ(i,i) = −2 s_i* I_j ad(s_j) s_i for j beyond i.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    BOUND,
    DRY_LAW,
    EQUAL_LAW,
    FIRST,
    LAW,
    LENGTH,
    LIMIT_LAW,
    LOOP_GROUPS,
    OWN_AT,
    ROW_HESSIAN,
    ROW_IMPULSE,
    ROW_JAC_A,
    ROW_JAC_B,
    ROW_NODE_A,
    ROW_NODE_B,
    ROW_Q,
    ROW_RATE,
    ROW_SPEED,
    ROWS,
    SECOND,
    SERVO_LAW,
    SIGN,
    THIRD,
    VALUE,
)
from phistar.constraints.laws import DRAWN, RIGID
from phistar.plant.batch_loop import (
    DRIVE_ENTRY,
    DRIVE_GEAR,
    DRIVE_HIGH,
    DRIVE_KIND,
    DRIVE_LEAST,
    DRIVE_LOW,
    DRIVE_MOST,
    DRIVE_OFFSET,
    DRIVE_RATE,
    DRIVE_ROW,
    DRIVES,
    FORCE_DRIVE,
    IMPEDANCE_DRIVE,
    POSITION_DRIVE,
    PRESCRIBED_DRIVE,
    VELOCITY_DRIVE,
)
from phistar.plant.contact_tangents import involve
from phistar.plant.node_tangents import add_force
from phistar.plant.tangent_columns import COLUMNS_OF, RATES_OF
from phistar.plant.tendon_moves import TENDONS


def gather_row(m: Arrays, r: int) -> int:
    """The rates that a row acts on in `involved`, its Jacobian there in `row_entries`; how many."""
    a, b, rate = m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B], m.row_wholes[r, ROW_RATE]
    if rate >= 0:
        m.involved[0], m.row_entries[0] = m.nodes[a, OWN_AT] + rate, m.rows[r, SIGN]
        return 1
    count = involve(m, a, b)
    for x in range(count):
        node = m.node_of_rate[m.involved[x]]
        at = m.row_wholes[r, ROW_JAC_A] if node == a else m.row_wholes[r, ROW_JAC_B]
        m.row_entries[x] = m.row_jacobian[at + m.involved[x] - m.nodes[node, OWN_AT]]
    return count


def is_beyond(m: Arrays, r: int) -> bool:
    """Whether a joint or tendon is beyond its limit, from where it returns slowly, however far."""
    place = m.tendon_length[m.row_wholes[r, ROW_Q]] if m.row_wholes[r, ROW_RATE] < 0 else m.q[m.row_wholes[r, ROW_Q]]
    return m.rows[r, SIGN] * (place - m.rows[r, BOUND]) <= 0.0


def value_slope(m: Arrays, r: int, h: float) -> float:
    """∂λ/∂y of a row, times dy/d(Jδ): of a servo, whose error falls as its length grows, −1."""
    law, value, u = m.row_wholes[r, LAW], m.rows[r, VALUE], m.rows[r, ROW_SPEED]
    if law == LIMIT_LAW:
        y, lively = value + h * u, 1.0 - m.rows[r, THIRD] * u
        if y < m.rows[r, FIRST] and lively > 0.0 and not is_beyond(m, r):
            return -h * m.rows[r, SECOND] * m.rows[r, FIRST] / (y * y) * lively
        return 0.0
    if law == SERVO_LAW:
        return -h * m.rows[r, FIRST] if m.rows[r, ROW_HESSIAN] > 0.0 else 0.0
    if law == EQUAL_LAW and abs(0.5 * value / h) < DRAWN:
        return -m.rows[r, FIRST] * 0.5 / (h * RIGID)
    return 0.0


def mass_slope(m: Arrays, r: int) -> float:
    """∂λ/∂mass of a row whose strength follows the inertia it meets: λ is in proportion to it."""
    law = m.row_wholes[r, LAW]
    if m.row_wholes[r, ROW_RATE] >= 0 or m.met_inertia[r] == 0.0:
        return 0.0
    if law == LIMIT_LAW or (law == DRY_LAW and m.rows[r, ROW_HESSIAN] > 0.0):
        return m.rows[r, ROW_IMPULSE] / m.met_inertia[r]
    return 0.0


def push_nodes(m: Arrays, r: int, change: float, column: int, to: int) -> None:
    """Wrenches on the nodes of a row with one gain its change: of rates (0), of places (1), or of what is given (2)."""
    a, b, total = m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B], m.tangent_counts[RATES_OF]
    for side in range(2):
        node = a if side == 0 else b
        sign = m.rows[r, SIGN] if b < 0 else 1.0 if side == 0 else -1.0
        if node >= 0 and sign != 0.0:
            for i in range(6):
                push = sign * change * m.row_wrench[r, i]
                if to == 0:
                    m.wrench_rates[(6 * node + i) * total + column] += push
                elif to == 1:
                    m.wrench_place[(6 * node + i) * total + column] += push
                else:
                    m.wrench_given[(6 * node + i) * m.tangent_counts[COLUMNS_OF] + column] += push


def row_sides(m: Arrays, r: int, h: float) -> None:
    """A row in N and `sides`."""
    total, columns, count = m.tangent_counts[RATES_OF], m.tangent_counts[COLUMNS_OF], gather_row(m, r)
    slope, opening, heavier = m.rows[r, ROW_HESSIAN], value_slope(m, r, h), mass_slope(m, r)
    whole = m.row_wholes[r, ROW_RATE] < 0
    for x in range(count):
        j, entry = m.involved[x], m.row_entries[x]
        change = opening * entry
        if whole:
            change += heavier * m.inertia_by[r * total + j] - slope * m.speed_by[r * total + j]
            push_nodes(m, r, -slope * entry, j, 0)
            push_nodes(m, r, change, j, 1)
        for y in range(count):
            m.system[m.involved[y] * total + j] += slope * m.row_entries[y] * entry
            m.sides[m.involved[y] * columns + j] += change * m.row_entries[y]


def add_row_input(m: Arrays, r: int, column: int, change: float) -> None:
    """`sides` gain J* of a change of the impulse."""
    columns, count = m.tangent_counts[COLUMNS_OF], gather_row(m, r)
    for x in range(count):
        m.sides[m.involved[x] * columns + column] += change * m.row_entries[x]
    if m.row_wholes[r, ROW_RATE] < 0:
        push_nodes(m, r, change, column, 2)


def drive_sides(m: Arrays, k: int, h: float) -> None:
    """Add the change that the command of an actuator makes; nothing where it, or a force, is at its bound."""
    kind, rate, r = m.drive_wholes[k, DRIVE_KIND], m.drive_wholes[k, DRIVE_RATE], m.drive_wholes[k, DRIVE_ROW]
    entry, total = m.drive_wholes[k, DRIVE_ENTRY], m.tangent_counts[RATES_OF]
    column, given, low, high = 2 * total + entry, m.command[entry], m.drives[k, DRIVE_LOW], m.drives[k, DRIVE_HIGH]
    gear = m.drives[k, DRIVE_GEAR] if given > m.drives[k, DRIVE_LEAST] and given < m.drives[k, DRIVE_MOST] else 0.0
    if kind == FORCE_DRIVE:
        value = m.drives[k, DRIVE_GEAR] * given + m.drives[k, DRIVE_OFFSET]
        if value > low and value < high:
            if rate >= 0:
                add_force(m, m.place_of_rate[rate], column, gear, h)
            else:
                add_row_input(m, r, column, h * gear)
        return
    acts = 1.0 if m.rows[r, ROW_HESSIAN] > 0.0 else 0.0
    if kind == POSITION_DRIVE or kind == IMPEDANCE_DRIVE:  # noqa: SIM109  # the language has no tuples
        add_row_input(m, r, column, acts * h * m.rows[r, FIRST] * gear)
    if kind == VELOCITY_DRIVE:
        add_row_input(m, r, column, acts * h * m.rows[r, SECOND] * gear)
    if kind == PRESCRIBED_DRIVE:
        add_row_input(m, r, column, acts * h * m.rows[r, SECOND] * m.numbers[LENGTH] * gear)
        add_row_input(m, r, total + m.place_of_rate[rate], acts * h * m.rows[r, SECOND])
    if kind == IMPEDANCE_DRIVE:
        add_row_input(m, r, column + 1, acts * h * m.rows[r, SECOND])
        push = m.command[entry + 2]
        if push > low and push < high:
            add_row_input(m, r, column + 2, acts * h)


def all_rows(m: Arrays, h: float) -> None:
    for r in range(m.counts[ROWS]):
        row_sides(m, r, h)
    total, columns = m.tangent_counts[RATES_OF], m.tangent_counts[COLUMNS_OF]
    if m.tendon_counts[TENDONS] > 0 or m.counts[LOOP_GROUPS] > 0:
        for i in range(total):
            for j in range(total):
                m.sides[i * columns + j] += m.turned_by[i * total + j]
    for k in range(m.batch[DRIVES]):
        drive_sides(m, k, h)


ROW_TANGENTS = (
    *(gather_row, is_beyond, value_slope, mass_slope, push_nodes, row_sides, add_row_input, drive_sides, all_rows),
)
