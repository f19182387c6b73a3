"""A scene, its plant or its controller, asked step by step with numbers in and numbers out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from phistar.control.sampled import Command, is_sampled, period_of
from phistar.errors import FileError, PhistarError
from phistar.plant.commands import Commands
from phistar.plant.session import PlantState
from phistar.sim.driving import Driving
from phistar.sim.motion import NOTHING, Moment
from phistar.sim.scenes.scene import Scene, Setting
from phistar.sim.time_loop import TimeLoop

SIDES = ("scene", "plant", "controller")
EVEN = 1e-6  # of a period: steps that differ less are as long as so many periods


class Names(NamedTuple):
    """Inputs and outputs of a side: names and what each is of."""

    inputs: Sequence[tuple[str, str]]
    outputs: Sequence[tuple[str, str]]


class SceneSide:
    """One side of a scene, drawn with a seed: the whole `scene` with its own controller, its `plant`, which is given
    the commands of its actuators, or its `controller`, which is given states and readings.

    `start()` gives the outputs at time 0 and `step(periods, inputs)` those after so many periods of `period` seconds,
    with the same inputs throughout; `over` says whether the scene has ended.
    """

    def __init__(self, scene: Scene, side: str, seed: int) -> None:
        if side not in SIDES:
            raise FileError(f"A side of a scene is one of {', '.join(SIDES)}; it was given {side!r:.50}.")
        self.setting, self.side, self.seed = scene.setting(seed), side, seed
        timing, law = self.setting.timing, self.setting.law
        if side == "controller" and law is None:
            raise FileError(f"{scene.where}: it has no [controller] that could go into a file of its own.")
        own = period_of(law) if law is not None and is_sampled(law) else timing.step or timing.sample
        self.period = timing.sample if side == "scene" else own
        self.over, self._time = False, 0.0
        setting = self.setting
        self._driving: Driving | None = None
        self._loop: TimeLoop | None = None
        if side == "controller":
            experiment = setting.experiment(seed)
            self._driving = Driving(experiment, Commands(setting.plant.actuators, setting.model, setting.name))
        else:
            self._loop = _loop(setting, seed, self.period, is_whole=side == "scene")
            self._rows = self._loop.rows()
            self._row = next(self._rows)

    @property
    def names(self) -> Names:
        setting = self.setting
        model, sensing = setting.model, setting.sensing
        q = [(f"q[{i}]", "") for i in range(model.nq)]
        v = [(f"v[{i}]", "") for i in range(model.nv)]
        for body in model.bodies:
            for i, at in enumerate(body.coordinates):
                q[at] = (q[at][0], f"{body.joint.name}, {i}")
            for i, at in enumerate(body.rates):
                v[at] = (v[at][0], f"{body.joint.name}, {i}")
        readings = [
            (f"sensed/{name}[{i}]", f"reading of the sensor {name}")
            for name, own in sensing.slices.items()
            for i in range(own.stop - own.start)
        ]
        commands = [
            (f"command/{each.name}" + (f"[{i}]" if each.entries > 1 else ""), f"command of the actuator {each.name}")
            for each in setting.plant.actuators
            for i in range(each.entries)
        ]
        seen = [*q, *v, *readings]
        match self.side:
            case "scene":
                return Names([], seen)
            case "plant":
                return Names(commands, seen)
        return Names(seen, commands)

    def start(self) -> np.ndarray:
        return np.zeros(len(self.names.outputs)) if self._loop is None else self._outputs()

    def step(self, length: float, inputs: np.ndarray) -> np.ndarray:
        """The outputs `length` seconds on."""
        periods = round(length / self.period)
        if periods < 1 or abs(length - periods * self.period) > EVEN * self.period:
            raise PhistarError(f"A step is {self.period:g} s or several times that; it was asked for {length:.9g} s.")
        return self._step_controller(periods, inputs) if self._loop is None else self._step_plant(periods, inputs)

    def _step_plant(self, periods: int, inputs: np.ndarray) -> np.ndarray:
        loop = self._loop
        assert loop is not None and loop.moment is not None
        for _ in range(periods):
            if self.side == "plant":
                loop.driving.hold(inputs, loop.moment.time)
            row = next(self._rows, None)
            if row is None:
                raise PhistarError(f"The scene {self.setting.name} has ended, at t = {loop.moment.time:.6g} s.")
            self._row = row
        self.over = loop.moment.time >= min(loop.end, self.setting.timing.duration) - 1e-9
        return self._outputs()

    def _step_controller(self, periods: int, inputs: np.ndarray) -> np.ndarray:
        driving, model, slices = self._driving, self.setting.model, self.setting.sensing.slices
        assert driving is not None
        q, v, readings = np.split(np.array(inputs, dtype=float), [model.nq, model.nq + model.nv])
        state, sensed = PlantState(q, v), {name: readings[own] for name, own in slices.items()}
        for _ in range(periods):
            if driving.controller is None:
                assert driving.law is not None
                driving.hold(driving.law(self._time, q, v), self._time)
            else:
                driving.sample(Moment(self._time, state, NOTHING, np.inf, self.period, state), sensed)
            self._time = round(self._time + self.period, 12)
        return driving.values

    def _outputs(self) -> np.ndarray:
        """q, v and the readings as they stand."""
        assert self._loop is not None
        sensed = self._loop.sensed
        return np.concatenate([self._row["q"], self._row["v"], *(sensed[name] for name in self.setting.sensing.slices)])


@dataclass(frozen=True)
class _Held:
    """Commands that are given from outside, between samples."""

    period: float
    entries: int

    def start(self) -> None: ...

    def command(self, memory: None, t: float, sensed: Mapping[str, Any]) -> tuple[None, Command]:
        return None, Command(np.zeros(self.entries))


def _loop(setting: Setting, seed: int, period: float, is_whole: bool) -> TimeLoop:
    """The scene as a run of it goes, or sample by sample with commands from outside."""
    if is_whole:
        experiment = setting.experiment(seed)
    else:
        entries = sum(each.entries for each in setting.plant.actuators)
        timing = replace(setting.timing, sample=period, stop=())
        experiment = replace(setting.experiment(seed, _Held(period, entries)), timing=timing, audit=False)
    return TimeLoop(experiment, world=setting.world, sensing=setting.sensing, stepped=True)
