"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from phistar.cli.names import robots, scenes

Robot = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT", autocompletion=robots, help="A URDF or MJCF file, or a bundled robot such as puma560."
    ),
]
Scene = Annotated[
    str, typer.Argument(metavar="SCENE", autocompletion=scenes, help="A scene file (.toml), or a bundled scene.")
]
Floating = Annotated[bool, typer.Option("--floating", help="Let the base move: add a free joint named root.")]
Packages = Annotated[
    list[Path] | None,
    typer.Option("--packages", metavar="DIR", help="A folder for package:// addresses; may be repeated."),
]
SummaryAsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
