"""`phistar run`: a scene, from start to end, with what it leaves in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from phistar.cli import info
from phistar.cli.names import scenes
from phistar.errors import FileError, PhistarError

DEFAULT = "grapple"
SceneName = Annotated[
    str | None,
    typer.Argument(
        metavar="[SCENE]",
        autocompletion=scenes,
        help=f"A scene file (.toml), or a bundled scene; {DEFAULT} if none is given.",
    ),
]
Often = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Write the run down in DIR so often of its time, for --resume."),
]


def run(
    scene: SceneName = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Draws the scene's random numbers; 0.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write summary.json, trajectory.h5, report.html, replay.html there."),
    ] = None,
    checkpoint: Often = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Go on with the run that was written down there.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live/--no-view", help="Look on in the browser, and at the whole run when it is over.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run a scene: bodies and robots that touch, under their controllers, with an audit of what happened.

    \b
    Examples:
      phistar run bouncing
      phistar run grapple --seed 3 --out runs/3
      phistar run grapple --live
      phistar run grapple --out runs/3 --checkpoint 5    and, when it was stopped,
      phistar run --resume runs/3
    """
    from phistar.sim.scenes.run import Stopped

    found, seed, out = _asked(scene, seed, out, resume)
    if checkpoint is not None and out is None:
        raise FileError("A checkpoint is written to the folder of --out; give one.")
    kept, failed = None if checkpoint is None else (checkpoint, out), None
    viewer = _looking_on(found, seed) if live else None
    try:
        result = _watched(found, seed, checkpoint=kept, resume=resume, watch=viewer)
    except Stopped as stopped:
        result, failed = stopped.result, str(stopped)
    _tell(result, out, as_json)
    if failed is not None:
        typer.echo(failed, err=True)
    if viewer is not None:
        typer.echo("The run can be played in the browser now; Ctrl-C ends it.", err=True)
        viewer.replay(result)
    if failed is not None:
        raise typer.Exit(1)


def _tell(result: Any, out: Path | None, as_json: bool) -> None:
    """Its files, and its summary."""
    if out is not None:
        _write(result, out, quiet=as_json)
    if as_json:
        typer.echo(info.as_text(dict(result.summary)))
    else:
        Console().print(_table(result.summary))
        if out is not None:
            typer.echo(f"Open {out / 'report.html'} to read it; phistar view {out} plays it.")


def _looking_on(scene: Any, seed: int) -> Any:
    """The live viewer of a run that is about to begin."""
    import webbrowser

    from phistar.view.live import Live

    setting = scene.setting(seed)
    live = Live(setting.model, setting.start[0])
    typer.echo(live.address, err=True)
    webbrowser.open(live.address)
    return live


def _asked(scene: str | None, seed: int | None, out: Path | None, resume: Path | None) -> tuple[Any, int, Path | None]:
    """The scene, the seed and the folder; those of the run that is taken up, if one is."""
    from phistar.sim.scenes.checkpoint import read
    from phistar.sim.scenes.scene import Scene

    if resume is None:
        return Scene.load(DEFAULT if scene is None else scene), seed or 0, out
    head = read(resume)["head"]
    if seed is not None and seed != head["seed"]:
        raise FileError(f"The run in {resume} has the seed {head['seed']}; leave --seed away.")
    return Scene.load(head["source"] if scene is None else scene), head["seed"], out or resume


def _watched(scene: Any, seed: int, **options: Any) -> Any:
    """The run, with a bar on a terminal that tells how far it is."""
    duration = scene.setting(seed).timing.duration
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.2f} s"), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(scene.name, total=duration)
        return scene.run(seed, progress=lambda time: progress.update(task, completed=time), **options)


def _write(result: Any, out: Path, quiet: bool) -> None:
    """The files of a run; pages that cannot be made for want of a package are told, and left out."""
    pages: tuple[tuple[str, Callable[..., Any]], ...] = (("report.html", _report), ("replay.html", _replay))
    tell = (lambda text: None) if quiet else typer.echo
    for path in result.save(out):
        tell(f"wrote {path}")
    if not len(result.arrays.get("t", ())):
        return
    for name, write in pages:
        with Console(stderr=True).status(f"writing {name}"):
            try:
                write(result, out / name)
            except (PhistarError, ImportError) as error:
                typer.echo(f"{name} was not written: {error}", err=True)
                continue
        tell(f"wrote {out / name}")


def _report(result: Any, path: Path) -> None:
    from phistar.view import report

    report.write(result, path)


def _replay(result: Any, path: Path) -> None:
    from phistar.view import replay

    replay.write(result, path)


def _table(summary: Any) -> Table:
    table = Table(show_header=False, box=None)
    for name, value in summary.items():
        if name == "phases":
            value = "\n".join(f"{each['start']:8.3f} s  {each['name']}  ({each['reason']})" for each in value) or None
        if value is not None:  # what this scene does not have
            table.add_row(name.replace("_", " "), _words(value))
    return table


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(f"{each:.3g}" if isinstance(each, float) else str(each) for each in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
