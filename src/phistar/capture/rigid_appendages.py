"""A model with some of its joints held still: what hangs on them becomes part of the bodies that carry it.

A capture senses its arms, its base and the target. Panels that swing on the base have no reading: the controller knows
them as they are at rest, the simulation moves them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from phistar.model import Model
from phistar.model.submodel import submodel
from phistar.spatial import Pose


def with_rigid(model: Model, bodies: Collection[int]) -> Model:
    """The model in which the joints of some bodies, by their numbers, stand still at their neutral coordinates."""
    parts, base, frames = list(model.bodies), model.base_geometry, list(model.frame_list)
    neutral = model.neutral()
    for number in sorted(bodies, reverse=True):  # outward first: what hangs on it comes along
        body = parts[number]
        turn, shift = body.joint.kind.pose(neutral[body.joint.q_slice])
        place = body.placement @ Pose(rotation=turn, xyz=shift)
        shapes = tuple(replace(each, placement=place @ each.placement) for each in body.geometry)
        if body.parent < 0:
            base = (*base, *shapes)
        else:
            carrier = parts[body.parent]
            inertia = carrier.inertia + body.inertia.transformed(place)
            parts[body.parent] = replace(carrier, inertia=inertia, geometry=(*carrier.geometry, *shapes))
        for i, frame in enumerate(frames):
            if frame.body == number:
                frames[i] = replace(frame, body=body.parent, placement=place @ frame.placement)
        for i, other in enumerate(parts):
            if other.parent == number:
                parts[i] = replace(other, parent=body.parent, placement=place @ other.placement)
    whole = replace(model, bodies=tuple(parts), frame_list=tuple(frames), base_geometry=base)
    return submodel(whole, set(range(len(parts))) - set(bodies))
