"""`phistar cache`: the compiled kernels kept on disk."""

from typing import Annotated

import typer

from phistar.backends.machine import cache as kernels
from phistar.cli import info


def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove every kernel; they are compiled again as needed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the same facts as JSON.")] = False,
) -> None:
    """Show where compiled kernels are kept, how many there are and how large; or remove them.

    The folder is $PHISTAR_CACHE if set ("off" keeps nothing), else the user's cache folder.

    \b
    Examples:
      phistar cache
      phistar cache --clear
    """
    folder = kernels.directory()
    sizes = kernels.sizes()
    removed = kernels.clear() if clear else None
    if as_json:
        facts = {"folder": None if folder is None else str(folder), "entries": len(sizes), "bytes": sum(sizes)}
        typer.echo(info.as_text(facts | ({} if removed is None else {"removed": removed})))
    elif folder is None:
        typer.echo(
            "No folder: PHISTAR_CACHE is off, or there is no home folder; kernels are compiled in every process."
        )
    elif removed is not None:
        typer.echo(f"Removed {removed} compiled kernels, {sum(sizes) / 1e6:.1f} MB, from {folder}")
    else:
        typer.echo(f"{folder}: {len(sizes)} compiled kernels, {sum(sizes) / 1e6:.1f} MB")
