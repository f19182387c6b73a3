"""report.html: the run, pictures of it, its phases and events, its audits, and the command to repeat it; one file."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from phistar.sim.scenes.run_folder import whole
from phistar.sim.scenes.source import bundled_scenes
from phistar.sim.trajectory import Trajectory
from phistar.view.report_deflections import deflections
from phistar.view.report_parts import audits, frames, plots
from phistar.view.report_plots import timeline
from phistar.view.report_run import load_motion
from phistar.view.report_style import STYLE

TILES = (
    ("sim_time", "simulated", "{:.4g} s"),
    ("wall_time", "computed in", "{:.3g} s"),
    ("min_distance", "smallest distance", "{:.3g} mm"),
    ("peak_force", "largest contact force", "{:.4g} N"),
    ("internal_force", "internal force", "{:.4g} N"),
    ("momentum_drift", "momentum unexplained", "{:.2g}"),
    ("energy_residual", "energy unexplained", "{:.2g}"),
)
SCALES = {"min_distance": 1e3}
MOST_EVENTS = 300


def write(source: Trajectory | str | os.PathLike[str], path: str | os.PathLike[str]) -> Path:
    """Write the report of a trajectory, or of a folder that `phistar run --out` left, in one file."""
    text = page(load_motion(source))
    return whole(Path(path), lambda place: place.write_text(text, "utf-8"))


def page(run: Trajectory) -> str:
    """The whole page; nothing in it is fetched from anywhere."""
    parts = [
        _head(run),
        frames(run),
        deflections(run),
        _phases(run),
        plots(run),
        audits(run),
        _events(run),
        _again(run),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">"
        f"<title>{escape(run.name)}, seed {escape(str(run.summary.get('seed')))}</title><style>{STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _head(run: Trajectory) -> str:
    summary = run.summary
    words, good = _verdict(summary)
    tiles = "".join(
        f'<div class="tile"><b>{form.format(summary[key] * SCALES.get(key, 1))}</b><span>{name}</span></div>'
        for key, name, form in TILES
        if isinstance(summary.get(key), int | float)
    )
    count = len(run.arrays.get("t", ()))
    what = f"seed {summary.get('seed')}, {len(run.model.joints)} joints, {count} samples"
    reason = f'<p class="bad">{escape(str(summary["reason"]))}</p>' if summary.get("reason") else ""
    return (
        f'<header><div><h1>{escape(run.name)}</h1><p class="soft">{escape(what)}</p></div>'
        f'<div class="verdict {"good" if good else "bad"}">{escape(words)}</div></header>'
        f'{reason}<div class="tiles">{tiles}</div>'
    )


def _verdict(summary: Mapping[str, Any]) -> tuple[str, bool]:
    if summary.get("reason"):
        return "stopped", False
    if summary.get("reached") is not None:
        return str(summary.get("outcome")), bool(summary["reached"])
    return "completed", True


def _phases(run: Trajectory) -> str:
    if not run.phases:
        return ""
    end = max(float(run.summary.get("sim_time") or 0.0), run.phases[-1].end)
    rows = "".join(
        f'<tr><td class="n">{phase.start:.3f} s</td><td>{escape(phase.name)}</td>'
        f'<td class="n">{phase.end - phase.start:.3f} s</td><td>{escape(phase.reason)}</td></tr>'
        for phase in run.phases
    )
    head = "<tr><th>from</th><th>phase</th><th>for</th><th>why</th></tr>"
    return f"<h2>Phases</h2>{timeline(run.phases, end)}<table>{head}{rows}</table>"


def _events(run: Trajectory) -> str:
    if not run.events:
        return ""
    rows = "".join(
        f'<tr><td class="n">{time:.4f} s</td><td>{escape(what)}</td><td>{escape(where)}</td></tr>'
        for time, what, where in run.events[:MOST_EVENTS]
    )
    left = len(run.events) - MOST_EVENTS
    more = f'<p class="soft">{left} more are in trajectory.h5.</p>' if left > 0 else ""
    return (
        f"<h2>Events</h2><details><summary>{len(run.events)} events: touches, releases, slips, limits</summary>"
        f"<table>{rows}</table>{more}</details>"
    )


def _again(run: Trajectory) -> str:
    """The command and the versions; the same seed gives the same run."""
    try:
        own = version("phistar")
    except PackageNotFoundError:
        own = "?"
    scene = run.name if run.name in bundled_scenes() else "scene.toml"  # kept beside the report
    command = f"phistar run {scene} --seed {run.summary.get('seed')} --out DIR"
    read = "import phistar as ps\n\n" + f"result = ps.Scene.load({scene!r}).run(seed={run.summary.get('seed')})"
    made = f"phistar {own}, Python {platform.python_version()}, numpy {version('numpy')}, {platform.machine()}"
    return (
        f"<h2>Run it again</h2><pre>{escape(command)}</pre><pre>{escape(read)}</pre>"
        f'<p class="soft">{escape(made)}. The same seed gives the same run. summary.json and trajectory.h5 beside this '
        "file hold the numbers.</p>"
    )
