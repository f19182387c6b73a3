"""The filter of a free body's sightings and touches: Kalman's, on the body's manifold (`free_body.py`).

A sighting is o + A(seen − s) = p, seen = B A*R of a base A, o, and v and R ω where twists are seen too. Touch is one
more observation: where fingers lie on a known face, its normal and depth are known, and sightings' errors with them.

All functions take floats or traced numbers, so that they compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.traces.solve import solve_symmetric
from phistar.estimation.free_body import ERRORS, FreeBody, blank, rotation_vector
from phistar.spatial import cross, exp, from_quaternion, skew, times, transposed

PACKED = 378
UPPER = np.triu_indices(ERRORS)
SQUARE = np.zeros((ERRORS, ERRORS), dtype=int)  # where each entry of a covariance stands among the packed
SQUARE[UPPER] = np.arange(PACKED)
SQUARE = np.maximum(SQUARE, SQUARE.T)
LONGEST_STEP = 0.05  # rad that one step of a forecast may turn


class Base(NamedTuple):
    """Axes (3, 3), origin, ω and velocity (3,) in the world of the frame that a body is seen from."""

    axes: Any
    origin: Any
    spin: Any
    velocity: Any

    @staticmethod
    def of(row: Any, ago: Any = 0.0) -> Base:
        """The base of a reading [xyz, quaternion, ω, v] (13,), as it was `ago` seconds before, going evenly."""
        axes = np.matmul(exp(-ago * row[7:10]), from_quaternion(row[3:7]))
        return Base(axes, row[:3] - ago * row[10:13], row[7:10], row[10:13])


def unpack_covariance(packed: Any) -> Any:
    """The covariance (27, 27) of its upper triangle (378,)."""
    return packed[SQUARE]


def pack_covariance(covariance: Any) -> Any:
    """The upper triangle (378,) of a covariance (27, 27)."""
    return covariance[UPPER]


def propagate(body: FreeBody, P: Any, h: Any, noise: Any) -> tuple[FreeBody, Any]:
    """Body and covariance a short h seconds later; `noise` (2,) are the spectral densities of other accelerations, m/s²
    and rad/s² per √Hz."""
    F = body.transition(h)
    return body.later(h), np.matmul(np.matmul(F, P), transposed(F)) + accelerations(h, noise, ERRORS)


def accelerations(h: Any, noise: Any, errors: int) -> Any:
    """Covariance (errors, errors) of what other accelerations do in h seconds: to place and velocity, which are the
    first and third of the errors, and to attitude and spin, the second and fourth."""
    made = blank(noise, (errors, errors))
    for k in range(6):
        place, rate, size = slice(k, k + 1), slice(k + 6, k + 7), noise[k // 3 : k // 3 + 1]
        made[place, place] = size * size * h * h * h / 3.0
        made[place, rate] = made[rate, place] = size * size * h * h / 2.0
        made[rate, rate] = size * size * h
    return made


def off(body: FreeBody, place: Any, turn: Any) -> Any:
    """Deviation of a pose seen in the world from the believed one, [δp; δθ] (…, 6)."""
    turned = rotation_vector(np.matmul(transposed(body.turn), turn))
    return np.concatenate([place - body.place, turned], axis=-1)


def update_by_sighting(body: FreeBody, P: Any, seen: Any, base: Base, noise: Any) -> tuple[FreeBody, Any, Any]:
    """Body and covariance after a sighting [xyz, quaternion, ω, v] (13,) from the base, as it changes in its axes, and
    the sighting's NIS; `noise` (4,) are its standard deviations: m, rad, rad/s, m/s."""
    R, w, axes = body.turn, body.spin, base.axes
    righted = np.matmul(axes, transposed(body.misturn))
    arm = np.matmul(axes, seen[:3] - body.shift)
    pose = off(body, base.origin + arm, np.matmul(righted, from_quaternion(seen[3:7])))
    speed = base.velocity + cross(base.spin, arm) + np.matmul(axes, seen[10:13]) - body.velocity
    spin = np.matmul(transposed(R), base.spin + np.matmul(axes, seen[7:10])) - w
    H = blank(w, (12, ERRORS))
    H[0:3, 0:3], H[0:3, 24:27] = np.eye(3), axes
    H[3:6, 3:6], H[3:6, 21:24] = np.eye(3), np.matmul(transposed(R), righted)
    H[6:9, 6:9] = np.eye(3)
    H[9:12, 3:6], H[9:12, 9:12] = -skew(w), np.eye(3)
    sizes = np.concatenate([noise[k : k + 1] for k in (0, 0, 0, 1, 1, 1, 3, 3, 3, 2, 2, 2)])
    step, P, nis = correct(P, H, np.concatenate([pose, speed, spin]), sizes)
    return body.moved(step), P, nis


def update_by_touch(
    body: FreeBody, P: Any, grips: Any, planned: Any, noise: tuple[float, float]
) -> tuple[FreeBody, Any, Any]:
    """Body and covariance after hands lie on faces, and NIS: `grips` (h, 4, 4) in the body's frame as it is believed,
    `planned` (h, 4, 4) where they are in it; `noise`: rad of a normal, m of a depth. Of floats or traced numbers."""
    rows, errors = [], []
    for own, wanted in zip(grips, planned, strict=True):
        normal, where = wanted[:3, 2], own[:3, 3]
        across = np.swapaxes(wanted[:3, :2], 0, 1)  # a normal tells two angles
        depth = [np.matmul(body.turn, normal), cross(where, normal), np.zeros(ERRORS - 6)]
        turned = [np.zeros((2, 3)), across, np.zeros((2, ERRORS - 6))]
        rows += [np.concatenate(turned, axis=1), np.concatenate(depth)[None]]
        gap = np.sum(normal * (where - wanted[:3, 3]), keepdims=True)
        errors += [np.matmul(across, cross(normal, own[:3, 2])), gap]
    sizes = np.array([noise[0], noise[0], noise[1]] * len(grips))
    step, P, nis = correct(P, np.concatenate(rows), np.concatenate(errors), sizes)
    return body.moved(step), P, nis


def correct(P: Any, H: Any, e: Any, sizes: Any) -> tuple[Any, Any, Any]:
    """The errors (…, n) that an observation e = H δ + noise of standard deviations `sizes` tells of, their covariance
    (…, n, n) after it, and its NIS (…, 1)."""
    G = np.matmul(P, transposed(H))
    D = np.matmul(H, G) + np.eye(len(sizes)) * (sizes * sizes)
    both = solve_symmetric(D, np.concatenate([transposed(G), e[..., None]], axis=-1))
    gain, weighed = transposed(both[..., :-1]), both[..., -1]
    nis = np.sum(e * weighed, axis=-1, keepdims=True)
    return times(G, weighed), P - np.matmul(gain, transposed(G)), nis


def forecast(body: FreeBody, P: np.ndarray, seconds: float, noise: np.ndarray) -> tuple[float, float]:
    """Standard deviations of attitude (rad) and place (m) of the body's frame, each about its worst axis, so much
    later."""
    turning = float(np.linalg.norm(body.spin)) * max(seconds, 0.0)
    count = max(1, int(np.ceil(turning / LONGEST_STEP)))
    h = np.array([max(seconds, 0.0) / count])
    for _ in range(count):
        body, P = propagate(body, P, h, noise)
    return float(np.linalg.eigvalsh(P[3:6, 3:6])[-1] ** 0.5), float(np.linalg.eigvalsh(P[:3, :3])[-1] ** 0.5)
