"""Line plots as SVG, small and without scripts; colours come from the page's style, to suit light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from phistar.sim.trajectory import Phase

WIDTH, HEIGHT = 640, 230
LEFT, RIGHT, TOP, BOTTOM = 58, 10, 8, 26
POINTS = 600
Series = tuple[str, np.ndarray]


def chart(title: str, unit: str, t: np.ndarray, series: Sequence[Series], phases: Sequence[Phase] = ()) -> str:
    """A figure with a line for each series over time, phases as bands behind them."""
    kept = [(name, np.asarray(values, dtype=float)) for name, values in series]
    if not kept or len(t) < 2:
        return ""
    values = np.concatenate([each for _, each in kept])
    values = values[np.isfinite(values)]
    low, high = _range(values)
    x = _scale(float(t[0]), float(t[-1]), LEFT, WIDTH - RIGHT)
    y = _scale(low, high, HEIGHT - BOTTOM, TOP)
    parts = [*_bands(phases, x, float(t[-1])), *_grid(float(t[0]), float(t[-1]), low, high, x, y)]
    parts += [_line(x, y, t, each, k, name) for k, (name, each) in enumerate(kept)]
    names = "".join(f'<span class="key k{k % 8}">{escape(name)}</span>' for k, (name, _) in enumerate(kept))
    legend = f"<div>{names}</div>" if len(kept) > 1 else ""
    return (
        f'<figure class="plot"><figcaption><b>{escape(title)}</b> <i>{escape(unit)}</i>{legend}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg></figure>'
    )


def timeline(phases: Sequence[Phase], end: float) -> str:
    """Phases as bands over time, their names in them where there is room."""
    if not phases or end <= 0:
        return ""
    x, parts = _scale(0.0, end, 0.0, 2 * WIDTH), []
    order = _numbers(phases)
    for phase in phases:
        begin, width = x(phase.start), max(x(phase.end) - x(phase.start), 1.0)
        tip = f"{phase.name}, {phase.start:.2f} to {phase.end:.2f} s: {phase.reason}"
        parts.append(
            f'<g><title>{escape(tip)}</title><rect class="b{order[phase.name] % 8} solid" x="{begin:.1f}" y="0" '
            f'width="{width:.1f}" height="30" rx="3"/>'
        )
        if width > 8 * len(phase.name) + 8:
            parts.append(f'<text x="{begin + width / 2:.1f}" y="19" text-anchor="middle">{escape(phase.name)}</text>')
        parts.append("</g>")
    for tick in _ticks(0.0, end, 10):
        parts.append(
            f'<text class="tick" x="{x(tick):.1f}" y="46" text-anchor="{_anchor(tick, end)}">{tick:g} s</text>'
        )
    return f'<svg class="timeline" viewBox="0 0 {2 * WIDTH} 50" role="img" aria-label="phases">{"".join(parts)}</svg>'


def _anchor(tick: float, end: float) -> str:
    return "start" if tick == 0 else "end" if tick > 0.97 * end else "middle"


def _numbers(phases: Sequence[Phase]) -> dict[str, int]:
    return {name: k for k, name in enumerate(dict.fromkeys(phase.name for phase in phases))}


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


def _scale(low: float, high: float, begin: float, end: float):
    return lambda value: begin + (value - low) / (high - low or 1.0) * (end - begin)


def _ticks(low: float, high: float, about: int) -> np.ndarray:
    """Round numbers between low and high, some `about` of them."""
    rough = (high - low) / about
    size = 10.0 ** np.floor(np.log10(rough))
    step = next((size * k for k in (1, 2, 5, 10) if size * k >= rough), 10 * size)
    ticks = step * np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
    return np.where(np.abs(ticks) < 1e-9 * step, 0.0, ticks)


def _grid(begin: float, end: float, low: float, high: float, x, y) -> list[str]:
    parts = []
    for tick in _ticks(low, high, 4):
        place = y(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {place:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{place + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    for tick in _ticks(begin, end, 8):
        parts.append(
            f'<text class="tick" x="{x(tick):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{_number(tick)}</text>'
        )
    parts.append(f'<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    return parts


def _number(value: float) -> str:
    text = f"{value:.4g}"
    return text.replace("e-0", "e-").replace("e+0", "e").replace("-", "−")


def _bands(phases: Sequence[Phase], x, end: float) -> list[str]:
    order = _numbers(phases)
    return [
        f'<rect class="b{order[phase.name] % 8}" x="{x(phase.start):.1f}" y="{TOP}" '
        f'width="{max(x(min(phase.end, end)) - x(phase.start), 0):.1f}" height="{HEIGHT - TOP - BOTTOM}">'
        f"<title>{escape(phase.name)}</title></rect>"
        for phase in phases
    ]


def _line(x, y, t: np.ndarray, values: np.ndarray, number: int, name: str) -> str:
    """Broken where values are not finite; thinned so that the highest and lowest of each stretch stay."""
    path, pen = [], "M"
    for k in _thin(values):
        if not np.isfinite(values[k]):
            pen = "M"
            continue
        path.append(f"{pen}{x(t[k]):.1f} {y(values[k]):.1f}")
        pen = "L"
    return f'<path class="line k{number % 8}" d="{"".join(path)}"><title>{escape(name)}</title></path>'


def _thin(values: np.ndarray) -> np.ndarray:
    if len(values) <= POINTS:
        return np.arange(len(values))
    kept = [0, len(values) - 1]
    for stretch in np.array_split(np.arange(len(values)), POINTS // 2):
        part = np.where(np.isfinite(values[stretch]), values[stretch], 0.0)
        kept += [stretch[part.argmin()], stretch[part.argmax()]]
    return np.unique(kept)
