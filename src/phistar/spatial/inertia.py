"""Inertia: mass, centre of mass and tensor of one rigid body."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.errors import ModelError
from phistar.spatial.pose import Pose
from phistar.spatial.value import Value, checked_numbers, readonly
from phistar.spatial.vectors import skew

ZEROS = ((0.0, 0.0, 0.0),) * 3
TYPED_DIGITS = 1e-6  # moments typed with six digits count as exact
SMALLEST_MOMENT = 1e-300  # where floats have no digits left, signs mean nothing


def _point_tensor(mass: float, p: np.ndarray) -> np.ndarray:
    """m (pᵀp 1 − p pᵀ): what moving a mass m off by p adds to a tensor (parallel axes)."""
    return mass * (np.dot(p, p) * np.eye(3) - np.outer(p, p))


def mass_moment(matrix: np.ndarray) -> Array:
    """m p, (…, 6, 6) → (…, 3): mass times mass centre, read off the m p̃ block of a spatial inertia (R87 eq. 33)."""
    return np.stack([matrix[..., 2, 4], matrix[..., 0, 5], matrix[..., 1, 3]], axis=-1)


@dataclass(frozen=True, eq=False, repr=False)
class Inertia(Value):
    """Mass, centre of mass and rotational inertia of a rigid body.

    Refuses what no body can be; `Inertia.unchecked` takes numbers from a file as they are.

    Parameters
    ----------
    mass : float
        m [kg].
    com : (3,)
        Centre of mass p in the body's frame [m].
    tensor : (3, 3)
        I_c about the centre of mass, in the body's axes [kg m²].

    Examples
    --------
    >>> rod = ps.Inertia(2.0, (0.5, 0, 0), np.diag([0, 1, 1]) / 6)
    >>> float(rod.about_origin[2, 2].round(3))
    0.667
    """

    mass: float
    com: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    tensor: Array = ZEROS  # type: ignore[assignment]

    if TYPE_CHECKING:  # anything like an array is taken, arrays are kept

        def __init__(self, mass: float, com: ArrayLike = ..., tensor: ArrayLike = ...) -> None: ...

    def __post_init__(self) -> None:
        self._set(self.mass, self.com, self.tensor)
        problems = self.problems()
        if problems:
            raise ModelError(
                f"This inertia is impossible: {'; '.join(problems)}. Check units, signs and reference point."
            )

    def _set(self, mass: Any, com: Any, tensor: Any) -> None:
        tensor = checked_numbers(tensor, (3, 3), "An inertia", "tensor")
        if np.abs(tensor - tensor.T).max() > 1e-9 * np.abs(tensor).max() + SMALLEST_MOMENT:
            raise ModelError(f"The inertia tensor must be symmetric; it was given {tensor.tolist()}.")
        mass = float(checked_numbers(mass, (), "An inertia", "mass"))
        if mass < 0.0:
            raise ModelError(f"The mass is {mass:g} kg; a mass cannot be negative.")
        object.__setattr__(self, "mass", mass + 0.0)
        object.__setattr__(self, "com", readonly(checked_numbers(com, (3,), "An inertia", "centre of mass")))
        object.__setattr__(self, "tensor", readonly(0.5 * (tensor + tensor.T)))

    @classmethod
    def unchecked(cls, mass: Any, com: Any = (0.0, 0.0, 0.0), tensor: Any = ZEROS) -> Self:
        """The numbers as given: finite, mass ≥ 0 and symmetric, but possibly unphysical; see `problems`."""
        inertia = object.__new__(cls)
        inertia._set(mass, com, tensor)
        return inertia

    @classmethod
    def zero(cls) -> Self:
        """No mass, no tensor."""
        return cls.unchecked(0.0)

    @classmethod
    def from_parameters(cls, parameters: Any) -> Self:
        """Inertia from (10,) numbers in the order of `parameters`, taken as they are."""
        values = checked_numbers(parameters, (10,), "An inertia", "parameters")
        mass, moment = values[0], values[1:4]
        if mass == 0.0 and moment.any():
            raise ModelError(f"These parameters have no mass but a first moment {moment.tolist()}; give them a mass.")
        com = moment / mass if mass else np.zeros(3)
        xx, xy, yy, xz, yz, zz = values[4:]
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return cls.unchecked(mass, com, about_origin - _point_tensor(mass, com))

    @property
    def about_origin(self) -> Array:
        """J = I_c + m (pᵀp 1 − p pᵀ), (3, 3)."""
        return self.tensor + _point_tensor(self.mass, self.com)

    @cached_property
    def matrix(self) -> Array:
        """M = [[J, m p̃], [−m p̃, m 1]] about the body's origin, (6, 6) (RJK91's M(k))."""
        moment = self.mass * skew(self.com)
        upper = np.concatenate([self.about_origin, moment], axis=1)
        lower = np.concatenate([-moment, self.mass * np.eye(3)], axis=1)
        return readonly(np.concatenate([upper, lower]))

    @property
    def parameters(self) -> Array:
        """m, m p (3), J as xx xy yy xz yz zz: the ten numbers dynamics are linear in, (10,)."""
        j = self.about_origin
        tensor = [j[0, 0], j[0, 1], j[1, 1], j[0, 2], j[1, 2], j[2, 2]]
        return np.array([self.mass, *(self.mass * self.com), *tensor])

    @property
    def is_zero(self) -> bool:
        """No mass and no tensor."""
        return self.mass == 0.0 and not self.tensor.any()

    def __add__(self, other: "Inertia") -> "Inertia":
        """Two bodies, in the same frame, as one."""
        if not isinstance(other, Inertia):
            return NotImplemented
        if self.is_zero or other.is_zero:
            return other if self.is_zero else self
        mass = self.mass + other.mass
        if self.mass == 0.0 or other.mass == 0.0:  # keeps the other's centre to the last digit
            com = other.com if self.mass == 0.0 else self.com
            return Inertia.unchecked(mass, com, self.tensor + other.tensor)
        com = (self.mass * self.com + other.mass * other.com) / mass
        reduced = self.mass * other.mass / mass
        return Inertia.unchecked(mass, com, self.tensor + other.tensor + _point_tensor(reduced, self.com - other.com))

    def transformed(self, pose: Pose) -> "Inertia":
        """The same body seen from the frame in which `pose` places its frame: p ← R p + r, I_c ← R I_c Rᵀ."""
        if pose.is_identity:
            return self
        r = pose.rotation
        return Inertia.unchecked(self.mass, r @ self.com + pose.translation, r @ self.tensor @ r.T)

    def problems(self) -> list[str]:
        """Reasons it is unphysical: a negative principal moment, or one above the sum of the other two."""
        low, middle, high = np.linalg.eigvalsh(self.tensor)
        moments = f"principal moments {low:.6g}, {middle:.6g}, {high:.6g}"
        slack = TYPED_DIGITS * max(abs(low), abs(high)) + SMALLEST_MOMENT
        if low < -slack:
            return [f"its tensor is indefinite ({moments})"]
        if high > low + middle + slack:
            return [f"its tensor violates the triangle inequality ({moments})"]
        return []


MASSLESS = Inertia.zero()
