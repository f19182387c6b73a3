"""Whether an argument is a robot, and whether a mechanism can be moved: D(k) > 0 for every joint, by one inward
articulated sweep."""

from typing import Any

import numpy as np

from phistar.errors import StatementError
from phistar.model.model import Model
from phistar.spatial import force_transform, times

SINGULAR = 1e-13  # of the articulated inertia's largest entry: below it, D is rounding


def unmovable_joints(model: Model) -> list[str]:
    """Sentences for the joints whose D = H P H* + A is singular at a generic (seeded) configuration.

    P ← M + Σ φ (P − P H* D⁻¹ H P) φ* over the children (RJK91 §3), one step per body.
    """
    if not model.bodies:
        return []
    q = model.random(np.random.default_rng(0))
    phi = _transforms(model, q)
    articulated = np.stack([body.inertia.matrix for body in model.bodies])
    sentences = []
    with np.errstate(all="ignore"):
        for k in range(len(model.bodies) - 1, -1, -1):
            joint, p = model.joints[k], articulated[k]
            h = joint.kind.subspace(q[joint.q_slice])
            ph = p @ h
            d = h.T @ ph + np.diag(joint.kind.armature_diagonal)
            inverse, regular = _inverse(d, SINGULAR * max(np.abs(p).max(), np.abs(d).max(initial=0.0)))
            if not regular:
                sentences.append(_sentence(joint.name, model.bodies[k].name))
            parent = model.parents[k]
            if parent >= 0:
                articulated[parent] += phi[k] @ (p - ph @ inverse @ ph.T) @ phi[k].T
    return sentences[::-1]


def _transforms(model: Model, q: np.ndarray) -> np.ndarray:
    """φ(parent(k), k) in link axes, (bodies, 6, 6)."""
    poses = [joint.kind.pose(q[joint.q_slice]) for joint in model.joints]
    placed = np.stack([body.placement.rotation for body in model.bodies])
    offset = np.stack([body.placement.translation for body in model.bodies])
    rotation = placed @ np.stack([pose[0] for pose in poses])
    translation = times(placed, np.stack([pose[1] for pose in poses])) + offset
    return force_transform(rotation, translation)


def _inverse(d: np.ndarray, threshold: float) -> tuple[np.ndarray, bool]:
    """D⁻¹ over the directions in which |D| exceeds the threshold, and whether those are all.

    A negative D is not this fault: it comes of an indefinite inertia, which is told by itself.
    """
    if not np.isfinite(d).all():
        return np.zeros_like(d), False
    values, vectors = (d[0], np.eye(1)) if d.shape == (1, 1) else np.linalg.eigh(d)
    kept = np.abs(values) > threshold
    return vectors[:, kept] / values[kept] @ vectors[:, kept].T, bool(kept.all())


def _sentence(joint: str, body: str) -> str:
    return (
        f"Joint '{joint}' has no inertia behind it: some motion that it allows moves no mass. "
        f"Give '{body}' or a body it carries an inertia, or the joint an armature."
    )


def check_robot(name: str, args: tuple[Any, ...]) -> None:
    """Refuse a call whose first argument is not a robot."""
    if args and not isinstance(args[0], Model):
        given = type(args[0]).__name__
        raise StatementError(f"{name} takes the robot first, {name}(model, …); it was given {given}.")
