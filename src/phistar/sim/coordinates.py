"""q over time: the rate q̇ of the coordinates, unit quaternions, and q ⊕ dv. On floats and on traced numbers alike.

Only spherical and free joints are curved: their last four coordinates are a quaternion, what stands before is a place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import is_traced
from phistar.model import Model
from phistar.model.parts import Joint
from phistar.spatial import cross, from_quaternion, multiply

TINY = 1e-30  # added to squared angles: beyond all digits, and no division by zero


@dataclass(frozen=True)
class Coordinates:
    """The coordinates of a model, (…, nq) and (…, nv)."""

    model: Model
    through: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """Xv at (q, v), where the model is the members of one compound link."""

    @cached_property
    def curved_joints(self) -> tuple[Joint, ...]:
        return tuple(joint for joint in self.model.joints if not joint.kind.flat)

    @cached_property
    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices into q and v of the joints whose q̇ is v."""
        joints = [joint for joint in self.model.joints if joint.kind.flat]
        q, v = np.arange(self.model.nq), np.arange(self.model.tree.nv)
        chosen = [
            np.concatenate([np.zeros(0, int), *(x[s] for s in slices)])
            for x, slices in (
                (q, [j.q_slice for j in joints] + [body.mode_q_slice for body in self.model.bodies if body.modes]),
                (v, [j.v_slice for j in joints] + [body.mode_slice for body in self.model.bodies if body.modes]),
            )
        ]
        return chosen[0], chosen[1]

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v of a state (…, nq + nv)."""
        return x[..., : self.model.nq], x[..., self.model.nq :]

    def tree_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of the spanning tree: v itself, or Xv of a mechanism in independent rates."""
        if self.through is not None:
            return self.through(self.unit(q), v)
        return v if self.model.embedding is None else self.model.embedding.full_rates(self.unit(q), v)

    def unit(self, q: np.ndarray) -> np.ndarray:
        """q with its quaternions normalised."""
        if not self.curved_joints:
            return q
        result = q.copy()
        for joint in self.curved_joints:
            turn = q[..., joint.q_slice][..., -4:]
            scale = 1.0 / np.sqrt(np.sum(turn * turn, axis=-1, keepdims=True))
            result[..., joint.q_slice.stop - 4 : joint.q_slice.stop] = turn * scale
        return result

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q̇: v itself; for quaternions ½ q ⊗ ω, for places R(q) v."""
        v = self.tree_rates(q, v)
        result = self._empty(q, v)
        result[..., self.flat[0]] = v[..., self.flat[1]]
        for joint in self.curved_joints:
            own, twist = q[..., joint.q_slice], v[..., joint.v_slice]
            spin = np.concatenate([twist[..., :3], np.zeros((*twist.shape[:-1], 1))], axis=-1)
            turning = 0.5 * multiply(own[..., -4:], spin)
            result[..., joint.q_slice] = np.concatenate([_rotate(own[..., -4:], twist[..., 3:]), turning], axis=-1)
        return result

    def add(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """q ⊕ dv as `model.integrate`, without its branches and without normalising."""
        dv = self.tree_rates(q, dv)
        return self.moved_tree(q, dv)

    def moved_tree(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """q ⊕ dv for rates of the spanning tree, (…, nv of the tree)."""
        result = self._empty(q, dv)
        result[..., self.flat[0]] = q[..., self.flat[0]] + dv[..., self.flat[1]]
        for joint in self.curved_joints:
            result[..., joint.q_slice] = _add_free(q[..., joint.q_slice], dv[..., joint.v_slice])
        return result

    def _empty(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        return np.empty((*batch, self.model.nq), dtype=np.result_type(q.dtype, v.dtype))


def _rotate(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """R(quaternion) · vector; of no coordinates, none (spherical joints have no place)."""
    if vector.shape[-1] == 0:
        return vector
    return np.matmul(from_quaternion(quaternion), vector[..., None])[..., 0]


def _add_free(q: np.ndarray, dv: np.ndarray) -> np.ndarray:
    """p + R V(ω) v and quaternion ⊗ exp(ω), with V(ω)v = v + (1 − cos θ)/θ² ω×v + (θ − sin θ)/θ³ ω×(ω×v).

    Below θ = 1e-8 the last factor has no digits left, but what it multiplies is beyond those of v.
    """
    dv = traced(dv) if is_traced(dv) else dv  # recorded, some of it may be plain zeros: what no loop moves
    turn, omega, slide = q[..., -4:], dv[..., :3], dv[..., 3:]
    angle = np.sqrt(np.sum(omega * omega, axis=-1, keepdims=True) + TINY)
    half = 0.5 * angle
    sine = np.sin(half) / angle
    turned = multiply(turn, np.concatenate([sine * omega, np.cos(half)], axis=-1))
    if slide.shape[-1] == 0:
        return turned
    across = cross(omega, slide)
    arc = (angle - np.sin(angle)) / (angle * angle * angle)
    step = slide + 2.0 * sine * sine * across + arc * cross(omega, across)
    return np.concatenate([q[..., :3] + _rotate(turn, step), turned], axis=-1)
