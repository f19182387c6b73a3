"""Revolute: one angle about an axis."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.model.joints.kind import JointKind
from phistar.model.joints.parameters import unit_axis
from phistar.spatial import from_axis_angle


@final
@dataclass(frozen=True, eq=False, repr=False)
class Revolute(JointKind):
    """A hinge: one angle about an axis. A continuous joint is one without limits.

    R = exp(q ã), p = 0, H* = [a; 0].

    Parameters
    ----------
    axis : (3,)
        Unit vector a, the same on both sides.
    armature : float
        Inertia on the joint's axis besides gear_ratio²·rotor_inertia [kg m²].
    damping, friction : float
        Viscous [N m s/rad] and dry [N m]; a pair of frictions is (forward, backward).
    stiffness, rest : float
        A spring [N m/rad] and the angle at which it is at rest [rad].
    limits : (lower, upper), optional
        [rad].
    effort, velocity : float, optional
        What the motor can give [N m], and how fast it may turn [rad/s].
    gear_ratio, rotor_inertia : float
        Of a geared motor [1, kg m²]; `gyroscopic` adds the full dynamics of its rotor.

    Examples
    --------
    >>> ps.Revolute(axis=(0, 1, 0), limits=(-1, 1), damping=0.1).nv
    1
    """

    axis: Any = (0.0, 0.0, 1.0)

    nq = nv = 1
    spread = (np.pi,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "A Revolute joint"))
        super().__post_init__()

    @property
    def continuous(self) -> bool:
        """Turns without end."""
        return not np.isfinite(self.limits).any()

    def pose(self, q: Any) -> tuple[Array, Array]:
        angle = np.asarray(q)[..., 0]
        return from_axis_angle(self.axis, angle), np.zeros((*angle.shape, 3))

    def subspace(self, q: Any) -> Array:
        return np.concatenate([self.axis, np.zeros(3)])[:, None]
