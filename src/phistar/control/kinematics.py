"""Inverse kinematics: damped least squares by the factorization of the mass matrix, with BUB* for M and R for armature.

A step is Δθ = (J*J + R)⁻¹J*e, two sweeps whatever the arm, redundant or not, singular or not. R is the damping, which
falls with the error (Sugihara 2011), and is beyond measure for joints that stand at a limit and would leave it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array, BoolArray
from phistar.control.reach import Stop, checked_targets, explained, greatest_reach
from phistar.dynamics import forward_kinematics, jacobian
from phistar.errors import ModelError
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr
from phistar.spatial import rotations, times, transposed
from phistar.stated import states

LOCKED = 1e12  # weight of a joint that must not move, next to which J*J is nothing
LEAST_DAMPING, MOST_DAMPING = 1e-12, 1e8
FLAT = 1e-10  # of the error: a slope below which no joint brings the frame nearer


@short_repr
class InverseKinematics(NamedTuple):
    """q (…, nq); `success` (…) is true only where the pose is met within the limits; `residual` (…, 6), [rotation
    vector; position], is what is left; `reason` (…) says in words why it ended; `iterations` (…) and `starts` (…)."""

    q: Array
    success: BoolArray
    residual: Array
    reason: Array
    iterations: Array
    starts: Array


@states(lambda s: (s.J.T @ s.U_task @ s.J + s.R).inv @ s.J.T @ s.U_task @ s.u)
def damped_rates(model: Model, q: Any, twist: Any, weights: Any, frame: str) -> Array:
    """(J*J + R)⁻¹J*β, (…, nv): the rates that come nearest to a twist β (…, 6) at the price θ̇*Rθ̇, R = diag weights."""
    return damped_rates.evaluate(model, q, {"u": twist, "R": weights}, frames=(frame,))


def inverse_kinematics(
    model: Model,
    target: Any,
    frame: str,
    start: Any = None,
    *,
    tolerance: float = 1e-9,
    iterations: int = 200,
    starts: int = 20,
    seed: int = 0,
) -> InverseKinematics:
    """Joint coordinates that bring a frame to a pose (…, 4, 4), within the joints' limits, for any number of targets.

    `start` (…, nq) is where the search begins, neutral by default; from there the nearest solution is usually found.
    Where it is not, up to `starts` searches in all begin at random places. `tolerance` is in metres and radians.
    """
    check_robot("inverse_kinematics", (model,))
    if model.loops:
        raise ModelError(f"{model.name} has loops; inverse kinematics is of the tree: assemble, or use model.tree.")
    if not model.nv:
        raise ModelError(f"{model.name} has no joints that could bring a frame anywhere.")
    poses, problems = checked_targets(target)
    begin = model.checked_q(model.neutral() if start is None else start, "start")
    batch = np.broadcast_shapes(poses.shape[:-2], begin.shape[:-1])
    search = _Search(model, frame, np.broadcast_to(poses, (*batch, 4, 4)).reshape(-1, 4, 4), tolerance, iterations)
    first = np.clip(
        np.broadcast_to(begin, (*batch, model.nq)).reshape(-1, model.nq), model.lower_limits, model.upper_limits
    )
    good = np.broadcast_to(~problems, batch).reshape(-1)
    found = search.all(first, good, starts, np.random.default_rng(seed))
    reach = greatest_reach(model, frame)
    reasons = np.array([explained(model, frame, search.poses[i], found, i, reach) for i in range(len(good))], object)
    parts = (found.q, found.done, found.error, reasons, found.iterations, found.starts)
    return InverseKinematics(*(np.reshape(x, (*batch, *np.shape(x)[1:])) for x in parts))


def pose_gap(pose: np.ndarray, target: np.ndarray) -> Array:
    """[rotation vector; position] from a pose to a target, world axes, (…, 6)."""
    turn = np.matmul(target[..., :3, :3], transposed(pose[..., :3, :3]))
    return np.concatenate([rotations.log(turn), target[..., :3, 3] - pose[..., :3, 3]], axis=-1)


class _Search:
    """Many targets at once; what has ended is left out of the arrays that are still worked on."""

    def __init__(self, model: Model, frame: str, poses: np.ndarray, tolerance: float, iterations: int) -> None:
        self.model, self.frame, self.poses = model, frame, poses
        self.tolerance, self.iterations = tolerance, iterations
        self.lower, self.upper = model.lower_limits, model.upper_limits
        # A rate of a joint with vector coordinates moves one of them; the others have no limits to stand at.
        self.flat = np.array([joint.kind.flat for joint in model.joints for _ in range(joint.nv)], bool)
        self.at = np.array([joint.q_slice.start + i for joint in model.joints for i in range(joint.nv)], int)

    def error(self, q: np.ndarray, which: np.ndarray) -> np.ndarray:
        return pose_gap(forward_kinematics(self.model, q, self.frame), self.poses[which])

    def met(self, error: np.ndarray) -> np.ndarray:
        lengths = np.linalg.norm(error.reshape(-1, 2, 3), axis=-1)
        return np.all(lengths <= self.tolerance, axis=-1)

    def all(self, q: np.ndarray, good: np.ndarray, starts: int, rng: np.random.Generator) -> Stop:
        """The first search from q, others from random places for what is left; the nearest end is kept."""
        result = Stop.of(q, len(q), self.model.nv)
        for attempt in range(max(starts, 1)):
            left = np.flatnonzero(good & ~result.done)
            if not len(left):
                break
            begin = q[left] if attempt == 0 else self.model.random(rng, (len(left),))
            result.keep(left, self.run(begin, left))
        return result

    def run(self, q: np.ndarray, which: np.ndarray) -> Stop:
        """One search each: Levenberg and Marquardt's, a step kept only where the error falls."""
        q, end = q.copy(), Stop.of(q, len(q), self.model.nv)
        error, damping = self.error(q, which), np.ones(len(q))
        active = np.arange(len(q))
        for count in range(self.iterations + 1):
            slope, locked = self.slope(q[active], error[active])
            stuck = np.linalg.norm(slope, axis=-1) <= FLAT * np.linalg.norm(error[active], axis=-1)
            met = self.met(error[active])
            hopeless = damping[active] > MOST_DAMPING
            over = met | stuck | hopeless | (count == self.iterations)
            ended = active[over]
            end.record(ended, q[ended], error[ended], met[over], count, locked[over], (stuck | hopeless)[over])
            active, locked = active[~over], locked[~over]
            if not len(active):
                break
            self.step(q, error, damping, active, locked, which)
        return end

    def slope(self, q: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """J*e without the joints that stand at a limit and would leave it, and which those are."""
        slope = times(transposed(jacobian(self.model, q, self.frame)), error)
        place = q[:, self.at]
        low, high = place <= self.lower[self.at], place >= self.upper[self.at]
        locked = self.flat & ((low & (slope < 0.0)) | (high & (slope > 0.0)))
        return np.where(locked, 0.0, slope), locked

    def step(
        self, q: np.ndarray, error: np.ndarray, damping: np.ndarray, active: np.ndarray, locked: np.ndarray, which: Any
    ) -> None:
        size = 0.5 * np.sum(error[active] ** 2, axis=-1)
        weights = np.where(locked, LOCKED, np.maximum(damping[active] * size, LEAST_DAMPING)[:, None])
        rates = damped_rates(self.model, q[active], error[active], weights, self.frame)
        moved = np.clip(self.model.integrate(q[active], rates), self.lower, self.upper)
        changed = self.error(moved, which[active])
        nearer = np.sum(changed**2, axis=-1) < np.sum(error[active] ** 2, axis=-1)
        kept = active[nearer]
        q[kept], error[kept] = moved[nearer], changed[nearer]
        damping[active] *= np.where(nearer, 0.2, 10.0)
        damping[kept] = np.maximum(damping[kept], 1e-6)
