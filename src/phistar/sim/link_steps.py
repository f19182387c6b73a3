"""Integration of each link's own joints in a step of a rollout, traced once per kind of link.

The stage of a method is run on one link, twice: first to see where the dynamics is asked for, then with its answer. Of
a compound link, θ̇ = Xv of its members are made of its independent rates, and its loops are closed again after a step:
both are matters of the link alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phistar.backends.rolled.built_kinds import BuiltKind
from phistar.backends.rolled.plan import Plan
from phistar.backends.rolled.recorder import Step
from phistar.backends.rolled.steps import Kind
from phistar.backends.traces.arrays import sign
from phistar.backends.traces.trace import Scalar, Tape, finish
from phistar.loops.tree_rates import link_closing
from phistar.model import Model
from phistar.sim.closing import NEWTON_STEPS
from phistar.sim.coordinates import Coordinates
from phistar.sim.integrators import Flow, Method
from phistar.sim.passive import coulomb_force, smooth_force
from phistar.spatial import times, transposed
from phistar.sweeps.lower import GIVEN

CLOCK, WEIGHTS, GAINS, FORCES = "clock", "weights", "gains", "u"
STATE = ("xq", "xv", "yq", "yv", "sq", "sv")
AnyKind = Kind | BuiltKind


def members_of(kind: AnyKind) -> Model:
    """The bodies of a link of some kind, by themselves."""
    return kind.model if isinstance(kind, Kind) else kind.members


@dataclass(frozen=True, eq=False)
class LinkSteps:
    """The steps of a method; `forces`: whether there are joint forces, `acting`: which numbers of passive ones."""

    plan: Plan
    method: Method
    forces: bool
    acting: tuple[str, ...]

    def begin(self, kind: AnyKind) -> Step:
        """y, s ← x."""
        return self.step(kind, lambda at: {**at.split("y", at.x), **at.split("s", at.x)})

    def ask(self, kind: AnyKind) -> Step:
        """q, θ̇ and the joint forces that the stage asks the acceleration for."""

        def arguments(at: OwnState) -> Mapping[str, Any]:
            asked = {}

            def acceleration(q: Any, v: Any, u: Any) -> Any:
                asked.update({"q": q, GIVEN["v"]: v, GIVEN["T"]: u + at.passive(q, v)})
                return v

            self.stage(at, acceleration)
            return asked

        return self.step(kind, arguments)

    def advance(self, kind: AnyKind) -> Step:
        """y and s, with θ̈ known."""

        def values(at: OwnState) -> Mapping[str, Any]:
            found = self.stage(at, lambda q, v, u: at.acceleration)
            return {**at.split("y", found["y"]), **at.split("s", found["s"])}

        return self.step(kind, values)

    def finish(self, kind: AnyKind) -> Step:
        """x, y, s ← the next state, its loops closed."""

        def values(at: OwnState) -> Mapping[str, Any]:
            after = at.close_loops(Flow(at.coordinates, _none).finish(at.s))
            return {name: value for each in ("x", "y", "s") for name, value in at.split(each, after).items()}

        return self.step(kind, values)

    def stage(self, at: OwnState, acceleration: Callable[..., Any]) -> Mapping[str, Any]:
        flow = Flow(at.coordinates, acceleration)
        step = at.clock[1:] - at.clock[:1]
        return self.method.stage(flow, at.x, at.y, at.s, at.forces, step, at.weights[:1], at.weights[1:])

    def step(self, kind: AnyKind, function: Callable[[OwnState], Mapping[str, Any]]) -> Step:
        """Trace a function of a link's numbers as a step of a sweep; values left in place are not written."""
        tape, members, rates = Tape(), members_of(kind), kind.sizes[1]
        sizes = {name: members.nq if name.endswith("q") else rates for name in STATE}
        (result,) = (name for name, _ in self.plan.program.outputs)
        sizes |= dict.fromkeys(self.acting, members.nv)
        sizes |= dict.fromkeys((result, *([FORCES] if self.forces else [])), rates)
        places = [("own", name, i) for name, size in sizes.items() for i in range(size)]
        places += [("flat", name, i) for name in (CLOCK, WEIGHTS) for i in range(2)]
        constants = kind.constants if isinstance(kind, BuiltKind) else 0
        places += [("constant", "", i) for i in range(constants)]
        entries = tape.inputs((len(places),))
        known = {name: _entries_named(entries, places, name) for name in (*sizes, CLOCK, WEIGHTS, "")}
        made = function(OwnState(kind, known, self.acting, known[result]))
        outputs = [(("own", name, i), x) for name, value in made.items() for i, x in enumerate(np.asarray(value))]
        at = {place: entries[i].index for i, place in enumerate(places)}
        kept = [(place, x) for place, x in outputs if not (isinstance(x, Scalar) and at.get(place) == x.index)]
        return Step(finish(tape, [x for _, x in kept]), tuple(places), tuple(place for place, _ in kept))


