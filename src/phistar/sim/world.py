"""A mechanism among things it can touch, moved step by step: implicit in the contact forces, one state at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.contact.axes import bases_of, contact_map
from phistar.contact.gaps import Gaps, Nearness, Penetration
from phistar.contact.pairs import Pairs
from phistar.contact.surface import Parameters, Surface
from phistar.model import Model
from phistar.sim.implicit import COLUMNS, HELD, MEASURED, ImplicitStep, Sides
from phistar.sim.stops import STOP, JointStops

MISSED = 1e-6  # of a gap, by Newton's method: beyond, the step is halved
SHORTEST = 1e-9  # s
ROUNDED = 4  # places between two bodies are taken by fours where there are more
MOST_PATTERNS = 4096  # that are remembered
KNOWN = MEASURED + HELD  # where the parameters of a row begin
FAR_AWAY = np.array([1.0, 0, 0, 0, 0, 0, 1.0, *[0.0] * HELD, 1e-3, 1.0, 0, 0, 0, 1.0, 0, 0, 0])  # fills a pattern


class State(NamedTuple):
    """q (nq,), v (nv,), and what every place of contact holds, (slots, 5): the bristle in world axes, the twist of a
    soft finger, and the speed of touching, 0 where nothing touches."""

    q: np.ndarray
    v: np.ndarray
    held: np.ndarray

    @property
    def touch_speed(self) -> np.ndarray:
        return self.held[:, 4]


class Forces(NamedTuple):
    """At n near places, `table` (n, 6): forces along two tangents and the normal and about it, the gap left at the
    step's end, and by how much Newton's method missed it."""

    table: np.ndarray

    @property
    def force(self) -> np.ndarray:
        return self.table[:, :4]

    @property
    def gap(self) -> np.ndarray:
        return self.table[:, 4]


class Step(NamedTuple):
    """A state after a step, the gaps before it with the forces there (None where nothing was near), the gaps after it,
    the smallest distance met on the way, and the forces (2s,) of the s joints' lower and upper stops."""

    state: State
    gaps: Gaps
    forces: Forces | None
    ahead: Gaps
    nearest: float
    stops: np.ndarray


class _Pattern(NamedTuple):
    """What is known of near places before their numbers are: the step, rows to fill in, and where they stand there."""

    step: ImplicitStep
    rows: np.ndarray
    slot: np.ndarray
    index: np.ndarray
    stops: np.ndarray


