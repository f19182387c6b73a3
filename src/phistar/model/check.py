"""What functions ask of a robot: that it is one, a tree, or rigid; and whether it can be moved: D(k) > 0 for every
joint, by one inward articulated sweep."""

from typing import Any

import numpy as np

from phistar.errors import ModelError, StatementError
from phistar.model.model import Model
from phistar.model.parts import Body
from phistar.spatial import force_transform, times

ALIKE = 1e-11  # of inertias of unit size: what a joint and modes do differently to masses
SINGULAR = 1e-13  # of the articulated inertia's largest entry: below it, D is rounding


def unmovable_joints(model: Model) -> list[str]:
    """Sentences for the joints whose D = H P H* + A is singular at a generic (seeded) configuration.

    P ← M + Σ φ (P − P H* D⁻¹ H P) φ* over the children (RJK91 eqs. 8, 9), one step per body.
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
            elif model.bodies[k].modes and not model.children[k] and (alike := _alike(model.bodies[k], h)) < ALIKE:
                sentences.append(_rigid_mode(model.bodies[k], alike))
            parent = model.parents[k]
            if parent >= 0:
                articulated[parent] += phi[k] @ (p - ph @ inverse @ ph.T) @ phi[k].T
    return sentences[::-1]


def explain_division(model: Model, error: Exception) -> Exception:
    """Return the error that names the joints that move no mass, where what they push was divided by; else the error."""
    found = unmovable_joints(model.tree)
    if not found:
        return error
    count = "" if len(found) == 1 else f" ({len(found)} joints of {model.name} are so; model.warnings names them.)"
    advice = (
        " What loops move together needs one inertia in independent rates: model.embedded()." if model.loops else ""
    )
    return ModelError(found[0] + count + advice)


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

    A negative D is not this fault: it comes of an indefinite inertia, which is reported by itself.
    """
    if not np.isfinite(d).all():
        return np.zeros_like(d), False
    values, vectors = (d[0], np.eye(1)) if d.shape == (1, 1) else np.linalg.eigh(d)
    kept = np.abs(values) > threshold
    return vectors[:, kept] / values[kept] @ vectors[:, kept].T, bool(kept.all())


def _alike(body: Body, motion: np.ndarray) -> float:
    """The smallest eigenvalue of a bending body's D, over its joint's rates and its modes, each of unit inertia."""
    assert body.flexible is not None
    m, whole = body.modes, body.flexible.unbent_mass
    moved = np.zeros((m + 6, m + motion.shape[-1]))
    moved[:m, :m], moved[m:, m:] = np.eye(m), motion
    d = moved.T @ whole @ moved
    d[m:, m:] += np.diag(body.joint.kind.armature_diagonal)
    scale = 1.0 / np.sqrt(np.diag(d))
    return float(np.linalg.eigvalsh(scale[:, None] * d * scale)[0])


def _rigid_mode(body: Body, alike: float) -> str:
    return (
        f"Modes of '{body.name}' move its mass as its joint '{body.joint.name}' does: of their inertia together, each "
        f"of unit size, the smallest eigenvalue is {alike:.3g}. Leave rigid motions out of the modes."
    )


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


def require_tree(model: Model, what: str) -> None:
    """Refuse a model with loops where `what` has no meaning for closed chains."""
    check_robot(what, (model,))
    if model.loops:
        names = ", ".join(repr(loop.name) for loop in model.loops[:5]) + (", …" if len(model.loops) > 5 else "")
        raise ModelError(
            f"{model.name} has loops ({names}), for which {what} is not defined: its joints do not move independently. "
            "model.embedded() is the same mechanism in independent coordinates, model.tree its spanning tree."
        )


def require_rigid(model: Model, what: str) -> None:
    """Refuse a model with bodies that bend where `what` is there for rigid ones alone."""
    check_robot(what, (model,))
    if model.embedding is not None:
        raise ModelError(
            f"{model.name} is in independent rates, for which {what} is not there yet; take the model with its loops, "
            "model.embedding.closed, or functions of dynamics."
        )
    if model.is_flexible:
        names = ", ".join(repr(body.name) for body in model.bodies if body.modes)
        raise ModelError(
            f"{model.name} has bodies that bend ({names}), for which {what} is not there yet; give them rigid inertias "
            "(model.replace(inertias={name: body.flexible.rigid})), or take the functions of dynamics."
        )
