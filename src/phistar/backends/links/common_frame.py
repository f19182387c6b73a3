"""The same mechanism with every link's frame laid, at this configuration, on the first link's.

A link's frame may be any frame fixed to it. Where all coincide, φ(p,k) = 1: nothing is turned or shifted on the way
along the links, and the composite of a subtree is the plain sum of its links.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.links.concise import grouped_moments, moved_origins
from phistar.backends.links.values import Links, links_at, mirror_upper
from phistar.model import Model, Planar, Prismatic, Revolute, Universal
from phistar.model.joints import JointKind
from phistar.model.parts import Body, Joint
from phistar.spatial import Inertia, Pose, cross, times

Place = tuple[np.ndarray, np.ndarray]  # rotation (…, 3, 3) and origin (…, 3)


@dataclass(frozen=True)
class CommonFrame:
    """`links` in the one frame, and gravity's [0; −g]."""

    links: Links
    base_acceleration: np.ndarray


def single_axes(model: Model) -> Model:
    """The same q, v and joint forces with H* constant in every link: a universal or planar joint becomes a chain of
    one-axis joints with massless links between them (their coordinates act one after the other)."""
    bodies: list[Body] = []
    last: list[int] = []
    for body in model.bodies:
        kinds = _axes(body.joint.kind)
        parent = last[body.parent] if body.parent >= 0 else -1
        for i, kind in enumerate(kinds):
            first, end = i == 0, i == len(kinds) - 1
            q, v = body.joint.q_slice, body.joint.v_slice
            if len(kinds) > 1:
                q, v = slice(q.start + i, q.start + i + 1), slice(v.start + i, v.start + i + 1)
            joint = Joint(f"{body.joint.name} {i}", kind, len(bodies), q, v)
            placement, inertia = body.placement if first else Pose(), body.inertia if end else Inertia.zero()
            bodies.append(Body(f"{body.name} {i}", parent, joint, placement, inertia))
            parent = len(bodies) - 1
        last.append(parent)
    return replace(model, bodies=tuple(bodies), frame_list=(), loops=())


def _axes(kind: JointKind) -> list[JointKind]:
    """One-axis joints in series that make up a universal or planar joint; others stay whole."""
    armature = kind.armature_diagonal
    if isinstance(kind, Universal):
        return [Revolute(axis=axis, armature=a) for axis, a in zip((kind.axis1, kind.axis2), armature, strict=True)]
    if isinstance(kind, Planar):
        slides = [Prismatic(axis=axis, armature=a) for axis, a in zip(kind.axes, armature, strict=False)]
        return [*slides, Revolute(axis=kind.normal, armature=armature[2])]
    return [kind]


def common_frame(model: Model, q: Any) -> CommonFrame:
    """The links of a model with single axes at q (…, nq), floats or traced scalars; masses on axes are grouped."""
    model = moved_origins(model)
    links = links_at(model, q)
    places, turn = _places(links)
    subspace, parameters, second = [], [], []
    for k, ((rotation, origin), moments) in enumerate(zip(places, grouped_moments(model), strict=True)):
        subspace.append(moved_subspace(rotation, origin, links.subspace[k]))
        mass, turned = float(moments[3, 3]), _rotate_symmetric(rotation, moments[:3, :3])
        whole, moved = moved_moments(origin, mass, times(rotation, moments[:3, 3]), turned)
        second.append(moved)
        parameters.append(inertia_parameters(mass, whole, moved))
    stacked = np.stack(np.broadcast_arrays(*parameters), axis=-2)
    still, here = (np.eye(3),) * len(places), (np.zeros(3),) * len(places)
    numbers = {"subspace": tuple(subspace), "inertias": stacked, "second_moments": tuple(second), "still": True}
    moved = replace(links, rotation=still, offset=here, **numbers)
    lift = times(turn, -model.gravity)
    return CommonFrame(moved, np.concatenate([np.zeros(lift.shape), lift], axis=-1))


def _places(links: Links) -> tuple[list[Place], np.ndarray]:
    """Link poses and the world's axes, seen from the first link."""
    back = np.swapaxes(links.rotation[0], -1, -2)
    world = back, -times(back, links.offset[0])
    places: list[Place] = [(np.eye(3), np.zeros(3))]
    for k in range(1, len(links.rotation)):
        turn, origin = places[links.parents[k]] if links.parents[k] >= 0 else world
        places.append((np.matmul(turn, links.rotation[k]), origin + times(turn, links.offset[k])))
    return places, back


def moved_subspace(rotation: np.ndarray, origin: np.ndarray, subspace: np.ndarray) -> np.ndarray:
    """H* of a link, (…, 6, r), in the common frame."""
    angular, linear = np.matmul(rotation, subspace[..., :3, :]), np.matmul(rotation, subspace[..., 3:, :])
    columns = [cross(origin, angular[..., i]) for i in range(angular.shape[-1])]
    return np.concatenate([angular, linear + np.stack(columns, axis=-1)], axis=-2)


def moved_moments(
    origin: np.ndarray, mass: Any, moment: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """∫x dm (…, 3) and ∫xx* dm (…, 3, 3) of a link about the common origin, from those about its own, at `origin`."""
    whole = moment + mass * origin
    shifted = origin[..., :, None] * whole[..., None, :] + moment[..., :, None] * origin[..., None, :]
    return whole, second + mirror_upper(shifted)


def _rotate_symmetric(rotation: np.ndarray, second: np.ndarray) -> np.ndarray:
    """RΣR* for constant symmetric Σ = σ₁ + Σᵢ (σᵢ − σ₁) uᵢuᵢ*: two of three principal axes are enough."""
    diagonal = np.diag(np.diag(second))
    values, axes = np.linalg.eigh(second) if np.any(second != diagonal) else (np.diag(second), np.eye(3))
    result = values[0] * np.eye(3)
    for value, axis in zip(values[1:], axes.T[1:], strict=True):
        if value != values[0]:
            turned = times(rotation, axis)
            result = result + mirror_upper(((value - values[0]) * turned)[..., :, None] * turned[..., None, :])
    return result


def inertia_parameters(mass: Any, moment: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(…, 10): mass, mass·com and the tensor tr(Σ) − Σ, in the order of `Links.inertias`."""
    xx, yy, zz = (second[..., i, i] for i in range(3))
    tensor = [yy + zz, -second[..., 0, 1], xx + zz, -second[..., 0, 2], -second[..., 1, 2], xx + yy]
    entries = [mass, *(moment[..., i] for i in range(3)), *tensor]
    return np.stack(np.broadcast_arrays(*entries), axis=-1)
