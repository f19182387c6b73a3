"""Where a tumbling body will be: the torque-free motion of a rigid body, in closed form, at all times asked for at once.

Unknown inertia: constant spin about the centre of mass. Known ratios: Euler's equations by Jacobi's elliptic functions
(Landau and Lifshitz, Mechanics, §37), the turn about the momentum by quadrature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ellipj, ellipkinc

from phistar.errors import ShapeError
from phistar.spatial import cross
from phistar.spatial.rotations import exp

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
EVEN = 1e-9  # of ω: principal rates that change more slowly do not change
LONGEST = 0.7  # rad: what a body turns by between two nodes of time, so that quadrature keeps 12 digits


class Tumble(NamedTuple):
    """`pose` (n, 4, 4) of the body's frame and its `twist` (n, 6), [ω; v] at the frame's origin, both in the axes that
    the body is seen from."""

    pose: np.ndarray
    twist: np.ndarray


def tumble(pose: Any, twist: Any, times: Any, inertia: Any = None, com: Any = (0.0, 0.0, 0.0)) -> Tumble:
    """R(t) with L = R I ω constant, and a centre of mass that goes straight on: `pose` (4, 4) and `twist` (6,) now give
    those after `times` (n,) seconds.

    `inertia` (3, 3), or three principal moments along the body's axes, is about the centre of mass `com` (3,), body
    axes, and counts up to a factor; None: the spin stays as it is.
    """
    pose, twist, times, com = _checked(pose, twist, times, com)
    turn, arm = pose[:3, :3], pose[:3, :3] @ com
    spin = twist[:3]
    if inertia is None:
        turns = exp(times[:, None] * spin) @ turn
        spins = np.broadcast_to(spin, (len(times), 3))
    else:
        turns, spins = _euler(turn, spin, times, _moments(inertia))
    velocity = twist[3:] + cross(spin, arm)
    arms = turns @ com
    poses = np.zeros((len(times), 4, 4))
    poses[:, :3, :3], poses[:, 3, 3] = turns, 1.0
    poses[:, :3, 3] = pose[:3, 3] + arm + times[:, None] * velocity - arms
    return Tumble(poses, np.concatenate([spins, velocity - cross(spins, arms)], axis=-1))


def _checked(pose: Any, twist: Any, times: Any, com: Any) -> list[np.ndarray]:
    wanted = (("pose", pose, (4, 4)), ("twist", twist, (6,)), ("times", times, (None,)), ("com", com, (3,)))
    made = []
    for name, value, shape in wanted:
        array = np.asarray(value, dtype=float)
        if array.ndim != len(shape) or any(b is not None and a != b for a, b in zip(array.shape, shape, strict=True)):
            told = ", ".join("n" if size is None else str(size) for size in shape)
            raise ShapeError(f"The {name} of a tumble has shape ({told}); it was given {array.shape}.")
        if not np.isfinite(array).all():
            raise ShapeError(f"The {name} of a tumble is not finite: {array.tolist()!r:.200}.")
        made.append(array)
    return made


def _moments(inertia: Any) -> np.ndarray:
    tensor = np.asarray(inertia, dtype=float)
    tensor = np.diag(tensor) if tensor.shape == (3,) else tensor
    if tensor.shape != (3, 3) or not np.allclose(tensor, tensor.T) or not np.all(np.linalg.eigvalsh(tensor) > 0.0):
        raise ShapeError(f"An inertia is three moments or a positive symmetric (3, 3); it is {inertia!r:.200}.")
    return tensor


def _euler(turn: np.ndarray, spin: np.ndarray, times: np.ndarray, tensor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Attitudes (n, 3, 3) and angular velocities (n, 3), outer axes, of a body with a given inertia tensor."""
    moments, axes = np.linalg.eigh(tensor)
    rates = axes.T @ turn.T @ spin
    if np.sum(moments**2 * rates**2) < moments[1] * np.sum(moments * rates**2):
        moments, axes = (
            moments[::-1],
            axes[:, ::-1],
        )  # the momentum circles the axis of least inertia: call it the third
    axes = axes * np.array([1.0, 1.0, np.linalg.det(axes)])
    rates = axes.T @ turn.T @ spin
    body = _rates(moments, rates, times)
    momentum = np.linalg.norm(moments * rates)
    if momentum == 0.0:
        return np.broadcast_to(turn, (len(times), 3, 3)), np.zeros((len(times), 3))
    angle = _precession(moments, rates, times, momentum)
    along = (turn @ axes @ (moments * rates)) / momentum
    first = _triad(moments * rates)
    # Outer axes ← momentum's ← body's: the triad of the momentum turns about it by the angle.
    frames = exp(angle[:, None] * along) @ (turn @ axes @ first) @ np.swapaxes(_triad(moments * body), -1, -2)
    return frames @ axes.T, (frames @ body[..., None])[..., 0]


def _triad(momentum: np.ndarray) -> np.ndarray:
    """(…, 3, 3): columns along the momentum, along momentum × first axis, and the third; the momentum, which circles
    the third axis, never comes to lie along the first."""
    along = momentum / np.linalg.norm(momentum, axis=-1, keepdims=True)
    zero = np.zeros(along.shape[:-1])
    node = np.stack([zero, along[..., 2], -along[..., 1]], axis=-1)
    node = node / np.linalg.norm(node, axis=-1, keepdims=True)
    return np.stack([along, node, cross(along, node)], axis=-1)


def _rates(moments: np.ndarray, rates: np.ndarray, times: np.ndarray) -> np.ndarray:
    """ω₁ = a₁ cn τ, ω₂ = a₂ sn τ, ω₃ = a₃ dn τ in principal axes, (n, 3); the momentum circles the third axis."""
    one, two, three = moments
    p, r = one * (three - one), two * (three - two)  # p ω₁² + r ω₂² is constant, and so is s ω₃² − p' ω₁²
    swing = p * rates[0] ** 2 + r * rates[1] ** 2
    circle = three * (three - two) * rates[2] ** 2 - one * (two - one) * rates[0] ** 2
    if circle * (three - one) <= (EVEN * three * np.linalg.norm(rates)) ** 2 * abs(three) or swing == 0.0:
        return np.broadcast_to(rates, (len(times), 3))
    speed = np.sqrt((three - two) * (circle + swing * (two - one) / (three - one)) / (one * two * three))
    speed = np.sqrt((three - two) * _excess(moments, rates) / (one * two * three))
    modulus = (two - one) * swing / ((three - two) * _excess(moments, rates))
    way = np.sign(rates[2]) * np.sign(three - one)
    size = np.array([np.sqrt(swing / p), way * np.sqrt(swing / r), 0.0])
    start = ellipkinc(np.arctan2(rates[1] / size[1], rates[0] / size[0]), modulus)
    sn, cn, dn, _ = ellipj(start + speed * times, modulus)
    third = np.sign(rates[2]) * np.sqrt(_excess(moments, rates) / (three * (three - one)))
    return np.stack([size[0] * cn, size[1] * sn, third * dn], axis=-1)
