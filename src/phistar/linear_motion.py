"""The linear motion of a small deviation: the tables of its accelerations beside what its place and rates give."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.model import Model
from phistar.spatial import skew, times


def side_by_side(model: Model, q: Any, v: Any, tables: Any) -> tuple[np.ndarray, np.ndarray]:
    """A = [[−v~, 1], [∂a/∂θ, ∂a/∂θ̇]] and B = [[0], [∂a/∂τ]]."""
    by_q, by_v, by_tau = tables
    upper = np.concatenate([np.broadcast_to(x, by_q.shape) for x in (drift(model, q, v), np.eye(model.nv))], axis=-1)
    A = np.concatenate([upper, np.concatenate([by_q, by_v], axis=-1)], axis=-2)
    return A, np.concatenate([np.zeros(by_tau.shape), by_tau], axis=-2)


def fill_upper_halves(model: Model, q: Any, v: Any, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same where the lower halves are there already, below zeros."""
    nv, rates = model.nv, np.arange(model.nv)
    A[..., rates, nv + rates] = 1.0
    if not all(joint.kind.flat for joint in model.joints):
        A[..., :nv, :nv] = drift(model, q, v)
    return A, B


def drift(model: Model, q: Any, v: Any) -> np.ndarray:
    """−v~ on quaternion joints, (…, nv, nv); from g exp(δ) with ġ = g v: δ̇ = δv − v~δ. In independent rates, where the
    tree's deviation is Xδ, S* of that."""
    v = np.asarray(v)
    if model.embedding is not None:
        own = model.embedding
        if all(joint.kind.flat for joint in model.joints):
            return np.zeros((*v.shape[:-1], model.nv, model.nv))
        across = own.rate_map(q)
        inner = np.matmul(drift(model.tree, q, times(across, v)), across)
        return np.swapaxes(own.independent_rates(np.swapaxes(inner, -1, -2)), -1, -2)
    result = np.full((*v.shape[:-1], model.nv, model.nv), 0.0, dtype=object if v.dtype == object else float)
    for joint in model.joints:
        if not joint.kind.flat:
            start, spin = joint.v_slice.start, -skew(v[..., joint.v_slice][..., :3])
            for i in range(0, joint.nv, 3):
                result[..., start + i : start + i + 3, start + i : start + i + 3] = spin
            if joint.nv == 6:
                slide = -skew(v[..., joint.v_slice][..., 3:])
                result[..., start + 3 : start + 6, start : start + 3] = slide
    return result
