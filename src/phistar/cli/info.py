"""`phistar info`: what a robot is made of."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from phistar.cli.arguments import Floating, Packages, Robot
from phistar.cli.describe import describe
from phistar.cli.tables import overview

FORMAT_VERSION = 1
WIDTH_WHEN_PIPED = 120


def info(
    robot: Robot,
    tree: Annotated[bool, typer.Option("--tree", help="Show WD89's binary tree and loop equations instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the same facts as JSON, in SI units.")] = False,
    floating: Floating = False,
    packages: Packages = None,
) -> None:
    """Show the bodies, joints, frames, loops and warnings of a robot.

    \b
    Examples:
      phistar info puma560
      phistar info arm.urdf --floating --packages ~/robots
      phistar info wd89_fig1 --tree
    """
    from phistar.io import load

    model = load(robot, floating=floating, packages=packages or [])
    if tree:
        from phistar.model.wd89 import binary_tree, render

        view = binary_tree(model)
        typer.echo(as_text(asdict(view) | {"equations": view.equations}) if as_json else render(view))
        return
    facts = describe(model, source_of(robot))
    show(overview(facts), facts if as_json else None)


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
    """Where a bundled robot's numbers come from; None for a file."""
    from phistar.io.bundled import SOURCES

    return SOURCES.get(robot)
