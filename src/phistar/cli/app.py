"""The commands, and the promise about errors: a sentence on stderr and an exit code, never a traceback."""

import io
import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from phistar.cli.bench import bench
from phistar.cli.cache_command import cache
from phistar.cli.campaign_command import campaign
from phistar.cli.check_command import check
from phistar.cli.command_names import hint
from phistar.cli.derive import derive
from phistar.cli.export import export
from phistar.cli.info import info
from phistar.cli.run_command import run as run_scene
from phistar.cli.simulate_command import simulate
from phistar.cli.view import view
from phistar.errors import PhistarError

# Each with what it is for, in the list of them.
COMMANDS = {
    run_scene: "A scene: robots and bodies that touch.",
    simulate: "A robot left to itself.",
    campaign: "A scene many times, with other random numbers.",
    view: "A robot, a scene or a run in the browser.",
    info: "What a robot is made of.",
    derive: "The cheapest form of an operator statement.",
    check: "Whether the certificate of a derivation holds.",
    export: "A function of a robot, in C.",
    bench: "How fast it is on this machine, against peers.",
    cache: "The compiled kernels kept on disk.",
}
# A statement may begin with a minus sign; it is no option then.
SETTINGS = {"derive": {"ignore_unknown_options": True}}

HELP = """Robot multibody dynamics in which the program is the algebra.

\b
Examples:
  phistar info puma560                    the tables of a bundled robot
  phistar info arm.urdf --json            the same facts of a file, for a program
  phistar view arm.urdf                   look at a robot and move it by hand
  phistar simulate puma560                let it fall
  phistar run grapple --out DIR           two arms and a satellite; then phistar view DIR
  phistar campaign bouncing --runs 20     a scene many times, with other random numbers
  phistar derive "J @ inv(mass) @ J.T"    the cheapest form of a statement, and how it is reached
  phistar export puma560 bias --c DIR     a function of a robot, in C

phistar COMMAND --help tells more. phistar --install-completion lets your shell complete commands and names.
"""

INPUT_WAS_WRONG = 2
RUN_FAILED = 1


def show_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"phistar {version('phistar')}")
        except PackageNotFoundError:
            typer.echo("phistar, from a source tree that is not installed")
        raise typer.Exit


def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options common to all commands; `--version` acts in its callback."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def build() -> typer.Typer:
    app = typer.Typer(
        help=HELP,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    for command, purpose in COMMANDS.items():
        app.command(context_settings=SETTINGS.get(command.__name__), short_help=purpose)(command)
    return app


def complain(sentence: str) -> None:
    Console(stderr=True).print(Text(sentence, style="red"), soft_wrap=True)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; PhistarError and wrong usage give 2, anything unforeseen 1, each with its sentence."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the papers' letters shows question marks
    try:
        build()(args=arguments, prog_name="phistar")
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0
        if code == INPUT_WAS_WRONG:
            _suggest(sys.argv[1:] if arguments is None else arguments)
        return code
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


def _suggest(arguments: Sequence[str]) -> None:
    """Complain about a robot or a scene that stands where a command belongs."""
    first = next((each for each in arguments if not each.startswith("-")), "")
    if first and first not in {command.__name__ for command in COMMANDS}:
        sentence = hint(first)
        if sentence is not None:
            complain(sentence)
