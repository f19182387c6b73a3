"""Sensors of a plant: what each kind measures, of what, how wrong, how often and how late.

joint_position      q of a joint, or of all joints of a robot
joint_velocity      their rates
joint_torque        what their actuators give, N m or N
frame_pose          [x y z, qx qy qz qw] of a frame in the world
frame_twist         [ω; v] of a frame, world axes
frame_acceleration  [ω̇; v̇] of a frame, world axes, as the mean of the last step
contact_force       [moment; force] of all contacts of a body, or of a robot, at its origin, world axes
force_torque        [moment; force] that a joint passes on to its body, at the body's origin and in its axes
imu                 [ω; specific force v̇ − g] of a frame, in its axes
body_twist          [ω; v] of a frame, in its axes
center_of_mass      of a body and all that it carries, or of a robot; world axes
mass_velocity       how fast that centre moves, world axes
spin_momentum       their angular momentum about it, world axes
frame_axes          x, y and z axes of a frame in world axes, nine numbers
frame_wrench        [moment; force] that the body of a frame gets from the joint it hangs on, at the frame, in its axes
touch               the normal force that a zone around a frame feels, N
tendon_length       of a tendon, m (rad of one over joints)
tendon_rate         how fast that changes
actuator_force      what an actuator gives its joint, or along its tendon
joints              q, then v, of all joints of a robot
wrist               [moment; force] that the surroundings exert on what is mounted on a frame, in its axes
tactile             the normal force on each of some shapes, N
pose                [x y z, qx qy qz qw, ω, v] of a frame as another one, `seen_from`, sees it, in its axes

`rows` picks numbers of a reading: a gyroscope is an imu's rows (0, 1, 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from phistar.errors import ModelError
from phistar.model.geometry import Shape

SensorKind = Literal[
    "joint_position", "joint_velocity", "joint_torque", "frame_pose", "frame_twist", "frame_acceleration",
    "contact_force", "force_torque", "imu", "body_twist", "center_of_mass", "mass_velocity", "spin_momentum",
    "frame_axes", "frame_wrench", "touch", "tendon_length", "tendon_rate", "actuator_force", "joints", "wrist",
    "tactile", "pose",
]  # fmt: skip
KINDS: tuple[str, ...] = get_args(SensorKind)


@dataclass(frozen=True)
class Sensor:
    """A sensor: its kind, what it is of ("robot", "robot/joint", "robot/frame", or names of shapes), the standard
    deviation of its noise and its constant error (one number, or one for each it reads), readings a second (None: every
    step), delay, s, the frame that a pose is seen from, which numbers of the reading it gives (none: all), and the
    shape that feels a touch.
    """

    name: str
    kind: SensorKind
    of: str | tuple[str, ...]
    noise: float | tuple[float, ...] = 0.0
    bias: float | tuple[float, ...] = 0.0
    rate: float | None = None
    delay: float = 0.0
    seen_from: str = "world"
    rows: tuple[int, ...] = ()
    zone: Shape | None = None

    def __post_init__(self) -> None:
        if isinstance(self.of, str) == (self.kind == "tactile") or not self.of:
            wanted = "names of shapes, a list" if self.kind == "tactile" else "one name"
            raise ModelError(f"The sensor '{self.name}' is of {wanted}; it was given {self.of!r:.80}.")
        if self.kind not in KINDS:
            raise ModelError(f"A sensor is of the kind {', '.join(KINDS)}; it was given {self.kind!r:.50}.")
        if not self.name or "/" in self.name:
            raise ModelError(
                f"A sensor needs a name without /: its readings are signals['sensed/NAME'], not {self.name!r:.50}."
            )
        for what in ("noise", "bias"):
            given = np.atleast_1d(np.asarray(getattr(self, what), dtype=float))
            if given.ndim != 1 or not np.isfinite(given).all() or (what == "noise" and (given < 0.0).any()):
                wanted = "numbers from 0 on" if what == "noise" else "finite numbers"
                raise ModelError(f"The sensor '{self.name}' needs {wanted} as {what}; it was given {given!r:.80}.")
        if self.rate is not None and not 0.0 < self.rate < np.inf:
            raise ModelError(
                f"The sensor '{self.name}' needs a rate in Hz greater than 0; it was given {self.rate!r:.50}."
            )
        if not 0.0 <= self.delay < np.inf:
            raise ModelError(f"The sensor '{self.name}' needs a delay of 0 s or more; it was given {self.delay!r:.50}.")
        if any(isinstance(row, bool) or not isinstance(row, int) or row < 0 for row in self.rows):
            raise ModelError(
                f"The sensor '{self.name}' needs whole numbers from 0 on as rows; it was given {self.rows!r:.50}."
            )

    @property
    def is_pose(self) -> bool:
        """Whether a quaternion stands behind three coordinates; errors then have a rotation vector in its place."""
        return self.kind in ("frame_pose", "pose")

    def errors(self, what: str, size: int) -> np.ndarray:
        """Its noise or bias, one for each of the `size` numbers that it reads; a quaternion's are those of a rotation
        vector, and a zero."""
        if not self.is_pose:
            return self.spread(what, size)
        found = self.spread(what, size - 1)
        return np.insert(found, 6, 0.0)

    def spread(self, what: str, size: int) -> np.ndarray:
        """Its noise or bias, one number for each that is drawn: a pose has six, its orientation a rotation vector."""
        given = np.asarray(getattr(self, what), dtype=float)
        if given.ndim and given.shape != (size,):
            raise ModelError(
                f"The sensor '{self.name}' needs one number or {size} as {what}; it was given {given.size}."
            )
        return np.broadcast_to(given, (size,)).copy()
