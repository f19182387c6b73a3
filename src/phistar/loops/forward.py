"""Forward dynamics of a mechanism with closures, RJK91 eqs. 21-26 for any tree, any cut joints and any redundancy.

    θ̈ = θ̈_f − ℳ⁻¹A*λ,   S λ = A θ̈_f + Ȧθ̇

Short mechanisms are one kernel. Of longer ones with few frames the motion and the compliance at these are found link by
link, and the closures in a small kernel; where there are many loops, each is closed at the link where its ways meet
(`tree_closing.py`). The counted cost chooses (`closing_choice`). Rows of a batch whose rank an elimination cannot tell
are done again by eigenvectors.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.choice import (
    ALONG_TREE,
    AT_FRAMES,
    ROW_BY_ROW,
    WRITTEN,
    Choice,
    choose_closing,
    may_be_written,
)
from phistar.backends.executor import fewest_operations
from phistar.backends.kernel import Statements
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.recorded import Recorded
from phistar.backends.traces.calls import tape_of_calls
from phistar.backends.traces.trace import is_traced
from phistar.compiled import CompiledFunction, compile
from phistar.dynamics import forward_dynamics, frame_poses
from phistar.loops.branches import branches, join_branches
from phistar.loops.closing_program import MOTION
from phistar.loops.closure import Closures, closures, loop_frames, row_count
from phistar.loops.effective import eliminate, solve_by_rank
from phistar.loops.equations import Equations, equations, free_motion, response, response_from_innovations, row_scale
from phistar.loops.tree_closing import closing_kernel, count_along_tree, fits_along_tree
from phistar.model import Model
from phistar.model.parts import CoupledJoints
from phistar.stated import states


def _acceleration(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
    """θ̈ (nv,), the rank and the doubts about it: what is compiled."""
    made = equations(model, q, v, tau)
    found = eliminate(made.matrix, made.right, made.scale)
    return (
        made.free - response_from_innovations(model, q, made, found.forces),
        np.asarray(found.rank),
        np.asarray(found.doubt),
    )


_compiled = Recorded(
    "forward_dynamics_with_loops",
    ("q", "v", "tau"),
    ("acceleration", "rank", "doubt"),
    _acceleration,
    lambda model: ((model.nv,), (), ()),
    lambda model: closing_choice(model).schedule == WRITTEN,
    lambda model: closing_kernel(model, MOTION),
)


def closing_choice(model: Model) -> Choice:
    """The schedule of a mechanism with loops, with what it was compared with."""
    ways = {
        ALONG_TREE: partial(_along_tree_count, model),
        WRITTEN: partial(_written_count, model),
        AT_FRAMES: partial(_at_frames_count, model),
        ROW_BY_ROW: lambda _: _row_by_row_count(model),
    }
    return model.kept("closing_choice", lambda: choose_closing(model, ways))


def _along_tree_count(model: Model, most: int) -> tuple[int, int] | None:
    """Operations of one state, and of these the ones in straight-line code; None beyond `most`."""
    return count_along_tree(model, most) if fits_along_tree(model) else None


def _written_count(model: Model, most: int) -> tuple[int, int] | None:
    if not may_be_written(model, 6 + row_count(model)):
        return None
    count = _compiled.operations_within(model, most)
    return None if count is None else (count, count)


def _at_frames_count(model: Model, most: int) -> tuple[int, int] | None:
    rows, frames = row_count(model), loop_frames(model)
    closing = 72 * len(frames) ** 2 * rows + rows**3
    coupled = any(isinstance(loop, CoupledJoints) for loop in model.loops)
    if not frames or coupled or has_wide_links(model) or closing > most:
        return None
    return sum(map(fewest_operations, _free_statements(model.tree, frames))) + closing, closing


def _row_by_row_count(model: Model) -> tuple[int, int]:
    rows, links = row_count(model), len(model.bodies)
    return 60 * links * (6 + rows) + links * rows**2 + rows**3, 0


@states(lambda s: {**free_motion.nodes(s), "compliance": s.J @ s.mass.inv @ s.J.T}, matrix=True)
def compliant_motion(model: Model, q: Any, v: Any, tau: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """`free_motion`, and Jℳ⁻¹J* (…, 6f, 6f): the Ω blocks at the frames (eq. 26)."""
    return compliant_motion.evaluate_all(model, q, {"v": v, "T": tau}, frames)


def _free_statements(tree: Model, frames: tuple[str, ...]) -> list[Statements]:
    """The statements of `_branched_motion`: branch by branch where frames stand on several, else the whole tree."""
    apart = branches(tree, frames)
    if sum(bool(branch.frames) for branch in apart) < 2:
        return [compliant_motion.statements_for(tree, frames)[0]]
    return [(compliant_motion if x.frames else forward_dynamics).statements_for(x.model, x.frames)[0] for x in apart]


class Closing(NamedTuple):
    """Closing forces at the loops' frames, Q*λ (…, 6f), and the doubts about the rank (…)."""

    force: np.ndarray
    doubt: np.ndarray


