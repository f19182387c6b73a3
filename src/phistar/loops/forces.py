"""The forces that keep loops closed, and whether they are unique: the well-posedness of RJK91 §6."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array, IntArray
from phistar.backends.choice import ALONG_TREE
from phistar.dynamics import Forces, forward_kinematics, with_load
from phistar.loops.closure import loop_slices, relative_rows, row_count
from phistar.loops.effective import rank_and_condition
from phistar.loops.equations import equations
from phistar.loops.forward import closed_motion, closing_choice
from phistar.loops.tree_closing import forces_along_tree
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.model.parts import Loop
from phistar.short_repr import short_repr
from phistar.spatial import times, transposed
from phistar.stated_arguments import broadcast_state


@short_repr
class LoopReport(NamedTuple):
    """At each configuration (…): `rank` of the closures' `rows` equations, the `freedom` nv − rank that is left, the
    `condition` of their effective inertia, and whether that is of full rank (`well_posed`: unique contact forces)."""

    rows: int
    rank: IntArray
    freedom: IntArray
    condition: Array
    well_posed: Array


def constraint_forces(model: Model, q: Any, v: Any, tau: Any, f_ext: Forces = None) -> dict[str, Array]:
    """Forces that keep each loop closed.

    RJK91 eq. 26 for any tree and any closures. Where closures are redundant, of the forces that give the motion the
    shortest are given.

    Parameters
    ----------
    model : Model
    q, v, tau : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and forces; the loops are taken as closed.
    f_ext : {frame: (…, 6)}, optional
        Forces on the robot, [moment; force] in world axes at the frame.

    Returns
    -------
    {loop: (…, 6)}
        What each cut joint exerts on its frame_a, [moment; force] [N m, N] in world axes at its origin; of a coupling,
        the force (…, 1) on its driven joint.

    Examples
    --------
    >>> model = ps.load("wd89_fig1")
    >>> q = ps.assemble(model, model.neutral())
    >>> {loop: f.shape for loop, f in ps.constraint_forces(model, q, 0 * q, 0 * q).items()}
    {'joint8': (6,), 'joint9': (6,)}
    """
    check_robot("constraint_forces", (model,))
    if not model.loops:
        return {}
    tau = with_load(model, q, tau, f_ext)
    if closing_choice(model).schedule == ALONG_TREE and (unique := forces_along_tree(model, q, v, tau)) is not None:
        return unique
    return on_frames(model, q, closed_motion(model, q, v, tau).forces)


def on_frames(model: Model, q: Any, rows: np.ndarray) -> dict[str, Array]:
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
    """Rank and condition of the closures: redundant loops and dead points.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    LoopReport

    Examples
    --------
    >>> arm = ps.load("planar2")
    >>> model = arm.with_loop("gear", "joint2", "joint1", ps.Coupling((0.0, 2.0)))
    >>> int(ps.loops.loop_report(model, [0, 0]).rank)
    1
    """
    q, rest = broadcast_state(model, q, np.zeros(model.nv))
    if not model.loops:
        none = np.zeros(q.shape[:-1], int)
        return LoopReport(0, none, none + model.nv, none + 1.0, none == 0)
    made = equations(model, q, rest, rest)
    rank, condition = rank_and_condition(made.matrix, made.scale)
    rows = row_count(model)
    return LoopReport(rows, rank, model.nv - rank, condition, rank == rows)
