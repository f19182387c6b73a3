"""The controller that captures: sensed facts, a supervisor over them, and one law whose references and gains the phase
decides. It keeps nothing: all it remembers is in `Memory`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.single import single_of
from phistar.capture import estimate
from phistar.capture.laws import MEASURED, Gains, compiled_law
from phistar.capture.robot import Arms
from phistar.capture.settings import GAINS, Settings
from phistar.control.sampled import Command, Switch
from phistar.control.supervisor import State, Supervisor
from phistar.dynamics import jacobian
from phistar.model import Model
from phistar.spatial.rotations import log

TIPS = tuple(f"{side}_tip{number}" for side in ("left", "right") for number in (1, 2, 3))
DECIDED = (
    "planned",
    "attempts",
    "time_to_start",
    "time_to_arrive",
    "path_left",
    "position_error",
    "angle_error",
    "speed",
    "object_speed",
    "object_spin",
)
FACTS = (*MEASURED, *TIPS, *DECIDED)
NO_PATH = np.zeros(24)


class Memory(NamedTuple):
    """What goes from sample to sample; data alone."""

    decision: State
    time: float  # of the last sample
    object: np.ndarray  # (24,) as estimated, a carrier of the law
    sightings: float  # that the estimate rests on
    carrier: np.ndarray  # (24,) what the paths are fixed to, at the start of the phase
    paths: np.ndarray  # (2, 24), their progress left out
    angles: np.ndarray  # (2,) that the paths turn by
    travel: np.ndarray  # (2,) how far each hand has closed, m
    closing: np.ndarray  # (2,) and how fast
    squeeze: float  # N
    start: np.ndarray  # (12,) of the joints' path
    goal: np.ndarray  # (2, 12) angles and rates at its end
    lasting: float  # of the phase's path, s
    plan: Any
    attempts: int
    asked: float  # when the planner was asked last


def quintic(x: float) -> tuple[float, float, float]:
    """s from 0 to 1 with its first and second rates by x in [0, 1], at rest at both ends."""
    if x <= 0.0:
        return 0.0, 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0, 0.0
    return x**3 * (10 - 15 * x + 6 * x * x), 30 * x * x * (1 - x) ** 2, 60 * x * (1 - x) * (1 - 2 * x)


@dataclass(frozen=True, eq=False)
class CaptureController:
    """A `SampledController`: joint forces of the scene's model."""

    arms: Arms
    settings: Settings
    planner: Callable[..., Any]
    supervisor: Supervisor
    home: np.ndarray

    @property
    def period(self) -> float:
        return self.settings.period

    @cached_property
    def law(self) -> Any:
        return single_of(compiled_law(self.arms).kernel.function)

    @cached_property
    def follow(self) -> Any:
        return single_of(estimate.compiled_sighting(self.arms).kernel.function)

    @cached_property
    def gains(self) -> Mapping[str, np.ndarray]:
        return {phase: gains.row for phase, gains in GAINS.items()}

    def start(self) -> Memory:
        still = np.concatenate([np.eye(3).ravel(), np.zeros(15)])
        paths = np.tile(np.concatenate([np.eye(3).ravel(), np.zeros(15)]), (2, 1))
        two, twelve = np.zeros(2), np.zeros(12)
        return Memory(
            self.supervisor.start(), -self.period, still, 0.0, still, paths, two, two, two, 0.0,
            self.home, np.stack([self.home, twelve]), 1.0, None, 0, -1.0,
        )  # fmt: skip

    def command(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> tuple[Memory, Command]:
        q, v = self.arms.state(sensed)
        memory = self._sighted(memory, t, sensed)
        memory = self._asked(memory, t, q) if memory.decision.phase == "plan" else memory
        memory, references = self._references(memory, t, q, v)
        wrists = np.concatenate([sensed["left_wrist"], sensed["right_wrist"]])
        carrier, left, right, push, joints = references
        phase = memory.decision.phase
        tau, grips, measured = self.law(q, v, carrier, left, right, push, wrists, joints, self.gains[phase])
        facts = self._facts(memory, t, measured.tolist(), sensed)
        decision, switch = self.supervisor.step(memory.decision, t, facts)
        since = memory.decision.since
        memory = memory._replace(decision=decision, time=t)
        if switch is not None:
            memory = self._entered(memory, t, since, q, v, grips)
        switches: tuple[Switch, ...] = () if switch is None else (switch,)
        return memory, Command(self.arms.joint_forces(tau), phase, switches, facts)

    # What is known

    def _sighted(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> Memory:
        settings, step = self.settings, max(t - memory.time, 1e-9)
        touching = memory.decision.phase in ("contact", "coordinate", "hold", "held")
        memory_of = settings.short_memory if touching else settings.memory
        count = min(memory.sightings + 1.0, max(1.0, memory_of / step))
        seen = np.asarray(sensed["satellite"], dtype=float)
        base = np.asarray(sensed["base"], dtype=float) if self.arms.free else self._base
        if memory.sightings == 0.0:
            where, spin, drift, rotation = estimate.in_world(seen, base)
            state = np.concatenate([rotation.reshape(9), where, spin, drift, np.zeros(6)])
        else:
            state = self.follow(memory.object, seen, base, estimate.gains(count, step, settings.delay))
        return memory._replace(object=state, sightings=count)

    @cached_property
    def _base(self) -> np.ndarray:
        return estimate.STILL

    def _facts(self, memory: Memory, t: float, measured: list[float], sensed: Mapping[str, Any]) -> dict[str, float]:
        facts = dict(zip(MEASURED, measured, strict=True))
        tips = [*np.asarray(sensed["left_tips"]).tolist(), *np.asarray(sensed["right_tips"]).tolist()]
        facts.update(zip(TIPS, tips, strict=True))
        plan, since = memory.plan, memory.decision.since
        left = memory.lasting - (t - since)
        spin = memory.object[12:18].tolist()
        facts["planned"] = float(plan is not None)
        facts["attempts"] = float(memory.attempts)
        facts["time_to_start"] = plan.start - t if plan is not None else 0.0
        facts["time_to_arrive"] = left
        facts["path_left"] = left
        facts["position_error"] = max(facts["left_position_error"], facts["right_position_error"])
        facts["angle_error"] = max(facts["left_angle_error"], facts["right_angle_error"])
        facts["speed"] = max(facts["left_speed"], facts["right_speed"])
        facts["object_spin"] = (spin[0] ** 2 + spin[1] ** 2 + spin[2] ** 2) ** 0.5
        facts["object_speed"] = (spin[3] ** 2 + spin[4] ** 2 + spin[5] ** 2) ** 0.5
        return facts

    def _asked(self, memory: Memory, t: float, q: np.ndarray) -> Memory:
        settings = self.settings
        if t - memory.decision.since < settings.settle or t - memory.asked < settings.ask or memory.plan is not None:
            return memory
        found = self.planner(self.arms, memory.object, t, q)
        return memory._replace(plan=found, asked=t)

    # What is to be done

    def _references(self, memory: Memory, t: float, q: np.ndarray, v: np.ndarray) -> tuple[Memory, tuple[Any, ...]]:
        phase, elapsed = memory.decision.phase, t - memory.decision.since
        if phase in ("plan", "wait", "reach", "retreat", "aborted"):
            return memory, (memory.object, NO_PATH, NO_PATH, np.zeros(3), self._joint_motion(memory, elapsed, q, v))
        push, paths = np.zeros(3), memory.paths.copy()
        carrier = memory.object
        if phase in ("approach", "back_off"):
            s, rate, change = quintic(elapsed / memory.lasting)
            progress = np.array([s, rate / memory.lasting, change / memory.lasting**2])
            paths[:, 18:21], paths[:, 21:24] = memory.angles[:, None] * progress, progress
        elif phase == "contact":
            memory, carrier = self._closed(memory, t), _coasting(memory.carrier, elapsed)
            paths[:, 21], paths[:, 22] = memory.travel, memory.closing
            push[:2], push[2] = self._light(memory), memory.squeeze
        else:
            carrier = self._slowing(memory, t)
            push[2] = self.settings.squeeze
        return memory, (carrier, paths[0], paths[1], push, np.zeros(24))

    def _joint_motion(self, memory: Memory, elapsed: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """θ̈_j = θ̈_d + k_d(θ̇_d − θ̇) + k_p(θ_d − θ) and the rates to go, (24,)."""
        x, lasting = elapsed / memory.lasting, memory.lasting
        goal, rates = memory.goal
        s, ds, dds = quintic(x)
        way = goal - memory.start
        # The rate at the end is led in by a quintic that has value 0 and slope 1 there.
        x = min(max(x, 0.0), 1.0)
        e, de, dde = _end_slope(x)
        target = memory.start + way * s + rates * lasting * e
        speed = way * (ds / lasting) + rates * de
        change = way * (dds / lasting**2) + rates * (dde / lasting)
        error = target - q[self.arms.coordinates]
        stiff, damp = self.settings.joint_stiffness, self.settings.joint_damping
        return np.concatenate(
            [change + damp * (speed - v[self.arms.driven]) + stiff * error, speed + stiff / damp * error]
        )

    def _closed(self, memory: Memory, t: float) -> Memory:
        """Hands that do not touch yet close in; once both do, they squeeze."""
        settings, step = self.settings, self.period
        flags = memory.decision.flags
        touching = np.array([sum(flags[:3]) > 0, sum(flags[3:6]) > 0])
        if memory.squeeze > 0.0 or touching.all():
            grown = min(memory.squeeze + settings.squeeze * step / settings.squeeze_time, settings.squeeze)
            return memory._replace(squeeze=grown, closing=np.zeros(2))
        wanted = np.where(touching, 0.0, settings.closing_speed)
        most = settings.closing_speed / 0.2 * step
        closing = memory.closing + np.clip(wanted - memory.closing, -10 * most, most)
        return memory._replace(closing=closing, travel=memory.travel + closing * step)

    def _light(self, memory: Memory) -> np.ndarray:
        """Hands that touch and wait press lightly."""
        flags = memory.decision.flags
        if memory.squeeze > 0.0:
            return np.zeros(2)
        return np.array([self.settings.light * (sum(flags[:3]) > 0), self.settings.light * (sum(flags[3:6]) > 0)])

    def _slowing(self, memory: Memory, t: float) -> np.ndarray:
        """The frame at the start of the phase, its twist fading to nothing."""
        lasting = self.settings.slowing
        x = (t - memory.decision.since) / lasting if memory.decision.phase == "coordinate" else 1.0
        if x >= 1.0:
            gone, rate, change = 0.5 * lasting, 0.0, 0.0
        else:
            s, ds, _ = quintic(x)
            gone = lasting * (x - (x**4 * (2.5 - 3 * x + x * x)))
            rate, change = 1.0 - s, -ds / lasting
        frame, twist = memory.carrier, memory.carrier[12:18]
        turn = _turn(twist[:3] * gone) @ frame[:9].reshape(3, 3)
        return np.concatenate([turn.ravel(), frame[9:12] + twist[3:] * gone, twist * rate, twist * change])

    # At a switch

    def _entered(
        self, memory: Memory, t: float, since: float, q: np.ndarray, v: np.ndarray, grips: np.ndarray
    ) -> Memory:
        phase, angles = memory.decision.phase, q[self.arms.coordinates]
        plan = memory.plan
        if phase in ("plan", "aborted"):
            goal = np.stack([angles, np.zeros(12)])
            return memory._replace(start=angles, goal=goal, lasting=1.0, plan=None, asked=t)
        if phase == "reach":
            rates = self._standoff_rates(memory, plan)
            return memory._replace(start=angles, goal=np.stack([plan.q, rates]), lasting=max(plan.arrival - t, 0.5))
        if phase == "approach":
            return self._towards(
                memory, memory.object, grips, plan.contact @ _shifted(-self.settings.standoff), self.settings.approach
            )
        if phase == "contact":
            inward = np.stack(
                [
                    np.concatenate(
                        [
                            pose[:3, :3].ravel(),
                            _back(pose, self.settings.standoff),
                            np.zeros(3),
                            pose[:3, 2],
                            np.zeros(6),
                        ]
                    )
                    for pose in plan.contact
                ]
            )
            return memory._replace(
                carrier=memory.object,
                paths=inward,
                angles=np.zeros(2),
                travel=np.zeros(2),
                closing=np.zeros(2),
                squeeze=0.0,
            )
        if phase == "coordinate":
            carrier = _coasting(memory.carrier, t - since)
            return self._towards(memory._replace(carrier=carrier), carrier, grips, None, 1.0)
        if phase == "hold":
            ended = memory.decision._replace(phase="held")
            return memory._replace(carrier=self._resting(memory))
        if phase == "back_off":
            away = _relative(memory.object, grips) @ _shifted(-self.settings.back_off)
            return self._towards(memory, memory.object, grips, away, 2.0)._replace(attempts=memory.attempts + 1)
        if phase == "retreat":
            return memory._replace(start=angles, goal=np.stack([self.home, np.zeros(12)]), lasting=6.0)
        return memory

    def _resting(self, memory: Memory) -> np.ndarray:
        done = self._slowing(memory, np.inf)
        done[12:] = 0.0
        return done

    def _standoff_rates(self, memory: Memory, plan: Any) -> np.ndarray:
        return plan.rates

    def _towards(
        self, memory: Memory, frame: np.ndarray, grips: np.ndarray, goals: np.ndarray | None, lasting: float
    ) -> Memory:
        """Paths from where the hands are, seen from the object, to `goals` (2, 4, 4) there; None: to stay."""
        now = _relative(frame, grips)
        paths, angles = np.zeros((2, 24)), np.zeros(2)
        for i in range(2):
            paths[i, :9], paths[i, 9:12] = now[i, :3, :3].ravel(), now[i, :3, 3]
            if goals is not None:
                turn = log(now[i, :3, :3].T @ goals[i, :3, :3])
                angles[i] = np.linalg.norm(turn)
                paths[i, 12:15] = turn / max(angles[i], 1e-12)
                paths[i, 15:18] = goals[i, :3, 3] - now[i, :3, 3]
        return memory._replace(paths=paths, angles=angles, lasting=lasting)


def _end_slope(x: float) -> tuple[float, float, float]:
    """A quintic with value, slope and curvature 0 at 0, and 0, 1, 0 at 1; constant speed after."""
    return x**3 * (-4 + 7 * x - 3 * x * x), x * x * (-12 + 28 * x - 15 * x * x), x * (-24 + 84 * x - 60 * x * x)


def _relative(frame: np.ndarray, grips: np.ndarray) -> np.ndarray:
    """The poses (2, 4, 4) of both grips seen from a carrier."""
    back, place = frame[:9].reshape(3, 3).T, frame[9:12]
    poses = np.tile(np.eye(4), (2, 1, 1))
    for i in range(2):
        own = grips[12 * i : 12 * i + 12]
        poses[i, :3, :3], poses[i, :3, 3] = back @ own[:9].reshape(3, 3), back @ (own[9:] - place)
    return poses


def _shifted(along: float) -> np.ndarray:
    pose = np.eye(4)
    pose[2, 3] = along
    return pose


def _back(pose: np.ndarray, standoff: float) -> np.ndarray:
    return pose[:3, 3] - standoff * pose[:3, 2]


def _coasting(frame: np.ndarray, elapsed: float) -> np.ndarray:
    """A carrier that moves on evenly."""
    turn = _turn(frame[12:15] * elapsed) @ frame[:9].reshape(3, 3)
    return np.concatenate([turn.ravel(), frame[9:12] + frame[15:18] * elapsed, frame[12:]])


def _turn(w: np.ndarray) -> np.ndarray:
    from phistar.spatial.rotations import exp

    return exp(w)


def from_scene(model: Model, settings: Settings, planner: Callable[..., Any], home: np.ndarray) -> CaptureController:
    rules = files("phistar.capture") / "rules.toml"
    supervisor = Supervisor.load(str(rules), FACTS)
    return CaptureController(Arms.of(model), settings, planner, supervisor, home)
