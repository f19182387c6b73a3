"""Arrays per link: what block-diagonal operators and vectors over the links look like to a user."""

from __future__ import annotations

import numpy as np

from phistar.errors import ModelError
from phistar.model import Model


def require_joints(model: Model) -> None:
    if not model.nv:
        raise ModelError(f"{model.name} has no joint that moves, so there is nothing to measure or to estimate.")


def over_links(model: Model, stacked: np.ndarray, columns: bool) -> np.ndarray:
    """(…, 6n) as (…, n, 6), or blocks under one another, (…, 6n, c), as (…, n, 6, c)."""
    batch, rest = (stacked.shape[:-2], stacked.shape[-1:]) if columns else (stacked.shape[:-1], ())
    return stacked.reshape(*batch, len(model.bodies), 6, *rest)


def over_joints(model: Model, stacked: np.ndarray) -> np.ndarray:
    """Blocks of joints under one another, (…, nv, r), as (…, n, r, r): r is the most dofs a joint has; the rows and
    columns that a joint does not have are zero."""
    width = stacked.shape[-1]
    if all(joint.nv == width for joint in model.joints):
        return stacked.reshape(*stacked.shape[:-2], len(model.bodies), width, width)
    result = np.zeros((*stacked.shape[:-2], len(model.bodies), width, width), dtype=stacked.dtype)
    for k, joint in enumerate(model.joints):
        result[..., k, : joint.nv, :] = stacked[..., joint.v_slice, :]
    return result
