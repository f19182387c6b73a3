"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from phistar.cli.command_names import robots, scenes

Robot = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        autocompletion=robots,
        help="A URDF, MJCF or SDF file, or the name of a robot: puma560, or ur5 where example-robot-data is installed.",
    ),
]
Scene = Annotated[
    str, typer.Argument(metavar="SCENE", autocompletion=scenes, help="A scene file (.toml), or a bundled scene.")
]
Floating = Annotated[bool, typer.Option("--floating", help="Let the base move: add a free joint named root.")]
Packages = Annotated[
    list[Path] | None,
    typer.Option(
        "--packages", metavar="DIR", help="A folder that files may name meshes and parts in; may be repeated."
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without", metavar="KIND", help="Physics that an MJCF file is to be loaded without: fluid, tendons, …"
    ),
]
Download = Annotated[
    bool, typer.Option("--download", help="Let robot_descriptions fetch a robot by name that is not on this machine.")
]
SummaryAsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", help="Import and run a controller that the file names as package.module:Class."),
]
