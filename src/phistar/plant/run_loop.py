"""A plant through time: the control sampled at every step, the state, forces and contacts kept."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from phistar.constraints import columns as c
from phistar.errors import PhistarError, ShapeError
from phistar.model.names import unknown
from phistar.plant import course_columns as k
from phistar.plant.commands import Asking, command_of
from phistar.plant.loop_changes import Changes
from phistar.plant.measurements import Instant, Measurements
from phistar.plant.plant import Plant
from phistar.plant.robot_view import motions_of
from phistar.plant.session import PlantState, Session
from phistar.sim.motion import Motion
from phistar.sim.topology import Latch, Release
from phistar.sim.trajectory import Contacts, Event, Part, Stopped, Trajectory
from phistar.sim.world import World

_log = logging.getLogger("phistar")
FIRST = 1e-3  # s: the first step that is tried to a tolerance
_told: WeakKeyDictionary[Session, tuple[World, dict[str, Part]]] = WeakKeyDictionary()


def simulate_plant(
    plant: Plant,
    duration: float,
    control: Any = None,
    step: float = 0.002,
    q0: Any = None,
    v0: Any = None,
    start: PlantState | str | None = None,
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    changes: Sequence[Latch | Release] = (),
) -> Trajectory:
    """The motion of a plant from q0, v0 for `duration` seconds in steps of `step`; or from `start`, a state of the
    plant or the name of one of its keyframes.

    `control` is a function (t, q, v) or (t, q, v, sensed), asked once a step, forward in time, an object with
    step(t, sensed) (and reset(), called first), or a `ps.control.SampledController`; it gives a command, one entry per
    actuator. Readings of the sensors, whose noise is drawn from `seed`, are kept as `signals["sensed/NAME"]`. A run
    that cannot go on raises `Stopped`, which has the trajectory so far. Steps whose residual misses its tolerance are
    told to the logger. With `rtol` (and `atol`, by default a thousandth of it) `step` is the time between samples, and
    within it steps are as long as their error allows, rtol · (1 m or 1 rad) + atol in any place, now or 10 ms later at
    the rates found: `signals["error"]` has the largest in units of that, `signals["steps"]` how many there were.
    Without it `signals["impulse"]` (T, k) has what each of `contacts.pairs` gave along its normals in the step before a
    sample, N s, impacts included, which have no force. `changes` are latches and releases, which act at the first
    sample at which they are due: rates jump by the least kinetic energy, and `events` tell the impulse.
    """
    _check(plant, duration, step, control, rtol)
    session = plant.session
    session.load(_start(plant, q0, v0, start))
    asking = (
        None
        if control is None
        else Asking(control, step, lambda x: command_of(x, plant.actuators, plant.model, plant.name))
    )
    due = Changes(plant, changes)
    course = _Course(plant, session, step, rtol, atol)
    steps, measured = max(1, round(duration / step)), Measurements(plant, step, seed)
    record = _Record(plant, steps, step, measured, rtol is None, asking is not None)
    # Where nothing is told to the plant or read between samples, the compiled loop goes through all of them.
    alone = asking is None and not (changes or plant.sensors or plant.actuators or plant.fields)
    problem = None
    try:
        course.advance(0, 0, record)
        while (number := record.count - 1) < steps:
            after = due.after(number * step, session, record.events)
            if after is not None:
                session = after.session
                record.continue_with(after)
                course = _Course(after, session, step, rtol, atol, number * step)
            command = None if asking is None else asking.command(number, number * step, record.sensed)
            session.drive(command, h=step, time=number * step)
            course.advance(number + 1, steps if alone else number + 1, record)
    except PhistarError as error:  # what moved, or a controller
        told, number = str(error), record.count - 1
        problem = told if told.startswith("At t = ") else f"After {number * step:.6g} s: {told}"
    run = record.trajectory()
    _tell_unsettled(plant.name, record.unsettled, steps)
    if problem:
        raise Stopped(problem, run)
    return run


def _tell_unsettled(name: str, unsettled: int, steps: int) -> None:
    if unsettled:
        told = "The plant '%s': %d of %d steps ended before their forces had settled (run.signals['residual']); "
        _log.warning(told + "take a shorter step.", name, unsettled, steps)


def _told_by(plant: Plant) -> tuple[World, dict[str, Part]]:
    """The pairs of a plant's shapes, and its parts, which are numbered once for all runs of a session."""
    if plant.session not in _told:
        _told[plant.session] = World(plant.system), motions_of(plant)
    return _told[plant.session]


