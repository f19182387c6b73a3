"""What a controller gets of true readings: with noise and constant errors, late, and as often as a sensor looks."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from phistar.errors import FileError
from phistar.sim.motion import Moment
from phistar.sim.scenes.sensing import Sensing
from phistar.sim.scenes.sensors import Sensor

TOLERATED = 1e-6  # of a sample: how far a sensor's period may be from a whole number of them


class Line(NamedTuple):
    """What sensors remember between samples: `past` readings (N,), the latest last; how many samples there were; and
    the generator of their noise."""

    past: tuple[np.ndarray, ...]
    count: int
    generator: np.random.Generator


class Readings:
    """The readings of a scene's sensors, sampled every `period` seconds."""

    def __init__(self, sensing: Sensing, period: float) -> None:
        self.sensing = sensing
        self.spread, self.bias, self._quiet = (np.zeros(sensing.size) for _ in range(3))
        self.late: list[tuple[str, slice, int]] = []  # which of the past is a sensor's reading, from the latest back
        self.seldom: list[tuple[slice, int]] = []
        for sensor in sensing.sensors:
            own = sensing.slices[sensor.name]
            size, places = own.stop - own.start, sensing.coordinates.get(sensor.name, 3)
            self.spread[own], self.bias[own] = _spread(sensor, size, places), _bias(sensor, size, places)
            self.late.append((sensor.name, own, -1 - max(ceil(sensor.delay / period - TOLERATED), 0)))
            every = _every(sensor, period)
            if every > 1:
                self.seldom.append((own, every))
        self.noisy = bool(self.spread.any())
        self.longest = max((-back for _, _, back in self.late), default=1)

    def start(self, seed: np.random.SeedSequence) -> Line:
        return Line((), 0, np.random.default_rng(seed))

    def next(self, line: Line, moment: Moment) -> tuple[Line, Mapping[str, Any]]:
        """The line after a sample, and what the controller gets: an array for each sensor, by name."""
        noise = self._quiet
        if self.noisy:
            noise = line.generator.standard_normal(len(noise))
            noise *= self.spread
        read = self.sensing.read(moment, self.bias, noise)
        for own, every in self.seldom:
            if line.count % every:
                read[own] = line.past[-1][own]
        read.flags.writeable = False
        past = (*line.past[1 - self.longest :], read) if self.longest > 1 else (read,)
        after = Line(past, line.count + 1, line.generator)
        return after, self.given(after)

    def given(self, line: Line) -> Mapping[str, Any]:
        """What has arrived at the controller; before anything can have, the first reading."""
        past = line.past
        if len(past) == self.longest:
            return {name: past[back][own] for name, own, back in self.late}
        return {name: past[max(back, -len(past))][own] for name, own, back in self.late}


def _spread(sensor: Sensor, size: int, places: int) -> np.ndarray:
    """The standard deviation of each number, of a quaternion those of the vector that turns it."""
    if sensor.kind == "pose":
        return np.repeat(np.insert(sensor.noise, 2, 0.0), [3, 3, 1, 3, 3])
    if sensor.kind == "wrist":
        return np.repeat(sensor.noise, 3)
    if sensor.kind == "joints":
        return np.repeat(sensor.noise, [places, size - places])
    return np.full(size, sensor.noise[0])


def _bias(sensor: Sensor, size: int, places: int) -> np.ndarray:
    """Constant errors, of joints and poses in q and xyz."""
    bias, room = np.zeros(size), places if sensor.kind in ("joints", "pose") else size
    if sensor.bias is not None:
        if len(sensor.bias) != room:
            raise FileError(f"{sensor.where}, bias: {room} numbers were expected; it has {len(sensor.bias)}.")
        bias[:room] = sensor.bias
    if sensor.kind == "pose":
        bias[3:6] = sensor.turn_bias
    return bias


def _every(sensor: Sensor, period: float) -> int:
    if sensor.period is None:
        return 1
    every = round(sensor.period / period)
    if every < 1 or abs(sensor.period / period - every) > TOLERATED:
        raise FileError(
            f"{sensor.where}, period: a whole number of the controller's samples of {period:g} s was expected; it is "
            f"{sensor.period:g} s."
        )
    return every
