"""The files that a run leaves in a folder: its numbers, and the pages that show them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from phistar.errors import FileError, PhistarError


def check_folder(out: Path | None, resume: Path | None = None) -> None:
    """Refuses, before anything is computed, a folder that nothing can be written to, and one in which another run than
    that to be taken up has not ended."""
    place = out or Path(".")
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise FileError(f"Nothing can be written to {out}: {place} is no folder, or one that only others may change.")
    if out is not None:
        from phistar.sim.scenes.result import check_ended

        check_ended(out, resume)


def written(result: Any, out: Path) -> list[str]:
    """Write them; the lines say what was written, and what to do with it. Pages that cannot be made for want of a
    package are told of, and left out."""
    pages: dict[str, Callable[..., Any]] = {"report.html": _report, "replay.html": _replay}
    paths = list(result.save(out))
    for name, write in pages.items() if len(result.arrays.get("t", ())) else ():
        with Console(stderr=True).status(f"writing {name}"):
            try:
                write(result, out / name)
                paths.append(out / name)
            except (PhistarError, ImportError) as error:
                typer.echo(f"{name} was not written: {error}", err=True)
    reading = f"Open {out / 'report.html'} to read it; " if out / "report.html" in paths else ""
    return [*(f"wrote {path}" for path in paths), f"{reading}phistar view {out} plays it."]


def _report(result: Any, path: Path) -> None:
    from phistar.view import report

    report.write(result, path)


def _replay(result: Any, path: Path) -> None:
    from phistar.view import replay

    replay.write(result, path)
