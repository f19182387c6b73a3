"""`phistar simulate`: a robot left to itself."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phistar.cli import info
from phistar.cli.arguments import Floating, Packages, Robot, SummaryAsJson, Without
from phistar.cli.model_tables import COORDINATES, number
from phistar.cli.progress import SimulationProgress
from phistar.cli.run_files import Written, check_folder, write_run
from phistar.errors import PhistarError

SHOWN = {
    "sim_time": "simulated, s",
    "wall_time": "computed in, s",
    "energy_change": "energy change, J",
    "energy_residual": "energy residual",
    "momentum_drift": "momentum drift",
    "loop_residual": "loops open by",
    "events": "events",
}


def simulate(
    robot: Robot,
    q: Annotated[
        str | None, typer.Option("--q", metavar="Q", help="Where it starts: every coordinate, or JOINT=VALUE,…")
    ] = None,
    v: Annotated[
        str | None, typer.Option("--v", metavar="V", help="Its rates at the start, in the same way; none is at rest.")
    ] = None,
    duration: Annotated[float, typer.Option("--duration", min=0.001, metavar="SECONDS", help="For how long.")] = 5.0,
    floating: Floating = False,
    packages: Packages = None,
    without: Without = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write summary.json, trajectory.h5, report.html, replay.html there."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="Write a page that simulates it: pause, drag a link, go on."),
    ] = None,
    as_json: SummaryAsJson = False,
) -> None:
    """Let a robot fall and swing under its weight, with friction in its joints and stops at their limits.

    It starts at rest in its neutral place, moved inside its limits, unless --q and --v say otherwise (rad, m, per s).

    \b
    Examples:
      phistar simulate puma560
      phistar simulate arm.urdf --q shoulder=0.5,elbow=-1.2 --duration 10 --out runs/swing
      phistar simulate puma560 --q 0,0.8,0,0,0.1,0 --page puma.html
    """
    from phistar.io import load
    from phistar.sim.trajectory import Stopped
    from phistar.sim.unattended import resting_place, simulate_unattended

    model = load(robot, floating=floating, packages=packages or [], without=without or [])
    check_folder(out)
    start = _numbers(model, q, resting_place(model), "q")
    rates, failed = _numbers(model, v, np.zeros(model.nv), "v"), None
    pages = [] if page is None else [_write_page(model, page, start, rates)]
    try:
        with SimulationProgress(model.name, duration) as tell:
            result = simulate_unattended(robot, start, rates, duration, floating, packages or [], tell, without or [])
    except Stopped as stopped:
        result, failed = stopped.result, str(stopped)
    files = Written([], True) if out is None else write_run(result, out)
    info.show(_page(result), result.summary if as_json else None)
    for line in () if as_json else [*files.lines, *pages]:
        typer.echo(line)
    if failed is not None:
        typer.echo(failed, err=True)
    if failed is not None or not files.as_wanted:
        raise typer.Exit(1)


def _write_page(model: Any, path: Path, q: np.ndarray, v: np.ndarray) -> str:
    from phistar.view.robot_page import simulating_page

    return f"wrote {simulating_page(model, path, q, v)}"


def _numbers(model: Any, given: str | None, start: np.ndarray, what: str) -> np.ndarray:
    """All of them, or those of some joints by name in the place of `start`'s."""
    if given is None:
        return start
    numbers, parts = start.copy(), [part.strip() for part in given.split(",") if part.strip()]
    if all("=" not in part for part in parts):
        if len(parts) != len(start):
            raise PhistarError(
                f"--{what} has {len(parts)} numbers; {model.name} has {len(start)}. Give all of them, or JOINT=VALUE,…"
            )
        return np.array([_number(part, what) for part in parts])
    for part in parts:
        name, _, value = part.partition("=")
        joint = model.joint(name.strip())
        place = joint.q_slice if what == "q" else joint.v_slice
        if place.stop - place.start != 1:
            raise PhistarError(
                f"--{what}: the joint {joint.name} has {place.stop - place.start} coordinates; give all {len(start)} "
                f"numbers of {model.name} instead."
            )
        numbers[place] = _number(value, what)
    return numbers


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise PhistarError(f"--{what}: {text.strip()!r:.50} is no number; give numbers, or JOINT=VALUE,…")
    return value


def _page(result: Any) -> RenderableType:
    parts: list[RenderableType] = [_joints(result), _audit(result.summary)]
    if result.model.loops:
        parts.append(
            Text(
                "It has loops: they are closed after each step; stops at its limits give way a little.", style="yellow"
            )
        )
    return Group(*parts)


def _joints(result: Any) -> RenderableType:
    """Table of the joints: start, travel, end and largest rate."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, header_style="dim")
    table.add_column("joint")
    for heading in ("start", "least", "most", "end", "fastest"):
        table.add_column(heading, justify="right")
    q, v = result.arrays["q"], result.arrays["v"]
    for joint in result.model.joints:
        name = joint.name.removeprefix(f"{result.name}/")
        units = COORDINATES.get(type(joint.kind).__name__.lower()) or [""] * joint.nq
        for i in range(joint.nq):
            own, turns = q[:, joint.q_slice.start + i], units[i] == "°"
            rate = np.max(np.abs(v[:, joint.v_slice.start + i])) if joint.nq == joint.nv else None
            shown = [own[0], own.min(), own.max(), own[-1], *([] if rate is None else [rate])]
            cells = [number(round(math.degrees(x), 2) if turns else round(float(x), 6)) + units[i] for x in shown]
            cells += [] if rate is None else [cells.pop() + "/s"]
            table.add_row(Text(name if joint.nq == 1 else f"{name} {i}"), *cells)
    return table


def _audit(summary: Mapping[str, Any]) -> RenderableType:
    table = Table(show_header=False, box=None)
    for name, heading in SHOWN.items():
        if summary.get(name) is not None:
            table.add_row(heading, number(float(summary[name])))
    return table
