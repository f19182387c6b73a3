"""Sensors of a plant: how they are added, and readings with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from phistar.errors import ModelError
from phistar.model.geometry import Shape
from phistar.plant.sensor_kinds import Sensor, SensorKind
from phistar.plant.sensor_readers import reader
from phistar.spatial import exp_quaternion, multiply

if TYPE_CHECKING:
    from phistar.plant.plant import Plant


def chosen_rows(sensor: Sensor, reading: np.ndarray) -> np.ndarray:
    """The numbers of a reading that a sensor gives."""
    if sensor.rows and max(sensor.rows) >= reading.size:
        raise ModelError(
            f"The sensor '{sensor.name}' gives row {max(sensor.rows)} of a reading of {reading.size} numbers; rows go "
            f"from 0 to {reading.size - 1}."
        )
    return reading[list(sensor.rows)] if sensor.rows else reading


def with_error(sensor: Sensor, true: np.ndarray, error: np.ndarray) -> np.ndarray:
    """A reading with errors, one for each of its numbers: a quaternion is turned, what presses never pulls."""
    if sensor.is_pose:
        turned = multiply(exp_quaternion(error[3:6]), true[3:7])
        return np.concatenate([true[:3] + error[:3], turned, true[7:] + error[7:]])
    return np.maximum(true + error, 0.0) if sensor.kind in ("tactile", "touch") else true + error


def sense(
    plant: Plant,
    kind: SensorKind,
    of: str | Sequence[str],
    name: str = "",
    noise: float | Sequence[float] = 0.0,
    bias: float | Sequence[float] = 0.0,
    rate: float | None = None,
    delay: float = 0.0,
    seen_from: str = "world",
    rows: Sequence[int] = (),
    zone: Shape | None = None,
) -> None:
    """Adds a sensor; controllers get its readings by name, and a run keeps them as `signals["sensed/NAME"]`.

    Parameters
    ----------
    kind : str
        "joint_position", "joint_velocity", "joint_torque"; "frame_pose" [xyz, quaternion], "frame_twist" [ω; v],
        "frame_acceleration", in world axes; "imu", angular velocity and specific force in the frame's axes;
        "contact_force" [moment; force] on a body, world axes at its origin; "force_torque", what a joint passes on
        to its body, in the body's axes at its origin; "body_twist" [ω; v] in the frame's axes; "center_of_mass" of a
        robot, or of a body with all that it carries ("mass_velocity" how fast it moves, "spin_momentum" about it);
        "frame_axes" x, y, z in world axes; "frame_wrench" what the body of a frame gets from its joint, there and in
        its axes; "touch", the normal force on a zone; "tendon_length", "tendon_rate"; "actuator_force"; "joints", q and
        v of a robot; "wrist" [moment; force] on what is mounted on a frame, in its axes; "tactile", normal forces on
        shapes; "pose" [xyz, quaternion, ω, v] of a frame as `seen_from` sees it.
    of : str or names
        "robot" or "robot/joint" for joints, "robot/frame" for frames, "robot/body" or "robot" for contacts, a list of
        names of shapes for "tactile", a tendon's or an actuator's name.
    name : str
        What its readings are called; "" takes kind and subject.
    noise : float or one per number
        Standard deviations; of a pose's orientation three, those of a rotation vector.
    bias : float or one per number
        Constant errors.
    rate : float, optional
        Readings a second, held in between; every step by default.
    delay : float
        How late readings come, s.
    seen_from : str
        The frame that a "pose" is seen from.
    rows : whole numbers
        Which numbers of the reading it gives, all by default: a gyroscope is an imu's rows (0, 1, 2).
    zone : Shape, optional
        The ball, box, ellipsoid, cylinder or capsule at the frame that feels a "touch".

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
    subject = of if isinstance(of, str) else tuple(of)
    own = name or f"{kind}_{'_'.join([of] if isinstance(of, str) else of).replace('/', '_')}"
    sensor = Sensor(own, kind, subject, spread, constant, rate, delay, seen_from, tuple(rows), zone)
    if any(other.name == sensor.name for other in plant.sensors):
        raise ModelError(f"The plant already has a sensor called '{sensor.name}'; give each its own name.")
    reader(plant, sensor)
    plant.sensors = (*plant.sensors, sensor)
