"""End of a search for joint coordinates, told with numbers; and the farthest reach of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.errors import ShapeError
from phistar.model import Model, Prismatic, Revolute, Spherical, Universal


@dataclass(eq=False)
class Stop:
    """The best end of every search so far; `locked` are the joints at their limits, `flat` says that nothing helped."""

    q: np.ndarray
    error: np.ndarray
    done: np.ndarray
    iterations: np.ndarray
    starts: np.ndarray
    locked: np.ndarray
    flat: np.ndarray

    @staticmethod
    def of(q: np.ndarray, nv: int) -> Stop:
        count = len(q)
        return Stop(
            q.copy(),
            np.full((count, 6), np.nan),
            np.zeros(count, bool),
            np.zeros(count, int),
            np.zeros(count, int),
            np.zeros((count, nv), bool),
            np.zeros(count, bool),
        )

    def take(self, ends: Any, over: np.ndarray, met: np.ndarray) -> None:
        """Take over the ends that are nearer than what is known, of searches that are over; iterations and starts add
        up."""
        rows = ends.rows[over]
        self.iterations[rows] += ends.age[over]
        self.starts[rows] += 1
        known = np.sum(self.error[rows] ** 2, axis=-1)
        nearer = ~(known <= np.sum(ends.error[over] ** 2, axis=-1))  # NaN: nothing is known yet
        best, chosen = rows[nearer], np.flatnonzero(over)[nearer]
        self.q[best], self.error[best], self.done[best] = ends.q[chosen], ends.error[chosen], met[chosen]
        self.locked[best], self.flat[best] = ends.held[chosen], ends.flat[chosen]


def explanation(
    model: Model, frame: str, target: np.ndarray, end: Stop, i: int, reach: tuple[np.ndarray, float], turns: bool
) -> str:
    """Why search i did not reach its target, in a sentence; `turns`: whether attitude counts."""
    if not np.isfinite(target).all() or not np.isfinite(end.error[i]).all():
        return "the target is not finite"
    centre, most = reach
    distance = float(np.linalg.norm(target[:3, 3] - centre))
    turn, gap = (float(np.linalg.norm(part)) for part in (end.error[i, :3], end.error[i, 3:]))
    left = f"{gap:.3g} m and {turn:.3g} rad" if turns else f"{gap:.3g} m"
    left = f"{left} are left after {end.starts[i]} starts"
    if distance > most:
        where = ", ".join(f"{x:.4g}" for x in centre)
        return (
            f"out of reach: the target is {distance:.4g} m from ({where}), where the first joint is, and {frame!r} "
            f"comes {most:.4g} m far at most; {left}"
        )
    names = [joint.name for joint in model.joints if end.locked[i, joint.v_slice].any()]
    if names:
        return f"held by the limits of {', '.join(names)}: {left}"
    if end.flat[i]:
        return f"no joint brings the frame nearer (out of reach, or a singular position): {left}"
    return f"not finished in {end.iterations[i]} iterations: {left}"


def greatest_reach(model: Model, frame: str) -> tuple[np.ndarray, float]:
    """A point of the world that the first joint turns or slides about, and how far from it the frame can be at most:
    the lengths of all offsets and slides on the way, added up; infinitely far where a body on the way bends."""
    place, body, far = model.frame(frame).placement.translation, model.frame(frame).body, 0.0
    while body >= 0:
        far += float(np.linalg.norm(place)) + _slide(model.joints[body].kind)
        far = np.inf if model.bodies[body].modes else far
        place, last = model.bodies[body].placement.translation, body
        body = model.parents[last]
    return np.asarray(place, dtype=float), far


def _slide(kind: Any) -> float:
    """Distance by which a joint alone can move its child's origin."""
    if isinstance(kind, Revolute | Universal | Spherical):
        return 0.0
    return float(np.max(np.abs(kind.limits))) if isinstance(kind, Prismatic) else np.inf


def target_array(target: Any, kinds: str) -> np.ndarray:
    """What was given as targets, in numbers; `kinds` says which there are."""
    try:
        return np.asarray(target, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"A target is {kinds}; it was given {target!r:.100}.") from None


def checked_targets(target: Any, kinds: str = "a pose, (…, 4, 4)") -> tuple[np.ndarray, np.ndarray]:
    """Poses (…, 4, 4), and where they are not finite; what is no rotation matrix is refused."""
    poses = target_array(target, kinds)
    if poses.shape[-2:] != (4, 4):
        raise ShapeError(f"A target is {kinds}; it was given shape {poses.shape}.")
    broken = ~np.all(np.isfinite(poses), axis=(-1, -2))
    turn = np.where(broken[..., None, None], np.eye(3), poses[..., :3, :3])
    off = np.abs(np.matmul(turn, np.swapaxes(turn, -1, -2)) - np.eye(3)).max(axis=(-1, -2))
    if np.any(off > 1e-6) or np.any(np.linalg.det(turn) < 0.0):
        raise ShapeError(
            f"A target has no rotation matrix in its upper left: R R* − 1 is up to {np.max(off):.3g}, or R mirrors."
        )
    return poses, broken
