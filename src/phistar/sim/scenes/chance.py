"""Random numbers in a scene file: where a number stands, a table can say what it is drawn from.

mass = {uniform = [20, 200]}       any number between the two
x = {normal = [0.0, 0.01]}         mean and standard deviation
v = {vector = [0.0, 0.09]}         a vector of random direction, its length between the two
rpy = {turn = true}                roll, pitch and yaw of a rotation drawn evenly
rpy = {turn = [0.0, 0.35]}         … of a turn about a random axis, its angle between the two
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from phistar.errors import FileError
from phistar.spatial import exp


class Draws(Protocol):
    """Source of random numbers: a NumPy generator, or whatever stands in for one."""

    def uniform(self, low: float, high: float, /, size: int | None = None) -> Any: ...

    def normal(self, mean: float = 0.0, deviation: float = 1.0, /, size: int | None = None) -> Any: ...


KINDS = ("uniform", "normal", "vector", "turn")
LARGEST = 1e40  # as in models


def draw(content: Any, rng: Draws, where: str) -> Any:
    """The content with every random number drawn, in the order of the file."""
    if isinstance(content, dict):
        if is_drawn(content):
            ((kind, value),) = content.items()
            return _number(kind, value, rng, where)
        return {key: draw(value, rng, f"{where}, {key}") for key, value in content.items()}
    if isinstance(content, list):
        return [draw(value, rng, where) for value in content]
    if isinstance(content, int) and abs(content) > LARGEST:
        raise FileError(f"{where}: numbers are below {LARGEST:g}; one has {content.bit_length()} bits.")
    return content


def is_drawn(content: Any) -> bool:
    """Whether a table stands for a random number."""
    return isinstance(content, Mapping) and len(content) == 1 and next(iter(content)) in KINDS


def _number(kind: str, value: Any, rng: Draws, where: str) -> Any:
    if kind == "turn" and value is True:
        return _angles(rng)
    pair = isinstance(value, list) and len(value) == 2 and all(_is_number(x) for x in value)
    if not pair or (kind != "normal" and value[0] > value[1]) or (kind == "normal" and value[1] < 0):
        expected = "mean and standard deviation" if kind == "normal" else "two numbers, the smaller first"
        expected = f"true, or {expected}" if kind == "turn" else expected
        raise FileError(f"{where}: {kind} takes {expected}; it is {value!r:.100}.")
    value = [each + 0.0 for each in value]  # −0 below 0 is a range that NumPy refuses
    if kind == "uniform":
        return float(rng.uniform(*value))
    if kind == "normal":
        return float(rng.normal(*value))
    way = rng.normal(size=3)
    vector = way / np.linalg.norm(way) * rng.uniform(*value)
    return _angles_of(exp(vector)) if kind == "turn" else vector.tolist()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def _angles(rng: Draws) -> list[float]:
    """Roll, pitch and yaw of a rotation drawn evenly: pitch by its sine."""
    roll, yaw = rng.uniform(-np.pi, np.pi, size=2)
    return [float(roll), float(np.arcsin(rng.uniform(-1.0, 1.0))), float(yaw)]


def _angles_of(turn: np.ndarray) -> list[float]:
    """Roll, pitch and yaw of a rotation, Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = np.arctan2(-turn[2, 0], np.hypot(turn[0, 0], turn[1, 0]))
    return [float(np.arctan2(turn[2, 1], turn[2, 2])), float(pitch), float(np.arctan2(turn[1, 0], turn[0, 0]))]
