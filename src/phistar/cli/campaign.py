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
from phistar.cli.tables import number

LINE_EVERY = 30.0  # s
SHOWN = {
    "peak_force": "peak force, N",
    "min_distance": "smallest distance, m",
    "sim_time": "simulated time, s",
    "core_time": "time of a core, s",
    "real_time_factor": "times real time",
    "momentum_drift": "momentum drift",
    "energy_residual": "energy residual",
}


def campaign(
    scene: Scene,
    runs: Annotated[int, typer.Option("--runs", min=1, metavar="N", help="How many.")] = 100,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Every run has a child of it.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where everything goes (campaign-SCENE-SEED).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Processes on this machine (one for each core).")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A dask scheduler, whose workers do the runs instead.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Do the runs that DIR lacks.")] = False,
    keep: Annotated[
        str, typer.Option(metavar="failed|all|none", help="Of which runs to keep the trajectory.")
    ] = "failed",
    packages: Packages = None,
    allow_code: AllowCode = False,
    as_json: SummaryAsJson = False,
) -> None:
    """Run a scene many times with other random numbers, and count what comes of it.

    The folder then has runs.parquet, a row for every run; campaign.json, the summary; kept/RUN, the trajectories. Stop
    it whenever you like, with Ctrl-C or worse: --resume does the rest. The rows are the same on any number of workers.

    \b
    Examples:
      phistar campaign bouncing --runs 20
      phistar campaign my_scene.toml --runs 1000 --seed 7 --out campaigns/7
      phistar campaign my_scene.toml --runs 2000 --seed 7 --out campaigns/7 --resume
      phistar campaign my_scene.toml --runs 1000 --scheduler tcp://192.168.0.7:8786
    """
    from phistar.sim.campaign import campaign as campaigns
    from phistar.sim.scenes import scene as scenes

    found = scenes.Scene.load(scene, packages or [], allow_code)
    folder = out or Path(f"campaign-{_flat(found.name)}-{seed}")
    stopped = False
    try:
        with _watched(found.name, runs) as tell:
            summary = campaigns.campaign(found, runs, seed, folder, workers, scheduler, keep, resume, tell).summary
    except KeyboardInterrupt:
        stopped, summary = True, campaigns.summary_of(folder)
    info.show(_page(summary, scene, folder), summary if as_json else None)
    if stopped:
        typer.echo("Stopped. What had finished is kept; the same command with --resume does the rest.", err=True)
    if stopped or not summary["completed"]["count"]:
        raise typer.Exit(1)


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


def _page(summary: Mapping[str, Any], scene: str, folder: Path) -> RenderableType:
    parts: list[RenderableType] = [_shares(summary), Text(), _quantiles(summary["numbers"])]
    if summary["failures"]:
        parts += [Text(), _failures(summary["failures"])]
    parts += [Text(), Text(f"wrote {folder / 'runs.parquet'} and {folder / 'campaign.json'}")]
    for failure in summary["failures"][:1]:
        example = failure["example"]
        parts.append(Text(f"run {example['run']} again: phistar run {scene} --seed {example['seed']} --out DIR"))
        kept = folder / "kept" / f"{example['run']:06d}"
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


def _failures(failures: list[Mapping[str, Any]]) -> RenderableType:
    table = Table(box=None, header_style="dim")
    for heading in ("runs", "outcome", "reason", "first seed"):
        table.add_column(heading, justify="right" if heading == "runs" else "left", overflow="fold")
    for failure in failures:
        example = failure["example"]
        table.add_row(str(failure["count"]), failure["outcome"], Text(failure["reason"]), str(example["seed"]))
    return table
