"""Every way to take hold of a body in the next minute, as rows of arrays, and how good each is."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from phistar.capture.clearance import Clearance
from phistar.capture.grasps import Grasp, found_grasps
from phistar.capture.robot import Arms
from phistar.control.arm_solutions import arm_solutions
from phistar.dynamics import forward_kinematics, jacobian
from phistar.errors import ModelError
from phistar.spatial import cross

TURN = 2.0 * np.pi
PEAK = 1.875  # of a quintic's rate, next to its mean
JUMP = 0.9  # rad: joints that differ by more between two stages are on other ways to bend; more where the body turns
EASY_MARGIN, EASY_DEXTERITY = 0.35, 0.12  # rad and 1/|J⁻¹|: beyond these, more is no better
ROLL_ROOM = 0.7  # rad that the last joint keeps for what is not planned
APART = 2.5  # s between choices that differ in their moment alone
STAGES = np.array([0.0, 0.5, 1.0, 1.5, 2.0])  # standoff, half closed, contact, half stopped, stopped
CONTACT, STOPPED = 2, 4


@dataclass(frozen=True)
class Preferences:
    """Criteria of a good plan. Times in s, lengths in m, angles in rad."""

    window: float = 60.0  # how far ahead to look,
    trusted: float = 0.9  # while the body turns so far: its inertia is not known, and its axis wanders
    friction: float = 0.3  # that fingers are trusted to have
    interval: float = 0.25  # between the moments that are compared, at least,
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


class Choice(NamedTuple):
    """One way: its score, the grasp, the moment's number, `joints` (5, n) at the STAGES, and `rolls` (h,) of the hands
    about z."""

    score: float
    grasp: Grasp
    moment: int
    joints: np.ndarray
    rolls: np.ndarray
    duration: float


class Robot:
    """State-independent data of the arms and the body: inverse kinematics, grasps, shapes."""

    def __init__(self, arms: Arms, settings: Preferences) -> None:
        self.arms = arms
        self.solvers = [arm_solutions(arms.model, hand.grip, arms.layout.base) for hand in arms.hands]
        self.ways = [self._way(number) for number in range(len(arms.hands))]
        target = arms.scene.bodies[arms.scene.body_index(arms.layout.target)]
        whose = f"{arms.scene.name}: '{target.name}'"
        every = found_grasps(target.geometry, arms.hands, settings.friction, settings.shift, whose)
        self.centred = tuple(grasp for grasp in every if not np.any(grasp.shift))
        self.shifted = tuple(grasp for grasp in every if np.any(grasp.shift))
        self.clearance = Clearance(arms)

    def _way(self, number: int) -> float:
        """±1, the way the last joint of an arm turns its hand about the fingers."""
        arms, hand = self.arms, self.arms.hands[number]
        q = arms.model.neutral()
        axis = jacobian(arms.model, q, hand.grip)[:3, hand.joints[-1]]
        way = float(axis @ forward_kinematics(arms.model, q, hand.grip)[:3, 2])
        if abs(abs(way) - 1.0) > 1e-6:
            raise ModelError(
                f"{arms.model.name}: the last axis of the arm of '{hand.name}' is not along its fingers, as planning "
                "needs; mount the hand so that they point along it."
            )
        return way


class Candidates:
    """The grasps of some moments: `pose` (k, 5, 4, 4) and `twist` (k, 5, 6) of the body at the STAGES, `waits` (k,) s
    from now, `joints` (n,) now."""

    def __init__(
        self, robot: Robot, settings: Preferences, joints: np.ndarray, waits: np.ndarray, pose: Any, twist: Any
    ) -> None:
        self.grasps: tuple[Grasp, ...] = ()
        self.robot, self.settings, self.now, self.waits = robot, settings, joints, waits
        self.pose, self.twist = pose, twist
        self.lower, self.upper = ([limit[part] for part in robot.arms.slices] for limit in robot.arms.limits)
        spin = float(np.linalg.norm(twist[..., :3], axis=-1).max(initial=0.0))
        self.jump = JUMP + 2.0 * spin * max(settings.closing, settings.stopping) / 2.0
        self.reason = ""

    def rank(self, grasps: tuple[Grasp, ...], tried: tuple[tuple[str, ...], ...] = ()) -> list[Choice]:
        """The best of some grasps, best first; empty when nothing is good enough, and `reason` says why."""
        self.grasps = grasps
        grips = np.stack([grasp.grips for grasp in grasps])  # (g, h, 4, 4)
        whole = self.pose[None, :, CONTACT, None] @ grips[:, None]  # (g, k, h, 4, 4)
        count = grips.shape[1]
        reached = np.ones(whole.shape[:2], bool)
        for arm in range(count):
            reached[reached] = self._within_limits(self._solve(arm, whole[reached][:, arm]), arm)
        both = np.argwhere(reached)  # rows (grasp, moment)
        self.reason = f"no grasp is within reach of every arm in the next {self.waits[-1]:.0f} s"
        if not len(both):
            return []
        arms = [self._arm(arm, both, grips[:, arm]) for arm in range(count)]
        return self._best_combinations(both, arms, Counter(tried))

    def _solve(self, arm: int, poses: np.ndarray) -> np.ndarray:
        return np.asarray(self.robot.solvers[arm].solutions(poses))

    def _within_limits(self, angles: np.ndarray, arm: int) -> np.ndarray:
        """Whether any solution (…, b, n) is within the limits of all joints but the last, which is free to turn."""
        low, high = self.lower[arm] + self.settings.limit_margin, self.upper[arm] - self.settings.limit_margin
        near = self._wrap(angles, self.now[self.robot.arms.slices[arm]], arm)
        inside = (near > low) & (near < high)
        return np.asarray(inside[..., :-1].all(axis=-1).any(axis=-1))

    def _arm(self, arm: int, rows: np.ndarray, grips: np.ndarray) -> dict[str, np.ndarray]:
        """Scores (r, b), joints (r, b, 5, n) and rolls (r, b) of an arm's b solution branches, on rows (r, 2)."""
        settings, now = self.settings, self.now[self.robot.arms.slices[arm]]
        poses = self.pose[rows[:, 1]] @ grips[rows[:, 0], None]  # (r, 5, 4, 4)
        for stage, part in ((0, 1.0), (1, 0.5)):
            poses[:, stage, :3, 3] -= part * settings.standoff * poses[:, stage, :3, 2]
        angles = np.swapaxes(self._solve(arm, poses), 1, 2).copy()  # (r, b, 5, n)
        angles[:, :, 0] = self._wrap(angles[:, :, 0], now, arm)
        for stage in range(1, len(STAGES)):
            angles[:, :, stage] += TURN * np.round((angles[:, :, stage - 1] - angles[:, :, stage]) / TURN)
        turn = self._turn(arm, rows, angles[:, :, 0, -1], now[-1])
        angles[..., -1] += turn[..., None]
        margin = np.minimum(angles - self.lower[arm], self.upper[arm] - angles).min(axis=(-1, -2))
        jump = np.abs(np.diff(angles, axis=2)).max(axis=(-1, -2))
        travel = np.abs(angles[:, :, 0] - now).max(axis=-1)
        duration = np.maximum(PEAK * travel / settings.rate, settings.shortest)
        good = (margin > settings.limit_margin) & (jump < self.jump)
        good &= duration <= self.waits[rows[:, 1], None] + 1e-9
        dexterity = self._dexterity(arm, angles, good, rows, grips)
        score = np.minimum(np.minimum(margin / EASY_MARGIN, dexterity / EASY_DEXTERITY), 1.0) - settings.travel * travel
        score = np.where(good & (dexterity > settings.dexterity), score, -np.inf)
        return {"score": score, "joints": angles, "roll": turn * self.robot.ways[arm], "duration": duration}

    def _wrap(self, angles: np.ndarray, now: np.ndarray, arm: int) -> np.ndarray:
        """Whole turns added, so that joints are near where they are now, and within their limits."""
        near = angles + TURN * np.round((now - angles) / TURN)
        near = np.where(near > self.upper[arm], near - TURN, near)
        return np.where(near < self.lower[arm], near + TURN, near)

    def _turn(self, arm: int, rows: np.ndarray, last: np.ndarray, now: float) -> np.ndarray:
        """Rotation of the last joint from a solution without roll, (r, b): to where it is, or to a roll that the place
        asks for nearby."""
        low, high = self.lower[arm][-1] + ROLL_ROOM, self.upper[arm][-1] - ROLL_ROOM
        there = np.clip(now, low, high)
        turn = there - last
        for number, grasp in enumerate(self.grasps):
            rolls = grasp.places[arm].rolls
            if rolls is not None:
                mine = rows[:, 0] == number
                wanted = last[mine][..., None] + rolls * self.robot.ways[arm]
                wanted = wanted + TURN * np.round((there - wanted) / TURN)
                wanted = wanted + TURN * ((wanted < low).astype(float) - (wanted > high))
                nearest = np.argmin(np.abs(wanted - there), axis=-1)[..., None]
                turn[mine] = np.take_along_axis(wanted, nearest, axis=-1)[..., 0] - last[mine]
        return turn

    def _dexterity(
        self, arm: int, angles: np.ndarray, good: np.ndarray, rows: np.ndarray, grips: np.ndarray
    ) -> np.ndarray:
        """1/|J⁺| of the grip at contact, (r, b), zero where the body moves too fast for the joints."""
        which = np.argwhere(good)
        inverse = self.inverse_jacobian(arm, angles[good][:, CONTACT])
        moment, grasp = rows[which[:, 0], 1], rows[which[:, 0], 0]
        twist = grip_twist(self.pose[moment, CONTACT], self.twist[moment, CONTACT], grips[grasp])
        fastest = np.abs(inverse @ twist[..., None]).max(axis=(-1, -2))
        found = np.zeros(good.shape)
        found[good] = np.where(fastest < self.settings.rate, 1.0 / np.linalg.norm(inverse, axis=(-1, -2)), 0.0)
        return found

    def inverse_jacobian(self, arm: int, angles: np.ndarray) -> np.ndarray:
        """J⁺ of the grip against the base, (m, n, 6), at joints (m, n) of one arm."""
        arms, hand = self.robot.arms, self.robot.arms.hands[arm]
        joints = np.zeros((len(angles), len(arms.driven_rates)))
        joints[:, arms.slices[arm]] = angles
        own = jacobian(arms.model, arms.configuration(joints), hand.grip)[..., hand.joints]
        turn = np.eye(3) if arms.free else arms.base[:3, :3].T
        own = np.concatenate([turn @ own[:, :3], turn @ own[:, 3:]], axis=1)
        if own.shape[-1] == 6:
            return np.linalg.inv(own + 1e-9 * np.eye(6))
        return np.linalg.pinv(own)

    def _best_combinations(self, rows: np.ndarray, arms: list[dict[str, np.ndarray]], tried: Counter) -> list[Choice]:
        """The best combinations of all arms, few of each kind."""
        settings, best = self.settings, [np.argsort(-arm["score"], axis=1, kind="stable")[:, :2] for arm in arms]
        cost = settings.patience * (self.waits[rows[:, 1]] - self.waits[0])
        cost = cost + np.array([self._cost(grasp, tried) for grasp in self.grasps])[rows[:, 0]]
        together = list(product(range(2), repeat=len(arms)))
        numbers, scores = np.arange(len(rows)), []
        for ranks in together:
            own = [arm["score"][numbers, way[:, n]] for arm, way, n in zip(arms, best, ranks, strict=True)]
            scores.append(np.minimum.reduce(own) + 0.2 * sum(own) / len(own) - cost)
        table = np.stack(scores, axis=-1)
        order = np.argsort(-table, axis=None, kind="stable")
        order = order[np.isfinite(table.reshape(-1)[order])]
        if not len(order):
            self.reason = "the arms reach a grasp only near joint limits, near singular positions, or too late"
        found, seen = [], defaultdict(list)
        for number in order.tolist():
            row, ranks = divmod(number, len(together))
            ways = tuple(int(best[arm][row, rank]) for arm, rank in enumerate(together[ranks]))
            kind = (self.grasps[rows[row, 0]].names, ways)
            when = self.waits[rows[row, 1]]
            if all(abs(when - other) > APART for other in seen[kind]):
                seen[kind].append(when)
                found.append(self._choice(float(table[row, ranks]), rows[row], row, ways, arms))
            if len(found) == settings.looked_at * max(len(arms) - 1, 1):  # three arms are more often in the way
                break
        return found

    def _cost(self, grasp: Grasp, tried: Counter) -> float:
        return self.settings.repetition * tried[grasp.names] + self.settings.decentred * bool(np.any(grasp.shift))

    def _choice(self, score: float, pair: np.ndarray, row: int, ways: Any, arms: list[dict[str, np.ndarray]]) -> Choice:
        joints = np.concatenate([arm["joints"][row, way] for arm, way in zip(arms, ways, strict=True)], axis=-1)
        rolls = np.array([arm["roll"][row, way] for arm, way in zip(arms, ways, strict=True)])
        duration = max(float(arm["duration"][row, way]) for arm, way in zip(arms, ways, strict=True))
        return Choice(score, self.grasps[pair[0]], int(pair[1]), joints, rolls, duration)


def grip_twist(pose: np.ndarray, twist: np.ndarray, grip: np.ndarray) -> np.ndarray:
    """The twist (…, 6) of a point that a body carries, at grip (…, 4, 4) in its frame."""
    arm = (pose[..., :3, :3] @ grip[..., :3, 3:])[..., 0]
    linear = twist[..., 3:] + cross(twist[..., :3], arm)
    return np.concatenate([np.broadcast_to(twist[..., :3], linear.shape), linear], axis=-1)
