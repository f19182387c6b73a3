"""Teleoperation over a link that is late: motion goes forth, force comes back, and observers at both ends keep it
passive.

A link that is late by a constant or changing time, or loses messages, gives out energy that nobody put in, and operator
and remote arm swing up. At both ends a passivity observer counts the work that the link was given there and the work
that it gave; the totals travel with the messages. What an end gives out may not exceed what had gone in at the other
when its message left,

    E_out(follower, t) ≤ E_in(leader, t − d),    E_out(leader, t) ≤ E_in(follower, t − d),

and where the next sample would break that, a passivity controller takes the excess away: at the leader as damping, at
the follower as a reference that yields (Hannaford and Ryu 2002; Ryu, Artigas and Preusche 2010). Work is that of whole
samples, force times displacement, so that nothing is lost between them. A message that is lost costs nothing: totals
only grow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.control.control_law import pose_error
from phistar.errors import ShapeError
from phistar.short_repr import short_repr
from phistar.spatial.rotations import exp, log

FORTH = 2 + 12 + 6  # entries of a message of the leader: number, energy, how far it is moved, and its twist
RESTING = 0.001  # m/s: a device that is slower is at rest
BACK = 2 + 6  # of the follower: number, energy, and the force on its reference


@short_repr
class Port(NamedTuple):
    """One end of a link after `count` samples.

    The work, J, that the link was `given` there and that it gave (`taken`), the device's or the reference's `pose`
    (4, 4), where it `began`, its `twist` (6,), the `force` (6,) that is held, the last `message` that arrived, and for
    how many samples there was `silence`.

    Examples
    --------
    >>> ps.onboard.LeaderSide(0.001).start(np.eye(4)).given
    0.0
    """

    count: int
    given: float
    taken: float
    pose: np.ndarray
    began: np.ndarray
    twist: np.ndarray
    force: np.ndarray
    message: np.ndarray
    silence: int


@short_repr
class Answer(NamedTuple):
    """`port` after a sample, the `wrench` (6,) on the arm at its frame, [moment; force] in world axes, and the
    `message` to the other end.

    Examples
    --------
    >>> side = ps.onboard.LeaderSide(0.001)
    >>> side.answer(side.start(np.eye(4)), np.eye(4), np.zeros(6), None).port.count
    1
    """

    port: Port
    wrench: Array
    message: Array


@final
@dataclass(frozen=True, eq=False)
class LeaderSide:
    """The end where an operator moves a device and feels the remote force.

    Parameters
    ----------
    period : float
        s between samples.
    passive : bool
        Whether observer and controller act.
    most_damping : (6,)
        The damping, N m s/rad and N s/m, by which the device pays back what the link gave too much of before.
    patience : int
        Samples without a message after which the force fades to nothing.

    Examples
    --------
    >>> side = ps.onboard.LeaderSide(0.001)
    >>> port = side.start(np.eye(4))
    >>> side.answer(port, np.eye(4), np.zeros(6), None).message.shape
    (20,)
    """

    period: float
    passive: bool = True
    most_damping: Any = field(default=(1.0, 1.0, 1.0, 50.0, 50.0, 50.0))
    patience: int = 500

    def __post_init__(self) -> None:
        _check(self, most_damping=self.most_damping)

    def start(self, pose: Any) -> Port:
        return _port(pose, BACK)

    def answer(self, port: Port, pose: Any, twist: Any, message: Array | None) -> Answer:
        """One sample: the device's pose (4, 4) and twist (6,) in the world, and the newest message, or None."""
        pose, twist = np.asarray(pose, dtype=float), np.asarray(twist, dtype=float)
        port = _receive(port, message, BACK)
        work = float(port.force @ _displacement(port.pose, pose))
        given, taken = port.given + max(work, 0.0), port.taken + max(-work, 0.0)
        fading = max(1.0 - max(port.silence - self.patience, 0) / self.patience, 0.0)
        force, left = fading * port.message[2:], port.message[1] - taken
        outward = -float(force @ twist)
        excess = outward - left / self.period  # W more than may be given until the next sample
        if self.passive and excess > 0.0:
            damping = np.asarray(self.most_damping) * twist
            full, least = float(damping @ twist), RESTING**2 * float(np.max(self.most_damping))
            # What the force itself gives may be taken from it, but for a device at rest, whose rates are noise.
            most = max(full, outward * full / (full + least))
            force = force + min(excess, most) / max(full, 1e-12) * damping
        gone = np.concatenate([(pose[:3, :3] @ port.began[:3, :3].T).ravel(), pose[:3, 3] - port.began[:3, 3]])
        after = port._replace(given=given, taken=taken, pose=pose, twist=twist, force=force)
        return Answer(after, -force, np.concatenate([[after.count, given], gone, twist]))


