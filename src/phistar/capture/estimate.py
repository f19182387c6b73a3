"""Where the object is and how it moves, from sightings that are late and noisy: a filter on the manifold.

The object drifts evenly between sightings and turns as its inertia has it; what is seen of pose and twist corrects
both by 1/n, the mean of as many sightings as there were, down to that of as many as are remembered, so that what a
touch changes is seen in time. Sightings are `delay` old: they are compared with where the object was then.

    pose ⊕ (seen ⊖ pose(t − delay))/n,   twist + (twist seen − twist)/n

The state is that of the mass centre: what turns about another point of the body sways. Sightings have a constant error
besides, which no filter finds: touch does. Fingers that lie on a face tell its plane, and the difference to the face as
seen corrects what is seen from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.one_state import door
from phistar.capture.paths import CARRIER_ROWS, carried
from phistar.capture.robot import SIGHT_ROWS, Arms
from phistar.compiled import compile
from phistar.model import Model
from phistar.spatial import axial, cross, from_quaternion

BODY_ROWS = 21
TOLD = 0.2  # of the best: directions in which places tell less are not corrected


class Sight(NamedTuple):
    """Compiled: follow(state (18,), seen (13,), base (13,), correction (6,), body (21,), timing (3,)) → the state (18,)
    h later, its twist (6,) as the base sees it, and the sighting (18,) of the frame in the world; carry(carrier (18,),
    coast (3,), base (13,)) → in the world, the carrier that is given in the base's axes, after it has coasted (see
    `paths.carried`).

    `correction` turns and shifts what is seen, in the base's axes; `body` is what is known of its mass, see `body_row`;
    see `timing`.
    """

    follow: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]
    carry: Callable[..., np.ndarray]


def compiled_sight(arms: Arms) -> Sight:
    return _compiled(arms.without_mass().model)


@lru_cache(maxsize=8)
def _compiled(model: Model) -> Sight:
    rows = {"state": CARRIER_ROWS, "seen": SIGHT_ROWS, "base": SIGHT_ROWS, "correction": 6, "timing": 3}
    rows |= {"carrier": CARRIER_ROWS, "coast": 3, "body": BODY_ROWS}
    follow, carry = (compile(function, model, rows=rows).kernel.function for function in (_follow, on_base))
    return Sight(door(follow), door(carry))


def on_base(carrier: Any, coast: Any, base: Any) -> Any:
    """A carrier in the base's axes, after it has coasted, in the world; (18,)."""
    turn, place, twist, _ = carried(carrier, coast)
    axes, omega = from_quaternion(base[3:7]), base[7:10]
    arm = np.matmul(axes, place)
    drift = base[10:13] + cross(omega, arm) + np.matmul(axes, twist[3:])
    return np.concatenate([np.matmul(axes, turn).reshape(9), base[:3] + arm, omega + np.matmul(axes, twist[:3]), drift])


def timing(count: float, step: float, delay: float) -> np.ndarray:
    """1/n, h and the delay, (3,), of a sighting that is one of `count`."""
    return np.array([1.0 / count, step, delay])


def body_row(com: np.ndarray, inertia: np.ndarray | None) -> np.ndarray:
    """Mass centre, inertia and its inverse, (21,), in the body's axes; without an inertia those of a ball."""
    tensor = np.eye(3) if inertia is None else inertia
    return np.concatenate([com, tensor.ravel(), np.linalg.inv(tensor).ravel()])


