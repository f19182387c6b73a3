"""Contestants timed in turn, in many short runs: what disturbs the machine disturbs all of them alike.

A long run is interrupted more often than a short one, so the runs of all contestants must be about equally long.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import numpy as np

SHORTEST_RUN = 1e-3  # seconds; the clock's own error is then below a thousandth
FEWEST_ROUNDS = 3


@dataclass(frozen=True)
class Contestant:
    """A call, and how many states it works on."""

    call: Callable[[], Any]
    states: int


@dataclass(frozen=True)
class Timing:
    """Nanoseconds per state: of the best run, which noise can only lengthen, and of the middle one."""

    best: float
    median: float


def contest(contestants: Mapping[str, Contestant], seconds: float) -> dict[str, Timing]:
    """A B C A B C … for about `seconds`; each run repeats its call until it is long enough to be timed."""
    repeats = {name: _repeats(each.call, seconds) for name, each in contestants.items()}
    runs: dict[str, list[float]] = {name: [] for name in contestants}
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < FEWEST_ROUNDS or time.perf_counter() < end:
        for name, each in contestants.items():
            runs[name].append(_time_call(each.call, repeats[name]) / (repeats[name] * each.states))
        rounds += 1
    return {name: Timing(1e9 * min(times), 1e9 * statistics.median(times)) for name, times in runs.items()}


def _repeats(call: Callable[[], Any], seconds: float) -> int:
    _time_call(call, 1)  # what is made on the first call is not timed
    shortest = min(SHORTEST_RUN, seconds / FEWEST_ROUNDS)
    return max(1, round(shortest / max(_time_call(call, 1), 1e-9)))


def _time_call(call: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return time.perf_counter() - start


def calls_in_turn(call: Callable[..., Any], rows: list[tuple[np.ndarray, ...]]) -> Contestant:
    """A run of single Python calls, one per row of arguments; the loop itself is in C and costs all alike."""
    return Contestant(lambda: deque(starmap(call, rows), maxlen=0), len(rows))


def calls_for(dof: int) -> int:
    """Number of single calls that make a run of a millisecond or two, for a robot of this size."""
    return min(max(1500 // dof, 10), 200)


def rows_of(arrays: tuple[np.ndarray, ...], count: int) -> list[tuple[np.ndarray, ...]]:
    """Single states out of batches, each an array of its own."""
    return [tuple(array[i % len(array)].copy() for array in arrays) for i in range(count)]
