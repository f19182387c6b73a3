"""The planner: faces, arms, their bends and the time, every choice compared at once and the best clear one taken.

A choice is a grasp, who takes which place of it, a moment, and for each arm one of its ways to reach a pose. The tumble
is predicted and the arms' inverse kinematics are closed forms, so that all choices of the next minute are rows of a few
arrays; ways of the best of them are then looked at all along: joint limits, and clearance of links, palms and fingers.

    planner = Planner(Arms.of(scene_model, layout))
    found = planner.plan(Sighting(pose, twist, joints), t)      # a Plan, or a Refusal with its reason
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from phistar.capture.candidates import STAGES, Candidates, Choice, Preferences, Robot, grip_twist
from phistar.capture.clearance import FAR, Nearest
from phistar.capture.grasps import Grasp
from phistar.capture.prediction import Tumble, tumble
from phistar.capture.robot import Arms
from phistar.errors import ShapeError
from phistar.spatial.rotations import from_axis_angle

SAMPLES = 10  # of a way, where its clearance is looked at
RENEWED = 1.0  # s by which the arrival of a plan may move when it is made anew
LEAST_WINDOW = 4.0  # s of moments to choose from, however fast the body turns
LONGEST_INTERVAL = 6.0  # s between moments, however slowly the body turns
QUINTIC = np.linalg.inv(
    [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0], [1] * 6, list(range(6)), [0, 0, 2, 6, 12, 20]]
)  # coefficients from x, ẋ, ẍ at 0 and at 1


class Sighting(NamedTuple):
    """The body's `pose` (4, 4) and `twist` (6,) seen from the base, in its axes, and the arms' `joints` (n,) now;
    `inertia` of the body up to a factor, (3,) or (3, 3) in its axes, where it is known, about its mass centre `com`
    (3,) in its frame."""

    pose: np.ndarray
    twist: np.ndarray
    joints: np.ndarray
    inertia: Any = None
    com: Any = (0.0, 0.0, 0.0)

    def ahead(self, times: Any) -> Tumble:
        """The body after `times` (k,) seconds."""
        return tumble(self.pose, self.twist, times, self.inertia, self.com)


@dataclass(frozen=True, eq=False)
class Plan:
    """Wait until `start`, be before the faces at `arrival`, touch at `touch`.

    `contact` (h, 4, 4) are the hands' grips in the body's frame when they touch; they come along their own z, from
    `standoff` before it. `joints` (5, n) are those of all arms at the STAGES, from arrival by touch to when the body
    has stopped; `begin` (n,) those they leave, `rates` (n,) their rates on arrival. `score` is at most 1.2, `margin`
    that of force closure, `clearance` the least distance on the way, m; `weights` (h,) are those of the hands' pushes
    on each other and `shares` (h,) how hard they come to be, next to their mean.
    """

    faces: tuple[str, ...]
    start: float
    arrival: float
    touch: float
    contact: np.ndarray
    standoff: float
    begin: np.ndarray
    joints: np.ndarray
    rates: np.ndarray
    score: float
    margin: float
    clearance: float
    weights: np.ndarray
    shares: np.ndarray

    @property
    def q(self) -> np.ndarray:
        """The joints (n,) on arrival."""
        return self.joints[0]

    def approach(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Joints (…, n), their rates and accelerations at times t (…): a quintic from rest at `start` to the moving
        standoff; before and after, where it begins and ends."""
        span = self.arrival - self.start
        s = np.clip((np.asarray(t, dtype=float) - self.start) / span, 0.0, 1.0)[..., None]
        still, power = np.zeros(len(self.begin)), np.arange(6.0)
        table = QUINTIC @ np.stack([self.begin, still, still, self.joints[0], self.rates * span, still])
        place = s**power @ table
        rate = (power[1:] * s ** power[:-1]) @ table[1:] / span
        change = (power[2:] * power[1:-1] * s ** power[:-2]) @ table[2:] / span**2
        return place, rate, change


class Refusal(NamedTuple):
    """No plan, and why."""

    reason: str


