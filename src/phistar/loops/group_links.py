"""A group of links that loops hold together, at a configuration: φ_𝔊, H_𝔊, and the rows of its closures, Qθ̈ + γ = 0.

Everything is seen from the link that carries the group, held still; so that no compiled function of another model is
asked, on floats with leading axes and on traced scalars alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.two_velocities import TwoMotions
from phistar.backends.links.wide import WideLinks
from phistar.loops.closure import Closures, closures, loop_frames
from phistar.model import Model
from phistar.model.compound import Group, group_model
from phistar.spatial import cross, times, transposed


@dataclass(frozen=True, eq=False)
class GroupLinks:
    """The members of a group at the configuration of `tree`, the spanning tree's links; `closed` has the loops."""

    closed: Model
    group: Group
    tree: RigidLinks | WideLinks

    @cached_property
    def model(self) -> Model:
        """The group by itself, with the loops inside it."""
        return group_model(self.closed, self.group)

    @cached_property
    def q(self) -> np.ndarray:
        """The group's own coordinates, (…, nq)."""
        return np.asarray(self.tree.plain.q)[..., list(self.group.coordinates)]

    @cached_property
    def rows_of(self) -> dict[int, slice]:
        """Rows of each member in a stack over them, by body: w of each."""
        ends = np.cumsum([0, *(self.tree.width(body) for body in self.group.bodies)])
        return {b: slice(int(i), int(j)) for b, (i, j) in zip(self.group.bodies, pairwise(ends), strict=True)}

    @cached_property
    def width(self) -> int:
        """w of all members together."""
        return sum(self.tree.width(body) for body in self.group.bodies)

    @cached_property
    def inside(self) -> np.ndarray:
        """φ_𝔊, (…, w, w): members stand parents first, so I − ℰ_𝔊 is inverted by its nilpotency."""
        bodies, parents = self.group.bodies, self.closed.parents
        blocks: dict[tuple[int, int], np.ndarray] = {}
        for body in bodies:
            blocks[body, body] = np.eye(self.tree.width(body))
            if parents[body] in self.rows_of:
                across = self.tree.crossing(body)
                for i in bodies:
                    if (i, parents[body]) in blocks:
                        blocks[i, body] = np.matmul(blocks[i, parents[body]], across)
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks.values()))
        full = []
        for i in bodies:
            rows = [blocks.get((i, j), np.zeros((self.tree.width(i), self.tree.width(j)))) for j in bodies]
            full.append(np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in rows], axis=-1))
        return np.concatenate(full, axis=-2)

    @cached_property
    def axes(self) -> np.ndarray:
        """H_𝔊*, (…, w, rates of the group's tree)."""
        axes = [self.tree.subspace(body) for body in self.group.bodies]
        batch, total = np.broadcast_shapes(*(x.shape[:-2] for x in axes)), len(self.group.rates)
        rows, start = [], 0
        for own in axes:
            size, end = own.shape[-2], start + own.shape[-1]
            sides = np.zeros((*batch, size, start)), np.zeros((*batch, size, total - end))
            rows.append(np.concatenate([sides[0], np.broadcast_to(own, (*batch, *own.shape[-2:])), sides[1]], axis=-1))
            start = end
        return np.concatenate(rows, axis=-2)

    @cached_property
    def motions(self) -> np.ndarray:
        """φ_𝔊*H_𝔊*, (…, w, rates): what the rates of the group's tree do to its members."""
        return np.matmul(transposed(self.inside), self.axes)

    @cached_property
    def poses(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Pose of each member in the frame of the group's parent, by body: (R, p)."""
        found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for body in self.group.bodies:
            parent = self.closed.parents[body]
            carried = parent in self.rows_of
            own = self.tree.plain.rotation[body], self.tree.plain.offset[body]
            found[body] = self.tree.pose(body, found[parent]) if carried else own
        return found

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """The moving frames that the group's loops join."""
        return loop_frames(self.model)

    def _on(self, frame: str) -> int:
        """The member that a frame is on."""
        return self.tree.link_of(frame)

    def _at(self, frame: str, columns: np.ndarray) -> np.ndarray:
        """Motions of a frame, in the carrier's axes, from the members' (…, w, c)."""
        body = self._on(frame)
        return self.tree.to_frame(frame, self.poses[body], columns[..., self.rows_of[body], :])

    @cached_property
    def places(self) -> dict[str, np.ndarray]:
        """Poses of the loops' ends, (…, 4, 4)."""
        result = {}
        for frame in self.ends:
            turn, shift = self.tree.frame_pose(frame, self.poses[self._on(frame)])
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

    def bias(self, velocity: np.ndarray, rates: np.ndarray, above: np.ndarray | None) -> np.ndarray:
        """a_𝔊, (…, w, 1), at velocities (…, w, 1) of the members, rates (…, n, 1) of the group's tree and the
        velocity of the body that carries the group; None where it does not move."""
        parts, start = [], 0
        for body, rows in self.rows_of.items():
            end, parent = start + len(self.closed.bodies[body].rates), self.rows_of.get(self.closed.parents[body])
            carrier = above if parent is None else velocity[..., parent, :]
            parts.append(self.tree.bias_acceleration(body, velocity[..., rows, :], carrier, rates[..., start:end, :]))
            start = end
        return np.concatenate(parts, axis=-2)

    def reference_bias(self, motion: TwoMotions) -> np.ndarray:
        """a_r𝔊, (…, w, 1), of the same and of reference velocities."""
        parts, start = [], 0
        velocity, rates, reference, rates_r = motion.own
        for body, rows in self.rows_of.items():
            own = slice(start, start + len(self.closed.bodies[body].rates))
            parent = self.rows_of.get(self.closed.parents[body])
            inside = parent is not None
            above = velocity[..., parent, :] if inside else motion.above
            reference_above = reference[..., parent, :] if inside else motion.reference_above
            moving = velocity[..., rows, :], rates[..., own, :], reference[..., rows, :], rates_r[..., own, :]
            parts.append(self.tree.reference_acceleration(body, TwoMotions(*moving, above, reference_above)))
            start = own.stop
        return np.concatenate(parts, axis=-2)

    def bracket(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """[x, y] of rates (…, n) of the group's tree: zero where rates are those of coordinates; of turns ω_x×ω_y."""
        result = np.zeros(np.broadcast_shapes(x.shape, y.shape), dtype=np.result_type(x, y))
        for joint in self.model.joints:
            if joint.kind.flat:
                continue
            left, right = x[..., joint.v_slice], y[..., joint.v_slice]
            parts = [cross(left[..., :3], right[..., :3])]
            if joint.nv == 6:
                parts.append(cross(left[..., :3], right[..., 3:]) - cross(right[..., :3], left[..., 3:]))
            result[..., joint.v_slice] = np.concatenate(parts, axis=-1)
        return result

    def drift(self, rates: np.ndarray) -> np.ndarray:
        """γ = Q̇θ̇, (…, m), at rates (…, n) of the group's tree: what is left of g̈ where θ̈ = 0."""
        column = rates[..., None]
        velocity = np.matmul(self.motions, column)
        left = np.matmul(transposed(self.inside), self.bias(velocity, column, None))
        moving, swinging = {}, []
        for frame in self.ends:
            body = self._on(frame)
            own = self.tree.frame_bias(frame, self.poses[body], velocity[..., self.rows_of[body], :])
            moving[frame] = self._at(frame, velocity)[..., 0]
            swinging.append((own + self._at(frame, left))[..., 0])
        made = closures(self.model, self.q, self.places, rates, moving)
        total = made.drift
        for i, acceleration in enumerate(swinging):
            total = total + times(made.on_frames[..., 6 * i : 6 * i + 6], acceleration)
        return total
