"""The passive forces of joints, as `ps.joint_friction` gives them, in two parts: smooth, and Coulomb's by sign."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.model import Model
from phistar.sim.coordinates import Coordinates


@dataclass(frozen=True)
class Passive:
    """Damping, springs and dry friction of a model's joints."""

    model: Model

    def _gathered(self, name: str) -> np.ndarray:
        parts = [np.zeros(0), *(getattr(joint.kind, name) for joint in self.model.joints)]
        return np.concatenate(parts)

    @cached_property
    def damping(self) -> np.ndarray:
        return self._gathered("damping")

    @cached_property
    def stiffness(self) -> np.ndarray:
        return self._gathered("stiffness")

    @cached_property
    def rest(self) -> np.ndarray:
        return self._gathered("rest")

    @cached_property
    def friction(self) -> np.ndarray:
        """(2, nv): magnitudes for positive and for negative rates."""
        return np.concatenate([np.zeros((2, 0)), *(joint.kind.friction for joint in self.model.joints)], axis=-1)

    @property
    def traceable(self) -> bool:
        """Whether no spring acts on a quaternion: its logarithm branches."""
        curved = [joint for joint in self.model.joints if not joint.kind.flat]
        return not any(np.any(joint.kind.stiffness) for joint in curved)

    def deflection(self, q: np.ndarray) -> np.ndarray:
        """q ⊖ rest, (…, nv); zero on curved joints that have no spring."""
        flat_q, flat_v = Coordinates(self.model).flat
        result = np.zeros((*q.shape[:-1], self.model.nv), dtype=q.dtype)
        result[..., flat_v] = q[..., flat_q] - self.rest[flat_q]
        for joint in self.model.joints:
            if not joint.kind.flat and np.any(joint.kind.stiffness):
                result[..., joint.v_slice] = joint.kind.difference(joint.kind.rest, q[..., joint.q_slice])
        return result

    def smooth(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """−(d θ̇ + k (q ⊖ rest)), (…, nv)."""
        if not np.any(self.stiffness):
            return -(self.damping * v)
        return smooth_force(self.damping, self.stiffness, self.deflection(q), v)

    def coulomb(self, sign: np.ndarray) -> np.ndarray:
        """−friction₊ where the sign is 1, friction₋ where it is −1, 0 where it is 0."""
        ahead, back = self.friction
        return coulomb_force(ahead, back, sign)

    def elastic_energy(self, q: np.ndarray) -> np.ndarray:
        """½ k (q ⊖ rest)², (…)."""
        return 0.5 * np.sum(self.stiffness * self.deflection(q) ** 2, axis=-1)


def smooth_force(damping: np.ndarray, stiffness: np.ndarray, deflection: np.ndarray, v: np.ndarray) -> np.ndarray:
    """−(d θ̇ + k (q ⊖ rest))."""
    return -(damping * v) - stiffness * deflection


def coulomb_force(ahead: np.ndarray, back: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """−friction₊ or friction₋, by the sign of the rate."""
    return -(0.5 * (ahead + back) * sign + 0.5 * (ahead - back) * (sign * sign))
