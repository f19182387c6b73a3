"""Poses of frames on long mechanisms from their motions, so that the same loop over the links computes both.

A spherical joint at the world's origin carries the mechanism, and one more stands at each frame. Turning the first and
the latter about their x axes at unit rates, the frame moves with ω = x̂ + R x̂ and ẋ = x̂ × p; about y alike. Two motions
give R and p.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.arrays import is_traced
from phistar.backends.kernel import compilable
from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.model import Model, ModelBuilder, Spherical
from phistar.spatial import Inertia, cross

UNIT = Inertia(1.0, (0.0, 0.0, 0.0), np.eye(3))  # motions know no inertia, but a model must have some


def frame_poses(model: Model, q: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The pose of each frame, (…, 4, 4); of traced numbers, (4, 4)."""
    if compilable(model) or not frames or is_traced(q):
        return {frame: forward_kinematics(model, q, frame) for frame in frames}
    probed, names = _probed(model, frames)
    q = model.checked(q, model.nq, "q")
    still = [np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*q.shape[:-1], 4))]
    whole = np.concatenate([*still, q, *(still * len(frames))], axis=-1)
    rates = np.zeros((2, probed.nv))
    for turn in range(2):
        rates[turn, [turn, *range(3 + model.nv + turn, probed.nv, 3)]] = 1.0
    found = frame_velocity(probed, whole[..., None, :], rates, names)
    return {frame: _pose(found[..., 6 * i : 6 * i + 6]) for i, frame in enumerate(frames)}


def _pose(motion: np.ndarray) -> np.ndarray:
    """(…, 4, 4) from the motions (…, 2, 6) of turning about x and about y."""
    x, y = motion[..., 0, :3] - [1.0, 0.0, 0.0], motion[..., 1, :3] - [0.0, 1.0, 0.0]
    along, across = motion[..., 0, 3:], motion[..., 1, 3:]  # (0, −p_z, p_y) and (p_z, 0, −p_x)
    result = np.zeros((*motion.shape[:-2], 4, 4))
    result[..., :3, 0], result[..., :3, 1], result[..., :3, 2] = x, y, cross(x, y)
    result[..., 0, 3], result[..., 1, 3], result[..., 2, 3] = -across[..., 2], along[..., 2], across[..., 0]
    result[..., 3, 3] = 1.0
    return result


def _probed(model: Model, frames: tuple[str, ...]) -> tuple[Model, tuple[str, ...]]:
    """The mechanism on its first probe, one more at each frame, and the names of these; kept on the model."""
    store = model.__dict__.setdefault("_kernels", {})
    key = ("probed", frames)
    if key not in store:
        builder = ModelBuilder(model.name, model.gravity)
        builder.body("probe", joint=Spherical(), inertia=UNIT)
        builder.attach(model.tree, "probe", prefix="probed ")
        names = tuple(f"probe {i}" for i in range(len(frames)))
        for name, frame in zip(names, frames, strict=True):
            builder.body(name, f"probed {frame}", Spherical(), inertia=UNIT)
        store[key] = builder.build(strict=False), names
    return store[key]
