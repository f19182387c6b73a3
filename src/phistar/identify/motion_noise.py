"""Total least squares: noise of q, v and a in the regressor, whose mean square is taken off.

With Y = Ỹ − ΔY the normal equations of the noisy Ỹ have E[Ỹ*Ỹ] = Y*Y + E[ΔY*ΔY], which draws parameters towards zero;
E[ΔY*ΔY] is found by noise drawn once more on top of the log's own (compensated least squares, Söderström 2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.errors import ModelError, ShapeError
from phistar.identify.identifiable import BaseParameters
from phistar.identify.parameter_columns import Columns

MOST, DRAWS, SEED = 2000, 4, 20240301  # samples that the mean is taken over, and how often
LEFT = 1e-3  # of each direction's information: what is kept at least


def positive_deviations(noise: Any, count: int, what: str) -> np.ndarray:
    """Standard deviations of so many numbers, given as one number or one for each; else a sentence."""
    try:
        told = np.broadcast_to(np.asarray(noise, dtype=float), (count,))
    except (TypeError, ValueError):
        told = np.full(count, np.nan)
    if not ((told > 0.0) & np.isfinite(told)).all():
        raise ShapeError(f"noise must be positive, one number or {count}, one for each {what}; it is {noise!r:.60}.")
    return told


def without_motion_noise(
    grams: np.ndarray,
    columns: Columns,
    base: BaseParameters,
    log: tuple[np.ndarray, np.ndarray, np.ndarray],
    noise: Any,
) -> np.ndarray:
    """[Y | τ]*[Y | τ] of each joint's forces (nv, b + 1, b + 1) without what noise of q, v and a adds in the mean."""
    model = columns.model
    if not all(joint.kind.flat for joint in model.joints):
        raise ModelError(f"{model.name} turns on quaternions; noise of its motion is of plain joints.")
    try:
        sizes = [np.broadcast_to(np.asarray(x, dtype=float), (model.nv,)) for x in noise]
    except (TypeError, ValueError):
        sizes = []
    if len(sizes) != 3 or not all(((x >= 0.0) & np.isfinite(x)).all() for x in sizes):
        raise ShapeError("motion_noise is three deviations, of q, v and a: numbers or (nv,), none negative.")
    rng, count = np.random.default_rng(SEED), len(log[0])
    rows = np.unique(np.linspace(0, count - 1, min(count, MOST)).astype(int))
    here = [x[rows] for x in log]
    plain, added = columns.table(*here), np.zeros_like(grams)
    for _ in range(DRAWS):
        moved = [x + size * rng.normal(size=x.shape) for x, size in zip(here, sizes, strict=True)]
        off = np.swapaxes((columns.table(*moved) - plain)[..., base.columns], 0, 1)
        added[:, :-1, :-1] += np.matmul(np.swapaxes(off, -1, -2), off) * (count / len(rows) / DRAWS)
    return np.stack([_subtract_bounded(gram, extra) for gram, extra in zip(grams, added, strict=True)])


def _subtract_bounded(gram: np.ndarray, extra: np.ndarray) -> np.ndarray:
    """G − C, no direction of it below LEFT of what G has there."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    values, vectors = np.linalg.eigh(gram * scale[:, None] * scale)
    seen = values > 1e-12 * values[-1]
    root = vectors[:, seen] * np.sqrt(values[seen])
    inner = vectors[:, seen] / np.sqrt(values[seen])
    parts, turned = np.linalg.eigh(inner.T @ (extra * scale[:, None] * scale) @ inner)
    whole = root @ turned
    return (whole * np.maximum(1.0 - parts, LEFT)) @ whole.T / scale[:, None] / scale
