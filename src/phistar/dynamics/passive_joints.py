"""Damping, dry friction and springs of the joints."""

from __future__ import annotations

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.backends.choice import PASSIVE
from phistar.backends.recorded import Recorded
from phistar.backends.traces.arrays import sign
from phistar.model import Model
from phistar.stated_arguments import broadcast_state


def joint_friction(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Passive force on each joint: damping, dry friction and springs.

    −(d θ̇ + friction·sign θ̇ + k (q ⊖ rest)), and −(K_fη + C_fη̇) on modes of bodies that bend. `inverse_dynamics` and
    `forward_dynamics` leave it out; the simulators apply it.

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.

    Returns
    -------
    (…, nv)
        Forces that act on the joints [N m, N].

    Examples
    --------
    >>> b = ps.ModelBuilder("door")
    >>> b.body("leaf", joint=ps.Revolute(damping=2.0, friction=0.5), inertia=ps.Inertia(1.0, (0.5, 0, 0), np.eye(3)))
    >>> ps.joint_friction(b.build(), [0.0], [1.0])
    array([-2.5])
    """
    return _joint_friction(model, q, v)


def _passive_forces(model: Model, q: ArrayLike, v: ArrayLike) -> tuple[Array]:
    q, v = broadcast_state(model, q, v)
    if model.embedding is not None:
        full = joint_friction(model.tree, q, model.embedding.full_rates(q, v))
        return (model.embedding.independent_forces(q, full),)
    parts = []
    for body in model.bodies:
        joint, kind = body.joint, body.joint.kind
        rate = v[..., joint.v_slice]
        way, (ahead, back) = sign(rate), kind.friction
        coulomb = 0.5 * (ahead + back) * way + 0.5 * (ahead - back) * (way * way)
        spring = kind.stiffness * kind.difference(kind.rest, q[..., joint.q_slice]) if np.any(kind.stiffness) else 0.0
        parts.append(-(kind.damping * rate + coulomb + spring))
        if body.flexible is not None:
            parts.append(body.flexible.elastic_force(q[..., body.mode_q_slice], v[..., body.mode_slice]))
    return (np.concatenate([np.zeros((*v.shape[:-1], 0)), *parts], axis=-1),)


_joint_friction = Recorded(
    "joint_friction",
    ("q", "v"),
    ("force",),
    _passive_forces,
    lambda model: ((model.nv,),),
    lambda model: 0 < model.nv <= PASSIVE and not model.is_flexible and model.embedding is None,
)
