"""Certificates as files: a stranger's is of bounded size, and its numbers are such that replaying it ends."""

import json
import re
from pathlib import Path
from typing import Any

from phistar.errors import FileError
from phistar.safe_files import read_text

LARGEST, MOST_PARTS, MOST_FRAMES = 16 * 2**20, 200_000, 12
_NUMBER = re.compile(r"-?\d{1,200}(/[1-9]\d{0,199})?")


def read_certificate(file: Path) -> dict[str, Any]:
    """Return what a certificate says, or refuse a file that is none."""
    try:
        data = json.loads(read_text(file, "a certificate of phistar", LARGEST))
    except (ValueError, RecursionError):
        data = {}
    if not isinstance(data, dict) or (data.get("format"), data.get("format_version")) != ("phistar certificate", 1):
        raise FileError(f"{file} is no certificate of phistar, format version 1.")
    frames = data["mechanism"].get("frames") if isinstance(data.get("mechanism"), dict) else None
    if type(frames) is not int or not 0 < frames <= MOST_FRAMES:
        raise FileError(f"{file}: a certificate's mechanism has 1 to {MOST_FRAMES} frames, not {str(frames)[:40]}.")
    _check_parts(data, file)
    return data


def spelled(x: list[Any], symbols: list[dict[str, Any]]) -> str:
    """An operator in words: what was checked, not what the file says of itself."""
    match x:
        case ["sym", i]:
            return str(symbols[i]["name"])
        case ["adj", inner]:
            return f"({spelled(inner, symbols)}).T" if inner[0] in ("mul", "add") else f"{spelled(inner, symbols)}.T"
        case ["inv", inner, _]:
            return f"inv({spelled(inner, symbols)})"
        case ["mul", *factors]:
            parts = [(y[0] == "add", spelled(y, symbols)) for y in factors]
            return " @ ".join(f"({part})" if is_sum else part for is_sum, part in parts)
        case ["add", *terms]:
            parts = [f"{c} * ({spelled(y, symbols)})" if c != "1" else spelled(y, symbols) for c, y in terms]
            return " + ".join(parts)
    return "I" if x[0] == "id" else "0"


def _check_parts(data: dict[str, Any], file: Path) -> None:
    """Refuse more parts than are replayed, and coefficients that are no fractions of a readable length."""
    left: list[Any] = [data]
    count = 0
    while left:
        part = left.pop()
        count += 1
        if isinstance(part, dict):
            _check_number(part.get("coefficient", "1"), file)
            left.extend(part.values())
        elif isinstance(part, list):
            if part[:1] == ["add"]:
                for term in part[1:]:
                    _check_number(term[0] if isinstance(term, list) and len(term) == 2 else None, file)
            left.extend(part)
        if count + len(left) > MOST_PARTS:
            raise FileError(f"{file}: the certificate has more than {MOST_PARTS} parts, the most that are replayed.")


def _check_number(number: Any, file: Path) -> None:
    if not isinstance(number, str) or not _NUMBER.fullmatch(number):
        raise FileError(f"{file}: {str(number)[:40]} is no coefficient; a fraction such as -1/2 was expected.")
