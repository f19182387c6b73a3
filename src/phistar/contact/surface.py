"""What happens where two bodies touch: the parameters of a pair of surfaces, and the normal force of WD89 §2.5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from scipy.optimize import root_scalar

from phistar.errors import ModelError
from phistar.spatial.value import Value

FADE = 0.25  # of the margin: damping fades in over it, so that forces do not jump when bodies come near


@final
@dataclass(frozen=True, eq=False, repr=False)
class Surface(Value):
    """f = K_p(ε − d)/d − K_d ḋ along the normal for gaps d < ε, so that bodies never meet (WD89 §2.5).

    `margin` ε in m, `strength` K_p in N, `damping` K_d in N s/m. Where the law as printed jumps and pulls, its damping
    fades in and the force is clamped at zero; `pulls` keeps it as printed. With a `restitution` e in place of the
    damping, a body leaves at e times the speed it came with. `friction` μ is Coulomb's, held by bristles of
    `bristle_stiffness` N/m and `bristle_damping` N s/m, so that what sticks does not creep; `patch` in m is the radius
    of a soft finger: it resists turning up to μ f · patch.
    """

    margin: float = 2e-3
    strength: float = 15.0
    damping: float = 200.0
    restitution: float | None = None
    friction: float = 0.5
    bristle_stiffness: float = 2e4
    bristle_damping: float = 200.0
    patch: float = 0.0
    pulls: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.pulls, bool):
            raise ModelError(f"A surface needs pulls true or false; it was given {self.pulls!r}.")
        for name in ("margin", "strength", "bristle_stiffness"):
            self._check(name, "greater than 0", lambda x: x > 0.0)
        for name in ("damping", "friction", "bristle_damping", "patch"):
            self._check(name, "0 or more", lambda x: x >= 0.0)
        if self.restitution is not None:
            self._check("restitution", "above 0 and at most 1", lambda x: 0.0 < x <= 1.0)
            if self.pulls:
                raise ModelError("A surface pulls, as WD89 prints the law, or has a restitution; it was given both.")

    def _check(self, name: str, expected: str, holds: Any) -> None:
        value = getattr(self, name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and np.isfinite(value) and holds(value)):
            raise ModelError(f"A surface needs {name} {expected}; it was given {value!r}.")

    @cached_property
    def dissipation(self) -> float:
        """α with f = f_e(d)(1 − α ḋ/v), v the speed of touching: m v dv = −f dδ has the same potential before and
        after when α − ln(1 + α) = −αe − ln(1 − αe), whatever the elastic law f_e (Hunt and Crossley 1975)."""
        e = self.restitution
        if e is None or e == 1.0:
            return 0.0

        def imbalance(alpha: float) -> float:
            return alpha - np.log1p(alpha) + alpha * e + np.log1p(-alpha * e)

        largest = (1.0 - 1e-15) / e
        if imbalance(largest) >= 0.0:  # e < 0.03: the root is nearer to 1/e than numbers can be
            return largest
        return float(root_scalar(imbalance, bracket=(1e-6, largest)).root)


class Parameters(NamedTuple):
    """The numbers of surfaces as arrays, an entry per place of contact."""

    margin: np.ndarray
    strength: np.ndarray
    damping: np.ndarray
    dissipation: np.ndarray
    friction: np.ndarray
    bristle_stiffness: np.ndarray
    bristle_damping: np.ndarray
    patch: np.ndarray
    pulls: np.ndarray

    @staticmethod
    def of(surfaces: Sequence[Surface]) -> Parameters:
        rows = [[float(getattr(s, name)) for name in Parameters._fields] for s in surfaces]
        table = np.array(rows).reshape(-1, len(Parameters._fields))
        table[:, 2] *= [s.restitution is None for s in surfaces]
        return Parameters(*table.T)


# The law of one place of contact: loops that are compiled, see backends/code/native.py. `surface` (n, 9) has a row of
# Parameters a place.

MARGIN, STRENGTH, DAMPING, DISSIPATION, FRICTION, STIFFNESS, BRISTLE_DAMPING, PATCH, PULLS = range(9)


def push(surface: Any, i: int, gap: float, rate: float, touch: float) -> float:
    """f = f_e(1 − α ḋ/v) − K_d ḋ, f_e = K_p(ε − d)/d, along the normal for a gap d that changes at ḋ."""
    elastic = surface[i, STRENGTH] * max(surface[i, MARGIN] - gap, 0.0) / gap
    lively = 1.0 - surface[i, DISSIPATION] * rate / touch
    force = elastic * lively - surface[i, DAMPING] * fade(surface, i, gap) * rate
    return force if surface[i, PULLS] > 0.5 else max(force, 0.0)


def push_slope(surface: Any, i: int, gap: float, rate: float, touch: float, step: float) -> float:
    """−df/dd⁺ ≥ 0 of an implicit step, where ḋ⁺ = (d⁺ − d)/h: what Newton's method divides by."""
    inside = 1.0 if surface[i, MARGIN] > gap else 0.0
    elastic = inside * surface[i, STRENGTH] * (surface[i, MARGIN] - gap) / gap
    slope = inside * surface[i, STRENGTH] * surface[i, MARGIN] / (gap * gap)
    lively = 1.0 - surface[i, DISSIPATION] * rate / touch
    damping = surface[i, DAMPING] * fade(surface, i, gap)
    pushes = surface[i, PULLS] > 0.5 or elastic * lively - damping * rate > 0.0
    stiffness = slope * max(lively, 0.0) + (elastic * surface[i, DISSIPATION] / touch + damping) / step
    return stiffness if pushes else 0.0


def fade(surface: Any, i: int, gap: float) -> float:
    """0 outside the margin, 1 well inside it."""
    inside = surface[i, MARGIN] - gap
    printed = 1.0 if inside > 0.0 else 0.0
    return printed if surface[i, PULLS] > 0.5 else min(max(inside / (FADE * surface[i, MARGIN]), 0.0), 1.0)


LAW = (fade, push, push_slope)


def normal_force(p: Parameters, gap: Any, rate: Any, touch_speed: Any) -> np.ndarray:
    """The law at n places, (n,)."""
    table = np.stack(p, axis=-1)
    return np.array([push(table, i, *x) for i, x in enumerate(zip(gap, rate, touch_speed, strict=True))])


def normal_energy(p: Parameters, gap: Any) -> Any:
    """K_p(ε ln(ε/d) − (ε − d)) within the margin: what the elastic force keeps, and gives back."""
    inside = np.minimum(gap, p.margin)
    return p.strength * (p.margin * np.log(p.margin / inside) - (p.margin - inside))
