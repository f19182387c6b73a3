"""Where the object is and how it moves, from sightings that are late and noisy: a filter on the manifold.

The object turns and drifts evenly between sightings; what is seen corrects pose and twist by gains that fall as those
of the least-squares line through n sightings do, to those of `memory` sightings, so that what changes it (a touch) is
forgotten in time. Sightings are `delay` old: they are compared with where the object was then.

    e = seen ⊖ estimate(t − delay),  pose ⊕ a e,  twist + (b/h) e + c (twist seen − twist)
    a = 2(2n − 1)/(n(n + 1)),  b = 6/(n(n + 1)),  c = 1/n
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.capture.robot import Arms
from phistar.compiled import CompiledFunction, compile
from phistar.spatial import cross, from_quaternion

STATE_ROWS = 24  # of a carrier of the law: rotation (9), position, [ω; ẋ], [ω̇; ẍ] = 0
SIGHT_ROWS = 13  # xyz, quaternion, ω, v
STILL = np.array([*[0.0] * 6, 1.0, *[0.0] * 6])  # of a base that does not move


def compiled_sighting(arms: Arms) -> CompiledFunction:
    """follow(state (24,), seen (13,), base (13,), gains (a, b/h, c, h, delay)) → the state h later, (24,), in the world."""
    return compile(_follow, arms.model, rows={"state": STATE_ROWS, "seen": SIGHT_ROWS, "base": SIGHT_ROWS, "gains": 5})


def gains(count: float, step: float, delay: float) -> np.ndarray:
    """Of the sighting number `count`."""
    n = count
    first = 2.0 * (2.0 * n - 1.0) / (n * (n + 1.0))
    return np.array([first, 6.0 / (n * (n + 1.0)) / step if n > 1.0 else 0.0, 1.0 / n, step, delay])


def _follow(state: Any, seen: Any, base: Any, gains: Any) -> Any:
    turn, place, omega, speed = state[:9].reshape(3, 3), state[9:12], state[12:15], state[15:18]
    where, spin, drift, rotation = in_world(seen, base)
    a, b, c, h, delay = (gains[i : i + 1] for i in range(5))
    late = h - delay  # from the state's time to that of the sighting
    apart = _small_turn(np.matmul(rotation, np.matmul(_turned(omega * late), turn).T))
    shift = where - (place + speed * late)
    new_turn = np.matmul(_turned(a * apart + omega * h), turn)
    new_place = place + speed * h + a * shift
    new_omega = omega + b * apart + c * (spin - omega)
    new_speed = speed + b * shift + c * (drift - speed)
    return np.concatenate([new_turn.reshape(9), new_place, new_omega, new_speed, np.zeros(6)])


def in_world(seen: Any, base: Any) -> tuple[Any, Any, Any, Any]:
    """Position, ω, velocity (3,) and rotation (3, 3) in the world of what is seen from a base that is seen from there;
    the base sees velocities as they change in its axes."""
    axes, arm = from_quaternion(base[3:7]), None
    arm = np.matmul(axes, seen[:3])
    spin = base[7:10] + np.matmul(axes, seen[7:10])
    drift = base[10:13] + cross(base[7:10], arm) + np.matmul(axes, seen[10:13])
    return base[:3] + arm, spin, drift, np.matmul(axes, from_quaternion(seen[3:7]))


def _small_turn(turn: Any) -> Any:
    """2 sin(θ/2) n of a rotation that is less than a half turn: its rotation vector, where it is small."""
    sine = np.stack([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    square = turn[:1, 0] + turn[1:2, 1] + turn[2:, 2] + 1.0
    return sine / np.sqrt(np.maximum(square, 1e-6))


def _turned(w: Any) -> Any:
    """exp(w̃) by the unit quaternion (w/2, 1)/|…|, exact to third order: steps and corrections turn little."""
    half = 0.5 * w
    length = np.sqrt(1.0 + np.sum(half * half, keepdims=True))
    return from_quaternion(np.concatenate([half / length, 1.0 / length]))
