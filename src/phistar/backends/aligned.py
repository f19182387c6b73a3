"""The same mechanism in frames that suit a compiler."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from phistar.model import Helical, Model, Prismatic, Revolute
from phistar.model.parts import Body, Frame, Joint
from phistar.spatial import Pose

_Z = (0.0, 0.0, 1.0)


def aligned(model: Model) -> Model:
    """A model with the same q, v and dynamics; link frames are turned, task frames stay where they are."""
    turns = [_turn(joint.axis) if _has_axis(joint) else np.eye(3) for joint in model.joints]
    poses = [Pose(rotation=turn) for turn in turns]
    bodies = tuple(_turned(body, poses) for body in model.bodies)
    frames = tuple(_moved(frame, poses) for frame in model.frame_list)
    content = {field.name: getattr(model, field.name) for field in fields(model)}
    return Model(**{**content, "bodies": bodies, "frame_list": frames, "loops": ()})


def without_roundoff(model: Model) -> Model:
    """The same model where quarter turns of placements are exact: cos(π/2) is 6e-17 in a file's rotation, zero here.

    What is below the rounding of the numbers themselves is not information; as zeros it saves a third of the work.
    """
    bodies = tuple(replace(body, placement=_rounded(body.placement)) for body in model.bodies)
    return replace(model, bodies=bodies)


def _rounded(pose: Pose) -> Pose:
    rotation = pose.rotation
    whole = np.round(rotation)
    return Pose(xyz=pose.translation, rotation=np.where(np.abs(rotation - whole) < 4e-16, whole, rotation))


def _has_axis(joint: Joint) -> bool:
    return isinstance(joint.kind, Revolute | Prismatic | Helical)


def _turn(axis: np.ndarray) -> np.ndarray:
    """A rotation that takes z to the axis; a coordinate axis gives a matrix of zeros and ones."""
    order = np.argsort(np.abs(axis), kind="stable")
    across = np.zeros(3)
    across[order[0]] = 1.0
    x = across - axis * (axis @ across)
    x = x / np.sqrt(x @ x)
    return np.stack([x, np.cross(axis, x), axis], axis=-1)


def _turned(body: Body, poses: list[Pose]) -> Body:
    own = poses[body.joint.body]
    above = poses[body.parent] if body.parent >= 0 else Pose()
    joint = body.joint
    if _has_axis(joint):
        joint = replace(joint, kind=replace(joint.kind, axis=_Z))
    placement = above.inverse @ body.placement @ own
    return replace(body, joint=joint, placement=placement, inertia=body.inertia.transformed(own.inverse))


def _moved(frame: Frame, poses: list[Pose]) -> Frame:
    return frame if frame.body < 0 else replace(frame, placement=poses[frame.body].inverse @ frame.placement)