def recentred(state: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """A state (18,) of another point of the body, `shift` (3,) away in its axes."""
    arm = state[:9].reshape(3, 3) @ shift
    return np.concatenate([state[:9], state[9:12] + arm, state[12:15], state[15:] + cross(state[12:15], arm)])


def first_sight(seen: np.ndarray, base: np.ndarray) -> np.ndarray:
    """The state (18,) of the first sighting."""
    where, spin, drift, rotation = in_world(seen, base, np.zeros(6))
    return np.concatenate([rotation.reshape(9), where, spin, drift])


def _follow(state: Any, seen: Any, base: Any, correction: Any, body: Any, timing: Any) -> Any:
    turn, place, omega, speed = state[:9].reshape(3, 3), state[9:12], state[12:15], state[15:18]
    origin, spin, swaying, rotation = in_world(seen, base, correction)
    arm = np.matmul(rotation, body[:3])
    where, drift = origin + arm, swaying + cross(spin, arm)
    part, h, delay = (timing[i : i + 1] for i in range(3))
    late = h - delay  # from the state's time to that of the sighting
    inertia, inverse = body[3:12].reshape(3, 3), body[12:].reshape(3, 3)
    own = np.matmul(np.swapaxes(turn, 0, 1), omega)
    change = np.matmul(turn, np.matmul(inverse, cross(np.matmul(inertia, own), own)))  # ω̇ = J⁻¹(Jω × ω)
    apart = _small_turn(np.matmul(rotation, np.swapaxes(np.matmul(_turned(omega * late), turn), 0, 1)))
    shift = where - (place + speed * late)
    new_turn = np.matmul(_turned(part * apart + (omega + 0.5 * h * change) * h), turn)
    new_place = place + speed * h + part * shift
    new_omega = omega + change * h + part * (spin - omega - change * late)
    new_speed = speed + part * (drift - speed)
    state = np.concatenate([new_turn.reshape(9), new_place, new_omega, new_speed])
    sighting = np.concatenate([rotation.reshape(9), origin, spin, swaying])
    return {"state_out": state, "twist": in_base(state, base)[12:], "sighting": sighting}


def in_world(seen: Any, base: Any, correction: Any) -> tuple[Any, Any, Any, Any]:
    """Position, ω, velocity (3,) and rotation (3, 3) in the world of what is seen from a base that is seen from there;
    the base sees velocities as they change in its axes."""
    axes = from_quaternion(base[3:7])
    arm = np.matmul(axes, seen[:3] + correction[3:])
    spin = base[7:10] + np.matmul(axes, seen[7:10])
    drift = base[10:13] + cross(base[7:10], arm) + np.matmul(axes, seen[10:13])
    turn = np.matmul(axes, np.matmul(_turned(correction[:3]), from_quaternion(seen[3:7])))
    return base[:3] + arm, spin, drift, turn


def in_base(state: Any, base: Any) -> Any:
    """A state (18,) of the world as the base sees it, (18,)."""
    axes, away = np.swapaxes(from_quaternion(base[3:7]), 0, 1), state[9:12] - base[:3]
    turn = np.matmul(axes, state[:9].reshape(3, 3)).reshape(9)
    spin, drift = state[12:15] - base[7:10], state[15:18] - base[10:13] - cross(base[7:10], away)
    return np.concatenate([turn, *(np.matmul(axes, each) for each in (away, spin, drift))])


def touched(correction: np.ndarray, base: np.ndarray, state: np.ndarray, seen: np.ndarray, planned: np.ndarray) -> Any:
    """The correction after the hands lie on their places: `seen` (h, 4, 4) are the grips in the object's frame as it is
    estimated, `planned` (h, 4, 4) where they would be.

    A hand tells the normal of its place, two angles, and how deep it is, a shift along it; least squares join them.
    """
    normals, wanted = seen[:, :3, 2], planned[:, :3, 2]
    across = np.eye(3) - wanted[:, :, None] * wanted[:, None, :]
    turn = np.linalg.lstsq(across.sum(axis=0), cross(wanted, normals).sum(axis=0), rcond=TOLD)[0]  # small: sin θ is θ
    depths = np.sum((seen[:, :3, 3] - planned[:, :3, 3]) * normals, axis=-1)
    middle = np.linalg.lstsq(normals, depths, rcond=TOLD)[0]
    to_base = from_quaternion(base[3:7]).T @ state[:9].reshape(3, 3)
    return correction + np.concatenate([to_base @ turn, to_base @ middle])


def _small_turn(turn: Any) -> Any:
    """2 sin(θ/2) n of a rotation that is less than a half turn: its rotation vector, where it is small."""
    square = turn[:1, 0] + turn[1:2, 1] + turn[2:, 2] + 1.0
    return axial(turn) / np.sqrt(np.maximum(square, 1e-6))


def _turned(w: Any) -> Any:
    """exp(w̃) by the unit quaternion (w/2, 1)/|…|, exact to third order: steps and corrections turn little."""
    half = 0.5 * w
    length = np.sqrt(1.0 + np.sum(half * half, keepdims=True))
    return from_quaternion(np.concatenate([half / length, 1.0 / length]))
