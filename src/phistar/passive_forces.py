"""Springs and damping of joints, −(d θ̇ + k (q ⊖ rest)), and how they change: what a linearization includes of them.

Dry friction is no part of it: where a joint slides it is constant, and where one sticks it has no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.recorded import Recorded
from phistar.backends.traces.differentiate import matrix, tangent_map, tangents, values_of
from phistar.backends.traces.trace import Tape, finish, is_traced
from phistar.errors import StatementError
from phistar.model import Joint, Model
from phistar.spatial import log_translation, skew

SMALL = 1e-2  # rad; below, the series below is exact to rounding and the closed form is not


def has_springs_or_damping(model: Model) -> bool:
    """Whether any joint has a spring or viscous damping."""
    return model.kept("springs or damping", lambda: _has_springs_or_damping(model))


def _has_springs_or_damping(model: Model) -> bool:
    return model.is_flexible or any(np.any(j.kind.stiffness) or np.any(j.kind.damping) for j in model.joints)


def spring_and_damper_forces(model: Model, q: Any, v: Any) -> np.ndarray:
    """−(d θ̇ + k (q ⊖ rest)), (…, nv): what springs and damping exert on each joint."""
    _refuse_traced_turns(model, q)
    q, v = np.asarray(q), np.asarray(v)
    if model.embedding is not None:
        full = spring_and_damper_forces(model.tree, q, model.embedding.full_rates(q, v))
        return model.embedding.independent_forces(q, full)
    parts = []
    for body in model.bodies:
        joint = body.joint
        force = -(joint.kind.damping * v[..., joint.v_slice])
        if np.any(joint.kind.stiffness):
            force = force - joint.kind.stiffness * joint.kind.difference(joint.kind.rest, q[..., joint.q_slice])
        parts.append(force)
        if body.flexible is not None:
            parts.append(body.flexible.elastic_force(q[..., body.mode_q_slice], v[..., body.mode_slice]))
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    whole = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts]
    return np.concatenate([np.zeros((*batch, 0)), *whole], axis=-1)


def spring_stiffness(model: Model, q: Any) -> np.ndarray:
    """k ∂(q ⊖ rest)/∂δ of q ⊕ δ, (…, nv, nv): diagonal but for springs on quaternion joints."""
    _refuse_traced_turns(model, q)
    q = np.asarray(q)
    result = np.zeros((*q.shape[:-1], model.nv, model.nv))
    for joint in model.joints:
        if np.any(joint.kind.stiffness):
            slope = np.eye(joint.nv) if joint.kind.flat else _slope_of_difference(joint, q[..., joint.q_slice])
            result[..., joint.v_slice, joint.v_slice] = joint.kind.stiffness[:, None] * slope
    for body in model.bodies:
        if body.flexible is not None:
            result[..., body.mode_slice, body.mode_slice] = body.flexible.stiffness
    return result


def damping(model: Model) -> np.ndarray:
    """(nv, nv): viscous, N m s/rad and N s/m; diagonal but for the modes of bodies that bend."""
    result = np.zeros((model.nv, model.nv))
    for body in model.bodies:
        result[body.joint.v_slice, body.joint.v_slice] = np.diag(body.joint.kind.damping)
        if body.flexible is not None:
            result[body.mode_slice, body.mode_slice] = body.flexible.damping_matrix
    return result


def _slope_of_difference(joint: Joint, q: np.ndarray) -> np.ndarray:
    """∂ log(g exp δ)/∂δ at δ = 0, with ξ = log g: 1 + ad/2 + ad²/12 − … in closed form, (…, nv, nv).

    With ξ = [w; v] and c(θ) = (1 − (θ/2) cot(θ/2))/θ² it has the blocks [[X, 0], [Y, X]], where X = 1 + w̃/2 + c w̃² and
    Y is how X changes with w along v.
    """
    found = joint.kind.difference(joint.kind.rest, q)
    w = found[..., :3]
    turning = log_translation(-w)
    if joint.nv == 3:
        return turning
    v, angle = found[..., 3:], np.linalg.norm(w, axis=-1)[..., None, None]
    big = np.where(angle < SMALL, 1.0, angle)
    half = 0.5 * big
    c = (1.0 - half / np.tan(half)) / big**2
    exact = ((0.25 * big / np.sin(half) ** 2 - 0.5 / np.tan(half)) / big**2 - 2.0 * c / big) / big
    c = np.where(angle < SMALL, 1.0 / 12.0 + angle**2 / 720.0, c)
    bend = np.where(angle < SMALL, 1.0 / 360.0 + angle**2 / 7560.0, exact)
    a, b = skew(w), skew(v)
    along = np.sum(w * v, axis=-1)[..., None, None]
    moving = 0.5 * b + c * (np.matmul(a, b) + np.matmul(b, a)) + bend * along * np.matmul(a, a)
    upper = np.concatenate([turning, np.zeros(turning.shape)], axis=-1)
    return np.concatenate([upper, np.concatenate([moving, turning], axis=-1)], axis=-2)


def _refuse_traced_turns(model: Model, q: Any) -> None:
    curved = [joint.name for joint in model.joints if not joint.kind.flat and np.any(joint.kind.stiffness)]
    if curved and is_traced(q):
        raise StatementError(
            f"{model.name} has springs on quaternions ({', '.join(curved)}), whose logarithm branches on values, so "
            "they cannot be compiled; leave them out with passive=False."
        )


def with_passive(model: Model, q: Any, v: Any, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A of a linearization with the slopes of springs and damping put in: B takes their forces as it takes T."""
    if model.embedding is not None:
        return A + np.matmul(B, _embedded_slopes(model, q, v))
    slopes = np.concatenate(
        [
            spring_stiffness(model, q),
            np.broadcast_to(damping(model), (*np.shape(q)[:-1], model.nv, model.nv)),
        ],
        axis=-1,
    )
    return A - np.matmul(B, slopes)


def _embedded_slopes_at(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray]:
    """∂/∂(q, v) of X*T_p(q, Xv), (nv, 2nv), instruction by instruction."""
    tape = Tape()
    given = tape.inputs((model.nq,)), tape.inputs((model.nv,))
    forces = spring_and_damper_forces(model, *given)
    trace = finish(tape, forces)
    seeds = dict(enumerate(tangent_map(model, q))) | {model.nq + i: {model.nv + i: 1.0} for i in range(model.nv)}
    return (matrix(tangents(trace, values_of(trace, [*q, *v]), seeds), 2 * model.nv),)


_embedded_slopes = Recorded(
    "slopes of springs and damping",
    ("q", "v"),
    ("slopes",),
    _embedded_slopes_at,
    lambda model: ((model.nv, 2 * model.nv),),
    lambda model: True,
)
