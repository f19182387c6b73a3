"""What a controller gets of true readings: with noise and constant errors, late, and as often as a sensor looks."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, cos, sin, sqrt
from typing import Any, NamedTuple

import numpy as np

from phistar.errors import FileError
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
        spread, self.bias = np.zeros(sensing.size), np.zeros(sensing.size)
        self.turns: list[tuple[int, float, tuple[float, ...] | None]] = []
        self.late: list[tuple[str, slice, int]] = []
        self.seldom: list[tuple[slice, int]] = []
        for sensor in sensing.sensors:
            own = sensing.slices[sensor.name]
            size, places = own.stop - own.start, sensing.coordinates.get(sensor.name, 3)
            spread[own], self.bias[own] = _spread(sensor, size, places), _bias(sensor, size, places)
            if sensor.kind == "pose":
                constant = _turn(*sensor.turn_bias.tolist()) if sensor.turn_bias.any() else None
                self.turns.append((own.start + 3, sensor.noise[1], constant))
            self.late.append((sensor.name, own, ceil(sensor.delay / period - TOLERATED)))
            every = _every(sensor, period)
            if every > 1:
                self.seldom.append((own, every))
        self.spread = spread if spread.any() or any(noise for _, noise, _ in self.turns) else None
        self.longest = 1 + max((late for _, _, late in self.late), default=0)
        self.pressed = (
            sensing.kinds["tactile"]
            if any(s.noise[0] or s.bias is not None for s in sensing.of_kind("tactile"))
            else None
        )

    def start(self, seed: np.random.SeedSequence) -> Line:
        return Line((), 0, np.random.default_rng(seed))

    def next(self, line: Line, truth: np.ndarray) -> tuple[Line, Mapping[str, Any]]:
        """The line after a sample, and what the controller gets: an array for each sensor, by name."""
        read = truth + self.bias
        noise = None
        if self.spread is not None:
            noise = line.generator.standard_normal(len(read))
            read += self.spread * noise
        for start, size, constant in self.turns:
            if size or constant:
                turn = read[start : start + 4].tolist()
                if constant:
                    turn = _product(constant, turn)
                if size and noise is not None:
                    turn = _product(_turn(*(size * noise[start : start + 3]).tolist()), turn)
                read[start : start + 4] = turn
        if self.pressed is not None:
            np.maximum(read[self.pressed], 0.0, out=read[self.pressed])
        for own, every in self.seldom:
            if line.count % every:
                read[own] = line.past[-1][own]
        read.flags.writeable = False
        past = (*line.past[1 - self.longest :], read) if self.longest > 1 else (read,)
        after = Line(past, line.count + 1, line.generator)
        return after, self.given(after)

    def given(self, line: Line) -> Mapping[str, Any]:
        """What has arrived at the controller."""
        past, last = line.past, len(line.past) - 1
        return {name: past[max(last - late, 0)][own] for name, own, late in self.late}


def _spread(sensor: Sensor, size: int, places: int) -> np.ndarray:
    """The standard deviation of each number; a quaternion is turned instead."""
    if sensor.kind == "pose":
        place, _, spin, rate = sensor.noise
        return np.repeat([place, 0.0, spin, rate], [3, 4, 3, 3])
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


def _turn(x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """The quaternion of a rotation vector."""
    angle = sqrt(x * x + y * y + z * z)
    part = sin(0.5 * angle) / angle if angle > 0.0 else 0.5
    return x * part, y * part, z * part, cos(0.5 * angle)


def _product(p: Any, q: Any) -> tuple[float, float, float, float]:
    """p ⊗ q."""
    (a, b, c, d), (x, y, z, w) = p, q
    return (
        d * x + w * a + b * z - c * y,
        d * y + w * b + c * x - a * z,
        d * z + w * c + a * y - b * x,
        d * w - a * x - b * y - c * z,
    )
