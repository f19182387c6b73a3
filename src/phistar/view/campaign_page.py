"""campaign.html: what came of a campaign, where its runs fail, which numbers tell of it, and how to run one again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from phistar.sim.campaign.campaign import summary_of
from phistar.sim.campaign.perform import GOOD
from phistar.sim.campaign.store import read_rows
from phistar.sim.scenes.run_folder import whole
from phistar.view.page_templates import render

PAGE = "campaign.html"
MAPPED = 3  # numbers, of which every two have a map
FIELDS_ACROSS = 8
RUNS_PER_FIELD = 6  # wanted on average: fewer say little of a share
TELLING = 12
LEFT, RIGHT, TOP, BOTTOM = 58.0, 296.0, 4.0, 220.0  # of a map's picture
NEVER, ALWAYS = np.array([179.0, 54.0, 43.0]), np.array([35.0, 118.0, 74.0])  # colours of shares 0 and 1
TILES = (("peak_force", "greatest contact force, N", "max"), ("sim_time", "median time simulated, s", "median"))
Row = Mapping[str, Any]


def write(folder: str | os.PathLike[str]) -> Path:
    """Write campaign.html into the folder of a campaign, finished or stopped."""
    text = render(PAGE, content(Path(folder)))
    return whole(Path(folder) / PAGE, lambda path: path.write_text(text, "utf-8"))


def content(folder: Path) -> dict[str, Any]:
    """Return the content of the page as plain data."""
    summary = summary_of(folder)
    rows = [row for _, row in sorted(read_rows(folder).items())]
    share = summary["reached"] or summary["completed"]
    told = [each | {"name": each["parameter"].partition(".")[2]} for each in summary["sensitivity"]]
    return {
        "summary": summary,
        "share": share,
        "word": "reached" if summary["reached"] else "completed",
        "tiles": _tiles(summary),
        "cells": _cells(summary["cells"]),
        "maps": [good_map(rows, *pair) for pair in _pairs(told, rows)],
        "sensitivity": [each for each in told if each["failures"] or each["score"]][:TELLING],
        "failures": [failure | {"command": _again(summary, failure, folder)} for failure in summary["failures"]],
        "numbers": [(n, at) for n, at in summary["numbers"].items() if not n.startswith(("drawn.", "varied."))],
    }


def good_map(rows: Sequence[Row], across: str, upward: str) -> dict[str, Any]:
    """A map of the share of good runs over two numbers, in fields that hold about equally many runs each way."""
    x, y = (np.array([float(row[name]) for row in rows]) for name in (across, upward))
    good = np.array([row["outcome"] in GOOD for row in rows])
    count = int(np.clip(np.sqrt(len(rows) / RUNS_PER_FIELD), 1, FIELDS_ACROSS))
    columns, lines = _edges(x, count), _edges(y, count)
    fields = []
    for i, j in np.ndindex(len(columns) - 1, len(lines) - 1):
        inside = _between(x, columns, i) & _between(y, lines, j)
        if inside.any():
            fields.append(_field(good[inside], (i, j), (len(columns) - 1, len(lines) - 1)))
    ends = {"left": columns[0], "right": columns[-1], "low": lines[0], "high": lines[-1]}
    names = {"across": across.partition(".")[2], "upward": upward.partition(".")[2]}
    return names | {"fields": fields} | {name: f"{value:.3g}" for name, value in ends.items()}


def _field(good: np.ndarray, at: tuple[int, int], size: tuple[int, int]) -> dict[str, Any]:
    width, height = (RIGHT - LEFT) / size[0], (BOTTOM - TOP) / size[1]
    share = good.mean()
    red, green, blue = (NEVER + (ALWAYS - NEVER) * share).astype(int)
    return {
        "x": round(LEFT + at[0] * width, 2),
        "y": round(BOTTOM - (at[1] + 1) * height, 2),
        "width": round(width - 1.0, 2),
        "height": round(height - 1.0, 2),
        "color": f"#{red:02x}{green:02x}{blue:02x}",
        "label": f"{good.sum()}/{len(good)}",
        "told": f"{good.sum()} of {len(good)} good, {share:.0%}",
    }


def _edges(values: np.ndarray, count: int) -> np.ndarray:
    """Quantiles of the values: fields then hold as many runs, wherever a search went. Few different values have a field
    each."""
    different = np.unique(values)
    if len(different) <= FIELDS_ACROSS:
        middles = (different[1:] + different[:-1]) / 2.0
        return np.concatenate([different[:1], middles, different[-1:]])
    return np.unique(np.quantile(values, np.linspace(0.0, 1.0, count + 1)))


def _between(values: np.ndarray, edges: np.ndarray, number: int) -> np.ndarray:
    last = number == len(edges) - 2
    return (values >= edges[number]) & ((values <= edges[-1]) if last else (values < edges[number + 1]))


def _pairs(told: Sequence[Row], rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Pairs of the most telling numbers that every run has."""
    known = [each["parameter"] for each in told if all(_is_number(row.get(each["parameter"])) for row in rows)]
    return list(combinations(known[:MAPPED], 2)) if len(rows) >= RUNS_PER_FIELD else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tiles(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    numbers, factor = summary["numbers"], summary["real_time_factor"]
    found = [{"name": name, "value": f"{numbers[key][at]:.4g}"} for key, name, at in TILES if key in numbers]
    return found + ([{"name": "times real time on a core", "value": f"{factor:.3g}"}] if factor else [])


def _cells(cells: Sequence[Row]) -> dict[str, Any] | None:
    if not cells:
        return None
    names = [name for name in cells[0] if name != "good"]
    return {"names": names, "rows": [{"varied": [c[name] for name in names], "good": c["good"]} for c in cells]}


def _again(summary: Mapping[str, Any], failure: Row, folder: Path) -> str:
    """The command that does the first run of a group of failures again."""
    example = failure["example"]
    kept = folder / "kept" / f"{example['run']:06d}" / "scene.toml"
    scene = kept.relative_to(folder) if kept.is_file() else summary["scene"]
    return f"phistar run {scene} --seed {example['seed']}"
