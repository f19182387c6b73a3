"""The controller that captures: readings make facts, a supervisor decides by them which phase it is, and the phase says
what one law is to follow and with which gains. It keeps nothing: all it remembers is in `Memory`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from phistar.capture import candidates, estimate
from phistar.capture.laws import MEASURED, compiled_law
from phistar.capture.paths import (
    GOING_ON,
    STAYING,
    between,
    coasted,
    fading,
    leading_out,
    outward,
    quintic,
    seen_from,
)
from phistar.capture.planner import Plan, Planner, Sighting
from phistar.capture.robot import BASE, OBJECT, SIDES, Arms
from phistar.capture.settings import GAINS, Settings
from phistar.control.sampled import Command
from phistar.control.supervisor import State, Supervisor
from phistar.errors import FileError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.spatial import to_quaternion

TIPS = tuple(f"{side}_tip{number}" for side in SIDES for number in (1, 2, 3))
DECIDED = (
    "planned",
    "attempts",
    "time_to_start",
    "path_left",
    "position_error",
    "angle_error",
    "speed",
    "object_speed",
    "object_spin",
    "squeeze",
)
FACTS = (*MEASURED, *TIPS, *DECIDED)
ON_JOINTS = ("plan", "wait", "reach", "regroup", "retreat", "aborted")
NO_PUSH = (0.0, 0.0, 0.0)
HESITATION = 0.2  # s between approach and touch, besides


class Memory(NamedTuple):
    """What goes from sample to sample; data alone."""

    decision: State
    time: float  # of the last sample
    object: np.ndarray  # (18,) as estimated, a carrier in the world,
    twist: np.ndarray  # (6,) and as the base sees it move
    sightings: float  # that the estimate rests on
    correction: np.ndarray  # (6,) of sightings, from touch
    smooth: np.ndarray  # (24,) wrists and joint rates
    carrier: np.ndarray  # (18,) what the paths are fixed to, at the start of the phase; once held, in the base's axes
    paths: np.ndarray  # (2, 18)
    angles: np.ndarray  # (2,) that the paths turn by
    way: np.ndarray  # (36,) of the joints
    lasting: float  # of the phase's paths, s
    travel: tuple[float, float]  # how far each hand has closed in, m
    closing: tuple[float, float]  # and how fast
    squeeze: float  # N
    plan: Plan | None
    tried: tuple[tuple[str, str], ...]  # faces, in vain
    attempts: int
    asked: float  # when the planner was asked last
    refusal: str  # and what it said where it had no plan
    home: np.ndarray  # (12,) where the joints began


@dataclass(frozen=True, eq=False)
class CaptureController:
    """A `SampledController`; its joint forces are those of the scene's model."""

    arms: Arms
    settings: Settings
    supervisor: Supervisor

    @property
    def period(self) -> float:
        return self.settings.period

    @property
    def senses(self) -> Mapping[str, int]:
        """The readings that it goes by, with their sizes."""
        return {**self.arms.readings, **self.arms.sights}

    @cached_property
    def law(self) -> Any:
        return compiled_law(self.arms)

    @cached_property
    def sight(self) -> estimate.Sight:
        return estimate.compiled_sight(self.arms)

    @cached_property
    def planner(self) -> Planner:
        own = self.settings
        closing, stopping = own.approach + own.standoff / own.closing_speed, own.squeeze_time + 0.5 * own.slowing
        choice = candidates.Preferences(window=own.window, closing=closing + HESITATION, stopping=stopping)
        return Planner(self.arms.without_mass(), choice)

    @cached_property
    def gains(self) -> Mapping[str, np.ndarray]:
        counts = self.period / (self.period + self.settings.filter_time)
        return {phase: replace(gains, smoothing=counts).row for phase, gains in GAINS.items()}

    def start(self) -> Memory:
        still, paths = np.concatenate([np.eye(3).ravel(), np.zeros(9)]), np.zeros((2, 18))
        none, six, pair = np.zeros(12), np.zeros(6), (0.0, 0.0)
        never = -self.period
        return Memory(
            self.supervisor.start(), never, still, six, 0.0, six, np.zeros(24), still, paths, np.zeros(2), np.zeros(36),
            1.0, pair, pair, 0.0, None, (), 0, never, "", none,
        )  # fmt: skip

    def command(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> tuple[Memory, Command]:
        if memory.sightings == 0.0:
            memory = self._begun(memory, sensed)
        memory = self._sighted(memory, t, sensed)
        phase = memory.decision.phase
        if phase == "plan":
            memory = self._planned(memory, t, sensed)
        elif phase == "contact":
            memory = self._closed(memory)
        now = self._now(memory, t - memory.decision.since)
        carrier = self._carrier(memory, t - memory.decision.since, sensed)
        readings = [sensed[name] for name in self.arms.readings]
        tau, smooth, grips, measured = self.law(
            *readings, memory.smooth, carrier, *memory.paths, memory.way, self.gains[phase], now
        )
        facts = self._facts(memory, t, measured.tolist(), sensed)
        decision, switch = self.supervisor.step(memory.decision, t, facts)
        before, memory = memory.decision, memory._replace(decision=decision, time=t, smooth=smooth)
        if switch is None:
            return memory, Command(tau, phase, (), facts)
        if phase == "plan" and memory.refusal:
            switch = switch._replace(reason=f"{switch.reason}: {memory.refusal}")
        return self._entered(memory, t, t - before.since, sensed, grips), Command(tau, phase, (switch,), facts)

    # What is known

    def _begun(self, memory: Memory, sensed: Mapping[str, Any]) -> Memory:
        home = self._angles(sensed)
        seen = estimate.first_sight(np.asarray(sensed[OBJECT]), self._base(sensed))
        return memory._replace(home=home, way=_resting_at(home), object=seen, carrier=seen)

    def _angles(self, sensed: Mapping[str, Any]) -> np.ndarray:
        return np.concatenate([np.asarray(sensed[f"{side}_joints"])[:6] for side in SIDES])

    def _base(self, sensed: Mapping[str, Any]) -> np.ndarray:
        return np.asarray(sensed[BASE]) if self.arms.free else self._fixed_base

    @cached_property
    def _fixed_base(self) -> np.ndarray:
        pose = self.arms.model.frame(BASE).placement
        return np.concatenate([pose.translation, to_quaternion(pose.rotation), np.zeros(6)])

    def _sighted(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> Memory:
        settings, step = self.settings, max(t - memory.time, 1e-9)
        count = min(memory.sightings + 1.0, max(1.0, settings.memory / step))
        timing = estimate.timing(count, step, settings.delay)
        seen = self.sight.follow(memory.object, sensed[OBJECT], self._base(sensed), memory.correction, timing)
        return memory._replace(object=seen[0], twist=seen[1], sightings=count)

    def _facts(self, memory: Memory, t: float, measured: list[float], sensed: Mapping[str, Any]) -> dict[str, float]:
        facts = dict(zip(MEASURED, measured, strict=True))
        facts.update(zip(TIPS, sensed["left_tips"].tolist() + sensed["right_tips"].tolist(), strict=True))
        plan = memory.plan
        spin = memory.twist.tolist()
        facts["planned"] = 1.0 if plan is not None else 0.0
        facts["attempts"] = float(memory.attempts)
        facts["time_to_start"] = plan.start - t if plan is not None else 0.0
        facts["path_left"] = memory.decision.since + memory.lasting - t
        facts["position_error"] = max(facts["left_position_error"], facts["right_position_error"])
        facts["angle_error"] = max(facts["left_angle_error"], facts["right_angle_error"])
        facts["speed"] = max(facts["left_speed"], facts["right_speed"])
        facts["object_spin"] = (spin[0] ** 2 + spin[1] ** 2 + spin[2] ** 2) ** 0.5
        facts["object_speed"] = (spin[3] ** 2 + spin[4] ** 2 + spin[5] ** 2) ** 0.5
        facts["squeeze"] = memory.squeeze
        return facts

    def _planned(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> Memory:
        """A plan, where it is time to ask for one and there is one."""
        early = t - memory.decision.since < self.settings.settle or t - memory.asked < self.settings.ask
        if early or memory.plan is not None:
            return memory
        seen, pose = estimate.in_base(memory.object, self._base(sensed)), np.eye(4)
        pose[:3, :3], pose[:3, 3] = seen[:9].reshape(3, 3), seen[9:12]
        found = self.planner.plan(Sighting(pose, seen[12:], self._angles(sensed)), t, memory.tried)
        if isinstance(found, Plan):
            return memory._replace(plan=found, asked=t, refusal="")
        return memory._replace(plan=None, asked=t, refusal=found.reason)

    # What is to be done

    def _now(self, memory: Memory, elapsed: float) -> np.ndarray:
        """What the law follows at this moment; see `compiled_law`."""
        phase, lasting = memory.decision.phase, memory.lasting
        if phase in ON_JOINTS:
            x = elapsed / lasting
            return np.array((*GOING_ON, *STAYING, *STAYING, *NO_PUSH, *quintic(x, lasting), *leading_out(x, lasting)))
        if phase in ("approach", "back_off"):
            s = quintic(elapsed / lasting, lasting)
            left, right = ([angle * part for part in s] for angle in memory.angles.tolist())
            return np.array((*GOING_ON, *left, *s, *right, *s, *NO_PUSH, *STAYING))
        if phase == "contact":
            (far, farther), (fast, faster) = memory.travel, memory.closing
            left, right = (0.0, 0.0, 0.0, far, fast, 0.0), (0.0, 0.0, 0.0, farther, faster, 0.0)
            push = (*self._light(memory), memory.squeeze)
            return np.array((elapsed, 1.0, 0.0, *left, *right, *push, *STAYING))
        return np.array((*GOING_ON, *STAYING, *STAYING, 0.0, 0.0, self.settings.squeeze, *STAYING))

    def _carrier(self, memory: Memory, elapsed: float, sensed: Mapping[str, Any]) -> np.ndarray:
        """What the hands' paths are fixed to: the object as it is seen, as it would go on, or as it is brought to rest
        before the base."""
        phase = memory.decision.phase
        if phase in ("coordinate", "hold", "held"):
            coast = fading(elapsed, self.settings.slowing) if phase == "coordinate" else (0.0, 0.0, 0.0)
            return self.sight.carry(memory.carrier, np.array(coast), self._base(sensed))
        return memory.object if phase == "approach" else memory.carrier

    def _closed(self, memory: Memory) -> Memory:
        """Hands that do not touch yet close in; once both do, they squeeze."""
        settings, step, flags = self.settings, self.period, memory.decision.flags
        touching = any(flags[:3]), any(flags[3:6])
        if memory.squeeze > 0.0 or all(touching):
            grown = min(memory.squeeze + settings.squeeze * step / settings.squeeze_time, settings.squeeze)
            return memory._replace(squeeze=grown, closing=(0.0, 0.0))
        most, fastest = settings.closing_speed * step / 0.2, settings.closing_speed
        closing = tuple(0.0 if on else min(v + most, fastest) for on, v in zip(touching, memory.closing, strict=True))
        travel = tuple(far + step * v for far, v in zip(memory.travel, closing, strict=True))
        return memory._replace(closing=closing, travel=travel)

    def _light(self, memory: Memory) -> tuple[float, float]:
        """Hands that touch and wait press lightly."""
        flags, light = memory.decision.flags, self.settings.light
        if memory.squeeze > 0.0:
            return 0.0, 0.0
        return light * any(flags[:3]), light * any(flags[3:6])

    # At a switch

    def _entered(
        self, memory: Memory, t: float, elapsed: float, sensed: Mapping[str, Any], grips: np.ndarray
    ) -> Memory:
        """The memory at the start of a phase, `elapsed` after the start of the one before."""
        phase, settings, plan = memory.decision.phase, self.settings, memory.plan
        if phase in ("plan", "aborted"):
            return memory._replace(way=_resting_at(self._angles(sensed)), lasting=1.0, plan=None, asked=-1.0)
        if phase in ("regroup", "retreat"):
            memory = _given_up(memory) if plan is not None else memory
            way = np.concatenate([self._angles(sensed), memory.home, np.zeros(12)])
            return memory._replace(way=way, lasting=settings.retreat_time)
        if phase == "back_off":
            starts = seen_from(memory.object, grips)
            still = np.concatenate([memory.object[:12], np.zeros(6)])  # turning with it could take joints to limits
            memory, goals = _given_up(memory)._replace(carrier=still), outward(starts, settings.back_off)
            return _on(memory, starts, goals, settings.back_off_time)
        if phase == "hold":
            return memory._replace(carrier=coasted(memory.carrier, fading(elapsed, settings.slowing)))
        if plan is None:
            return memory
        if phase == "reach":
            way = np.concatenate([self._angles(sensed), plan.q, plan.rates])
            return memory._replace(way=way, lasting=max(plan.arrival - t, 0.5))
        if phase == "approach":
            starts = seen_from(memory.object, grips)
            return _on(memory, starts, outward(plan.contact, settings.standoff), settings.approach)
        if phase == "contact":
            starts = outward(plan.contact, settings.standoff)
            memory = _on(memory._replace(carrier=memory.object), starts, outward(starts, -1.0), 1.0)
            return memory._replace(travel=(0.0, 0.0), closing=(0.0, 0.0), squeeze=0.0)
        if phase == "coordinate":
            carrier, now = coasted(memory.carrier, (elapsed, 1.0, 0.0)), seen_from(memory.object, grips)
            given = memory.correction, self._base(sensed), memory.object, now, plan.contact
            memory, places = memory._replace(correction=estimate.touched(*given)), seen_from(carrier, grips)
            return _on(memory._replace(carrier=estimate.in_base(carrier, self._base(sensed))), places, places, 1.0)
        return memory


def _given_up(memory: Memory) -> Memory:
    """After an attempt in vain."""
    faces = (memory.plan.faces,) if memory.plan is not None else ()
    return memory._replace(attempts=memory.attempts + 1, tried=memory.tried + faces, plan=None)


def _on(memory: Memory, starts: np.ndarray, goals: np.ndarray, lasting: float) -> Memory:
    """On paths between poses (2, 4, 4)."""
    paths, angles = between(starts, goals)
    return memory._replace(paths=paths, angles=angles, lasting=lasting)


def _resting_at(angles: np.ndarray) -> np.ndarray:
    """The way of joints that stay."""
    return np.concatenate([angles, angles, np.zeros(12)])


def from_scene(model: Model, settings: Mapping[str, Any]) -> CaptureController:
    """The controller of a scene's model; see `Settings`. `rules` may name a file in the place of capture/rules.toml.
    What it knows of the satellite are its faces."""
    given = dict(settings)
    path = given.pop("rules", str(files("phistar.capture") / "rules.toml"))
    if not isinstance(path, str):
        raise FileError(f"[controller] rules: the path of a TOML file was expected; it is {path!r:.100}.")
    supervisor = Supervisor.load(path, FACTS)
    for phase in supervisor.phases:
        if phase not in GAINS:
            raise FileError(f"{path}: {unknown('phase', phase, GAINS, 'the grapple')}")
    made = CaptureController(Arms.of(model), Settings.of(given), supervisor)
    assert made.planner is not None  # arms and bodies that no plan can be for are refused now, not in the run
    return made
