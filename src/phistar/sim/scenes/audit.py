"""Books kept while a scene runs: the work of all forces, and what pushes from outside on trees that nothing holds.

Kinetic and potential energy change by the work of controllers, disturbances, joint friction, stops and contacts; the
momentum of free trees by weight, contacts with what is not free, and forces at their roots. What is left over is the
integrator's error.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.traces.arrays import sign
from phistar.dynamics import forward_kinematics, frame_velocity, kinetic_energy, momentum, potential_energy
from phistar.model import Model
from phistar.sim.motion import Moment
from phistar.sim.passive import Passive
from phistar.sim.roots import Roots
from phistar.sim.scenes.kernels import kernel, moving, with_inertias
from phistar.sim.scenes.pushes import mean_pushes
from phistar.sim.world import World
from phistar.spatial import cross

MOST_PATTERNS = 4096


class Books(NamedTuple):
    """Sums over time: work, and its absolute value of every step, J; the impulse on free trees about the world's
    origin, N m s and N s."""

    work: float = 0.0
    throughput: float = 0.0
    impulse: np.ndarray = np.zeros(6)


class Account(NamedTuple):
    """Of a state: kinetic and potential energy, J; momenta (6,) of all bodies and of free trees, about the world's
    origin."""

    kinetic: float
    potential: float
    momentum: np.ndarray
    free: np.ndarray


class Audit:
    """Adds up a world's steps."""

    def __init__(self, world: World) -> None:
        self.world, self.roots, self.passive = world, Roots(world.model), Passive(world.model)
        self._weighs = bool(np.any(world.model.gravity))
        self._heavy = bool(self.roots.bodies) and self._weighs
        self._patterns: dict[tuple[int, ...], np.ndarray] = {}

    def account(self, q: np.ndarray, v: np.ndarray) -> Account:
        """Energies and momenta of a state; the inertias are inputs of what is compiled."""
        (energy, momenta), (every, free) = self._quantities, self._inertias
        resting = float(potential_energy(self.world.model, q)) if self._weighs else 0.0
        return Account(float(energy(q, v, every)), resting, momenta(q, v, every), momenta(q, v, free))

    @cached_property
    def _quantities(self) -> tuple[Any, Any]:
        return with_inertias(kinetic_energy, self.moving), with_inertias(momentum, self.moving)

    @cached_property
    def _inertias(self) -> tuple[np.ndarray, np.ndarray]:
        """Of all bodies, and of those on free trees, (10 bodies,) each."""
        rows = np.array([body.inertia.parameters for body in self.world.model.bodies]).reshape(-1, 10)
        free = np.array([tree >= 0 for tree in self.roots.tree], dtype=float)
        return rows.reshape(-1), (rows * free[:, None]).reshape(-1)

    def added(self, books: Books, moment: Moment, applied: np.ndarray) -> Books:
        """The books after the step that led to a moment, under joint forces `applied`."""
        step, state, before, length = moment.step, moment.state, moment.before, moment.length
        assert step is not None
        touch = self._still
        if step.forces is not None or step.parts:
            touch = mean_pushes(step, length, self._pattern).reshape(-1)
        made = self._formulas(state.q, state.v, before.q, before.v, applied, touch)
        work = length * float(made[0])
        for part_of, part in step.parts or ((length, step),):
            if any(part.stops.tolist()):
                work += part_of * float(self._stopped(part.stops) @ (state.v + before.v)) / 2
        impulse = books.impulse
        if self.roots.bodies:
            outside = made[1:] + self._weight(before.q) if self._heavy else made[1:]
            impulse = impulse + length * outside
        return Books(books.work + work, books.throughput + abs(work), impulse)

    @cached_property
    def _still(self) -> np.ndarray:
        return np.zeros(6 * len(self.world.pairs.bodies) + 6)

    def _pattern(self, slots: tuple[int, ...]) -> np.ndarray:
        """(m + 1, n): how near places push on the m bodies that can be touched, and on free trees from outside."""
        found = self._patterns.get(slots)
        if found is None:
            if len(self._patterns) >= MOST_PATTERNS:
                self._patterns.clear()
            pairs = [self.world.pairs.slot_pair(slot) for slot in slots]
            found = np.zeros((len(self.world.pairs.bodies) + 1, len(slots)))
            free = [self.roots.tree[body] >= 0 for body in self.world.pairs.bodies]
            for i, pair in enumerate(pairs):
                for site, way in ((pair.a, 1.0), (pair.b, -1.0)):
                    if site.body >= 0:
                        number = self.world.pairs.bodies.index(site.body)
                        found[number, i] += way
                        found[-1, i] += way * free[number]
            self._patterns[slots] = found
        return found

    def _stopped(self, stops: np.ndarray) -> np.ndarray:
        """The joint forces (nv,) of the stops."""
        force, pushing = np.zeros(self.world.model.nv), tuple(np.nonzero(stops)[0].tolist())
        for stop, (rate, way) in zip(pushing, self.world.limits.chosen(pushing), strict=True):
            force[rate] += way * stops[stop]
        return force

    def formulas(self, q: Any, v: Any, before_q: Any, before_v: Any, applied: Any, touch: Any) -> Any:
        """(7,): the power of joint forces, dry friction and contacts over a step, by its mean velocities; and
        [moment; force] on free trees about the world's origin, weight left out. Floats or traced numbers of one state.
        """
        model, frames = self.moving, self.world.pairs.frames
        mean = 0.5 * (v + before_v)
        power = np.sum((applied + self.passive.coulomb(sign(np.asarray(mean)))) * mean, keepdims=True)
        for number, frame in enumerate(frames):
            push = touch[6 * number : 6 * number + 6]
            for places, rates in ((q, v), (before_q, before_v)):
                motion = frame_velocity(model, places, rates, frame)
                origin = forward_kinematics(model, places, frame)[:3, 3]
                about = np.concatenate([motion[:3], motion[3:] + cross(origin, motion[:3])])
                power = power + 0.5 * np.sum(push * about, keepdims=True)
        outside = touch[6 * len(frames) :]
        if self.roots.bodies:
            outside = outside + np.sum(Roots(model).pushed(before_q, applied), axis=0)
        return np.concatenate([power, outside])

    @cached_property
    def _formulas(self) -> Any:
        model, friction = self.world.model, self.passive.friction.tobytes()
        rows = {"before_q": model.nq, "before_v": model.nv, "applied": model.nv, "touch": len(self._still)}
        return kernel(self.formulas, self.moving, rows, self.world.pairs.frames, friction)

    @cached_property
    def moving(self) -> Model:
        return moving(self.world.model)

    def _weight(self, q: np.ndarray) -> np.ndarray:
        """Of the free trees, [moment; force] about the world's origin."""
        return np.sum(self.roots.pushed(q, np.zeros(self.world.model.nv)), axis=0)
