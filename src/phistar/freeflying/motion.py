"""Accelerations of a robot that floats, and of one that flies with thrusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.dynamics import Forces
from phistar.dynamics import forward_dynamics as stated_forward_dynamics
from phistar.errors import ShapeError
from phistar.freeflying.free_base import joint_count
from phistar.model import Model
from phistar.spatial import cross
from phistar.spatial.batches import leading_axes


def forward_dynamics(model: Model, q: Any, v: Any, tau: Any, thrust: Any = None, f_ext: Forces = None) -> np.ndarray:
    """ℳ⁻¹([thrust; T] − 𝒞 − 𝒢 + J*f), (…, nv): accelerations of base and joints under joint forces tau (…, n).

    Free-floating without `thrust`; free-flying with it, a [moment; force] (…, 6) on the base in its axes.
    """
    tau = model.checked(tau, joint_count(model), "tau (the joints' entries only)")
    pushed = np.zeros(6) if thrust is None else model.checked(thrust, 6, "thrust")
    batch = leading_axes({"tau": tau, "thrust": pushed})
    parts = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (pushed, tau)]
    return stated_forward_dynamics(model, q, v, np.concatenate(parts, axis=-1), f_ext)


def thrusters(positions: Any, directions: Any) -> np.ndarray:
    """(6, m): [p × d; d] of m thrusters at positions (m, 3) pushing along unit directions (m, 3), in the base's axes;
    times their forces it is the thrust."""
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
