"""The commands, and the promise about errors: a sentence on stderr and an exit code, never a traceback."""

import logging
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from phistar.cli.bench import bench
from phistar.cli.cache import cache
from phistar.cli.campaign import campaign
from phistar.cli.derive import derive
from phistar.cli.export import export
from phistar.cli.info import info
from phistar.cli.run import run as run_scene
from phistar.cli.simulate import simulate
from phistar.cli.view import view
from phistar.errors import PhistarError

COMMANDS = [run_scene, simulate, campaign, view, info, derive, export, bench, cache]
# A statement may begin with a minus sign; it is no option then.
SETTINGS = {"derive": {"ignore_unknown_options": True}}

HELP = """Robot multibody dynamics in which the program is the algebra.

\b
Examples:
  phistar info puma560                    the tables of a bundled robot
  phistar info arm.urdf --json            the same facts of a file, for a program
  phistar derive "J @ inv(mass) @ J.T"    the cheapest form of a statement, and how it is reached
  phistar export puma560 bias --c DIR     a function of a robot, in C
  phistar simulate puma560                a robot left to itself
  phistar run bouncing --out DIR          a scene, from start to end
  phistar view puma560                    a robot, a scene or a run in the browser
  phistar campaign bouncing --runs 20     a scene many times, with other random numbers
"""

INPUT_WAS_WRONG = 2
RUN_FAILED = 1


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"phistar {version('phistar')}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What holds for every command; `--version` acts in its callback."""


def build() -> typer.Typer:
    app = typer.Typer(
        help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
    )
    app.callback()(options)
    for command in COMMANDS:
        app.command(context_settings=SETTINGS.get(command.__name__))(command)
    return app


def complain(sentence: str) -> None:
    Console(stderr=True).print(Text(sentence, style="red"), soft_wrap=True)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; PhistarError and wrong usage give 2, anything unforeseen 1, each with its sentence."""
    try:
        build()(args=arguments, prog_name="phistar")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    except PhistarError as error:
        complain(str(error))
        return INPUT_WAS_WRONG
    except Exception as error:
        if os.environ.get("PHISTAR_TRACEBACK"):
            raise
        logging.getLogger("phistar").debug("unforeseen error", exc_info=True)
        complain(
            f"phistar failed where it should not have ({type(error).__name__}: {error}). "
            "This is a mistake in phistar: please report it with what PHISTAR_TRACEBACK=1 shows."
        )
        return RUN_FAILED
    return 0
