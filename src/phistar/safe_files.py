"""Files of strangers, read safely: regular files of bounded size, never a device or a pipe, never a word more.

Everything that phistar reads (robots, meshes, scenes, rules, runs, checkpoints) passes here.
"""

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from phistar.errors import FileError

MEGABYTE = 1024 * 1024
LARGEST_TEXT = 64 * MEGABYTE
MOST_DOTS = 64
# Python's reader takes a time that grows with the square of a key's parts, and more: a.a.a. … of 100 kB never ends.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*+(?:{_PART}){{{MOST_DOTS}}}", re.MULTILINE)


def read_bytes(path: str | os.PathLike[str], what: str, largest: int) -> bytes:
    """Return the content of a regular file of at most `largest` bytes; `what` was expected, for the sentence."""
    try:
        _check_kind(Path(path).stat().st_mode, path, what)
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb", buffering=0) as stream:
            status = os.fstat(handle)  # asked again: what stands at the path may have been exchanged meanwhile
            _check_kind(status.st_mode, path, what)
            if status.st_size > largest:
                raise _too_large(path, what, largest)
            content = _read_at_most(stream, largest + 1)
    except (OSError, ValueError) as problem:
        raise _unreadable(path, what, problem) from None
    if len(content) > largest:  # a file of the kernel's tells no size beforehand
        raise _too_large(path, what, largest)
    return content


def check_file(path: str | os.PathLike[str], what: str, largest: int) -> None:
    """Refuse, for readers that open files themselves, what `read_bytes` would."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as problem:
        raise _unreadable(path, what, problem) from None
    _check_kind(status.st_mode, path, what)
    if status.st_size > largest:
        raise _too_large(path, what, largest)


def read_text(path: str | os.PathLike[str], what: str, largest: int = LARGEST_TEXT) -> str:
    """Return the text of a UTF-8 file under the same rules."""
    return decode(read_bytes(path, what, largest), str(path), what)


def decode(content: bytes, file: str, what: str) -> str:
    """Return UTF-8 text, a mark at its start removed; else a sentence with the line."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise FileError(
            f"{file}:{line}: this is not UTF-8 text (byte 0x{content[problem.start]:02x}); "
            f"{what} was expected: save it as UTF-8."
        ) from None


def parse_toml(text: str, file: str, what: str) -> dict[str, Any]:
    """Return what TOML text says; `what` it is for the sentence where it is none."""
    try:
        if _LONG_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except RecursionError:
        raise FileError(f"{file}: tables and lists are nested too deeply for {what}.") from None
    except ValueError as problem:  # TOMLDecodeError is one, and so are numbers of too many digits
        raise FileError(f"{file}: {problem!s:.200}; {what} is a TOML file.") from None


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, symbolic links and `..` resolved, lies in a folder."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # too long a name, a character no path has, a loop of links
        return False


def _check_kind(mode: int, path: str | os.PathLike[str], what: str) -> None:
    if stat.S_ISDIR(mode):
        raise FileError(f"{path} is a folder; {what} was expected.")
    if not stat.S_ISREG(mode):  # a pipe or a device could block for ever or never end
        raise FileError(f"{path} is not a regular file; {what} was expected.")


def _unreadable(path: str | os.PathLike[str], what: str, problem: Exception) -> FileError:
    return FileError(f"{path} cannot be read ({getattr(problem, 'strerror', None) or problem}); {what} was expected.")


def _too_large(path: str | os.PathLike[str], what: str, largest: int) -> FileError:
    return FileError(f"{path} is larger than {largest / MEGABYTE:g} MB, the most that is read of {what}.")


def _read_at_most(stream: object, most: int) -> bytes:
    parts, left = [], most
    while left > 0 and (part := stream.read(min(left, MEGABYTE))):  # type: ignore[attr-defined]
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
