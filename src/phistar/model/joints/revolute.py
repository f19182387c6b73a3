"""Revolute: one angle about an axis."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.model.joints.kind import JointKind
from phistar.model.joints.parameters import unit_axis
from phistar.spatial import from_axis_angle


@final
@dataclass(frozen=True, eq=False, repr=False)
class Revolute(JointKind):
    """R = exp(q ã), p = 0, H* = [a; 0]. A continuous joint is one without limits."""

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

    def pose(self, q: Any) -> tuple[np.ndarray, np.ndarray]:
        angle = np.asarray(q)[..., 0]
        return from_axis_angle(self.axis, angle), np.zeros((*angle.shape, 3))

    def subspace(self, q: Any) -> np.ndarray:
        return np.concatenate([self.axis, np.zeros(3)])[:, None]
