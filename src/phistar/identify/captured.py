"""The inertia of a body that a free robot holds, from how the base moves in reaction: momentum stays as it is.

h_rest(q, v) + Y(q, v)π = H at every sample, with π the body's ten parameters, Y linear in its twist and H the momentum
of the whole, the same throughout: least squares among the parameters that a body can have (Wensing et al. 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.dynamics import forward_kinematics, frame_velocity, momentum
from phistar.errors import InfeasibleError, ModelError, ShapeError
from phistar.identify.consistent import Compressed
from phistar.identify.motion_noise import positive_deviations
from phistar.identify.parameter_columns import INERTIAL
from phistar.model import Model, require_tree
from phistar.model.check import check_robot
from phistar.short_repr import short_repr
from phistar.spatial import Inertia, cross, skew
from phistar.spatial.vectors import require_finite

UNSEEN = 1e-9  # of the largest: an eigenvalue below which the motion tells nothing


@short_repr
@dataclass(frozen=True, eq=False)
class CapturedBody:
    """`inertia` of the body; least-squares `parameters` (10,), as `Inertia.parameters`, with their `deviations` (10,)
    and `covariance` (10, 10); the whole's `momentum` (6,), [angular; linear] about the world's origin; `noise` (6,) of
    the momentum's parts that is left; `unseen`: the parameters that the motion does not show, which stay as they were
    believed."""

    inertia: Inertia
    parameters: Array
    deviations: Array
    covariance: Array
    momentum: Array
    noise: Array
    unseen: tuple[str, ...]


def captured_inertia(
    model: Model, body: str, q: Any, v: Any, *, total: Any = None, noise: Any = None, spread: float = 2.0
) -> CapturedBody:
    """The inertia of one body of a free robot, from the motion of base and joints, without any force sensor.

    Parameters
    ----------
    model : Model
        A tree on a free base that nothing pushes, no gravity; its own inertias are known, the body's are believed.
    body : str
        The captured body's name.
    q, v : (T, nq), (T, nv)
        The log.
    total : (6,), optional
        The whole's momentum, [angular; linear] about the world's origin, where it is known, as zero; else it is found.
    noise : float or (6,), optional
        Standard deviation of the momentum's parts as they follow from q and v; by default from what is left.
    spread : float
        How far the believed inertia may be off, as a standard deviation of logarithms.

    Returns
    -------
    CapturedBody

    Examples
    --------
    >>> builder = ps.ModelBuilder("servicer", gravity=(0, 0, 0))
    >>> builder.body("base", joint=ps.Free(), inertia=ps.Inertia(20.0, (0, 0, 0), 2.0 * np.eye(3)))
    >>> held, wrist = ps.Inertia(3.0, (0, 0, 0.2), 0.2 * np.eye(3)), ps.Revolute(axis=(0, 1, 0))
    >>> builder.body("held", "base", joint=wrist, placement=ps.Pose(xyz=(0, 0, 0.5)), inertia=held)
    >>> robot = builder.build()
    >>> run = ps.rollout(robot, robot.neutral(), np.zeros(7), np.eye(7)[[6] * 200], dt=0.005, steps=200)
    >>> found = ps.identify.captured_inertia(robot, "held", run.q, run.v, total=np.zeros(6))
    >>> round(found.inertia.mass, 2)
    3.0
    """
    check_robot("captured_inertia", (model,))
    require_tree(model, "captured_inertia")
    if np.any(model.gravity):
        raise ModelError(f"{model.name} has gravity; momentum stays as it is only where nothing pulls.")
    number = model.body_index(body)
    place, rates = model.checked_q(q), model.checked(v, model.nv, "v")
    if place.ndim != 2 or rates.shape[:1] != place.shape[:1] or len(place) < 10:
        raise ShapeError(f"A log is q (T, nq), v (T, nv) of at least ten samples; not {place.shape}, {rates.shape}.")
    require_finite(np.concatenate([place, rates], axis=1), "The log")
    if total is not None and not (np.shape(total) == (6,) and np.isfinite(np.asarray(total, dtype=float)).all()):
        raise ShapeError(f"total is the whole's momentum (6,), finite; it was given {total!r:.60}.")
    believed = model.bodies[number].inertia.parameters
    Y = momentum_columns(model, body, place, rates)
    rest = np.asarray(momentum(model, place, rates)) - Y @ believed
    if total is None:  # the momentum is six unknowns more
        left, right = np.concatenate([-Y, np.broadcast_to(np.eye(6), (len(Y), 6, 6))], axis=-1), rest
    else:
        left, right = -Y, rest - np.asarray(total, dtype=float)
    seen = _base_momentum_map(model, place)
    left, right = seen @ left, np.matmul(seen, right[..., None])[..., 0]
    told = np.eye(6) if noise is None else np.diag(positive_deviations(noise, 6, "part of the momentum") ** 2)
    for _ in range(1 if noise is not None else 4):
        gram, side = _normal(left, right, told)
        values, covariance, unseen = _least_squares(gram, side)
        if noise is None:
            full = values if total is not None else np.concatenate([values, _other(gram, side, values)])
            told = np.cov((right - left @ full).T) + 1e-24 * np.eye(6)
    own = Compressed(*_eliminate_momentum(gram, side), 1, np.zeros(10, bool), believed, spread).fit()
    whole = np.mean(rest + Y @ own, axis=0) if total is None else np.asarray(total, dtype=float)
    spreads, body_inertia = np.sqrt(np.diag(covariance)), Inertia.from_parameters(own)
    return CapturedBody(body_inertia, values, spreads, covariance, whole, np.sqrt(np.diag(told)), tuple(unseen))


def _base_momentum_map(model: Model, q: np.ndarray) -> np.ndarray:
    """(T, 6, 6): momentum about the world's origin to that about the first body's, in its axes, where the noise of
    rates is the same at all times."""
    pose = forward_kinematics(model, q, model.bodies[0].name)
    back, made = np.swapaxes(pose[:, :3, :3], -1, -2), np.zeros((len(q), 6, 6))
    made[:, :3, :3] = made[:, 3:, 3:] = back
    made[:, :3, 3:] = -back @ skew(pose[:, :3, 3])
    return made


def momentum_columns(model: Model, body: str, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Y (T, 6, 10): a body's momentum about the world's origin is Yπ."""
    pose, twist = forward_kinematics(model, q, body), np.asarray(frame_velocity(model, q, v, body))
    turn, origin = pose[..., :3, :3], pose[..., :3, 3]
    back = np.swapaxes(turn, -1, -2)
    spin, slide = (np.matmul(back, x[..., None])[..., 0] for x in (twist[..., :3], twist[..., 3:]))
    own = np.zeros((*q.shape[:-1], 6, 10))  # in the body's axes, about its origin
    own[..., 3:, 0], own[..., 3:, 1:4], own[..., :3, 1:4] = slide, skew(spin), -skew(slide)
    for column, (i, j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)), start=4):
        own[..., i, column] += spin[..., j]
        if i != j:
            own[..., j, column] += spin[..., i]
    upper, lower = (np.matmul(turn, x) for x in (own[..., :3, :], own[..., 3:, :]))
    arm = np.swapaxes(cross(origin[..., None, :], np.swapaxes(lower, -1, -2)), -1, -2)
    return np.concatenate([upper + arm, lower], axis=-2)


