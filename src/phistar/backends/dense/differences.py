"""Rates of operators as differences of their matrices, and the letters that rates are made of from the definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from phistar.backends.dense.dense_derivatives import LINEARIZED, POINTS, STEP, elsewhere
from phistar.operators.nodes import Node
from phistar.spatial import skew

if TYPE_CHECKING:
    from phistar.backends.dense.definitions import Dense


def _rate(dense: Dense, node: Node, along: Node, of_rates: Node | None = None) -> np.ndarray:
    """Difference of the matrices at q ⊕ εw, seven points; θ̇ moves with its rate if given."""
    model, w = dense.model, np.reshape(dense(along), -1)
    step = STEP / max(1.0, float(np.abs(w).max(initial=0.0)))
    total = np.zeros((dense.size(node.codomain), dense.size(node.domain)))
    for steps, weight in POINTS:
        for sign in (1, -1):
            e = sign * steps * step
            moved = {} if of_rates is None else {"v": np.reshape(dense.vectors["v"], -1) + e * dense(of_rates)[:, 0]}
            total = total + sign * weight * elsewhere(dense, node, model.integrate(dense.links.q, e * w), moved)
    return total / (60 * step)


def _axes_rate(dense: Dense, along: Node) -> np.ndarray:
    """∂_wH*, (6n, nv)."""
    w, result = dense(along)[:, 0], np.zeros((6 * dense.n, dense.model.nv))
    for k, joint in enumerate(dense.model.joints):
        turned = dense.links.subspace_rate(k, w[joint.v_slice])
        if turned is not None:
            result[6 * k : 6 * k + 6, joint.v_slice] = turned
    return result


def _frame_turn(dense: Dense, motion: Node) -> np.ndarray:
    rows = dense(motion).reshape(-1, 6)
    result = np.zeros((6 * len(rows), 6 * len(rows)))
    for f, row in enumerate(rows):
        for at in (6 * f, 6 * f + 3):
            result[at : at + 3, at : at + 3] = skew(row[:3])
    return result


def _axial(dense: Dense, node: Node) -> np.ndarray:
    """f with f*m = tr(X m~), from six unit motions m."""
    matrix, rows = dense(node), []
    for k in range(dense.n):
        block = matrix[6 * k : 6 * k + 6, 6 * k : 6 * k + 6]
        for m in np.eye(6):
            turn = np.block([[skew(m[:3]), np.zeros((3, 3))], [skew(m[3:]), skew(m[:3])]])
            rows.append(float(np.trace(block @ turn)))
    return np.array(rows)[:, None]


def _frame_sweep(dense: Dense, vector: Node) -> np.ndarray:
    rows = dense(vector).reshape(-1, 6)
    result = np.zeros((6 * len(rows), 6 * len(rows)))
    for f, row in enumerate(rows):
        for i in (0, 3):
            result[6 * f + i : 6 * f + i + 3, 6 * f : 6 * f + 3] = skew(row[i : i + 3])
    return result


def _axes_axial(dense: Dense, node: Node) -> np.ndarray:
    """t with t*w = tr(X ∂_wH*), from unit rates w."""
    matrix, rows = dense(node), []
    for k, joint in enumerate(dense.model.joints):
        block = matrix[joint.v_slice, 6 * k : 6 * k + 6]
        for e in np.eye(joint.nv):
            turned = dense.links.subspace_rate(k, e)
            rows.append(0.0 if turned is None else float(np.trace(block @ turned)))
    return np.array(rows)[:, None]


def _log_det_gradient(dense: Dense, node: Node, diagonal: Node) -> np.ndarray:
    """Differences of log det X by each rate."""
    model, rows = dense.model, []
    for e in np.eye(model.nv):
        total = 0.0
        for steps, weight in POINTS:
            for sign in (1, -1):
                moved = elsewhere(dense, node, model.integrate(dense.links.q, sign * steps * STEP * e), {})
                total += sign * weight * float(np.linalg.slogdet(moved)[1])
        rows.append(total / (60 * STEP))
    return np.array(rows)[:, None]


RATES: dict[str, Callable[..., np.ndarray]] = {
    "rate": _rate,
    "H_rate": _axes_rate,
    "frame_turn": _frame_turn,
    "frame_sweep": _frame_sweep,
    "axial": _axial,
    "axes_axial": _axes_axial,
    "gradient": lambda dense, node: LINEARIZED["partial_q"](dense, node).T,
    "log_det_gradient": _log_det_gradient,
}
"""Matrix of each symbol, computed from a `Dense`."""
