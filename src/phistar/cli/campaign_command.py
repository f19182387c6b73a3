"""`phistar campaign`: a scene many times over, kept as it goes, and counted."""

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from phistar.cli import info
from phistar.cli.arguments import AllowCode, Packages, Scene, SummaryAsJson
from phistar.cli.model_tables import number
from phistar.errors import PhistarError

LINE_EVERY = 30.0  # s
SLIGHT, MOST_TELLING = 0.1, 8  # what has less to do with failures and score is not shown, nor more than so many
SHOWN = {
    "peak_force": "peak force, N",
    "min_distance": "smallest distance, m",
    "sim_time": "simulated time, s",
    "core_time": "time of a core, s",
    "real_time_factor": "times real time",
    "momentum_drift": "momentum drift",
    "energy_residual": "energy residual",
}

Sampling = Annotated[
    str, typer.Option(metavar="random|latin|search", help="How runs are spread; search goes where they fail.")
]
Score = Annotated[str, typer.Option(metavar="NAME", help="The number that a search makes large; -NAME makes it small.")]
Varied = Annotated[
    list[str] | None,
    typer.Option(metavar="PLACE=A,B", help="Values for a place of the scene, as surface.friction=0.2,0.5."),
]
Workers = Annotated[int | None, typer.Option(min=1, metavar="K", help="Processes on this machine (one for each core).")]


def campaign(
    scene: Scene,
    runs: Annotated[int, typer.Option("--runs", min=1, metavar="N", help="How many.")] = 100,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Every run has a child of it.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where everything goes (campaign-SCENE-SEED).")
    ] = None,
    workers: Workers = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A dask scheduler, whose workers do the runs instead.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Do the runs that DIR lacks.")] = False,
    keep: Annotated[
        str, typer.Option(metavar="failed|all|none", help="Of which runs to keep the trajectory.")
    ] = "failed",
    sampling: Sampling = "random",
    score: Score = "peak_force",
    vary: Varied = None,
    packages: Packages = None,
    allow_code: AllowCode = False,
    as_json: SummaryAsJson = False,
) -> None:
    """Run a scene many times with other random numbers, and count what comes of it.

    The folder then has runs.parquet, a row for every run; campaign.json, the summary; kept/RUN, the trajectories and
    the scene that runs it again. Stop it whenever you like, with Ctrl-C or worse: --resume does the rest. The rows are
    the same on any number of workers.

    \b
    Examples:
      phistar campaign bouncing --runs 20
      phistar campaign my_scene.toml --runs 1000 --seed 7 --out campaigns/7
      phistar campaign my_scene.toml --runs 2000 --seed 7 --out campaigns/7 --resume
      phistar campaign my_scene.toml --runs 1000 --scheduler tcp://192.168.0.7:8786
      phistar campaign grapple --runs 200 --sampling search --score peak_force
      phistar campaign grapple --runs 60 --vary surface.friction=0.2,0.3,0.5 --vary parts.satellite.mass=20,200
    """
    from phistar.sim.campaign import campaign as campaigns
    from phistar.sim.scenes import scene as scenes
    from phistar.view import campaign_page

    found = scenes.Scene.load(scene, packages or [], allow_code)
    folder = out or Path(f"campaign-{_flat(found.name)}-{seed}")
    stopped = False
    try:
        with _watched(found.name, runs) as tell:
            summary = campaigns.campaign(
                found, runs, seed, folder, workers, scheduler, keep, resume, tell, sampling, score, _values(vary or [])
            ).summary
    except KeyboardInterrupt:
        stopped, summary = True, campaigns.summary_of(folder)
    page = campaign_page.write(folder)
    info.show(_page(summary, scene, folder, page), summary if as_json else None)
    if stopped:
        typer.echo("Stopped. What had finished is kept; the same command with --resume does the rest.", err=True)
    if stopped or not summary["completed"]["count"]:
        raise typer.Exit(1)


def _values(options: list[str]) -> dict[str, list[Any]]:
    """Values by place, each read as TOML reads them; text where it cannot."""
    found: dict[str, list[Any]] = {}
    for option in options:
        place, separator, values = option.partition("=")
        if not separator or not place or not values:
            raise PhistarError(f"--vary takes PLACE=A,B, as in surface.friction=0.2,0.5; it is {option!r:.100}.")
        found[place] = [_value(text.strip()) for text in values.split(",")]
    return found


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def _flat(name: str) -> str:
    """A name as that of one folder, here and nowhere else."""
    return re.sub(r"[^\w.-]", "_", name)[:100]


