"""Thrusters: on or off, with a least time on; which of them to fire for a wanted wrench; and their plumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.errors import ModelError, PhistarError, ShapeError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.plant.body_motions import BodyMotions, Parts

_NOTHING = 1e-12  # of full thrust: a wrench below it is rounding
_MISSED = 1e-9  # of the wanted wrench: what an allocation may miss of it


@final
@dataclass(frozen=True)
class Thruster:
    """A thruster on a body: on or off. On one that bends it moves with the nearest node.

    Parameters
    ----------
    body : str
        The body that carries it.
    position, direction : (3,)
        Its place in the body's frame, m, and the direction of its force on the body (against the plume).
    force : float
        N, when it is on.
    least_time : float
        The shortest time that it can be on, s: force times it is its minimum impulse bit.

    Examples
    --------
    >>> ps.space.Thruster("base", (0.5, 0, 0), (0, 1, 0), 10.0, 0.02).impulse_bit
    0.2
    """

    body: str
    position: tuple[float, float, float]
    direction: tuple[float, float, float]
    force: float
    least_time: float = 0.0

    def __post_init__(self) -> None:
        length = float(np.linalg.norm(np.asarray(self.direction, dtype=float)))
        if not abs(length - 1.0) <= 1e-6:
            raise ModelError(f"A thruster needs a direction of length one; it was given {self.direction!r:.80}.")
        if not (0.0 < self.force < np.inf and 0.0 <= self.least_time < np.inf):
            raise ModelError("A thruster needs a force greater than 0 N and a least time of 0 s or more.")

    @property
    def impulse_bit(self) -> float:
        """Smallest impulse of a thruster, N s."""
        return self.force * self.least_time

    @property
    def wrench(self) -> Array:
        """(6,): [moment; force] when it is on, at the body's origin and in its axes."""
        push = self.force * np.asarray(self.direction, dtype=float)
        return np.concatenate([np.cross(self.position, push), push])


@final
class Thrusters:
    """Thrusters of a model that a controller fires in pulses: a field for `plant.add_field`.

    `fire(time, on_times)` starts pulses; each thruster pushes for its time and is off again. Over a step it acts with
    the part of the step during which it is on, so that impulses do not depend on the step.

    Parameters
    ----------
    model : Model
        The plant's: `plant.model`.
    thrusters : sequence of Thruster
    name : str
        What plumes and station keeping in files call them.

    Examples
    --------
    >>> plant = ps.Plant(gravity=(0, 0, 0))
    >>> craft = ps.Inertia(100.0, (0, 0, 0), 10 * np.eye(3))
    >>> plant.add_body("craft", ps.Geometry(ps.Box((1, 1, 1)), role="collision"), craft)
    >>> jets = ps.space.Thrusters(plant.model, [ps.space.Thruster("craft", (0, 0, 0), (1, 0, 0), 10.0)])
    >>> plant.add_field(jets)
    >>> jets.fire(0.0, [0.5])  # 10 N for half a second, 100 kg
    array([0.5])
    >>> float(ps.simulate(plant, 1.0, step=0.05).v[-1, 3].round(9))
    0.05
    """

    def __init__(self, model: Model, thrusters: Sequence[Thruster], name: str = "thrusters") -> None:
        self.name = name
        for thruster in thrusters:
            if thruster.body not in model.body_indices:
                raise unknown("body", thruster.body, list(model.body_indices), model.name)
        self.thrusters = tuple(thrusters)
        parts = Parts.of(model)
        found = [parts.nearest(model, model.body_indices[jet.body], jet.position) for jet in thrusters]
        self.parts = np.array([part for part, _ in found], dtype=int)
        self.places = np.array([place for _, place in found], dtype=float).reshape(-1, 3)
        self.columns = np.array(
            [replace(jet, position=tuple(place)).wrench for jet, place in zip(thrusters, self.places, strict=True)]
        ).reshape(-1, 6)
        self.starts, self.ends = np.zeros(len(self.thrusters)), np.zeros(len(self.thrusters))

    def fire(self, time: float, on_times: ArrayLike) -> Array:
        """Start pulses at a time, for `on_times` (n,) in s: times below a thruster's half least are none, others at
        least that. Returns the times as they will be."""
        wanted = np.asarray(on_times, dtype=float)
        if wanted.shape != self.starts.shape or not np.isfinite(wanted).all() or (wanted < 0.0).any():
            raise ShapeError(f"{len(self.thrusters)} times on of 0 s or more were expected; they are {wanted!r:.80}.")
        least = np.array([thruster.least_time for thruster in self.thrusters])
        taken = np.where(wanted < 0.5 * least, 0.0, np.maximum(wanted, least))
        self.starts[:], self.ends[:] = time, time + taken
        return taken

    def wrenches(self, bodies: BodyMotions) -> Array:
        """(p, 6): mean over the step of what is on."""
        total, begin, end = np.zeros((len(bodies.poses), 6)), bodies.time, bodies.time + bodies.step
        if bodies.step > 0.0:
            on = np.maximum(np.minimum(self.ends, end) - np.maximum(self.starts, begin), 0.0) / bodies.step
        else:
            on = ((self.starts <= begin) & (begin < self.ends)).astype(float)
        np.add.at(total, self.parts, on[:, None] * self.columns)
        return total


