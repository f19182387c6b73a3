"""Prediction of a tumbling body: the torque-free motion of a rigid body, in closed form, at many times at once.

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
EVEN = 1e-12  # of ω L: a torque ω × L below which the spin does not change
LONGEST = 0.7  # rad turned in one panel of the quadrature, which then keeps 12 digits


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
    pose, twist, times, com = _check(pose, twist, times, com)
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


def _check(pose: Any, twist: Any, times: Any, com: Any) -> list[np.ndarray]:
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
    if _circled_axis_sign(moments, axes.T @ turn.T @ spin) < 0.0:
        moments, axes = moments[::-1], axes[:, ::-1]  # the momentum circles the axis of least inertia: call it third
    axes = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
    rates = axes.T @ turn.T @ spin
    momentum = moments * rates
    size = np.linalg.norm(momentum)
    if np.linalg.norm(cross(rates, momentum)) <= EVEN * np.linalg.norm(rates) * size:
        return exp(times[:, None] * spin) @ turn, np.broadcast_to(spin, (len(times), 3))
    body, angle = _rates(moments, rates, times), _precession(moments, rates, times)
    outer = turn @ axes
    # Outer axes ← the momentum's, which turn about it by the angle ← the body's.
    outward = exp(angle[:, None] * (outer @ momentum) / size) @ outer @ _triad(momentum)
    frames = outward @ np.swapaxes(_triad(moments * body), -1, -2)
    return frames @ axes.T, (frames @ body[..., None])[..., 0]


def _circled_axis_sign(moments: np.ndarray, rates: np.ndarray) -> float:
    """L² − 2T I₂: positive when the momentum circles the third principal axis, negative for the first."""
    one, two, three = moments
    return three * (three - two) * rates[2] ** 2 - one * (two - one) * rates[0] ** 2


def _rates(moments: np.ndarray, rates: np.ndarray, times: np.ndarray) -> np.ndarray:
    """ω₁ = a₁ cn τ, ω₂ = a₂ sn τ, ω₃ = a₃ dn τ in principal axes, (…, 3); the momentum circles the third."""
    one, two, three = moments
    swing = one * (three - one) * rates[0] ** 2 + two * (three - two) * rates[1] ** 2  # 2T I₃ − L²
    excess = two * (two - one) * rates[1] ** 2 + three * (three - one) * rates[2] ** 2  # L² − 2T I₁
    speed = np.sqrt((three - two) * excess / (one * two * three))
    modulus = np.clip((two - one) * swing / ((three - two) * excess), 0.0, 1.0)
    way = np.sign(rates[2])
    first = np.sqrt(swing / (one * (three - one)))
    second = way * np.sign(three - one) * np.sqrt(swing / (two * (three - two)))
    third = way * np.sqrt(excess / (three * (three - one)))
    start = ellipkinc(np.arctan2(rates[1] / second, rates[0] / first), modulus)
    sn, cn, dn, _ = ellipj(start + speed * times, modulus)
    return np.stack([first * cn, second * sn, third * dn], axis=-1)


def _precession(moments: np.ndarray, rates: np.ndarray, times: np.ndarray) -> np.ndarray:
    """∫ L (I₂ω₂² + I₃ω₃²)/(I₂²ω₂² + I₃²ω₃²) dt, (n,): how far the first axis has gone around the momentum."""
    knots, back = np.unique(np.append(times, 0.0), return_inverse=True)
    longest = max(float(np.max(np.diff(knots), initial=0.0)) * float(np.linalg.norm(rates)) / LONGEST, 1.0)
    parts = int(np.ceil(longest))
    low = knots[:-1, None] + np.diff(knots)[:, None] * np.arange(parts) / parts
    half = np.diff(knots)[:, None, None] / (2 * parts)
    squares = _rates(moments, rates, low[..., None] + half * (1.0 + NODES))[..., 1:] ** 2
    slope = np.sum(moments[1:] * squares, axis=-1) / np.sum(moments[1:] ** 2 * squares, axis=-1)
    pieces = np.sum(half * WEIGHTS * slope, axis=(-1, -2)) * np.linalg.norm(moments * rates)
    angle = np.concatenate([[0.0], np.cumsum(pieces)])[back]
    return angle[:-1] - angle[-1]


def _triad(momentum: np.ndarray) -> np.ndarray:
    """(…, 3, 3): columns along the momentum, along momentum × first axis, and the third; the momentum, which circles
    the third axis, never comes to lie along the first."""
    along = momentum / np.linalg.norm(momentum, axis=-1, keepdims=True)
    node = np.stack([np.zeros(along.shape[:-1]), along[..., 2], -along[..., 1]], axis=-1)
    node = node / np.linalg.norm(node, axis=-1, keepdims=True)
    return np.stack([along, node, cross(along, node)], axis=-1)
