"""Accelerations of a robot that floats, and of one that flies with thrusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.dynamics import Forces
from phistar.dynamics import forward_dynamics as stated_forward_dynamics
from phistar.errors import ShapeError
from phistar.freeflying.free_base import joint_count
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.spatial import cross
from phistar.spatial.vectors import leading_axes


def forward_dynamics(model: Model, q: Any, v: Any, tau: Any, thrust: Any = None, f_ext: Forces = None) -> Array:
    """Accelerations of base and joints under joint forces, and thrust if there is any.

    ℳ⁻¹([thrust; T] − 𝒞 − 𝒢 + J*f): free-floating without `thrust`, free-flying with it.

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.
    v : (…, nv)
        Rates, the base's [ω; v] in its own frame first.
    tau : (…, n)
        Forces of the joints, without the base's six.
    thrust : (…, 6), optional
        [moment; force] on the base, in its axes.
    f_ext : dict, optional
        External forces {frame: (…, 6)} as in `ps.forward_dynamics`.

    Returns
    -------
    (…, nv)
        Accelerations, the base's first.

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> ps.freeflying.forward_dynamics(robot, q, np.zeros(robot.nv), np.zeros(8)).shape
    (14,)
    """
    check_robot("forward_dynamics", (model,))
    tau = model.checked(tau, joint_count(model), "tau (the joints' entries only)")
    pushed = np.zeros(6) if thrust is None else model.checked(thrust, 6, "thrust")
    batch = leading_axes({"tau": tau, "thrust": pushed})
    parts = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (pushed, tau)]
    return stated_forward_dynamics(model, q, v, np.concatenate(parts, axis=-1), f_ext)


def thrusters(positions: Any, directions: Any) -> Array:
    """Wrench on the base per unit force of each thruster.

    Columns [p × d; d]; times the thrusters' forces it is the thrust that `freeflying.forward_dynamics` takes.

    Parameters
    ----------
    positions : (m, 3)
        Where the m thrusters sit, in the base's frame [m].
    directions : (m, 3)
        Along which they push the base; of any length but zero.

    Returns
    -------
    (6, m)

    Examples
    --------
    >>> ps.freeflying.thrusters([[0, 1, 0]], [[1, 0, 0]])[:, 0] + 0.0
    array([ 0.,  0., -1.,  1.,  0.,  0.])
    """
    places, lines = np.asarray(positions, dtype=float), np.asarray(directions, dtype=float)
    if places.shape != lines.shape or places.ndim != 2 or places.shape[-1] != 3:
        raise ShapeError(
            f"thrusters needs positions and directions, (m, 3) each; they are {places.shape} and {lines.shape}."
        )
    lengths = np.linalg.norm(lines, axis=-1)
    if not np.all(lengths > 0):
        raise ShapeError("A thruster has no direction: its vector is zero.")
    lines = lines / lengths[:, None]
    return np.concatenate([cross(places, lines), lines], axis=-1).T
