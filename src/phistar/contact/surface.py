"""What happens where two bodies touch: the parameters of a pair of surfaces, and the normal force of WD89 §2.5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from scipy.optimize import root_scalar

from phistar.backends.arrays import sign
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

        return float(root_scalar(imbalance, bracket=(1e-6, (1.0 - 1e-15) / e)).root)


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


# Of arrays of contacts, floats or traced numbers.


def normal_force(p: Parameters, gap: Any, rate: Any, touch_speed: Any) -> Any:
    """f = f_e(1 − α ḋ/v) − K_d ḋ, f_e = K_p(ε − d)/d, along the normal for gaps d that change at ḋ."""
    elastic = p.strength * np.maximum(p.margin - gap, 0.0) / gap
    force = elastic * (1.0 - p.dissipation * rate / touch_speed) - p.damping * _fade(p, gap) * rate
    return p.pulls * force + (1.0 - p.pulls) * np.maximum(force, 0.0)


def normal_energy(p: Parameters, gap: Any) -> Any:
    """K_p(ε ln(ε/d) − (ε − d)) within the margin: what the elastic force keeps, and gives back."""
    inside = np.minimum(gap, p.margin)
    return p.strength * (p.margin * np.log(p.margin / inside) - (p.margin - inside))


def normal_stiffness(p: Parameters, gap: Any, rate: Any, touch_speed: Any, step: Any) -> Any:
    """−df/dd⁺ ≥ 0 of an implicit step, where ḋ⁺ = (d⁺ − d)/h: what Newton's method divides by."""
    inside = _positive(p.margin - gap)
    elastic, slope = p.strength * inside * (p.margin - gap) / gap, inside * p.strength * p.margin / (gap * gap)
    lively = 1.0 - p.dissipation * rate / touch_speed
    force = elastic * lively - p.damping * _fade(p, gap) * rate
    stiffness = (
        slope * np.maximum(lively, 0.0) + (elastic * p.dissipation / touch_speed + p.damping * _fade(p, gap)) / step
    )
    return stiffness * (p.pulls + (1.0 - p.pulls) * _positive(force))


def _fade(p: Parameters, gap: Any) -> Any:
    """0 outside the margin, 1 well inside it."""
    inside = p.margin - gap
    return p.pulls * _positive(inside) + (1.0 - p.pulls) * np.clip(inside / (FADE * p.margin), 0.0, 1.0)


def _positive(x: Any) -> Any:
    """1 where x > 0, 0 where x < 0."""
    return 0.5 + 0.5 * sign(np.asarray(x))
