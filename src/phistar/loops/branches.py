"""Arms that stand apart on the ground: their free motions and compliances do not know of each other.

For frames on several branches of one tree the compliance Jℳ⁻¹J* needs a column per row of every frame; for one frame on
an arm of its own it is B*ΩB, six by six at each link (KJR92 eq. 57). So a long mechanism is taken branch by branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.model import Model
from phistar.model.submodel import submodel


@dataclass(frozen=True, eq=False)
class Branch:
    """The bodies that hang on one of those on the world, as a model; where its q and v stand in the whole's."""

    model: Model
    q_index: np.ndarray
    v_index: np.ndarray
    frames: tuple[str, ...]


def branches(model: Model, frames: tuple[str, ...]) -> tuple[Branch, ...]:
    """The branches of a tree on the world, kept on the model."""
    return model.kept(("branches", frames), lambda: _branches(model, frames))


def _branches(model: Model, frames: tuple[str, ...]) -> tuple[Branch, ...]:
    roots: list[int] = []
    for index, parent in enumerate(model.parents):
        roots.append(index if parent < 0 else roots[parent])
    return tuple(_branch(model, frames, np.flatnonzero(np.array(roots) == root)) for root in dict.fromkeys(roots))


def _branch(model: Model, frames: tuple[str, ...], chosen: np.ndarray) -> Branch:
    own, first = set(chosen.tolist()), model.bodies[chosen[0]].name
    joints = [model.joints[index] for index in chosen]
    q, v = np.arange(model.nq), np.arange(model.nv)
    return Branch(
        submodel(model, own, f"{model.name}: {first}"),
        np.concatenate([q[joint.q_slice] for joint in joints]),
        np.concatenate([v[joint.v_slice] for joint in joints]),
        tuple(frame for frame in frames if model.frame(frame).body in own),
    )


def join_branches(
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
