"""A model with some of its joints held still: what hangs on them becomes part of the bodies that carry it.

A capture senses its arms, its base and the target. Panels that swing on the base have no reading: the controller knows
them as they are at rest, the simulation moves them. The light fingers of a jaw it knows as they are when it is open.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from phistar.model import Model
from phistar.model.parts import Body
from phistar.model.submodel import submodel
from phistar.spatial import Pose


def with_rigid(model: Model, bodies: Collection[int], q: np.ndarray | None = None) -> Model:
    """The model in which the joints of some bodies, by their numbers, stand still at the coordinates q (nq,), by
    default neutral, and those of them that bend do not."""
    parts, base, frames = list(model.bodies), model.base_geometry, list(model.frame_list)
    rest = model.neutral() if q is None else q
    for number in sorted(bodies, reverse=True):  # outward first: what hangs on it comes along
        body = parts[number]
        turn, shift = body.joint.kind.pose(rest[body.joint.q_slice])
        place = body.placement @ Pose(rotation=turn, xyz=shift)
        shapes = tuple(replace(each, placement=place @ each.placement, node=-1) for each in body.geometry)
        if body.parent < 0:
            base = (*base, *shapes)
        else:
            carrier = parts[body.parent]
            inertia = carrier.inertia + body.inertia.transformed(place)
            parts[body.parent] = replace(carrier, inertia=inertia, geometry=(*carrier.geometry, *shapes))
        for i, frame in enumerate(frames):
            if frame.body == number:
                at = place @ _unbent(body, frame.node) @ frame.placement
                frames[i] = replace(frame, body=body.parent, placement=at, node=body.node)
        for i, other in enumerate(parts):
            if other.parent == number:
                at = place @ _unbent(body, other.node) @ other.placement
                parts[i] = replace(other, parent=body.parent, placement=at, node=body.node)
    whole = replace(model, bodies=tuple(parts), frame_list=tuple(frames), base_geometry=base)
    return submodel(whole, set(range(len(parts))) - set(bodies))


def _unbent(body: Body, node: int) -> Pose:
    """Pose of a body's node when nothing is bent; −1 is the body's own frame."""
    return Pose() if body.flexible is None or node < 0 else Pose(xyz=body.flexible.nodes[node])
