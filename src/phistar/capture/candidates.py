"""Every way to take hold of a body in the next minute, as rows of arrays, and how good each is."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.capture.clearance import Clearance
from phistar.capture.faces import Face, face_pairs
from phistar.capture.robot import BASE, OBJECT, SIDES, Arms
from phistar.control.spherical_wrist import SphericalWrist
from phistar.dynamics import jacobian
from phistar.errors import ModelError
from phistar.model import Capsule
from phistar.spatial import cross

TURN = 2.0 * np.pi
PEAK = 1.875  # of a quintic's rate, next to its mean
JUMP = 0.9  # rad: joints that differ by more between standoff, contact and stop are on other ways to bend
EASY_MARGIN, EASY_DEXTERITY = 0.35, 0.12  # rad and 1/|J⁻¹|: beyond these, more is no better
ROLL_ROOM = 0.7  # rad that the last joint keeps for what is not planned
APART = 2.5  # s between choices that differ in their moment alone


@dataclass(frozen=True)
class Preferences:
    """What a good plan is. Times in s, lengths in m, angles in rad."""

    window: float = 60.0  # how far ahead to look,
    trusted: float = 0.9  # while the body turns so far: its inertia is not known, and its axis wanders
    interval: float = 1.0  # between the moments that are compared, at least,
    turning: float = 0.08  # and what the body turns by between them
    standoff: float = 0.12  # from the face, where the arms arrive: corners that pass do not reach the fingers there
    closing: float = 3.0  # from there until both hands press
    stopping: float = 1.3  # the body goes on as if for so long, until it is held
    rate: float = 0.7  # rad/s: of the fastest joint during the approach
    shortest: float = 3.0  # approach
    limit_margin: float = 0.07  # least distance of joints from their limits
    dexterity: float = 0.03  # least 1/|J⁻¹|, J of the grip: how far from singular
    clearance: float = 0.035  # least distance between what must not touch, as it is seen: 10 mm and 3° may be wrong
    shift: float = 0.06  # of the grip from the middle of a face
    looked_at: int = 24  # choices whose way is looked at
    content: float = 0.4  # score from which on no grasp off the middle is looked for
    patience: float = 0.02  # of the score (0 to 1) that a second of waiting costs,
    travel: float = 0.03  # a radian of the joint that moves farthest,
    decentred: float = 0.1  # a grip off the middle of the face,
    repetition: float = 0.3  # and a choice of faces that was tried in vain


class Grasp(NamedTuple):
    """Who takes which face: the left hand's first. `shift` is along the faces, in the body's frame."""

    faces: tuple[Face, Face]
    shift: np.ndarray

    @property
    def names(self) -> tuple[str, str]:
        return self.faces[0].name, self.faces[1].name

    @property
    def grips(self) -> np.ndarray:
        """(2, 4, 4) in the body's frame, at no roll."""
        grips = np.stack([face.contact for face in self.faces])
        grips[:, :3, 3] += self.shift
        return grips


class Choice(NamedTuple):
    """One way: its score, the grasp, the moment's number, `joints` (3, 12) at standoff, contact and stop, and `rolls`
    (2,) of the hands about z."""

    score: float
    grasp: Grasp
    moment: int
    joints: np.ndarray
    rolls: np.ndarray
    duration: float


class Robot:
    """What of the arms and the body does not depend on the state: inverse kinematics, grasps, shapes."""

    def __init__(self, arms: Arms, shift: float) -> None:
        self.arms = arms
        self.wrists = [SphericalWrist.of(arms.model, hand.grip, BASE) for hand in arms.hands]
        self.ways = [float(wrist.axes[5] @ wrist.home[:3, 2]) for wrist in self.wrists]
        for side, way in zip(SIDES, self.ways, strict=True):
            if abs(abs(way) - 1.0) > 1e-9:
                raise ModelError(f"The last axis of the {side} arm is not along its fingers; planning needs that.")
        every = self._grasps(shift)
        if not every:
            raise ModelError(
                f"{arms.scene.name}: '{OBJECT}' has no two opposite flat faces with room for a hand, which a capture "
                "takes hold of; balls, capsules and cylinders have none. Give it a box, or points or a hull with such "
                "faces."
            )
        self.centred = tuple(grasp for grasp in every if not np.any(grasp.shift))
        self.shifted = tuple(grasp for grasp in every if np.any(grasp.shift))
        self.clearance = Clearance(arms)

    def _grasps(self, shift: float) -> list[Grasp]:
        found = []
        for one, two in face_pairs(self.arms.scene, OBJECT, self.arms.hands[0], self._tip):
            size = min(shift, one.room)
            steps = [(0.0, 0.0), (size, 0.0), (-size, 0.0), (0.0, size), (0.0, -size)] if size > 0.0 else [(0.0, 0.0)]
            for x, y in steps:
                along = one.contact[:3, 0] * x + one.contact[:3, 1] * y
                found += [Grasp((one, two), along), Grasp((two, one), along)]
        return found

    @cached_property
    def _tip(self) -> float:
        """The radius of the fingertips."""
        shapes = [each.shape for body in self.arms.model.bodies for each in body.geometry if "finger" in each.name]
        return max(shape.radius for shape in shapes if isinstance(shape, Capsule))


