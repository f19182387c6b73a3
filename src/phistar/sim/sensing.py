"""The readings of a scene's sensors: one product for contacts, and one compiled function of the state for all else."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.dynamics import forward_kinematics
from phistar.model import Model
from phistar.plant.measurements import with_error
from phistar.plant.mounted import Mounted, inward, mount
from phistar.plant.plant import Plant
from phistar.plant.seen_pose import seen_pose
from phistar.plant.sensor_kinds import Sensor
from phistar.plant.sensor_readers import Instant, Read, reader
from phistar.plant.session import Session
from phistar.sim.motion import Moment
from phistar.sim.state_kernels import kernel, moving
from phistar.sim.world import World

COMPILED = ("joints", "wrist", "tactile", "pose")  # the others are read one by one
POSE = 13  # numbers of a pose
MOST_PATTERNS = 4096  # of pairs that meet, which are remembered


class _Pattern(NamedTuple):
    """Shares of the n pairs' forces in wrists, (wrists, n), and in tactile shapes, (shapes, n)."""

    wrists: np.ndarray
    tips: np.ndarray


class Sensing:
    """Readings of a plant's sensors at a moment: (N,), concatenated in the order of `sensors`, with joints, wrists,
    tips and poses first; `slices` locates each sensor's."""

    def __init__(self, plant: Plant, world: World) -> None:
        self.plant, self.world = plant, world
        compiled = [sensor for kind in COMPILED for sensor in plant.sensors if sensor.kind == kind]
        others = [sensor for sensor in plant.sensors if sensor.kind not in COMPILED]
        self.sensors = (*compiled, *others)
        self.slices: dict[str, slice] = {}
        self.mounted: list[Mounted] = []
        self.joints, self.tips, self.seen = [np.zeros(0, int)], list[str](), list[tuple[str, str]]()
        for sensor in compiled:
            self._place(sensor, self._size(sensor))
        self.compiled = self.size
        self.others: list[tuple[Sensor, Read]] = [(sensor, reader(plant, sensor)) for sensor in others]
        if others:
            session = world.session()
            session.engine.q[: plant.model.nq] = plant.model.neutral()  # any place will do to count what is read
            first = Instant(session, plant.model, None, np.zeros(plant.model.nv), 0.0)
            for sensor, read in self.others:
                self._place(sensor, read(first).size)
        self._places = np.concatenate(self.joints)
        self._patterns: dict[tuple[int, ...], _Pattern] = {}

    @property
    def size(self) -> int:
        """Length N of the readings."""
        return max((own.stop for own in self.slices.values()), default=0)

    @property
    def reads_forces(self) -> bool:
        """Whether `read` looks at joint forces."""
        return bool(self.others)

    def _place(self, sensor: Sensor, size: int) -> None:
        self.slices[sensor.name] = slice(self.size, self.size + size)

    def _size(self, sensor: Sensor) -> int:
        """How many numbers a sensor of the compiled kinds reads, after what it is of was noted."""
        model, of = self.world.model, sensor.of
        if not isinstance(of, str):
            self.tips += of
            return len(of)
        if sensor.kind == "joints":
            view = self.plant[of]
            self.joints.append(np.concatenate([view.places, model.nq + view.rates]))
            return len(view.places) + len(view.rates)
        if sensor.kind == "wrist":
            self.mounted.append(mount(self.plant, of, f"The sensor '{sensor.name}'"))
            return 6
        self.seen.append((of, sensor.seen_from))
        return POSE

    def read(
        self, moment: Moment, session: Session, tau: np.ndarray, bias: np.ndarray, noise: np.ndarray
    ) -> np.ndarray:
        """Every sensor's numbers with two errors added, (N,) each; a pose is turned by the vectors that stand first in
        the place of its quaternion."""
        if not self.others:
            return self._compiled_kinds(moment, bias, noise)
        first, error = slice(0, self.compiled), bias + noise
        before = None if moment.step is None else (moment.before.q, moment.before.v)
        instant = Instant(session, self.plant.model, before, tau, moment.length)
        rows = [self._compiled_kinds(moment, bias[first], noise[first])]
        rows += [with_error(sensor, read(instant), error[self.slices[sensor.name]]) for sensor, read in self.others]
        return np.concatenate(rows)

    def _compiled_kinds(self, moment: Moment, bias: np.ndarray, noise: np.ndarray) -> np.ndarray:
        state, before, step = moment.state, moment.before, moment.step
        if not self.compiled:
            return np.zeros(0)
        touch, tips = self._zero_forces
        if step is not None and len(step.pair):
            pattern = self._pattern(tuple(step.pair.tolist()))
            if self.mounted:
                touch = (pattern.wrists @ step.impulse).reshape(-1) / moment.length
            if self.tips:
                tips = pattern.tips @ step.normal
        often = np.array([1.0 / moment.length if moment.length > 0.0 else 0.0])
        return self._readings(state.q, state.v, before.q, before.v, touch, tips, often, bias, noise)

    @cached_property
    def _zero_forces(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(max(6 * len(self.mounted), 1)), np.zeros(max(len(self.tips), 1))

    def _pattern(self, numbers: tuple[int, ...]) -> _Pattern:
        found = self._patterns.get(numbers)
        if found is None:
            if len(self._patterns) >= MOST_PATTERNS:
                self._patterns.clear()
            pairs, owners = [self.world.pairs[number].tolist() for number in numbers], self.plant.meeting.owners
            names = [shape.name for shape in self.world.system.shapes]
            wrists = [
                [float(owners[a] in each.owners) - float(owners[b] in each.owners) for a, b in pairs]
                for each in self.mounted
            ]
            tips = [[float(name in (names[a], names[b])) for a, b in pairs] for name in self.tips]
            found = self._patterns[numbers] = _Pattern(
                *(np.array(rows, dtype=float).reshape(len(rows), len(numbers)) for rows in (wrists, tips))
            )
        return found

    @cached_property
    def moving(self) -> Model:
        return moving(self.world.model)

    def formulas(
        self, q: Any, v: Any, before_q: Any, before_v: Any, touch: Any, tips: Any, often: Any, bias: Any, noise: Any
    ) -> Any:
        """(N,) of floats or traced numbers of one state. Of each wrist the wrench of contacts, `touch`, of weight and
        of inertia, −dp/dt, the change of momentum over the step times `often`, one over it; `tips` are normal forces.
        """
        model, rows = self.moving, [np.concatenate([q, v])[self._places]]
        for number, each in enumerate(self.mounted):
            change = (each.momentum(model, q, v) - each.momentum(model, before_q, before_v)) * often[0]
            whole = touch[6 * number : 6 * number + 6] + each.weight(model, q, self.world.model.gravity) - change
            rows.append(inward(forward_kinematics(model, q, each.frame), whole))
        plain = len(self._places) + 6 * len(self.mounted)
        error = bias + noise
        rows = [np.concatenate(rows) + error[:plain]]
        if self.tips:
            rows.append(np.maximum(tips + error[plain : plain + len(self.tips)], 0.0))
        start = plain + len(self.tips)
        for of, seen_from in self.seen:
            own = slice(start, start + 6)
            pose = seen_pose(model, q, v, of, seen_from, noise[own], bias[own])
            rows += [pose[:7], pose[7:] + error[start + 7 : start + 13]]
            start += POSE
        return np.concatenate(rows)

    @cached_property
    def _readings(self) -> Any:
        """The formulas, compiled."""
        model, (touch, tips) = self.world.model, self._zero_forces
        rows = {"before_q": model.nq, "before_v": model.nv, "touch": len(touch), "tips": len(tips), "often": 1}
        rows |= {"bias": self.compiled, "noise": self.compiled}
        carried = tuple((each.frame, each.pieces) for each in self.mounted)
        about = carried, tuple(self.seen), len(self.tips), self._places.tobytes(), tuple(model.gravity.tolist())
        return kernel(self.formulas, self.moving, rows, *about)
