"""The joints at which loops were cut, as WD89's terminating links: their coordinates, rates and friction.

A terminating link has no mass; it is there "to store all of the information concerning the associated joints, for
example, their position and the viscous friction coefficients" (WD89 §2.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.loops.cut import across
from phistar.model import Helical, Model, ModelBuilder, Planar, Prismatic, Revolute, Spherical, Universal
from phistar.model.joints import JointKind
from phistar.model.parts import Loop
from phistar.spatial import cross, from_axis_angle, times, to_quaternion, transposed


def cut_joints(model: Model) -> tuple[Loop, ...]:
    """The loops cut at a joint that moves; welds, rods, contacts and couplings have no coordinates."""
    return tuple(
        loop for loop in model.loops if isinstance(loop, Loop) and isinstance(loop.joint, JointKind) and loop.joint.nv
    )


def terminating_links(model: Model) -> Model:
    """The terminating links alone, each on its cut joint: r rates in loop order."""
    builder = ModelBuilder(f"{model.name} cut joints")
    for loop in cut_joints(model):
        assert isinstance(loop.joint, JointKind)
        builder.body(loop.name, joint=loop.joint)
    return builder.build(strict=False)


def cut_coordinates(model: Model, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(…, nq of the cut joints) from the poses (…, 4, 4) of the loops' frames; angles within ±π."""
    parts = []
    for loop in cut_joints(model):
        a, b = poses[loop.frame_a], poses[loop.frame_b]
        back = transposed(a[..., :3, :3])
        shift = times(back, b[..., :3, 3] - a[..., :3, 3])
        parts.append(coordinates(loop.joint, np.matmul(back, b[..., :3, :3]), shift))
    return _concatenate(parts)


def _concatenate(parts: list[np.ndarray]) -> np.ndarray:
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in parts)) if parts else ()
    return np.concatenate([np.zeros((*batch, 0)), *(np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts)], axis=-1)


def coordinates(joint: Any, turn: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """q (…, nq) with joint.pose(q) = (R, p) for a pose that the joint allows."""
    match joint:
        case Revolute():
            return angle_about(joint.axis, turn)[..., None]
        case Prismatic():
            return np.matmul(shift, joint.axis)[..., None]
        case Helical() if joint.pitch:
            return (np.matmul(shift, joint.axis) / joint.pitch)[..., None]
        case Helical():
            return angle_about(joint.axis, turn)[..., None]
        case Universal():
            # R a₂ = R₁ a₂: the second axis tells the first angle.
            carried, across_first = np.matmul(turn, joint.axis2), cross(joint.axis1, joint.axis2)
            first = np.arctan2(np.matmul(carried, across_first), np.matmul(carried, cross(across_first, joint.axis1)))
            rest = np.matmul(from_axis_angle(joint.axis1, -first), turn)
            return np.stack([first, angle_about(joint.axis2, rest)], axis=-1)
        case Spherical():
            return to_quaternion(turn)
        case Planar():
            flat = np.matmul(shift, joint.axes.T)
            return np.concatenate([flat, angle_about(joint.normal, turn)[..., None]], axis=-1)
        case _:
            raise AssertionError(joint)


def angle_about(axis: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """θ, (…), of R = exp(θ ã)."""
    one, two = across(axis)
    carried = np.matmul(turn, one)
    return np.arctan2(np.matmul(carried, two), np.matmul(carried, one))


def cut_influence(model: Model, poses: Mapping[str, np.ndarray], jacobians: Mapping[str, np.ndarray]) -> np.ndarray:
    """(…, r, nv): the rates of the cut joints are this times the rates of the tree's joints.

    The twist of frame_b as seen from frame_a, at and in frame_b, is H*(q) times the cut joint's rates.
    """
    parts = []
    for loop in cut_joints(model):
        a, b = poses[loop.frame_a], poses[loop.frame_b]
        back_a, back_b = (transposed(x[..., :3, :3]) for x in (a, b))
        lever = b[..., :3, 3] - a[..., :3, 3]
        j_a, j_b = jacobians[loop.frame_a], jacobians[loop.frame_b]
        carried = np.swapaxes(cross(transposed(j_a[..., :3, :]), lever[..., None, :]), -1, -2)
        twist = np.concatenate(
            [
                np.matmul(back_b, j_b[..., :3, :] - j_a[..., :3, :]),
                np.matmul(back_b, j_b[..., 3:, :] - j_a[..., 3:, :] - carried),
            ],
            axis=-2,
        )
        shift = times(back_a, lever)
        h = loop.joint.subspace(coordinates(loop.joint, np.matmul(back_a, b[..., :3, :3]), shift))  # type: ignore[union-attr]
        parts.append(np.matmul(np.linalg.pinv(h), twist))
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in parts)) if parts else ()
    shaped = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in parts]
    return np.concatenate([np.zeros((*batch, 0, model.nv)), *shaped], axis=-2)
