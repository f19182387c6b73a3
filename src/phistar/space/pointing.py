"""A law that points the base of a free-flying robot and knows what its arm does."""

from __future__ import annotations

from typing import final

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.dynamics import inverse_dynamics
from phistar.errors import ModelError
from phistar.model import Free, Model
from phistar.spatial import from_quaternion, multiply


@final
class PointingControl:
    """Base wrench that holds attitude and place while the arm moves, by wheels or thrusters.

    With ω̇* = −K_d(ω − ω_r) − 2K_p sign(e₄) e and v̇* likewise for the place, the wrench is what inverse dynamics of the
    whole robot needs at (q, θ̇, [base accelerations*; joint accelerations]): the arm's momentum is counted before it has
    moved the base.

    Parameters
    ----------
    model : Model
        Its first joint is Free.
    attitude_gains, station_gains : (2,)
        (K_p, K_d) in 1/s² and 1/s; station gains of zero leave the place alone.

    Examples
    --------
    >>> model = ps.load("freeflyer", gravity=(0, 0, 0))
    >>> hold = ps.space.PointingControl(model)
    >>> bool(abs(hold(model.neutral(), np.zeros(model.nv), np.zeros(model.nv - 6))).max() < 1e-12)
    True
    """

    def __init__(
        self,
        model: Model,
        attitude_gains: tuple[float, float] = (0.04, 0.4),
        station_gains: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        if not model.joints or not isinstance(model.joints[0].kind, Free):
            raise ModelError(f"Pointing needs a base on a Free joint, the first one; {model.name} has none.")
        if min(*attitude_gains, *station_gains) < 0.0:
            raise ModelError("Gains are 0 or more.")
        self.model, self.attitude_gains, self.station_gains = model, attitude_gains, station_gains
        start = model.neutral()[:7]
        self.place, self.orientation = start[:3].copy(), start[3:].copy()

    def point(self, orientation: ArrayLike, place: ArrayLike | None = None) -> None:
        """Set the target: a quaternion (x, y, z, w), and a place in the world, m."""
        self.orientation = np.asarray(orientation, dtype=float)
        self.place = self.place if place is None else np.asarray(place, dtype=float)

    def __call__(self, q: ArrayLike, v: ArrayLike, joint_accelerations: ArrayLike) -> Array:
        """(6,): [moment; force] on the base, in its axes, for joints that are to accelerate so."""
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        x, y, z, w = self.orientation
        error = multiply(np.array([-x, -y, -z, w]), q[3:7])
        stiffness, damping = self.attitude_gains
        turn = -2.0 * stiffness * np.copysign(1.0, error[3]) * error[:3] - damping * v[:3]
        spring, brake = self.station_gains
        axes = from_quaternion(q[3:7])
        move = axes.T @ (spring * (self.place - q[:3])) - brake * v[3:6] - np.cross(v[:3], v[3:6])
        a = np.concatenate([turn, move, np.asarray(joint_accelerations, dtype=float)])
        return inverse_dynamics(self.model, q, v, a)[:6]
