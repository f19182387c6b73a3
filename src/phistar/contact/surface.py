"""Contact of two bodies: the parameters of a pair of surfaces, and the normal force of WD89 §2.5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.constraints.laws import FADE
from phistar.errors import ModelError
from phistar.geometry.shape_records import DAMPING as ALPHA
from phistar.spatial.value import LARGEST, Value


@final
@dataclass(frozen=True, eq=False, repr=False)
class Surface(Value):
    """Contact law of two bodies that come near each other.

    f = K_p(ε − d)/d − K_d ḋ along the normal for gaps d < ε, so that bodies never meet (WD89 §2.5). Where the law as
    printed jumps and pulls, its damping fades in and the force is clamped at zero; `pulls` keeps it as printed.

    Parameters
    ----------
    margin, strength, damping : float
        ε [m], K_p [N] and K_d [N s/m].
    restitution : float, optional
        In place of the damping: a body leaves at this times the speed it came with, at once, when it reaches the
        margin.
    friction : float
        Coulomb's μ.
    bristle_stiffness, bristle_damping : float
        Of the bristles that hold what sticks, so that it does not creep [N/m, N s/m].
    patch : float
        Radius of a soft finger [m]: it resists turning up to μ f · patch.
    pulls : bool

    Examples
    --------
    >>> ps.Surface(restitution=0.6, friction=0.3).margin
    0.002
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
            self._check("restitution", "between 0 and 1", lambda x: 0.0 <= x <= 1.0)
            if self.pulls:
                raise ModelError("A surface pulls, as WD89 prints the law, or has a restitution; it was given both.")

    def _check(self, name: str, expected: str, holds: Any) -> None:
        value = getattr(self, name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and -LARGEST < value < LARGEST and holds(value)):  # NaN fails too
            raise ModelError(f"A surface needs {name} {expected}; it was given {value!r:.50}.")


def law_numbers(surface: Surface) -> tuple[float, ...]:
    """A stated law in the order of `constraints.columns`. What rebounds by a restitution, its rests are damped as those
    of materials are, in place of K_d."""
    e = surface.restitution
    damping, linear = (0.0, surface.damping) if e is None else (ALPHA, 0.0)
    grips = surface.friction, surface.bristle_stiffness, surface.bristle_damping
    return surface.margin, surface.strength, damping, *grips, e or 0.0, linear, surface.patch, float(surface.pulls)


def normal_force(surface: Surface, gap: Any, rate: Any) -> Any:
    """The law K_p(ε − d)/d − K_d w ḋ without a restitution, at gaps d > 0 that change at ḋ: arrays of one shape."""
    gap, rate = np.asarray(gap, dtype=float), np.asarray(rate, dtype=float)
    inside = np.maximum(surface.margin - gap, 0.0)
    share = (inside > 0.0) * 1.0 if surface.pulls else np.minimum(inside / (FADE * surface.margin), 1.0)
    damping = surface.damping if surface.restitution is None else 0.0
    force = surface.strength * inside / gap - damping * share * rate
    return force if surface.pulls else np.maximum(force, 0.0)


def normal_energy(margin: Any, strength: Any, gap: Any) -> Any:
    """K_p(ε ln(ε/d) − (ε − d)) within the margin: what the elastic force keeps, and gives back."""
    inside = np.minimum(gap, margin)
    return strength * (margin * np.log(margin / inside) - (margin - inside))
