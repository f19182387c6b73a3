"""A mechanism among things it can touch, moved step by step: implicit in the contact forces, one state at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.contact.forces import Held
from phistar.contact.gaps import Gaps, Nearness, Penetration
from phistar.contact.pairs import Pairs
from phistar.contact.response import bases_of, contact_map
from phistar.contact.surface import Parameters
from phistar.model import Model
from phistar.sim.implicit import ImplicitStep, Sides

MISSED = 1e-6  # of a gap, by Newton's method: beyond, the step is halved
SHORTEST = 1e-9  # s
ROUNDED = 4  # places between two bodies are taken by fours where there are more
FAR_AWAY = np.array([[1e-3], [1.0], *[[0.0]] * 3, [1.0], *[[0.0]] * 3])  # parameters of a place that fills a pattern
UP = np.array([0.0, 0.0, 1.0])


class State(NamedTuple):
    """q (nq,), v (nv,), and what every place of contact holds."""

    q: np.ndarray
    v: np.ndarray
    held: Held


class Forces(NamedTuple):
    """At n near places: forces (n, 4) along two tangents and the normal and about it, the gaps (n,) left at the step's
    end, and by how much Newton's method missed them."""

    force: np.ndarray
    gap: np.ndarray
    missed: np.ndarray


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

    def gaps(self, state: State, step: float) -> Gaps:
        """Every place that may be inside its margin before the step's end."""
        return self.nearness.gaps(self.nearness.sites.placed(state.q, state.v), step)

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
        sides, index = self._pattern(gaps)
        n, slot, (q, v, held) = len(sides), gaps.slot, state
        p = np.tile(FAR_AWAY, n)
        p[:, index] = np.stack([array[slot] for array in self.parameters])
        arrays = (
            _filled(n, index, gaps.distance, 1.0),
            _filled(n, index, gaps.point),
            _filled(n, index, gaps.normal, UP),
        )
        kept = [_filled(n, index, array[slot]) for array in held]
        taken = ImplicitStep(self.model, self.pairs.frames, sides)(q, v, tau, *arrays, p, *kept, step)
        forces = None
        if n:
            forces = Forces(taken.force[index], taken.gap[index], taken.missed[index])
            if not np.all(np.abs(forces.missed) < MISSED * forces.gap):
                return None
        held = self._kept(gaps, Held(taken.bristle[index], taken.twist[index], taken.touch_speed[index]))
        after = State(taken.q, taken.v, held)
        try:
            ahead = self.gaps(after, step)
        except Penetration:
            return None
        return Step(after, gaps, forces, ahead, ahead.nearest)

    def closing(self, state: State, gaps: Gaps) -> np.ndarray:
        """ḋ of each gap, (n,)."""
        if not len(gaps.slot):
            return np.zeros(0)
        placed = self.nearness.sites.placed(state.q, state.v)
        sides = _sides(self._numbers[gaps.bodies])
        return contact_map(gaps.point, bases_of(gaps.normal), placed.origins, sides)[:, 2] @ placed.motion

    def _nearest(self, gaps: Gaps) -> str:
        return self.pairs.slot_pair(int(gaps.slot[np.argmin(gaps.distance)])).name

    def _pattern(self, gaps: Gaps) -> tuple[Sides, np.ndarray]:
        """The near places filled up with far ones to a pattern that comes often, so that few are compiled: the sides of
        all, and where among them the near ones stand."""
        near = [tuple(pair) for pair in self._numbers[gaps.bodies].tolist()]
        sides: list[tuple[int, int]] = []
        index = np.zeros(len(near), dtype=int)
        for pair in sorted(set(near)):
            members = [i for i, own in enumerate(near) if own == pair]
            index[members] = range(len(sides), len(sides) + len(members))
            whole = self._slots_between[pair]
            count = whole if whole <= ROUNDED else min(whole, -(-len(members) // ROUNDED) * ROUNDED)
            sides += [pair] * max(count, len(members))
        return tuple(sides), index

    @cached_property
    def _slots_between(self) -> dict[tuple[int, int], int]:
        """How many places two bodies have in all."""
        found: dict[tuple[int, int], int] = {}
        for pair in self.pairs.pairs:
            key = tuple(self._numbers[[pair.a.body, pair.b.body]].tolist())
            found[key] = found.get(key, 0) + pair.slots
        return found

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


def _sides(numbers: np.ndarray) -> Sides:
    return tuple((a, b) for a, b in numbers.tolist())


def _filled(count: int, index: np.ndarray, near: np.ndarray, far: Any = 0.0) -> np.ndarray:
    """(count, …): the near ones where they belong, `far` elsewhere."""
    result = np.empty((count, *near.shape[1:]))
    result[...] = far
    result[index] = near
    return result
