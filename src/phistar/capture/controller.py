"""The controller that captures: readings make facts, a supervisor decides by them which phase it is, and the phase says
what one law is to follow and with which gains. It keeps nothing: all it remembers is in `Memory`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import Any

import numpy as np

from phistar.capture import candidates, estimate
from phistar.capture.capture_roles import KEYS, CaptureLayout
from phistar.capture.estimate import UNTOUCHED
from phistar.capture.facts import HOLDING, Facts, fact_names, touching_now
from phistar.capture.jaw_moves import finger_rows, open_jaws, press_on, touching_poses
from phistar.capture.memory import Memory, first_memory
from phistar.capture.paths import (
    AT_END,
    GOING_ON,
    STAYING,
    between,
    coast_carrier,
    fading,
    grip_poses_in,
    leading_out,
    outward,
    quintic,
)
from phistar.capture.phase_law import LawRows, compiled_law
from phistar.capture.planner import Plan, Planner, Refusal, Sighting
from phistar.capture.robot import Arms
from phistar.capture.settings import GAINS, Settings, stable_gains
from phistar.capture.slowing_time import LONGEST, gyration, slowing_time
from phistar.control.sampled import Command
from phistar.control.supervisor import Supervisor
from phistar.errors import FileError
from phistar.estimation.free_body import FreeBody
from phistar.estimation.sighted_body import forecast, unpack_covariance
from phistar.model import Model
from phistar.model.names import unknown
from phistar.spatial import to_quaternion

ON_JOINTS = ("plan", "wait", "reach", "regroup", "retreat", "aborted")
WATCHING = ("plan", "wait")
SURPRISING = 0.1  # s that the NIS of sightings is smoothed over,
STARTLED = 1.8  # and from which on the object is taken to be pushed
HESITATION = 0.2  # s between approach and touch, besides
TOO_HEAVY = "the grasp takes longer than {1:g} s to bear the momentum of a target of {0:g} kg"
SETTLING = 0.5  # s after the body is to have stopped, before it is looked at whether it has


@dataclass(frozen=True, eq=False)
class CaptureController:
    """A `SampledController` that captures; its joint forces are those of the scene's model."""

    arms: Arms
    settings: Settings
    supervisor: Supervisor

    @property
    def period(self) -> float:
        return self.settings.period

    @property
    def senses(self) -> Mapping[str, int]:
        """The sensor readings that it uses, with their sizes."""
        return {**self.arms.readings, **self.arms.sights}

    @cached_property
    def law(self) -> Any:
        return compiled_law(self.arms)

    @cached_property
    def facts(self) -> Facts:
        return Facts(self.arms)

    @cached_property
    def sight(self) -> estimate.Sight:
        return estimate.compiled_sight(self.arms)

    @cached_property
    def planner(self) -> Planner:
        return Planner(self.arms.without_mass(), self._preferences(self.settings))

    def _preferences(self, own: Settings) -> candidates.Preferences:
        travel = max((hand.jaw.travel for hand in self.arms.hands if hand.jaw), default=0.0)
        closing = own.approach + (own.standoff + self._ahead + travel) / own.closing_speed
        return candidates.Preferences(
            window=own.window,
            closing=closing + HESITATION,
            stopping=own.squeeze_time + 0.5 * own.slowing,
            standoff=candidates.Preferences.standoff + self._ahead,
            friction=own.friction,
            shortest=own.reach_time,
            rate=own.joint_rate,
        )

    @cached_property
    def _ahead(self) -> float:
        """Reach of the fingers beyond the grips, m."""
        return max(hand.ahead for hand in self.arms.hands)

    @cached_property
    def gains(self) -> Mapping[str, np.ndarray]:
        own, lag = self.arms.hand_inertia, self.period + self.settings.filter_time
        return {phase: stable_gains(phase, own, self.arms.steady, lag).row for phase in GAINS}

    @cached_property
    def _smoothing(self) -> np.ndarray:
        return np.array([self.period / (self.period + self.settings.filter_time)])

    @cached_property
    def _noises(self) -> Mapping[str, np.ndarray]:
        return {phase: estimate.noises(self.settings, phase) for phase in GAINS}

    def start(self) -> Memory:
        return first_memory(self.supervisor.start(), LawRows.of(self.arms), self.settings, self._fingers)

    @cached_property
    def _fingers(self) -> tuple[int, ...]:
        """Number of fingers of each hand."""
        return tuple(len(hand.fingers) for hand in self.arms.hands)

    def command(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> tuple[Memory, Command]:
        if not memory.begun:
            memory = self._begin(memory, sensed)
        tips = [sensed[name] for name in self._tip_readings]
        memory = self._follow_sighting(memory, t, sensed, touching_now(memory.touching, tips, self.settings))
        phase = memory.decision.phase
        if phase in WATCHING:
            memory = self._plan(memory, t, sensed)
        if phase == "contact":
            memory = press_on(self.arms, memory, sensed, self.period)
        elif phase not in HOLDING:
            memory = open_jaws(memory, self.period)
        elapsed = t - memory.decision.since
        carrier = self._carrier(memory, elapsed, sensed)
        readings = np.concatenate([sensed[name] for name in self.arms.readings])
        tau, smooth, grips, measured = self.law(
            readings,
            memory.smooth,
            carrier,
            memory.paths.reshape(-1),
            memory.way,
            self.gains[phase],
            self._smoothing,
            self._now(memory, elapsed),
        )
        facts = self.facts.of(memory, t, measured, tips, grips)
        decision, switch = self.supervisor.step(memory.decision, t, facts)
        before, memory = memory.decision, memory._replace(decision=decision, time=t, smooth=smooth)
        if switch is None:
            return memory, Command(tau, phase, (), facts)
        if phase == "plan" and memory.refusal:
            switch = switch._replace(reason=f"{switch.reason}: {memory.refusal}")
        return self._enter_phase(memory, t, t - before.since, sensed, grips), Command(tau, phase, (switch,), facts)

    # What is known

    def _begin(self, memory: Memory, sensed: Mapping[str, Any]) -> Memory:
        home, seen = self.arms.angles_sensed(sensed), np.asarray(sensed[self.arms.layout.target_reading])
        belief, spread = estimate.first_sight(seen, self._base(sensed), self.settings)
        now = estimate.as_carrier(FreeBody.of(belief), memory.center)
        memory = memory._replace(home=home, way=_resting_at(home), object=now, carrier=now, begun=True)
        return memory._replace(belief=belief, covariance=spread)

    @cached_property
    def _tip_readings(self) -> list[str]:
        return [f"{hand.name}_tips" for hand in self.arms.hands]

    def _base(self, sensed: Mapping[str, Any]) -> np.ndarray:
        return np.asarray(sensed[self.arms.layout.base_reading]) if self.arms.free else self.fixed_base

    @cached_property
    def fixed_base(self) -> np.ndarray:
        pose = self.arms.model.frame(self.arms.layout.base).placement
        return np.concatenate([pose.translation, to_quaternion(pose.rotation), np.zeros(6)])

    def _follow_sighting(
        self, memory: Memory, t: float, sensed: Mapping[str, Any], touching: tuple[tuple[bool, ...], ...]
    ) -> Memory:
        phase = memory.decision.phase
        # Whatever pushes it, felt by fingers or not, the object no longer tumbles freely.
        # On the last centimetres the base, where it floats, is jerked about, and sightings from it err with it.
        startled = memory.surprise > STARTLED and phase != "approach"
        pushed = phase in UNTOUCHED and (any(map(any, memory.touching)) or startled)
        noises = self._noises["contact" if pushed else phase]
        seen = np.asarray(sensed[self.arms.layout.target_reading])
        times = np.array([t - memory.time, self.settings.delay])
        belief, spread, state, twist, nis = self.sight.follow(
            memory.belief, memory.covariance, seen, self._base(sensed), noises, times, memory.center
        )
        surprise = memory.surprise + self.period / SURPRISING * (float(nis[0]) - memory.surprise)
        return memory._replace(
            belief=belief, covariance=spread, object=state, twist=twist, surprise=surprise, touching=touching
        )

    def _plan(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> Memory:
        """A plan, where it is time to ask for one and there is one; while it waits, one that is made anew by what was
        seen since."""
        own, plan = self.settings, memory.plan
        if plan is None:
            early = t - memory.decision.since < own.settle or t - memory.asked < own.ask
            return memory if early else self._ask_plan(memory, t, sensed, None)
        due = memory.decision.phase == "wait" and t - memory.asked >= own.renew and plan.start - t > own.renew / 4
        return self._ask_plan(memory, t, sensed, plan.arrival) if due else memory

    def _ask_plan(self, memory: Memory, t: float, sensed: Mapping[str, Any], around: float | None) -> Memory:
        """Memory with a new plan, or with its refusal."""
        belief, spread = FreeBody.of(memory.belief), unpack_covariance(memory.covariance)
        com, inertia = belief.com, estimate.possible_inertia(belief.inertia)
        frame = estimate.in_base(estimate.move_center(memory.object, -memory.center), self._base(sensed))
        memory = memory._replace(object=estimate.move_center(memory.object, com - memory.center), center=com)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = frame[:9].reshape(3, 3), frame[9:12]
        paced = self.settings.at_spin(float(np.linalg.norm(frame[12:15])))
        sighting = Sighting(pose, frame[12:], self.arms.angles_sensed(sensed), inertia, com)
        found = self.planner.preferring(self._preferences(paced)).plan(sighting, t, memory.tried, around)
        slower = self._slowing_time(found, sighting, paced)
        if slower > paced.slowing:
            paced = replace(paced, slowing=min(slower, LONGEST))
            found = self.planner.preferring(self._preferences(paced)).plan(sighting, t, memory.tried, around)
            if self._slowing_time(found, sighting, paced) > LONGEST:
                found = Refusal(TOO_HEAVY.format(self.settings.heaviest, LONGEST))
        if isinstance(found, Plan):
            doubt = forecast(belief, spread, found.arrival - t + self.settings.delay, self._noises["wait"][4:])
            return memory._replace(plan=found, asked=t, refusal="", pace=paced, doubt=np.array(doubt))
        return memory._replace(plan=None, asked=-1.0 if around else t, refusal=found.reason, pace=paced)

    def _slowing_time(self, found: Plan | Refusal, seen: Sighting, pace: Settings) -> float:
        """Time in which a plan's grasp takes the momentum of the heaviest target there may be, s."""
        heaviest = self.settings.heaviest
        if isinstance(found, Refusal) or not heaviest:
            return 0.0
        turn, center = seen.pose[:3, :3], np.asarray(seen.com)
        spin, drift = turn.T @ seen.twist[:3], turn.T @ seen.twist[3:]
        momentum = heaviest * np.concatenate([self._gyration @ spin, drift + np.cross(spin, center)])
        push = sum(2.0 if hand.jaw else 1.0 for hand in self.arms.hands) * pace.squeeze
        return slowing_time(momentum, found.margin, push)

    @cached_property
    def _gyration(self) -> np.ndarray:
        scene = self.arms.scene
        shapes = scene.bodies[scene.body_index(self.arms.layout.target)].geometry
        return gyration([each for each in shapes if each.role == "collision"])

    # References

    def _now(self, memory: Memory, elapsed: float) -> np.ndarray:
        """Row `now` of the law's inputs; see `LawRows`."""
        phase, lasting, hands = memory.decision.phase, memory.lasting, len(self.arms.hands)
        carrier, paths, ways, light, squeeze = GOING_ON, STAYING * hands, AT_END, (0.0,) * hands, 0.0
        if phase in ON_JOINTS:
            x = elapsed / lasting
            ways = (*quintic(x, lasting), *leading_out(x, lasting))
        elif phase in ("approach", "back_off"):
            s = quintic(elapsed / lasting, lasting)
            paths = tuple(part for angle in memory.angles.tolist() for part in (*(angle * each for each in s), *s))
        elif phase == "contact":
            moves = zip(memory.travel, memory.closing, strict=True)
            paths = tuple(part for far, fast in moves for part in (0.0, 0.0, 0.0, far, fast, 0.0))
            carrier, light, squeeze = (elapsed, 1.0, 0.0), self._light(memory), memory.squeeze
        else:
            squeeze = memory.pace.squeeze
        weights = np.ones(hands) if memory.plan is None else memory.plan.weights
        fingers = finger_rows(memory, self.settings, phase, phase in HOLDING)
        return np.array((*carrier, *paths, *light, *weights.tolist(), squeeze, *ways, *fingers))

    def _carrier(self, memory: Memory, elapsed: float, sensed: Mapping[str, Any]) -> np.ndarray:
        """Carrier of the hands' paths: the object as it is seen, as it would coast on, or as it is brought to rest
        before the base."""
        phase = memory.decision.phase
        if phase in ("coordinate", "hold", "held"):
            coast = fading(elapsed, memory.pace.slowing) if phase == "coordinate" else (0.0, 0.0, 0.0)
            return self.sight.carry(memory.carrier, np.array(coast), self._base(sensed))
        return memory.object if phase == "approach" else memory.carrier

    def _light(self, memory: Memory) -> tuple[float, ...]:
        """Rigid hands that touch and wait press lightly."""
        both = zip(self.arms.hands, memory.touching, strict=True)
        return tuple(self.settings.light * (memory.squeeze == 0.0 and not hand.jaw and any(on)) for hand, on in both)

    # At a switch

    def _enter_phase(
        self, memory: Memory, t: float, elapsed: float, sensed: Mapping[str, Any], grips: np.ndarray
    ) -> Memory:
        """The memory at the start of a phase, `elapsed` after the start of the one before."""
        phase, settings, plan = memory.decision.phase, self.settings, memory.plan
        if phase in ("plan", "aborted"):
            still = _resting_at(self.arms.angles_sensed(sensed))
            return memory._replace(way=still, lasting=1.0, plan=None, asked=-1.0)
        if phase in ("regroup", "retreat"):
            memory = _give_up(memory) if plan is not None else memory
            way = np.concatenate([self.arms.angles_sensed(sensed), memory.home, np.zeros(len(memory.home))])
            return memory._replace(way=way, lasting=settings.retreat_time)
        if phase == "back_off":
            starts = grip_poses_in(memory.object, grips)
            still = np.concatenate([memory.object[:12], np.zeros(6)])  # turning with it could take joints to limits
            memory, goals = _give_up(memory)._replace(carrier=still), outward(starts, settings.back_off)
            return _on(memory, starts, goals, settings.back_off_time)
        if phase == "hold":
            return memory._replace(carrier=coast_carrier(memory.carrier, fading(elapsed, memory.pace.slowing)))
        if plan is None:
            return memory
        if phase == "reach":
            way = np.concatenate([self.arms.angles_sensed(sensed), plan.q, plan.rates])
            return memory._replace(way=way, lasting=max(plan.arrival - t, 0.5))
        return self._enter_at_the_object(memory, plan, elapsed, sensed, grips)

    def _enter_at_the_object(
        self, memory: Memory, plan: Plan, elapsed: float, sensed: Mapping[str, Any], grips: np.ndarray
    ) -> Memory:
        phase, pace, contact = memory.decision.phase, memory.pace, plan.contact.copy()
        contact[:, :3, 3] -= memory.center  # the object as it is followed is its mass centre
        if phase == "approach":
            starts = grip_poses_in(memory.object, grips)
            return _on(memory, starts, outward(contact, pace.standoff + self._ahead), pace.approach)
        if phase == "contact":
            starts = outward(contact, pace.standoff + self._ahead)
            memory = _on(memory._replace(carrier=memory.object), starts, outward(starts, -1.0), 1.0)
            none = (0.0,) * len(contact)
            return memory._replace(travel=none, closing=none, squeeze=0.0)
        if phase == "coordinate":
            memory, carrier = (
                self._locate_by_touch(memory, plan, grips, sensed),
                coast_carrier(memory.carrier, (elapsed, 1.0, 0.0)),
            )
            places, now = grip_poses_in(carrier, grips), grip_poses_in(memory.object, grips)
            memory = memory._replace(carrier=estimate.in_base(carrier, self._base(sensed)), held=now)
            return _on(memory, places, places, pace.slowing + SETTLING)
        return memory

    def _locate_by_touch(self, memory: Memory, plan: Plan, grips: np.ndarray, sensed: Mapping[str, Any]) -> Memory:
        """Memory after the hands lie on their places, which tells where those are."""
        now = grip_poses_in(estimate.move_center(memory.object, -memory.center), grips)
        lying, there = touching_poses(self.arms, now, sensed), touching_poses(self.arms, plan.contact)
        delay = np.array([self.settings.delay])
        belief, spread, state = estimate.locate(memory.belief, memory.covariance, lying, there, delay, memory.center)
        return memory._replace(belief=belief, covariance=spread, object=state)


def _give_up(memory: Memory) -> Memory:
    """Memory after a failed attempt."""
    faces = (memory.plan.faces,) if memory.plan is not None else ()
    return memory._replace(attempts=memory.attempts + 1, tried=memory.tried + faces, plan=None)


def _on(memory: Memory, starts: np.ndarray, goals: np.ndarray, lasting: float) -> Memory:
    """Memory on paths between poses (h, 4, 4)."""
    paths, angles = between(starts, goals)
    return memory._replace(paths=paths, angles=angles, lasting=lasting)


def _resting_at(angles: np.ndarray) -> np.ndarray:
    """Row `way` of joints at rest."""
    return np.concatenate([angles, angles, np.zeros(len(angles))])


def from_scene(model: Model, settings: Mapping[str, Any]) -> CaptureController:
    """The controller of a scene's model.

    Parameters
    ----------
    model : Model
        The whole scene.
    settings : mapping
        `base`, `target` and `hands` as `CaptureLayout` has them, any of `Settings` by its name, and `rules`, the path
        of a file in the place of capture/rules.toml. Of the target it knows the shapes.
    """
    given = dict(settings)
    layout = CaptureLayout.of({key: given.pop(key, None) for key in KEYS})
    path = given.pop("rules", str(files("phistar.capture") / "rules.toml"))
    if not isinstance(path, str):
        raise FileError(f"[controller] rules: the path of a TOML file was expected; it is {path!r:.100}.")
    arms = Arms.of(model, layout)
    supervisor = Supervisor.load(path, fact_names(arms))
    for phase in supervisor.phases:
        if phase not in GAINS:
            raise FileError(f"{path}: {unknown('phase', phase, GAINS, 'the grapple')}")
    made = CaptureController(arms, Settings.of(given), supervisor)
    assert made.planner is not None  # arms and bodies that no plan can be for are refused now, not in the run
    return made
