"""Links single and compound at a configuration: what a program over links of any width asks of the mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.backends.links import values as link
from phistar.backends.links.mechanism import Mechanism
from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.values import Links
from phistar.backends.traces.solve import is_zero
from phistar.loops.group_links import GroupLinks
from phistar.model import Model
from phistar.spatial import force_transform, times, transposed

if TYPE_CHECKING:
    from phistar.loops.embedding import Embedding


@dataclass(frozen=True, eq=False)
class CompoundLinks(Mechanism):
    """Links single and compound at q: what a program over any widths asks for."""

    embedding: Embedding
    plain: Links

    @property
    def model(self) -> Model:
        return self.plain.model

    @property
    def parents(self) -> tuple[int, ...]:
        return tuple(group.parent for group in self.embedding.groups)

    @property
    def frames(self) -> tuple[str, ...]:
        return self.plain.frames

    @property
    def rates(self) -> tuple[slice, ...]:
        return self.embedding.rates

    @cached_property
    def members(self) -> tuple[GroupLinks, ...]:
        """The groups at this configuration."""
        return tuple(GroupLinks(self.embedding.closed, group, self.plain) for group in self.embedding.groups)

    @cached_property
    def _maps(self) -> dict[int, np.ndarray]:
        return {}

    def map(self, k: int) -> np.ndarray:
        """X of link k."""
        if k not in self._maps:
            self._maps[k] = self.embedding.map_of(k, self.members[k])
        return self._maps[k]

    def width(self, k: int) -> int:
        return self.embedding.width(k)

    def crossing(self, k: int) -> np.ndarray:
        """ℰ_C(p,k); of a link on the world, E_C(k)."""
        group = self.embedding.groups[k]
        above = self.embedding.groups[group.parent].bodies if group.parent >= 0 else (-1,)
        columns = []
        for body in group.bodies:
            parent = self.model.parents[body]
            across = force_transform(self.plain.rotation[body], self.plain.offset[body])
            parts = [across if parent == other else np.zeros(across.shape) for other in above]
            columns.append(np.concatenate(parts, axis=-2))
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in columns))
        whole = np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in columns], axis=-1)
        whole = np.matmul(whole, self.members[k].inside) if len(group.bodies) > 1 else whole
        extra = len(self.embedding.heavy(group.parent)) if group.parent >= 0 else 0
        whole = np.concatenate([whole, np.zeros((*whole.shape[:-2], extra, whole.shape[-1]))], axis=-2)
        return np.concatenate([whole, np.zeros((*whole.shape[:-1], len(self.embedding.heavy(k))))], axis=-1)

    def subspace(self, k: int) -> np.ndarray:
        """H_C* = φ_𝔊*H_𝔊*X, and below it X of the rates with armature."""
        group = self.embedding.groups[k]
        if not self.embedding.is_compound(k):
            return self.plain.subspace[group.bodies[0]]
        x, heavy = self.map(k), self.embedding.heavy(k)
        moved = np.matmul(self.members[k].motions, x)
        spun = np.broadcast_to(x[..., heavy, :], (*moved.shape[:-2], len(heavy), x.shape[-1]))
        return np.concatenate([moved, spun], axis=-2)

    def armature(self, k: int) -> np.ndarray:
        """A of single links that are free; others have it in M."""
        group = self.embedding.groups[k]
        if self.embedding.is_compound(k):
            count = self.embedding.choices[k].shape[-1]
            return np.zeros((count, count))
        return np.diag([self.model.armature[rate] for rate in group.rates])

    def mass(self, k: int) -> np.ndarray:
        """M_C."""
        group = self.embedding.groups[k]
        if not self.embedding.is_compound(k):
            return self.plain.mass(group.bodies[0])
        traced = self.plain.inertias is not None and self.plain.inertias.dtype == object
        whole = np.zeros((self.width(k), self.width(k)), dtype=object if traced else float)
        for j, body in enumerate(group.bodies):
            whole[6 * j : 6 * j + 6, 6 * j : 6 * j + 6] = self.plain.mass(body)
        for j, i in enumerate(self.embedding.heavy(k), 6 * len(group.bodies)):
            whole[j, j] = self.model.armature[group.rates[i]]
        return whole

    def bias_force(self, k: int, mass: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """b_C: that of each member."""
        group = self.embedding.groups[k]
        parts = [
            link.bias_force(self.plain.mass(body), velocity[..., 6 * j : 6 * j + 6, :])
            for j, body in enumerate(group.bodies)
        ]
        parts.append(np.zeros((*parts[0].shape[:-2], len(self.embedding.heavy(k)), 1)))
        return np.concatenate(parts, axis=-2)

    def bias_acceleration(self, k: int, velocity: np.ndarray, above: Any, v: np.ndarray) -> np.ndarray:
        """a_C = φ_𝔊*(a_𝔊 + H_𝔊*Ẋθ̇_i), and Ẋθ̇_i of the rates with armature."""
        own, rates = self.members[k], np.matmul(self.map(k), v)
        bias = own.bias(velocity, rates)
        if not self.embedding.is_compound(k):
            return bias
        drift = self.embedding.drift_of(k, own, rates[..., 0])[..., None]
        moved = np.matmul(transposed(own.inside), bias + np.matmul(own.axes, drift))
        return np.concatenate([moved, drift[..., self.embedding.heavy(k), :]], axis=-2)

    # φ acting, member by member: each is moved to the body that carries it, in the group or outside it

    @cached_property
    def _rigid(self) -> RigidLinks:
        return RigidLinks(self.plain)

    def inward(self, k: int, x: np.ndarray) -> np.ndarray:
        if k in self._crossings:
            return super().inward(k, x)
        blocks = self._gathered(k, self._cut(k, x), self._rigid.inward)
        return self._stacked(k, blocks, x.shape[-1])

    def outward(self, k: int, x: np.ndarray) -> np.ndarray:
        group = self.embedding.groups[k]
        if k in self._crossings or group.parent < 0:
            return super().outward(k, x)
        above, moved = dict(self._cut(group.parent, x)), dict[int, np.ndarray]()
        for body in group.bodies:
            parent = self.model.parents[body]
            moved[body] = self._rigid.outward(body, moved[parent] if parent in moved else above[parent])
        still = np.zeros((*x.shape[:-2], len(self.embedding.heavy(k)), x.shape[-1]))
        return np.concatenate([*moved.values(), still], axis=-2)

    def congruent_inward(self, k: int, x: np.ndarray) -> np.ndarray:
        """φXφ*; of an X that has a block for each member and nothing between them, block by block."""
        group = self.embedding.groups[k]
        own = [x[..., 6 * j : 6 * j + 6, 6 * j : 6 * j + 6] for j in range(len(group.bodies))]
        if k in self._crossings or not _is_diagonal(x, 6 * len(own)):
            return super().congruent_inward(k, x)
        blocks = self._gathered(k, list(zip(group.bodies, own, strict=True)), self._rigid.congruent_inward)
        above = self.embedding.groups[group.parent].bodies
        width = self.width(group.parent)
        whole = np.zeros((*x.shape[:-2], width, width), dtype=x.dtype)
        for j, body in enumerate(above):
            if body in blocks:
                whole[..., 6 * j : 6 * j + 6, 6 * j : 6 * j + 6] = blocks[body]
        return whole.view(type(x))

    def _cut(self, k: int, x: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """The parts of a stack over the members of link k, by body."""
        return [(body, x[..., 6 * j : 6 * j + 6, :]) for j, body in enumerate(self.embedding.groups[k].bodies)]

    def _gathered(self, k: int, parts: list[tuple[int, np.ndarray]], move: Any) -> dict[int, np.ndarray]:
        """The sums of what members send the bodies outside the group that carry them."""
        known, outside = dict(parts), dict[int, np.ndarray]()
        for body, _ in reversed(parts):
            parent, moved = self.model.parents[body], move(body, known[body])
            place = known if parent in known else outside
            place[parent] = place[parent] + moved if parent in place else moved
        return outside

    def _stacked(self, k: int, blocks: dict[int, np.ndarray], columns: int) -> np.ndarray:
        """Blocks of the bodies of the link that carries link k, one under the other; of the world, its one block."""
        parent = self.embedding.groups[k].parent
        if parent < 0:
            return blocks[-1]
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks.values()))
        nothing = np.zeros((*batch, 6, columns))
        rows = [blocks.get(body, nothing) for body in self.embedding.groups[parent].bodies]
        return np.concatenate([*rows, np.zeros((*batch, len(self.embedding.heavy(parent)), columns))], axis=-2)

    # Places

    def pose(self, k: int, above: Any) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Where the members are, by body."""
        found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for body in self.embedding.groups[k].bodies:
            parent = self.model.parents[body]
            turn, shift = self.plain.rotation[body], self.plain.offset[body]
            if parent >= 0:
                base = found[parent] if parent in found else above[parent]
                turn, shift = np.matmul(base[0], turn), base[1] + times(base[0], shift)
            found[body] = turn, shift
        return found

    def link_of(self, frame: str) -> int:
        body = self.model.frame(frame).body
        return next((k for k, group in enumerate(self.embedding.groups) if body in group.bodies), -1)

    def frame_pose(self, frame: str, pose: Any) -> tuple[np.ndarray, np.ndarray]:
        found = self.model.frame(frame)
        if found.body < 0:
            return found.placement.rotation, found.placement.translation
        turn, shift = pose[found.body]
        return np.matmul(turn, found.placement.rotation), shift + times(turn, found.placement.translation)

    def _picked(self, k: int, body: int) -> np.ndarray:
        """(6, w): a member's motion out of the link's."""
        at = 6 * self.embedding.groups[k].bodies.index(body)
        return np.eye(self.width(k))[at : at + 6]

    def frame_motion(self, frame: str, pose: Any) -> np.ndarray:
        found = self.model.frame(frame)
        own = self._picked(self.link_of(frame), found.body)
        return link.to_world_axes(pose[found.body][0], found.placement.translation, own)

    def frame_bias(self, frame: str, pose: Any, velocity: np.ndarray) -> np.ndarray:
        found = self.model.frame(frame)
        omega = np.matmul(self._picked(self.link_of(frame), found.body), velocity)[..., :3, 0]
        swing = link.cross(omega, link.cross(omega, found.placement.translation))[..., None]
        turned = np.matmul(pose[found.body][0], swing)
        return np.concatenate([np.zeros(turned.shape), turned], axis=-2)


def _is_diagonal(x: np.ndarray, size: int) -> bool:
    """Whether the first rows and columns of a traced X have blocks of six on the diagonal and else only zeros."""
    if x.dtype != object:
        return False
    inside = np.arange(len(x)) // 6
    across = (inside[:, None] != inside) & (np.arange(len(x)) < size)
    return all(is_zero(entry) for entry in x[across])
