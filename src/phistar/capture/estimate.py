"""Estimate of the object's pose and motion from late and noisy sightings: the filter of
`estimation.sighted_body`, compiled for one sample, and its doors to the capture.

The belief with its covariance is that of the time of the last sighting, which is `delay` old; what the capture follows
is the object as it will have moved on since. While nothing touches the object it tumbles freely, which tells of inertia
and mass centre; hands push it about, which the filter takes for noise in its acceleration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.one_state import door
from phistar.capture.paths import CARRIER_ROWS, carry_frame
from phistar.capture.robot import SIGHT_ROWS, Arms
from phistar.capture.settings import Settings
from phistar.compiled import compile
from phistar.estimation.free_body import ERRORS, ROWS, FreeBody, tensor
from phistar.estimation.sighted_body import (
    PACKED,
    Base,
    pack_covariance,
    propagate,
    unpack_covariance,
    update_by_sighting,
    update_by_touch,
)
from phistar.model import Model
from phistar.spatial import cross, from_quaternion, skew

BALL = (1.0, 0.0, 1.0, 0.0, 0.0, 1.0)
TOUCH = (0.01, 0.001)  # rad and m: how well hands that press on their places tell where those are
UNLIKE_A_BALL = 0.3  # standard deviation of an inertia's entries about those of a ball, of its moments,
OFF_CENTER = 0.1  # and of the mass centre about the origin of the body's frame, m
MOST_UNLIKE = 0.95  # of the way to an inertia that no body can have
NOISES, TIMES = 6, 2
SEEN = 12.0  # numbers that a sighting tells, the mean of its NIS
SIGHTED = {  # lengths of the arguments of what is compiled here
    "belief": ROWS, "covariance": PACKED, "seen": SIGHT_ROWS, "base": SIGHT_ROWS, "noises": NOISES, "times": TIMES,
    "center": 3, "carrier": CARRIER_ROWS, "coast": 3,
}  # fmt: skip
UNTOUCHED = ("plan", "wait", "reach", "approach", "regroup", "retreat", "aborted")  # as far as the plan goes
PUSHING = ("contact", "coordinate", "back_off")


class Sight(NamedTuple):
    """Compiled: follow(belief (39,), covariance (378,), seen (13,), base (13,), noises (6,), times (2,), center (3,)) →
    belief and covariance h later, the object (18,) now in the world, its twist (6,) as the base sees it, and the
    sighting's NIS over its mean (1,);
    carry(carrier (18,), coast (3,), base (13,)) → in the world, the carrier that is given in the base's axes, after it
    has coasted (see `paths.carried`).

    `times` are h and the delay, `center` the point of the body that is followed; see `noises`.
    """

    follow: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]
    carry: Callable[..., np.ndarray]


def compiled_sight(arms: Arms) -> Sight:
    return _compile_sight(arms.without_mass().model)


@lru_cache(maxsize=8)
def _compile_sight(model: Model) -> Sight:
    follow, carry = (compile(function, model, rows=SIGHTED).kernel.function for function in (follow_body, on_base))
    return Sight(door(follow), door(carry))


def on_base(carrier: Any, coast: Any, base: Any) -> Any:
    """A carrier in the base's axes, after it has coasted, in the world; (18,)."""
    turn, place, twist, _ = carry_frame(carrier, coast)
    axes, omega = from_quaternion(base[3:7]), base[7:10]
    arm = np.matmul(axes, place)
    drift = base[10:13] + cross(omega, arm) + np.matmul(axes, twist[3:])
    return np.concatenate([np.matmul(axes, turn).reshape(9), base[:3] + arm, omega + np.matmul(axes, twist[:3]), drift])


def noises(settings: Settings, phase: str) -> np.ndarray:
    """Standard deviations of a sighting, m, rad, rad/s and m/s, and densities of the object's other accelerations in a
    phase, m/s² and rad/s² per √Hz, (6,)."""
    own, push = settings, settings.pushed if phase in PUSHING else settings.steadied
    push = settings.drifting if phase in UNTOUCHED else push
    return np.array([own.place_noise, own.turn_noise, own.spin_noise, own.speed_noise, push, push])


