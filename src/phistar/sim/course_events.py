"""Events of a session's steps, touches and stops: codes that become words when somebody reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np

from phistar.plant import course_columns as k
from phistar.sim.trajectory import Event
from phistar.sim.world import World

WORDS = {
    k.MEETS: "touch",
    k.PARTS: "release",
    k.SLIPS: "slip",
    k.STICKS: "stick",
    k.MEETS_STOP: "limit",
    k.LEAVES_STOP: "release",
}


class Touching(NamedTuple):
    """The pairs in touch, those of them that slip, and the stops that push."""

    pairs: frozenset[int] = frozenset()
    slipping: frozenset[int] = frozenset()
    stops: frozenset[int] = frozenset()


NOTHING = Touching()


class Codes(NamedTuple):
    """Events as numbers (n,): when, what by `course_columns`, and of which pair or which stop of a world."""

    time: np.ndarray
    code: np.ndarray
    number: np.ndarray


NO_CODES = Codes(np.zeros(0), np.zeros(0, int), np.zeros(0, int))


def read_log(world: World, tables: Mapping[str, np.ndarray]) -> Codes:
    """The events logged since the last call, in the order of steps, kinds and numbers; the log is then empty. A touch
    has its own moment, the rest the end of its step; a bounce within a step is a touch and a release."""
    count = int(tables["course_wholes"][k.LOGGED])
    if not count:
        return NO_CODES
    tables["course_wholes"][k.LOGGED] = 0
    log, time = tables["log"][:count], tables["log_times"][:count]
    code, first, second = log[:, k.CODE], log[:, k.FIRST_CODED], log[:, k.SECOND_CODED]
    touches, number = code < k.MEETS_STOP, np.zeros(count, int)
    number[touches] = world.pair_numbers[0][first[touches], second[touches]]
    number[~touches] = np.searchsorted(world.stops[0], first[~touches])
    order = np.lexsort((number, code, log[:, k.STEP_LOGGED]))
    return Codes(time[order], code[order], number[order])


def touching_of(world: World, tables: Mapping[str, np.ndarray]) -> Touching:
    """Pairs that touch after the last step noted."""
    count = int(tables["course_wholes"][k.TOUCHES])
    a, b, slides = tables["touched"][:count, :3].T
    pairs = world.pair_numbers[0][a, b]
    stops = np.flatnonzero(tables["stopped"][world.stops[0]]).tolist() if len(world.stops[0]) else []
    return Touching(frozenset(pairs.tolist()), frozenset(pairs[slides > 0].tolist()), frozenset(stops))


def note_touching(world: World, tables: Mapping[str, np.ndarray], touching: Touching) -> None:
    """Go on from what touched before."""
    wholes, pairs = tables["course_wholes"], sorted(touching.pairs)
    wholes[[k.TOUCHES, k.LOGGED]], tables["stopped"][:] = (len(pairs), 0), 0
    if pairs:
        tables["touched"][: len(pairs), :2] = world.numbered_pairs[pairs]
        tables["touched"][: len(pairs), 2] = [pair in touching.slipping for pair in pairs]
    if touching.stops:
        tables["stopped"][world.stops[0][sorted(touching.stops)]] = 1


def name_events(world: World, codes: Codes) -> tuple[Event, ...]:
    """Events in words."""
    if not len(codes.time):
        return ()
    stops = world.stops[1]
    return tuple(
        Event(time, WORDS[code], stops[number] if code >= k.MEETS_STOP else world.pair_name(number))
        for time, code, number in zip(*(column.tolist() for column in codes), strict=True)
    )


class CodedEvents(Sequence[Event]):
    """Events whose words are made when one is read."""

    def __init__(self, world: World, parts: Sequence[Codes]) -> None:
        self._world, self._parts = world, parts

    @cached_property
    def _words(self) -> tuple[Event, ...]:
        return tuple(event for codes in self._parts for event in name_events(self._world, codes))

    def __len__(self) -> int:
        return sum(len(codes.time) for codes in self._parts)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._words[index]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._words == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._words)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._words,)
