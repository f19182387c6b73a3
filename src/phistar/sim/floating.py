"""Coordinates in which a free robot keeps its momentum and energy: z = (k, quaternion, q_i, t, e; L, p, θ̇_i).

L and p are the angular momentum about the centre of mass and the linear momentum, in world axes; the centre of mass is
k + t p/m, with t the time since the start and k where it would have been then; e is the kinetic energy; attitude and
joints are the model's. Without forces from outside k, L, p and e do not change, and every Runge-Kutta method keeps what
does not change exactly: the momentum's error is rounding that does not add up. What a step leaves out of e is given to
the joints' rates: the energy of joint motion and that of the momentum are apart (RJ2W eq. 26), so that this touches
nothing else. z has the places of (q, v), with two more in q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.traces.arrays import sign, traced
from phistar.backends.traces.solve import solve_symmetric
from phistar.backends.traces.trace import is_traced
from phistar.dynamics import kinetic_energy
from phistar.errors import ModelError
from phistar.freeflying.energy import energy, joint_momentum, wiggle_velocity
from phistar.freeflying.free_base import base_rotation, check_free_base
from phistar.freeflying.momentum import center_of_mass_frame, center_of_mass_in_base, mass_at_base
from phistar.model import Model
from phistar.sim.coordinates import Coordinates
from phistar.sim.passive import Passive
from phistar.spatial import cross, times
from phistar.stated import states

Pair = tuple[np.ndarray, np.ndarray]
MORE = 2  # entries of z beyond those of (q, v)
LARGEST_SHARE = 0.01  # of the joints' rates; a step that leaves out more is too long for any method
TINY = 1e-300


@states(lambda s: s.mass @ s.v)
def generalized_momentum(model: Model, q: Any, v: Any) -> np.ndarray:
    """ℳθ̇, (…, nv)."""
    return generalized_momentum.evaluate(model, q, {"v": v})


def floats(model: Model) -> bool:
    """Whether nothing holds the robot: one free base that is rigid, and no loop that might close over the world."""
    try:
        check_free_base(model)
    except ModelError:
        return False
    return not model.loops and model.embedding is None and not model.bodies[0].modes


@dataclass(frozen=True)
class Floating:
    """The change of coordinates for a model that floats; on floats (…, n) and on traced numbers (n,)."""

    model: Model

    @cached_property
    def passive(self) -> Passive:
        return Passive(self.model)

    @cached_property
    def coordinates(self) -> Coordinates:
        return Coordinates(self.model)

    def split(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places (nq), [t, e] and momenta (nv)."""
        count = self.model.nq
        return z[..., :count], z[..., count : count + MORE], z[..., count + MORE :]

    def from_state(self, q: np.ndarray, v: np.ndarray) -> Pair:
        """(q, v) → z, in two parts; t = 0."""
        frame, kinetic = center_of_mass_frame(self.model, q, v), self._kinetic(q, v)
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        q, v = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, v))
        more = np.stack([np.zeros(batch), kinetic], axis=-1)
        linear = self.model.total_mass * frame.velocity
        return (
            np.concatenate([frame.position, q[..., 3:], more], axis=-1),
            np.concatenate([frame.angular_momentum, linear, v[..., 6:]], axis=-1),
        )

    def to_state(self, places: np.ndarray, momenta: np.ndarray) -> Pair:
        """z → (q, v): the base is where the centre of mass and the attitude put it, and moves as the momentum says."""
        model, placed = self.model, self.model.bodies[0].placement
        whole, carried, (arm, turn) = self._composite_body(places, momenta)
        time = places[..., model.nq : model.nq + 1]
        center = places[..., :3] + (time / model.total_mass) * momenta[..., 3:6]
        base = center - times(turn, arm)
        joints = places[..., 3 : model.nq]
        q = np.concatenate([times(placed.rotation.T, base - placed.translation), joints], axis=-1)
        twist = solve_symmetric(whole, carried[..., None])[..., 0]
        if model.nv > 6:
            twist = twist + np.asarray(wiggle_velocity(model, _to_array(q), _to_array(momenta[..., 6:])))
        return q, np.concatenate([twist, momenta[..., 6:]], axis=-1)

    def _composite_body(self, places: np.ndarray, momenta: np.ndarray) -> tuple[np.ndarray, np.ndarray, Pair]:
        """The robot as one body, the momentum as its base sees it, and its centre of mass there and the base's axes."""
        whole, arm, turn = self._whole(places[..., : self.model.nq])
        back = np.swapaxes(turn, -1, -2)
        spin, linear = times(back, momenta[..., :3]), times(back, momenta[..., 3:6])
        return whole, np.concatenate([spin + cross(arm, linear), linear], axis=-1), (arm, turn)

    def rate(self, z: np.ndarray, u: np.ndarray, acceleration: Callable[..., np.ndarray]) -> np.ndarray:
        """ż = (−t ṗ/m, ½ quaternion ⊗ ω, q̇_i, 1, ė; L̇, ṗ, θ̈_i)."""
        model = self.model
        places, more, momenta = self.split(z)
        unit = np.concatenate([self.coordinates.unit(places), more], axis=-1)
        q, v = self.to_state(unit, momenta)
        forces = u + self.passive.smooth(q, v) + self.passive.coulomb(sign(v))
        _, arm, turn = self._whole(q)
        moment, force = forces[..., :3], forces[..., 3:6]
        pushed = times(turn, force) + model.total_mass * model.gravity
        turned = times(turn, moment - cross(arm, force))
        power = np.sum(forces * v, axis=-1) + np.sum(momenta[..., 3:6] * model.gravity, axis=-1)
        start = -(more[..., :1] / model.total_mass) * pushed
        turning = self.coordinates.rate(places, v)[..., 3:]
        ticks = np.stack([0.0 * power + 1.0, power], axis=-1)
        faster = acceleration(q, v, u)[..., 6:]
        return np.concatenate([start, turning, ticks, turned, pushed, faster], axis=-1)

    def correct_energy(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """After a step from `before`: θ̇⁺ = θ̇ + hθ̈ + c(θ̇ + θ̇⁺), c such that the kinetic energy is e. Forth and back in
        time the same c does it, so that a symmetric method stays symmetric; c is of third order in the step."""
        if self.model.nv == 6:
            return after
        places, more, momenta = self.split(after)
        unit = np.concatenate([self.coordinates.unit(places), more], axis=-1)
        old, new = before[..., -(self.model.nv - 6) :], momenta[..., 6:]
        whole, carried, _ = self._composite_body(unit, momenta)
        rigid = 0.5 * np.sum(carried * solve_symmetric(whole, carried[..., None])[..., 0], axis=-1)
        joints = self._joint_momentum(_to_array(unit[..., : self.model.nq]), _to_array(new))
        missing = more[..., 1] - rigid - 0.5 * np.sum(joints * new, axis=-1)
        share = missing / (np.sum(joints * (old + new), axis=-1) + TINY)
        c = np.asarray(np.clip(_to_array(np.asarray(share)), -LARGEST_SHARE, LARGEST_SHARE))[..., None]
        rates = (new + c * old) / (1.0 - c)
        return np.concatenate([places, more, momenta[..., :6], rates], axis=-1)

    def _kinetic(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self.model.is_flexible:
            return np.asarray(kinetic_energy(self.model, q, v))
        parts = energy(self.model, q, v)
        return parts.rigid + parts.articulated

    def _joint_momentum(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """ℳ_iθ̇_i, two-way; where bodies bend, the joints' rows of ℳ[V_WIGGLE; θ̇_i]."""
        if not self.model.is_flexible:
            return np.asarray(joint_momentum(self.model, q, rates))
        base = np.asarray(wiggle_velocity(self.model, q, rates))
        return np.asarray(generalized_momentum(self.model, q, _to_array(np.concatenate([base, rates], axis=-1))))[
            ..., 6:
        ]

    def adapt_controller(self, controller: Callable[..., Any]) -> Callable[..., Any]:
        """The controller, of q and v as it knows them."""
        return lambda t, q, v, *rest: controller(t, *(_to_array(x) for x in self.to_state(q, v)), *rest)

    def _whole(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The robot as one body, (…, 6, 6), its centre of mass as the base sees it, and the base's axes."""
        whole = np.asarray(mass_at_base(self.model, _to_array(q)))
        return whole, center_of_mass_in_base(whole), base_rotation(self.model, np.asarray(q))


def _to_array(array: np.ndarray) -> np.ndarray:
    """Traced numbers as arrays that phistar's functions take."""
    return traced(array) if is_traced(array) else array
