"""Closures of a step, linearized: a kernel of every group of loops says how its Jacobian turns with the places."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.code.native import Arrays
from phistar.backends.one_state import Formula
from phistar.backends.traces.arrays import record
from phistar.backends.traces.differentiate import matrix, tangent_map, tangents, values_of
from phistar.constraints.columns import ROW_IMPULSE, ROW_NODE_A, ROW_NODE_B, SIGN
from phistar.plant.loop_rows import LoopRows
from phistar.plant.tangent_columns import (
    GROUP_CALL,
    GROUP_OUT,
    GROUP_RATE_COUNT,
    GROUP_RATES,
    GROUP_ROW_COUNT,
    GROUP_ROWS,
    GROUPS_OF,
    RATES_OF,
)
from phistar.plant.tree_columns import ask


def loop_formula(loops: LoopRows) -> Formula:
    """(q, λ, v) → ∂(J*λ)/∂δ (nv, nv), ∂(Jv)/∂δ (m, nv), ∂(Wλ)/∂δ (6m, nv), one after the other."""
    model, plain = loops.model, loops.at_state
    nq, nv, rows = model.nq, model.nv, len(loops.rows)

    def joint_forces(q: Any, forces: Any, v: Any) -> np.ndarray:
        found = plain.function(q)
        whole = np.asarray(found.jacobian).reshape(rows, nv)
        wrench = np.asarray(found.wrench).reshape(rows, 6) * np.asarray(forces)[:, None]
        pulled, moved = np.matmul(whole.T, np.asarray(forces)), np.matmul(whole, np.asarray(v))
        return np.concatenate([pulled, moved, wrench.reshape(-1)])

    def slopes(q: Any, forces: Any, v: Any) -> tuple[np.ndarray]:
        inner = record(joint_forces, (nq, rows, nv))
        inputs = [entry for array in (q, forces, v) for entry in np.asarray(array)]
        seeds = dict(enumerate(tangent_map(model.tree, np.asarray(q))))
        return (matrix(tangents(inner, values_of(inner, inputs), seeds), nv),)

    shapes = [(nv + rows + 6 * rows, nv)]
    return Formula("closures, differentiated", plain.key, [nq, rows, nv], shapes, slopes)


def loop_tangents(m: Arrays) -> None:
    """`turned_by` and `speed_by` of closures, and the change of their wrenches on trees that float."""
    total = m.tangent_counts[RATES_OF]
    for g in range(m.tangent_counts[GROUPS_OF]):
        rows, first, count = (
            m.group_wholes[g, GROUP_ROW_COUNT],
            m.group_wholes[g, GROUP_ROWS],
            m.group_wholes[g, GROUP_RATE_COUNT],
        )
        at, out = m.group_wholes[g, GROUP_RATES], m.group_wholes[g, GROUP_OUT]
        for i in range(rows):
            m.group_forces[first + i] = m.rows[m.group_row[first + i], ROW_IMPULSE]
        for i in range(count):
            m.group_speeds[at + i] = m.v[m.group_rate[at + i]]
        ask(m.group_wholes[g, GROUP_CALL], m.group_wholes[g, GROUP_CALL + 1])
        for j in range(count):
            k = m.group_rate[at + j]
            for i in range(count):
                m.turned_by[m.group_rate[at + i] * total + k] += m.group_made[out + i * count + j]
            for i in range(rows):
                r = m.group_row[first + i]
                m.speed_by[r * total + k] = m.group_made[out + (count + i) * count + j]
                for l in range(6):
                    turn = m.group_made[out + (count + rows + 6 * i + l) * count + j]
                    turn_nodes(m, r, turn, l, k)


def turn_nodes(m: Arrays, r: int, turn: float, l: int, k: int) -> None:
    """Entry l of the wrench that a closure gives to its nodes changes with the place of rate k."""
    a, b, total = m.row_wholes[r, ROW_NODE_A], m.row_wholes[r, ROW_NODE_B], m.tangent_counts[RATES_OF]
    sign = 1.0 if b >= 0 else m.rows[r, SIGN]
    if a >= 0:
        m.wrench_place[(6 * a + l) * total + k] += sign * turn
    if b >= 0:
        m.wrench_place[(6 * b + l) * total + k] -= turn


LOOP_TANGENTS = (turn_nodes, loop_tangents)
