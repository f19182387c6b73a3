"""`phistar info`: what a robot is made of."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from phistar.cli.arguments import Download, Floating, Packages, Robot, Without
from phistar.cli.describe import describe
from phistar.cli.model_tables import number, overview
from phistar.errors import PhistarError

FORMAT_VERSION = 1
WIDTH_WHEN_PIPED = 120


def info(
    robot: Robot,
    tree: Annotated[bool, typer.Option("--tree", help="Show WD89's binary tree and loop equations instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the same facts as JSON, in SI units.")] = False,
    floating: Floating = False,
    packages: Packages = None,
    without: Without = None,
    download: Download = False,
) -> None:
    """Show the bodies, joints, frames, loops and warnings of a robot.

    \b
    Examples:
      phistar info puma560
      phistar info arm.urdf --floating --packages ~/robots
      phistar info wd89_fig1 --tree
    """
    from phistar.io import load

    model = load(robot, floating=floating, packages=packages or [], without=without or [], download=download)
    if tree:
        from phistar.model.wd89 import binary_tree, render

        view = binary_tree(model)
        typer.echo(as_text(asdict(view) | {"equations": view.equations}) if as_json else render(view))
        return
    facts = describe(model, source_of(robot))
    show(overview(facts), facts if as_json else None)
    if not floating and not as_json and (held := _held_mass(robot, model, packages or [], without or [])):
        typer.echo(f"{number(held)} kg of it stand fixed to the world; --floating lets the base move.")


def _held_mass(robot: str, model: Any, packages: list[Path], without: list[str]) -> float:
    """The mass of the links that are welded to the world, which a floating base would carry; 0 of what cannot float."""
    from phistar.io import load

    try:
        free = load(robot, floating=True, packages=packages, without=without)
    except PhistarError:
        return 0.0
    held = free.total_mass - model.total_mass
    return held if held > 1e-9 * free.total_mass else 0.0


def show(page: RenderableType, as_json: Mapping[str, Any] | None) -> None:
    """A page for a person, or the same facts as JSON for a program."""
    if as_json is not None:
        typer.echo(as_text(dict(as_json)))
        return
    console = Console()
    console.width = console.width if console.is_terminal else WIDTH_WHEN_PIPED
    console.print(page)


def as_text(facts: dict[str, Any]) -> str:
    """JSON, whose version comes first."""
    return json.dumps({"format_version": FORMAT_VERSION} | facts, indent=2, ensure_ascii=False, allow_nan=False)


def source_of(robot: str) -> str | None:
    """Source of a bundled robot's numbers; None for a file."""
    from phistar.io.bundled import SOURCES

    return SOURCES.get(robot)
