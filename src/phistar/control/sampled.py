"""A controller that lives in samples: what it senses and what it remembers go in, joint forces and a new memory come
out.

A memory is data alone (numbers, texts, arrays, tuples of them, frozen dataclasses and named tuples), never an object
that changes: a run stopped and taken up again from a file goes on as if it had not been stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

Memory = TypeVar("Memory")
NOTHING: Mapping[str, float] = MappingProxyType({})


class Switch(NamedTuple):
    """A change of phase: from what to what, and why, in words a person understands."""

    time: float
    before: str
    after: str
    reason: str


class Command(NamedTuple):
    """Joint forces (nv,) of the controller's model, the phase they belong to, the switches made in this sample, and
    numbers worth keeping, by name (the same names in every sample)."""

    tau: np.ndarray
    phase: str = ""
    switches: tuple[Switch, ...] = ()
    facts: Mapping[str, float] = NOTHING


class SampledController(Protocol[Memory]):
    """Pure: the same memory, time and readings give the same command."""

    @property
    def period(self) -> float:
        """The time between samples, s."""
        ...

    def start(self) -> Memory:
        """The memory before the first sample."""
        ...

    def command(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> tuple[Memory, Command]:
        """The memory after the sample at `t`, and what to do until the next; `sensed` has the readings by sensor."""
        ...
