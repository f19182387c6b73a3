"""Links single and compound at a configuration: what a program over links of any width asks of the mechanism.

A compound link is a stack of members, rigid ones or bodies that bend, each as the spanning tree's mechanism says it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.backends.links.link_sizes import parameter_count
from phistar.backends.links.mechanism import Mechanism
from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.two_velocities import TwoMotions
from phistar.backends.links.wide import WideLinks
from phistar.backends.traces.solve import is_zero
from phistar.loops.group_links import GroupLinks
from phistar.model import Model
from phistar.spatial import transposed
from phistar.sweeps.ir import FORCE, INERTIA, MOTION

if TYPE_CHECKING:
    from phistar.loops.embedding import Embedding


@dataclass(frozen=True, eq=False)
class CompoundLinks(Mechanism):
    """Links single and compound at q: what a program over any widths asks for."""

    embedding: Embedding
    tree: RigidLinks | WideLinks

    @property
    def model(self) -> Model:
        return self.tree.plain.model

    @property
    def parents(self) -> tuple[int, ...]:
        return tuple(group.parent for group in self.embedding.groups)

    @property
    def frames(self) -> tuple[str, ...]:
        return self.tree.frames

    @property
    def rates(self) -> tuple[slice, ...]:
        return self.embedding.rates

    @cached_property
    def members(self) -> tuple[GroupLinks, ...]:
        """The groups at this configuration."""
        return tuple(GroupLinks(self.embedding.closed, group, self.tree) for group in self.embedding.groups)

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

    def parameters(self, k: int) -> int:
        """Parameters of the members."""
        return parameter_count(self.model.bodies[body] for body in self.embedding.groups[k].bodies)

    def crossing(self, k: int) -> np.ndarray:
        """ℰ_C(p,k); of a link on the world, E_C(k)."""
        group = self.embedding.groups[k]
        heights = {b: x.stop - x.start for b, x in self._rows(group.parent).items()} if group.parent >= 0 else {-1: 6}
        columns = []
        for body in group.bodies:
            parent, across = self.model.parents[body], self.tree.crossing(body)
            blank = {b: np.zeros((*across.shape[:-2], height, across.shape[-1])) for b, height in heights.items()}
            columns.append(np.concatenate([across if b == parent else x for b, x in blank.items()], axis=-2))
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in columns))
        whole = np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in columns], axis=-1)
        whole = np.matmul(whole, self.members[k].inside) if len(group.bodies) > 1 else whole
        extra = len(self.embedding.heavy(group.parent)) if group.parent >= 0 else 0
        whole = np.concatenate([whole, np.zeros((*whole.shape[:-2], extra, whole.shape[-1]))], axis=-2)
        return np.concatenate([whole, np.zeros((*whole.shape[:-1], len(self.embedding.heavy(k))))], axis=-1)

    def _rows(self, k: int) -> dict[int, slice]:
        """Rows of the members in link k, by body."""
        return self.members[k].rows_of

    def subspace(self, k: int) -> np.ndarray:
        """H_C* = φ_𝔊*H_𝔊*X, and below it X of the rates with armature."""
        group = self.embedding.groups[k]
        if not self.embedding.is_compound(k):
            return self.tree.subspace(group.bodies[0])
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
            return self.tree.mass(group.bodies[0])
        own = {body: self.tree.mass(body) for body in group.bodies}
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in own.values()))
        whole = np.zeros((*batch, self.width(k), self.width(k)), dtype=np.result_type(*own.values()))
        for body, rows in self._rows(k).items():
            whole[..., rows, rows] = own[body]
        for j, i in enumerate(self.embedding.heavy(k), self.members[k].width):
            whole[..., j, j] = self.model.armature[group.rates[i]]
        return whole

    def bias_force(self, k: int, mass: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """b_C: that of each member."""
        parts = [self.tree.bias_force(b, self.tree.mass(b), velocity[..., x, :]) for b, x in self._rows(k).items()]
        parts.append(np.zeros((*parts[0].shape[:-2], len(self.embedding.heavy(k)), 1)))
        return np.concatenate(parts, axis=-2)

    def parameter_forces(self, k: int, velocity: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Y*(k): a block for each member."""
        found = np.zeros((*alpha.shape[:-2], self.parameters(k), self.width(k)), dtype=np.result_type(velocity, alpha))
        first = 0
        for body, rows in self._rows(k).items():
            own = self.tree.parameter_forces(body, velocity[..., rows, :], alpha[..., rows, :])
            found[..., first : first + own.shape[-2], rows] = own
            first += own.shape[-2]
        return found

    def bias_acceleration(self, k: int, velocity: np.ndarray, above: Any, v: np.ndarray) -> np.ndarray:
        """a_C = φ_𝔊*(a_𝔊 + H_𝔊*Ẋθ̇_i), and Ẋθ̇_i of the rates with armature."""
        own, rates = self.members[k], np.matmul(self.map(k), v)
        bias = own.bias(velocity, rates, self._carrier(k, above))
        if not self.embedding.is_compound(k):
            return bias
        drift = self.embedding.drift_of(k, own, rates[..., 0])[..., None]
        moved = np.matmul(transposed(own.inside), bias + np.matmul(own.axes, drift))
        return np.concatenate([moved, drift[..., self.embedding.heavy(k), :]], axis=-2)

    def reference_acceleration(self, k: int, motion: TwoMotions) -> np.ndarray:
        """φ_𝔊*(a_r𝔊 + H_𝔊*Ẋ(θ̇)θ̇_r), and Ẋ(θ̇)θ̇_r of the rates with armature."""
        own, x = self.members[k], self.map(k)
        rates, rates_r = np.matmul(x, motion.rates), np.matmul(x, motion.reference_rates)
        carriers = self._carrier(k, motion.above), self._carrier(k, motion.reference_above)
        bias = own.reference_bias(TwoMotions(motion.velocity, rates, motion.reference, rates_r, *carriers))
        if not self.embedding.is_compound(k):
            return bias
        drift = self.embedding.reference_drift(k, own, rates[..., 0], rates_r[..., 0])[..., None]
        moved = np.matmul(transposed(own.inside), bias + np.matmul(own.axes, drift))
        return np.concatenate([moved, drift[..., self.embedding.heavy(k), :]], axis=-2)

    def reference_force(self, k: int, mass: np.ndarray, velocity: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Reference force of each member."""
        parts = [
            self.tree.reference_force(body, self.tree.mass(body), velocity[..., rows, :], reference[..., rows, :])
            for body, rows in self._rows(k).items()
        ]
        parts.append(np.zeros((*parts[0].shape[:-2], len(self.embedding.heavy(k)), 1)))
        return np.concatenate(parts, axis=-2)

    def _carrier(self, k: int, above: np.ndarray | None) -> np.ndarray | None:
        """The velocity of the body that carries link k, out of that of the link it belongs to."""
        parent = self.embedding.groups[k].parent
        if above is None or parent < 0:
            return None
        rows = self._rows(parent)
        (body,) = {self.model.parents[b] for b in self.embedding.groups[k].bodies} & rows.keys()
        return above[..., rows[body], :]

    # φ acting, member by member: each is moved to the body that carries it, in the group or outside it

    def carry(self, act: str, k: int, x: np.ndarray, outward: bool = False) -> np.ndarray:
        known = k not in self._crossings
        if known and act == FORCE and not outward:
            return self._stack(k, self._gather_outside(k, self._cut(k, x), FORCE), x.shape[-1])
        if known and act == MOTION and outward and self.embedding.groups[k].parent >= 0:
            return self._motion_outward(k, x)
        if known and act == INERTIA and _is_diagonal(x, [each.stop for each in self._rows(k).values()]):
            return self._inertia_inward(k, x)
        return super().carry(act, k, x, outward)

    def _motion_outward(self, k: int, x: np.ndarray) -> np.ndarray:
        group = self.embedding.groups[k]
        above, moved = self._cut(group.parent, x), dict[int, np.ndarray]()
        for body in group.bodies:
            parent = self.model.parents[body]
            moved[body] = self.tree.carry(MOTION, body, moved[parent] if parent in moved else above[parent], True)
        still = np.zeros((*x.shape[:-2], len(self.embedding.heavy(k)), x.shape[-1]))
        return np.concatenate([*moved.values(), still], axis=-2)

    def _inertia_inward(self, k: int, x: np.ndarray) -> np.ndarray:
        """φXφ* of an X that has a block for each member and nothing between them, block by block."""
        group, own = self.embedding.groups[k], {body: x[..., each, each] for body, each in self._rows(k).items()}
        blocks, width = self._gather_outside(k, own, INERTIA), self.width(group.parent)
        whole = np.zeros((*x.shape[:-2], width, width), dtype=x.dtype)
        for body, each in self._rows(group.parent).items():
            if body in blocks:
                whole[..., each, each] = blocks[body]
        return whole.view(type(x))

    def _cut(self, k: int, x: np.ndarray) -> dict[int, np.ndarray]:
        """The parts of a stack over the members of link k, by body."""
        return {body: x[..., rows, :] for body, rows in self._rows(k).items()}

    def _gather_outside(self, k: int, parts: dict[int, np.ndarray], act: str) -> dict[int, np.ndarray]:
        """The sums of what members send the bodies outside the group that carry them."""
        known, outside = dict(parts), dict[int, np.ndarray]()
        for body in reversed(parts):
            parent, moved = self.model.parents[body], self.tree.carry(act, body, known[body])
            place = known if parent in known else outside
            place[parent] = place[parent] + moved if parent in place else moved
        return outside

    def _stack(self, k: int, blocks: dict[int, np.ndarray], columns: int) -> np.ndarray:
        """Blocks of the bodies of the link that carries link k, one under the other; of the world, its one block."""
        parent = self.embedding.groups[k].parent
        if parent < 0:
            return blocks[-1]
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks.values()))
        sizes = {body: rows.stop - rows.start for body, rows in self._rows(parent).items()}
        rows = [blocks[body] if body in blocks else np.zeros((*batch, size, columns)) for body, size in sizes.items()]
        return np.concatenate([*rows, np.zeros((*batch, len(self.embedding.heavy(parent)), columns))], axis=-2)

    # Places

    def pose(self, k: int, above: Any) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Poses of the members, by body."""
        found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for body in self.embedding.groups[k].bodies:
            parent = self.model.parents[body]
            base = found[parent] if parent in found else above[parent] if parent >= 0 else None
            found[body] = self.tree.pose(body, base)
        return found

    def link_of(self, frame: str) -> int:
        body = self.model.frame(frame).body
        return next((k for k, group in enumerate(self.embedding.groups) if body in group.bodies), -1)

    def _base(self, frame: str, pose: Any) -> Any:
        """The pose of the body that a frame is on; None for the world."""
        body = self.tree.link_of(frame)
        return pose[body] if body >= 0 else None

    def frame_pose(self, frame: str, pose: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.tree.frame_pose(frame, self._base(frame, pose))

    def _selector(self, frame: str) -> np.ndarray:
        """(w of a member, w): the motion of the member that a frame is on, out of its link's."""
        k = self.link_of(frame)
        return np.eye(self.width(k))[self._rows(k)[self.tree.link_of(frame)]]

    def frame_motion(self, frame: str, pose: Any) -> np.ndarray:
        return self.tree.to_frame(frame, self._base(frame, pose), self._selector(frame))

    def frame_bias(self, frame: str, pose: Any, velocity: np.ndarray) -> np.ndarray:
        own = velocity[..., self._rows(self.link_of(frame))[self.tree.link_of(frame)], :]
        return self.tree.frame_bias(frame, self._base(frame, pose), own)


def _is_diagonal(x: np.ndarray, ends: list[int]) -> bool:
    """Whether the first rows and columns of a traced X have blocks on the diagonal, that end at `ends`, and else only
    zeros."""
    if x.dtype != object:
        return False
    inside = np.searchsorted(ends, np.arange(len(x)), side="right")
    across = (inside[:, None] != inside) & (np.arange(len(x)) < ends[-1])
    return all(is_zero(entry) for entry in x[across])
