"""Sensor readings as a controller gets them: with noise and bias, delayed, at each sensor's rate."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from phistar.errors import PhistarError
from phistar.plant.measurements import chosen_rows
from phistar.plant.sensor_kinds import Sensor
from phistar.plant.session import Session
from phistar.sim.motion import Moment
from phistar.sim.sensing import Sensing

TOLERATED = 1e-6  # of a sample: how far a sensor's period may be from a whole number of them


class Line(NamedTuple):
    """Sensor memory between samples: `past` readings (N,), latest last; the number of samples so far; and the
    generator of their noise, where they have any."""

    past: tuple[np.ndarray, ...]
    count: int
    generator: np.random.Generator | None


class Readings:
    """The readings of a plant's sensors, sampled every `period` seconds: that of a controller, which a sensor's own
    must fit, or where nobody `asks` that of the rows that are kept."""

    def __init__(self, sensing: Sensing, period: float, asks: bool = True) -> None:
        self.sensing = sensing
        self.spread, self.bias, self._quiet = (np.zeros(sensing.size) for _ in range(3))
        self.late: list[tuple[str, Any, int]] = []  # which of the past is a sensor's reading, from the latest back
        self.seldom: list[tuple[slice, int]] = []
        for sensor in sensing.sensors:
            own = sensing.slices[sensor.name]
            size = own.stop - own.start
            self.spread[own], self.bias[own] = sensor.errors("noise", size), sensor.errors("bias", size)
            given = chosen_rows(sensor, np.arange(own.start, own.stop)) if sensor.rows else own
            self.late.append((sensor.name, given, -1 - max(ceil(sensor.delay / period - TOLERATED), 0)))
            every = _every(sensor, period, asks)
            if every > 1:
                self.seldom.append((own, every))
        self.noisy = bool(self.spread.any())
        self.longest = max((-back for _, _, back in self.late), default=1)

    def start(self, seed: np.random.SeedSequence) -> Line:
        return Line((), 0, np.random.default_rng(seed) if self.noisy else None)

    def next(self, line: Line, moment: Moment, session: Session, tau: np.ndarray) -> tuple[Line, Mapping[str, Any]]:
        """The line after a sample, and what the controller gets: an array for each sensor, by name; `session` stands
        where the moment does, and `tau` are the joint forces that led there."""
        noise = self._quiet
        if line.generator is not None:
            noise = line.generator.standard_normal(len(noise))
            noise *= self.spread
        read = self.sensing.read(moment, session, tau, self.bias, noise)
        for own, every in self.seldom:
            if line.count % every:
                read[own] = line.past[-1][own]
        read.flags.writeable = False
        past = (*line.past[1 - self.longest :], read) if self.longest > 1 else (read,)
        after = Line(past, line.count + 1, line.generator)
        return after, self.given(after)

    def given(self, line: Line) -> Mapping[str, Any]:
        """Readings that have arrived at the controller; until one can, the first."""
        past = line.past
        if len(past) == self.longest:
            return {name: past[back][own] for name, own, back in self.late}
        return {name: past[max(back, -len(past))][own] for name, own, back in self.late}


def _every(sensor: Sensor, period: float, asks: bool) -> int:
    """Number of samples between readings of a sensor; of one that reads more often, each sample gets the latest."""
    if sensor.rate is None or sensor.rate * period >= 1.0:
        return 1
    own = 1.0 / sensor.rate
    every = round(own / period)
    if asks and abs(own / period - every) > TOLERATED:
        raise PhistarError(
            f"The sensor '{sensor.name}' looks every {own:g} s; a whole number of the controller's samples of "
            f"{period:g} s was expected."
        )
    return every
