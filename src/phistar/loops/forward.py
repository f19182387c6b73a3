"""Forward dynamics of a mechanism with closures, RJK91 eqs. 21-26 for any tree, any cut joints and any redundancy.

    θ̈ = θ̈_f − ℳ⁻¹A*λ,   S λ = A θ̈_f + Ȧθ̇

For robots that are written out it is one kernel; long ones are loops over the links around a small kernel for the
closures. Of many closures, rows of a batch whose rank an elimination in their order cannot tell are done again by
eigenvectors; of a few, the kernel itself tells it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.kernel import compilable
from phistar.backends.recorded import Recorded
from phistar.backends.traces.arrays import is_traced
from phistar.compiled import CompiledFunction, compile
from phistar.dynamics import forward_dynamics, frame_poses
from phistar.loops.branches import branches, joined
from phistar.loops.closure import Closures, closures, loop_frames, row_count
from phistar.loops.effective import eliminated, solve_by_rank
from phistar.loops.equations import Equations, answered, equations, free_motion, response, row_scale
from phistar.model import Model
from phistar.model.parts import CoupledJoints
from phistar.stated import states

LARGEST_CLOSED = 1200  # links times vectors swept over them; 60,000 instructions


def _accelerated(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
    """θ̈ (nv,), the rank and the doubts about it: what is compiled."""
    made = equations(model, q, v, tau)
    found = eliminated(made.matrix, made.right, made.scale)
    return made.free - answered(model, q, made, found.forces), np.asarray(found.rank), np.asarray(found.doubt)


def is_written_out(model: Model) -> bool:
    """Whether one state's instructions, a sweep for the motion and one for each closure, are few enough to write out:
    a long mechanism with few closures runs several times faster so than link by link."""
    return compilable(model) or 0 < len(model.bodies) * (6 + row_count(model)) <= LARGEST_CLOSED


_compiled = Recorded(
    "forward_dynamics_with_loops",
    ("q", "v", "tau"),
    ("acceleration", "rank", "doubt"),
    _accelerated,
    lambda model: ((model.nv,), (), ()),
    is_written_out,
)


@states(lambda s: {**free_motion.nodes(s), "compliance": s.J @ s.mass.inv @ s.J.T}, matrix=True)
def compliant_motion(model: Model, q: Any, v: Any, tau: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """`free_motion`, and Jℳ⁻¹J* (…, 6f, 6f): the Ω blocks at the frames (eq. 26)."""
    return compliant_motion.evaluate_all(model, q, {"v": v, "T": tau}, frames)


class Closing(NamedTuple):
    """What closes the loops at their frames, Q*λ (…, 6f), and the doubts about the rank (…)."""

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
        solved = eliminated(matrix, found.on_frames @ falling + found.drift, row_scale(model, diagonal))
        return Closing(found.on_frames.T @ solved.forces, np.asarray(solved.doubt))

    rows = {"poses": 16 * f, "motion": 6 * f, "falling": 6 * f, "compliance": 36 * f * f}
    return model.kept("closing", lambda: compile(closing, model, rows=rows))


def _accelerated_long(model: Model, q: Any, v: Any, tau: Any) -> tuple[np.ndarray, ...]:
    """The same for mechanisms too long to write out: loops over the links, and the closures written out."""
    tree, frames = model.tree, loop_frames(model)
    if any(isinstance(loop, CoupledJoints) for loop in model.loops):
        return _accelerated(model, q, v, tau)
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
    return joined(tree, frames, parts)


class Motion(NamedTuple):
    """θ̈ (…, nv), λ (…, m), rank and condition (…) of the closures, and the closures themselves."""

    acceleration: np.ndarray
    forces: np.ndarray
    rank: np.ndarray
    condition: np.ndarray
    closures: Closures


def closed_motion(model: Model, q: Any, v: Any, tau: Any) -> Motion:
    """The motion with everything there is to say about it, by eigenvectors; floats (…, n)."""
    return solved_motion(model, q, equations(model, q, v, tau))


def solved_motion(model: Model, q: Any, made: Equations) -> Motion:
    """The motion that the equations at a state give."""
    found = solve_by_rank(made.matrix, made.right, made.scale)
    acceleration = made.free - answered(model, q, made, found.forces)
    return Motion(acceleration, -found.forces, found.rank, found.condition, made.closures)


def closed_forward_dynamics(model: Model, q: Any, v: Any, tau: Any) -> np.ndarray:
    """θ̈ that keeps every loop closed, (…, nv). Robots run one state at a time: a kernel is called at once."""
    kernel = model.__dict__.get("_kernels", {}).get(_compiled.name)
    if kernel is not None and getattr(q, "ndim", 0) == 1:
        try:
            acceleration, _, doubt = kernel.function(q, v, tau)
            if isinstance(doubt, float) and doubt == 0.0:
                return acceleration
        except (TypeError, ValueError):
            pass  # the long way says what is wrong with the arguments, or records them
    if is_traced(q, v, tau):
        return _accelerated(model, q, v, tau)[0]
    with np.errstate(invalid="ignore"):
        acceleration, _, doubt = (_compiled if is_written_out(model) else _accelerated_long)(model, q, v, tau)
    doubtful = doubt != 0.0
    if doubtful.any():
        q, v, tau = (np.broadcast_to(x, (*doubtful.shape, np.shape(x)[-1])) for x in (q, v, tau))
        again = closed_motion(model, q[doubtful], v[doubtful], tau[doubtful]).acceleration
        acceleration = np.array(acceleration)
        acceleration[doubtful] = again
    return acceleration
