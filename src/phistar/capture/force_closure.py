"""Whether fingers hold a body whatever pulls at it: force closure as a linear program.

Contacts at points pᵢ push along inward normals nᵢ, and along their friction cones, whose edges are columns of W:

    s(d) = max s  with  W α + s d = 0,  Σ α ≤ 1,  α ≥ 0

is the load along d that the contacts resist for 1 N pushed in all. The margin is the least s over ±x, ±y, ±z of force
and of moment over a length: positive exactly where the wrenches surround the origin, that is, where the grasp has force
closure (Mishra, Schwartz and Sharir 1987; Trinkle 1992). All twelve programs are solved as one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_diag, csc_matrix, hstack

from phistar.errors import PhistarError, ShapeError
from phistar.spatial import cross

EDGES = 8  # of a friction cone
LEAST = 1e-6  # margin that is none
LENGTH = 0.1  # m that moments are divided by


class ForceClosure(NamedTuple):
    """`margin`: N (or N m over the length) that 1 N of pushing resists in the worst direction; `weakest` names that
    direction where there is no closure, and is None where there is."""

    margin: float
    weakest: str | None

    @property
    def is_closed(self) -> bool:
        return self.weakest is None


def contact_wrenches(points: Any, normals: Any, friction: float, length: float, center: Any = (0, 0, 0)) -> np.ndarray:
    """Edges of the friction cones as wrenches [moment/length; force] about a centre, (6, EDGES k), each with 1 N along
    its normal; without friction (6, k)."""
    points, normals = np.atleast_2d(np.asarray(points, float)), np.atleast_2d(np.asarray(normals, float))
    if points.shape != normals.shape or points.shape[-1:] != (3,) or not length > 0.0 or not friction >= 0.0:
        raise ShapeError(
            f"Contacts are points (k, 3) and normals (k, 3), with friction at least 0 and a length above 0; they are "
            f"{points.shape}, {normals.shape}, {friction!r}, {length!r}."
        )
    forces = normals[:, None, :]
    if friction > 0.0:
        across = cross(normals, np.eye(3)[np.argmin(np.abs(normals), axis=-1)])
        across = across / np.linalg.norm(across, axis=-1, keepdims=True)
        other, angles = cross(normals, across), 2.0 * np.pi * np.arange(EDGES) / EDGES
        sides = np.cos(angles)[:, None] * across[:, None] + np.sin(angles)[:, None] * other[:, None]
        forces = normals[:, None, :] + friction * sides  # (k, EDGES, 3)
    arms = np.broadcast_to((points - np.asarray(center, float))[:, None, :], forces.shape)
    return np.concatenate([cross(arms, forces) / length, forces], axis=-1).reshape(-1, 6).T


def force_closure(
    points: Any, normals: Any, friction: float, length: float = LENGTH, center: Any = (0.0, 0.0, 0.0)
) -> ForceClosure:
    """Whether contacts hold a body, and by how much.

    Parameters
    ----------
    points, normals : (k, 3)
        Where they touch, and which way they push: into the body.
    friction : float
        Coulomb's coefficient.
    length : float
        m that moments are divided by.
    center : (3,)
        The point moments are about, such as the mass centre.

    Examples
    --------
    Two fingers on either side hold a plate against all but turns about the line between them:

    >>> from phistar.capture import force_closure
    >>> force_closure([[-0.1, 0, 0], [0.1, 0, 0]], [[1, 0, 0], [-1, 0, 0]], friction=0.5).weakest
    'moment about x'
    """
    wrenches = contact_wrenches(points, normals, friction, length, center)
    loads = np.concatenate([np.eye(6), -np.eye(6)])
    margin = _least_resistance(wrenches, loads)
    if margin > LEAST:
        return ForceClosure(margin, None)
    single = [_least_resistance(wrenches, load[None]) for load in loads]
    axis = int(np.argmin(single)) % 6
    return ForceClosure(0.0, f"{'moment about' if axis < 3 else 'force along'} {'xyz'[axis % 3]}")


def _least_resistance(wrenches: np.ndarray, loads: np.ndarray) -> float:
    """max s that every load (d, 6), one at a time, can have."""
    count, directions = wrenches.shape[1], len(loads)
    balance = hstack([block_diag([csc_matrix(wrenches)] * directions), csc_matrix(loads.reshape(-1, 1))])
    budget = hstack([block_diag([np.ones((1, count))] * directions), csc_matrix((directions, 1))])
    cost = np.zeros(count * directions + 1)
    cost[-1] = -1.0
    made = linprog(
        cost, A_ub=budget, b_ub=np.ones(directions), A_eq=balance, b_eq=np.zeros(6 * directions), method="highs"
    )
    if made.status != 0:
        raise PhistarError(f"Force closure was not decided: {made.message}")
    return float(made.x[-1])
