"""A motion to a tolerance, in segments of smooth motion: between changes of dry friction, stops, charts and loops."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from phistar.errors import PhistarError
from phistar.loops.residual import project
from phistar.sim.charts import BACK, GOOD, Chart
from phistar.sim.coordinates import Coordinates
from phistar.sim.joint_drives import Drives
from phistar.sim.joint_stops import Stops, stopped_rates
from phistar.sim.passive import Passive
from phistar.sim.sample_and_hold import Held
from phistar.sim.stepping import Segment, integrate_span
from phistar.sim.sticking import Force, Sticking
from phistar.sim.topology import Latch, Release, apply_change
from phistar.sim.trajectory import Event

FEWEST_STEPS = 50  # so that a control that acts for a moment is not stepped over, and a plot has points
MOST_CHANGES = 100  # of dry friction at one instant


class Piece(NamedTuple):
    """Samples of a motion: t (T,), q (T, nq), v (T, nv), rates of the spanning tree, and the work done (T,)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    rates: np.ndarray
    work: np.ndarray


class Course:
    """The integration in segments of smooth motion, in a chart where the model is in independent rates."""

    def __init__(
        self,
        drives: Drives,
        force: Force,
        rtol: float,
        atol: float,
        length: float,
        changes: tuple[Latch | Release, ...] = (),
        stops: Stops | None = None,
    ) -> None:
        self.stops, self.ways = stops, np.zeros(drives.model.nv)
        self.drives, self.model, self.force, self.length = drives, drives.model, force, length
        self.changes, self.events, self.told_changes = list(changes), list[Event](), list[dict[str, Any]]()
        self.options = {"rtol": rtol, "atol": atol, "max_step": length / FEWEST_STEPS or np.inf}
        self.enter(Chart(self.model, self.model, GOOD))

    def enter(self, chart: Chart) -> None:
        """Go on in the rates of a chart."""
        passive = Passive(chart.model)

        def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            given = self.drives.forces(self.force(t, q, chart.to_model_rates(q, v)))
            return chart.forces(q, given) + passive.smooth(q, v)

        drives = replace(self.drives, model=chart.model) if np.any(self.drives.is_prescribed) else None

        def chart_force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return self.drives.prescribed_accelerations(chart.model, self.force(t, q, chart.to_model_rates(q, v)))

        self.chart, self.coordinates = chart, Coordinates(chart.model)
        self.motion = Sticking(chart.model, force, drives, chart_force)
        self.rest_at(self.ways)

    def rest_at(self, ways: np.ndarray) -> None:
        """Joints rest at these stops from here on, (nv,): −1 the lower, 1 the upper, 0 none."""
        self.ways = ways
        if self.stops is not None:
            self.motion = replace(self.motion, stops=tuple(ways.tolist()))

    def let_go(self, t: float, left: np.ndarray, ways: np.ndarray) -> None:
        """Of joints at stops, some leave."""
        if self.stops is not None:
            self.events += [Event(t, "release", self.stops.name(rate)) for rate in np.flatnonzero(left).tolist()]
        self.rest_at(np.where(left, 0.0, ways))

    def stop(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state after joints have come to rest at their stops."""
        q, v = self.coordinates.split(x[:-1])
        arrived = np.zeros(0) if self.stops is None else np.where(self.ways == 0.0, self.stops.at(q, v), 0.0)
        if not arrived.any() or self.stops is None:
            return x
        ways = self.ways + arrived
        after = stopped_rates(self.motion.answers(self.coordinates.unit(q)), v, ways)
        self.events += [Event(t, "limit", self.stops.name(rate)) for rate in np.flatnonzero(arrived).tolist()]
        self.let_go(t, (ways != 0.0) & (after != 0.0), ways)
        x = self.settle(np.concatenate([self.stops.seat(q, ways), after, x[-1:]]))
        self.coordinates.split(x[:-1])[1][self.ways != 0.0] = 0.0  # closing loops leaves a last digit
        return x

    def meet(self, t: float, x: np.ndarray, at: int) -> np.ndarray:
        """The state after a latch or release."""
        change = self.changes.pop(at)
        q, v = self.coordinates.split(x[:-1])
        made = apply_change(self.model, change, self.coordinates.unit(q), v)
        self.events.append(made.event(t, change))
        self.told_changes.append(made.summary_entry(t, change))
        self.model = made.model
        self.enter(Chart(made.model, made.model, GOOD))
        return np.concatenate([made.q, made.v, x[-1:]])

    def due(self, t: float) -> float:
        """The next time that a change is set for, after t."""
        return min((max(c.when, t) for c in self.changes if not callable(c.when)), default=np.inf)

    def switch_chart(self, x: np.ndarray, needed: float) -> np.ndarray:
        """The state in the chart that is good there, which is entered."""
        q, v = self.coordinates.split(x[:-1])
        rates = self.chart.tree_rates(q, v)
        self.enter(Chart.at(self.model, q, needed, (*self.drives.prescribed, *self.drives.locked)))
        return np.concatenate([q, self.chart.to_chart_rates(rates), x[-1:]])

    def to_piece(self, t: np.ndarray, x: np.ndarray) -> Piece:
        """Samples (T, nq + nv + 1) of the chart as the model's own, their loops closed."""
        x = self.settle(x)
        q, v = self.coordinates.split(x[:, :-1])
        q = self.coordinates.unit(q)
        return Piece(t, q, self.chart.to_model_rates(q, v), self.chart.tree_rates(q, v), x[:, -1].copy())

    def pieces(self, x: np.ndarray, wanted: np.ndarray | None, held: Held | None) -> Iterator[Piece]:
        """The motion piece by piece; forces that are held change between the pieces."""
        if wanted is None or (len(wanted) and wanted[0] == 0.0):
            yield self.to_piece(np.zeros(1), x[None])
        if self.model.embedding is not None:
            x = self.switch_chart(x, GOOD)
        x = self.stop(0.0, x)
        times = [0.0, self.length] if held is None else held.times(self.length)
        for begin, end in pairwise(times):
            if held is not None:
                q, v = self.coordinates.split(x[:-1])
                q = self.coordinates.unit(q)
                held.sample(begin, q, self.chart.to_model_rates(q, v))
            x = yield from self.segments(begin, end, x, wanted)

    def segments(
        self, t: float, end: float, x: np.ndarray, wanted: np.ndarray | None
    ) -> Generator[Piece, None, np.ndarray]:
        """The samples of each segment of smooth motion, one where two meet given once; the state at the end."""
        changes, modes = 0, self.decide(t, x)
        while t < end:
            stop = min(end, self.due(t))
            if stop == t:
                x = self.meet(t, x, next(i for i, c in enumerate(self.changes) if not callable(c.when) and c.when <= t))
                modes = self.decide(t, x)
                continue
            ahead = None if wanted is None else wanted[(wanted > t) & (wanted <= stop)]
            found = self.solve(t, stop, x, modes, ahead)
            yield self.to_piece(found.t, found.x)
            if found.failure is not None:
                raise found.failure
            after, x = found.end
            if not found.events:
                t = stop
                continue
            changes = changes + 1 if after <= t + 1e-12 * self.length else 0
            t = after
            if changes > MOST_CHANGES:
                raise PhistarError(f"Dry friction does not settle at t = {t:.6g} s; is the control discontinuous?")
            x, modes = self.after(t, x, modes, found.events)
        return x

    def after(self, t: float, x: np.ndarray, modes: np.ndarray, events: tuple[int, ...]) -> tuple[np.ndarray, Any]:
        """State and modes after the margins of a segment that were used up at its end."""
        dry = [i for i in events if i < len(self.motion.dry)]
        if len(dry) == len(events):
            return self.change(t, x, modes, self.motion.dry[dry])
        first = max(events) - len(self.motion.dry) - (self.model.embedding is not None)
        if first < 0:
            x = self.switch_chart(x, BACK)
        elif first == sum(callable(change.when) for change in self.changes):
            x = self.stop(t, x)
        else:
            x = self.meet(t, x, [i for i, change in enumerate(self.changes) if callable(change.when)][first])
        return x, self.decide(t, x)

    def solve(self, t: float, end: float, x: np.ndarray, modes: np.ndarray, wanted: np.ndarray | None) -> Segment:
        motion, split, unit = self.motion, self.coordinates.split, self.coordinates.unit

        def rate(t: float, x: np.ndarray) -> np.ndarray:
            if not np.isfinite(x).all():
                return np.full_like(x, np.nan)  # a step too long, tried beyond all numbers: the method takes a shorter
            q, v = split(x[:-1])
            acceleration, power = motion.accelerate(t, unit(q), v, modes)
            return np.concatenate([self.coordinates.rate(q, v), acceleration, [power]])

        def margin(dof: int) -> Any:
            def value(t: float, x: np.ndarray) -> float:
                q, v = split(x[:-1])
                return motion.margin(t, unit(q), v, modes, dof)

            return value

        margins = [margin(dof) for dof in motion.dry]
        if self.model.embedding is not None:
            margins.append(lambda t, x: self.chart.margin(unit(split(x[:-1])[0])))
        for when in (change.when for change in self.changes if callable(change.when)):
            margins.append(lambda t, x, when=when: float(when(t, unit(split(x[:-1])[0]), split(x[:-1])[1])))
        if (stops := self.stops) is not None:
            margins.append(lambda t, x: stops.margin(split(x[:-1])[0], self.ways))
        with np.errstate(over="ignore", invalid="ignore"):
            found = integrate_span(rate, (t, end), x, wanted, self.settle, margins, self.options)
        return found

    def settle(self, x: np.ndarray) -> np.ndarray:
        """States (…, nq + nv + 1) with their loops closed."""
        model = self.motion.model
        if model.embedding is not None:
            q = model.embedding.closing(self.coordinates.unit(self.coordinates.split(x[..., :-1])[0]))
            return np.concatenate([q, x[..., model.nq :]], axis=-1)
        if not model.loops:
            return x
        q, v = self.coordinates.split(x[..., :-1])
        q, v = project(model, self.coordinates.unit(q), v)
        return np.concatenate([q, v, x[..., -1:]], axis=-1)

    def decide(self, t: float, x: np.ndarray) -> np.ndarray:
        q, v = self.coordinates.split(x[:-1])
        modes = self.motion.decide(t, self.coordinates.unit(q), v)
        left = (self.ways != 0.0) & (modes != 0.0)
        if left.any():
            self.let_go(t, left, self.ways)
        return modes

    def change(self, t: float, x: np.ndarray, modes: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """State and modes after the dofs `at` came to rest or broke loose."""
        resting = np.concatenate([at, self.motion.stuck_joints(modes)])
        x = x.copy()
        q, v = self.coordinates.split(x[:-1])
        v[resting], q[...] = 0.0, self.coordinates.unit(q)
        x = self.settle(x)
        self.coordinates.split(x[:-1])[1][resting] = 0.0  # closing loops leaves a last digit, which is no direction
        return x, self.decide(t, x)
