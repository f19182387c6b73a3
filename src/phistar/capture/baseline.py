"""Walker and Dionise's controller: inverse dynamics along one trajectory of the joints, from start to hold (WD89 §4).

    T = ℳ(θ)(θ̈_d + k_d(θ̇_d − θ̇) + k_p(θ_d − θ)) + 𝒞 + d̂ θ̇

The fingers decide the phases, as in the paper: approach, contact from the first touch on, coordination while all six
touch; it is over some time after the trajectory has ended. They change nothing: compliance is what low gains leave, and
the hands are sent some way into the faces so that they press. The plan is that of the supervised capture, so that laws
are compared and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.capture.capture_roles import KEYS, CaptureLayout
from phistar.capture.planner import Plan, Planner, Sighting
from phistar.capture.robot import Arms
from phistar.capture.settings import numbers
from phistar.compiled import CompiledFunction, compile
from phistar.control.joint_laws import InverseDynamicsControl
from phistar.control.sampled import Command, Switch
from phistar.control.splines import Spline, through
from phistar.errors import ModelError
from phistar.model import Model
from phistar.spatial.rotations import from_quaternion

KNOT = 0.25  # s between the points that the trajectory goes through
SETTLING = 5.83  # (1 + x) exp(−x) = 0.02: when a critically damped error of frequency ω is within 2%, x = ω t
TOUCHED = 1.0  # N on a finger
LINGER = 8.0  # s from the trajectory's end until it is over


@dataclass(frozen=True)
class TrajectorySettings:
    """`settling` is the time, s, in which an error falls to 2%: k_p = (5.83/settling)², k_d = 2 √k_p; the paper's is
    about 1 s. `depth`, m: how far into the faces the hands are sent."""

    settling: float = 1.0
    depth: float = 0.03
    slowing: float = 2.5  # s in which the body's motion fades in the trajectory
    period: float = 0.004
    ask: float = 1.0  # s between questions to the planner

    @staticmethod
    def of(given: Mapping[str, Any]) -> TrajectorySettings:
        """Settings read from a table; each a number greater than 0."""
        return TrajectorySettings(**numbers(given, TrajectorySettings, "wd89"))

    @property
    def kp(self) -> float:
        return (SETTLING / self.settling) ** 2

    @property
    def kd(self) -> float:
        return 2.0 * SETTLING / self.settling


class Memory(NamedTuple):
    """The joints' `curve` and the time when it begins, once there is a plan; until then they stay at `rest` (n,). The
    phase, and when the planner was asked last."""

    curve: Spline | None
    begins: float
    rest: np.ndarray
    phase: str
    asked: float


@dataclass(frozen=True, eq=False)
class InverseDynamicsCapture:
    """A `SampledController` of a fixed base: one law, no decisions."""

    planner: Planner
    settings: TrajectorySettings

    @property
    def period(self) -> float:
        return self.settings.period

    @property
    def arms(self) -> Arms:
        return self.planner.robot.arms

    @property
    def senses(self) -> Mapping[str, int]:
        """The readings that it goes by, with their sizes."""
        joints = {name: size for name, size in self.arms.readings.items() if name.endswith("_joints")}
        return {**joints, **self.arms.sights}

    @cached_property
    def law(self) -> CompiledFunction:
        model = self.arms.model
        control = InverseDynamicsControl(model, kp=self.settings.kp, kd=self.settings.kd)
        return compile(control, model, rows={"reference": model.nq + 2 * model.nv})

    def start(self) -> Memory:
        return Memory(None, 0.0, np.zeros(0), "plan", -np.inf)

    def command(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> tuple[Memory, Command]:
        q, v = self.arms.state(sensed)
        joints = q[self.arms.coordinates]
        if not len(memory.rest):
            memory = memory._replace(rest=joints)
        if memory.curve is None and t - memory.asked >= self.settings.ask:
            memory = self._plan(memory, t, joints, np.asarray(sensed[self.arms.layout.target_reading], dtype=float))
        wanted = self._reference(memory, t)
        row = np.zeros((3, len(v)))
        row[:, self.arms.driven_rates] = wanted
        tau = np.zeros(self.arms.scene.nv)
        tau[self.arms.sites[1]] = self.law(t, q, v, row.reshape(-1))[self.arms.driven_rates]
        facts = {"joint_error": float(np.max(np.abs(wanted[0] - joints)))}
        after, switches = self._phase(memory, t, sensed)
        return after, Command(tau, memory.phase, switches, facts)

    def _reference(self, memory: Memory, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """θ_d, θ̇_d and θ̈_d, (n,) each."""
        if memory.curve is None:
            return memory.rest, np.zeros(len(memory.rest)), np.zeros(len(memory.rest))
        place, rate, change = memory.curve.motion(t - memory.begins)
        inside = 0.0 < t - memory.begins < memory.curve.duration
        return place, rate * inside, change * inside

    def _plan(self, memory: Memory, t: float, joints: np.ndarray, seen: np.ndarray) -> Memory:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = from_quaternion(seen[3:7]), seen[:3]
        sighting = Sighting(pose, seen[7:13], joints)
        made = self.planner.plan(sighting, t)
        if not isinstance(made, Plan):
            return memory._replace(asked=t)
        return memory._replace(curve=self.trajectory(made, sighting, t), begins=made.start, asked=t)

    def trajectory(self, made: Plan, sighting: Sighting, t: float) -> Spline:
        """The joints (n,) from the plan's start on: its approach, then with the faces and into them, then to rest."""
        settings = self.settings
        before = _knots(made.start, made.arrival)
        after = _knots(made.arrival, made.touch + settings.slowing)[1:]
        x = np.clip((after - made.arrival) / (made.touch - made.arrival), 0.0, 1.0)
        into = (made.standoff + settings.depth) * x**3 * (10.0 - 15.0 * x + 6.0 * x**2) - made.standoff
        late = np.clip((after - made.touch) / settings.slowing, 0.0, 1.0)
        body_time = np.minimum(after, made.touch) + settings.slowing * (late - late**3 + 0.5 * late**4)
        body = sighting.ahead(body_time - t).pose
        points = np.concatenate([made.approach(before)[0], self._follow(made, body, into)])
        times = np.concatenate([before, after])
        return through(points, np.diff(times)).stretched(times[-1] - times[0])

    def _follow(self, made: Plan, body: np.ndarray, into: np.ndarray) -> np.ndarray:
        """Joints (k, n) with the hands `into` (k,) m beyond the faces of a body at poses (k, 4, 4)."""
        arms = []
        for arm, solver in enumerate(self.planner.robot.solvers):
            poses = body @ made.contact[arm]
            poses[:, :3, 3] += into[:, None] * poses[:, :3, 2]
            ways, last, found = solver.solutions(poses), made.joints[0, self.arms.slices[arm]], []
            for solutions in ways:
                near = solutions + 2.0 * np.pi * np.round((last - solutions) / (2.0 * np.pi))
                gap = np.abs(near - last).max(axis=-1)
                if np.isfinite(gap).any():
                    last = near[np.nanargmin(gap)]
                found.append(last)  # what is out of reach is not followed
            arms.append(np.array(found))
        return np.concatenate(arms, axis=-1)

    def _phase(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> tuple[Memory, tuple[Switch, ...]]:
        tips = np.concatenate([np.asarray(sensed[f"{hand.name}_tips"], dtype=float) for hand in self.arms.hands])
        touching = int(np.sum(tips > TOUCHED))
        begun, before = memory.curve is not None and t >= memory.begins, memory.phase
        if not begun:
            after, reason = "plan", ""
        elif memory.curve is not None and t > memory.begins + memory.curve.duration + LINGER:
            after, reason = "over", "the trajectory has ended"
        elif touching == len(tips):
            after, reason = "coordination", "every finger touches"
        elif touching or before in ("contact", "coordination"):
            after, reason = "contact", f"{touching} fingers touch"
        else:
            after, reason = "approach", "the plan's time has come"
        if after == before:
            return memory, ()
        return memory._replace(phase=after), (Switch(t, before, after, reason),)


def from_scene(model: Model, settings: Mapping[str, Any]) -> InverseDynamicsCapture:
    """The controller of a scene's model; `settings` has the layout, and any of `TrajectorySettings`."""
    given = dict(settings)
    layout = CaptureLayout.of({key: given.pop(key, None) for key in KEYS})
    arms, own = Arms.of(model, layout), TrajectorySettings.of(given)
    if arms.free:
        raise ModelError(f"{model.name}: WD89's controller is for arms on a fixed base; this one floats.")
    return InverseDynamicsCapture(Planner(arms), own)


def _knots(start: float, end: float) -> np.ndarray:
    return np.linspace(start, end, max(2, int(np.ceil((end - start) / KNOT)) + 1))
