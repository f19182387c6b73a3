"""True readings of a plant's sensors at the end of a step, as functions of an instant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from phistar.backends.links.wide import wide_links
from phistar.constraints import columns as c
from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.errors import ModelError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.plant.collision_groups import candidates
from phistar.plant.drive_readers import actuator_reader, tendon_reader
from phistar.plant.loop_rows import loop_bodies
from phistar.plant.mounted import inward, mount, outward
from phistar.plant.seen_pose import seen_pose
from phistar.plant.sensor_kinds import Sensor
from phistar.plant.session import Session
from phistar.plant.stations import numbers_on
from phistar.plant.touch_readers import touch_reader
from phistar.spatial import to_quaternion

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

Read = Callable[["Instant"], np.ndarray]


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
        engine = self._engine = session.engine
        self.model, self.tau, self.tables = model, tau, engine.tables
        self.q, self.v = engine.q[: model.nq].copy(), engine.v[: model.nv].copy()
        self.before = before
        self.length = float(engine.numbers[c.LENGTH]) if length is None else length  # since the state before
        part, count = float(engine.numbers[c.STEP]), int(engine.counts[c.CONTACTS])
        self.often = 1.0 / part if before is not None and part > 0.0 else 0.0
        self.names = engine.shape_names
        self.contacts, self.wholes = engine.tables["contacts"][:count], engine.tables["contact_wholes"][:count]
        acted = int(engine.counts[c.PLACES]) if before is not None else 0
        lasting = np.flatnonzero(engine.tables["places"][:acted, c.PLACE_LENGTH] > 0.0)  # an impact has no force
        self._places, self._shapes = engine.tables["places"][lasting], engine.tables["place_shapes"][lasting]

    def tendon_tables(self) -> dict[str, np.ndarray]:
        """The tables with lengths and Jacobians of tendons at this state; before a first step they are made."""
        if self.before is None:
            self._engine.look(self.length or 0.002)
        return self.tables

    def acceleration(self, frame: str) -> np.ndarray:
        """[ω̇; v̇] of a frame over the last step; before the first one it is as at rest."""
        if self.before is None:
            return np.zeros(6)
        change = frame_velocity(self.model, self.q, self.v, frame) - frame_velocity(self.model, *self.before, frame)
        return change / self.length

    def contact_force(self, bodies: set[int], about: np.ndarray) -> np.ndarray:
        """[moment; force] of contacts on some bodies, by the step's numbers, about a point."""
        on = self.tables["shape_wholes"][:, 1]  # the body of each shape
        return self._force_on_shapes({int(shape) for shape in np.flatnonzero(np.isin(on, list(bodies)))}, about)

    def normal_forces(self, names: Sequence[str]) -> np.ndarray:
        """Normal forces on shapes, by name, N."""
        found = np.zeros(len(names))
        for row, both in zip(self._places, self._shapes.tolist(), strict=True):
            shapes = {self.names[shape] for shape in both}
            found += np.array([name in shapes for name in names]) * (row[c.PLACE_NORMAL] / row[c.PLACE_LENGTH])
        return found

    def force_on_shapes(self, shapes: set[int]) -> np.ndarray:
        """[moment; force] of contacts on shapes, by the step's numbers, about the world's origin."""
        return self._force_on_shapes(shapes, np.zeros(3))

    def _force_on_shapes(self, shapes: set[int], about: np.ndarray) -> np.ndarray:
        """[moment; force] of contacts on shapes, about a point; soft patches turn about their normals."""
        total = np.zeros(6)
        for row, (first, second) in zip(self._places, self._shapes.tolist(), strict=True):
            sign = float(first in shapes) - float(second in shapes)
            if sign:
                force = row[c.PLACE_IMPULSE : c.PLACE_IMPULSE + 3]
                lever = row[c.PLACE_POINT : c.PLACE_POINT + 3] - about
                moment = np.cross(lever, force) + row[c.PLACE_TURN : c.PLACE_TURN + 3]
                total += sign / row[c.PLACE_LENGTH] * np.concatenate([moment, force])
        return total