@dataclass(frozen=True, eq=False)
class OwnState:
    """A link's numbers in memory."""

    kind: AnyKind
    known: Mapping[str, np.ndarray]
    acting: tuple[str, ...]
    acceleration: np.ndarray
    placed: dict[tuple[int, ...], Any] = field(default_factory=dict)

    @property
    def x(self) -> np.ndarray:
        return self._state("x")

    @property
    def y(self) -> np.ndarray:
        return self._state("y")

    @property
    def s(self) -> np.ndarray:
        return self._state("s")

    @property
    def clock(self) -> np.ndarray:
        return self.known[CLOCK]

    @property
    def weights(self) -> np.ndarray:
        return self.known[WEIGHTS]

    @property
    def forces(self) -> np.ndarray:
        return self.known.get(FORCES, np.zeros(self.kind.sizes[1]))

    @property
    def coordinates(self) -> Coordinates:
        return Coordinates(members_of(self.kind), self._tree_rates if self._compound else None)

    @property
    def _compound(self) -> bool:
        return isinstance(self.kind, BuiltKind) and self.kind.link.is_compound

    def _state(self, name: str) -> np.ndarray:
        return np.concatenate([self.known[f"{name}q"], self.known[f"{name}v"]])

    def split(self, name: str, value: np.ndarray) -> dict[str, np.ndarray]:
        """q and v of a state, named as in memory."""
        size = members_of(self.kind).nq
        return {f"{name}q": value[:size], f"{name}v": value[size:]}

    def _links_at(self, q: np.ndarray) -> tuple[Any, int]:
        """The mechanism of a compound link at its own coordinates, made once for each."""
        assert isinstance(self.kind, BuiltKind)
        key = tuple(x.index for x in q)
        if key not in self.placed:
            self.placed[key] = self.kind.alone_at(self.known[""], q)
        return self.placed[key]

    def _tree_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Xv."""
        links, own = self._links_at(q)
        return times(links.map(own), v)

    def close_loops(self, state: np.ndarray) -> np.ndarray:
        """A state with the link's loops closed again, by Newton's method."""
        coordinates, size = self.coordinates, members_of(self.kind).nq
        if not self._compound:
            return state
        q = state[:size]
        links, own = self._links_at(q)
        if links.embedding.is_free(own):
            return state
        for _ in range(NEWTON_STEPS + 1):
            links, own = self._links_at(q)
            q = coordinates.unit(coordinates.moved_tree(q, link_closing(links, own)[0]))
        return np.concatenate([q, state[size:]])

    def passive(self, q: Any, v: Any) -> Any:
        """Passive joint forces as in `Passive`, with the joints' numbers from memory."""
        members, found = members_of(self.kind), {name: self.known[name] for name in self.acting}
        bent = [body for body in members.bodies if body.flexible is not None]
        if not found and not bent:
            return np.zeros(self.kind.sizes[1])
        none, rates = np.zeros(members.nv), self._tree_rates(q, v) if self._compound else v
        result: Any = none
        if "damping" in found or "stiffness" in found:
            deflection = self._deflection(q, found["rest"]) if "stiffness" in found else none
            result = smooth_force(found.get("damping", none), found.get("stiffness", none), deflection, rates)
        if "ahead" in found:
            result = result + coulomb_force(found["ahead"], found["back"], sign(rates))
        if bent:
            result = np.array(result, dtype=object)
            for body in bent:
                own = body.flexible.elastic_force(q[body.mode_q_slice], rates[body.mode_slice])  # type: ignore[union-attr]
                result[body.mode_slice] = result[body.mode_slice] + own
        if not self._compound:
            return result
        links, own = self._links_at(q)
        return times(transposed(links.map(own)), result)

    def _deflection(self, q: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """q ⊖ rest where coordinates are flat; no spring acts on others."""
        flat_q, flat_v = self.coordinates.flat
        result = np.zeros(len(rest), dtype=object)
        result[flat_v] = q[flat_q] - rest[flat_v]
        return result


def _entries_named(entries: np.ndarray, places: list[Any], name: str) -> np.ndarray:
    return entries[[i for i, place in enumerate(places) if place[1] == name]]


def _none(q: Any, v: Any, u: Any) -> Any:
    return v
