"""Joints turned round, K′(q′) = K(q)⁻¹: what was the child's side carries what was the parent's."""

from dataclasses import replace

import numpy as np

from phistar.array_types import Array
from phistar.errors import ModelError
from phistar.model.joints.free import Free
from phistar.model.joints.helical import Helical
from phistar.model.joints.kind import JointKind
from phistar.model.joints.planar import Planar
from phistar.model.joints.prismatic import Prismatic
from phistar.model.joints.revolute import Revolute
from phistar.model.joints.spherical import Spherical
from phistar.model.joints.universal import Universal
from phistar.spatial import conjugate, from_quaternion, times


def reversed_kind(kind: JointKind, name: str, remedy: str) -> JointKind:
    """The kind whose motion is the inverse; parameters go along where they mean the same, else the joint called `name`
    is refused, with a sentence that ends in a `remedy`."""
    if kind.gyroscopic:
        raise ModelError(
            f"The joint {name} cannot turn round: its rotor spins on the link that carries it now, and its child would "
            f"carry it then. {remedy}, or leave out the rotor's spin."
        )
    if isinstance(kind, Revolute | Prismatic | Helical):
        return replace(kind, axis=-kind.axis)
    if isinstance(kind, Universal):
        names = ("armature", "damping", "stiffness", "rest", "friction", "limits")
        names += ("effort", "velocity", "gear_ratio", "rotor_inertia")
        swapped = {each: getattr(kind, each)[..., ::-1] for each in names}
        return replace(kind, axis1=-kind.axis2, axis2=-kind.axis1, **swapped)
    _refuse_parameters(kind, name, remedy)
    return replace(kind, rest=reversed_coordinates(kind, kind.rest))


def _refuse_parameters(kind: JointKind, name: str, remedy: str) -> None:
    """Coordinates that change with the direction cannot keep what is said about each of them."""
    alike = [kind.armature, kind.damping, kind.stiffness, kind.gear_ratio**2 * kind.rotor_inertia]
    plain = all(np.all(x == x[0]) for x in alike) if isinstance(kind, Spherical) else not any(np.any(x) for x in alike)
    bounded = np.isfinite(kind.limits).any() or np.isfinite(kind.effort).any() or np.isfinite(kind.velocity).any()
    if not plain or np.any(kind.friction) or bounded:
        raise ModelError(
            f"The joint {name} cannot turn round: a {type(kind).__name__} joint's coordinates change when it does, and "
            f"armature, damping, springs, friction or limits are given for them one by one. {remedy}, or leave them "
            "out."
        )


def reversed_coordinates(kind: JointKind, q: Array) -> Array:
    """q′ of q, (…, nq)."""
    if isinstance(kind, Universal):
        return q[..., ::-1]
    if isinstance(kind, Spherical):
        return conjugate(q)
    if isinstance(kind, Planar):
        x, y, angle = q[..., 0], q[..., 1], q[..., 2]
        sine, cosine = np.sin(angle), np.cos(angle)
        return np.stack([-cosine * x - sine * y, sine * x - cosine * y, -angle], axis=-1)
    if isinstance(kind, Free):
        back = conjugate(q[..., 3:])
        return np.concatenate([-times(from_quaternion(back), q[..., :3]), back], axis=-1)
    return q