@final
@dataclass(frozen=True, eq=False)
class FollowerSide:
    """The end where a remote arm follows by a spring and a damper to a reference that goes along with the leader.

    Parameters
    ----------
    period : float
        s between samples.
    stiffness, damping : (6,)
        Between reference and arm: N m/rad and N/m, and per second.
    most : (6,)
        Greatest moments and forces, N m and N.
    drift_time : float
        s in which the reference makes up for what it fell behind the leader, as far as that is passive.
    passive : bool
        Whether observer and controller act.
    patience : int
        Samples without a message after which the reference stays where it is.

    Examples
    --------
    >>> side = ps.onboard.FollowerSide(0.001)
    >>> port = side.start(np.eye(4))
    >>> side.answer(port, np.eye(4), np.zeros(6), None).wrench
    array([0., 0., 0., 0., 0., 0.])
    """

    period: float
    stiffness: Any = field(default=(20.0, 20.0, 20.0, 500.0, 500.0, 500.0))
    damping: Any = field(default=(2.0, 2.0, 2.0, 50.0, 50.0, 50.0))
    most: Any = field(default=(10.0, 10.0, 10.0, 60.0, 60.0, 60.0))
    drift_time: float = 1.0
    passive: bool = True
    patience: int = 100

    def __post_init__(self) -> None:
        _check(self, stiffness=self.stiffness, damping=self.damping, most=self.most)
        if not 0.0 < self.drift_time < np.inf:
            raise ShapeError(f"`drift_time` is a time in seconds above 0; it was given {self.drift_time!r:.50}.")

    def start(self, pose: Any) -> Port:
        port = _port(pose, FORTH)
        port.message[2:11] = np.eye(3).ravel()
        return port

    def answer(self, port: Port, pose: Any, twist: Any, message: Array | None) -> Answer:
        """One sample: the arm's pose (4, 4) and twist (6,) in the world, and the newest message, or None."""
        pose, port = np.asarray(pose, dtype=float), _receive(port, message, FORTH)
        stiffness = np.asarray(self.stiffness)
        spring = stiffness * pose_error(pose, np.concatenate([port.pose[:3, :3].ravel(), port.pose[:3, 3]]))
        force = spring + np.asarray(self.damping) * (port.twist - np.asarray(twist, dtype=float))
        force = np.clip(force, -np.asarray(self.most), np.asarray(self.most))
        wanted = np.zeros(6) if port.silence > self.patience else self._reference_twist(port)
        power, most = float(force @ wanted), (port.message[1] - port.taken) / self.period
        if self.passive and power > most:
            yielding = force / stiffness
            wanted = wanted - (power - most) / max(float(force @ yielding), 1e-12) * yielding
            power = float(force @ wanted)
        work = self.period * power
        given, taken = port.given + max(-work, 0.0), port.taken + max(work, 0.0)
        after = port._replace(given=given, taken=taken, pose=_pose_after(port.pose, wanted, self.period))
        after = after._replace(twist=wanted, force=force)
        return Answer(after, force, np.concatenate([[after.count, given], force]))

    def _reference_twist(self, port: Port) -> Array:
        """The leader's twist, and what leads the reference to where the leader has gone."""
        turn, shift, twist = port.message[2:11].reshape(3, 3), port.message[11:14], port.message[14:]
        behind = turn @ port.began[:3, :3] @ port.pose[:3, :3].T
        gap = np.concatenate([log(behind), port.began[:3, 3] + shift - port.pose[:3, 3]])
        return twist + gap / self.drift_time


def energy_of(leader: Port, follower: Port) -> float:
    """The energy that a link keeps, J: what it was given at both ends less what it gave. Of a passive one it is never
    below zero.

    Parameters
    ----------
    leader, follower : Port

    Returns
    -------
    float

    Examples
    --------
    >>> leader, follower = ps.onboard.LeaderSide(0.001), ps.onboard.FollowerSide(0.001)
    >>> ps.onboard.energy_of(leader.start(np.eye(4)), follower.start(np.eye(4)))
    0.0
    """
    return leader.given + follower.given - leader.taken - follower.taken


def _port(pose: Any, entries: int) -> Port:
    pose = np.array(pose, dtype=float)
    if pose.shape != (4, 4) or not np.isfinite(pose).all():
        raise ShapeError(f"A port begins at a pose (4, 4) of finite numbers; its shape is {pose.shape}.")
    return Port(0, 0.0, 0.0, pose, pose, np.zeros(6), np.zeros(6), np.zeros(entries), 0)


def _receive(port: Port, message: Array | None, entries: int) -> Port:
    """The port with the newest message; one that is older than the last is none."""
    port = port._replace(count=port.count + 1, silence=port.silence + 1)
    if message is None:
        return port
    message = np.asarray(message, dtype=float)
    if message.shape != (entries,) or not np.isfinite(message).all():
        raise ShapeError(
            f"A message of the other end has {entries} finite numbers; this one has the shape {message.shape}, "
            f"{int(np.sum(~np.isfinite(message)))} of them not finite."
        )
    overtaken = message[0] <= port.message[0]
    return port if overtaken else port._replace(message=message, silence=0)


def _displacement(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(6,): turn and shift of a frame, in the world."""
    return np.concatenate([log(after[:3, :3] @ before[:3, :3].T), after[:3, 3] - before[:3, 3]])


def _pose_after(pose: np.ndarray, twist: np.ndarray, time: float) -> np.ndarray:
    made = pose.copy()
    made[:3, :3], made[:3, 3] = exp(time * twist[:3]) @ pose[:3, :3], pose[:3, 3] + time * twist[3:]
    return made


def _check(side: Any, **given: Any) -> None:
    """Refuse sides that cannot be."""
    who = type(side).__name__
    if not isinstance(side.period, int | float) or not 1e-6 <= side.period < np.inf:
        raise ShapeError(f"{who}: `period` is a number of seconds from 1e-6 on; it was given {side.period!r:.50}.")
    if not isinstance(side.patience, int) or side.patience < 1:
        raise ShapeError(f"{who}: `patience` is a number of samples, 1 or more; it was given {side.patience!r:.50}.")
    for name, value in given.items():
        row = np.asarray(value, dtype=float)
        if row.shape != (6,) or not (np.isfinite(row).all() and (row > 0.0).all()):
            raise ShapeError(f"{who}: `{name}` is six numbers above 0, angular first; it was given {value!r:.100}.")
