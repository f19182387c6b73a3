"""A run as one row of numbers and texts: what came out (its summary, flat) and what was drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from phistar.sim.scenes.chance import Draws, draw, is_drawn
from phistar.sim.scenes.scene import Scene
from phistar.spatial import Pose, log

Row = dict[str, Any]
LONGEST = 16  # numbers of a list that become columns
TIMED = ("wall_time", "core_time", "real_time_factor")  # all that differs when a run is done again


def of_summary(summary: Mapping[str, Any], core_time: float) -> Row:
    """The scalars of a summary; a list of numbers has a column for each, phases the time spent in each of them. With
    the seconds of a core that the run took, which other work on the machine does not make longer."""
    row: Row = {}
    for name, value in summary.items():
        if name == "phases" and isinstance(value, list | tuple):
            row |= _of_phases(value)
        elif name not in ("scene", "seed"):
            row |= dict(_flat(name, value))
    simulated = row.get("sim_time")
    return row | {
        "core_time": core_time,
        "real_time_factor": simulated / core_time if simulated and core_time else None,
    }


def of_chance(scene: Scene, source: Draws) -> Row:
    """Every number that the scene draws from a source, by the place where it stands: drawn.parts.ball.xyz.2. Vectors
    and turns have their length and angle beside them, which say more than their components."""
    made = draw(dict(scene.content), source, scene.where)
    return dict(_drawn_numbers("drawn", scene.content, made))


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(f"{name}.{key}", each)
    elif isinstance(value, list | tuple):
        if len(value) <= LONGEST and all(isinstance(each, int | float) for each in value):
            yield from ((f"{name}.{i}", each) for i, each in enumerate(value))
    else:
        yield name, value.item() if isinstance(value, np.generic) else value


def _of_phases(phases: Any) -> Row:
    """Seconds in each phase, how often phases changed, the last one and why it came."""
    row: Row = {"switches": max(len(phases) - 1, 0)}
    for phase in phases:
        key = f"phase.{phase['name']}"
        row[key] = row.get(key, 0.0) + float(phase["end"]) - float(phase["start"])
    if phases:
        row |= {"last_phase": phases[-1]["name"], "last_reason": phases[-1].get("reason")}
    return row


def _drawn_numbers(name: str, content: Any, made: Any) -> Iterator[tuple[str, float]]:
    if isinstance(content, Mapping):
        if is_drawn(content):
            yield from _flat(name, made)
            yield from _size(name, next(iter(content)), made)
            return
        for key, value in content.items():
            yield from _drawn_numbers(f"{name}.{key}", value, made[key])
    elif isinstance(content, list):
        for number, (value, each) in enumerate(zip(content, made)):
            own = value.get("name") if isinstance(value, Mapping) else None
            yield from _drawn_numbers(f"{name}.{own if isinstance(own, str) else number}", value, each)


def _size(name: str, kind: str, made: Any) -> Iterator[tuple[str, float]]:
    if kind == "vector":
        yield f"{name}.length", float(np.linalg.norm(made))
    elif kind == "turn":
        yield f"{name}.angle", float(np.linalg.norm(log(Pose(rpy=made).rotation)))