class _Course:
    """A plant's session in motion, from one sample to the next: by one step, or by steps that keep a tolerance."""

    def __init__(
        self, plant: Plant, session: Session, step: float, rtol: float | None, atol: float | None, begin: float = 0.0
    ) -> None:
        if rtol is not None:
            atol = 1e-3 * rtol if atol is None else atol
            if not (0.0 < rtol < 1.0 and 0.0 <= atol < np.inf):
                told = f"they are {rtol!r}, {atol!r}"
                raise ShapeError(f"Tolerances are rtol between 0 and 1 and atol of 0 or more; {told}.")
        self.session, self.step = session, step
        session.engine.counts[[c.MET, c.FAILED]], session.engine.numbers[c.RESIDUAL] = 0, 0.0  # of no step yet
        self.motion = Motion(_told_by(plant)[0], None, rtol or 0.0, atol or 0.0, session=session)
        self.motion.begin(begin, step if rtol is None else min(FIRST, step))

    def advance(self, first: int, last: int, record: _Record) -> None:
        """Advance to the samples from `first` to `last`, which are recorded."""
        engine = self.session.engine
        telling, engine.counts[c.TELLING] = engine.counts[c.TELLING], 1
        try:
            record.events += self.motion.samples(first, last, self.step, record.take)
        finally:
            engine.counts[c.TELLING] = telling


def _start(plant: Plant, q0: Any, v0: Any, start: PlantState | str | None) -> PlantState:
    if start is None:
        return plant.state(q0, v0)
    if q0 is not None or v0 is not None:
        raise PhistarError("A run starts from q0 and v0 or from start; it was given both.")
    if isinstance(start, PlantState):
        return start
    if start not in plant.keyframes:
        raise unknown("keyframe", start, list(plant.keyframes), plant.name)
    return plant.state(plant.keyframes[start].q, plant.keyframes[start].v)


def _check(plant: Plant, duration: float, step: float, control: Any, rtol: float | None) -> None:
    if rtol is not None and any(actuator.kind == "prescribed" for actuator in plant.actuators):
        raise PhistarError("Prescribed accelerations are held over a step of one length; leave rtol out.")
    if not (np.isfinite(duration) and duration > 0.0 and np.isfinite(step) and step > 0.0):
        raise ShapeError(f"A run needs a duration and a step greater than 0 s; it was given {duration!r} and {step!r}.")
    if control is not None and not plant.actuators:
        raise PhistarError(f"The plant '{plant.name}' has no actuators, and was given a control; see plant.actuate(…).")


