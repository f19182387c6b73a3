"""`phistar run`: a scene, from start to end, with what it leaves in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phistar.cli import info
from phistar.cli.arguments import AllowCode, Packages
from phistar.cli.command_names import scenes
from phistar.cli.model_tables import number
from phistar.cli.progress import SimulationProgress
from phistar.cli.run_files import Written, check_folder, write_run
from phistar.errors import FileError

DEFAULT = "grapple"
UNITS = {
    **dict.fromkeys(("peak_force", "internal_force", "peak_internal_force"), "N"),
    **dict.fromkeys(("sim_time", "wall_time"), "s"),
    "min_distance": "m",
    "final_relative_twist": "rad/s and m/s",
    "momentum_drift": "N m s and N s",
    "energy_change": "J",
}
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
    packages: Packages = None,
    allow_code: AllowCode = False,
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
    from phistar.sim.trajectory import Stopped

    found, seed, out = _resolve_run(scene, seed, out, resume, packages or [], allow_code)
    if checkpoint is not None and out is None:
        raise FileError("A checkpoint is written to the folder of --out; give one.")
    check_folder(out, resume)
    kept, failed = None if checkpoint is None else (checkpoint, out), None
    viewer = _looking_on(found, seed) if live else None
    try:
        result = _run_with_progress(found, seed, checkpoint=kept, resume=resume, watch=viewer)
    except Stopped as stopped:
        result, failed = stopped.result, str(stopped)
    kept = _tell(result, out, as_json)
    if failed is not None:
        typer.echo(failed, err=True)
    if viewer is not None:
        typer.echo("The run can be played in the browser now; Ctrl-C ends it.", err=True)
        viewer.replay(result)
    if failed is not None or not kept:
        raise typer.Exit(1)


def _tell(result: Any, out: Path | None, as_json: bool) -> bool:
    """Show the summary and write the files; whether these are where they were wanted."""
    files = Written([], True) if out is None else write_run(result, out)
    info.show(_page(result.summary), result.summary if as_json else None)
    for line in () if as_json else files.lines:
        typer.echo(line)
    return files.as_wanted


def _looking_on(scene: Any, seed: int) -> Any:
    """The live viewer of a run that is about to begin."""
    import webbrowser

    from phistar.view.live import Live

    setting = scene.setting(seed)
    live = Live(setting.model, setting.start[0])
    typer.echo(live.address, err=True)
    webbrowser.open(live.address)
    return live


def _resolve_run(
    scene: str | None, seed: int | None, out: Path | None, resume: Path | None, packages: list[Path], code: bool
) -> tuple[Any, int, Path | None]:
    """The scene, the seed and the folder; those of the run that is taken up, if one is."""
    from phistar.sim.scenes.checkpoint import read
    from phistar.sim.scenes.scene import Scene

    if resume is None:
        return Scene.unread(DEFAULT if scene is None else scene, packages, code), seed or 0, out
    head = read(resume)["head"]
    if seed is not None and seed != head["seed"]:
        raise FileError(f"The run in {resume} has the seed {head['seed']}; leave --seed away.")
    return Scene.unread(head["source"] if scene is None else scene, packages, code), head["seed"], out or resume


def _run_with_progress(scene: Any, seed: int, **options: Any) -> Any:
    """Run the scene and show how far it is."""
    with SimulationProgress(scene.name, scene.setting(seed).timing.duration) as reached:
        return scene.run(seed, progress=reached, **options)


def _page(summary: Mapping[str, Any]) -> RenderableType:
    """Table of the summary's entries, with units, and one of the phases: when each began and why."""
    table, phases = Table(show_header=False, box=None), Table(box=None, header_style="dim")
    for name, value in summary.items():
        if name != "phases" and value is not None:
            unit = f", {UNITS[name]}" if name in UNITS else ""
            table.add_row(name.replace("_", " ") + unit, _words(value))
    if not summary.get("phases"):
        return table
    for heading in ("from", "phase", "why"):
        phases.add_column(heading, justify="right" if heading == "from" else "left", overflow="fold")
    for each in summary["phases"]:
        reason, figures, rest = str(each["reason"]).partition(" (")
        why = Text.assemble(reason, (figures + rest, "dim"))
        phases.add_row(f"{each['start']:.3f} s", Text(each["name"]), why)
    return Group(table, Text(), phases, Text())


def _words(value: Any) -> Text:
    if isinstance(value, list):
        return Text(", ".join(str(_words(each)) for each in value))
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    return Text(number(value) if isinstance(value, float) else str(value))
