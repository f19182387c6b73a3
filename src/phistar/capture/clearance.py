"""Clearance along a planned way: the least distances between arms, hands and what they capture.

Balls around the shapes are compared for all samples of a way at once; coal is asked only where they are near.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.capture.robot import Arms, subtree
from phistar.contact.coal_shapes import coal, convex
from phistar.contact.sites import Site, sites
from phistar.dynamics import forward_kinematics
from phistar.model import Model

FAR = 1.0  # m: a distance beyond which nothing is asked
KNOWN = 0.03  # m by which the second link of an arm may be nearer its base than what is seen with errors may be
LEAST = 0.01  # m: a link that never stands clearer of its base is made so
SWEEP = 24  # angles of its joint that are looked at, for whether it ever stands clear


class Nearest(NamedTuple):
    """The smallest distance, m, in which sample of the way it is, and between what."""

    distance: float
    sample: int
    names: tuple[str, str]


class _Chain(NamedTuple):
    """The bodies of an arm, from the base outward, and those of its hand, the last of the arm among them."""

    arm: list[int]
    hand: set[int]

    def __contains__(self, body: object) -> bool:
        return body in self.arm or body in self.hand


class Clearance:
    """The pairs of shapes that the arms must keep apart: each arm from the object, from the other arms, from the base
    with what it carries, and its hand from its own upper links."""

    def __init__(self, arms: Arms) -> None:
        self.arms = arms
        model = arms.scene
        every = sites(model)
        self.target = model.body_index(arms.layout.target)
        held = subtree(model, self.target)
        chains = [self._chain(hand.wrist, held) for hand in arms.hands]
        still = {-1, *range(len(model.bodies))} - held  # the base, and what it carries besides arms
        for chain in chains:
            still -= subtree(model, chain.arm[0])
        self.known = {body.name for body in arms.model.bodies}
        names = {name for hand in arms.hands for name in hand.fingers}
        sliding = {joint.body for joint in arms.slides}
        self.pairs: list[tuple[Site, Site]] = []
        self.fingers: list[bool] = []
        for i, a in enumerate(every):
            for b in every[:i]:
                if self._matters(a.body, b.body, chains, held, still):
                    self.pairs.append((a, b))
                    other = a if b.body == self.target else b
                    close = other.name in names or other.body in sliding
                    self.fingers.append(self.target in (a.body, b.body) and close)
        self.near = np.zeros(len(self.pairs))
        self._add_second_links(every, chains, still)
        self.sites = tuple(dict.fromkeys(site for pair in self.pairs for site in pair))
        index = {site: number for number, site in enumerate(self.sites)}
        self.numbers = np.array([[index[a], index[b]] for a, b in self.pairs])
        self.reach = np.array([site.reach for site in self.sites])

    def _chain(self, wrist: str, held: set[int]) -> _Chain:
        scene, arms, found = self.arms.scene, self.arms.model, []
        body = arms.frame(wrist).body
        base = arms.frame(self.arms.layout.base).body
        while body not in (base, -1):
            found.insert(0, scene.body_index(arms.bodies[body].name))
            body = arms.parents[body]
        return _Chain(found, subtree(scene, found[-1]) - held)

    def _matters(self, a: int, b: int, chains: list[_Chain], held: set[int], still: set[int]) -> bool:
        for one, two in ((a, b), (b, a)):
            own = next((chain for chain in chains if one in chain), None)
            if own is None:
                continue
            if two in held or any(two in chain for chain in chains if chain is not own):
                return True
            if two in still and one not in own.arm[:2]:
                return True
            if one in own.hand and two in own.arm[:3]:
                return True
        return False

    def _add_second_links(self, every: tuple[Site, ...] | list[Site], chains: list[_Chain], still: set[int]) -> None:
        """Pairs of every arm's second link and the base, but for those that are near each other however it stands."""
        library, scene, added = coal(), self.arms.scene, 0
        request, result = library.DistanceRequest(), library.DistanceResult()
        for chain in chains:
            body = chain.arm[1]
            joint = scene.joints[body]
            low, high = (float(np.ravel(each)[0]) for each in joint.kind.limits)
            for one in (site for site in every if site.body == body):
                for two in (site for site in every if site.body in still):
                    far = -np.inf
                    for angle in np.linspace(max(low, -np.pi), min(high, np.pi), SWEEP):
                        q = np.array(self.arms.rest)
                        q[joint.q_slice] = angle
                        result.clear()
                        places = [_shape_transform(scene, q, site, library) for site in (one, two)]
                        shapes = convex(one.shape), convex(two.shape)
                        own = library.distance(shapes[0], places[0], shapes[1], places[1], request, result)
                        far = max(far, float(own))
                    if far > LEAST:
                        self.pairs.append((one, two))
                        self.fingers.append(False)
                        added += 1
        self.near = np.concatenate([self.near, np.full(added, KNOWN)])

    @cached_property
    def _functions(self) -> list:
        library = coal()
        return [library.ComputeDistance(convex(a.shape), convex(b.shape)) for a, b in self.pairs]

    def nearest(self, joints: np.ndarray, pose: np.ndarray, touching: np.ndarray, least: float) -> Nearest:
        """Along a way of joints (n, m) beside the object's poses (n, 4, 4), seen from the base: the least distance, or
        the first found below `least`. Where `touching` (n,), fingers may be near the object."""
        turns, centers = self._shape_poses(joints, pose)
        a, b = self.numbers.T
        bound = np.linalg.norm(centers[:, a] - centers[:, b], axis=-1) - self.reach[a] - self.reach[b] + self.near
        bound[np.ix_(touching, np.array(self.fingers))] = FAR
        best = Nearest(FAR, 0, ("", ""))
        library = coal()
        request, result = library.DistanceRequest(), library.DistanceResult()
        poses: dict[tuple[int, int], object] = {}
        close = np.argwhere(bound < least)
        for sample, pair in close[np.argsort(bound[bound < least], kind="stable")].tolist():
            for site in self.numbers[pair].tolist():
                if (sample, site) not in poses:
                    poses[sample, site] = library.Transform3s(turns[sample, site], centers[sample, site])
            one, two = (poses[sample, site] for site in self.numbers[pair].tolist())
            result.clear()
            distance = self._functions[pair](one, two, request, result) + self.near[pair]
            if distance < best.distance:
                best = Nearest(float(distance), sample, (self.pairs[pair][0].name, self.pairs[pair][1].name))
                if distance < least:
                    break
        return best

    def _shape_poses(self, joints: np.ndarray, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotations (n, s, 3, 3) and centres (n, s, 3) of s shapes, in the base frame."""
        arms, count = self.arms, len(joints)
        q = arms.configuration(joints)
        back = np.linalg.inv(arms.base) if not arms.free else np.eye(4)
        poses: dict[int, np.ndarray] = {-1: np.broadcast_to(back, (count, 4, 4))}
        turns, centers = np.empty((count, len(self.sites), 3, 3)), np.empty((count, len(self.sites), 3))
        for number, site in enumerate(self.sites):
            if site.body not in poses:
                poses[site.body] = self._pose(site.body, q, pose, back)
            place = poses[site.body]
            turns[:, number] = place[:, :3, :3] @ site.placement.rotation
            centers[:, number] = place[:, :3, :3] @ site.placement.translation + place[:, :3, 3]
        return turns, centers

    def _pose(self, body: int, q: np.ndarray, target: np.ndarray, back: np.ndarray) -> np.ndarray:
        """Pose of a body of the scene, (n, 4, 4), in the base frame; what swings keeps its place on what carries it."""
        scene, carrier = self.arms.scene, body
        while carrier not in (self.target, -1) and scene.bodies[carrier].name not in self.known:
            carrier = scene.parents[carrier]
        if carrier < 0:
            return back @ np.broadcast_to(self._at_rest(body), (len(q), 4, 4))
        away = np.linalg.inv(self._at_rest(carrier)) @ self._at_rest(body)
        if carrier == self.target:
            return target @ away
        return back @ forward_kinematics(self.arms.model, q, scene.bodies[carrier].name) @ away

    def _at_rest(self, body: int) -> np.ndarray:
        return forward_kinematics(self.arms.scene, self.arms.rest, self.arms.scene.bodies[body].name)


def _shape_transform(scene: Model, q: np.ndarray, site: Site, library: Any) -> Any:
    """A shape's place in the world, as coal takes it."""
    whole = np.eye(4) if site.body < 0 else forward_kinematics(scene, q, scene.bodies[site.body].name)
    turn, place = whole[:3, :3], whole[:3, 3]
    return library.Transform3s(turn @ site.placement.rotation, turn @ site.placement.translation + place)
