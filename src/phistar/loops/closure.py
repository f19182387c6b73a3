"""The closures of a model at a state: g(q) = 0 with ġ = (QJ + C)θ̇, generalizing Q = [I −I] of RJK91 eq. 22.

Q acts on the task motions β of the frames that loops join, stacked and in world axes (the algebra's symbol Q); C acts
on joint rates and holds the couplings. The drift is what is left of g̈ when neither β̇ nor θ̈ is there:
g̈ = Q β̇ + C θ̈ + drift. Rows are in loop order, angular first, in frame_a's axes. Everything takes leading batch axes,
and traced scalars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from phistar.loops.cut import Rows, cut_rows
from phistar.model import Cylindrical, Distance, Model, Planar, Prismatic
from phistar.model.parts import CoupledJoints, Loop
from phistar.spatial import cross, skew, times


class Closures(NamedTuple):
    """m equations over f frames: residual and drift (…, m), on_frames = Q (…, m, 6f), on_rates = C (…, m, nv),
    without leading axes where there are no couplings."""

    residual: np.ndarray
    on_frames: np.ndarray
    on_rates: np.ndarray
    drift: np.ndarray


def loop_frames(model: Model) -> tuple[str, ...]:
    """The moving frames that loops join, each once: those that Q acts on."""
    ends = [end for loop in model.loops if isinstance(loop, Loop) for end in (loop.frame_a, loop.frame_b)]
    return tuple(dict.fromkeys(end for end in ends if model.frame(end).body >= 0))


def loop_slices(model: Model) -> dict[str, slice]:
    """Slice of each loop's equations among the m."""
    ends = np.cumsum([0, *(loop.rows for loop in model.loops)])
    return {loop.name: slice(int(a), int(b)) for loop, a, b in zip(model.loops, ends, ends[1:])}


def row_count(model: Model) -> int:
    """m, the equations of all loops."""
    return sum(loop.rows for loop in model.loops)


def linear_rows(loop: Loop) -> int:
    """Number of a loop's equations that are lengths; they come last."""
    lengths = {Prismatic: 2, Cylindrical: 2, Planar: 1, Distance: 1}
    return min(lengths.get(type(loop.joint), 3), loop.rows)


def closures(
    model: Model,
    q: Any,
    poses: Mapping[str, np.ndarray],
    v: Any = None,
    motions: Mapping[str, np.ndarray] | None = None,
) -> Closures:
    """All closures at q (…, nq), where `poses` (…, 4, 4) and `motions` (…, 6) are those of `loop_frames`; at rest
    without v and motions."""
    frames, q = loop_frames(model), np.asarray(q)
    v = np.zeros(model.nv) if v is None else np.asarray(v)
    made = [Closures(np.zeros(0), np.zeros((0, 6 * len(frames))), np.zeros((0, model.nv)), np.zeros(0))]
    for loop in model.loops:
        if isinstance(loop, CoupledJoints):
            made.append(_coupling_closures(model, loop, q, v, 6 * len(frames)))
        else:
            made.append(_cut_joint_closures(model, loop, frames, poses, motions or {}))
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], *(x.residual.shape[:-1] for x in made))
    if not any(isinstance(loop, CoupledJoints) for loop in model.loops):  # nothing on joint rates: one zero for all
        batches = (batch, batch, (), batch)
    else:
        batches = (batch,) * 4
    residual, on_frames, on_rates, drift = (
        np.concatenate([np.broadcast_to(x, (*leading, *x.shape[x.ndim - core :])) for x in column], axis=-core)
        for column, core, leading in zip(zip(*made, strict=True), (1, 2, 2, 1), batches, strict=True)
    )
    return Closures(residual, on_frames, on_rates, drift)


def relative_rows(
    joint: Any, pose_a: np.ndarray, pose_b: np.ndarray, motion_a: np.ndarray, motion_b: np.ndarray
) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
    """One cut joint between two frames: its equations, Q_a and Q_b (…, r, 6), and the drift (…, r).

    With R_a, p_a, β_a = [ω_a; v_a] and the like: p = R_aᵀ(p_b − p_a), ω = R_aᵀ(ω_b − ω_a),
    ṗ = R_aᵀ(v_b − v_a) − ω_a × p, each rate again differentiated with β̇ = 0 for the drift.
    """
    back = np.swapaxes(pose_a[..., :3, :3], -1, -2)
    turn, shift = np.matmul(back, pose_b[..., :3, :3]), times(back, pose_b[..., :3, 3] - pose_a[..., :3, 3])
    own, across = times(back, motion_a[..., :3]), times(back, motion_b[..., 3:] - motion_a[..., 3:])
    omega = times(back, motion_b[..., :3] - motion_a[..., :3])
    rate = across - cross(own, shift)
    rows = cut_rows(joint, turn, shift, omega, rate)
    angular, linear = np.matmul(rows.by_turn, back), np.matmul(rows.by_shift, back)
    lever = np.matmul(np.matmul(rows.by_shift, skew(shift)), back)
    on_a = np.concatenate([lever - angular, -linear], axis=-1)
    on_b = np.concatenate([angular, linear], axis=-1)
    drift = rows.second - times(rows.by_turn, cross(own, omega)) - times(rows.by_shift, cross(own, across + rate))
    return rows, on_a, on_b, drift


def _cut_joint_closures(
    model: Model, loop: Loop, frames: tuple[str, ...], poses: Mapping[str, Any], motions: Mapping[str, Any]
) -> Closures:
    ends = loop.frame_a, loop.frame_b
    placed = [poses[end] if end in frames else model.frame(end).placement.matrix for end in ends]
    moving = [motions[end] if end in motions else np.zeros(6) for end in ends]
    rows, *own, drift = relative_rows(loop.joint, placed[0], placed[1], moving[0], moving[1])
    columns = [np.zeros((*rows.value.shape, 6)) for _ in frames]
    for end, block in zip(ends, own, strict=True):
        if end in frames:
            columns[frames.index(end)] = block
    on_frames = np.concatenate([np.zeros((*rows.value.shape, 0)), *columns], axis=-1)
    return Closures(rows.value, on_frames, np.zeros((loop.rows, model.nv)), drift)


def _coupling_closures(model: Model, loop: CoupledJoints, q: np.ndarray, v: np.ndarray, width: int) -> Closures:
    """q_a − polynomial(q_b), by Horner's rule with its two derivatives."""
    driven = model.joint(loop.joint_a)
    value, slope, bend = float(loop.joint.coefficients[-1]), 0.0, 0.0
    own = np.eye(model.nv)[driven.v_slice]
    residual = q[..., driven.q_slice]
    if loop.joint_b is None:
        return Closures(residual - value, np.zeros((1, width)), own, np.zeros(1))
    driver = model.joint(loop.joint_b)
    x, rate = q[..., driver.q_slice], v[..., driver.v_slice]
    for coefficient in loop.joint.coefficients[-2::-1]:
        bend, slope, value = bend * x + 2.0 * slope, slope * x + value, value * x + float(coefficient)
    slope = np.broadcast_to(np.asarray(slope), x.shape)
    on_rates = own - slope[..., None] * np.eye(model.nv)[driver.v_slice]
    return Closures(residual - value, np.zeros((1, width)), on_rates, -bend * rate * rate)
