"""Joint rates that keep loops closed: A = QJ + C and the projector on its null space."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.dynamics import frame_poses, jacobian
from phistar.loops.closure import closures, loop_frames
from phistar.model import Model

EMPTY = 1e-9  # of the largest singular value: below it, a combination of closures asks for nothing


def closure_jacobian(model: Model, q: Any) -> Array:
    """A = QJ + C with ġ = Aθ̇, rows in the order of `ps.loop_residual`.

    Parameters
    ----------
    model
        With m equations of loops.
    q
        (…, nq).

    Returns
    -------
    numpy.ndarray
        (…, m, nv).

    Examples
    --------
    >>> import numpy as np
    >>> import phistar as ps
    >>> arm = ps.load("planar2")
    >>> held = arm.with_loop("gear", "joint2", "joint1", ps.Coupling((0.0, 2.0)))
    >>> ps.loops.closure_jacobian(held, [0.1, 0.2])
    array([[-2.,  1.]])
    """
    tree, ends = model.tree, loop_frames(model)
    q = model.checked_q(q)
    found = closures(model, q, frame_poses(tree, q, ends))
    rows = np.broadcast_to(found.on_rates, (*q.shape[:-1], *found.on_rates.shape[-2:]))
    for i, frame in enumerate(ends):
        rows = rows + np.matmul(found.on_frames[..., 6 * i : 6 * i + 6], jacobian(tree, q, frame))
    return rows


def closed_rates(model: Model, q: Any) -> Array:
    """Projector onto the joint rates that keep every loop closed.

    I − A⁺A, with A the closures' Jacobian; rates put through it become the nearest that do.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    (…, nv, nv)

    Examples
    --------
    >>> arm = ps.load("planar2")
    >>> model = arm.with_loop("gear", "joint2", "joint1", ps.Coupling((0.0, 2.0)))
    >>> (ps.loops.closed_rates(model, [0, 0]) @ [5.0, 0.0]).round(9)
    array([1., 2.])
    """
    _, sizes, directions = np.linalg.svd(closure_jacobian(model, q), full_matrices=False)
    largest = np.max(sizes, axis=-1, keepdims=True, initial=0.0)
    kept = np.where(sizes[..., None] > EMPTY * largest[..., None], directions, 0.0)
    return np.eye(model.nv) - np.matmul(np.swapaxes(kept, -1, -2), kept)
