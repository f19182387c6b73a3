"""Random numbers in a scene file: where a number stands, a table can say what it is drawn from.

mass = {uniform = [20, 200]}       any number between the two
x = {normal = [0.0, 0.01]}         mean and standard deviation
v = {vector = [0.0, 0.09]}         a vector of random direction, its length between the two
rpy = {turn = true}                roll, pitch and yaw of a rotation drawn evenly
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.errors import FileError

_KINDS = ("uniform", "normal", "vector", "turn")


def drawn(content: Any, rng: np.random.Generator, where: str) -> Any:
    """The content with every random number drawn, in the order of the file."""
    if isinstance(content, dict):
        kind = next(iter(content)) if len(content) == 1 else None
        if kind in _KINDS:
            return _number(kind, content[kind], rng, where)
        return {key: drawn(value, rng, f"{where}, {key}") for key, value in content.items()}
    if isinstance(content, list):
        return [drawn(value, rng, where) for value in content]
    return content


def _number(kind: str, value: Any, rng: np.random.Generator, where: str) -> Any:
    if kind == "turn":
        if value is not True:
            raise FileError(f"{where}: write {{turn = true}} for a random rotation; it is {{turn = {value!r:.50}}}.")
        return _angles(rng)
    pair = isinstance(value, list) and len(value) == 2 and all(_is_number(x) for x in value)
    if not pair or (kind != "normal" and value[0] > value[1]) or (kind == "normal" and value[1] < 0):
        expected = "mean and standard deviation" if kind == "normal" else "two numbers, the smaller first"
        raise FileError(f"{where}: {kind} takes {expected}; it is {value!r:.100}.")
    if kind == "uniform":
        return float(rng.uniform(*value))
    if kind == "normal":
        return float(rng.normal(*value))
    way = rng.normal(size=3)
    return (way / np.linalg.norm(way) * rng.uniform(*value)).tolist()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _angles(rng: np.random.Generator) -> list[float]:
    """Roll, pitch and yaw of a rotation drawn evenly: pitch by its sine."""
    roll, yaw = rng.uniform(-np.pi, np.pi, size=2)
    return [float(roll), float(np.arcsin(rng.uniform(-1.0, 1.0))), float(yaw)]
