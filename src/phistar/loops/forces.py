"""The forces that keep loops closed, and whether they are unique: the well-posedness of RJK91 §6."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.dynamics import Forces, forward_kinematics, with_load
from phistar.loops.closure import loop_slices, relative_rows, row_count
from phistar.loops.effective import solve_by_rank
from phistar.loops.equations import equations
from phistar.loops.forward import closed_motion
from phistar.model import Model
from phistar.model.parts import Loop
from phistar.spatial import times, transposed
from phistar.stated import batched


class LoopReport(NamedTuple):
    """At each configuration (…): `rank` of the closures' `rows` equations, the `freedom` nv − rank that is left, the
    `condition` of their effective inertia, and whether that is of full rank (`well_posed`: unique contact forces)."""

    rows: int
    rank: np.ndarray
    freedom: np.ndarray
    condition: np.ndarray
    well_posed: np.ndarray


def constraint_forces(model: Model, q: Any, v: Any, tau: Any, f_ext: Forces = None) -> dict[str, np.ndarray]:
    """{loop: (…, 6)}: what each cut joint exerts on its frame_a, in world axes at its origin, [moment; force].

    A coupling's is the force (…, 1) on its driven joint. Where closures are redundant, of the forces that give the
    motion the shortest are given.
    """
    if not model.loops:
        return {}
    return on_frames(model, q, closed_motion(model, q, v, with_load(model, q, tau, f_ext)).forces)


def on_frames(model: Model, q: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Forces along the closures' rows (…, m) as `constraint_forces` gives them."""
    result = {}
    for loop, where in zip(model.loops, loop_slices(model).values(), strict=True):
        forces = rows[..., where]
        if isinstance(loop, Loop):
            a, b = (forward_kinematics(model.tree, q, end) for end in (loop.frame_a, loop.frame_b))
            _, on_a, _, _ = relative_rows(loop.joint, a, b, np.zeros(6), np.zeros(6))
            forces = times(transposed(on_a), forces)
        result[loop.name] = forces
    return result


def loop_report(model: Model, q: Any) -> LoopReport:
    """Rank and condition of the closures at q (…, nq)."""
    q, rest = batched(model, q, np.zeros(model.nv))
    if not model.loops:
        none = np.zeros(q.shape[:-1], int)
        return LoopReport(0, none, none + model.nv, none + 1.0, none == 0)
    made = equations(model, q, rest, rest)
    found = solve_by_rank(made.matrix, made.right, made.scale)
    rows = row_count(model)
    return LoopReport(rows, found.rank, model.nv - found.rank, found.condition, found.rank == rows)
