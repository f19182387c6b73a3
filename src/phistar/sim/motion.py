"""Motion with contact over time: steps as long as the tolerance allows, cut where bodies come near, events logged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Any, NamedTuple

import numpy as np

from phistar.contact.gaps import Gaps, Penetration
from phistar.errors import PhistarError
from phistar.sim.extrapolation import Control, Tried, long_step
from phistar.sim.world import State, Step, World

ORDER = 5
LARGEST_TURN = 0.2  # rad or m that a joint may change in one step
SHORTEST = 1e-10  # s
LAST = 1e-5  # of the margin: nearer to it, what leaves has left
SLIPS = 0.999  # of μ f


class Event(NamedTuple):
    """What happened when: "touch", "release", "slip" or "stick" of a pair; "limit" or "release" of a joint."""

    time: float
    what: str
    where: str


class Touching(NamedTuple):
    """The pairs in touch, those of them that slip, and the stops that push; `seen` is what they were found from."""

    pairs: frozenset[int]
    slipping: frozenset[int]
    stops: frozenset[int]
    seen: tuple[Any, ...]


class Moment(NamedTuple):
    """A point of a motion: its time and state, the gaps there, what touches, how long a step is wanted next; the step
    that led there from the state `before` in `length` seconds (none at the start), and the events of that step."""

    time: float
    state: State
    ahead: Gaps
    touching: Touching
    wanted: float
    before: State
    length: float = 0.0
    step: Step | None = None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Motion:
    """A world in motion under `control(t, q, v)`, to the tolerances rtol and atol."""

    world: World
    control: Control
    rtol: float = 1e-6
    atol: float = 1e-9
    longest: float = 0.1

    def moments(self, start: State, begin: float, stops: Iterable[float]) -> Iterator[Moment]:
        """From `begin` on, through moments at all `stops`, which rise, exactly."""
        yield from self.onward(self.first(start, begin, min(self.longest, 1e-3)), stops)

    def fixed(self, start: State, begin: float, stops: Iterable[float], step: float) -> Iterator[Moment]:
        """The same by steps of one length (or a little less, to arrive at the stops), without a look at the error."""
        yield from self.onward_by(step, self.first(start, begin, step), stops)

    def first(self, start: State, begin: float, step: float) -> Moment:
        """Where a motion begins; bodies that intersect there are refused."""
        try:
            gaps = self.world.gaps(start, step)
        except Penetration as error:
            raise Penetration(f"At t = {begin:.6g} s {error} Start them apart.") from None
        return Moment(begin, start, gaps, _touching(self.world, start, None, None), step, start)

    def onward(self, moment: Moment, stops: Iterable[float]) -> Iterator[Moment]:
        """Moments that follow one; the same whether it was the last of others or comes from a file."""
        time, state, gaps, before, wanted = moment[:5]
        ahead = iter(stops)
        end = next(ahead, None)
        while end is not None:
            if time >= end:
                end = next(ahead, None)
                continue
            step = min(wanted, end - time, self._limit(state, gaps))
            tried = long_step(self.world, state, gaps, self._driven, time, step, self.rtol, self.atol)
            if tried is None or tried.error > 1.0 or not np.isfinite(tried.error):
                wanted = self._shorter(tried, step, time, state, gaps)
                continue
            grown = step * float(np.clip(0.9 * max(tried.error, 1e-10) ** (-1.0 / ORDER), 0.2, 4.0))
            wanted = min(max(grown, wanted if tried.error < 0.1 else 0.0), self.longest)  # a cut step tells little
            begun, time = time, end if time + step >= end - SHORTEST else time + step
            moment = self._arrived(tried.step, begun, time, state, gaps, before, wanted)
            _, state, gaps, before, wanted = moment[:5]
            yield moment

    def onward_by(self, step: float, moment: Moment, stops: Iterable[float]) -> Iterator[Moment]:
        """The same by steps of one length."""
        time, state, gaps, before, wanted = moment[:5]
        for end in stops:
            count = max(1, ceil((end - time) / step - 1e-9))
            short, origin = (end - time) / count, time
            for k in range(1, count + 1):
                try:
                    made = self.world.advance(state, self._driven(time, state.q, state.v), short, gaps)
                except Penetration as error:
                    raise Penetration(f"At t = {time:.6g} s {error}") from None
                begun, time = time, end if k == count else origin + k * short
                moment = self._arrived(made, begun, time, state, gaps, before, wanted)
                _, state, gaps, before, _ = moment[:5]
                yield moment

    def _arrived(
        self, step: Step, begun: float, time: float, state: State, gaps: Gaps, before: Touching, wanted: float
    ) -> Moment:
        after = _touching(self.world, step.state, step, before)
        events = _events(self.world, begun, time, (state, gaps), before, after)
        return Moment(time, step.state, step.ahead, after, wanted, state, time - begun, step, events)

    def _driven(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The controller's joint forces, checked."""
        tau = np.asarray(self.control(t, q, v), dtype=float)
        if tau.shape != v.shape or not isfinite(tau @ tau):
            count = len(v)
            what = f"shape {tau.shape}" if tau.shape != (count,) else f"{tau.tolist()}"
            raise PhistarError(f"At t = {t:.6g} s the controller gives {what}; it must give ({count},) finite numbers.")
        return tau

    def _shorter(self, tried: Tried | None, step: float, time: float, state: State, gaps: Gaps) -> float:
        if step < SHORTEST:
            raise PhistarError(
                f"At t = {time:.6g} s the motion cannot go on: steps of {step:.1e} s still miss the tolerance; "
                f"nearest to meeting are {self.world.nearest(state, gaps)}. Give their surface more strength, which "
                "fast bodies need, or loosen rtol."
            )
        known = tried is not None and np.isfinite(tried.error)
        return step * (float(np.clip(0.9 * tried.error ** (-1.0 / ORDER), 0.1, 0.7)) if known else 0.25)  # type: ignore[union-attr]

    def _limit(self, state: State, gaps: Gaps) -> float:
        """No joint changes by more than LARGEST_TURN; what comes near arrives at its margin first, (d − ε)/(−ḋ)
        (WD89 §2.6), and what leaves does too: short steps that all end outside would miss its last push."""
        fastest = float(np.max(np.abs(state.v), initial=0.0))
        limit = LARGEST_TURN / fastest if fastest > 0.0 else np.inf
        margin = self.world.parameters.margin[gaps.slot]
        outside, rates = gaps.distance - margin, self.world.closing(state, gaps)
        arriving = (outside > 1e-3 * margin) & (rates < 0.0) | (outside < -LAST * margin) & (rates > 0.0)
        if np.any(arriving):
            limit = min(limit, 0.999 * float(np.min(-outside[arriving] / rates[arriving])))
        return max(limit, 10 * SHORTEST)


