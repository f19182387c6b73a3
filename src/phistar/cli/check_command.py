"""`phistar check`: what `checker.py` finds of a stranger's certificate."""

from pathlib import Path
from typing import Annotated

import typer

from phistar.errors import StatementError


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate, as derivation.certificate() gives it.")],
    mechanisms: Annotated[int, typer.Option(min=1, max=100, help="How many random mechanisms to evaluate on.")] = 2,
) -> None:
    """Check a certificate: replay every step exactly, and evaluate it to 50 digits on random mechanisms.

    \b
    Examples:
      phistar check proof.json    what phistar derive "inv(mass)" --certificate proof.json writes
    """
    from phistar.cli.checker import check_certificate

    try:
        said, data, worst = check_certificate(file, mechanisms)
    except StatementError as error:
        typer.echo(f"{file} does not hold: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{said} holds: {len(data['steps'])} steps replayed exactly,")
    typer.echo(f"evaluated on {mechanisms} random mechanisms to 50 digits (largest difference {worst:.0e}).")
