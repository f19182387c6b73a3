"""Motion with contact over time: steps of one length, or as long as the tolerance allows; events are logged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import ceil, isfinite
from typing import Any, NamedTuple

import numpy as np

from phistar.constraints import columns as c
from phistar.errors import PhistarError
from phistar.plant.session import Diverged, PlantState, Session, Stuck
from phistar.sim.extrapolation import Tried, long_step
from phistar.sim.step_records import Step, told
from phistar.sim.trajectory import Event
from phistar.sim.world import Penetration, World

Control = Callable[[float, np.ndarray, np.ndarray], Any]  # (t, q, v) → joint forces (nv,)
Into = Callable[[Session, float, np.ndarray, np.ndarray], None]  # gives a session what drives its next step

ORDER = 5
LARGEST_TURN = 0.2  # rad or m that a joint may change in one step
SHORTEST = 1e-10  # s
FASTEST = 1e6  # rad/s and m/s: no mechanism moves so fast; what does has diverged
LAST = 1e-5  # of the margin: nearer to it, what leaves has left


class Missed(PhistarError):
    """A tolerance that no step is short enough for."""


class Touching(NamedTuple):
    """The pairs in touch, those of them that slip, and the stops that push."""

    pairs: frozenset[int] = frozenset()
    slipping: frozenset[int] = frozenset()
    stops: frozenset[int] = frozenset()


NOTHING = Touching()


class Moment(NamedTuple):
    """A point of a motion: its time and state, what touches, the smallest gap, how long a step is wanted next; the step
    that led there from the state `before` in `length` seconds (none at the start), and the events of that step."""

    time: float
    state: PlantState
    touching: Touching
    nearest: float
    wanted: float
    before: PlantState
    length: float = 0.0
    step: Step | None = None
    events: tuple[Event, ...] = ()


class Motion:
    """A world in motion under `control(t, q, v)`, by steps of one length or to the tolerances rtol and atol. In place
    of a control, `into` gives the session what drives it; without either it keeps the forces and servos it has."""

    def __init__(
        self,
        world: World,
        control: Control | None = None,
        rtol: float = 1e-6,
        atol: float = 1e-9,
        longest: float = 0.1,
        session: Session | None = None,
        into: Into | None = None,
    ) -> None:
        self._into = into
        self.world, self.control, self.rtol, self.atol, self.longest = world, control, rtol, atol, longest
        self.session = session or world.session()
        self._now: PlantState | None = None

    def moments(self, start: PlantState, begin: float, stops: Iterable[float]) -> Iterator[Moment]:
        """Yield moments from `begin` on, exactly at all `stops`, which rise."""
        yield from self.onward(self.first(start, begin, min(self.longest, 1e-3)), stops)

    def fixed(self, start: PlantState, begin: float, stops: Iterable[float], step: float) -> Iterator[Moment]:
        """The same by steps of one length (or a little less, to arrive at the stops), without error control."""
        yield from self.onward_by(step, self.first(start, begin, step), stops)

    def first(self, start: PlantState, begin: float, step: float) -> Moment:
        """First moment of a motion. Bodies that touch or overlap by less than their margin are let apart slowly; those
        that intersect are refused."""
        nearest = self._looked(start, step)
        table = self._contacts
        if len(table):
            deep = np.argmin(table[:, c.GAP] + table[:, c.MARGIN])
            gap, margin = table[deep, [c.GAP, c.MARGIN]]
            if gap <= -margin:
                depth = f" by {-gap:.3g} m" if gap < -margin else ""  # of hulls no more is known than that they overlap
                raise Penetration(
                    f"At t = {begin:.6g} s {self._pair_name(int(deep))} intersect{depth}. Start them apart."
                )
        self._now = None
        return Moment(begin, start, NOTHING, nearest, step, start)

    def here(self, begin: float, step: float) -> Moment:
        """First moment at the session's present state, whatever overlaps there."""
        model, engine = self.world.model, self.session.engine
        self._now = PlantState(engine.q[: model.nq].copy(), engine.v[: model.nv].copy())
        return Moment(begin, self._now, NOTHING, np.inf, step, self._now)

    def now(self) -> PlantState:
        """Current state with the memory of contacts, to be saved and resumed from."""
        return self.session.state()

    def onward(self, moment: Moment, stops: Iterable[float]) -> Iterator[Moment]:
        """Yield the moments after one, the same whether it was just reached or read from a file."""
        ahead = iter(stops)
        end, wanted = next(ahead, None), moment.wanted
        while end is not None:
            time, state = moment.time, moment.state
            if time >= end:
                end = next(ahead, None)
                continue
            step = min(wanted, end - time, self._limit(state, min(wanted, end - time)))
            tried = long_step(self.world, self.session, state, self._drive, time, step, self.rtol, self.atol)
            if tried is not None and self._looked(tried.state, step) <= 0.0:
                tried = None
            if tried is None or not (tried.error <= 1.0 or self._may_bounce_or_not(tried, step, state)):
                wanted = self._shorter(tried, step, time, state)
                continue
            grown = step * float(np.clip(0.9 * max(tried.error, 1e-10) ** (-1.0 / ORDER), 0.2, 4.0))
            wanted = min(max(grown, wanted if tried.error < 0.1 else 0.0), self.longest)  # a cut step tells little
            until = end if time + step >= end - SHORTEST else time + step
            self._now = None
            moment = self._arrived(moment, tried.step, tried.state, until, wanted)
            yield moment

    def onward_by(self, step: float, moment: Moment, stops: Iterable[float]) -> Iterator[Moment]:
        """The same by steps of one length."""
        for end in stops:
            count, origin = max(1, ceil((end - moment.time) / step - 1e-9)), moment.time
            short = (end - origin) / count
            for k in range(1, count + 1):
                moment = self._plain_step(moment, end if k == count else origin + k * short, short)
                yield moment

    def _plain_step(self, moment: Moment, until: float, length: float) -> Moment:
        time, state, session = moment.time, moment.state, self.session
        if state is not self._now:
            session.load(state)
        engine, self._now = session.engine, None
        try:
            self._drive(session, time, state.q, state.v)
            session.advance(length)
        except Diverged as error:
            raise Diverged(f"At t = {time:.6g} s {self._stuck(state, length, error)}") from None
        after = PlantState(engine.q[: len(state.q)].copy(), engine.v[: len(state.v)].copy())
        moved = self._arrived(moment, told(self.world, session, length), after, until, moment.wanted)
        self._now = after
        return moved

    def _arrived(self, moment: Moment, step: Step, after: PlantState, time: float, wanted: float) -> Moment:
        v, begun = after.v, moment.time
        if not float(v @ v) < FASTEST**2:
            raise Diverged(self._diverging(begun, time, v))
        before = moment.touching
        touching = _touching(step, before)
        events = _events(self.world, begun, time, step, before, touching)
        return Moment(time, after, touching, step.nearest, wanted, moment.state, time - begun, step, events)

    def _drive(self, session: Session, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """The controller's joint forces, checked."""
        if self._into is not None:
            self._into(session, t, q, v)
        if self.control is None:
            return
        tau = np.asarray(self.control(t, q, v), dtype=float)
        if tau.shape != v.shape or not isfinite(tau @ tau):
            count = len(v)
            what = f"shape {tau.shape}" if tau.shape != (count,) else f"{tau.tolist()}"
            raise PhistarError(f"At t = {t:.6g} s the controller gives {what}; it must give ({count},) finite numbers.")
        session.engine.force[: len(v)] = tau

    # Near and far

    @property
    def _contacts(self) -> np.ndarray:
        engine = self.session.engine
        return engine.tables["contacts"][: engine.counts[c.CONTACTS]]

    def _looked(self, state: PlantState, step: float) -> float:
        """The smallest gap of a state, ∞ where nothing may touch within a step; fills the contact tables."""
        self.session.load(state)
        self.session.engine.look(step)
        nearest = float(self.session.engine.numbers[c.NEAREST])
        return nearest if nearest < 1e299 else np.inf

    def _limit(self, state: PlantState, step: float) -> float:
        """No joint changes by more than LARGEST_TURN; what comes near arrives at its margin first, (d − ε)/(−ḋ)
        (WD89 §2.5), and what leaves does too: short steps that all end outside would miss its last push."""
        fastest = float(np.max(np.abs(state.v), initial=0.0))
        limit = LARGEST_TURN / fastest if fastest > 0.0 else np.inf
        self._looked(state, min(step, limit))
        table = self._contacts
        if len(table):
            margin, rates = table[:, c.MARGIN], table[:, c.RATE + 2]
            outside = table[:, c.GAP] + table[:, c.OFFSET] - margin
            arriving = (outside > 1e-3 * margin) & (rates < 0.0) | (outside < -LAST * margin) & (rates > 0.0)
            if np.any(arriving):
                limit = min(limit, 0.999 * float(np.min(-outside[arriving] / rates[arriving])))
        return max(limit, 10 * SHORTEST)

    def _pair_name(self, contact: int) -> str:
        a, b = self.session.engine.tables["contact_wholes"][contact, [c.SHAPE_A, c.SHAPE_B]]
        return self.world.pair_name(int(self.world.pair_numbers[0][a, b]))

    def _nearest(self, state: PlantState, step: float) -> str:
        """Name the pair that meets first at present rates; where none closes, the nearest."""
        self._looked(state, step)
        table = self._contacts
        if not len(table):
            return f"the joints of {self.world.model.name} and their stops"
        return self._pair_name(int(np.argmin(table[:, c.GAP] / np.maximum(-table[:, c.RATE + 2], 1e-12))))

    # What cannot go on

    def _may_bounce_or_not(self, tried: Tried, step: float, state: PlantState) -> bool:
        """Whether a step misses the tolerance because a contact closes at the very speed below which nothing bounces:
        however short it is, one half of the steps bounces and the other does not, and both are as right."""
        jump = float(np.max(np.abs(tried.state.v - state.v), initial=0.0))
        return step < SHORTEST and jump < 4.0 * float(self.session.engine.numbers[c.SLOWEST])

    def _shorter(self, tried: Tried | None, step: float, time: float, state: PlantState) -> float:
        if step < SHORTEST:
            raise Missed(
                f"At t = {time:.6g} s the motion cannot go on: steps of {step:.1e} s still miss the tolerance; "
                f"nearest to meeting are {self._nearest(state, step)}. Give their surface more strength, which "
                "fast bodies need, or loosen rtol."
            )
        if tried is None or not np.isfinite(tried.error):
            return 0.25 * step
        return step * float(np.clip(0.9 * tried.error ** (-1.0 / ORDER), 0.1, 0.7))

    def _stuck(self, state: PlantState, length: float, error: Diverged) -> str:
        if isinstance(error, Stuck):
            return (
                f"{self._nearest(state, length)} cannot be kept apart in steps as short as {length / 2**14:.1e} s: "
                "they come too fast for their surface. Raise its strength to about m v²/(10 margin), in N."
            )
        return "joint rates grow beyond all numbers. Are the forces or the gains meant to be so large?"

    def _diverging(self, begun: float, time: float, v: np.ndarray) -> str:
        worst = int(np.argmax(np.where(np.isfinite(v), np.abs(v), np.inf)))
        body = next(body for body in self.world.model.bodies if worst in body.rates)
        name = f"a mode of {body.name}" if worst >= body.joint.v_slice.stop else body.joint.name
        return (
            f"At t = {begun:.6g} s the motion diverges: {name} reaches {abs(v[worst]):.3g} rad/s or m/s in the "
            f"step of {time - begun:.3g} s. Take a shorter step or a tolerance (rtol) if springs or gains are too "
            "stiff for it; else look for what feeds energy in."
        )


def _touching(step: Step, before: Touching) -> Touching:
    stops = frozenset(step.stops)
    if not len(step.pair):
        found = Touching(stops=stops) if stops else NOTHING
        return before if found == before else found
    on = step.normal > 0.0
    sliding = on & (step.met[:, c.MET_SLIDES] > 0.0)
    found = Touching(frozenset(step.pair[on].tolist()), frozenset(step.pair[sliding].tolist()), stops)
    return before if found == before else found


def _events(
    world: World, begun: float, ended: float, step: Step, before: Touching, after: Touching
) -> tuple[Event, ...]:
    """Events of a step: touches at their moment, the rest at the step's end. A bounce within a step is a touch and a
    release."""
    met = frozenset(step.pair.tolist()) if len(step.pair) else frozenset[int]()
    if after is before and met <= after.pairs:
        return ()
    touched, both = sorted(met - before.pairs), before.pairs & after.pairs
    when = dict(zip(step.pair.tolist(), step.met[:, c.MET_WHEN].tolist(), strict=True))
    joints = world.stops[1]
    found = [Event(min(begun + when[i], ended), "touch", world.pair_name(i)) for i in touched]
    others = [
        ("release", (before.pairs | met) - after.pairs, world.pair_name),
        ("slip", after.slipping - before.slipping, world.pair_name),
        ("stick", (before.slipping - after.slipping) & both, world.pair_name),
        ("limit", after.stops - before.stops, joints.__getitem__),
        ("release", before.stops - after.stops, joints.__getitem__),
    ]
    return (*found, *(Event(ended, what, name(i)) for what, those, name in others for i in sorted(those)))
