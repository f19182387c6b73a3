"""A mechanism among things it can touch, moved step by step: implicit in the contact forces, one state at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.contact.forces import HELD, MEASURED, Solved, compiled_forces
from phistar.contact.gaps import Gaps, Nearness, Penetration
from phistar.contact.pairs import Pairs
from phistar.contact.surface import Parameters, Surface
from phistar.model import Model
from phistar.sim.closing import check_closed
from phistar.sim.implicit import ImplicitStep
from phistar.sim.stops import STOP, JointStops

MISSED = 1e-6  # of a gap, by Newton's method: beyond, the step is halved
SHORTEST = 1e-9  # s
FEWEST = 4  # places the forces are compiled for; where more are near, twice as many, and so on


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
    step's end, and by how much Newton's method missed it; `axes` (n, 9): those tangents and the normal."""

    table: np.ndarray
    axes: np.ndarray

    @property
    def force(self) -> np.ndarray:
        return self.table[:, :4]

    @property
    def gap(self) -> np.ndarray:
        return self.table[:, 4]


class Step(NamedTuple):
    """A state after a step, the gaps before it with the forces there (None where nothing was near), the gaps after it,
    the smallest distance met on the way, and the forces (2s,) of the s joints' lower and upper stops; `unsettled` is
    by which part of the largest force friction still changed when its rounds ran out, 0 where it had settled. Of a
    step that was made in parts, gaps and forces are those of the last; `parts` has all, with their lengths."""

    state: State
    gaps: Gaps
    forces: Forces | None
    ahead: Gaps
    nearest: float
    stops: np.ndarray
    unsettled: float
    parts: tuple[tuple[float, Step], ...] = ()


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

    @property
    def limits(self) -> JointStops:
        return self.dynamics.limits

    @cached_property
    def parameters(self) -> Parameters:
        """Of every slot."""
        return Parameters.of([pair.surface for pair in self.pairs.pairs for _ in range(pair.slots)])

    @cached_property
    def frictions(self) -> list[float]:
        """μ of every slot."""
        return self.parameters.friction.tolist()

    def start(self, q: Any, v: Any) -> State:
        """At rest against whatever touches; refused where a joint is at or beyond its limits, or a loop is open."""
        model = self.model
        q, v = model.checked(q, model.nq, "q").copy(), model.checked(v, model.nv, "v").copy()
        self.limits.check(q)
        check_closed(model, q, v)
        return State(q, v, np.zeros((self.pairs.slots, HELD)))

    @cached_property
    def dynamics(self) -> ImplicitStep:
        return ImplicitStep(self.model)

    def gaps(self, state: State, step: float, before: Gaps | None = None) -> Gaps:
        """Every place that may be inside its margin before the step's end; `before` are gaps of a state shortly
        before."""
        return self.nearness.gaps(state.q, state.v, step, before)

    def advance(self, state: State, tau: np.ndarray, step: float, gaps: Gaps | None = None) -> Step:
        """v⁺ = v + h ℳ⁻¹(T − 𝒞 − 𝒢 + J*f⁺), q⁺ = q ⊕ h v⁺; in halves where Newton's method misses or bodies would meet.

        `gaps` are those of the state, where they are known: `Step.ahead` of the step before.
        """
        gaps = self.gaps(state, step) if gaps is None else gaps
        whole = self._advance(state, tau, step, gaps)
        if whole is not None:
            return whole
        if step < SHORTEST:
            raise Penetration(
                f"{self.nearest(state, gaps)} cannot be kept apart in steps as short as {step:.1e} s: they come too "
                "fast for their surface. Raise its strength to about m v²/(10 margin), in N."
            )
        first = self.advance(state, tau, step / 2, gaps)
        second = self.advance(first.state, tau, step / 2, first.ahead)
        parts = (*(first.parts or ((step / 2, first),)), *(second.parts or ((step / 2, second),)))
        nearest, unsettled = min(first.nearest, second.nearest), max(first.unsettled, second.unsettled)
        return second._replace(nearest=nearest, unsettled=unsettled, parts=parts)

    def _advance(self, state: State, tau: np.ndarray, step: float, gaps: Gaps) -> Step | None:
        dynamics, h, near = self.dynamics, np.array([step]), len(gaps.slots)
        solved = self._solved(state, dynamics.free(state.q, state.v, tau, h), step, gaps)
        if not solved.report[0] < MISSED:
            return None
        q, v, room = dynamics.after(state.q, solved.w, solved.momenta.reshape(-1), h)
        if not room[0] > 0.0:
            return None
        after = State(q, v, solved.held)
        try:
            ahead = self.gaps(after, step, gaps)
        except Penetration:
            return None
        forces = Forces(solved.forces[:near], solved.axes[:near]) if near else None
        return Step(after, gaps, forces, ahead, ahead.nearest, solved.pushes, float(solved.report[1]))

    def _solved(self, state: State, free: Any, step: float, gaps: Gaps) -> Solved:
        """The forces at the near places and what they make of the rates."""
        near, room = len(gaps.slots), FEWEST
        while room < near:
            room *= 2
        table, slots = np.zeros((room, MEASURED)), np.zeros(room)
        if near:
            table[:near], slots[:near] = gaps.table, gaps.slots
        given = np.array([step, near]), table.reshape(-1), slots, state.held.reshape(-1), *self._fixed, state.q
        return Solved(*compiled_forces(room, *self._sizes)(*given, *free)[: len(Solved._fields)])

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """What the loops that find forces are compiled for, besides the places that there is room for."""
        model, stops, roots = self.model, len(self.limits.names), self.dynamics.trees
        return model.nv, model.nq, stops, self.pairs.slots, roots, len(model.bodies) + 1

    @cached_property
    def _fixed(self) -> tuple[np.ndarray, ...]:
        """What never changes, flat: of slots their parameters, the numbers of bodies a and b (0 is the world) and the
        rates of their trees, from and to; of bodies, which rates move them (bodies + 1, nv) and the number of their
        free tree; stops and their surface; the bounds of dry friction."""
        model, tree = self.model, _trees(self.model)
        sides = [(p.a.body, p.b.body) for p in self.pairs.pairs for _ in range(p.slots)]
        masks, spans = np.zeros((len(model.bodies) + 1, model.nv)), []
        for body, parent in enumerate(model.parents):
            masks[body + 1] = masks[parent + 1]
            masks[body + 1, model.joints[body].v_slice] = 1.0
        for a, b in sides:
            spans.append((*tree[a + 1], *(tree[b + 1] if tree[b + 1] != tree[a + 1] else (0, 0))))
        dry = np.concatenate([np.zeros((2, 0)), *(joint.kind.friction for joint in model.joints)], axis=-1)
        surface = np.stack(Parameters.of([self.stop]), axis=-1)
        arrays = (np.stack(self.parameters, axis=-1), np.array(sides).reshape(-1, 2) + 1, np.array(spans))
        arrays += (masks, np.array([-1, *self.dynamics.roots.tree]), self.limits.table, surface, dry)
        return tuple(np.ascontiguousarray(x, dtype=float).reshape(-1) for x in arrays)

    def closing(self, state: State, gaps: Gaps) -> np.ndarray:
        """ḋ of each gap, (n,): along the normal, how fast a moves against b at the point between them."""
        if not gaps.slots:
            return np.zeros(0)
        _, origins, motion = self.nearness.sites.motions(state.q, state.v)
        origins, motion = np.append(origins.reshape(-1, 3), [np.zeros(3)], 0), motion.reshape(-1, 6)
        motion, sides = np.append(motion, [np.zeros(6)], 0), self._slot_sides[gaps.slot]
        moved = [motion[side, 3:] + np.cross(motion[side, :3], gaps.point - origins[side]) for side in sides.T]
        return np.sum(gaps.normal * (moved[0] - moved[1]), axis=-1)

    def nearest(self, state: State, gaps: Gaps) -> str:
        """What meets first if all goes on as it does; where nothing closes, what is nearest."""
        if not gaps.slots:
            return f"the joints of {self.model.name} and their stops"
        closing = np.maximum(-self.closing(state, gaps), 1e-12)
        return self.pairs.slot_pair(int(gaps.slots[np.argmin(gaps.distance / closing)])).name

    @cached_property
    def _slot_sides(self) -> np.ndarray:
        """(slots, 2): the bodies of a and b, by their number among those that can be touched; the world is −1."""
        numbers = {body: number for number, body in enumerate(self.pairs.bodies)} | {-1: -1}
        pairs = self.pairs.pairs
        return np.array([(numbers[p.a.body], numbers[p.b.body]) for p in pairs for _ in range(p.slots)], dtype=int)


def _trees(model: Model) -> list[tuple[int, int]]:
    """Of the world and of every body: the rates of its tree, from and to; with loops all hang together."""
    if model.loops:
        return [(0, 0), *[(0, model.nv)] * len(model.bodies)]
    root: list[int] = []
    ends: dict[int, tuple[int, int]] = {}
    for body, parent in enumerate(model.parents):
        root.append(body if parent < 0 else root[parent])
        own = model.joints[body].v_slice
        start, stop = ends.get(root[-1], (own.start, own.stop))
        ends[root[-1]] = min(start, own.start), max(stop, own.stop)
    return [(0, 0), *(ends[number] for number in root)]