def allocate(thrusters: Sequence[Thruster], wrench: ArrayLike) -> Array:
    """Shares of full thrust (n,) in [0, 1] that give a wrench with the least propellant (a linear program).

    Parameters
    ----------
    thrusters : sequence of Thruster
        All on one body.
    wrench : (6,)
        [moment; force] at the body's origin, in its axes.

    Returns
    -------
    (n,) array
        Share of each thruster's full thrust, in the order given.

    Raises
    ------
    PhistarError
        Where they cannot give it; the sentence says how much of it they can.

    Examples
    --------
    >>> jets = [ps.space.Thruster("hub", (0, 0, 0), tuple(s * np.eye(3)[i]), 2.0) for i in range(3) for s in (1, -1)]
    >>> ps.space.allocate(jets, [0, 0, 0, 1.0, 0, -0.5]).tolist()
    [0.5, 0.0, 0.0, 0.0, 0.0, 0.25]
    """
    share, found = reach(thrusters, wrench)
    wanted = np.round(np.asarray(wrench, dtype=float), 6).tolist()
    if share < 1.0 - _MISSED:
        raise PhistarError(
            f"{len(found)} thrusters give {100 * share:.3g} % of the wrench {wanted}; ask for less, or add thrusters "
            "that push that way."
        )
    return found


def reach(thrusters: Sequence[Thruster], wrench: ArrayLike) -> tuple[float, Array]:
    """How much of a wrench thrusters can give, from 0 to 1, and shares of full thrust (n,) that give that much with the
    least propellant."""
    from scipy.optimize import linprog

    if len({thruster.body for thruster in thrusters}) != 1:
        raise ModelError("allocate takes the thrusters of one body, at least one.")
    wanted = np.asarray(wrench, dtype=float)
    if wanted.shape != (6,) or not np.isfinite(wanted).all():
        raise ShapeError("A wrench of six finite numbers, [moment; force], was expected.")
    columns, count = np.array([thruster.wrench for thruster in thrusters]).T, len(thrusters)
    size, full = float(np.abs(wanted).max()), float(np.abs(columns).max())
    if size < _NOTHING * full:
        return 1.0, np.zeros(count)
    # In shares of size/full all numbers are about one: the most of the wrench, s ≤ 1, then the least propellant for it.
    square, wanted, bounds = columns / full, wanted / size, [(0.0, full / size)] * count
    system = np.hstack([square, -wanted[:, None]])
    most: Any = linprog(np.append(np.zeros(count), -1.0), A_eq=system, b_eq=np.zeros(6), bounds=[*bounds, (0.0, 1.0)])
    share = float(most.x[-1])
    share = 0.0 if share < _MISSED else 1.0 if share > 1.0 - _MISSED else share
    found: Any = linprog([thruster.force for thruster in thrusters], A_eq=square, b_eq=share * wanted, bounds=bounds)
    made = found.x if found.status == 0 else most.x[:-1]
    return share, np.clip(made * size / full, 0.0, 1.0) + 0.0  # no zero with a sign