@dataclass(frozen=True)
class World:
    """A model, the pairs of shapes on it that may touch, and how its joints meet their limits (lengths are angles)."""

    pairs: Pairs
    stop: Surface = STOP

    @property
    def model(self) -> Model:
        return self.pairs.model

    @cached_property
    def nearness(self) -> Nearness:
        return Nearness(self.pairs)

    @cached_property
    def limits(self) -> JointStops:
        return JointStops(self.model, self.stop.margin)

    @cached_property
    def parameters(self) -> Parameters:
        """Of every slot."""
        return Parameters.of([pair.surface for pair in self.pairs.pairs for _ in range(pair.slots)])

    def start(self, q: Any, v: Any) -> State:
        """At rest against whatever touches; refused where a joint is at or beyond its limits."""
        model = self.model
        q, v = model.checked(q, model.nq, "q").copy(), model.checked(v, model.nv, "v").copy()
        self.limits.check(q)
        return State(q, v, np.zeros((self.pairs.slots, HELD)))

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
            raise Penetration(f"{self.nearest(gaps)} cannot be kept apart in steps as short as {step:.1e} s.")
        first = self.advance(state, tau, step / 2, gaps)
        second = self.advance(first.state, tau, step / 2, first.ahead)
        nearest = min(first.nearest, second.nearest)
        return second._replace(nearest=nearest)

    def _advance(self, state: State, tau: np.ndarray, step: float, gaps: Gaps) -> Step | None:
        room = self.limits.room(state.q)
        pattern = self._pattern(gaps.slots, self.limits.near(room, state.v, step))
        rows, near = pattern.rows.copy(), len(gaps.slots)
        if near:
            rows[pattern.index, :MEASURED] = gaps.table
            rows[pattern.index, MEASURED:KNOWN] = state.held[pattern.slot]
        if len(pattern.stops):
            rows[-len(pattern.stops) :, 0] = room[pattern.stops]
        taken = pattern.step(state.q, state.v, tau, rows, np.array([step]))
        if len(rows) and not (np.abs(taken.force[:, 5]) < MISSED * taken.force[:, 4]).all():
            return None
        held, forces = np.zeros((self.pairs.slots, HELD)), None
        if near:  # places that were not near forget
            held[pattern.slot] = taken.held[pattern.index]
            forces = Forces(taken.force[pattern.index])
        stopping = np.zeros(len(room))
        if len(room):
            stopping[pattern.stops] = taken.force[len(rows) - len(pattern.stops) :, 2]
            if not self.limits.room(taken.q).min() > 0.0:
                return None
        after = State(taken.q, taken.v, held)
        try:
            ahead = self.gaps(after, step)
        except Penetration:
            return None
        return Step(after, gaps, forces, ahead, ahead.nearest, stopping)

    def closing(self, state: State, gaps: Gaps) -> np.ndarray:
        """ḋ of each gap, (n,)."""
        if not gaps.slots:
            return np.zeros(0)
        placed = self.nearness.sites.placed(state.q, state.v)
        sides = tuple(self._slot_sides[slot] for slot in gaps.slots)
        return contact_map(gaps.point, bases_of(gaps.normal), placed.origins, sides)[:, 2] @ placed.motion

    def nearest(self, gaps: Gaps) -> str:
        """What is nearest to meeting."""
        if not gaps.slots:
            return f"the joints of {self.model.name} and their stops"
        return self.pairs.slot_pair(int(gaps.slots[np.argmin(gaps.distance)])).name

    def _pattern(self, slots: tuple[int, ...], stops: tuple[int, ...]) -> _Pattern:
        found = self._patterns.get((slots, stops))
        if found is None:
            if len(self._patterns) >= MOST_PATTERNS:
                self._patterns.clear()
            sides, index = self._filled(slots)
            step = ImplicitStep(self.model, self.pairs.frames, sides, self.limits.chosen(stops))
            rows = np.empty((step.count, COLUMNS))
            rows[...] = FAR_AWAY
            slot = np.array(slots, dtype=int)
            rows[index, KNOWN:] = np.stack([array[slot] for array in self.parameters], axis=-1)
            rows[len(sides) :, KNOWN:] = np.stack(Parameters.of([self.stop] * len(stops)), axis=-1)
            found = self._patterns[slots, stops] = _Pattern(step, rows, slot, index, np.array(stops, dtype=int))
        return found

    @cached_property
    def _patterns(self) -> dict[tuple[tuple[int, ...], tuple[int, ...]], _Pattern]:
        return {}

    def _filled(self, slots: tuple[int, ...]) -> tuple[Sides, np.ndarray]:
        """The near places filled up with far ones to a pattern that comes often, so that few are compiled: the sides of
        all, and where among them the near ones stand."""
        near = [self._slot_sides[slot] for slot in slots]
        sides: list[tuple[int, int]] = []
        index = np.zeros(len(near), dtype=int)
        for pair in sorted(set(near)):
            members = [i for i, own in enumerate(near) if own == pair]
            index[members] = range(len(sides), len(sides) + len(members))
            whole = self._slot_sides.count(pair)
            count = whole if whole <= ROUNDED else min(whole, -(-len(members) // ROUNDED) * ROUNDED)
            sides += [pair] * max(count, len(members))
        return tuple(sides), index

    @cached_property
    def _slot_sides(self) -> Sides:
        """Of every slot: the bodies of a and b, by their number among those that can be touched; the world is −1."""
        numbers = {body: number for number, body in enumerate(self.pairs.bodies)} | {-1: -1}
        pairs = self.pairs.pairs
        return tuple((numbers[pair.a.body], numbers[pair.b.body]) for pair in pairs for _ in range(pair.slots))
