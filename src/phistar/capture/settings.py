"""What can be set of the capture: times, speeds, forces, and the gains of every phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from phistar.capture.laws import Gains


@dataclass(frozen=True)
class Settings:
    """Seconds, metres, newtons."""

    period: float = 0.004
    settle: float = 1.0  # how long the object is watched before the planner is asked
    ask: float = 1.0  # and between its answers
    memory: float = 1.0  # of the estimate of the object, before it is touched
    short_memory: float = 0.1  # and after
    delay: float = 0.0  # of sightings
    standoff: float = 0.05
    approach: float = 2.0
    closing_speed: float = 0.04
    light: float = 3.0
    squeeze: float = 40.0
    squeeze_time: float = 1.0
    slowing: float = 2.5
    back_off: float = 0.10
    joint_stiffness: float = 100.0
    joint_damping: float = 20.0


_JOINTS = Gains(task=0.0)
_FOLLOW = Gains(turning=100.0, moving=100.0, turning_rate=20.0, moving_rate=20.0)
_TOUCH = Gains(
    twist_spring=5.0, side_spring=800.0, push_spring=0.0, twist_damping=15.0, damping=300.0, most_moment=6.0,
    most_force=40.0, give_turning=0.1, give=0.0033,
)  # fmt: skip
_CARRY = Gains(
    twist_spring=40.0, side_spring=1500.0, push_spring=1500.0, twist_damping=15.0, damping=600.0, most_moment=10.0,
    most_force=40.0, give_turning=0.06, give=0.0016,
)  # fmt: skip
GAINS: Mapping[str, Gains] = MappingProxyType(
    {
        **dict.fromkeys(("plan", "wait", "reach", "retreat", "aborted"), _JOINTS),
        **dict.fromkeys(("approach", "back_off"), _FOLLOW),
        "contact": _TOUCH,
        **dict.fromkeys(("coordinate", "hold", "held"), _CARRY),
    }
)