def first_sight(seen: Any, base: Any, settings: Settings) -> tuple[Any, Any]:
    """Belief (39,) and covariance (378,) of the first sighting, of floats or traced numbers."""
    from_there, own = Base.of(base, np.array([settings.delay])), settings
    arm = np.matmul(from_there.axes, seen[:3])
    turn = np.matmul(from_there.axes, from_quaternion(seen[3:7]))
    spin = from_there.spin + np.matmul(from_there.axes, seen[7:10])
    speed = from_there.velocity + cross(from_there.spin, arm) + np.matmul(from_there.axes, seen[10:13])
    six, none = np.array(BALL), np.zeros(3)
    spin = np.matmul(np.swapaxes(turn, 0, 1), spin)
    belief = FreeBody(turn, from_there.origin + arm, speed, spin, six, none, np.eye(3), none)
    # What errors of place, attitude and spin have in common with those of sightings.
    turned, rolled = -np.matmul(np.swapaxes(turn, 0, 1), from_there.axes), skew(belief.spin)
    shared = {(0, 8): -from_there.axes, (1, 7): turned, (3, 1): rolled, (3, 7): np.matmul(rolled, turned)}
    H = _in_blocks(ERRORS // 3, shared)
    sizes = [own.place_noise, own.turn_noise, own.speed_noise, own.spin_noise, UNLIKE_A_BALL, OFF_CENTER]
    spread = np.repeat([*sizes, own.turn_bias, own.place_bias], (3, 3, 3, 3, 6, 3, 3, 3))
    return belief.row, pack_covariance(np.matmul(H * spread**2, np.swapaxes(H, 0, 1)))


def _in_blocks(count: int, given: Mapping[tuple[int, int], Any]) -> Any:
    """The identity of `count` blocks of three, with some blocks beside its diagonal."""
    own = {(i, i): np.eye(3) for i in range(count)} | dict(given)
    none = np.zeros((3, 3))
    rows = [np.concatenate([own.get((i, j), none) for j in range(count)], axis=1) for i in range(count)]
    return np.concatenate(rows)


def follow_body(belief: Any, covariance: Any, seen: Any, base: Any, noises: Any, times: Any, center: Any) -> Any:
    """`Sight.follow`, of floats or traced numbers."""
    h, delay = times[:1], times[1:2]
    before, P = propagate(FreeBody.of(belief), unpack_covariance(covariance), h, noises[4:])
    after, P, nis = update_by_sighting(before, P, seen, Base.of(base, delay), noises[:4])
    state = as_carrier(after.later(delay), center)
    twist = in_base(state, base)[12:]
    return {
        "belief_out": after.row,
        "covariance_out": pack_covariance(P),
        "state": state,
        "twist": twist,
        "nis": nis / SEEN,
    }


def locate(belief: Any, covariance: Any, lying: Any, there: Any, delay: Any, center: Any) -> tuple[Any, Any, Any]:
    """Belief (39,), covariance (378,) and the object (18,) now, after hands lie at `lying` (h, 4, 4) in the body's
    frame as it is believed, which is where they are to be, `there` (h, 4, 4); of floats or traced numbers."""
    after, spread, _ = update_by_touch(FreeBody.of(belief), unpack_covariance(covariance), lying, there, TOUCH)
    return after.row, pack_covariance(spread), as_carrier(after.later(delay), center)


def as_carrier(belief: FreeBody, center: Any) -> Any:
    """A point (3,) of the object as a carrier (18,) in the world."""
    arm, spin = np.matmul(belief.turn, center), np.matmul(belief.turn, belief.spin)
    return np.concatenate([belief.turn.reshape(9), belief.place + arm, spin, belief.velocity + cross(spin, arm)])


def move_center(state: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """A carrier (18,) of another point of the body, `shift` (3,) away in its axes."""
    arm = state[:9].reshape(3, 3) @ shift
    return np.concatenate([state[:9], state[9:12] + arm, state[12:15], state[15:] + cross(state[12:15], arm)])


def in_base(state: Any, base: Any) -> Any:
    """A state (18,) of the world as the base sees it, (18,)."""
    axes, away = np.swapaxes(from_quaternion(base[3:7]), 0, 1), state[9:12] - base[:3]
    turn = np.matmul(axes, state[:9].reshape(3, 3)).reshape(9)
    spin, drift = state[12:15] - base[7:10], state[15:18] - base[10:13] - cross(base[7:10], away)
    return np.concatenate([turn, *(np.matmul(axes, each) for each in (away, spin, drift))])


def possible_inertia(six: np.ndarray) -> np.ndarray:
    """The tensor (3, 3) up to a factor, or as much of its difference to a ball's as a body can have: moments are
    positive, and none above the sum of the others."""
    whole = tensor(np.asarray(six))
    away = whole / (np.trace(whole) / 3.0) - np.eye(3)
    low, middle, high = np.linalg.eigvalsh(away)
    unlike = max(-low, high - low - middle, MOST_UNLIKE)
    return np.eye(3) + MOST_UNLIKE / unlike * away
