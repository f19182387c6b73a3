"""Helical: a screw, one angle that also advances along its axis."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.model.joints.kind import JointKind
from phistar.model.joints.parameters import per_dof, unit_axis
from phistar.spatial import from_axis_angle


@final
@dataclass(frozen=True, eq=False, repr=False)
class Helical(JointKind):
    """A screw: one angle about an axis, with travel along it.

    R = exp(q ã), p = h q a, H* = [a; h a].

    Parameters
    ----------
    axis : (3,)
        Unit vector a.
    pitch : float
        h, travel per angle [m/rad].
    armature, damping, stiffness, rest, friction, limits, effort, velocity, gear_ratio, rotor_inertia, gyroscopic
        As for every joint; see `Revolute`.

    Examples
    --------
    >>> ps.Helical(axis=(0, 0, 1), pitch=0.002).nv
    1
    """

    axis: Any = (0.0, 0.0, 1.0)
    pitch: float = 0.0

    nq = nv = 1
    spread = (np.pi,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "A Helical joint"))
        object.__setattr__(self, "pitch", float(per_dof(self.pitch, 1, "A Helical joint", "pitch")[0]))
        super().__post_init__()

    def pose(self, q: Any) -> tuple[Array, Array]:
        q = np.asarray(q)
        return from_axis_angle(self.axis, q[..., 0]), q * (self.pitch * self.axis)

    def subspace(self, q: Any) -> Array:
        return np.concatenate([self.axis, self.pitch * self.axis])[:, None]
