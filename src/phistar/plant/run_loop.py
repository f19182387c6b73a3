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
    within it steps are as long as their error allows: `signals["error"]` has the largest in units of the tolerance,
    `signals["steps"]` how many there were. Without it `signals["impulse"]` (T, k) has what each of `contacts.pairs`
    gave along its normals in the step before a sample, N s, impacts included, which have no force. `changes` are
    latches and releases, which act at the first sample at which they are due: rates jump by the least kinetic energy,
    and `events` tell the impulse.
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
    record = _Record(plant, max(1, round(duration / step)), Measurements(plant, step, seed), rtol is None)
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
    """Recorded rows; contacts as tuples, since their number changes."""

    def __init__(self, plant: Plant, steps: int, measurements: Measurements, tells: bool) -> None:
        self.plant, self.steps, self.engine = plant, steps, plant.session.engine
        self.telling, self.engine.counts[c.TELLING] = self.engine.counts[c.TELLING], int(tells)
        self.measurements = measurements
        self.sensed: Mapping[str, np.ndarray] = {}
        self.readings: dict[str, list[np.ndarray]] = {sensor.name: [] for sensor in plant.sensors}
        nq, nv = plant.model.nq, plant.model.nv
        self.q, self.v, self.tau = np.zeros((steps + 1, nq)), np.zeros((steps + 1, nv)), np.zeros((steps + 1, nv))
        self.residual, self.contacts, self.errors = np.zeros(steps + 1), [], np.zeros((steps + 1, 2))
        self.pairs: dict[tuple[int, ...], int] = {}
        self.impulses: list[dict[int, float]] = []
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
        self.sensed = {"q": self.q[number].copy(), "v": self.v[number].copy()} | dict(self.sensed)

    def keep(self, number: int, step: float) -> None:
        engine = self.engine
        self.q[number], self.v[number] = engine.q[: self.q.shape[1]], engine.v[: self.v.shape[1]]
        self.residual[number] = engine.numbers[c.RESIDUAL]
        self.plant.session.forces(step, self.tau[number])
        count = int(engine.counts[c.CONTACTS])
        table, shapes = engine.tables["contacts"][:count], engine.tables["contact_wholes"][:count, :2]
        pushing = table[:, c.IMPULSE + 2] > 0.0
        rows, pairs = table[pushing], [tuple(pair) for pair in shapes[pushing].tolist()]
        numbers = [self.pairs.setdefault(pair, len(self.pairs)) for pair in pairs]
        part = engine.numbers[c.STEP] or step  # impulses are those of the last part of the step
        axes = rows[:, c.NORMAL : c.NORMAL + 9].reshape(-1, 3, 3)[:, [1, 2, 0]]
        force = np.einsum("nk,nki->ni", rows[:, c.IMPULSE : c.IMPULSE + 3], axes) / part
        self.impulses.append(self._met() if number else {})
        self.contacts.append((numbers, rows[:, c.POINT : c.POINT + 3].copy(), force, rows[:, c.IMPULSE + 2] / part))
        self.sense(number)

    def _met(self) -> dict[int, float]:
        """Normal impulses of the last step, by the numbers of the pairs."""
        table, count = self.engine.tables, int(self.engine.counts[c.MET])
        pairs = map(tuple, table["met_shapes"][:count].tolist())
        numbers = [self.pairs.setdefault(pair, len(self.pairs)) for pair in pairs]
        return dict(zip(numbers, table["met"][:count, c.MET_NORMAL].tolist(), strict=True))

    def _name(self, number: int) -> str:
        names = self.engine.shape_names
        return " / ".join(names[i] for i in list(self.pairs)[number])

    def trajectory(self, count: int, step: float) -> Trajectory:
        self.engine.counts[c.TELLING] = self.telling
        most = max((len(numbers) for numbers, *_ in self.contacts[:count]), default=0)
        pair, point = np.full((count, most), -1), np.zeros((count, most, 3))
        force, normal = np.zeros((count, most, 3)), np.zeros((count, len(self.pairs)))
        for number, (numbers, points, forces, normals) in enumerate(self.contacts[:count]):
            pair[number, : len(numbers)], point[number, : len(numbers)] = numbers, points
            force[number, : len(numbers)] = forces
            np.add.at(normal[number], numbers, normals)
        names = tuple(self._name(number) for number in range(len(self.pairs)))
        plant = self.plant
        parts = motions_of(plant)
        signals = {"residual": self.residual[:count]}
        if not self.errors.any():
            signals["impulse"] = np.zeros((count, len(self.pairs)))
            for number, found in enumerate(self.impulses[:count]):
                signals["impulse"][number, list(found)] = list(found.values())
        else:
            signals |= {"error": self.errors[:count, 0], "steps": self.errors[:count, 1]}
        signals |= {f"sensed/{name}": np.array(rows[:count]) for name, rows in self.readings.items()}
        return Trajectory(
            plant.model, step * np.arange(count, dtype=float), self.q[:count], self.v[:count], self.tau[:count],
            Contacts(names, normal, pair, point, force), tuple(self.events), signals,
            plant.name, parts=parts,
        )  # fmt: skip
