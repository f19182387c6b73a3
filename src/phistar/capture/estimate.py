"""Where the object is and how it moves, from sightings that are late and noisy: a filter on the manifold.

The object turns and drifts evenly between sightings; what is seen corrects pose and twist by gains that fall as those
of the least-squares line through n sightings do, down to those of as many as are remembered, so that what changes its
motion (a touch) is forgotten in time. Sightings are `delay` old: they are compared with where the object was then.

    e = seen ⊖ estimate(t − delay),  pose ⊕ a e,  twist + (b/h) e + c (twist seen − twist)
    a = 2(2n − 1)/(n(n + 1)),  b = 6/(n(n + 1)),  c = 1/n

Sightings have a constant error besides, which no filter finds: touch does. Fingers that lie on a face tell its plane,
and the difference to the face as seen corrects what is seen from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from phistar.capture.laws import door
from phistar.capture.paths import CARRIER_ROWS
from phistar.capture.robot import SIGHT_ROWS, Arms
from phistar.compiled import compile
from phistar.model import Model
from phistar.spatial import cross, from_quaternion

STILL = np.array([*[0.0] * 6, 1.0, *[0.0] * 6])  # a base that does not move


def compiled_sighting(arms: Arms) -> Callable[..., np.ndarray]:
    """follow(state (18,), seen (13,), base (13,), correction (6,), gains (5,)) → the state (18,) h later, a carrier.

    `correction` turns and shifts what is seen, in the base's axes; see `gains`.
    """
    return _compiled(arms.without_mass().model)


@lru_cache(maxsize=8)
def _compiled(model: Model) -> Callable[..., np.ndarray]:
    rows = {"state": CARRIER_ROWS, "seen": SIGHT_ROWS, "base": SIGHT_ROWS, "correction": 6, "gains": 5}
    return door(compile(_follow, model, rows=rows))


def gains(count: float, step: float, delay: float) -> np.ndarray:
    """a, b/h, c, h and the delay for an estimate from `count` sightings, (5,)."""
    first = 2.0 * (2.0 * count - 1.0) / (count * (count + 1.0))
    second = 6.0 / (count * (count + 1.0)) / step if count > 1.0 else 0.0
    return np.array([first, second, 1.0 / count, step, delay])


def first_sight(seen: np.ndarray, base: np.ndarray) -> np.ndarray:
    """The state (18,) of the first sighting."""
    where, spin, drift, rotation = in_world(seen, base, np.zeros(6))
    return np.concatenate([rotation.reshape(9), where, spin, drift])


def _follow(state: Any, seen: Any, base: Any, correction: Any, gains: Any) -> Any:
    turn, place, omega, speed = state[:9].reshape(3, 3), state[9:12], state[12:15], state[15:18]
    where, spin, drift, rotation = in_world(seen, base, correction)
    a, b, c, h, delay = (gains[i : i + 1] for i in range(5))
    late = h - delay  # from the state's time to that of the sighting
    apart = _small_turn(np.matmul(rotation, np.swapaxes(np.matmul(_turned(omega * late), turn), 0, 1)))
    shift = where - (place + speed * late)
    new_turn = np.matmul(_turned(a * apart + omega * h), turn)
    new_place = place + speed * h + a * shift
    new_omega = omega + b * apart + c * (spin - omega)
    new_speed = speed + b * shift + c * (drift - speed)
    return np.concatenate([new_turn.reshape(9), new_place, new_omega, new_speed])


def in_world(seen: Any, base: Any, correction: Any) -> tuple[Any, Any, Any, Any]:
    """Position, ω, velocity (3,) and rotation (3, 3) in the world of what is seen from a base that is seen from there;
    the base sees velocities as they change in its axes."""
    axes = from_quaternion(base[3:7])
    arm = np.matmul(axes, seen[:3] + correction[3:])
    spin = base[7:10] + np.matmul(axes, seen[7:10])
    drift = base[10:13] + cross(base[7:10], arm) + np.matmul(axes, seen[10:13])
    turn = np.matmul(axes, np.matmul(_turned(correction[:3]), from_quaternion(seen[3:7])))
    return base[:3] + arm, spin, drift, turn


def in_base(state: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pose (4, 4) and twist (6,) of a state as the base sees them."""
    axes, pose = from_quaternion(base[3:7]).T, np.eye(4)
    away = state[9:12] - base[:3]
    pose[:3, :3], pose[:3, 3] = axes @ state[:9].reshape(3, 3), axes @ away
    drift = state[15:18] - base[10:13] - cross(base[7:10], away)
    return pose, np.concatenate([axes @ (state[12:15] - base[7:10]), axes @ drift])


def touched(correction: np.ndarray, base: np.ndarray, state: np.ndarray, seen: np.ndarray, planned: np.ndarray) -> Any:
    """The correction after both hands lie on their faces: `seen` (2, 4, 4) are the grips in the object's frame as it is
    estimated, `planned` (2, 4, 4) where they would be on its faces.

    The faces are parallel: their common normal tells two angles, the middle of the planes a shift along it.
    """
    normal, wanted = seen[0, :3, 2] - seen[1, :3, 2], planned[0, :3, 2] - planned[1, :3, 2]
    normal, wanted = normal / np.linalg.norm(normal), wanted / np.linalg.norm(wanted)
    turn = cross(wanted, normal)  # small: sin θ is θ
    middle = 0.5 * ((seen[:, :3, 3] - planned[:, :3, 3]) @ normal).sum() * normal
    to_base = from_quaternion(base[3:7]).T @ state[:9].reshape(3, 3)
    return correction + np.concatenate([to_base @ turn, to_base @ middle])


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
