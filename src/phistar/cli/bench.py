"""`phistar bench`: this machine, ours and the peers in one run, as ratios."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from phistar.cli import info
from phistar.errors import FileError

if TYPE_CHECKING:
    from phistar.cli.benchmark.benchmark_plan import Plan

STDOUT = "-"


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer robots and shorter runs: under a minute.")] = False,
    robots: Annotated[
        list[str] | None,
        typer.Option("--robot", metavar="NAME", help="Only this robot, one of the list or a file; may be repeated."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, max=60.0, help="Time for each comparison (0.8; quick 0.2).")
    ] = None,
    as_json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON; - prints it instead.")
    ] = None,
    calls: Annotated[
        bool, typer.Option("--calls", help="Only single calls: every public function, one state at a time.")
    ] = False,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw the ratios into an SVG.")] = None,
) -> None:
    """Time phistar against Pinocchio and MuJoCo, in turn, on this machine, one thread against one thread.

    \b
    Examples:
      phistar bench --quick
      phistar bench --json bench.json --plot bench.svg
      phistar bench --robot arm.urdf
      phistar bench --calls

    \b
    Robots:
      pendulum planar2 ur5 panda baxter anymal talos chain10 chain50 chain100 chain1000 chain10000
    """
    from phistar.cli.benchmark.benchmark_plan import plan_for
    from phistar.cli.benchmark.page import page
    from phistar.cli.benchmark.plot import svg

    drawing, data = plot, Path(as_json) if as_json not in (None, STDOUT) else None
    for path in (drawing, data):
        check_folder(path)
    plan = plan_for(tuple(robots or ()), quick, seconds)
    if calls:
        plan = replace(plan, functions={}, single=(), short=(), chains=(), threads=())
    facts = run_with_progress(plan)
    if drawing is not None:
        drawing.write_text(svg(facts))
    if as_json == STDOUT:
        typer.echo(info.as_text(facts))
        return
    if data is not None:
        data.write_text(info.as_text(facts) + "\n")
    console = Console()
    console.width = console.width if console.is_terminal else info.WIDTH_WHEN_PIPED
    console.print(page(facts))


def run_with_progress(plan: Plan) -> dict[str, Any]:
    """The run, with a bar on a terminal: how many of its steps are done, and the time left."""
    from phistar.cli.benchmark.benchmark_report import report

    steps, console = plan.steps, Console(stderr=True)
    shown = BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    left = TimeRemainingColumn()
    with Progress(*shown, left, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("the robots", total=len(steps))
        return report(plan, lambda what: progress.update(task, description=what, completed=steps.index(what)))


def check_folder(path: Path | None) -> None:
    """Refuse a file that could not be written, before minutes of measuring."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise FileError(f"{path} cannot be written: it must be a file in a folder that is there.")
