"""What can be set of the capture: times, speeds, forces; and the gains of every phase."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from phistar.capture.laws import Gains
from phistar.errors import FileError
from phistar.model.names import unknown


def numbers(given: Mapping[str, Any], kind: type, whose: str, may_be_zero: Collection[str] = ()) -> dict[str, float]:
    """Those that a [controller] table gives for the fields of `kind`, each greater than 0."""
    names = [field.name for field in fields(kind)]
    for name, value in given.items():
        if name not in names:
            raise FileError(f"[controller] {unknown('setting', name, names, whose)}")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0.0 <= value < float("inf") or (not value and name not in may_be_zero):
            raise FileError(f"[controller] {name}: a number greater than 0 was expected; it is {value!r:.100}.")
    return {name: float(value) for name, value in given.items()}


@dataclass(frozen=True)
class Settings:
    """Seconds, metres, newtons. A scene's [controller] table may set each by its name."""

    period: float = 0.004
    settle: float = 1.5  # how long the object is watched before the planner is asked,
    ask: float = 1.0  # and how long after it refused
    window: float = 45.0  # how far ahead the planner looks
    memory: float = 0.5  # of the estimate of the object
    delay: float = 0.0  # of sightings
    standoff: float = 0.03  # from the face, where the approach ends
    approach: float = 1.3  # how long it lasts
    closing_speed: float = 0.04
    light: float = 3.0  # push of a hand that touches and waits for the other
    squeeze: float = 40.0
    squeeze_time: float = 0.5
    slowing: float = 2.0
    back_off: float = 0.15
    back_off_time: float = 1.2
    retreat_time: float = 4.0  # back to where the arms began, which corners that pass do not reach
    filter_time: float = 0.01  # of the readings of wrists and joint rates

    @staticmethod
    def of(given: Mapping[str, Any]) -> Settings:
        """Those of a table, numbers greater than 0 (delay and filter_time may be 0)."""
        return Settings(**numbers(given, Settings, "the grapple", may_be_zero=("delay", "filter_time")))


_JOINTS = Gains(task=0.0)
_FOLLOW = Gains(turning=100.0, moving=100.0, turning_rate=20.0, moving_rate=20.0)
_TOUCH = Gains(
    twist_spring=5.0, side_spring=800.0, push_spring=0.0, twist_damping=15.0, damping=300.0, most_moment=6.0,
    most_force=40.0, give_turning=0.1, give=0.0033,
)  # fmt: skip
_CARRY = Gains(
    twist_spring=200.0, side_spring=1500.0, push_spring=1500.0, twist_damping=20.0, damping=600.0, most_moment=10.0,
    most_force=40.0, give_turning=0.06, give=0.0016, hesitation=0.01,
)  # fmt: skip
# Dry friction keeps what is held; the noise of rates, damped hard, would make joints slip.
_KEEP = replace(_CARRY, twist_damping=5.0, damping=150.0, give_turning=0.0, give=0.0, hesitation=0.05)
GAINS: Mapping[str, Gains] = MappingProxyType(
    {
        **dict.fromkeys(("plan", "wait", "reach", "regroup", "retreat", "aborted"), _JOINTS),
        **dict.fromkeys(("approach", "back_off"), _FOLLOW),
        "contact": _TOUCH,
        "coordinate": _CARRY,
        **dict.fromkeys(("hold", "held"), _KEEP),
    }
)
