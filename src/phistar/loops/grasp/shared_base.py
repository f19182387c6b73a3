"""Grasps whose arms share what carries them: a common moving base, several contacts an arm, several bodies.

Of frames on different branches of a tree, what one feels of a force on another goes through the link J where their ways
part. With Ω_J the compliance there and X = Ω_fJ Ω_J⁺, the acceleration of a frame is

    β̇_f = β̇_f,free + X(α_J − α_J,free) + (its own branch's, of compliance Ω_ff − XΩ_JX*)

so that the accelerations of these links, six numbers each, are the state of the filter of `holding.py`, and each branch
takes hold as one measurement, whose noise is its own: contacts on one branch together. O(l) for l branches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import is_traced
from phistar.dynamics import forward_dynamics, forward_kinematics
from phistar.loops.closure import relative_rows
from phistar.loops.effective import pseudo_inverse
from phistar.loops.grasp.holding import Estimate, Grasp, GraspMotion, Hold, free_frames, take_hold
from phistar.model.parts import Loop
from phistar.spatial import times, transposed

FEW = 12  # rows of contacts on a tree: up to here they are one measurement


@dataclass(frozen=True, eq=False)
class Sharing:
    """Contacts that take hold together, and the links where their ways part."""

    grasp: Grasp

    @cached_property
    def ends(self) -> list[tuple[int, str]]:
        """Every moving frame of every contact: (contact, frame)."""
        pairs = [(i, end) for i, loop in enumerate(self.grasp.loops) for end in (loop.frame_a, loop.frame_b)]
        return [(i, end) for i, end in pairs if self.grasp.model.frame(end).body >= 0]

    def way(self, frame: str) -> list[int]:
        """The bodies that carry a frame, from the world on."""
        found, body = [], self.grasp.model.frame(frame).body
        while body >= 0:
            found.insert(0, body)
            body = self.grasp.model.parents[body]
        return found

    @cached_property
    def parting(self) -> dict[int, int]:
        """Last body on the ways to all contacts of a tree, by the tree's root; none where they are few."""
        held = self.grasp.model.body_index(self.grasp.object)
        found = {held: held}
        for root in {self.way(frame)[0] for _, frame in self.ends}:
            own = [(i, frame) for i, frame in self.ends if self.way(frame)[0] == root]
            contacts = {i for i, _ in own}
            rows = sum(self.grasp.loops[i].rows for i in contacts)
            if root != held and len(contacts) > 1 and (rows > FEW or not self._is_on_one(root, contacts)):
                ways = [self.way(frame) for _, frame in own]
                common = [bodies[0] for bodies in zip(*ways, strict=False) if len(set(bodies)) == 1]
                found[root] = common[-1]
        return found

    def _is_on_one(self, root: int, contacts: set[int]) -> bool:
        """Whether contacts join a tree to one other tree alone, or to the world."""
        others = {self.way(frame)[0] for i, frame in self.ends if i in contacts} - {root}
        return len(others) <= 1

    @cached_property
    def branches(self) -> dict[tuple[int, ...], list[str]]:
        """Frames by the branch that they are on: (root, the body after the parting link)."""
        found: dict[tuple[int, ...], list[str]] = {}
        for number, (_, frame) in enumerate(self.ends):
            way = self.way(frame)
            if way[0] not in self.parting:
                key: tuple[int, ...] = (way[0],)
            else:
                after = way[way.index(self.parting[way[0]]) + 1 :]
                key = (way[0], after[0]) if after else (way[0], -1, number)  # on the link itself: nothing is shared
            if frame not in found.setdefault(key, []):
                found[key].append(frame)
        return found

    @cached_property
    def blocks(self) -> list[list[int]]:
        """Contacts that share a branch, which take hold as one."""
        owner = list(range(len(self.grasp.loops)))

        def first(i: int) -> int:
            while owner[i] != i:
                i = owner[i]
            return i

        for frames in self.branches.values():
            together = [i for i, frame in self.ends if frame in frames]
            for other in together[1:]:
                owner[first(other)] = first(together[0])
        made: dict[int, list[int]] = {}
        for i in range(len(owner)):
            made.setdefault(first(i), []).append(i)
        return list(made.values())


