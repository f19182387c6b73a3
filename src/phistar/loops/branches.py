"""Arms that stand apart on the ground: their free motions and compliances do not know of each other.

For frames on several branches of one tree the compliance Jℳ⁻¹J* needs a column per row of every frame; for one frame on
an arm of its own it is B*ΩB, six by six at each link (KJR92 eq. 57). So a long mechanism is taken branch by branch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.model import Model
from phistar.model.parts import Body


@dataclass(frozen=True, eq=False)
class Branch:
    """The bodies that hang on one of those on the world, as a model; where its q and v stand in the whole's."""

    model: Model
    q_index: np.ndarray
    v_index: np.ndarray
    frames: tuple[str, ...]


def branches(model: Model, frames: tuple[str, ...]) -> tuple[Branch, ...]:
    """The branches of a tree on the world, kept on the model."""
    store = model.__dict__.setdefault("_kernels", {})
    key = ("branches", frames)
    if key not in store:
        roots: list[int] = []
        for index, parent in enumerate(model.parents):
            roots.append(index if parent < 0 else roots[parent])
        store[key] = tuple(_branch(model, frames, np.array(roots) == root) for root in dict.fromkeys(roots))
    return store[key]


def _branch(model: Model, frames: tuple[str, ...], own: np.ndarray) -> Branch:
    chosen = np.flatnonzero(own)
    number = {int(index): k for k, index in enumerate(chosen)} | {-1: -1}
    bodies, q_start, v_start = [], 0, 0
    for index in chosen:
        body: Body = model.bodies[index]
        q_slice, v_slice = slice(q_start, q_start + body.joint.nq), slice(v_start, v_start + body.joint.nv)
        joint = replace(body.joint, body=len(bodies), q_slice=q_slice, v_slice=v_slice)
        bodies.append(replace(body, parent=number[body.parent], joint=joint))
        q_start, v_start = q_slice.stop, v_slice.stop
    placed = [replace(frame, body=number[frame.body]) for frame in model.frame_list if frame.body in number]
    joints = [model.joints[index] for index in chosen]
    q, v = np.arange(model.nq), np.arange(model.nv)
    return Branch(
        Model(f"{model.name}: {bodies[0].name}", tuple(bodies), tuple(placed), (), model.gravity),
        np.concatenate([q[joint.q_slice] for joint in joints]),
        np.concatenate([v[joint.v_slice] for joint in joints]),
        tuple(frame for frame in frames if model.frame(frame).body in number and model.frame(frame).body >= 0),
    )


def joined(
    model: Model, frames: tuple[str, ...], parts: list[tuple[Branch, dict[str, np.ndarray]]]
) -> dict[str, np.ndarray]:
    """The free motion of the whole from those of its branches: accelerations (…, nv), vectors at frames (…, 6f), and
    the compliance (…, 6f, 6f) with nothing between branches."""
    batch = np.broadcast_shapes(*(made["acceleration"].shape[:-1] for _, made in parts))
    size = 6 * len(frames)
    whole: dict[str, Any] = {name: np.zeros((*batch, size)) for name in ("at_frames", "motion")}
    whole |= {"acceleration": np.empty((*batch, model.nv)), "compliance": np.zeros((*batch, size, size))}
    for branch, made in parts:
        whole["acceleration"][..., branch.v_index] = made["acceleration"]
        rows = np.concatenate([6 * frames.index(frame) + np.arange(6) for frame in branch.frames] or [np.zeros(0, int)])
        for name in ("at_frames", "motion"):
            if len(rows):
                whole[name][..., rows] = made[name]
        if len(rows):
            whole["compliance"][..., rows[:, None], rows] = made["compliance"]
    return whole
