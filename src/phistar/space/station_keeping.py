"""A craft's place and attitude kept by its thrusters, in pulses, without fighting what its arms do."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.errors import ModelError
from phistar.model import Model
from phistar.plant.fields import BodyMotions
from phistar.space.gravity import mass_properties
from phistar.space.thrusters import Thrusters, reach
from phistar.spatial import log


@final
class StationKeeping:
    """Fires thrusters so that a craft stays where and as it stands when the run begins: a field for `plant.add_field`.

    With c, p, h the mass centre, momentum and spin of the craft, all that hangs on the thrusters' body, and θ the turn
    of that body from its start: F = −m k_p (c − c₀) − k_d p, τ = −k_p I θ − k_d (h − R s). What an arm does moves
    neither c, p nor h, so that no propellant is spent on it; a push from outside moves them at once. s is what wheels
    keep, seen from the body at the start. Every `period` the wrench, or as much of it as there is, becomes pulses.

    Parameters
    ----------
    thrusters : Thrusters
        All on one body; added to the plant too.
    model : Model
        The plant's.
    period : float
        s between decisions; no pulse lasts longer.
    attitude_gains, station_gains : (2,)
        (k_p, k_d), 1/s² and 1/s; station gains of zero leave the place alone.
    """

    def __init__(
        self,
        thrusters: Thrusters,
        model: Model,
        period: float = 0.5,
        attitude_gains: tuple[float, float] = (0.01, 0.2),
        station_gains: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        bodies = sorted(set(thrusters.bodies.tolist()))
        if len(bodies) != 1:
            raise ModelError("Station keeping takes thrusters on one body, at least one.")
        if not 0.0 < period < np.inf or not np.all(np.array([*attitude_gains, *station_gains]) >= 0.0):
            raise ModelError("Station keeping needs a period above 0 s and gains of 0 or more.")
        self.thrusters, self.period = thrusters, period
        self.attitude_gains, self.station_gains = tuple(attitude_gains), tuple(station_gains)
        self.body, self.craft = bodies[0], _connected_bodies(model, bodies[0])
        self._check_reach(model)
        self._before, self._due = np.inf, 0.0
        self._start: tuple[Array, Array, Array] | None = None

    def _check_reach(self, model: Model) -> None:
        """Refuses thrusters that cannot push or turn some way that the gains ask for."""
        for i, gains in enumerate((self.attitude_gains,) * 3 + (self.station_gains,) * 3):
            for sign in (1.0, -1.0) if any(gains) else ():
                if reach(self.thrusters.thrusters, sign * np.eye(6)[i])[0] == 0.0:
                    told = f"{'turn about' if i < 3 else 'push along'} {'+' if sign > 0.0 else '-'}{'xyz'[i % 3]}"
                    raise ModelError(
                        f"The thrusters on {model.bodies[self.body].name} cannot {told} alone, which keeping needs; "
                        "add some that do, or set the gains that ask for it to 0."
                    )

    def wrenches(self, bodies: BodyMotions) -> Array:
        """(n, 6): none of its own; the thrusters push from the next step on."""
        if bodies.step > 0.0:
            if bodies.time < self._before:  # a run begins
                self._start, self._due = None, bodies.time
            self._before = bodies.time
            if bodies.time >= self._due - 1e-9:
                self._due += self.period
                shares = reach(self.thrusters.thrusters, self.wrench(bodies))[1]
                self.thrusters.fire(bodies.time + bodies.step, shares * self.period)
        return np.zeros((len(bodies.model.bodies), 6))

    def wrench(self, bodies: BodyMotions) -> Array:
        """[moment; force] that is wanted, at the body's origin and in its axes."""
        center, mass, momentum, spin, tensor = self.motion(bodies)
        pose, rate = bodies.poses[self.body], bodies.twists[self.body, :3]
        axes = pose[:3, :3]
        if self._start is None:
            self._start = center, axes, axes.T @ (spin - tensor @ (axes @ rate))
        first_center, first_axes, stored = self._start
        spring, brake = self.station_gains
        force = -mass * spring * (center - first_center) - brake * momentum
        spring, brake = self.attitude_gains
        turned = np.asarray(log(axes @ first_axes.T))
        moment = -spring * (tensor @ turned) - brake * (spin - axes @ stored)
        moment = moment + np.cross(center - pose[:3, 3], force)
        return np.concatenate([axes.T @ moment, axes.T @ force])

    def motion(self, bodies: BodyMotions) -> tuple[Any, float, Any, Any, Any]:
        """Mass centre, mass, momentum, spin about the mass centre and tensor about it of the craft, in world axes."""
        masses, centers, tensors = (each[self.craft] for each in mass_properties(bodies.model))
        poses, twists = bodies.poses[self.craft], bodies.twists[self.craft]
        axes = poses[:, :3, :3]
        places = np.einsum("kij,kj->ki", axes, centers) + poses[:, :3, 3]
        rates = np.einsum("kij,kj->ki", axes, twists[:, :3])
        speeds = np.einsum("kij,kj->ki", axes, twists[:, 3:] + np.cross(twists[:, :3], centers))
        own = axes @ tensors @ np.swapaxes(axes, 1, 2)
        mass = float(masses.sum())
        center = masses @ places / mass
        arms = places - center
        spin = np.einsum("kij,kj->i", own, rates) + masses @ np.cross(arms, speeds)
        spread = np.einsum("k,k,ij->ij", masses, np.sum(arms**2, axis=1), np.eye(3))
        tensor = own.sum(axis=0) + spread - np.einsum("k,ki,kj->ij", masses, arms, arms)
        return center, mass, masses @ speeds, spin, tensor


def _connected_bodies(model: Model, body: int) -> Any:
    """Numbers of all bodies that hang together with a body: those of its root."""
    root = body
    while model.parents[root] >= 0:
        root = model.parents[root]
    found = {root}
    for i, parent in enumerate(model.parents):  # parents come first
        found |= {i} if parent in found else set()
    return np.array(sorted(found), dtype=int)