class SharedState:
    """The free motion of a grasp at a state, branch by branch."""

    def __init__(self, sharing: Sharing, q: Any, v: Any, tau: Any) -> None:
        self.sharing, self.grasp = sharing, sharing.grasp
        model = self.grasp.model
        names = {root: model.bodies[body].name for root, body in sharing.parting.items()}
        self.places = {root: 6 * i for i, root in enumerate(names)}
        self.size = 6 * len(names)
        free = {root: free_frames(model.tree, q, v, tau, (name,)) for root, name in names.items()}
        self.object = free[model.body_index(self.grasp.object)]["acceleration"]
        batch = self.object.shape[:-1]
        self.dtype = object if is_traced(self.object) else float
        compliance = np.zeros((*batch, self.size, self.size), self.dtype)
        for root, at in self.places.items():
            compliance[..., at : at + 6, at : at + 6] = free[root]["compliance"]
        acceleration = np.concatenate([free[root]["acceleration"] for root in names], axis=-1)
        self.estimate = Estimate(acceleration, self._to_array(compliance))
        self.frames: dict[str, dict[str, Any]] = {}
        self.noise: list[tuple[list[str], np.ndarray]] = []
        for key, frames in sharing.branches.items():
            self._branch(key[0], frames, names.get(key[0]), free.get(key[0]), (q, v, tau))
        self.poses = {frame: forward_kinematics(model.tree, q, frame) for _, frame in sharing.ends}

    def _branch(self, root: int, frames: list[str], name: str | None, at: Any, state: tuple[Any, Any, Any]) -> None:
        """Free accelerations less what the parting link gives, X, and the compliance of the branch itself."""
        named = tuple(frames) if name is None or name in frames else (*frames, name)
        q, v, tau = state
        found = free_frames(self.grasp.model.tree, q, v, tau, named)
        own = 6 * len(frames)
        compliance, across = found["compliance"][..., :own, :own], None
        if name is not None:
            where = 6 * named.index(name)
            inverse = pseudo_inverse(at["compliance"]).inverse
            across = np.matmul(found["compliance"][..., :own, where : where + 6], inverse)
            compliance = compliance - np.matmul(np.matmul(across, at["compliance"]), transposed(across))
        for i, frame in enumerate(frames):
            rows = slice(6 * i, 6 * i + 6)
            left, gives = found["acceleration"][..., rows], None
            if across is not None:
                gives = across[..., rows, :]
                left = left - times(gives, at["acceleration"])
            self.frames[frame] = {"left": left, "gives": gives, "motion": found["motion"][..., rows], "root": root}
        self.noise.append((frames, compliance))

    def rows(self, loop: Loop) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Q of each moving end of a contact, and what is left of its acceleration."""
        ends = (loop.frame_a, loop.frame_b)
        known = [end in self.frames for end in ends]
        still = self.grasp.model.frame
        poses = [self.poses[end] if on else still(end).placement.matrix for end, on in zip(ends, known, strict=True)]
        motions = [self.frames[end]["motion"] if on else np.zeros(6) for end, on in zip(ends, known, strict=True)]
        _, *on_ends, drift = relative_rows(loop.joint, *poses, *motions)
        own = {end: block for end, block, on in zip(ends, on_ends, known, strict=True) if on}
        return own, sum((times(block, self.frames[end]["left"]) for end, block in own.items()), drift)

    def hold(self, block: list[int]) -> tuple[Hold, list[tuple[slice, dict[str, np.ndarray]]]]:
        """The contacts of a block as one measurement, and the rows and Q of each."""
        loops = [self.grasp.loops[i] for i in block]
        ends = np.cumsum([0, *(loop.rows for loop in loops)])
        batch = self.estimate.acceleration.shape[:-1]
        seen, bias = (np.zeros((*batch, ends[-1], *more), self.dtype) for more in ((self.size,), ()))
        noise, parts = np.zeros((*batch, ends[-1], ends[-1])), []
        for loop, begin, end in zip(loops, ends, ends[1:], strict=False):
            own, left = self.rows(loop)
            parts.append((slice(int(begin), int(end)), own))
            bias[..., begin:end] = left
            for frame, rows in own.items():
                gives, root = self.frames[frame]["gives"], int(self.frames[frame]["root"])
                if gives is not None:
                    at = self.places[root]
                    seen[..., begin:end, at : at + 6] += np.matmul(rows, gives)
        for frames, compliance in self.noise:
            known = [(place, frame, rows) for place, own in parts for frame, rows in own.items() if frame in frames]
            taken = np.zeros((*batch, ends[-1], 6 * len(frames)), self.dtype)
            for place, frame, rows in known:
                at = 6 * frames.index(frame)
                taken[..., place, at : at + 6] += rows
            if known:
                own_rows = self._to_array(taken)
                noise = noise + np.matmul(np.matmul(own_rows, compliance), transposed(own_rows))
        nothing = np.zeros((*batch, ends[-1], 6))
        return Hold(self._to_array(seen), self._to_array(bias), noise, nothing, nothing), parts

    def _to_array(self, array: np.ndarray) -> np.ndarray:
        return traced(array) if self.dtype is object else array


def shared_dynamics(grasp: Grasp, q: Any, v: Any, tau: Any) -> GraspMotion:
    """`grasp_dynamics` of arms that share what carries them."""
    sharing = Sharing(grasp)
    state = SharedState(sharing, q, v, tau)
    estimate, holds, taken = state.estimate, [], []
    for block in sharing.blocks:
        hold, parts = state.hold(block)
        estimate, own = take_hold(estimate, hold)
        holds.append((block, hold, parts))
        taken.append(own)
    later, f_ext = np.zeros(state.size), {}
    on_object: dict[int, np.ndarray] = {}
    for (block, hold, parts), own in zip(reversed(holds), reversed(taken), strict=True):
        forces = -own.pushed - times(transposed(own.gain), later)
        later = later + times(transposed(hold.on_object), forces)
        for contact, (place, ends) in zip(block, parts, strict=True):
            for frame, rows in ends.items():
                pulled = times(transposed(rows), forces[..., place])
                f_ext[frame] = f_ext.get(frame, 0.0) + pulled
                if sharing.way(frame)[0] == grasp.model.body_index(grasp.object):
                    on_object[contact] = pulled
    acceleration = forward_dynamics(grasp.model.tree, q, v, tau, f_ext)
    at = state.places[grasp.model.body_index(grasp.object)]
    nothing = np.zeros((*estimate.acceleration.shape[:-1], 6))
    forces = np.stack([on_object.get(i, nothing) for i in range(len(grasp.loops))], axis=-2)
    rank = reduce(np.add, (own.rank for own in taken))
    condition = reduce(np.maximum, (own.condition for own in taken))
    place = slice(at, at + 6)
    return GraspMotion(
        acceleration,
        estimate.acceleration[..., place],
        estimate.compliance[..., place, place],
        forces,
        rank,
        condition,
    )
