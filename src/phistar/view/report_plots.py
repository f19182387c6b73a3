"""Line plots and timelines as plain data, which templates/charts.html draws as SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from phistar.sim.trajectory import Phase

WIDTH, HEIGHT = 640, 230
LEFT, RIGHT, TOP, BOTTOM = 58, 10, 8, 26
POINTS = 600
Series = tuple[str, np.ndarray]
Scale = Callable[[float], float]


class Tick(NamedTuple):
    """A round number on an axis, and where it stands."""

    at: float
    label: str


class Band(NamedTuple):
    """A phase along the time axis; equal names have equal numbers, hence colours."""

    name: str
    number: int
    x: float
    width: float
    tip: str


class Line(NamedTuple):
    """A curve: its name, and its points as an SVG path."""

    name: str
    path: str


class Chart(NamedTuple):
    """Lines over time in a field from (left, top) to (right, bottom), phases as bands behind them."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    bands: tuple[Band, ...]
    across: tuple[Tick, ...]
    upward: tuple[Tick, ...]
    size: tuple[int, int] = (WIDTH, HEIGHT)
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


class Timeline(NamedTuple):
    """Phases as bands over time."""

    bands: tuple[Band, ...]
    ticks: tuple[Tick, ...]
    width: int = 2 * WIDTH


def chart(title: str, unit: str, t: np.ndarray, series: Sequence[Series], phases: Sequence[Phase] = ()) -> Chart | None:
    """A line for each series over time; None where there is nothing to draw."""
    kept = [(name, np.asarray(values, dtype=float)) for name, values in series]
    if not kept or len(t) < 2:
        return None
    begin, end = float(t[0]), float(t[-1])
    values = np.concatenate([each for _, each in kept])
    low, high = _range(values[np.isfinite(values)])
    x, y = _scale(begin, end, LEFT, WIDTH - RIGHT), _scale(low, high, HEIGHT - BOTTOM, TOP)
    return Chart(
        title,
        unit,
        tuple(Line(name, _path(x, y, t, each)) for name, each in kept),
        _bands(phases, x, end),
        tuple(Tick(round(x(tick), 1), _number(tick)) for tick in _ticks(begin, end, 8)),
        tuple(Tick(round(y(tick), 1), _number(tick)) for tick in _ticks(low, high, 4)),
    )


def timeline(phases: Sequence[Phase], end: float) -> Timeline | None:
    """Phases from 0 to the end; None where there are none."""
    if not phases or end <= 0:
        return None
    x = _scale(0.0, end, 0.0, 2 * WIDTH)
    ticks = tuple(Tick(round(x(tick), 1), f"{tick:g}") for tick in _ticks(0.0, end, 10))
    return Timeline(_bands(phases, x, end, 1.0), ticks)


def _bands(phases: Sequence[Phase], x: Scale, end: float, least: float = 0.0) -> tuple[Band, ...]:
    order = {name: k for k, name in enumerate(dict.fromkeys(phase.name for phase in phases))}
    return tuple(
        Band(
            phase.name,
            order[phase.name],
            round(x(phase.start), 1),
            round(max(x(min(phase.end, end)) - x(phase.start), least), 1),
            f"{phase.name}, {phase.start:.2f} to {phase.end:.2f} s: {phase.reason}",
        )
        for phase in phases
    )


def _range(values: np.ndarray) -> tuple[float, float]:
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if low >= 0.0 and low < 0.5 * high:
        low = 0.0
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size:  # a constant, but for rounding
        return (low - 0.1 * size, high + 0.1 * size) if size else (-1.0, 1.0)
    pad = 0.06 * (high - low)
    return (low if low == 0.0 else low - pad), high + pad


def _scale(low: float, high: float, begin: float, end: float) -> Scale:
    return lambda value: begin + (value - low) / (high - low or 1.0) * (end - begin)


def _ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers between low and high, some `about` of them."""
    rough = (high - low) / about
    size = 10.0 ** np.floor(np.log10(rough))
    step = next((size * k for k in (1, 2, 5, 10) if size * k >= rough), 10 * size)
    ticks = step * np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
    return np.where(np.abs(ticks) < 1e-9 * step, 0.0, ticks).tolist()


def _number(value: float) -> str:
    text = f"{value:.4g}"
    return text.replace("e-0", "e-").replace("e+0", "e").replace("-", "−")


def _path(x: Scale, y: Scale, t: np.ndarray, values: np.ndarray) -> str:
    """Broken where values are not finite; thinned so that the highest and lowest of each stretch stay."""
    path, pen = [], "M"
    for k in _thin(values):
        if not np.isfinite(values[k]):
            pen = "M"
            continue
        path.append(f"{pen}{x(float(t[k])):.1f} {y(float(values[k])):.1f}")
        pen = "L"
    return "".join(path)


def _thin(values: np.ndarray) -> np.ndarray:
    if len(values) <= POINTS:
        return np.arange(len(values))
    kept = [0, len(values) - 1]
    for stretch in np.array_split(np.arange(len(values)), POINTS // 2):
        part = np.where(np.isfinite(values[stretch]), values[stretch], 0.0)
        kept += [stretch[part.argmin()], stretch[part.argmax()]]
    return np.unique(kept)
