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
    """A cut joint whose frames share an axis, about which and along which they move freely: 4 equations.

    Parameters
    ----------
    axis : (3,)
        Unit vector, in both frames.

    Examples
    --------
    >>> ps.Cylindrical(axis=(0, 0, 1)).axis
    array([0., 0., 1.])
    """

    axis: Any = (0.0, 0.0, 1.0)

    rows = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "A Cylindrical joint"))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Distance(CutKind):
    """A cut joint that keeps two origins at a distance: a massless rod with a ball at either end, 1 equation.

    |p_b − p_a| = length.

    Parameters
    ----------
    length : float
        Greater than 0 [m].

    Examples
    --------
    >>> ps.Distance(0.5).length
    0.5
    """

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
    """A cut joint that makes one joint follow another, as gears and mimic joints do: 1 equation.

    q_a = c₀ + c₁ q_b + c₂ q_b² + … (to the fourth power); `joint_a` is driven by `joint_b`.

    Parameters
    ----------
    coefficients : (2,) to (5,)
        c₀, c₁, …; a plain gear or mimic joint is (offset, ratio).

    Examples
    --------
    >>> ps.Coupling((0.0, -2.0)).coefficients
    array([ 0., -2.])
    """

    coefficients: Any = (0.0, 1.0)

    rows = 1

    def __post_init__(self) -> None:
        count = np.size(self.coefficients)
        if not 1 <= count <= 5:
            raise ModelError(f"A Coupling takes 1 to 5 coefficients (c₀, c₁, …); it was given {count}.")
        numbers = per_dof(self.coefficients, count, "A Coupling", "coefficients")
        object.__setattr__(self, "coefficients", readonly(numbers))
