"""The folder of a campaign: a file per finished run, written whole, folded now and then into runs.parquet.

A process killed at any moment leaves complete files only, so nothing that had finished is lost.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from phistar.errors import FileError, PhistarError
from phistar.safe_files import MEGABYTE, check_file, is_inside, read_text
from phistar.sim.campaign.perform import Done
from phistar.sim.campaign.pools import own_version
from phistar.sim.campaign.run_rows import Row
from phistar.sim.campaign.sampling import plain
from phistar.sim.scenes.run_folder import whole

FORMAT_VERSION = 1
LARGEST, MOST_VALUES = 1024 * MEGABYTE, 100_000_000
FOLD_AFTER = 256  # parts: reading many small files takes long
OURS = re.compile(r"parts$|\.lock$|\.campaign\.json\.")  # a process killed at the very start leaves these
_log = logging.getLogger("phistar")


class Store:
    """Rows by run, and the files of them. `open` begins one, or takes one up."""

    def __init__(self, folder: Path, identity: Mapping[str, Any], rows: dict[int, Row], lock: Any) -> None:
        self.folder, self.identity, self.rows, self.loose, self.lock = folder, identity, rows, 0, lock

    @staticmethod
    def open(folder: Path, identity: Mapping[str, Any], resume: bool) -> Store:
        """A folder that is new or empty; with `resume` one that holds the same campaign, whose rows are read."""
        known = read_description(folder)
        if known is None and folder.is_dir() and any(not OURS.match(path.name) for path in folder.iterdir()):
            raise FileError(f"{folder} holds other things and no campaign; give another folder.")
        _make(folder)
        lock = _lock(folder)
        try:  # rows are read under the lock: another campaign may have added to them until a moment ago
            rows = _checked_rows(folder, identity, resume)
            _make(folder / "parts")
        except BaseException:
            _unlock(folder, lock)
            raise
        store = Store(folder, identity, rows, lock)
        for left in (*folder.glob(".*.parquet.*"), *folder.glob("parts/.*"), *folder.glob(".campaign.json.*")):
            left.unlink(missing_ok=True)  # what a killed process had not finished
        if not rows:
            store.describe({"complete": False})
        return store

    def add(self, done: Done) -> None:
        """A finished run: its files, then its row, so that a row never speaks of files that are not there."""
        run = done.row["run"]
        for name, content in done.files.items():
            place = self.folder / "kept" / f"{run:06d}"
            _make(place)
            whole(place / name, lambda path, content=content: path.write_bytes(content))
        self.rows[run] = done.row
        self.loose += 1
        whole(self.folder / "parts" / f"{run:08d}.parquet", lambda path: _write(path, [done.row]))
        if self.loose >= FOLD_AFTER:
            self.fold()

    def fold(self) -> Path:
        """Every row into runs.parquet, in the order of runs; the parts go when it stands."""
        rows = [self.rows[run] for run in sorted(self.rows)]
        path = whole(self.folder / "runs.parquet", lambda path: _write(path, rows))
        for part in (self.folder / "parts").glob("*.parquet"):
            part.unlink()
        self.loose = 0
        return path

    def describe(self, facts: Mapping[str, Any]) -> Path:
        """campaign.json: what the campaign is and what came of it."""
        facts = {"format_version": FORMAT_VERSION, "phistar": own_version(), **self.identity, **facts}
        text = json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        return whole(self.folder / "campaign.json", lambda path: path.write_text(text, "utf-8"))

    def close(self) -> None:
        """Folded, with no folder of parts left, and free for others."""
        if self.rows:
            self.fold()
        shutil.rmtree(self.folder / "parts", ignore_errors=True)
        _unlock(self.folder, self.lock)


def _checked_rows(folder: Path, identity: Mapping[str, Any], resume: bool) -> dict[int, Row]:
    """The rows that a folder holds already, of the same campaign."""
    known = read_description(folder)
    rows = {} if known is None else read_rows(folder)
    if rows and not resume:
        raise FileError(
            f"{folder} holds {len(rows)} runs of a campaign already; --resume does the rest of it, or give another "
            "folder."
        )
    if known is not None and rows:
        _compare(folder, known, identity)
    return rows


def read_rows(folder: Path) -> dict[int, Row]:
    """The rows of a campaign's folder by run, finished or not; a part that cannot be read counts as not done."""
    parquet = _parquet()
    kept = folder / "runs.parquet"
    try:
        found = _rows_of(parquet, kept) if kept.exists() else {}
    except (OSError, ValueError, FileError) as error:
        raise FileError(f"{kept} is damaged ({error}); begin the campaign again in another folder.") from None
    for part in sorted((folder / "parts").glob("*.parquet")):
        try:
            found |= _rows_of(parquet, part)
        except (OSError, ValueError, FileError):
            _log.warning("%s is damaged; its run is done again.", part)
            part.unlink()
    return found


