"""report.html: the run, pictures of it, its phases and events, its audits, and the command to repeat it; one file."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from phistar.sim.scenes.run_folder import whole
from phistar.sim.scenes.source import bundled_scenes
from phistar.sim.trajectory import Trajectory
from phistar.view.page_templates import render
from phistar.view.report_deflections import deflections
from phistar.view.report_parts import audits, frames, plots
from phistar.view.report_plots import timeline
from phistar.view.report_run import load_motion

PAGE = "report.html"
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
    return render(PAGE, content(run))


def content(run: Trajectory) -> dict[str, Any]:
    """Return the content of the page as plain data."""
    summary = run.summary
    words, good = _verdict(summary)
    end = max([float(summary.get("sim_time") or 0.0), *(phase.end for phase in run.phases[-1:])])
    return {
        "name": run.name,
        "seed": summary.get("seed"),
        "joints": len(run.model.joints),
        "samples": len(run.arrays.get("t", ())),
        "verdict": {"words": words, "good": good},
        "reason": summary.get("reason"),
        "tiles": _tiles(summary),
        "frames": frames(run),
        "deflection": deflections(run),
        "phases": run.phases,
        "phase_line": timeline(run.phases, end),
        "plots": plots(run),
        "audits": audits(run),
        "events": run.events[:MOST_EVENTS],
        "event_count": len(run.events),
        "scene": _scene(run),
        "versions": _versions(),
    }


def _tiles(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    return [
        {"name": name, "value": form.format(summary[key] * SCALES.get(key, 1))}
        for key, name, form in TILES
        if isinstance(summary.get(key), int | float)
    ]


def _verdict(summary: Mapping[str, Any]) -> tuple[str, bool]:
    if summary.get("reason"):
        return "stopped", False
    if summary.get("reached") is not None:
        return str(summary.get("outcome")), bool(summary["reached"])
    return "completed", True


def _scene(run: Trajectory) -> str | None:
    """The scene that gives the run again: one that comes along, or the file beside the report."""
    if "scene" not in run.summary:
        return None
    return run.name if run.name in bundled_scenes() else "scene.toml"


def _versions() -> str:
    try:
        own = version("phistar")
    except PackageNotFoundError:
        own = "?"
    return f"phistar {own}, Python {platform.python_version()}, numpy {version('numpy')}, {platform.machine()}"
