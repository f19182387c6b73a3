"""Object code on disk: the second start compiles nothing.

An entry is a checksum, a JSON header and the object. A damaged object can crash a process or run silently wrong, so
nothing is loaded whose checksum does not fit; entries are written whole or not at all, for their owner only.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import sys
import tempfile
from functools import cache as once
from pathlib import Path
from typing import Any

_log = logging.getLogger("phistar")
FORMAT = 1


def directory() -> Path | None:
    """Where entries are kept; None when PHISTAR_CACHE is "off"."""
    given = os.environ.get("PHISTAR_CACHE", "")
    if given.lower() == "off":
        return None
    if given:
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "phistar" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "phistar"


def key(*parts: Any) -> str:
    """A name for an entry: what it was made from, with what generator."""
    state = hashlib.sha256()
    for part in (FORMAT, _generator(), *parts):
        text = part if isinstance(part, bytes) else repr(part).encode()
        state.update(str(len(text)).encode() + b":" + text)
    return state.hexdigest()


@once
def _generator() -> str:
    """The state of the code that makes code: any edit of the package invalidates what older versions made."""
    import llvmlite

    package = Path(__file__).resolve().parent.parent
    files = sorted(package.rglob("*.py"))
    marks = [f"{path.relative_to(package)}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files]
    return llvmlite.__version__ + "\n".join(marks)


def load(name: str) -> tuple[dict[str, Any], bytes] | None:
    """Header and object of an entry, or None if there is none that can be trusted."""
    folder = directory()
    if folder is None or not _private(folder):
        return None
    try:
        data = (folder / f"{name}.kernel").read_bytes()
    except OSError:
        return None
    checksum, rest = data[:32], data[32:]
    if hashlib.sha256(rest).digest() != checksum:
        _log.warning("The cached kernel %s is damaged; it is compiled again.", name[:12])
        return None
    header, _, code = rest.partition(b"\n")
    return json.loads(header), code


def store(name: str, header: dict[str, Any], code: bytes) -> None:
    """Write an entry; a cache that cannot be written is a log message, never an error."""
    folder = directory()
    if folder is None:
        return
    rest = json.dumps(header).encode() + b"\n" + code
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _private(folder):
            _log.warning("%s can be written by others, so kernels are not kept there; make it private.", folder)
            return
        handle, temporary = tempfile.mkstemp(dir=folder)  # readable by its owner only
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(rest).digest() + rest)
        os.replace(temporary, folder / f"{name}.kernel")
    except OSError as error:
        _log.warning("Compiled kernels cannot be kept in %s: %s", folder, error)


def clear() -> int:
    """Remove every entry; how many there were."""
    folder = directory()
    if folder is None or not folder.is_dir():
        return 0
    entries = list(folder.glob("*.kernel"))
    for entry in entries:
        entry.unlink(missing_ok=True)
    return len(entries)


def _private(folder: Path) -> bool:
    """Whether nobody else can put code there."""
    try:
        status = folder.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
