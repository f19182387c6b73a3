"""A group of links that loops hold together, at a configuration: φ_𝔊, H_𝔊, and the rows of its closures, Qθ̈ + γ = 0.

Everything is seen from the link that carries the group, held still; so that no compiled function of another model is
asked, on floats with leading axes and on traced scalars alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.backends.links import values as link
from phistar.backends.links.values import Links
from phistar.loops.closure import Closures, closures, loop_frames
from phistar.model import Model
from phistar.model.compound import Group, group_model
from phistar.spatial import cross, force_transform, times, transposed


@dataclass(frozen=True, eq=False)
class GroupLinks:
    """The members of a group at the configuration of `plain`, the spanning tree's links; `closed` has the loops."""

    closed: Model
    group: Group
    plain: Links

    @cached_property
    def model(self) -> Model:
        """The group by itself, with the loops inside it."""
        return group_model(self.closed, self.group)

    @cached_property
    def q(self) -> np.ndarray:
        """The group's own coordinates, (…, nq)."""
        return np.asarray(self.plain.q)[..., list(self.group.coordinates)]

    @cached_property
    def inside(self) -> np.ndarray:
        """φ_𝔊, (…, 6|𝔊|, 6|𝔊|): members stand parents first, so I − ℰ_𝔊 is inverted by its nilpotency."""
        bodies, parents = self.group.bodies, self.closed.parents
        n, blocks = len(bodies), {}
        for j, body in enumerate(bodies):
            blocks[j, j] = np.eye(6)
            if parents[body] in bodies:
                above = bodies.index(parents[body])
                across = force_transform(self.plain.rotation[body], self.plain.offset[body])
                for i in range(n):
                    if (i, above) in blocks:
                        blocks[i, j] = np.matmul(blocks[i, above], across)
        rows = [[blocks.get((i, j), np.zeros((6, 6))) for j in range(n)] for i in range(n)]
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks.values()))
        full = [np.concatenate([np.broadcast_to(x, (*batch, 6, 6)) for x in row], axis=-1) for row in rows]
        return np.concatenate(full, axis=-2)

    @cached_property
    def axes(self) -> np.ndarray:
        """H_𝔊*, (…, 6|𝔊|, rates of the group's tree)."""
        axes = [self.plain.subspace[body] for body in self.group.bodies]
        batch, total = np.broadcast_shapes(*(x.shape[:-2] for x in axes)), len(self.group.rates)
        rows, start = [], 0
        for own in axes:
            end = start + own.shape[-1]
            sides = np.zeros((*batch, 6, start)), np.zeros((*batch, 6, total - end))
            rows.append(np.concatenate([sides[0], np.broadcast_to(own, (*batch, *own.shape[-2:])), sides[1]], axis=-1))
            start = end
        return np.concatenate(rows, axis=-2)

    @cached_property
    def motions(self) -> np.ndarray:
        """φ_𝔊*H_𝔊*, (…, 6|𝔊|, rates): what the rates of the group's tree do to its members."""
        return np.matmul(transposed(self.inside), self.axes)

    @cached_property
    def poses(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Where each member is as the carrier sees it: (R, p)."""
        bodies, found = self.group.bodies, list[tuple[np.ndarray, np.ndarray]]()
        for body in bodies:
            turn, shift = self.plain.rotation[body], self.plain.offset[body]
            if self.closed.parents[body] in bodies:
                base = found[bodies.index(self.closed.parents[body])]
                turn, shift = np.matmul(base[0], turn), base[1] + times(base[0], shift)
            found.append((turn, shift))
        return tuple(found)

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """The moving frames that the group's loops join."""
        return loop_frames(self.model)

    def _at(self, frame: str, columns: np.ndarray) -> np.ndarray:
        """Motions of a frame, in the carrier's axes, from the members' (…, 6|𝔊|, c)."""
        found = self.model.frame(frame)
        own = columns[..., 6 * found.body : 6 * found.body + 6, :]
        return link.to_world_axes(self.poses[found.body][0], found.placement.translation, own)

    @cached_property
    def places(self) -> dict[str, np.ndarray]:
        """Where the ends of loops are, (…, 4, 4)."""
        result = {}
        for frame in self.ends:
            found = self.model.frame(frame)
            turn, shift = self.poses[found.body]
            turn, shift = np.matmul(turn, found.placement.rotation), shift + times(turn, found.placement.translation)
            batch = np.broadcast_shapes(turn.shape[:-2], shift.shape[:-1])
            whole = np.zeros((*batch, 4, 4), dtype=np.result_type(turn, shift))
            whole[..., :3, :3], whole[..., :3, 3], whole[..., 3, 3] = turn, shift, 1.0
            result[frame] = whole
        return result

    @cached_property
    def at_rest(self) -> Closures:
        """The closures without rates: their residual g among them."""
        return closures(self.model, self.q, self.places)

    @cached_property
    def rows(self) -> np.ndarray:
        """Q with ġ = Qθ̇, (…, m, rates)."""
        found = self.at_rest
        total = found.on_rates
        for i, frame in enumerate(self.ends):
            total = total + np.matmul(found.on_frames[..., 6 * i : 6 * i + 6], self._at(frame, self.motions))
        return total

    def bias(self, velocity: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """a_𝔊, (…, 6|𝔊|, 1), at velocities (…, 6|𝔊|, 1) of the members and rates (…, n, 1) of the group's tree."""
        parts, start = [], 0
        for j, body in enumerate(self.group.bodies):
            end = start + self.closed.joints[body].nv
            own = velocity[..., 6 * j : 6 * j + 6, :]
            parts.append(link.bias_acceleration(self.plain, body, own, rates[..., start:end, :]))
            start = end
        return np.concatenate(parts, axis=-2)

    def drift(self, rates: np.ndarray) -> np.ndarray:
        """γ = Q̇θ̇, (…, m), at rates (…, n) of the group's tree: what is left of g̈ where θ̈ = 0."""
        column = rates[..., None]
        velocity = np.matmul(self.motions, column)
        left = np.matmul(transposed(self.inside), self.bias(velocity, column))
        moving, swinging = {}, []
        for frame in self.ends:
            found = self.model.frame(frame)
            omega = velocity[..., 6 * found.body : 6 * found.body + 3, 0]
            swing = cross(omega, cross(omega, found.placement.translation))[..., None]
            added = np.concatenate([np.zeros(swing.shape), swing], axis=-2)
            moving[frame] = self._at(frame, velocity)[..., 0]
            swinging.append(link.to_world_axes(self.poses[found.body][0], np.zeros(3), added)[..., 0])
            swinging[-1] = swinging[-1] + self._at(frame, left)[..., 0]
        made = closures(self.model, self.q, self.places, rates, moving)
        total = made.drift
        for i, acceleration in enumerate(swinging):
            total = total + times(made.on_frames[..., 6 * i : 6 * i + 6], acceleration)
        return total
