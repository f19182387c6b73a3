"""The files that a run leaves in a folder: its numbers, and the pages that show them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

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
        from phistar.sim.scenes.run_folder import check_ended

        check_ended(out, resume)


class Written(NamedTuple):
    """Lines that say what was written and what to do with it, and whether it is where it was wanted."""

    lines: list[str]
    as_wanted: bool


def write_run(result: Any, out: Path) -> Written:
    """Write them; a run that has been computed is not lost because its folder cannot be written to: it goes to another.

    Pages that cannot be made, for lack of a package or of disk space, are reported and left out.
    """
    try:
        return Written(_write_files(result, out), True)
    except FileError as error:
        typer.echo(f"{error}", err=True)
        wanted = error
    for place in _elsewhere():
        try:
            lines = _write_files(result, place)
        except (OSError, FileError):
            continue
        typer.echo(f"The run has ended and is kept in {place} instead; move it where you want it.", err=True)
        return Written(lines, False)
    raise FileError(
        f"The run has ended, but it cannot be kept there ({wanted}) nor in {', '.join(map(str, _roots()))}; "
        f"its summary alone is left: {json.dumps(dict(result.summary), allow_nan=False)}"
    )


def _roots() -> list[Path]:
    """Folders that every machine has, often on another disk."""
    return list(dict.fromkeys((Path(tempfile.gettempdir()), Path.home(), Path.cwd())))


def _elsewhere() -> Iterator[Path]:
    """New folders for a run that finds no room where it belongs."""
    for root in _roots():
        try:
            yield Path(tempfile.mkdtemp(prefix="phistar-run-", dir=root))
        except OSError:
            continue


def _write_files(result: Any, out: Path) -> list[str]:
    pages: dict[str, Callable[..., Any]] = {"report.html": _report, "replay.html": _replay}
    paths = list(result.save(out))
    for name, write in pages.items() if len(result.arrays.get("t", ())) else ():
        with Console(stderr=True).status(f"writing {name}"):
            try:
                write(result, out / name)
                paths.append(out / name)
            except (PhistarError, ImportError) as error:
                (out / name).unlink(missing_ok=True)  # one that is there is of another run
                typer.echo(f"{name} was not written: {error}", err=True)
    reading = f"Open {out / 'report.html'} to read it; " if out / "report.html" in paths else ""
    return [*(f"wrote {path}" for path in paths), f"{reading}phistar view {out} plays it."]


def _report(result: Any, path: Path) -> None:
    from phistar.view import report

    report.write(result, path)


def _replay(result: Any, path: Path) -> None:
    from phistar.view import replay

    replay.write(result, path)
