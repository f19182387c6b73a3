"""Inverse kinematics: damped least squares by the factorization of the mass matrix, with BUB* for M and R for armature.

A step is Δθ = (J*J + R)⁻¹J*e, two sweeps whatever the arm, redundant or not, singular or not. R is the damping, which
falls with the error (Sugihara 2011), and is beyond measure for joints that stand at a limit and would leave it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array, BoolArray
from phistar.control.pose_search import PoseSearch
from phistar.control.reach import checked_targets, explanation, greatest_reach, target_array
from phistar.errors import ModelError, ShapeError
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr

TARGETS = "a pose, (…, 4, 4), or a place, (…, 3)"


@short_repr
class InverseKinematics(NamedTuple):
    """q (…, nq); `success` (…) is true only where the target is met within the limits; `residual` (…, 6), [rotation
    vector; position], is what is left, of a place [0; position]; `reason` (…) says in words why it ended; `iterations`
    (…) and `starts` (…)."""

    q: Array
    success: BoolArray
    residual: Array
    reason: Array
    iterations: Array
    starts: Array


def inverse_kinematics(
    model: Model,
    target: Any,
    frame: str,
    start: Any = None,
    *,
    tolerance: float = 1e-9,
    iterations: int = 200,
    starts: int = 50,
    seed: int = 0,
    path: bool = False,
) -> InverseKinematics:
    """Joint coordinates that bring a frame to a pose, or its origin to a place, within the joints' limits, for any
    number of targets.

    Bodies that bend stay bent as they are in `start`, by default not at all: what moves the frame is joints.

    Parameters
    ----------
    model : Model
        A tree.
    target : (…, 4, 4) or (…, 3)
        Poses in the world; or places of the frame's origin, its attitude left free.
    frame : str
    start : (…, nq), optional
        Where the search begins; from there the nearest solution is usually found. By default that of some hundred
        random places which brings the frame nearest.
    tolerance : float
        In metres and radians.
    iterations, starts : int
        Most steps of a search, and how many searches at most: where one fails others begin at random places, those
        nearest to the target first.
    seed : int
    path : bool
        Whether the targets, (…, n, 4, 4) or (…, n, 3), are a path: each search begins where the one before ended, so
        that the joints follow without a jump where there is a way; `start` is then that of the first.

    Returns
    -------
    InverseKinematics

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> target = ps.forward_kinematics(arm, [0.3, 0.4, -0.2, 0.1, 0.5, 0.2], "tool")
    >>> bool(ps.control.inverse_kinematics(arm, target, "tool").success)
    True
    >>> places = target[:3, 3] + [[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]]  # of the tool alone, however it is turned
    >>> ps.control.inverse_kinematics(arm, places, "tool").success.tolist()
    [True, True]
    """
    check_robot("inverse_kinematics", (model,))
    if model.loops:
        raise ModelError(f"{model.name} has loops; inverse kinematics is of the tree: assemble, or use model.tree.")
    if not model.nv:
        raise ModelError(f"{model.name} has no joints that could bring a frame anywhere.")
    given = target_array(target, TARGETS)
    turns = given.shape[-1:] != (3,)
    poses, problems = checked_targets(given if turns else _poses_at(given), TARGETS)
    if path:
        options: Any = {"tolerance": tolerance, "iterations": iterations, "starts": starts, "seed": seed}
        return _along(model, given, 2 if turns else 1, frame, start, **options)
    begin = None if start is None else model.checked_q(start, "start")
    batch = poses.shape[:-2] if begin is None else np.broadcast_shapes(poses.shape[:-2], begin.shape[:-1])
    aims = np.broadcast_to(poses, (*batch, 4, 4)).reshape(-1, 4, 4)
    search = PoseSearch(model, frame, aims, turns, tolerance, iterations, seed)
    if begin is None:
        first = search.near(np.arange(len(aims)), np.zeros(len(aims), int))
    else:
        first = np.broadcast_to(begin, (*batch, model.nq)).reshape(-1, model.nq)
        search.bend(first)
    good = np.broadcast_to(~problems, batch).reshape(-1)
    found = search.run(np.clip(first, model.lower_limits, model.upper_limits), good, max(starts, 1))
    reach, reasons = greatest_reach(model, frame), np.full(len(good), "reached", object)
    for i in np.flatnonzero(~found.done).tolist():
        reasons[i] = explanation(model, frame, search.poses[i], found, i, reach, turns)
    parts = (found.q, found.done, found.error, reasons, found.iterations, found.starts)
    return InverseKinematics(*(np.reshape(x, (*batch, *np.shape(x)[1:])) for x in parts))


def _poses_at(places: np.ndarray) -> np.ndarray:
    """Poses (…, 4, 4) at places (…, 3), in some attitude."""
    made = np.broadcast_to(np.eye(4), (*places.shape[:-1], 4, 4)).copy()
    made[..., :3, 3] = places
    return made


def _along(model: Model, targets: np.ndarray, axes: int, frame: str, start: Any, **options: Any) -> InverseKinematics:
    """Solutions of targets (…, n, 4, 4) or (…, n, 3), whose own axes are the last `axes`, one after the other, each
    from the one before; one that fails is passed over."""
    if targets.ndim <= axes or not targets.shape[-axes - 1]:
        raise ShapeError(
            f"A path is poses (…, n, 4, 4) or places (…, n, 3), one at least; it was given shape {targets.shape}."
        )
    found, at = [], start
    for target in np.moveaxis(targets, -axes - 1, 0):
        found.append(inverse_kinematics(model, target, frame, at, **options))
        at = found[-1].q if len(found) == 1 else np.where(found[-1].success[..., None], found[-1].q, at)
    axis = found[0].success.ndim
    return InverseKinematics(*(np.stack(parts, axis=axis) for parts in zip(*found, strict=True)))
