"""Bounded cache by key: `functools.lru_cache` for results identified by less than their arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Recent(Generic[Made]):
    """Cache of at most `most` entries; evicts the least recently used."""

    def __init__(self, most: int = 64) -> None:
        self.most = most
        self._made: dict[Hashable, Made] = {}

    def __len__(self) -> int:
        return len(self._made)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the entry for this key, made now if missing."""
        found = self._made.pop(key, None)  # one step: other threads ask too
        self._made[key] = found = make() if found is None else found  # asked for last, so it stands last
        while len(self._made) > self.most:
            self._made.pop(next(iter(self._made)), None)
        return found
