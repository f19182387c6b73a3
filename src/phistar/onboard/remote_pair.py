"""Two arms of one plant as leader and follower, with a link between them that is late: teleoperation to try out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.control.sampled import Command
from phistar.dynamics import forward_kinematics, frame_velocity, gravity_load, jacobian
from phistar.errors import ModelError, ShapeError
from phistar.model import Free, Model
from phistar.onboard.teleoperation import FollowerSide, LeaderSide, Port, energy_of

Hand = Callable[[float, Array, Array], Any]  # (t, pose, twist) → wrench (6,)


@final
@dataclass(frozen=True)
class LateLink:
    """A link whose messages arrive `delay` to `delay` + `jitter` seconds after they were sent, or, with the probability
    `loss`, never; which do is drawn from `seed`.

    Examples
    --------
    >>> link = ps.onboard.LateLink(0.1, jitter=0.02)
    >>> 0.1 <= link.lag(7) <= 0.12
    True
    """

    delay: float
    jitter: float = 0.0
    loss: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        times = self.delay, self.jitter
        if not all(isinstance(x, int | float) and 0.0 <= x < np.inf for x in times) or not 0.0 <= self.loss < 1.0:
            raise ShapeError(
                f"A link is late by 0 s or more, by up to 0 s or more besides, and loses 0 to less than all of its "
                f"messages; it was given {self.delay!r:.40}, {self.jitter!r:.40} and {self.loss!r:.40}."
            )

    def lag(self, number: int) -> float:
        """How late the message of a number is, s; infinite where it is lost."""
        if not self.jitter and not self.loss:
            return self.delay
        lost, late = np.random.default_rng([self.seed, number]).random(2)
        return np.inf if lost < self.loss else self.delay + self.jitter * float(late)


class Flight(NamedTuple):
    """A message on its way, and when it arrives."""

    arrival: float
    message: Array


class PairMemory(NamedTuple):
    """Both ports and what flies between them."""

    leader: Port | None
    follower: Port | None
    forth: tuple[Flight, ...]
    back: tuple[Flight, ...]
    count: int


@final
@dataclass(frozen=True, eq=False)
class RemotePair:
    """A `SampledController` of a plant with two arms: the follower goes where the leader is moved, and the leader is
    pushed as the follower is. Both are carried against gravity.

    Facts of every sample: `energy`, which the link keeps, J, and `leader_force` and `follower_force`, N.

    Parameters
    ----------
    model : Model
        The plant's.
    leader, follower : str
        Frames at the ends of the two arms.
    leader_side, follower_side : LeaderSide, FollowerSide
        With one period.
    link : LateLink
        Both ways.
    hand : callable, optional
        (t, pose, twist) → (6,), [moment; force] in world axes: an operator's push on the leader, in a simulation.

    Examples
    --------
    >>> plant = ps.Plant(gravity=(0, 0, 0))
    >>> for name, y in (("near", 0.0), ("far", 2.0)):
    ...     plant.add(ps.load("puma560_akb"), name, ps.Pose(xyz=(0, y, 0)))
    >>> sides = ps.onboard.LeaderSide(0.002), ps.onboard.FollowerSide(0.002)
    >>> pair = ps.onboard.RemotePair(plant.model, "near/tool", "far/tool", *sides, ps.onboard.LateLink(0.1))
    >>> pair.period
    0.002
    """

    model: Model
    leader: str
    follower: str
    leader_side: LeaderSide
    follower_side: FollowerSide
    link: LateLink
    hand: Hand | None = None

    def __post_init__(self) -> None:
        if self.leader_side.period != self.follower_side.period:
            own = self.leader_side.period, self.follower_side.period
            raise ShapeError(f"Both sides need one period; they have {own[0]:g} and {own[1]:g} s.")
        shared = set(self._arm(self.leader).tolist()) & set(self._arm(self.follower).tolist())
        for frame in (self.leader, self.follower):
            if not len(self._arm(frame)):
                raise ModelError(f"{self.model.name}: no joint with a motor moves '{frame}'.")
        if shared:
            raise ModelError(f"{self.model.name}: '{self.leader}' and '{self.follower}' are moved by the same joints.")

    @property
    def period(self) -> float:
        return self.leader_side.period

    def start(self) -> PairMemory:
        return PairMemory(None, None, (), (), 0)

    def command(self, memory: PairMemory, t: float, sensed: Mapping[str, Any]) -> tuple[PairMemory, Command]:
        q, v = np.asarray(sensed["q"]), np.asarray(sensed["v"])
        poses = [forward_kinematics(self.model, q, frame) for frame in (self.leader, self.follower)]
        twists = [frame_velocity(self.model, q, v, frame) for frame in (self.leader, self.follower)]
        near = memory.leader or self.leader_side.start(poses[0])
        far = memory.follower or self.follower_side.start(poses[1])
        forth, come = _take_arrived(memory.forth, t)
        back, returned = _take_arrived(memory.back, t)
        one = self.leader_side.answer(near, poses[0], twists[0], returned)
        two = self.follower_side.answer(far, poses[1], twists[1], come)
        forth += (Flight(t + self.link.lag(2 * memory.count), one.message),)
        back += (Flight(t + self.link.lag(2 * memory.count + 1), two.message),)
        pushed = np.zeros(6) if self.hand is None else np.asarray(self.hand(t, poses[0], twists[0]), dtype=float)
        tau = self._forces(q, self.leader, one.wrench + pushed) + self._forces(q, self.follower, two.wrench)
        facts = {
            "energy": energy_of(one.port, two.port),
            "leader_force": float(np.linalg.norm(one.wrench[3:])),
            "follower_force": float(np.linalg.norm(two.wrench[3:])),
        }
        after = PairMemory(one.port, two.port, _not_lost(forth), _not_lost(back), memory.count + 1)
        return after, Command(tau, "", (), facts)

    def _forces(self, q: Array, frame: str, wrench: Array) -> Array:
        """Joint forces (nv,) of an arm that press with a wrench at its end and hold it against gravity."""
        own, tau = self._arm(frame), np.zeros(self.model.nv)
        tau[own] = jacobian(self.model, q, frame)[:, own].T @ wrench + gravity_load(self.model, q)[own]
        return tau

    def _arm(self, frame: str) -> np.ndarray:
        """Rates of the joints that carry a frame, but for those that float."""
        return self._arms[frame]

    @cached_property
    def _arms(self) -> Mapping[str, np.ndarray]:
        found = {}
        for frame in (self.leader, self.follower):
            body, rates = self.model.frame(frame).body, []
            while body >= 0:
                joint = self.model.joints[body]
                rates += [] if isinstance(joint.kind, Free) else list(range(joint.v_slice.start, joint.v_slice.stop))
                body = self.model.parents[body]
            found[frame] = np.array(sorted(rates), dtype=int)
        return found


def _take_arrived(flights: tuple[Flight, ...], t: float) -> tuple[tuple[Flight, ...], Array | None]:
    """What is still on its way, and of what has arrived the message that was sent last."""
    here = [flight.message for flight in flights if flight.arrival <= t + 1e-9]
    newest = max(here, key=lambda message: float(message[0])) if here else None
    return tuple(flight for flight in flights if flight.arrival > t + 1e-9), newest


def _not_lost(flights: tuple[Flight, ...]) -> tuple[Flight, ...]:
    return tuple(flight for flight in flights if np.isfinite(flight.arrival))
