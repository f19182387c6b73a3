"""Methods of fixed step. Each is a table of weights (α, β) and one stage, repeated over the table. Runge-Kutta's is

    k = f(y),   y ← x + hα k,   s ← s + hβ k      starting from y = s = x,

after which s, with its quaternions normalised, is the next state. f is (q̇, θ̈) in the embedding, where quaternions
are four numbers; the dynamics sees them normalised. The joint forces u are held over a step. A method that keeps
momentum works, where a robot floats, on its momentum instead of its base's velocity (`phistar.sim.floating`); the state
x, y, s is then z.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.errors import UnknownNameError
from phistar.model import Model
from phistar.sim.coordinates import Coordinates
from phistar.sim.floating import Floating, floats

ITERATIONS = 10
"""Fixed-point iterations of the implicit midpoint rule: at hL/2 = 0.03, with L what f multiplies differences by, the
rest is below rounding."""

Acceleration = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # (q, v, u) → θ̈
Made = Mapping[str, np.ndarray]  # the new y and s


@dataclass(frozen=True)
class Flow:
    """A mechanism in motion: its coordinates, and its acceleration under joint forces and whatever is passive."""

    coordinates: Coordinates
    acceleration: Acceleration
    floating: Floating | None = None  # where y is not (q, v) but z

    def __call__(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        """f(y) = (q̇, θ̈), (…, nq + nv); or ż."""
        if self.floating is not None:
            return self.floating.rate(y, u, self.acceleration)
        q, v = self.coordinates.split(y)
        rate = self.coordinates.rate(q, v)
        return np.concatenate([rate, self.acceleration(self.coordinates.unit(q), v, u)], axis=-1)

    def finish(self, s: np.ndarray) -> np.ndarray:
        """The next state."""
        places = s[..., : self.coordinates.model.nq]
        return np.concatenate([self.coordinates.unit(places), s[..., self.coordinates.model.nq :]], axis=-1)


def runge_kutta_stage(flow: Flow, x: Any, y: Any, s: Any, u: Any, h: Any, alpha: Any, beta: Any) -> Made:
    """k = f(y), y ← x + hα k, s ← s + hβ k."""
    k = flow(y, u)
    return {"y": x + (h * alpha) * k, "s": s + (h * beta) * k}


def midpoint_stage(flow: Flow, x: Any, y: Any, s: Any, u: Any, h: Any, alpha: Any, beta: Any) -> Made:
    """s ← x + h f(y), y ← ½(x + s): at the fixed point y is the middle of the step."""
    k = flow(y, u)
    if flow.floating is None:
        return {"y": x + (h * 0.5) * k, "s": x + h * k}
    after = flow.floating.correct_energy(x, x + h * k)
    return {"y": 0.5 * (x + after), "s": after}


def semi_implicit_stage(flow: Flow, x: Any, y: Any, s: Any, u: Any, h: Any, alpha: Any, beta: Any) -> Made:
    """v' = v + h θ̈(q, v), q' = q ⊕ h v'."""
    q, v = flow.coordinates.split(y)
    after = v + h * flow.acceleration(q, v, u)
    return {"y": y, "s": np.concatenate([flow.coordinates.add(q, h * after), after], axis=-1)}


@dataclass(frozen=True)
class Method:
    """A stage and its table."""

    stage: Callable[..., Made]
    weights: tuple[tuple[float, float], ...]
    keeps_momentum: bool = False  # whether it works on z where a robot floats

    def floating(self, model: Model) -> Floating | None:
        """The coordinates it works in, if not (q, v)."""
        return Floating(model) if self.keeps_momentum and floats(model) else None

    def step(self, flow: Flow, x: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
        """One step from x, (…, nq + nv): what the compiled time loop does."""
        made: Made = {"y": x, "s": x}
        for row in self.weights:
            made = self.stage(flow, x, made["y"], made["s"], u, h, *row)
        return flow.finish(made["s"])


METHODS: Mapping[str, Method] = {
    "euler": Method(semi_implicit_stage, ((0.0, 0.0),)),
    "midpoint": Method(midpoint_stage, ((0.0, 0.0),) * (ITERATIONS + 1), keeps_momentum=True),
    "rk4": Method(runge_kutta_stage, ((1 / 2, 1 / 6), (1 / 2, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6))),
}


def method_named(name: str) -> Method:
    if name not in METHODS:
        raise UnknownNameError(f"There is no method {name!r}; choose from {', '.join(sorted(METHODS))}.")
    return METHODS[name]
