"""The folder of a run: each file written whole or not at all, and no run in the place of one that has not ended."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from phistar.errors import FileError

CHECKPOINT = "checkpoint"  # the file of a run that has not ended


def check_ended(folder: Path, resume: str | os.PathLike[str] | None) -> None:
    """Refuses to begin a run where another is written down half-way, which then might be taken up in its place."""
    if (folder / CHECKPOINT).exists() and (resume is None or Path(resume).resolve() != folder.resolve()):
        raise FileError(
            f"{folder / CHECKPOINT} is of a run that has not ended: phistar run --resume {folder} goes on with it. "
            "For another run give another folder, or remove that file."
        )


def whole(path: Path, write: Callable[[Path], Any]) -> Path:
    """The path, after `write` filled a file beside it that then took its place."""
    return together({path: write})[0]


def together(files: Mapping[Path, Callable[[Path], Any]]) -> tuple[Path, ...]:
    """The paths, after files beside them were filled that then took their places: all of them, or on a full disk none,
    so that what stood there stays as it was."""
    beside = {path: path.with_name(f".{path.name}.{secrets.token_hex(4)}") for path in files}
    path = next(iter(files))
    try:
        for path, write in files.items():
            write(beside[path])
        for path in files:
            os.replace(beside[path], path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        for left in beside.values():
            left.unlink(missing_ok=True)
    return tuple(files)