@final
class Plume:
    """Force of thruster exhaust on a body in its way: a field for `plant.add_field`.

    A cone with Gaussian flux: a ball of area A at distance s, at the angle θ off the plume's axis, feels the force
    F A/(2πσ²s²) exp(−θ²/2σ²) away from the nozzle, at most F, while the thruster is on.

    Parameters
    ----------
    thrusters : Thrusters
        Those that are fired.
    body : str
        The body that is hit, as a ball about its mass centre.
    area : float
        Its cross section, m².
    spread : float
        σ, rad.

    Examples
    --------
    >>> plant = ps.Plant(gravity=(0, 0, 0))
    >>> craft = ps.Inertia(100.0, (0, 0, 0), 10 * np.eye(3))
    >>> plant.add_body("craft", ps.Geometry(ps.Box((1, 1, 1)), role="collision"), craft)
    >>> shape, debris = ps.Geometry(ps.Sphere(0.1), role="collision"), ps.Inertia(1.0, tensor=0.004 * np.eye(3))
    >>> plant.add_body("debris", shape, debris, at=ps.Pose((3, 0, 0)))
    >>> jets = ps.space.Thrusters(plant.model, [ps.space.Thruster("craft", (0.6, 0, 0), (-1, 0, 0), 10.0)])
    >>> plant.add_field(jets)
    >>> plant.add_field(ps.space.Plume(jets, plant.model, "debris", area=0.03))
    >>> on = jets.fire(0.0, [0.5])
    >>> run = ps.simulate(plant, 1.0, step=0.05)
    >>> bool(run["debris"].v[-1, 3] > 0.01)  # blown away
    True
    """

    def __init__(self, thrusters: Thrusters, model: Model, body: str, area: float, spread: float = 0.2) -> None:
        if body not in model.body_indices:
            raise unknown("body", body, list(model.body_indices), model.name)
        if not (0.0 < area < np.inf and 0.0 < spread < np.pi):
            raise ModelError("A plume needs an area greater than 0 m² and a spread between 0 and π rad.")
        self.thrusters, self.area, self.spread, self.body_name = thrusters, area, spread, body
        number = model.body_indices[body]
        self.part, self.center = Parts.of(model).nearest(model, number, model.bodies[number].inertia.com)

    def wrenches(self, bodies: BodyMotions) -> Array:
        """(p, 6): on the body that is hit alone."""
        total, step = np.zeros((len(bodies.poses), 6)), bodies.step
        pose = bodies.poses[self.part]
        target = pose[:3, :3] @ self.center + pose[:3, 3]
        sets, push = self.thrusters, np.zeros(3)
        for number, thruster in enumerate(sets.thrusters):
            on = min(sets.ends[number], bodies.time + step) - max(sets.starts[number], bodies.time)
            carrier = bodies.poses[sets.parts[number]]
            way = target - carrier[:3, :3] @ sets.places[number] - carrier[:3, 3]
            distance = float(np.linalg.norm(way))
            if on <= 0.0 or distance == 0.0:
                continue
            exhaust = -(carrier[:3, :3] @ np.asarray(thruster.direction))
            angle = float(np.arccos(np.clip(exhaust @ way / distance, -1.0, 1.0)))
            flux = np.exp(-0.5 * (angle / self.spread) ** 2) / (2.0 * np.pi * (self.spread * distance) ** 2)
            push += thruster.force * min(self.area * flux, 1.0) * (on / step) * way / distance
        own = pose[:3, :3].T @ push
        total[self.part] = np.concatenate([np.cross(self.center, own), own])
        return total
