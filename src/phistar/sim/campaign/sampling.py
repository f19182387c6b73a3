"""Sampling: the place of a campaign's runs among all that a scene can draw.

A scene's random numbers are a map from the unit cube: every one of them is the inverse distribution function of one or
more coordinates. A Latin hypercube spreads the runs evenly over the range of each number, and a search moves them to
where the scene does worst.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from phistar.sim.campaign.run_rows import Row
from phistar.sim.scenes.chance import draw
from phistar.sim.scenes.scene import Scene
from phistar.sim.scenes.toml import text_of

Point = tuple[float, ...]
GENERATION = 20  # runs of a search that are chosen together, so that they can be done side by side
EXPLORING = 0.25  # share of a generation that is spread over the whole cube: what was never looked at may be worse
ELITE = 6  # worst runs so far, around which the next are chosen
NARROWEST = 0.03  # standard deviation around them, of a cube's edge
EDGE = 2.0**-53  # the inverse distribution function of a normal number is infinite at 0 and 1


class Case(NamedTuple):
    """A run to be done, and its point of the unit cube; None where it draws from its seed."""

    run: int
    point: Point | None = None


class UnitPoint:
    """Draws that are taken from the coordinates of a point, one after the other, in place of a random generator's."""

    def __init__(self, point: Sequence[float] | None) -> None:
        self.point, self.used = point, 0

    def uniform(self, low: float = 0.0, high: float = 1.0, /, size: int | None = None) -> Any:
        return low + (high - low) * self._coordinates(size)

    def normal(self, mean: float = 0.0, deviation: float = 1.0, /, size: int | None = None) -> Any:
        return mean + deviation * ndtri(np.clip(self._coordinates(size), EDGE, 1.0 - EDGE))

    def _coordinates(self, size: int | None) -> Any:
        count = 1 if size is None else size
        begin, self.used = self.used, self.used + count
        taken = np.full(count, 0.7) if self.point is None else np.array(self.point[begin : self.used])
        return taken[0] if size is None else taken


def dimension(scene: Scene) -> int:
    """Return how many coordinates a draw of the scene takes."""
    counter = UnitPoint(None)
    draw(dict(scene.content), counter, scene.where)
    return counter.used


def at_point(scene: Scene, point: Point) -> Scene:
    """Return the scene with every random number fixed to its value at a point of the unit cube."""
    return with_content(scene, draw(dict(scene.content), UnitPoint(point), scene.where))


def with_content(scene: Scene, content: Mapping[str, Any]) -> Scene:
    """Return a scene of the same name and folder with other content, whose text says all of it."""
    content = {"name": scene.name, **content}
    text = f"# {scene.name!s:.100}, written out\n{text_of(content)}"
    return replace(scene, content=content, text=text, _last={})


def latin_hypercube(scene: Scene, count: int, seed: int) -> list[Point]:
    """Return points of which every one of `count` equal intervals of every coordinate holds exactly one."""
    return _spread_evenly(dimension(scene), count, np.random.SeedSequence(seed))


def next_generation(scene: Scene, seed: int, number: int, done: Sequence[tuple[Point, float]]) -> list[Point]:
    """Return the points of a search's generation `number`: most around the worst of `done`, the others anywhere.

    `done` has the points and scores of all runs so far, the higher the worse (a cross-entropy search that keeps
    several centres; Rubinstein and Kroese 2004, §4).
    """
    child = np.random.SeedSequence(seed, spawn_key=(number,))
    size = dimension(scene)
    if not done or not size:
        return _spread_evenly(size, GENERATION, child)
    rng = np.random.default_rng(child)
    anywhere = math.ceil(EXPLORING * GENERATION)
    ordered = sorted(done, key=lambda each: -each[1])
    elite = np.array([point for point, _ in ordered[:ELITE]])
    width = np.maximum(elite.std(axis=0), NARROWEST)
    centres = elite[rng.integers(len(elite), size=GENERATION - anywhere)]
    near = _reflect(centres + width * rng.normal(size=centres.shape))
    return [*map(tuple, near.tolist()), *_spread_evenly(size, anywhere, child.spawn(1)[0])]


def badness(row: Row, score: str, good: Sequence[str]) -> float:
    """Return how bad a run is for a search: its score, above every other where it failed, −∞ where it never began."""
    if row["outcome"] == "refused":
        return -math.inf
    sign, name = (-1.0, score[1:]) if score.startswith("-") else (1.0, score)
    value = row.get(name)
    number = sign * float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0
    # Bounded and increasing, so that failures rank above all good runs and among themselves by their score.
    squeezed = number / (1.0 + abs(number))
    return squeezed if row["outcome"] in good else 3.0 + squeezed


def grid(vary: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values given for places of a scene; one empty cell where nothing is varied."""
    cells: list[dict[str, Any]] = [{}]
    for place, values in vary.items():
        cells = [cell | {place: value} for cell in cells for value in values]
    return cells


def plain(values: Mapping[str, Any]) -> str:
    """Return varied values as text that compares equal exactly when they are."""
    return json.dumps(values, sort_keys=True)


def _spread_evenly(size: int, count: int, seed: np.random.SeedSequence) -> list[Point]:
    if not size:
        return [()] * count
    made = qmc.LatinHypercube(size, rng=np.random.default_rng(seed)).random(count)
    return list(map(tuple, made.tolist()))


def _reflect(points: np.ndarray) -> np.ndarray:
    """Fold points back into the unit cube at its faces."""
    folded = np.mod(points, 2.0)
    return np.where(folded > 1.0, 2.0 - folded, folded)
