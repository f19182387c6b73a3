"""Integration of each link's own joint in a step of a rollout, traced once per kind of link.

The stage of a method is run on one joint, twice: first to see where the dynamics is asked for, then with its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.rolled.plan import Plan
from phistar.backends.rolled.steps import Kind, Step
from phistar.backends.traces.arrays import sign
from phistar.backends.traces.trace import Scalar, Tape, finish
from phistar.sim.coordinates import Coordinates
from phistar.sim.integrators import Flow, Method
from phistar.sim.passive import coulomb_force, smooth_force
from phistar.sweeps.lower import GIVEN

CLOCK, WEIGHTS, GAINS, FORCES = "clock", "weights", "gains", "u"
STATE = ("xq", "xv", "yq", "yv", "sq", "sv")


@dataclass(frozen=True, eq=False)
class LinkSteps:
    """The steps of a method; `forces`: whether there are joint forces, `acting`: which numbers of passive ones."""

    plan: Plan
    method: Method
    forces: bool
    acting: tuple[str, ...]

    def begun(self, kind: Kind) -> Step:
        """y, s ← x."""
        return self.step(kind, lambda at: {**_split("y", kind, at.x), **_split("s", kind, at.x)})

    def asked(self, kind: Kind) -> Step:
        """q, θ̇ and the joint forces that the stage asks the acceleration for."""

        def made(at: Joint) -> Mapping[str, Any]:
            asked = {}

            def acceleration(q: Any, v: Any, u: Any) -> Any:
                asked.update({"q": q, GIVEN["v"]: v, GIVEN["T"]: u + self.passive(kind, q, v, at)})
                return v

            self.staged(kind, at, acceleration)
            return asked

        return self.step(kind, made)

    def advanced(self, kind: Kind) -> Step:
        """y and s, with θ̈ known."""

        def made(at: Joint) -> Mapping[str, Any]:
            found = self.staged(kind, at, lambda q, v, u: at.acceleration)
            return {**_split("y", kind, found["y"]), **_split("s", kind, found["s"])}

        return self.step(kind, made)

    def finished(self, kind: Kind) -> Step:
        """x, y, s ← the next state."""

        def made(at: Joint) -> Mapping[str, Any]:
            after = Flow(Coordinates(kind.model), _none).finish(at.s)
            return {name: value for each in ("x", "y", "s") for name, value in _split(each, kind, after).items()}

        return self.step(kind, made)

    def staged(self, kind: Kind, at: Joint, acceleration: Callable[..., Any]) -> Mapping[str, Any]:
        flow = Flow(Coordinates(kind.model), acceleration)
        step = at.clock[1:] - at.clock[:1]
        return self.method.stage(flow, at.x, at.y, at.s, at.forces, step, at.weights[:1], at.weights[1:])

    def passive(self, kind: Kind, q: Any, v: Any, at: Joint) -> Any:
        """Passive joint forces as in `Passive`, with the joint's numbers from memory."""
        found, none = at.passive, np.zeros(kind.model.nv)
        result: Any = none
        if "damping" in found or "stiffness" in found:
            springy = "stiffness" in found and kind.model.joints[0].kind.flat
            deflection = q - found["rest"] if springy else none
            result = smooth_force(found.get("damping", none), found.get("stiffness", none), deflection, v)
        return result + coulomb_force(found["ahead"], found["back"], sign(v)) if "ahead" in found else result

    def step(self, kind: Kind, function: Callable[[Joint], Mapping[str, Any]]) -> Step:
        """Trace a function of a joint's numbers as a step of a sweep; values left in place are not written."""
        tape, joint = Tape(), kind.model.joints[0].kind
        sizes = {name: joint.nq if name.endswith("q") else joint.nv for name in STATE}
        (result,) = (name for name, _ in self.plan.program.outputs)
        sizes |= dict.fromkeys((*self.acting, result, *([FORCES] if self.forces else [])), joint.nv)
        places = [("own", name, i) for name, size in sizes.items() for i in range(size)]
        places += [("flat", name, i) for name in (CLOCK, WEIGHTS) for i in range(2)]
        entries = tape.inputs((len(places),))
        known = {name: _chosen(entries, places, name) for name in (*sizes, CLOCK, WEIGHTS)}
        made = function(Joint(known, self.acting, known[result], joint.nv))
        outputs = [(("own", name, i), x) for name, value in made.items() for i, x in enumerate(np.asarray(value))]
        at = {place: entries[i].index for i, place in enumerate(places)}
        kept = [(place, x) for place, x in outputs if not (isinstance(x, Scalar) and at.get(place) == x.index)]
        return Step(finish(tape, [x for _, x in kept]), tuple(places), tuple(place for place, _ in kept))


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint's numbers in memory."""

    known: Mapping[str, np.ndarray]
    acting: tuple[str, ...]
    acceleration: np.ndarray
    nv: int

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
        return self.known.get(FORCES, np.zeros(self.nv))

    @property
    def passive(self) -> dict[str, np.ndarray]:
        return {name: self.known[name] for name in self.acting}

    def _state(self, name: str) -> np.ndarray:
        return np.concatenate([self.known[f"{name}q"], self.known[f"{name}v"]])


def _chosen(entries: np.ndarray, places: list[Any], name: str) -> np.ndarray:
    return entries[[i for i, place in enumerate(places) if place[1] == name]]


def _split(name: str, kind: Kind, value: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{name}q": value[: kind.model.nq], f"{name}v": value[kind.model.nq :]}


def _none(q: Any, v: Any, u: Any) -> Any:
    return v
