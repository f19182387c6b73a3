"""Readings of a plant's sensors at the end of a step: what is true, then its noise, its rate and its delay."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from phistar.constraints import columns as c
from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.errors import ModelError, PhistarError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.plant.engine import numbers_of
from phistar.plant.loop_rows import loop_bodies
from phistar.plant.sensor_kinds import Sensor, SensorKind
from phistar.plant.session import Session
from phistar.spatial import multiply, to_quaternion

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

Read = Callable[["Instant"], np.ndarray]
LATE = 1e-6  # of a step: how far a rate or delay may be from a whole number of them


class Instant:
    """A plant at the end of a step: the state, that before, and what acted in between."""

    def __init__(
        self,
        session: Session,
        model: Model,
        before: tuple[np.ndarray, np.ndarray] | None,
        tau: np.ndarray,
        length: float | None = None,
    ) -> None:
        engine = session.engine
        self.model, self.tau, self.tables = model, tau, engine.tables
        self.q, self.v = engine.q[: model.nq].copy(), engine.v[: model.nv].copy()
        self.before = before
        self.length = float(engine.numbers[c.LENGTH]) if length is None else length  # since the state before
        part, count = float(engine.numbers[c.STEP]), int(engine.counts[c.CONTACTS])
        self.often = 1.0 / part if before is not None and part > 0.0 else 0.0
        self.contacts, self.wholes = engine.tables["contacts"][:count], engine.tables["contact_wholes"][:count]

    def acceleration(self, frame: str) -> np.ndarray:
        """[ω̇; v̇] of a frame over the last step; before the first one it is as at rest."""
        if self.before is None:
            return np.zeros(6)
        change = frame_velocity(self.model, self.q, self.v, frame) - frame_velocity(self.model, *self.before, frame)
        return change / self.length

    def touched(self, bodies: set[int], about: np.ndarray) -> np.ndarray:
        """[moment; force] of contacts on some bodies, by the step's numbers, about a point."""
        total = np.zeros(6)
        for row, whole in zip(self.contacts, self.wholes, strict=True):
            sign = float(int(whole[c.BODY_A]) in bodies) - float(int(whole[c.BODY_B]) in bodies)
            if sign and self.often:
                axes = row[[*range(c.TANGENT, c.TANGENT + 6), *range(c.NORMAL, c.NORMAL + 3)]].reshape(3, 3)
                force = sign * self.often * (row[c.IMPULSE : c.IMPULSE + 3] @ axes)
                total += [*np.cross(row[c.POINT : c.POINT + 3] - about, force), *force]
        return total