class _Record:
    """Recorded samples; what touches is kept as it stands in the step's tables, and numbered at the end."""

    def __init__(
        self, plant: Plant, steps: int, step: float, measurements: Measurements, tells: bool, asked: bool
    ) -> None:
        self.plant, self.step, self.engine, self.count, self.unsettled = plant, step, plant.session.engine, 0, 0
        self.telling, self.engine.counts[c.TELLING] = self.engine.counts[c.TELLING], int(tells)
        self.measurements, self.asked, self.tells = measurements, asked, tells
        self.sensed: Mapping[str, np.ndarray] = {}
        self.readings: dict[str, list[np.ndarray]] = {sensor.name: [] for sensor in plant.sensors}
        nq, nv = plant.model.nq, plant.model.nv
        self.q, self.v, self.tau = np.zeros((steps + 1, nq)), np.zeros((steps + 1, nv)), np.zeros((steps + 1, nv))
        self.numbers = np.zeros((steps + 1, k.SAMPLE_FLOATS))
        self.counts = np.zeros((steps + 1, 2), dtype=int)  # of contacts that push, and of pairs that met
        self.pushing, self.pushing_shapes = [np.zeros((0, 15))], [np.zeros((0, 2), np.int64)]
        self.met, self.met_shapes = [np.zeros(0)], [np.zeros((0, 2), np.int64)]
        self.events: list[Event] = []

    def continue_with(self, plant: Plant) -> None:
        """Record another plant's steps: the same parts, with other loops."""
        tells, self.engine.counts[c.TELLING] = self.engine.counts[c.TELLING], self.telling
        self.plant, self.engine = plant, plant.session.engine
        self.engine.counts[c.TELLING] = tells

    def take(self) -> None:
        """Take the samples that the step's tables hold."""
        tables, wholes = self.engine.tables, self.engine.tables["course_wholes"]
        count, pushing, met = wholes[[k.SAMPLES, k.KEPT_PUSHING, k.KEPT_MET]].tolist()
        if not count:
            return
        rows = slice(self.count, self.count + count)
        width, nq = k.SAMPLE_FLOATS + self.q.shape[1] + self.v.shape[1], self.q.shape[1]
        table = tables["samples"][: count * width].reshape(count, width)
        self.numbers[rows], self.q[rows], self.v[rows] = np.split(table, [k.SAMPLE_FLOATS, k.SAMPLE_FLOATS + nq], 1)
        self.unsettled += int(self.numbers[rows, k.SAMPLE_UNSETTLED].sum())
        self.counts[rows] = tables["sample_counts"][:count]
        self.pushing.append(tables["kept_pushing"][:pushing].copy())
        self.pushing_shapes.append(tables["kept_shapes"][:pushing].copy())
        self.met.append(tables["kept_met"][:met].copy())
        self.met_shapes.append(tables["kept_met_shapes"][:met].copy())
        wholes[[k.SAMPLES, k.KEPT_PUSHING, k.KEPT_MET]] = 0
        self.plant.session.forces(self.step, self.tau[self.count])
        self.tau[rows] = self.tau[self.count]
        self.count += count
        self._sense(self.count - 1)

    def _sense(self, number: int) -> None:
        """The readings at a sample, and the true q and v, which a function of them is given."""
        if self.readings:
            before = None if number == 0 else (self.q[number - 1], self.v[number - 1])
            instant = Instant(self.plant.session, self.plant.model, before, self.tau[number])
            self.sensed = self.measurements.read(instant)
            for name, value in self.sensed.items():
                self.readings[name].append(value)
        if self.asked:
            self.sensed = {"q": self.q[number].copy(), "v": self.v[number].copy()} | dict(self.sensed)

    def _pairs(self) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """Names of the pairs that met, by when they first did, and the numbers of those that push and that met."""
        own, both = self.engine.shape_names, [np.concatenate(x) for x in (self.pushing_shapes, self.met_shapes)]
        rows = np.concatenate(both)
        when = np.concatenate([2 * self._samples(0)[0], 2 * self._samples(1)[0] + 1])
        order = np.argsort(when, kind="stable")
        keys = (rows[:, 0] * len(own) + rows[:, 1])[order]
        found, first, number = np.unique(keys, return_index=True, return_inverse=True)
        ranks = np.argsort(first)
        numbers = np.empty(len(rows), dtype=int)
        numbers[order] = np.argsort(ranks)[number]
        names = tuple(f"{own[key // len(own)]} / {own[key % len(own)]}" for key in found[ranks].tolist())
        return names, numbers[: len(both[0])], numbers[len(both[0]) :]

    def _samples(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Of all contacts, one after the other, the number of the sample and its own number there."""
        counts = self.counts[: self.count, column]
        sample = np.repeat(np.arange(self.count), counts)
        return sample, np.arange(len(sample)) - np.repeat(np.cumsum(counts) - counts, counts)

    def trajectory(self) -> Trajectory:
        self.engine.counts[c.TELLING] = self.telling
        names, pushing, met = self._pairs()
        count, numbers = self.count, self.numbers[: self.count]
        signals = {"residual": numbers[:, k.SAMPLE_RESIDUAL]}
        if self.tells:
            signals["impulse"] = np.zeros((count, len(names)))
            signals["impulse"][self._samples(1)[0], met] = np.concatenate(self.met)
        else:
            signals |= {"error": numbers[:, k.SAMPLE_ERROR], "steps": numbers[:, k.SAMPLE_STEPS]}
        signals |= {f"sensed/{name}": np.array(rows[:count]) for name, rows in self.readings.items()}
        plant = self.plant
        return Trajectory(
            plant.model, self.step * np.arange(count, dtype=float), self.q[:count], self.v[:count], self.tau[:count],
            self._contacts(names, pushing), tuple(self.events), signals, plant.name, parts=dict(_told_by(plant)[1]),
        )  # fmt: skip

    def _contacts(self, names: tuple[str, ...], numbers: np.ndarray) -> Contacts:
        sample, place = self._samples(0)
        rows, count = np.concatenate(self.pushing), self.count
        impulses, axes = rows[:, 12:], rows[:, 3:12].reshape(-1, 3, 3)[:, [1, 2, 0]]
        often, most = 1.0 / self.numbers[sample, k.SAMPLE_PART], int(self.counts[:count, 0].max(initial=0))
        pair, point = np.full((count, most), -1), np.zeros((count, most, 3))
        force, normal = np.zeros((count, most, 3)), np.zeros((count, len(names)))
        pair[sample, place], point[sample, place] = numbers, rows[:, :3]
        force[sample, place] = np.einsum("nk,nki->ni", impulses, axes) * often[:, None]
        np.add.at(normal, (sample, numbers), impulses[:, 2] * often)
        return Contacts(names, normal, pair, point, force)