class Candidates:
    """The grasps of some moments: `pose` (k, 3, 4, 4) and `twist` (k, 3, 6) of the body at standoff, contact and stop,
    `waits` (k,) s from now, `joints` (12,) now."""

    def __init__(
        self, robot: Robot, settings: Preferences, joints: np.ndarray, waits: np.ndarray, pose: Any, twist: Any
    ) -> None:
        self.grasps: tuple[Grasp, ...] = ()
        self.robot, self.settings, self.now, self.waits = robot, settings, joints, waits
        self.pose, self.twist = pose, twist
        self.lower, self.upper = (limit.reshape(2, 6) for limit in robot.arms.limits)

    def ranked(self, grasps: tuple[Grasp, ...], tried: tuple[tuple[str, str], ...] = ()) -> list[Choice]:
        """The best of some grasps, best first; empty when nothing is good enough, and `reason` says why."""
        self.grasps = grasps
        grips = np.stack([grasp.grips for grasp in grasps])  # (g, 2, 4, 4)
        whole = self.pose[None, :, 1, None] @ grips[:, None]  # (g, k, 2, 4, 4), at contact
        touch = [self._allowed(self._solved(side, whole[:, :, side]), side) for side in (0, 1)]
        both = np.argwhere(touch[0] & touch[1])  # rows (grasp, moment)
        self.reason = f"no face pair is within reach of both arms in the next {self.waits[-1]:.0f} s"
        if not len(both):
            return []
        sides = [self._arm(side, both, grips[:, side]) for side in (0, 1)]
        return self._chosen(both, sides, Counter(tried))

    def _solved(self, side: int, poses: np.ndarray) -> np.ndarray:
        return self.robot.wrists[side].solutions(poses)

    def _allowed(self, angles: np.ndarray, side: int) -> np.ndarray:
        """Whether any solution (…, 8, 6) is within the limits of the first five joints, the last being free to turn."""
        low, high = self.lower[side] + self.settings.limit_margin, self.upper[side] - self.settings.limit_margin
        inside = (angles > low) & (angles < high)
        return inside[..., :5].all(axis=-1).any(axis=-1)

    def _arm(self, side: int, rows: np.ndarray, grips: np.ndarray) -> dict[str, np.ndarray]:
        """Of one arm on rows (r, 2): scores (r, 8), joints (r, 8, 3, 6) and rolls (r, 8) of its ways to bend."""
        settings, now = self.settings, self.now[6 * side : 6 * side + 6]
        poses = self.pose[rows[:, 1]] @ grips[rows[:, 0], None]  # (r, 3, 4, 4)
        poses[:, 0, :3, 3] -= settings.standoff * poses[:, 0, :3, 2]
        angles = np.swapaxes(self._solved(side, poses), 1, 2).copy()  # (r, 8, 3, 6)
        angles[:, :, 0] = self._wrapped(angles[:, :, 0], now, side)
        for stage in (1, 2):
            angles[:, :, stage] += TURN * np.round((angles[:, :, stage - 1] - angles[:, :, stage]) / TURN)
        turn = self._turn(side, rows, angles[:, :, 0, 5], now[5])
        angles[..., 5] += turn[..., None]
        margin = np.minimum(angles - self.lower[side], self.upper[side] - angles).min(axis=(-1, -2))
        jump = np.abs(np.diff(angles, axis=2)).max(axis=(-1, -2))
        travel = np.abs(angles[:, :, 0] - now).max(axis=-1)
        duration = np.maximum(PEAK * travel / settings.rate, settings.shortest)
        good = (margin > settings.limit_margin) & (jump < JUMP) & (duration <= self.waits[rows[:, 1], None] + 1e-9)
        dexterity = self._dexterity(side, angles, good, rows, grips)
        score = np.minimum(np.minimum(margin / EASY_MARGIN, dexterity / EASY_DEXTERITY), 1.0) - settings.travel * travel
        score = np.where(good & (dexterity > settings.dexterity), score, -np.inf)
        return {"score": score, "joints": angles, "roll": turn * self.robot.ways[side], "duration": duration}

    def _wrapped(self, angles: np.ndarray, now: np.ndarray, side: int) -> np.ndarray:
        """Whole turns added, so that joints are near where they are now, and within their limits."""
        near = angles + TURN * np.round((now - angles) / TURN)
        near = np.where(near > self.upper[side], near - TURN, near)
        return np.where(near < self.lower[side], near + TURN, near)

    def _turn(self, side: int, rows: np.ndarray, last: np.ndarray, now: float) -> np.ndarray:
        """What the last joint turns beyond a solution without roll, (r, 8): to where it is, or to a groove nearby."""
        low, high = self.lower[side, 5] + ROLL_ROOM, self.upper[side, 5] - ROLL_ROOM
        there = np.clip(now, low, high)
        turn = there - last
        for number, grasp in enumerate(self.grasps):
            rolls = grasp.faces[side].rolls
            if rolls is not None:
                mine = rows[:, 0] == number
                wanted = last[mine][..., None] + rolls * self.robot.ways[side]
                wanted = wanted + TURN * np.round((there - wanted) / TURN)
                wanted = wanted + TURN * ((wanted < low).astype(float) - (wanted > high))
                nearest = np.argmin(np.abs(wanted - there), axis=-1)[..., None]
                turn[mine] = np.take_along_axis(wanted, nearest, axis=-1)[..., 0] - last[mine]
        return turn

    def _dexterity(
        self, side: int, angles: np.ndarray, good: np.ndarray, rows: np.ndarray, grips: np.ndarray
    ) -> np.ndarray:
        """1/|J⁻¹| of the grip at contact, (r, 8), zero where the body moves too fast for the joints."""
        which = np.argwhere(good)
        inverse = self.inverse_jacobian(side, angles[good][:, 1])
        twist = grip_twist(
            self.pose[rows[which[:, 0], 1], 1], self.twist[rows[which[:, 0], 1], 1], grips[rows[which[:, 0], 0]]
        )
        fastest = np.abs(inverse @ twist[..., None]).max(axis=(-1, -2))
        found = np.zeros(good.shape)
        found[good] = np.where(fastest < self.settings.rate, 1.0 / np.linalg.norm(inverse, axis=(-1, -2)), 0.0)
        return found

    def inverse_jacobian(self, side: int, angles: np.ndarray) -> np.ndarray:
        """Of the grip against the base, (n, 6, 6), at joints (n, 6) of one arm."""
        arms, hand = self.robot.arms, self.robot.arms.hands[side]
        joints = np.zeros((len(angles), 12))
        joints[:, 6 * side : 6 * side + 6] = angles
        own = jacobian(arms.model, arms.configuration(joints), hand.grip)[..., hand.joints]
        turn = np.eye(3) if arms.free else arms.base[:3, :3].T
        own = np.concatenate([turn @ own[:, :3], turn @ own[:, 3:]], axis=1)
        return np.linalg.inv(own + 1e-9 * np.eye(6))

    def _chosen(self, rows: np.ndarray, sides: list[dict[str, np.ndarray]], tried: Counter) -> list[Choice]:
        """The best combinations of both arms, few of each kind."""
        settings, best = self.settings, [np.argsort(-side["score"], axis=1, kind="stable")[:, :2] for side in sides]
        cost = settings.patience * (self.waits[rows[:, 1]] - self.waits[0])
        cost = cost + np.array([self._cost(grasp, tried) for grasp in self.grasps])[rows[:, 0]]
        pairs = [(i, j) for i in range(2) for j in range(2)]
        numbers = np.arange(len(rows))
        scores = []
        for i, j in pairs:
            left, right = (side["score"][numbers, way[:, n]] for side, way, n in zip(sides, best, (i, j), strict=True))
            scores.append(np.minimum(left, right) + 0.1 * (left + right) - cost)
        table = np.stack(scores, axis=-1)
        order = np.argsort(-table, axis=None, kind="stable")
        order = order[np.isfinite(table.reshape(-1)[order])]
        if not len(order):
            self.reason = "both arms reach a face pair only near joint limits, near singular positions, or too late"
        found, seen = [], defaultdict(list)
        for number in order.tolist():
            row, pair = divmod(number, len(pairs))
            ways = tuple(int(best[side][row, pairs[pair][side]]) for side in (0, 1))
            kind = (self.grasps[rows[row, 0]].names, ways)
            when = self.waits[rows[row, 1]]
            if all(abs(when - other) > APART for other in seen[kind]):
                seen[kind].append(when)
                found.append(self._choice(float(table[row, pair]), rows[row], row, ways, sides))
            if len(found) == settings.looked_at:
                break
        return found

    def _cost(self, grasp: Grasp, tried: Counter) -> float:
        return self.settings.repetition * tried[grasp.names] + self.settings.decentred * bool(np.any(grasp.shift))

    def _choice(
        self, score: float, pair: np.ndarray, row: int, ways: Any, sides: list[dict[str, np.ndarray]]
    ) -> Choice:
        joints = np.concatenate([side["joints"][row, way] for side, way in zip(sides, ways, strict=True)], axis=-1)
        rolls = np.array([side["roll"][row, way] for side, way in zip(sides, ways, strict=True)])
        duration = max(float(side["duration"][row, way]) for side, way in zip(sides, ways, strict=True))
        return Choice(score, self.grasps[pair[0]], int(pair[1]), joints, rolls, duration)


def grip_twist(pose: np.ndarray, twist: np.ndarray, grip: np.ndarray) -> np.ndarray:
    """The twist (…, 6) of a point that a body carries, at grip (…, 4, 4) in its frame."""
    arm = (pose[..., :3, :3] @ grip[..., :3, 3:])[..., 0]
    linear = twist[..., 3:] + cross(twist[..., :3], arm)
    return np.concatenate([np.broadcast_to(twist[..., :3], linear.shape), linear], axis=-1)
