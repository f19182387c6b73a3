"""Arrays per link: what block-diagonal operators and vectors over the links look like to a user."""

from __future__ import annotations

import numpy as np

from phistar.backends.links.link_sizes import has_wide_links, link_rows
from phistar.errors import ModelError
from phistar.model import Model


def require_joints(model: Model) -> None:
    if not model.nv:
        raise ModelError(f"{model.name} has no joint that moves, so there is nothing to measure or to estimate.")


def over_links(model: Model, stacked: np.ndarray, columns: bool) -> np.ndarray:
    """(…, Σw) as (…, n, w), or blocks, (…, Σw, c), as (…, n, w, c): w is 6, or the widest link's 6 + m where bodies
    bend; rows and columns that a link does not have are zero. Blocks of rigid robots come under one another, those of
    links of any width on a diagonal."""
    batch, rest = (stacked.shape[:-2], stacked.shape[-1:]) if columns else (stacked.shape[:-1], ())
    if not has_wide_links(model):
        return stacked.reshape(*batch, len(model.bodies), 6, *rest)
    rows = link_rows(model, "links")
    across = rows if rest == (sum(rows),) else link_rows(model, "joints")
    return _diagonal(stacked, rows, across) if columns else _pad(stacked, rows)


def over_joints(model: Model, stacked: np.ndarray) -> np.ndarray:
    """Blocks of joints under one another, (…, nv, r), or on a diagonal, as (…, n, r, r): r is the most dofs
    that a joint has, with its body's modes; the rows and columns that a joint does not have are zero."""
    width = stacked.shape[-1]
    if has_wide_links(model):
        rates = link_rows(model, "joints")
        return _diagonal(stacked, rates, rates)
    if all(joint.nv == width for joint in model.joints):
        return stacked.reshape(*stacked.shape[:-2], len(model.bodies), width, width)
    result = np.zeros((*stacked.shape[:-2], len(model.bodies), width, width), dtype=stacked.dtype)
    for k, joint in enumerate(model.joints):
        result[..., k, : joint.nv, :] = stacked[..., joint.v_slice, :]
    return result


def _pad(stacked: np.ndarray, rows: list[int]) -> np.ndarray:
    """(…, Σrows) as (…, n, most rows)."""
    result = np.zeros((*stacked.shape[:-1], len(rows), max(rows)), dtype=stacked.dtype)
    for k, part in enumerate(np.split(stacked, np.cumsum(rows)[:-1], axis=-1)):
        result[..., k, : rows[k]] = part
    return result


def _diagonal(whole: np.ndarray, rows: list[int], columns: list[int]) -> np.ndarray:
    """The blocks on the diagonal of (…, Σrows, Σcolumns), as (…, n, most rows, most columns)."""
    result = np.zeros((*whole.shape[:-2], len(rows), max(rows), max(columns)), dtype=whole.dtype)
    at = np.cumsum([0, *rows]), np.cumsum([0, *columns])
    for k, (r, c) in enumerate(zip(rows, columns, strict=True)):
        result[..., k, :r, :c] = whole[..., at[0][k] : at[0][k] + r, at[1][k] : at[1][k] + c]
    return result
