"""Motion with contact over time: steps of one length, or as long as the tolerance allows; events are logged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil, isfinite
from typing import Any, NamedTuple

import numpy as np

from phistar.constraints import columns as c
from phistar.errors import PhistarError
from phistar.plant import course_columns as k
from phistar.plant.sample_loop import FASTEST
from phistar.plant.session import Diverged, PlantState, Session, Stuck
from phistar.sim.course_events import NOTHING, Touching, name_events, note_touching, read_log, touching_of
from phistar.sim.extrapolation import Extrapolation
from phistar.sim.step_records import Step, last_step
from phistar.sim.trajectory import Event
from phistar.sim.world import Penetration, World

Control = Callable[[float, np.ndarray, np.ndarray], Any]  # (t, q, v) → joint forces (nv,)
Into = Callable[[Session, float, np.ndarray, np.ndarray], None]  # gives a session what drives its next step


class Missed(PhistarError):
    """A tolerance that no step is short enough for."""


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


class Arrival(NamedTuple):
    """Events on the way to a time, the largest error of a step in units of the tolerance, and how many there were."""

    events: Sequence[Event]
    error: float
    steps: int


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
        self._crossed: PlantState | None = None  # where `across` ended last
        self._known: PlantState | None = None  # was loaded, and so checked
        drive = None if control is None and into is None else self._drive
        self._long = Extrapolation(self.session, atol + rtol, longest, drive)

    def moments(self, start: PlantState, begin: float, stops: Iterable[float]) -> Iterator[Moment]:
        """Yield moments from `begin` on, exactly at all `stops`, which rise."""
        yield from self.onward(self.first(start, begin, min(self.longest, 1e-3)), stops)

    def fixed(self, start: PlantState, begin: float, stops: Iterable[float], step: float) -> Iterator[Moment]:
        """The same by steps of one length (or a little less, to arrive at the stops), without error control."""
        yield from self.onward_by(step, self.first(start, begin, step), stops)

    def first(self, start: PlantState, begin: float, step: float, known: bool = False) -> Moment:
        """First moment of a motion from a state, which may be `known` to be one of the plant. Bodies that touch or
        overlap by less than their margin are let apart slowly; those that intersect are refused."""
        nearest = self._look(start, step, known)
        self._known = start
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
        note_touching(self.world, engine.tables, NOTHING)
        return Moment(begin, self._now, NOTHING, np.inf, step, self._now)

    def now(self) -> PlantState:
        """Current state with the memory of contacts, to be saved and resumed from."""
        return self.session.state()

    def onward(self, moment: Moment, stops: Iterable[float]) -> Iterator[Moment]:
        """Yield the moments after one, the same whether it was just reached or read from a file."""
        self._load(moment)
        self._long.begin(moment.time, moment.wanted)
        for end in stops:
            while moment.time < end:
                moment = self._long_step(moment, end, True)
                yield moment

    def begin(self, time: float, wanted: float) -> None:
        """Prepare `samples`: the session's present state is that of a time, and a step is wanted."""
        self._now = None
        note_touching(self.world, self.session.engine.tables, NOTHING)
        self._long.begin(time, wanted)

    def stand(self, moment: Moment) -> None:
        """Prepare `across`: the session stands at a moment, with what is on its way where it was just reached."""
        if moment.state is not self._crossed:
            self._load(moment)
            self._now = None
            self._long.begin(moment.time, moment.wanted)

    def _load(self, moment: Moment) -> None:
        """The session at a moment, unless it is there; with what touches."""
        if moment.state is not self._now:
            self.session.load(moment.state, known=moment.state is self._known)
            note_touching(self.world, self.session.engine.tables, moment.touching)

    def across(self, moment: Moment, end: float) -> Moment:
        """The moment at `end`, of whose steps only the last is told; events are those of all."""
        arrival, engine = self.to(end), self.session.engine
        numbers = self._long.numbers.tolist()
        step = last_step(self.world, self.session, numbers[k.TOOK])._replace(error=arrival.error, count=arrival.steps)
        self._now = PlantState(engine.q[: len(moment.state.q)].copy(), engine.v[: len(moment.state.v)].copy())
        self._crossed = self._now
        touching = self._touching(moment.touching, bool(arrival.events))
        ended = end, self._now, touching, step.nearest, numbers[k.WANTED]
        return Moment(*ended, moment.state, end - moment.time, step, tuple(arrival.events))

    def to(self, end: float) -> Arrival:
        """Go on from where the last call ended, or from where it began, without telling every step."""
        events: list[Event] = []
        error, steps, why = 0.0, 0, k.NO_MORE_KEPT
        while why == k.NO_MORE_KEPT:
            begun = float(self._long.numbers[k.TIME])
            why, numbers = self._long.advance(end, False), self._long.numbers
            error, steps = max(error, float(numbers[k.LARGEST])), steps + self._long.steps_made
            events += self._take_events()
            v, time = self.session.engine.v, float(numbers[k.TIME])
            if why == k.TOO_SHORT:
                self._refuse_step(time, float(numbers[k.WANTED]))
            if not float(v @ v) < FASTEST**2:
                raise Diverged(self._diverging(begun, time, v))
        return Arrival(events, error, steps)

    def _take_events(self) -> tuple[Event, ...]:
        """Events since the last call."""
        return name_events(self.world, read_log(self.world, self.session.engine.tables))

    def _touching(self, before: Touching, is_other: bool) -> Touching:
        """Pairs that touch now; where nothing happened, those that touched before."""
        return touching_of(self.world, self.session.engine.tables) if is_other else before

    def samples(self, first: int, last: int, step: float, take: Callable[[], None]) -> None:
        """Go on to the samples from `first` to `last`, `step` seconds apart. `take` is called where there may be
        samples and events in the session's tables."""
        self._long.sample(first, last, step)
        why = k.NO_MORE_KEPT
        while why != k.ARRIVED:
            begun = float(self._long.numbers[k.TIME])
            why, numbers = self._long.advance_samples(), self._long.numbers
            take()
            time = float(numbers[k.TIME])
            if why == k.TOO_SHORT:
                self._refuse_step(time, float(numbers[k.WANTED]))
            if why == k.TOO_FAST:
                raise Diverged(self._diverging(begun, time, self.session.engine.v))

    def _refuse_step(self, time: float, length: float) -> None:
        """Raise what keeps the session from taking a step."""
        if self._long.tolerance > 0.0:
            raise Missed(self._tolerance_sentence(time, length))
        state = self.session.state()
        try:
            self.session.advance(length)
        except Diverged as error:
            raise Diverged(f"At t = {time:.6g} s {self._stuck_sentence(state, length, error)}") from None

    def _long_step(self, moment: Moment, end: float, each: bool) -> Moment:
        self._now = None
        why, numbers = self._long.advance(end, each), self._long.numbers.tolist()
        if why == k.TOO_SHORT:
            raise Missed(self._tolerance_sentence(numbers[k.TIME], numbers[k.WANTED]))
        step = last_step(self.world, self.session, numbers[k.TOOK])._replace(error=numbers[k.LARGEST])
        moved = self._arrive(moment, step, self.session.state(), numbers[k.TIME], numbers[k.WANTED])
        self._now = moved.state
        return moved

    def onward_by(self, step: float, moment: Moment, stops: Iterable[float]) -> Iterator[Moment]:
        """The same by steps of one length."""
        for end in stops:
            count, origin = max(1, ceil((end - moment.time) / step - 1e-9)), moment.time
            short = (end - origin) / count
            for number in range(1, count + 1):
                until = end if number == count else origin + number * short
                moment = self._plain_step(moment, until, short)
                yield moment

    def _plain_step(self, moment: Moment, until: float, length: float) -> Moment:
        time, state, session = moment.time, moment.state, self.session
        self._load(moment)
        engine, self._now = session.engine, None
        try:
            self._drive(session, time, state.q, state.v)
            self._long.advance_once(time, until, length)
        except Diverged as error:
            raise Diverged(f"At t = {time:.6g} s {self._stuck_sentence(state, length, error)}") from None
        after = PlantState(engine.q[: len(state.q)].copy(), engine.v[: len(state.v)].copy())
        moved = self._arrive(moment, last_step(self.world, session, length), after, until, moment.wanted)
        self._now = after
        return moved

    def _arrive(self, moment: Moment, step: Step, after: PlantState, time: float, wanted: float) -> Moment:
        v, begun = after.v, moment.time
        if not float(v @ v) < FASTEST**2:
            raise Diverged(self._diverging(begun, time, v))
        events = self._take_events()
        touching = self._touching(moment.touching, bool(events))
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

    def _look(self, state: PlantState, step: float, known: bool = False) -> float:
        """The smallest gap of a state, ∞ where nothing may touch within a step; fills the contact tables."""
        self.session.load(state, known)
        self.session.engine.look(step)
        nearest = float(self.session.engine.numbers[c.NEAREST])
        return nearest if nearest < 1e299 else np.inf

    def _pair_name(self, contact: int) -> str:
        a, b = self.session.engine.tables["contact_wholes"][contact, [c.SHAPE_A, c.SHAPE_B]]
        return self.world.pair_name(int(self.world.pair_numbers[0][a, b]))

    def _nearest(self, state: PlantState, step: float) -> str:
        """Name the pair that meets first at present rates; where none closes, the nearest."""
        self._look(state, step)
        table = self._contacts
        if not len(table):
            return f"the joints of {self.world.model.name} and their stops"
        return self._pair_name(int(np.argmin(table[:, c.GAP] / np.maximum(-table[:, c.RATE + 2], 1e-12))))

    # What cannot go on

    def _tolerance_sentence(self, time: float, step: float) -> str:
        return (
            f"At t = {time:.6g} s the motion cannot go on: steps of {step:.1e} s still miss the tolerance; "
            f"nearest to meeting are {self._nearest(self.session.state(), step)}. Give their surface more strength, "
            "which fast bodies need, or loosen rtol."
        )

    def _stuck_sentence(self, state: PlantState, length: float, error: Diverged) -> str:
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
