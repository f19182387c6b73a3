"""A part of a mechanism as a model of its own."""

from collections.abc import Iterable
from dataclasses import replace

from phistar.model.model import Model
from phistar.model.parts import Body, Loop


def submodel(model: Model, chosen: Iterable[int], name: str | None = None) -> Model:
    """The model of some bodies, given by their numbers; all that they hang on must be among them.

    They keep their order; q and v are those entries of the whole's that belong to them. Frames on them and on the world
    come along, and the loops that join no others.
    """
    kept = sorted(set(chosen))
    number = {-1: -1} | {old: new for new, old in enumerate(kept)}
    bodies: list[Body] = []
    rows = rates = 0
    for old in kept:
        body, joint = model.bodies[old], model.joints[old]
        slices = {"q_slice": slice(rows, rows + joint.nq), "v_slice": slice(rates, rates + joint.nv)}
        bodies.append(replace(body, parent=number[body.parent], joint=replace(joint, body=number[old], **slices)))
        rows, rates = rows + joint.nq + body.modes, rates + joint.nv + body.modes
    frames = tuple(replace(each, body=number[each.body]) for each in model.frame_list if each.body in number)
    joints = {body.joint.name for body in bodies}
    loops = []
    for loop in model.loops:
        if isinstance(loop, Loop):
            here = all(model.frame(end).body in number for end in (loop.frame_a, loop.frame_b))
        else:
            here = {loop.joint_a, loop.joint_b} <= {*joints, None}
        loops += [loop] if here else []
    return replace(model, name=name or model.name, bodies=tuple(bodies), frame_list=frames, loops=tuple(loops))