def _touching(world: World, state: State, step: Step | None, before: Touching | None) -> Touching:
    far = step is not None and step.forces is None and not any(step.stops.tolist())
    if far and before is not None and not (before.pairs or before.stops):
        return before  # nothing was near, and nothing is
    touching, sliding = state.touch_speed > 0.0, ()
    if step is not None and step.forces is not None:
        sliding = _sliding(step.gaps.slots, step.forces.table.tolist(), world.frictions)
    stops = b"" if step is None else (step.stops > 0.0).tobytes()
    seen = touching.tobytes(), sliding, stops
    if before is not None and before.seen == seen:
        return before
    pairs, numbers = frozenset(world.pairs.of_slot[touching].tolist()), world.pairs.of_slot[list(sliding)]
    pushing = frozenset(np.frombuffer(stops, dtype=bool).nonzero()[0].tolist())
    return Touching(pairs, pairs & frozenset(numbers.tolist()), pushing, seen)


def _sliding(slots: tuple[int, ...], forces: list[list[float]], frictions: list[float]) -> tuple[int, ...]:
    """The slots whose friction is at its limit, μ f."""
    found = []
    for slot, (x, y, pressing, *_) in zip(slots, forces, strict=True):
        limit = SLIPS * frictions[slot] * pressing
        if pressing > 0.0 and x * x + y * y > limit * limit:
            found.append(slot)
    return tuple(found)


def _arrivals(world: World, state: State, gaps: Gaps) -> dict[int, float]:
    """When, from now, each pair that comes near is at its margin: (d − ε)/(−ḋ)."""
    outside = gaps.distance - world.parameters.margin[gaps.slot]
    coming = outside > 0.0
    if not np.any(coming):
        return {}
    after = outside[coming] / np.maximum(-world.closing(state, gaps)[coming], 1e-12)
    pairs = world.pairs.of_slot[gaps.slot[coming]]
    found: dict[int, float] = {}
    for pair, wait in zip(pairs.tolist(), after.tolist(), strict=True):
        found[pair] = min(wait, found.get(pair, np.inf))
    return found


def _events(
    world: World, begun: float, ended: float, start: tuple[State, Gaps], before: Touching, after: Touching
) -> tuple[Event, ...]:
    """What changed in a step; a touch at the moment that it was foreseen for, the rest at the step's end."""
    if after is before:
        return ()
    both, names = before.pairs & after.pairs, [pair.name for pair in world.pairs.pairs]
    touched = sorted(after.pairs - before.pairs)
    arrivals = _arrivals(world, *start) if touched else {}
    found = [Event(min(begun + arrivals.get(i, np.inf), ended), "touch", names[i]) for i in touched]
    others = [
        ("release", before.pairs - after.pairs, names),
        ("slip", after.slipping - before.slipping, names),
        ("stick", (before.slipping - after.slipping) & both, names),
        ("limit", after.stops - before.stops, world.limits.names),
        ("release", before.stops - after.stops, world.limits.names),
    ]
    return (*found, *(Event(ended, what, where[i]) for what, those, where in others for i in sorted(those)))
