"""Recorder of a run: rows over time, events, extremes, and the books of the audit; in the end a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.constraints import columns as c
from phistar.contact.surface import normal_energy
from phistar.plant.robot_view import motions_of
from phistar.plant.session import Session
from phistar.sim.audit import Books
from phistar.sim.course_events import CodedEvents, Codes, read_log
from phistar.sim.driving import Driving
from phistar.sim.experiment import Experiment
from phistar.sim.kept_samples import Samples, join_samples, samples_of, take_samples
from phistar.sim.motion import Moment
from phistar.sim.run_summary import summary_of
from phistar.sim.sampled_contacts import contacts_of
from phistar.sim.trajectory import Event, Trajectory
from phistar.sim.world import World

Row = dict[str, Any]
NOTHING = {
    "met_pair": np.zeros(0, int),
    "met_normal": np.zeros(0),
    "contact_pair": np.zeros(0, int),
    "contact_point": np.zeros((0, 3)),
    "contact_vector": np.zeros((0, 3)),
    "contact_moment": np.zeros((0, 3)),
}


class Recorder:
    """A run so far. `rows` has one dict a sample, the same names in each; `blocks` and `codes` have the samples and the
    events that the compiled loop kept by itself after them."""

    def __init__(self, experiment: Experiment, world: World, session: Session, driving: Driving) -> None:
        self.experiment, self.world, self.session, self.driving = experiment, world, session, driving
        self.books = Books()
        self.rows: list[Row] = []
        self.events: list[Event] = []
        self.blocks, self.codes = list[Samples](), list[Codes]()
        self.phases: list[tuple[float, str]] = []
        self.nearest, self.lowest, self.peak = np.inf, np.inf, 0.0
        self.unsettled = 0, 0.0  # steps whose forces had not settled, and by which part of them at most
        self.held = np.ones(len(experiment.watches), dtype=bool)  # of each watch: at every step since the last row
        self.given: dict[int, float] = {}  # normal impulses of pairs since the last row, N s
        self.between = 0.0, 0.0, 0  # largest residual, largest error and number of steps since the last row
        self.is_open = False  # whether the joint forces of the last row are those of the step that follows
        self._seen: Any = None

    def continue_with(self, world: World, session: Session) -> None:
        """Record another plant's steps: the same parts, with other loops."""
        self.world, self.session = world, session

    def add(self, moment: Moment) -> None:
        """Log a step."""
        step = moment.step
        assert step is not None
        if self.experiment.audit:
            self.books = self.books.add(step)
        if moment.events:
            self.events += moment.events
        if step.unsettled:
            self.unsettled = self.unsettled[0] + 1, max(self.unsettled[1], step.unsettled)
        residual, error, count = self.between
        self.between = max(residual, step.residual), max(error, step.error or 0.0), count + step.count
        if step.nearest < self.nearest:
            self.nearest = step.nearest
            self.lowest = min(self.lowest, step.nearest)
        if len(step.met):
            self.peak = max(self.peak, step.peak)
            for pair, impulse in zip(step.pair.tolist(), step.met[:, c.MET_NORMAL].tolist(), strict=True):
                self.given[pair] = self.given.get(pair, 0.0) + impulse
        if len(self.held) and moment.touching is not self._seen:
            self._seen = moment.touching
            self.held &= [not own.isdisjoint(moment.touching.pairs) for own in self.experiment.watches]
        if self.is_open:
            self.is_open = False
            self.session.forces(step.part, self.rows[-1]["tau"])

    def log_sample(self, moment: Moment) -> None:
        """Log a controller sample, whose phase may have changed."""
        phase = self.driving.phase
        if self.driving.controller is not None and (not self.phases or self.phases[-1][1] != phase):
            self.phases.append((moment.time, phase))

    def keep(self, moment: Moment, sensed: Mapping[str, np.ndarray], broken: bool = False) -> Row:
        """Append a row and reset what is counted between rows; a broken law is not called again."""
        q, v = moment.state.q, moment.state.v
        row: Row = {"t": moment.time, "q": q, "v": v, "tau": self._forces(moment, broken)}
        row |= self._contacts(moment)
        row |= {"given_pair": np.array(list(self.given), int), "given": np.array(list(self.given.values()), float)}
        row["residual"], row["error"], row["steps"] = self.between
        row |= {"distance": min(self.nearest, moment.nearest), "held_contacts": self._watched_touches(moment)}
        if self.experiment.audit:
            books = self.books
            row |= {"work": books.work, "throughput": books.throughput, "loss": books.loss, "outside": books.impulse}
            row["stored"] = self._elastic_energy()
        row["sensed"] = dict(sensed)
        if self.driving.controller is not None:
            row |= {"phase": self.driving.phase, "facts": self.driving.command.facts}
        self.rows.append(row)
        self.lowest = min(self.lowest, row["distance"])
        self.nearest, self._seen, self.given, self.between = np.inf, None, {}, (0.0, 0.0, 0)
        self.held = np.ones(len(self.held), dtype=bool)
        return row

    def take(self, times: list[float]) -> None:
        """Add the samples and events that the compiled loop kept by itself; `times` are those of all samples."""
        self.codes.append(read_log(self.world, self.session.engine.tables))
        count = len(self.rows) + sum(len(block.t) for block in self.blocks)
        made, extremes = take_samples(self.world, self.session, times[count:])
        self.blocks.append(made)
        steps, missed = self.unsettled
        self.unsettled = steps + extremes.unsettled, max(missed, extremes.missed)
        self.peak = max(self.peak, extremes.peak)
        self.lowest = min(self.lowest, float(made.distance.min(initial=np.inf)))

    @property
    def samples(self) -> Samples:
        """All samples as columns."""
        return join_samples([samples_of(self.rows), *self.blocks])

    def _forces(self, moment: Moment, broken: bool) -> np.ndarray:
        """Joint forces from a sample on. Where only the step that follows tells them, those of the last stand in for
        them until then."""
        found = None if broken else self.driving.forces_from(moment)
        self.is_open = found is None and not broken
        if found is not None:
            return found
        tau = np.zeros(self.world.model.nv)
        if moment.step is not None:
            self.session.forces(moment.step.part, tau)
        return tau

    def _watched_touches(self, moment: Moment) -> np.ndarray:
        now = [not own.isdisjoint(moment.touching.pairs) for own in self.experiment.watches]
        return self.held & np.array(now, dtype=bool)

    def _elastic_energy(self) -> float:
        """The elastic energy of the gaps, K_p(ε ln(ε/d) − (ε − d)) each."""
        engine = self.session.engine
        table = engine.tables["contacts"][: engine.counts[c.CONTACTS]]
        if not len(table):
            return 0.0
        gap = table[:, c.GAP] + table[:, c.OFFSET]
        if gap.min() <= 0.0:
            return np.nan  # of bodies that intersect, where a run cannot start
        return float(np.sum(normal_energy(table[:, c.MARGIN], table[:, c.STRENGTH], gap)))

    def _contacts(self, moment: Moment) -> Mapping[str, np.ndarray]:
        """Normal forces of the pairs that met, and pair, point, force and moment of each of their contacts."""
        step = moment.step
        if step is None or not len(step.pair):
            return NOTHING
        places = step.places_in(self.world)
        return {
            "met_pair": step.pair,
            "met_normal": step.normal,
            "contact_pair": places.pair,
            "contact_point": places.point,
            "contact_vector": places.force,
            "contact_moment": places.moment,
        }

    # The whole

    def trajectory(self, reason: str | None, wall: float) -> Trajectory:
        """The rows as a trajectory; `reason` says why the run could not go on."""
        rows, own, plant = self.rows, self.samples, self.experiment.plant
        labels, (contacts, impulse) = {}, contacts_of(self.world, own.contacts)
        signals = {"residual": own.residual, "distance": own.distance, "impulse": impulse}
        if self.experiment.timing.step is None:
            signals |= {"error": own.error, "steps": own.steps}
        if len(self.held):
            signals["held_contacts"] = np.array([row["held_contacts"] for row in rows])
        for name in rows[0]["sensed"]:
            signals[f"sensed/{name}"] = np.array([row["sensed"][name] for row in rows])
        if self.driving.controller is not None and any(row["phase"] for row in rows):
            labels["phase_names"] = tuple(dict.fromkeys(row["phase"] for row in rows))
            signals["phase"] = np.array([labels["phase_names"].index(row["phase"]) for row in rows])
        if self.driving.controller is not None:
            for name in dict.fromkeys(name for row in rows for name in row["facts"]):
                signals[f"facts/{name}"] = np.array([float(row["facts"].get(name, np.nan)) for row in rows])
        events = CodedEvents(self.world, self.codes) if self.codes else tuple(self.events)
        summary, audited = summary_of(self, reason, wall, own, len(events))
        return Trajectory(
            self.world.model, own.t, own.q, own.v, own.tau, contacts, events, signals | audited, plant.name,
            summary, labels, motions_of(plant),
        )  # fmt: skip