def momentum(model: Model, bodies: Sequence[int], q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """[angular; linear] momentum of some bodies about the world's origin, their mass, and mass times centre."""
    total, mass, first = np.zeros(6), 0.0, np.zeros(3)
    links = wide_links(model, q) if model.is_flexible else None
    for number in bodies:
        body = model.bodies[number]
        pose, motion = forward_kinematics(model, q, body.name), frame_velocity(model, q, v, body.name)
        if body.modes and links is not None:  # the last six rows of MV̄, and the rigid columns of M
            own = links.mass(number)
            twist = (pose[:3, :3].T @ motion.reshape(2, 3).T).T.ravel()
            total += outward(pose, own[body.modes :] @ np.concatenate([v[body.mode_slice], twist]))
            m, lever = own[-1, -1], own[body.modes : body.modes + 3, -3:]
            arm = pose[:3, :3] @ np.array([lever[2, 1], lever[0, 2], lever[1, 0]])
            mass, first = mass + m, first + m * pose[:3, 3] + arm
            continue
        turn, own = pose[:3, :3], body.inertia
        arm = turn @ np.asarray(own.com)
        linear = own.mass * (motion[3:] + np.cross(motion[:3], arm))
        spin = turn @ np.asarray(own.tensor) @ turn.T @ motion[:3]
        total += [*(spin + np.cross(pose[:3, 3] + arm, linear)), *linear]
        mass, first = mass + own.mass, first + own.mass * (pose[:3, 3] + arm)
    return total, mass, first


def reader(plant: Plant, sensor: Sensor) -> Read:
    """The true reading of a sensor, as a function of an instant; refused where it is of something unknown."""
    kind = sensor.kind
    if not isinstance(sensor.of, str):
        return _tactile(plant, sensor.of)
    of = sensor.of
    if kind == "joints":
        q, v = _joint_entries(plant, of)
        return lambda at: np.concatenate([at.q[q], at.v[v]])
    if kind == "wrist":
        return _wrist(plant, of, sensor.name)
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
        return _joint_wrench(plant, of)
    if kind in ("center_of_mass", "mass_velocity", "spin_momentum"):
        return _mass_reader(plant, kind, of)
    if kind.startswith("tendon_"):
        return tendon_reader(plant, kind, of)
    if kind == "actuator_force":
        return actuator_reader(plant, of)
    return _frame_reader(plant, sensor, of)


def _frame_reader(plant: Plant, sensor: Sensor, of: str) -> Read:
    """Readings of a frame's motion and of what acts on its body."""
    kind, model = sensor.kind, plant.model
    if of not in model.frames:
        raise unknown("frame", of, list(model.frames), plant.name)
    if kind == "touch":
        return touch_reader(plant, sensor)
    if kind == "frame_wrench":
        return _wrench_reader(plant, of)
    if kind == "pose":
        model.frame(sensor.seen_from)
        return lambda at: seen_pose(model, at.q, at.v, of, sensor.seen_from)
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
        "frame_axes": lambda at: forward_kinematics(model, at.q, of)[:3, :3].T.ravel(),
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


def _mass_reader(plant: Plant, kind: str, of: str) -> Read:
    """Centre of mass of a robot, or of a body with all that it carries; how it moves, and the momentum about it."""
    model = plant.model
    bodies = sorted(plant.bodies_of(of)) if of in plant.robots else _outward_bodies(model, min(plant.bodies_of(of)))

    def read(at: Instant) -> np.ndarray:
        whole, mass, first = momentum(model, bodies, at.q, at.v)
        found = {"center_of_mass": first / mass, "mass_velocity": whole[3:] / mass}
        return found[kind] if kind in found else whole[:3] - np.cross(first / mass, whole[3:])

    if sum(model.bodies[body].inertia.mass for body in bodies) <= 0.0:
        raise ModelError(f"'{of:.100}' has no mass, and so no centre of mass to be sensed.")
    return read


def _outward_bodies(model: Model, body: int) -> list[int]:
    """A body and all outward of it; of the world, everything."""
    found = [body]
    for number in range(body + 1, len(model.bodies)):
        if model.parents[number] in found:
            found.append(number)
    return found if body >= 0 else found[1:]


def _contact_reader(plant: Plant, of: str) -> Read:
    model, chosen = plant.model, plant.bodies_of(of)
    frame = model.bodies[min(chosen)].name if chosen - {-1} else ""
    bodies = numbers_on(plant.system, chosen)

    def read(at: Instant) -> np.ndarray:
        about = forward_kinematics(model, at.q, frame)[:3, 3] if frame else np.zeros(3)
        return at.contact_force(bodies, about)

    return read


def _joint_wrench(plant: Plant, of: str) -> Read:
    """Newton and Euler for everything that a joint carries: ṗ = weight + contacts + closures + what the joint gives."""
    model = plant.model
    if of not in model.joint_indices:
        raise unknown("joint", of, list(model.joint_indices), plant.name)
    body = model.joint_indices[of]
    carried = _outward_bodies(model, body)
    bodies = numbers_on(plant.system, carried)
    first = len(plant.system.rows)
    signs = [float(a in carried) - float(b in carried) for a, b in loop_bodies(model)]

    def read(at: Instant) -> np.ndarray:
        pose = forward_kinematics(model, at.q, model.bodies[body].name)
        after, mass, center = momentum(model, carried, at.q, at.v)
        weight = mass * np.asarray(model.gravity)
        total = -np.concatenate([np.cross(center / max(mass, 1e-300), weight), weight])
        if at.before is not None:
            total += (after - momentum(model, carried, *at.before)[0]) / at.length
        total -= at.contact_force(bodies, np.zeros(3))
        for number, sign in enumerate(signs):
            if sign:
                impulse = at.often * at.tables["rows"][first + number, c.ROW_IMPULSE]
                total -= sign * impulse * at.tables["row_wrench"][first + number]
        total[:3] -= np.cross(pose[:3, 3], total[3:])
        return np.concatenate([pose[:3, :3].T @ total[:3], pose[:3, :3].T @ total[3:]])

    return read


def _wrench_reader(plant: Plant, frame: str) -> Read:
    """Read the wrench that the joint of a frame's body passes on to it, at the frame."""
    model, body = plant.model, plant.model.frame(frame).body
    if body < 0:
        raise ModelError(f"The frame '{frame:.100}' is the world's, which hangs on no joint.")
    transmitted = _joint_wrench(plant, model.joints[body].name)

    def read(at: Instant) -> np.ndarray:
        own = outward(forward_kinematics(model, at.q, model.bodies[body].name), transmitted(at))
        return inward(forward_kinematics(model, at.q, frame), own)

    return read


def _tactile(plant: Plant, names: Sequence[str]) -> Read:
    known = [each.name for each in candidates(plant)]
    for name in names:
        if name not in known:
            raise unknown("collision shape", name, known, plant.name)
    return lambda at: at.normal_forces(names)


def _wrist(plant: Plant, frame: str, name: str) -> Read:
    """The wrench of contacts, of weight and of inertia, −dp/dt, on what is mounted on a frame."""
    model, carried = plant.model, mount(plant, frame, f"The sensor '{name}'")

    def read(at: Instant) -> np.ndarray:
        names = {shape.name for shape, owner in zip(*plant.meeting[:2], strict=True) if owner in carried.owners}
        shapes = {number for number, shape in enumerate(at.names) if shape in names}
        whole = at.force_on_shapes(shapes) + carried.weight(model, at.q, model.gravity)
        if at.before is not None:
            change = carried.momentum(model, at.q, at.v) - carried.momentum(model, *at.before)
            whole = whole - change / at.length
        return inward(forward_kinematics(model, at.q, frame), whole)

    return read