def _rows_of(parquet: Any, path: Path) -> dict[int, Row]:
    """The rows of one file, counted first: a few bytes of Parquet can stand for any number of equal ones."""
    check_file(path, "the runs of a campaign, in Parquet,", LARGEST)
    told = parquet.read_metadata(path)
    if told.num_rows * told.num_columns > MOST_VALUES:
        raise ValueError(f"{told.num_rows} rows of {told.num_columns} values are more than are read")
    rows = parquet.read_table(path).to_pylist()
    if not all(type(row.get("run")) is int and type(row.get("outcome")) is str for row in rows):
        raise ValueError("a row has no run or no outcome")
    return {row["run"]: row for row in rows}


def _write(path: Path, rows: Sequence[Row]) -> None:
    """A column for every name in any of the rows, empty where a row has none."""
    import pyarrow

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    _parquet().write_table(pyarrow.table(columns), path, compression="zstd")


def _column(values: list[Any]) -> Any:
    """Flags, whole numbers, numbers or texts: the narrowest that holds them all."""
    import pyarrow

    given = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in given):
        return pyarrow.array(values, pyarrow.bool_() if given else pyarrow.null())
    if all(isinstance(value, int | float) for value in given):
        whole_numbers = all(isinstance(value, int) for value in given)
        return pyarrow.array(values, pyarrow.int64() if whole_numbers else pyarrow.float64())
    return pyarrow.array([None if value is None else str(value) for value in values], pyarrow.string())


def _check_links(folder: Path) -> None:
    """Refuse a folder whose own files lie elsewhere: rows are added to it and removed from it."""
    for name in ("campaign.json", "runs.parquet", "parts", "kept"):
        if not is_inside(folder / name, folder):
            raise FileError(f"{folder / name} leads out of its folder; give another folder, or remove the link.")


def read_description(folder: Path) -> Mapping[str, Any] | None:
    """The campaign.json of a folder."""
    path = folder / "campaign.json"
    _check_links(folder)
    try:
        if folder.exists() and not folder.is_dir():
            raise FileError(f"{folder} is a file; a campaign needs a folder.")
        if not path.exists():
            return None
        known = json.loads(read_text(path, "the summary of a campaign"))
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"{path} cannot be read ({error}); give another folder.") from None
    if not isinstance(known, dict) or known.get("format_version") != FORMAT_VERSION:
        raise FileError(f"{path} is not of format_version {FORMAT_VERSION}, which this phistar reads.")
    return known


def _compare(folder: Path, known: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    kept: dict[str, Any] = {"sampling": "random", "vary": {}, **known}  # an earlier phistar knew no other
    if kept.get("scene") != identity["scene"]:
        what = f"the scene {kept.get('scene')}, not {identity['scene']}"
    elif kept.get("content") != identity["content"]:
        what = f"another state of the scene {kept['scene']}: its file, or one that it names, has changed since"
    elif kept.get("seed") != identity["seed"]:
        what = f"seed {kept.get('seed')}, not {identity['seed']}"
    elif kept["sampling"] != identity["sampling"]:
        what = f"another spread of its runs ({kept['sampling']}, not {identity['sampling']})"
    elif kept["vary"] != identity["vary"]:
        what = f"other varied values ({plain(kept['vary']):.100}, not {plain(identity['vary']):.100})"
    else:
        return
    raise FileError(f"{folder} holds a campaign of {what}; give another folder.")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"The folder {folder} cannot be made: {error.strerror}.") from None


def _lock(folder: Path) -> Any:
    """An open file that no second campaign in the same folder gets; the system frees it when a process ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    path = folder / ".lock"
    while True:
        try:
            # Never through a link, which a stranger's folder may have made to a file elsewhere, and nothing is cut off.
            file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644), "r+")
        except OSError as error:
            raise FileError(f"{path} cannot be written: {error.strerror}.") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                return file
            file.close()  # removed by the one before between opening and locking: a third would lock another file
        except FileNotFoundError:
            file.close()
        except OSError:
            file.close()
            raise FileError(f"A campaign is running in {folder} at this moment; wait for it or stop it.") from None


def _unlock(folder: Path, lock: Any) -> None:
    if lock is not None:
        (folder / ".lock").unlink(missing_ok=True)
        lock.close()


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise PhistarError(
            "Campaigns keep their rows by the package pyarrow: pip install 'phistar[campaign]'."
        ) from None
    return pyarrow.parquet
