"""Cut joints: closures that only a loop can have."""

from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from phistar.errors import ModelError
from phistar.model.joints.parameters import per_dof, unit_axis
from phistar.spatial.value import Value, readonly


class CutKind(Value, ABC):
    """Abstract: what holds two frames, or two joints, together; `rows` equations."""

    rows: ClassVar[int]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Cylindrical(CutKind):
    """The frames share an axis, about which and along which they move freely: 4 equations."""

    axis: Any = (0.0, 0.0, 1.0)

    rows = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "A Cylindrical joint"))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Distance(CutKind):
    """|p_b − p_a| = length > 0: a massless rod with a ball at either end, 1 equation."""

    length: float

    rows = 1

    def __post_init__(self) -> None:
        length = float(per_dof(self.length, 1, "A Distance joint", "length")[0])
        if length <= 0.0:
            raise ModelError(f"A Distance joint needs a length > 0; it was given {length:g}. For 0 use Spherical.")
        object.__setattr__(self, "length", length)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Coupling(CutKind):
    """q_a = c₀ + c₁ q_b + c₂ q_b² + … (to the fourth power): gears and mimic joints, 1 equation.

    `joint_a` is driven by `joint_b`; a plain gear or mimic joint is `Coupling((offset, ratio))`.
    """

    coefficients: Any = (0.0, 1.0)

    rows = 1

    def __post_init__(self) -> None:
        count = np.size(self.coefficients)
        if not 1 <= count <= 5:
            raise ModelError(f"A Coupling takes 1 to 5 coefficients (c₀, c₁, …); it was given {count}.")
        numbers = per_dof(self.coefficients, count, "A Coupling", "coefficients")
        object.__setattr__(self, "coefficients", readonly(numbers))