class _watched:
    """How many of all, how many of those as wished, how many not, and the time left: a bar on a terminal, elsewhere a
    line every half minute."""

    def __init__(self, name: str, runs: int) -> None:
        shown = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[share]}"),
        )
        console = Console(stderr=True)
        times = TimeElapsedColumn(), TimeRemainingColumn()
        self.bar = Progress(*shown, *times, console=console, transient=True, disable=not console.is_terminal)
        self.task = self.bar.add_task(name, total=runs, share="")
        self.runs, self.good, self.done, self.told, self.word = runs, 0, 0, time.monotonic(), "good"

    def __enter__(self) -> Callable[[Mapping[str, Any]], None]:
        self.bar.start()
        return self.tell

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def tell(self, row: Mapping[str, Any]) -> None:
        from phistar.sim.campaign.counting import wilson
        from phistar.sim.campaign.perform import GOOD

        self.done, self.good = self.done + 1, self.good + (row["outcome"] in GOOD)
        low, high = wilson(self.good, self.done)
        self.word = row["outcome"] if row["outcome"] in GOOD else self.word
        share = f"{self.good / self.done:.1%} {self.word} ({low:.1%} to {high:.1%}), {self.done - self.good} failed"
        self.bar.update(self.task, advance=1, share=share)
        if self.bar.disable and time.monotonic() - self.told > LINE_EVERY:
            self.told, left = time.monotonic(), self.bar.tasks[0].time_remaining
            ending = "" if left is None else f", {left / 60:.0f} min left"
            typer.echo(f"{self.done} of {self.runs}: {share}{ending}", err=True)


def _page(summary: Mapping[str, Any], scene: str, folder: Path, page: Path) -> RenderableType:
    parts: list[RenderableType] = [_shares(summary), Text(), _quantiles(summary["numbers"])]
    if summary["cells"]:
        parts += [Text(), _cells(summary["cells"])]
    telling = [each for each in summary["sensitivity"] if max(each["failures"] or 0.0, each["score"] or 0.0) > SLIGHT]
    if telling:
        parts += [Text(), _sensitivity(telling[:MOST_TELLING], summary["score"])]
    if summary["failures"]:
        parts += [Text(), _failures(summary["failures"])]
    parts += [Text(), Text(f"wrote {folder / 'runs.parquet'}, {folder / 'campaign.json'}; open {page} to read it")]
    for failure in summary["failures"][:1]:
        example = failure["example"]
        kept = folder / "kept" / f"{example['run']:06d}"
        itself = summary["sampling"] == "random" and not summary["vary"]
        again = scene if itself or not (kept / "scene.toml").is_file() else kept / "scene.toml"
        parts.append(Text(f"run {example['run']} again: phistar run {again} --seed {example['seed']} --out DIR"))
        if kept.is_dir():
            parts.append(Text(f"look at it: phistar view {kept}"))
    return Group(*parts)


def _shares(summary: Mapping[str, Any]) -> RenderableType:
    table = Table(show_header=False, box=None)
    for name in ("reached", "completed"):
        share = summary[name]
        if share and share["of"]:
            interval = f"{share['low']:.1%} to {share['high']:.1%} at 95 %"
            table.add_row(name, f"{share['count']} of {share['of']}", f"{share['share']:.1%}", interval)
    factor = summary["real_time_factor"]
    speed = f"{number(factor)} times real time on a core" if factor else ""
    table.add_row("took", f"{number(round(summary['wall_time'], 1))} s", "", speed)
    return table


def _quantiles(numbers: Mapping[str, Mapping[str, float]]) -> RenderableType:
    table = Table(box=None, header_style="dim")
    columns = {"min": "least", "p05": "5 %", "median": "median", "p95": "95 %", "max": "most"}
    table.add_column("")
    for heading in columns.values():
        table.add_column(heading, justify="right")
    for name, heading in SHOWN.items():
        if name in numbers:
            table.add_row(heading, *(number(numbers[name][column]) for column in columns))
    return table


def _cells(cells: list[Mapping[str, Any]]) -> RenderableType:
    table = Table(box=None, header_style="dim")
    names = [name for name in cells[0] if name != "good"]
    for name in names:
        table.add_column(name, justify="right")
    for heading in ("good", "share", "95 %"):
        table.add_column(heading, justify="right")
    for cell in cells:
        good = cell["good"]
        interval = f"{good['low']:.1%} to {good['high']:.1%}"
        values = (str(cell[name]) for name in names)
        table.add_row(*values, f"{good['count']} of {good['of']}", f"{good['share']:.1%}", interval)
    return table


def _sensitivity(found: list[Mapping[str, Any]], score: str) -> RenderableType:
    """The numbers that matter most for failures and for the score, both from 0 to 1."""
    table = Table(box=None, header_style="dim")
    for heading in ("what matters most", "failures", "by chance", score):
        table.add_column(heading, justify="left" if heading == "what matters most" else "right")
    for each in found:
        shown = (each["failures"], each["chance"], each["score"])
        name = each["parameter"].partition(".")[2]
        table.add_row(name, *("" if value is None else f"{value:.2g}" for value in shown))
    return table


def _failures(failures: list[Mapping[str, Any]]) -> RenderableType:
    table = Table(box=None, header_style="dim")
    for heading in ("runs", "outcome", "reason", "first seed"):
        table.add_column(heading, justify="right" if heading == "runs" else "left", overflow="fold")
    for failure in failures:
        example = failure["example"]
        table.add_row(str(failure["count"]), failure["outcome"], Text(failure["reason"]), str(example["seed"]))
    return table
