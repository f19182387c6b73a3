"""`phistar run`: a scene, from start to end, with what it leaves in a folder."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from phistar.cli import info


def run(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help="A scene file (.toml), or a bundled scene.")],
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Draws the scene's random numbers.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write summary.json and trajectory.h5 there.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run a scene: bodies and robots that touch, under their controllers, with an audit of what happened.

    \b
    Examples:
      phistar run bouncing
      phistar run my_scene.toml --seed 3 --out runs/3
    """
    from phistar.sim.scenes.run import Stopped
    from phistar.sim.scenes.scene import Scene

    found, failed = Scene.load(scene), None
    try:
        result = _watched(found, seed)
    except Stopped as stopped:
        result, failed = stopped.result, str(stopped)
    if out is not None:
        for path in result.save(out):
            if not as_json:
                typer.echo(f"wrote {path}")
    if as_json:
        typer.echo(info.as_text(dict(result.summary)))
    else:
        Console().print(_table(result.summary))
    if failed is not None:
        typer.echo(failed, err=True)
        raise typer.Exit(1)


def _watched(scene: Any, seed: int) -> Any:
    """The run, with a bar on a terminal that tells how far it is."""
    duration = scene.setting(seed).timing.duration
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.2f} s"), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(scene.name, total=duration)
        return scene.run(seed, progress=lambda time: progress.update(task, completed=time))


def _table(summary: Any) -> Table:
    table = Table(show_header=False, box=None)
    for name, value in summary.items():
        table.add_row(name.replace("_", " "), f"{value:.6g}" if isinstance(value, float) else str(value))
    return table
