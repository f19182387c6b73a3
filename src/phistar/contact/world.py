"""A mechanism among things it can touch, moved step by step: implicit in the contact forces, one state at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.contact.dry import dry_forces
from phistar.contact.forces import Forces, Held
from phistar.contact.gaps import Gaps, Nearness, Penetration
from phistar.contact.pairs import Pairs
from phistar.contact.response import bases_of, contact_map, mobility, motions, response, solve_contacts
from phistar.contact.surface import Parameters
from phistar.dynamics import forward_dynamics, forward_kinematics, mass_matrix_inverse
from phistar.model import Model

MISSED = 1e-6  # of a gap, by Newton's method: beyond, the step is halved
SHORTEST = 1e-9  # s


class State(NamedTuple):
    """q (nq,), v (nv,), and what every place of contact holds."""

    q: np.ndarray
    v: np.ndarray
    held: Held


class Step(NamedTuple):
    """A state after a step, the gaps before it with the forces there (None where nothing was near), the gaps after it,
    and the smallest distance met on the way."""

    state: State
    gaps: Gaps
    forces: Forces | None
    ahead: Gaps
    nearest: float


@dataclass(frozen=True)
class World:
    """A model and the pairs of shapes on it that may touch."""

    pairs: Pairs

    @property
    def model(self) -> Model:
        return self.pairs.model

    @cached_property
    def nearness(self) -> Nearness:
        return Nearness(self.pairs)

    @cached_property
    def parameters(self) -> Parameters:
        """Of every slot."""
        return Parameters.of([pair.surface for pair in self.pairs.pairs for _ in range(pair.slots)])

    def start(self, q: Any, v: Any) -> State:
        """At rest against whatever touches."""
        slots = self.pairs.slots
        held = Held(np.zeros((slots, 3)), np.zeros(slots), np.zeros(slots))
        model = self.model
        return State(model.checked(q, model.nq, "q").copy(), model.checked(v, model.nv, "v").copy(), held)

    def poses(self, q: np.ndarray) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """(R, p) of the bodies that can be touched."""
        found = [forward_kinematics(self.model, q, frame) for frame in self.pairs.frames]
        return {body: (pose[:3, :3], pose[:3, 3]) for body, pose in zip(self.pairs.bodies, found, strict=True)}

    def gaps(self, state: State, step: float) -> Gaps:
        """Every place that may be inside its margin before the step's end."""
        if not self.pairs.pairs:
            return self.nearness.gaps({}, 0.0)
        speed = float(np.max(np.abs(motions(self.model, state.q, state.v, self.pairs.frames)), initial=0.0))
        margins = np.array([pair.surface.margin for pair in self.pairs.pairs])
        reach = np.array([min(max(pair.a.reach, 0.0), 10.0) + min(pair.b.reach, 10.0) for pair in self.pairs.pairs])
        return self.nearness.gaps(self.poses(state.q), margins + 2.0 * step * speed * (1.0 + reach))

    def advance(self, state: State, tau: np.ndarray, step: float, gaps: Gaps | None = None) -> Step:
        """v⁺ = v + h ℳ⁻¹(T − 𝒞 − 𝒢 + J*f⁺), q⁺ = q ⊕ h v⁺; in halves where Newton's method misses or bodies would meet.

        `gaps` are those of the state, where they are known: `Step.ahead` of the step before.
        """
        gaps = self.gaps(state, step) if gaps is None else gaps
        whole = self._advance(state, tau, step, gaps)
        if whole is not None:
            return whole
        if step < SHORTEST:
            raise Penetration(f"{self._nearest(gaps)} cannot be kept apart in steps as short as {step:.1e} s.")
        first = self.advance(state, tau, step / 2, gaps)
        second = self.advance(first.state, tau, step / 2, first.ahead)
        nearest = min(first.nearest, second.nearest)
        return second._replace(nearest=nearest)

    def _advance(self, state: State, tau: np.ndarray, step: float, gaps: Gaps) -> Step | None:
        model, (q, v, held) = self.model, state
        acceleration, forces, added = forward_dynamics(model, q, v, tau), None, 0.0
        if len(gaps.slot):
            forces, added = self._forces(state, gaps, v + step * acceleration, step)
            if not np.all(np.abs(forces.missed) < MISSED * forces.gap):
                return None
            held = self._kept(gaps, forces.held)
        acceleration = acceleration + added
        if len(self._dry):
            acceleration = acceleration + self._stopped(q, v + step * acceleration, step)
        v = v + step * acceleration
        after = State(model.integrate(q, step * v), v, held)
        try:
            ahead = self.gaps(after, step)
        except Penetration:
            return None
        return Step(after, gaps, forces, ahead, ahead.nearest)

    def closing(self, state: State, gaps: Gaps) -> np.ndarray:
        """ḋ of each gap, (n,)."""
        if not len(gaps.slot):
            return np.zeros(0)
        poses = self.poses(state.q)
        origins = np.stack([poses[body][1] for body in self.pairs.bodies])
        places = contact_map(gaps.point, bases_of(gaps.normal), origins, self._numbers[gaps.bodies])
        return places[:, 2] @ motions(self.model, state.q, state.v, self.pairs.frames)

    def _nearest(self, gaps: Gaps) -> str:
        return self.pairs.slot_pair(int(gaps.slot[np.argmin(gaps.distance)])).name

    def _forces(self, state: State, gaps: Gaps, free: np.ndarray, step: float) -> tuple[Forces, np.ndarray]:
        model, frames, slot = self.model, self.pairs.frames, gaps.slot
        poses = self.poses(state.q)
        origins = np.stack([poses[body][1] for body in self.pairs.bodies])
        sides = self._numbers[gaps.bodies]
        bases = bases_of(gaps.normal)
        places = contact_map(gaps.point, bases, origins, sides).reshape(4 * len(slot), -1)
        motion = motions(model, state.q, free, frames)
        bristle, twist, touch = (array[slot] for array in state.held)
        carried = motion.reshape(-1, 6)[sides.max(axis=1), :3]
        bristle = bristle + step * np.cross(carried, bristle)
        held = Held(np.einsum("nij,ni->nj", bases, bristle)[:, :2], twist, touch)
        p = Parameters(*(array[slot] for array in self.parameters))
        u, g = (places @ motion).reshape(-1, 4), places @ mobility(model, state.q, frames) @ places.T
        forces = solve_contacts(p, gaps.distance, u, g, held, step)
        kept = forces.held._replace(bristle=np.einsum("nij,nj->ni", bases[:, :, :2], forces.held.bristle))
        added = response(model, state.q, frames, forces.force.reshape(-1) @ places)
        return forces._replace(held=kept), added

    @cached_property
    def _dry(self) -> np.ndarray:
        """The rates that dry friction acts on."""
        limits = [np.zeros(0), *(np.max(joint.kind.friction, axis=0) for joint in self.model.joints)]
        return np.nonzero(np.concatenate(limits))[0]

    def _stopped(self, q: np.ndarray, rates: np.ndarray, step: float) -> np.ndarray:
        """The accelerations of the joints' dry friction."""
        limits = np.concatenate([joint.kind.friction for joint in self.model.joints], axis=-1)[:, self._dry]
        inverse = mass_matrix_inverse(self.model, q)[:, self._dry]
        return inverse @ dry_forces(inverse[self._dry], rates[self._dry], limits, step)

    @cached_property
    def _numbers(self) -> np.ndarray:
        """Body index → number among those that can be touched; the world, −1, stays −1."""
        table = np.full(len(self.model.bodies) + 1, -1)
        table[list(self.pairs.bodies)] = range(len(self.pairs.bodies))
        return table

    def _kept(self, gaps: Gaps, held: Held) -> Held:
        """Places that were not near forget."""
        slots = self.pairs.slots
        result = Held(np.zeros((slots, 3)), np.zeros(slots), np.zeros(slots))
        for whole, part in zip(result, held, strict=True):
            whole[gaps.slot] = part
        return result