class Planner:
    """plan(sighting, t) for one robot and body; it holds nothing that depends on the state. Arms and bodies that no
    plan can be for are refused when it is made."""

    def __init__(self, arms: Arms, settings: Preferences | None = None) -> None:
        self.settings = settings or Preferences()
        self.robot = Robot(arms, self.settings)

    def preferring(self, settings: Preferences) -> Planner:
        """The same planner with other preferences; grasps stay those that it was made with."""
        made = object.__new__(Planner)
        made.settings, made.robot = settings, self.robot
        return made

    def plan(
        self, sighting: Sighting, t: float, tried: tuple[tuple[str, ...], ...] = (), around: float | None = None
    ) -> Plan | Refusal:
        """The best of all choices from time t on whose way is clear. `tried` are the `faces` of plans that failed;
        `around` is the arrival of a plan that is made anew, and is to be kept."""
        joints = np.asarray(sighting.joints, dtype=float)
        count = len(self.robot.arms.driven_rates)
        if joints.shape != (count,) or not np.isfinite(joints).all():
            raise ShapeError(f"A sighting has {count} finite joint angles; it was given {sighting.joints!r:.200}.")
        found = self._candidates(sighting, joints, None if around is None else around - t)
        made = self._best(found, self.robot.centred, sighting, t, tried)
        if self.robot.shifted and (isinstance(made, Refusal) or made.score < self.settings.content):
            other = self._best(found, self.robot.shifted, sighting, t, tried)
            if isinstance(made, Refusal) or (isinstance(other, Plan) and other.score > made.score):
                return other
        return made

    def _best(
        self, found: Candidates, grasps: tuple[Grasp, ...], sighting: Sighting, t: float, tried: Any
    ) -> Plan | Refusal:
        """The best of some grasps whose way is clear."""
        worst, stopped = Nearest(-np.inf, 0, ("", "")), ""
        ranked = found.rank(grasps, tried)
        for choice in ranked:
            made = self._plan_of(choice, found, t)
            stopped = self._beyond_limits(made)
            if stopped:
                continue
            near = self._nearest(made, sighting, t)
            if near.distance >= self.settings.clearance:
                return replace(made, clearance=near.distance)
            worst = max(worst, near)
        if not ranked:
            return Refusal(found.reason)
        if not worst.names[0]:
            return Refusal(
                f"on each of the best {len(ranked)} ways a joint would meet its limit; on the last, {stopped}"
            )
        return Refusal(
            f"none of the best {len(ranked)} ways stays {1e3 * self.settings.clearance:.0f} mm clear: on the best, "
            f"{worst.names[0]} and {worst.names[1]} would come within {1e3 * max(worst.distance, 0.0):.0f} mm"
        )

    def _beyond_limits(self, made: Plan) -> str:
        """The joint that meets its limit on the way to the standoff, which is no straight line; "" where none does."""
        way = made.approach(np.linspace(made.start, made.arrival, 4 * SAMPLES))[0]
        lower, upper = self.robot.arms.limits
        room = np.minimum(way - lower, upper - way).min(axis=0)
        worst = int(np.argmin(room))
        least = min(self.settings.limit_margin, float(np.minimum(made.begin - lower, upper - made.begin)[worst]))
        return f"joint {worst + 1}" if room[worst] < least - 1e-9 else ""

    def _candidates(self, sighting: Sighting, joints: np.ndarray, around: float | None) -> Candidates:
        settings = self.settings
        spin = float(np.linalg.norm(sighting.twist[:3]))
        interval = np.clip(settings.turning / max(spin, 1e-9), settings.interval, LONGEST_INTERVAL)
        last = settings.window
        if sighting.inertia is None:
            last = min(last, max(settings.trusted / max(spin, 1e-9), settings.shortest + LEAST_WINDOW))
        waits = np.arange(settings.shortest, max(last, settings.shortest) + 1e-9, interval)
        if around is not None:
            waits = np.maximum(around + RENEWED * np.linspace(-1.0, 1.0, 9), settings.shortest)
        ahead = sighting.ahead((waits[:, None] + self.stages).reshape(-1))
        count = len(STAGES)
        pose, twist = ahead.pose.reshape(-1, count, 4, 4), ahead.twist.reshape(-1, count, 6)
        return Candidates(self.robot, settings, joints, waits, pose, twist)

    @property
    def stages(self) -> np.ndarray:
        """s from arrival to each of the STAGES, (5,)."""
        return np.interp(STAGES, [0.0, 1.0, 2.0], np.cumsum([0.0, self.settings.closing, self.settings.stopping]))

    def _plan_of(self, choice: Choice, found: Candidates, t: float) -> Plan:
        settings, when = self.settings, choice.moment
        arms = self.robot.arms
        turn = np.broadcast_to(np.eye(4), (len(arms.hands), 4, 4)).copy()
        turn[:, :3, :3] = from_axis_angle(np.array([0.0, 0.0, 1.0]), choice.rolls)
        grips = choice.grasp.grips @ turn
        before = grips.copy()
        before[:, :3, 3] -= settings.standoff * before[:, :3, 2]
        twist = grip_twist(found.pose[when, 0], found.twist[when, 0], before)
        rates = [
            found.inverse_jacobian(arm, choice.joints[:1, part])[0] @ twist[arm] for arm, part in enumerate(arms.slices)
        ]
        arrival = t + float(found.waits[when])
        return Plan(
            choice.grasp.names,
            arrival - choice.duration,
            arrival,
            arrival + settings.closing,
            grips,
            settings.standoff,
            found.now,
            choice.joints,
            np.concatenate(rates),
            choice.score,
            choice.grasp.margin,
            FAR,
            choice.grasp.weights,
            choice.grasp.shares,
        )

    def _nearest(self, made: Plan, sighting: Sighting, t: float) -> Nearest:
        """Closest encounter on the way, while the body tumbles on."""
        times = np.linspace(made.start, made.arrival, SAMPLES + 1)[1:]  # where it is now cannot be helped
        later = made.arrival + self.stages[1:]
        pose = sighting.ahead(np.array([*times, *later]) - t).pose
        joints = np.concatenate([made.approach(times)[0], made.joints[1:]])
        touching = np.arange(len(pose)) >= SAMPLES
        return self.robot.clearance.nearest(joints, pose, touching, self.settings.clearance)