def _normal(left: np.ndarray, right: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Y*Σ⁻¹Y and Y*Σ⁻¹y: rates' noise is felt in all parts of the momentum at once, so Σ (6, 6) is full."""
    weight = np.linalg.inv(np.linalg.cholesky(noise))
    weighted = np.matmul(weight, left).reshape(-1, left.shape[-1])
    return weighted.T @ weighted, weighted.T @ (right @ weight.T).reshape(-1)


def _eliminate_momentum(gram: np.ndarray, side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The normal equations of the ten parameters alone, the momentum eliminated where it is unknown."""
    if len(side) == 10:
        return gram, side
    gain = np.linalg.solve(gram[10:, 10:], gram[10:, :10]).T
    return gram[:10, :10] - gain @ gram[10:, :10], side[:10] - gain @ side[10:]


def _other(gram: np.ndarray, side: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The momentum that belongs to ten parameters."""
    return np.linalg.solve(gram[10:, 10:], side[10:] - gram[10:, :10] @ values)


def _least_squares(gram: np.ndarray, side: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Ten parameters, their covariance, and the names of those that are not shown, which stay at zero."""
    own, right = _eliminate_momentum(gram, side)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(own), 1e-300))
    values, vectors = np.linalg.eigh(own * scale[:, None] * scale)
    if not np.diag(own).max() > 0.0:
        raise InfeasibleError("The captured body does not move in this log: nothing shows its inertia.")
    shown = values > UNSEEN * values[-1]
    inverse = (vectors[:, shown] / values[shown]) @ vectors[:, shown].T * scale[:, None] * scale
    blind = np.abs(vectors[:, ~shown]).max(axis=1, initial=0.0) > 0.1
    return inverse @ right, inverse, [name for name, hidden in zip(INERTIAL, blind, strict=True) if hidden]
