"""A plant through time: the control sampled at every step, the state, forces and contacts kept."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phistar.constraints import columns as c
from phistar.errors import PhistarError, ShapeError
from phistar.model.names import unknown
from phistar.plant.commands import Asking, command_of
from phistar.plant.loop_changes import Changes
from phistar.plant.measurements import Instant, Measurements
from phistar.plant.plant import Plant
from phistar.plant.robot_view import motions_of
from phistar.plant.session import PlantState, Session
from phistar.sim.motion import Motion
from phistar.sim.topology import Latch, Release
from phistar.sim.trajectory import Contacts, Event, Stopped, Trajectory
from phistar.sim.world import World

_log = logging.getLogger("phistar")
FIRST = 1e-3  # s: the first step that is tried to a tolerance
# Of a contact: its point, normal and tangents, and its impulses along the tangents and the normal
CONTACT_COLUMNS = [*range(c.POINT, c.POINT + 12), *range(c.IMPULSE, c.IMPULSE + 3)]


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
    record = _Record(plant, steps, measured, rtol is None, asking is not None)
    problem, unsettled = None, 0
    for number in range(record.steps):
        record.keep(number, step)
        try:
            after = due.after(number * step, session, record.events)
            if after is not None:
                session = after.session
                record.continue_with(after)
                course = _Course(after, session, step, rtol, atol, number * step)
            command = None if asking is None else asking.command(number, number * step, record.sensed)
            session.drive(command, h=step, time=number * step)
            record.errors[number + 1] = course.advance(number, record.events)
            unsettled += int(session.engine.counts[c.FAILED] > 0)
        except PhistarError as error:  # what moved, or a controller
            told = str(error)
            problem = told if told.startswith("At t = ") else f"After {number * step:.6g} s: {told}"
            break
    else:
        number = record.steps
        record.keep(number, step)
    run = record.trajectory(number + 1, step)
    _tell_unsettled(plant.name, unsettled, record.steps)
    if problem:
        raise Stopped(problem, run)
    return run


def _tell_unsettled(name: str, unsettled: int, steps: int) -> None:
    if unsettled:
        told = "The plant '%s': %d of %d steps ended before their forces had settled (run.signals['residual']); "
        _log.warning(told + "take a shorter step.", name, unsettled, steps)


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
        self.session, self.step, self.to_tolerance = session, step, rtol is not None
        self.motion = Motion(World(plant.system), None, rtol or 1e-6, atol or 0.0, session=session)
        self.moment = self.motion.here(begin, step)
        if self.to_tolerance:
            self.motion.begin(begin, min(FIRST, step))

    def advance(self, number: int, events: list[Event]) -> tuple[float, int]:
        """Advance by one sample; return the largest error in units of the tolerance, and the number of steps."""
        engine, until = self.session.engine, (number + 1) * self.step
        telling, engine.counts[c.TELLING] = engine.counts[c.TELLING], 1
        try:
            if self.to_tolerance:
                arrival = self.motion.to(until)
                events += arrival.events
                return arrival.error, arrival.steps
            for moment in self.motion.onward_by(self.step, self.moment, [until]):
                self.moment = moment
                events += moment.events
            return 0.0, 0
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
    """Recorded rows; what touches is kept as it stands in the step's tables, and numbered at the end."""

    def __init__(self, plant: Plant, steps: int, measurements: Measurements, tells: bool, asked: bool) -> None:
        self.plant, self.steps, self.engine = plant, steps, plant.session.engine
        self.telling, self.engine.counts[c.TELLING] = self.engine.counts[c.TELLING], int(tells)
        self.measurements, self.asked = measurements, asked
        self.sensed: Mapping[str, np.ndarray] = {}
        self.readings: dict[str, list[np.ndarray]] = {sensor.name: [] for sensor in plant.sensors}
        nq, nv = plant.model.nq, plant.model.nv
        self.q, self.v, self.tau = np.zeros((steps + 1, nq)), np.zeros((steps + 1, nv)), np.zeros((steps + 1, nv))
        self.residual, self.errors = np.zeros(steps + 1), np.zeros((steps + 1, 2))
        self.parts = np.zeros(steps + 1)  # lengths of the last parts of steps, whose impulses the contacts have
        self.pushing: list[np.ndarray] = []  # (k, CONTACT_COLUMNS) and their shapes (k, 2), of each sample
        self.pushing_shapes: list[np.ndarray] = []
        self.met: list[np.ndarray] = []  # (k,) normal impulses of the pairs that met in its step, and their shapes
        self.met_shapes: list[np.ndarray] = []
        self.events: list[Event] = []

    def continue_with(self, plant: Plant) -> None:
        """Record another plant's steps: the same parts, with other loops."""
        tells, self.engine.counts[c.TELLING] = self.engine.counts[c.TELLING], self.telling
        self.plant, self.engine = plant, plant.session.engine
        self.engine.counts[c.TELLING] = tells

    def sense(self, number: int) -> None:
        """The readings at a sample, and the true q and v, which a function of them is given."""
        if self.readings:
            before = None if number == 0 else (self.q[number - 1], self.v[number - 1])
            instant = Instant(self.plant.session, self.plant.model, before, self.tau[number])
            self.sensed = self.measurements.read(instant)
            for name, value in self.sensed.items():
                self.readings[name].append(value)
        if self.asked:
            self.sensed = {"q": self.q[number].copy(), "v": self.v[number].copy()} | dict(self.sensed)

    def keep(self, number: int, step: float) -> None:
        engine, tables = self.engine, self.engine.tables
        self.q[number], self.v[number] = engine.q[: self.q.shape[1]], engine.v[: self.v.shape[1]]
        self.residual[number], self.parts[number] = engine.numbers[c.RESIDUAL], engine.numbers[c.STEP] or step
        self.plant.session.forces(step, self.tau[number])
        count, met = int(engine.counts[c.CONTACTS]), int(engine.counts[c.MET]) if number else 0
        table = tables["contacts"][:count]
        pushing = table[:, c.IMPULSE + 2] > 0.0
        self.pushing.append(table[pushing][:, CONTACT_COLUMNS])
        self.pushing_shapes.append(tables["contact_wholes"][:count, :2][pushing])
        self.met.append(tables["met"][:met, c.MET_NORMAL].copy())
        self.met_shapes.append(tables["met_shapes"][:met].copy())
        self.sense(number)

    def _pairs(self, count: int) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """Names of the pairs that met, by when they first did, and the numbers of those that push and that met."""
        own, shapes = self.engine.shape_names, [*zip(self.pushing_shapes[:count], self.met_shapes[:count], strict=True)]
        rows = np.concatenate([np.zeros((0, 2), np.int64), *(table for both in shapes for table in both)])
        keys, first, found = np.unique(rows[:, 0] * len(own) + rows[:, 1], return_index=True, return_inverse=True)
        order = np.argsort(first)
        numbers = np.argsort(order)[found]
        is_met = np.repeat(np.tile([False, True], count), [len(table) for both in shapes for table in both])
        names = tuple(f"{own[key // len(own)]} / {own[key % len(own)]}" for key in keys[order].tolist())
        return names, numbers[~is_met], numbers[is_met]

    def trajectory(self, count: int, step: float) -> Trajectory:
        self.engine.counts[c.TELLING] = self.telling
        names, pushing, met = self._pairs(count)
        signals = {"residual": self.residual[:count]}
        if not self.errors.any():
            signals["impulse"] = np.zeros((count, len(names)))
            signals["impulse"][_samples(self.met[:count])[0], met] = np.concatenate([np.zeros(0), *self.met[:count]])
        else:
            signals |= {"error": self.errors[:count, 0], "steps": self.errors[:count, 1]}
        signals |= {f"sensed/{name}": np.array(rows[:count]) for name, rows in self.readings.items()}
        plant = self.plant
        return Trajectory(
            plant.model, step * np.arange(count, dtype=float), self.q[:count], self.v[:count], self.tau[:count],
            self._contacts(count, names, pushing), tuple(self.events), signals, plant.name, parts=motions_of(plant),
        )  # fmt: skip

    def _contacts(self, count: int, names: tuple[str, ...], numbers: np.ndarray) -> Contacts:
        tables = self.pushing[:count]
        sample, place = _samples(tables)
        rows = np.concatenate([np.zeros((0, len(CONTACT_COLUMNS))), *tables])
        impulses, axes = rows[:, 12:], rows[:, 3:12].reshape(-1, 3, 3)[:, [1, 2, 0]]
        often, most = 1.0 / self.parts[sample], max(map(len, tables), default=0)
        pair, point = np.full((count, most), -1), np.zeros((count, most, 3))
        force, normal = np.zeros((count, most, 3)), np.zeros((count, len(names)))
        pair[sample, place], point[sample, place] = numbers, rows[:, :3]
        force[sample, place] = np.einsum("nk,nki->ni", impulses, axes) * often[:, None]
        np.add.at(normal, (sample, numbers), impulses[:, 2] * often)
        return Contacts(names, normal, pair, point, force)


def _samples(tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Of all rows of tables, one after the other, the number of the table and that of the row in it."""
    counts = np.array([len(table) for table in tables], dtype=int)
    sample = np.repeat(np.arange(len(tables)), counts)
    return sample, np.arange(len(sample)) - np.repeat(np.cumsum(counts) - counts, counts)
