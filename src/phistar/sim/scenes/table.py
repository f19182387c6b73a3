"""A table of a scene file, read key by key: every mistake is a sentence with the file and the key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from phistar.errors import FileError
from phistar.spatial import Pose
from phistar.spatial.value import LARGEST

_MISSING = object()


def _is_number(value: Any) -> bool:
    """Whether it is one that can be computed with; whole numbers of TOML may have any number of digits."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST < value < LARGEST


class Table:
    """What stands under one heading. Keys are taken; `done` refuses those that nobody asked for."""

    def __init__(self, content: Any, where: str) -> None:
        self.where = where
        if not isinstance(content, Mapping):
            raise FileError(f"{where}: a table was expected; it is {content!r:.100}.")
        self._content, self._asked = dict(content), set()

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def __len__(self) -> int:
        return len(self._content)

    def wrong(self, key: str, expected: str) -> FileError:
        return FileError(f"{self.where}, {key}: {expected} was expected; it is {self._content.get(key)!r:.100}.")

    def take(self, key: str, default: Any = _MISSING) -> Any:
        """The value as it stands."""
        self._asked.add(key)
        if key not in self._content and default is _MISSING:
            raise FileError(f"{self.where}: {key} is missing.")
        return self._content.get(key, default)

    def text(self, key: str, default: Any = _MISSING, choices: Sequence[str] = ()) -> Any:
        value = self.take(key, default)
        if key not in self:
            return value
        if not isinstance(value, str) or not value:
            raise self.wrong(key, "a text")
        if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in value):
            raise self.wrong(key, "a text without control characters")
        if choices and value not in choices:
            raise self.wrong(key, f"one of {', '.join(choices)}")
        return value

    def number(self, key: str, default: Any = _MISSING, low: float = -np.inf, high: float = np.inf) -> Any:
        """A finite number with low ≤ value ≤ high."""
        value = self.take(key, default)
        if key not in self:
            return value
        if not _is_number(value):
            raise self.wrong(key, "a number")
        if not low <= value <= high:
            raise self.wrong(
                key, f"a number from {low:g} to {high:g}" if high < np.inf else f"a number from {low:g} on"
            )
        return float(value)

    def flag(self, key: str, default: bool = False) -> bool:
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def vector(self, key: str, size: int | None, default: Any = _MISSING) -> Any:
        """`size` finite numbers, or any number of them."""
        value = self.take(key, default)
        if key not in self:
            return value
        wanted = f"a list of {size if size is not None else 'some'} numbers"
        if not isinstance(value, list) or not all(map(_is_number, value)):
            raise self.wrong(key, wanted)
        if size is not None and len(value) != size:
            raise self.wrong(key, wanted)
        return np.array(value, dtype=float)

    def pose(self) -> Pose:
        """xyz in m and rpy in rad, each zero unless given."""
        return Pose(xyz=self.vector("xyz", 3, np.zeros(3)), rpy=self.vector("rpy", 3, np.zeros(3)))

    def table(self, key: str) -> Table:
        """The table under a key; an empty one where there is none."""
        return Table(self.take(key, {}), f"{self.where}, [{key}]")

    def tables(self, key: str) -> Iterator[Table]:
        """The tables of a list [[key]]."""
        content = self.take(key, [])
        if not isinstance(content, list):
            raise self.wrong(key, f"a list of tables, [[{key}]],")
        for number, item in enumerate(content, start=1):
            name = item.get("name") if isinstance(item, Mapping) else None
            yield Table(item, f"{self.where}, [[{key}]] {name[:60] if isinstance(name, str) else number}")

    def rest(self) -> dict[str, Any]:
        """Everything that was not asked for yet."""
        left = {key: value for key, value in self._content.items() if key not in self._asked}
        self._asked.update(left)
        return left

    def done(self) -> None:
        """Refuses keys that nobody asked for."""
        for key in self._content:
            if key not in self._asked:
                near = get_close_matches(str(key), sorted(self._asked), n=1)
                known = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(self._asked))}."
                raise FileError(f"{self.where}: {key!s:.100} is not known here; {known}")
