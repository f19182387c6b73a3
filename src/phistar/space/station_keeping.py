"""A craft's place and attitude kept by its thrusters, in pulses, without fighting what its arms do."""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.errors import ModelError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.plant.body_motions import BodyMotions
from phistar.space.thrusters import Thrusters, reach
from phistar.spatial import log


class _Start(NamedTuple):
    """What is kept from the time when a run begins: mass centre, axes, spin of the wheels in them, and drift."""

    time: float
    center: Array
    axes: Array
    stored: Array
    drift: Array


@final
class StationKeeping:
    """Fires thrusters to hold a craft's initial position and attitude, or to keep pace with a body that drifts past: a
    field for `plant.add_field`.

    With c, p, h the mass centre, momentum and spin of the craft, all that hangs on the thrusters' body, and θ the turn
    of that body from its start: F = −m k_p (c − c₀) − k_d p, τ = −k_p I θ − k_d (h − R s). What an arm does moves
    neither c, p nor h, so that no propellant is spent on it; a push from outside moves them at once. s is what wheels
    keep, seen from the body at the start. Where there is a body to `follow`, c₀ goes along with the velocity that its
    mass centre has at the start, and p is relative to that: the craft flies beside it, and what holds the two together
    later is not pushed about. Every `period` the wrench, or as much of it as there is, becomes pulses.

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
    follow : str or None
        A body that is no part of the craft; None is the world.

    Examples
    --------
    >>> plant = ps.Plant(gravity=(0, 0, 0))
    >>> craft = ps.Inertia(100.0, (0, 0, 0), 10 * np.eye(3))
    >>> plant.add_body("craft", ps.Geometry(ps.Box((1, 1, 1)), role="collision"), craft)
    >>> ways = [tuple(s * np.eye(3)[i]) for i in range(3) for s in (1, -1)]
    >>> arms = [(0, 0, 0.5), (0.5, 0, 0), (0, 0.5, 0), (0, 0, -0.5), (-0.5, 0, 0), (0, -0.5, 0)]
    >>> each = [ps.space.Thruster("craft", at, way, 1.0) for at in arms for way in ways]
    >>> jets = ps.space.Thrusters(plant.model, each)
    >>> plant.add_field(jets)
    >>> plant.add_field(ps.space.StationKeeping(jets, plant.model, station_gains=(0.0, 0.2)))
    >>> drift = ps.simulate(plant, 30.0, start=plant.state(v=[0, 0, 0, 0.01, 0, 0]), step=0.05)
    >>> bool(abs(drift.v[-1, 3]) < 0.002)  # from 10 mm/s
    True
    """

    def __init__(
        self,
        thrusters: Thrusters,
        model: Model,
        period: float = 0.5,
        attitude_gains: tuple[float, float] = (0.01, 0.2),
        station_gains: tuple[float, float] = (0.0, 0.0),
        follow: str | None = None,
    ) -> None:
        bodies = sorted({model.body_indices[thruster.body] for thruster in thrusters.thrusters})
        if len(bodies) != 1 or model.bodies[bodies[0]].modes:
            raise ModelError("Station keeping takes thrusters on one rigid body, at least one.")
        if not 0.0 < period < np.inf or not np.all(np.array([*attitude_gains, *station_gains]) >= 0.0):
            raise ModelError("Station keeping needs a period above 0 s and gains of 0 or more.")
        self.thrusters, self.period = thrusters, period
        self.attitude_gains, self.station_gains = tuple(attitude_gains), tuple(station_gains)
        self.body, self.craft = bodies[0], _connected_bodies(model, bodies[0])
        self.follow = follow
        self._followed = self._other_body(model)
        self._check_reach(model)
        self._before, self._due = np.inf, 0.0
        self._start: _Start | None = None

    def _other_body(self, model: Model) -> int | None:
        """Number of the body that is followed."""
        if self.follow is None:
            return None
        if self.follow not in model.body_indices:
            raise unknown("body", self.follow, list(model.body_indices), model.name)
        found = model.body_indices[self.follow]
        if found in self.craft:
            raise ModelError(
                f"A craft cannot follow {self.follow}, which is a part of it; name a body that flies free."
            )
        return found

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
        """(p, 6): none of its own; the thrusters push from the next step on."""
        if bodies.step > 0.0:
            if bodies.time < self._before:  # a run begins
                self._start, self._due = None, bodies.time
            self._before = bodies.time
            if bodies.time >= self._due - 1e-9:
                self._due += self.period
                shares = reach(self.thrusters.thrusters, self.wrench(bodies))[1]
                self.thrusters.fire(bodies.time + bodies.step, shares * self.period)
        return np.zeros((len(bodies.poses), 6))

    def wrench(self, bodies: BodyMotions) -> Array:
        """[moment; force] that is wanted, at the body's origin and in its axes."""
        center, mass, momentum, spin, tensor = self.motion(bodies)
        pose, rate = bodies.poses[self.body], bodies.twists[self.body, :3]
        axes = pose[:3, :3]
        if self._start is None:
            stored, drift = axes.T @ (spin - tensor @ (axes @ rate)), self._drift_of_followed(bodies)
            self._start = _Start(bodies.time, center, axes, stored, drift)
        own = self._start
        spring, brake = self.station_gains
        away = center - own.center - own.drift * (bodies.time - own.time)
        force = -mass * spring * away - brake * (momentum - mass * own.drift)
        spring, brake = self.attitude_gains
        turned = np.asarray(log(axes @ own.axes.T))
        moment = -spring * (tensor @ turned) - brake * (spin - axes @ own.stored)
        moment = moment + np.cross(center - pose[:3, 3], force)
        return np.concatenate([axes.T @ moment, axes.T @ force])

    def _drift_of_followed(self, bodies: BodyMotions) -> Array:
        """Velocity (3,) of the mass centre of what is followed, in world axes; zero of the world."""
        if self._followed is None:
            return np.zeros(3)
        own = bodies.parts.carriers == self._followed
        masses, centers, twists = bodies.parts.masses[own], bodies.parts.centers[own], bodies.twists[own]
        speeds = twists[:, 3:] + np.cross(twists[:, :3], centers)
        return np.einsum("k,kij,kj->i", masses / masses.sum(), bodies.poses[own, :3, :3], speeds)

    def motion(self, bodies: BodyMotions) -> tuple[Any, float, Any, Any, Any]:
        """Mass centre, mass, momentum, spin about the mass centre and tensor about it of the craft, in world axes."""
        carriers, _, masses, centers, tensors = bodies.parts
        own = np.isin(carriers, self.craft)
        masses, centers, tensors = masses[own], centers[own], tensors[own]
        poses, twists = bodies.poses[own], bodies.twists[own]
        axes = poses[:, :3, :3]
        places = np.einsum("kij,kj->ki", axes, centers) + poses[:, :3, 3]
        rates = np.einsum("kij,kj->ki", axes, twists[:, :3])
        speeds = np.einsum("kij,kj->ki", axes, twists[:, 3:] + np.cross(twists[:, :3], centers))
        turned = axes @ tensors @ np.swapaxes(axes, 1, 2)
        mass = float(masses.sum())
        center = masses @ places / mass
        arms = places - center
        spin = np.einsum("kij,kj->i", turned, rates) + masses @ np.cross(arms, speeds)
        spread = np.einsum("k,k,ij->ij", masses, np.sum(arms**2, axis=1), np.eye(3))
        tensor = turned.sum(axis=0) + spread - np.einsum("k,ki,kj->ij", masses, arms, arms)
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
