"""The passive forces of joints, as `ps.joint_friction` gives them, in two parts: smooth, and Coulomb's by sign."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.backends.traces.arrays import sign
from phistar.model import Model
from phistar.passive_forces import has_springs_or_damping
from phistar.sim.coordinates import Coordinates
from phistar.spatial import times


@dataclass(frozen=True)
class Passive:
    """Damping, springs and dry friction of a model's joints."""

    model: Model

    @cached_property
    def _tree(self) -> Passive:
        """Passive forces of the spanning tree of a mechanism in independent rates."""
        return Passive(self.model.tree)

    @cached_property
    def acts(self) -> bool:
        """Whether any passive force acts."""
        own = self if self.model.embedding is None else self._tree
        parts = (own.damping, own.stiffness, own.model.gather(lambda kind: kind.friction[0] + kind.friction[1]))
        return self.model.is_flexible or any(np.any(part) for part in parts)

    def _joint_values(self, name: str) -> np.ndarray:
        """Joint values (nv,) of a name; zero on flexible modes, whose stiffness and damping are matrices."""
        return self.model.gather(lambda kind: getattr(kind, name))

    @cached_property
    def damping(self) -> np.ndarray:
        return self._joint_values("damping")

    @cached_property
    def stiffness(self) -> np.ndarray:
        return self._joint_values("stiffness")

    @cached_property
    def rest(self) -> np.ndarray:
        return self._joint_values("rest")

    @cached_property
    def friction(self) -> np.ndarray:
        """(2, nv): magnitudes for positive and for negative rates; of independent joints, in independent rates."""
        whole = np.stack([self.model.gather(lambda kind, i=i: kind.friction[i]) for i in range(2)])
        if self.model.embedding is None:
            return whole
        return np.stack([self.model.embedding.joint_values(each, "Dry friction that sticks") for each in whole])

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
        embedding = self.model.embedding
        if embedding is not None:
            if not has_springs_or_damping(self.model):
                return np.zeros(v.shape)
            return embedding.independent_forces(q, self._tree.smooth(q, embedding.full_rates(q, v)))
        if not np.any(self.stiffness):
            found = -(self.damping * v)
        else:
            found = smooth_force(self.damping, self.stiffness, self.deflection(q), v)
        for body in self.model.bodies:
            if body.flexible is not None:
                eta, rate = q[..., body.mode_q_slice], v[..., body.mode_slice]
                found[..., body.mode_slice] = body.flexible.elastic_force(eta, rate)
        return found

    def sliding(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Dry friction by the signs of the rates alone, (…, nv)."""
        if self.model.embedding is None:
            return self.coulomb(sign(v))
        if not np.any(self._tree.friction):
            return np.zeros(v.shape)
        embedding = self.model.embedding
        return embedding.independent_forces(q, self._tree.coulomb(sign(embedding.full_rates(q, v))))

    def coulomb(self, way: np.ndarray) -> np.ndarray:
        """−friction₊ where the way is 1, friction₋ where it is −1, 0 where it is 0."""
        ahead, back = self.friction
        return coulomb_force(ahead, back, way)

    def elastic_energy(self, q: np.ndarray) -> np.ndarray:
        """½ k (q ⊖ rest)² and ½ηᵀK_fη of modes, (…)."""
        embedding = self.model.embedding
        if embedding is not None:
            return self._tree.elastic_energy(q)
        total = 0.5 * np.sum(self.stiffness * self.deflection(q) ** 2, axis=-1)
        for body in self.model.bodies:
            if body.flexible is not None:
                eta = q[..., body.mode_q_slice]
                total = total + 0.5 * np.sum(eta * times(body.flexible.stiffness, eta), axis=-1)
        return total


def smooth_force(damping: np.ndarray, stiffness: np.ndarray, deflection: np.ndarray, v: np.ndarray) -> np.ndarray:
    """−(d θ̇ + k (q ⊖ rest))."""
    return -(damping * v) - stiffness * deflection


def coulomb_force(ahead: np.ndarray, back: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """−friction₊ or friction₋, by the sign of the rate."""
    return -(0.5 * (ahead + back) * sign + 0.5 * (ahead - back) * (sign * sign))
