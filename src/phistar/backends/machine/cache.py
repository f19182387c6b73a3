"""Object code on disk: the second start compiles nothing. So with programs: the second robot derives nothing.

An entry is a checksum, a JSON header and the object. A damaged object can crash a process or run silently wrong, so
nothing is loaded whose checksum does not fit; entries are written whole or not at all, for their owner only.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache as once
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from phistar.errors import FileError

_log = logging.getLogger("phistar")
FORMAT = 3
LARGEST = 512 * 2**20  # bytes; beyond, what was least lately used goes
SUFFIX, PROGRAM, NOTE, PIECES, UNFINISHED = ".kernel", ".program", ".note", ".pieces", ".unfinished"


def directory() -> Path | None:
    """Folder of the cache; None when PHISTAR_CACHE is "off" or the user has no home."""
    given = os.environ.get("PHISTAR_CACHE", "")
    if given:
        return None if given.lower() == "off" else Path(os.path.expanduser(given))
    windows = sys.platform == "win32"
    place = os.environ.get("LOCALAPPDATA" if windows else "XDG_CACHE_HOME")
    if place:
        return Path(place) / "phistar"
    try:
        return Path.home().joinpath(*(("AppData", "Local") if windows else (".cache",)), "phistar")
    except RuntimeError:  # a user without an entry in the system's list
        return None


def key(*parts: Any) -> str:
    """A name for an entry: what it was made from, with what generator."""
    state = hashlib.sha256()
    for part in (FORMAT, _generator(), *parts):
        text = part if isinstance(part, bytes) else repr(part).encode()
        state.update(str(len(text)).encode() + b":" + text)
    return state.hexdigest()


@once
def _generator() -> str:
    """The state of the code that makes code: any edit of the package invalidates what older versions made.

    Reading every module would be half of a start, so a note says what they came to with these inodes, sizes and times.
    """
    import llvmlite

    import phistar

    files = list(_sources(os.path.dirname(os.path.abspath(phistar.__file__))))
    state = hashlib.sha256(f"{FORMAT} {llvmlite.__version__}".encode())
    for path, status in files:
        times = f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
        state.update(f"{path} {times}\n".encode())
    seen = state.hexdigest()
    found = load("sources", NOTE)
    if found is not None and found[0].get("seen") == seen:
        return found[0]["generator"]
    generator = _contents(llvmlite.__version__, [path for path, _ in files])
    store("sources", {"seen": seen, "generator": generator}, b"", NOTE)
    return generator


def contents_of(*places: str) -> str:
    """Digest of modules of the package, or of all modules of a folder of it."""
    package = os.path.dirname(os.path.abspath(sys.modules["phistar"].__file__ or ""))
    paths = [os.path.join(package, *place.split("/")) for place in places]
    found = ([path] if path.endswith(".py") else [each for each, _ in _sources(path)] for path in paths)
    return _contents("", [path for each in found for path in each])


def _contents(version: str, paths: list[str]) -> str:
    state = hashlib.sha256(version.encode())
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        state.update(f"{os.path.basename(path)}:{len(content)}:".encode())
        state.update(content)
    return state.hexdigest()


def _sources(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """The package's modules in a fixed order; every start pays for this, so it does without `Path`."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                yield entry.path, os.stat(entry.path)
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _sources(entry.path)


def load(name: str, suffix: str = SUFFIX) -> tuple[dict[str, Any], bytes] | None:
    """Header and object of an entry, or None if there is none that can be trusted."""
    folder = directory()
    if folder is None or not _private(folder):
        return None
    path = folder / f"{name}{suffix}"
    try:
        data = _read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("The cached kernel %s cannot be used (%s); it is compiled again.", path, error.strerror)
        return None
    checksum, rest = data[:32], data[32:]
    if _checksum(name, rest) != checksum:
        _log.warning("The cached kernel %s is damaged or not what its name says; it is compiled again.", path)
        return None
    with suppress(OSError):
        os.utime(path)  # used lately
    header, _, code = rest.partition(b"\n")
    return json.loads(header), code


def store(name: str, header: dict[str, Any], code: bytes, suffix: str = SUFFIX) -> None:
    """Write an entry; a cache that cannot be written is a log message, never an error."""
    folder = directory()
    if folder is None:
        return
    import tempfile  # for those who write

    rest = json.dumps(header).encode() + b"\n" + code
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _private(folder):
            _log.warning("%s can be written by others, so kernels are not kept there; make it private.", folder)
            return
        handle, temporary = tempfile.mkstemp(suffix=UNFINISHED, dir=folder)  # readable by its owner only
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_checksum(name, rest) + rest)
            os.replace(temporary, folder / f"{name}{suffix}")
            _trim()
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        _log.warning("Compiled kernels cannot be kept in %s: %s", folder, error)


@once
def _trim() -> None:
    """Bring a cache that has grown beyond LARGEST to half of it, at a process's first entry."""
    found = []
    for path in (path for suffix in (SUFFIX, PROGRAM, PIECES, UNFINISHED) for path in _files(suffix)):
        with suppress(FileNotFoundError):  # another process clears too
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    goal = total if total <= LARGEST else LARGEST // 2
    for _, size, path in sorted(found):
        if total <= goal:
            return
        path.unlink(missing_ok=True)
        total -= size


def sizes() -> list[int]:
    """The bytes of every kernel."""
    return [path.stat().st_size for path in _files(SUFFIX)]


def clear() -> int:
    """Remove all entries and what interrupted processes left; return the number of kernels."""
    entries = _files(SUFFIX)
    for path in (*entries, *(path for suffix in (PROGRAM, NOTE, PIECES, UNFINISHED) for path in _files(suffix))):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise FileError(f"{path} cannot be removed: {error.strerror or error}.") from error
    return len(entries)


def _files(suffix: str) -> list[Path]:
    folder = directory()
    return (
        [] if folder is None or not folder.is_dir() else sorted(x for x in folder.glob(f"*{suffix}") if not x.is_dir())
    )


def _checksum(name: str, rest: bytes) -> bytes:
    """Digest of an entry's name and content: an entry copied to another name is invalid."""
    return hashlib.sha256(name.encode() + b"\n" + rest).digest()


def _read(path: Path) -> bytes:
    """Read a regular file that only this user can write; links are not followed."""
    kinds = ("O_NOFOLLOW", "O_BINARY", "O_NONBLOCK")  # a pipe is refused, not waited for
    handle = os.open(path, reduce(or_, (getattr(os, kind, 0) for kind in kinds), os.O_RDONLY))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _own(status):
            raise PermissionError(errno.EPERM, "others can write it")
        return file.read()


def _private(folder: Path) -> bool:
    """Whether nobody else can put code there."""
    try:
        return _own(folder.stat())
    except OSError:
        return False


def _own(status: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):
        return True  # Windows: the user's folders are private by inheritance
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