def momentum(model: Model, bodies: Sequence[int], q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """[angular; linear] momentum of some bodies about the world's origin, their mass, and mass times centre."""
    total, mass, first = np.zeros(6), 0.0, np.zeros(3)
    for number in bodies:
        body = model.bodies[number]
        pose, motion = forward_kinematics(model, q, body.name), frame_velocity(model, q, v, body.name)
        turn, own = pose[:3, :3], body.inertia
        arm = turn @ np.asarray(own.com)
        linear = own.mass * (motion[3:] + np.cross(motion[:3], arm))
        spin = turn @ np.asarray(own.tensor) @ turn.T @ motion[:3]
        total += [*(spin + np.cross(pose[:3, 3] + arm, linear)), *linear]
        mass, first = mass + own.mass, first + own.mass * (pose[:3, 3] + arm)
    return total, mass, first


class Measurements:
    """The readings of a run: drawn from a seed, one stream for each sensor."""

    def __init__(self, plant: Plant, step: float, seed: int) -> None:
        self.plant, self.sensors = plant, plant.sensors
        sources = np.random.SeedSequence(seed).spawn(len(self.sensors))
        self.lines = [_Line(plant, s, step, np.random.default_rng(x)) for s, x in zip(self.sensors, sources)]

    def read(self, instant: Instant) -> Mapping[str, np.ndarray]:
        """What has arrived, by the sensors' names."""
        return {line.sensor.name: line.next(instant) for line in self.lines}


class _Line:
    """One sensor between samples."""

    def __init__(self, plant: Plant, sensor: Sensor, step: float, random: np.random.Generator) -> None:
        self.sensor, self.random, self.step, self.count = sensor, random, step, 0
        self.true = reader(plant, sensor)
        self.every = 1 if sensor.rate is None else _whole(sensor, "period of its rate", 1.0 / sensor.rate, step)
        late = 0 if sensor.delay == 0.0 else _whole(sensor, "delay", sensor.delay, step)
        self.past: deque[np.ndarray] = deque(maxlen=late + 1)

    def next(self, instant: Instant) -> np.ndarray:
        if self.count % self.every == 0 or not self.past:
            self.last = self._chosen(self._wrong(self.true(instant)))
            self.last.flags.writeable = False
        self.count += 1
        self.past.append(self.last)
        return self.past[0]

    def _chosen(self, reading: np.ndarray) -> np.ndarray:
        rows = list(self.sensor.rows) or list(range(reading.size))
        if max(rows) >= reading.size:
            raise ModelError(
                f"The sensor '{self.sensor.name}' gives row {max(rows)} of a reading of {reading.size} numbers; rows "
                f"go from 0 to {reading.size - 1}."
            )
        return reading[rows]

    def _wrong(self, true: np.ndarray) -> np.ndarray:
        pose = self.sensor.kind == "frame_pose"
        size = 6 if pose else true.size
        error = self.sensor.spread("bias", size)
        spread = self.sensor.spread("noise", size)
        if spread.any():
            error += spread * self.random.standard_normal(size)
        if not pose:
            return true + error
        return np.concatenate([true[:3] + error[:3], multiply(_turn(error[3:]), true[3:])])


def _turn(vector: np.ndarray) -> np.ndarray:
    """The quaternion of a rotation vector."""
    angle = float(np.linalg.norm(vector))
    return np.array([*(0.5 * np.sinc(0.5 * angle / np.pi) * vector), np.cos(0.5 * angle)])


def _whole(sensor: Sensor, what: str, length: float, step: float) -> int:
    count = round(length / step)
    if count < 1 or abs(length / step - count) > LATE * max(count, 1):
        raise PhistarError(
            f"The sensor '{sensor.name}' has a {what} of {length:g} s; whole steps of {step:g} s were expected."
        )
    return count


def reader(plant: Plant, sensor: Sensor) -> Read:
    """The true reading of a sensor, as a function of an instant; refused where it is of something unknown."""
    kind, of, model = sensor.kind, sensor.of, plant.model
    if kind.startswith("joint_"):
        q, v = _joint_entries(plant, of)
        reads: dict[str, Read] = {
            "joint_position": lambda at: at.q[q], "joint_velocity": lambda at: at.v[v],
            "joint_torque": lambda at: at.tau[v],
        }  # fmt: skip
        return reads[kind]
    if kind == "contact_force":
        return _contact_reader(plant, of)
    if kind == "force_torque":
        return _transmitted(plant, of)
    if kind == "center_of_mass":
        return _center_reader(plant, of)
    if of not in model.frames:
        raise unknown("frame", of, list(model.frames), plant.name)
    gravity = np.asarray(model.gravity)

    def pose(at: Instant) -> np.ndarray:
        found = forward_kinematics(model, at.q, of)
        return np.concatenate([found[:3, 3], to_quaternion(found[:3, :3])])

    def imu(at: Instant) -> np.ndarray:
        turn = forward_kinematics(model, at.q, of)[:3, :3].T
        spin, specific = frame_velocity(model, at.q, at.v, of)[:3], at.acceleration(of)[3:] - gravity
        return np.concatenate([turn @ spin, turn @ specific])

    def body_twist(at: Instant) -> np.ndarray:
        turn = forward_kinematics(model, at.q, of)[:3, :3].T
        return (turn @ frame_velocity(model, at.q, at.v, of).reshape(2, 3).T).T.ravel()

    reads = {
        "body_twist": body_twist, "frame_pose": pose, "frame_twist": lambda at: frame_velocity(model, at.q, at.v, of),
        "frame_acceleration": lambda at: at.acceleration(of), "imu": imu,
    }  # fmt: skip
    return reads[kind]


def _joint_entries(plant: Plant, of: str) -> tuple[np.ndarray, np.ndarray]:
    if of in plant.robots:
        view = plant[of]
        return view.places, view.rates
    model = plant.model
    if of not in model.joint_indices:
        raise unknown("joint", of, [*plant.robots, *model.joint_indices], plant.name)
    joint = model.joints[model.joint_indices[of]]
    return np.arange(joint.q_slice.start, joint.q_slice.stop), np.arange(joint.v_slice.start, joint.v_slice.stop)


def _center_reader(plant: Plant, of: str) -> Read:
    """Centre of mass of a robot, or of a body with all that it carries."""
    model = plant.model
    bodies = sorted(plant.bodies_of(of)) if of in plant.robots else _carried(model, min(plant.bodies_of(of)))

    def read(at: Instant) -> np.ndarray:
        _, mass, first = momentum(model, bodies, at.q, at.v)
        return first / mass

    if sum(model.bodies[body].inertia.mass for body in bodies) <= 0.0:
        raise ModelError(f"'{of:.100}' has no mass, and so no centre of mass to be sensed.")
    return read


def _carried(model: Model, body: int) -> list[int]:
    """A body and all outward of it; of the world, everything."""
    found = [body]
    for number in range(body + 1, len(model.bodies)):
        if model.parents[number] in found:
            found.append(number)
    return found if body >= 0 else found[1:]


def _contact_reader(plant: Plant, of: str) -> Read:
    model, numbers = plant.model, numbers_of(plant.system)
    chosen = plant.bodies_of(of)
    frame = model.bodies[min(chosen)].name if chosen - {-1} else ""
    bodies = {numbers[body] for body in chosen}

    def read(at: Instant) -> np.ndarray:
        about = forward_kinematics(model, at.q, frame)[:3, 3] if frame else np.zeros(3)
        return at.touched(bodies, about)

    return read


def _transmitted(plant: Plant, of: str) -> Read:
    """Newton and Euler for everything that a joint carries: ṗ = weight + contacts + closures + what the joint gives."""
    model, numbers = plant.model, numbers_of(plant.system)
    if of not in model.joint_indices:
        raise unknown("joint", of, list(model.joint_indices), plant.name)
    body = model.joint_indices[of]
    carried = _carried(model, body)
    bodies = {numbers[number] for number in carried}
    first = len(plant.system.rows)
    signs = [float(a in carried) - float(b in carried) for a, b in loop_bodies(model)]

    def read(at: Instant) -> np.ndarray:
        pose = forward_kinematics(model, at.q, model.bodies[body].name)
        after, mass, center = momentum(model, carried, at.q, at.v)
        weight = mass * np.asarray(model.gravity)
        total = -np.concatenate([np.cross(center / max(mass, 1e-300), weight), weight])
        if at.before is not None:
            total += (after - momentum(model, carried, *at.before)[0]) / at.length
        total -= at.touched(bodies, np.zeros(3))
        for number, sign in enumerate(signs):
            if sign:
                impulse = at.often * at.tables["rows"][first + number, c.ROW_IMPULSE]
                total -= sign * impulse * at.tables["row_wrench"][first + number]
        total[:3] -= np.cross(pose[:3, 3], total[3:])
        return np.concatenate([pose[:3, :3].T @ total[:3], pose[:3, :3].T @ total[3:]])

    return read


def sense(
    plant: Plant,
    kind: SensorKind,
    of: str,
    name: str = "",
    noise: float | Sequence[float] = 0.0,
    bias: float | Sequence[float] = 0.0,
    rate: float | None = None,
    delay: float = 0.0,
    rows: Sequence[int] = (),
) -> None:
    """Adds a sensor; controllers get its readings by name, and a run keeps them as `signals["sensed/NAME"]`.

    Parameters
    ----------
    kind : str
        "joint_position", "joint_velocity", "joint_torque"; "frame_pose" [xyz, quaternion], "frame_twist" [ω; v],
        "frame_acceleration", in world axes; "imu", angular velocity and specific force in the frame's axes;
        "contact_force" [moment; force] on a body, world axes at its origin; "force_torque", what a joint passes on
        to its body, in the body's axes at its origin; "body_twist" [ω; v] in the frame's axes; "center_of_mass" of a
        robot, or of a body with all that it carries.
    of : str
        "robot" or "robot/joint" for joints, "robot/frame" for frames, "robot/body" or "robot" for contacts.
    name : str
        What its readings are called; "" takes kind and subject.
    noise : float or one per number
        Standard deviations; of a pose six, the last three of a rotation vector.
    bias : float or one per number
        Constant errors.
    rate : float, optional
        Readings a second, held in between; every step by default.
    delay : float
        How late readings come, s.
    rows : whole numbers
        Which numbers of the reading it gives, all by default: a gyroscope is an imu's rows (0, 1, 2).

    Examples
    --------
    >>> import phistar as ps
    >>> plant = ps.Plant()
    >>> plant.add(ps.load("planar2"), "arm")
    >>> plant.sense("joint_position", "arm", name="encoders", noise=1e-3)
    >>> ps.simulate(plant, 0.01, seed=3).signals["sensed/encoders"].shape
    (6, 2)
    """
    spread, constant = (x if isinstance(x, int | float) else tuple(float(y) for y in x) for x in (noise, bias))
    sensor = Sensor(name or f"{kind}_{of.replace('/', '_')}", kind, of, spread, constant, rate, delay, tuple(rows))
    if any(other.name == sensor.name for other in plant.sensors):
        raise ModelError(f"The plant already has a sensor called '{sensor.name}'; give each its own name.")
    reader(plant, sensor)
    plant.sensors = (*plant.sensors, sensor)
