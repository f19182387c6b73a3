"""`phistar check`: a stranger's certificate, and what `checker.py` finds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from phistar.cli.certificate_files import read_certificate, spelled
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
    try:
        data, worst = checked(file, mechanisms)
    except StatementError as error:
        typer.echo(f"{file} does not hold: {error}", err=True)
        raise typer.Exit(1) from None
    said = " = ".join(spelled(data[side], data["symbols"]) for side in ("start", "result"))
    typer.echo(f"{said} holds: {len(data['steps'])} steps replayed exactly,")
    typer.echo(f"evaluated on {mechanisms} random mechanisms to 50 digits (largest difference {worst:.0e}).")


def checked(file: Path, mechanisms: int) -> tuple[dict[str, Any], float]:
    """A certificate that holds, and the largest relative difference met; StatementError where it does not hold."""
    from phistar.cli.checker import evaluate, replay

    data = read_certificate(file)
    try:
        replay(data)
        return data, max(evaluate(data, seed) for seed in range(mechanisms))
    except RecursionError:
        raise StatementError("its statements are nested too deep to be replayed.") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise StatementError(f"it is damaged ({type(error).__name__}: {str(error)[:100]}).") from None
