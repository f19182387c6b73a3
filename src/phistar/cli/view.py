"""`phistar view`: a robot, a scene or a finished run in the browser."""

import os
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from phistar.cli import command_names
from phistar.cli.arguments import Download, Packages, Without
from phistar.errors import FileError


def view(
    shown: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT|SCENE|RUN",
            autocompletion=command_names.completions,
            help="A robot or a scene, bundled or a file; or a run's folder.",
        ),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Where to listen; 0 takes any free port.")
    ] = 0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Who may ask; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page by itself.")] = True,
    algebra: Annotated[
        bool, typer.Option("--algebra", help="Show the sweeps of forward dynamics over the robot, and its operators.")
    ] = False,
    floating: Annotated[bool, typer.Option("--floating", help="Let the robot's base move.")] = False,
    packages: Packages = None,
    without: Without = None,
    download: Download = False,
) -> None:
    """Look at a robot and move it by hand, at a scene as it starts, or at a run as it went. Ctrl-C ends it.

    \b
    Examples:
      phistar view puma560
      phistar view arm.urdf --packages ~/robots
      phistar view bouncing
      phistar view puma560 --algebra
      phistar run bouncing --out runs/0 && phistar view runs/0
    """
    from phistar.sim.trajectory import Trajectory
    from phistar.view.sweeps import SweepsView
    from phistar.view.viewer import Viewer

    what, q = _open_subject(shown, floating, packages or [], without or [], download)
    kind = SweepsView if algebra else Viewer
    if algebra and isinstance(what, Trajectory):
        raise FileError(f"{shown} is a run; --algebra shows a robot or a scene.")
    viewer = kind(what, q, host=host, port=port)
    typer.echo(f"{viewer.address} (Ctrl-C ends it)")
    if browser:
        webbrowser.open(viewer.address)
    viewer.serve()


def _open_subject(
    shown: str, floating: bool, packages: list[Path], without: list[str], download: bool
) -> tuple[Any, Any]:
    """A trajectory, or a model and where it starts."""
    from phistar.io import load
    from phistar.sim.scenes.scene import Scene
    from phistar.sim.scenes.source import bundled_scenes
    from phistar.sim.trajectory import Trajectory

    if os.path.isdir(shown) or Path(shown).suffix in (".h5", ".hdf5"):  # of a name too long for a file, too
        return Trajectory.load(shown, packages), None
    if Path(shown).suffix == ".toml" or shown in bundled_scenes():
        plant = Scene.unread(shown, packages).plant
        return plant.model, plant.state().q
    return load(shown, floating=floating, packages=packages, without=without, download=download), None
