"""Settings of the capture: times, speeds, forces; and the gains of every phase."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from phistar.control.coordinated import CoordinatedGains
from phistar.errors import FileError
from phistar.model.names import unknown


def numbers(given: Mapping[str, Any], kind: type, whose: str, may_be_zero: Collection[str] = ()) -> dict[str, float]:
    """Values that a [controller] table gives for the fields of `kind`, each greater than 0."""
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
    renew: float = 2.0  # how often a plan that waits is made anew, by what was seen since
    window: float = 45.0  # how far ahead the planner looks
    delay: float = 0.0  # of sightings,
    place_noise: float = 0.002  # their standard deviations, m,
    turn_noise: float = 0.005  # rad,
    speed_noise: float = 0.002  # m/s
    spin_noise: float = 0.002  # and rad/s,
    place_bias: float = 0.005  # and those of their constant error, m
    turn_bias: float = 0.02  # and rad
    drifting: float = 1e-5  # density of what accelerates the object besides, m/s² and rad/s² per √Hz,
    pushed: float = 0.05  # while hands push it,
    steadied: float = 1e-3  # and while they hold it still
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
    touch_on: float = 1.0  # a finger touches from so much on,
    touch_off: float = 0.3  # until it is so little
    friction: float = 0.3  # that fingers are trusted to have
    heaviest: float = 0.0  # kg of a target whose momentum the grasp is to bear; 0: it is not looked at
    reach_time: float = 3.0  # the shortest way to before the target,
    joint_rate: float = 0.7  # and the fastest joint on it, rad/s
    calm: float = 0.1  # rad/s: up to such a spin all is as it stands here;
    hurry: float = 0.3  # from such a spin on as in HURRIED, and in between in between

    def at_spin(self, spin: float) -> Settings:
        """The settings for a body that spins so fast, rad/s: a faster one leaves less time until it has turned away."""
        part = min(max((spin - self.calm) / max(self.hurry - self.calm, 1e-9), 0.0), 1.0)
        own = {name: (getattr(self, name), value) for name, value in HURRIED.items()}
        return replace(self, **{name: slow + part * (fast - slow) for name, (slow, fast) in own.items()})

    @staticmethod
    def of(given: Mapping[str, Any]) -> Settings:
        """Settings of a table, numbers greater than 0 (delay, filter_time and heaviest may be 0)."""
        return Settings(**numbers(given, Settings, "the grapple", may_be_zero=("delay", "filter_time", "heaviest")))


HURRIED: Mapping[str, float] = MappingProxyType(
    {
        "approach": 0.6,
        "closing_speed": 0.08,
        "squeeze": 60.0,
        "squeeze_time": 0.25,
        "slowing": 1.0,
        "reach_time": 1.5,
        "joint_rate": 1.4,
    }
)

_JOINTS = CoordinatedGains(task=0.0)
_FOLLOW = CoordinatedGains(turning=100.0, moving=100.0, turning_rate=20.0, moving_rate=20.0)
_TOUCH = CoordinatedGains(
    twist_spring=5.0, side_spring=800.0, push_spring=0.0, twist_damping=15.0, damping=300.0, most_moment=6.0,
    most_force=40.0, give_turning=0.1, give=0.0033,
)  # fmt: skip
_CARRY = CoordinatedGains(
    twist_spring=200.0, side_spring=1500.0, push_spring=1500.0, twist_damping=20.0, damping=600.0, most_moment=10.0,
    most_force=40.0, give_turning=0.06, give=0.0016, hesitation=0.01,
)  # fmt: skip
# Dry friction keeps what is held; the noise of rates, damped hard, would make joints slip.
_KEEP = replace(_CARRY, twist_damping=5.0, damping=150.0, give_turning=0.0, give=0.0, hesitation=0.05)
GAINS: Mapping[str, CoordinatedGains] = MappingProxyType(
    {
        **dict.fromkeys(("plan", "wait", "reach", "regroup", "retreat", "aborted"), _JOINTS),
        **dict.fromkeys(("approach", "back_off"), _FOLLOW),
        "contact": _TOUCH,
        "coordinate": _CARRY,
        **dict.fromkeys(("hold", "held"), _KEEP),
    }
)

FIRM, FREE = 4.5, 1.0  # D τ/Λ that a hand takes on joints that dry friction steadies, and on others;
# Damping, N s/m and N m s/rad, of a hand that holds still where no friction stops what the noise of rates makes of it.
QUIET, QUIET_TURN = 9.0, 0.8


def stable_gains(phase: str, inertia: np.ndarray, steady: bool, lag: float) -> CoordinatedGains:
    """Gains of a phase that a hand of little mass can take.

    No more damping than D = c Λ/τ, τ the time from a rate to the force that answers it, s, and no more stiffness than
    that damps, K = D²/2Λ. `inertia` (6,) is Λ along the grip's axes, angular first.
    """
    gains, quiet = GAINS[phase], phase in ("hold", "held") and not steady
    most = (FIRM if steady else FREE) / lag
    turning, moving, about = float(inertia[:2].min()), float(inertia[3:].min()), float(inertia[2])
    twist, damping = min(gains.twist_damping, most * turning), min(gains.damping, most * moving)
    turn_rate, rate = most, most  # D/Λ
    if quiet:
        twist, damping = min(twist, QUIET_TURN), min(damping, QUIET)
        turn_rate, rate = twist / turning, damping / moving
    spring, side = 0.5 * turn_rate**2 * turning, 0.5 * rate**2 * moving
    return replace(
        gains,
        twist_damping=twist,
        damping=damping,
        twist_spring=min(gains.twist_spring, spring),
        side_spring=min(gains.side_spring, side),
        push_spring=min(gains.push_spring, side),
        about_z=min(1.0, turn_rate * about / max(twist, 1e-9)),
    )