def _closing(model: Model) -> CompiledFunction:
    """Q*λ from the frames' poses, motions, free accelerations and compliance: the O(m³) part, kept on the model."""
    frames = loop_frames(model)
    f = len(frames)

    def closing(poses: Any, motion: Any, falling: Any, compliance: Any) -> Closing:
        placed = dict(zip(frames, poses.reshape(f, 4, 4), strict=True))
        found = closures(model, np.zeros(model.nq), placed, None, dict(zip(frames, motion.reshape(f, 6), strict=True)))
        table = compliance.reshape(6 * f, 6 * f)
        matrix = found.on_frames @ table @ found.on_frames.T
        diagonal = np.stack([matrix[i, i] for i in range(len(matrix))])
        solved = eliminate(matrix, found.on_frames @ falling + found.drift, row_scale(model, diagonal))
        return Closing(found.on_frames.T @ solved.forces, np.asarray(solved.doubt))

    rows = {"poses": 16 * f, "motion": 6 * f, "falling": 6 * f, "compliance": 36 * f * f}
    return model.kept("closing", lambda: compile(closing, model, rows=rows))


def acceleration_at_frames(model: Model, q: Any, v: Any, tau: Any) -> tuple[np.ndarray, ...]:
    """The same for long mechanisms with few frames: loops over the links, and the closures written out."""
    tree, frames = model.tree, loop_frames(model)
    made, poses = _branched_motion(tree, q, v, tau, frames), frame_poses(tree, q, frames)
    stacked = np.stack(list(poses.values()), axis=-3)
    compliance = made["compliance"].reshape(*made["compliance"].shape[:-2], -1)
    placed = stacked.reshape(*stacked.shape[:-3], -1)
    force, doubt = _closing(model)(placed, made["motion"], made["at_frames"], compliance)
    pull = response(tree, q, np.zeros(model.nv), force, frames)
    return made["acceleration"] - pull, np.zeros(doubt.shape), doubt


def _branched_motion(tree: Model, q: Any, v: Any, tau: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """`free_motion` with the compliance Jℳ⁻¹J* (…, 6f, 6f) of eq. 26, each branch on the world by itself."""
    apart = branches(tree, frames)
    if sum(bool(branch.frames) for branch in apart) < 2:
        return compliant_motion(tree, q, v, tau, frames)
    q, v, tau = (
        tree.checked(x, n, name) for x, n, name in ((q, tree.nq, "q"), (v, tree.nv, "v"), (tau, tree.nv, "tau"))
    )
    parts = []
    for branch in apart:
        own = q[..., branch.q_index], v[..., branch.v_index], tau[..., branch.v_index]
        if branch.frames:
            parts.append((branch, compliant_motion(branch.model, *own, branch.frames)))
        else:
            parts.append((branch, {"acceleration": forward_dynamics(branch.model, *own)}))
    return join_branches(tree, frames, parts)


_WAYS = {
    WRITTEN: _compiled,
    AT_FRAMES: acceleration_at_frames,
    ALONG_TREE: _compiled,
    ROW_BY_ROW: _acceleration,
}


class Motion(NamedTuple):
    """θ̈ (…, nv), λ (…, m), rank and condition (…) of the closures, and the closures themselves."""

    acceleration: np.ndarray
    forces: np.ndarray
    rank: np.ndarray
    condition: np.ndarray
    closures: Closures


def closed_motion(model: Model, q: Any, v: Any, tau: Any) -> Motion:
    """Motion with its multipliers, rank and condition, by eigenvectors; floats (…, n)."""
    return solved_motion(model, q, equations(model, q, v, tau))


def solved_motion(model: Model, q: Any, made: Equations) -> Motion:
    """The motion that the equations at a state give."""
    found = solve_by_rank(made.matrix, made.right, made.scale)
    acceleration = made.free - response_from_innovations(model, q, made, found.forces)
    return Motion(acceleration, -found.forces, found.rank, found.condition, made.closures)


def closed_forward_dynamics(model: Model, q: Any, v: Any, tau: Any) -> np.ndarray:
    """θ̈ that keeps every loop closed, (…, nv). Robots run one state at a time: a kernel is called at once."""
    kernel = model.__dict__.get("_kernels", {}).get(_compiled.name)
    if kernel is not None and (made := kernel.single(q, v, tau)) is not NotImplemented and not np.any(made[2]):
        return made[0]
    if is_traced(q, v, tau):
        tape = tape_of_calls(q, v, tau)
        if tape is None or (choice := closing_choice(model)).schedule == WRITTEN:
            return _acceleration(model, q, v, tau)[0]
        count = next(x.operations for x in choice.candidates if x.schedule == choice.schedule)
        return tape.call(partial(closed_forward_dynamics, model), (q, v, tau), [(model.nv,)], count)[0]
    with np.errstate(invalid="ignore"):
        acceleration, _, doubt = _WAYS[closing_choice(model).schedule](model, q, v, tau)
    doubtful = doubt != 0.0
    if doubtful.any():
        q, v, tau = (np.broadcast_to(x, (*doubtful.shape, np.shape(x)[-1])) for x in (q, v, tau))
        again = closed_motion(model, q[doubtful], v[doubtful], tau[doubtful]).acceleration
        acceleration = np.array(acceleration)
        acceleration[doubtful] = again
    return acceleration
