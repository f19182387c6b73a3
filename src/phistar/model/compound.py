"""Grouping of the links of a mechanism with loops: each loop merges the links along it into one compound link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

from phistar.model.model import Model
from phistar.model.parts import Body, CoupledJoints, Frame, Loop
from phistar.spatial.value import Value


@final
@dataclass(frozen=True, eq=False, repr=False)
class Group(Value):
    """Bodies that are one link, parents first; the number of the link that carries it (−1: the world), and the entries
    of the tree's q and v that are its own, body after body."""

    bodies: tuple[int, ...]
    parent: int
    coordinates: tuple[int, ...]
    rates: tuple[int, ...]


def compound_links(model: Model) -> tuple[Group, ...]:
    """The links of a model, single or compound, those that carry others first."""
    owner = list(range(len(model.bodies)))

    def root(k: int) -> int:
        while owner[k] != k:
            k = owner[k]
        return k

    for loop in model.loops:
        along = _along(model, loop)
        for other in along[1:]:
            owner[root(other)] = root(along[0])
    members: dict[int, list[int]] = {}
    for k in range(len(model.bodies)):
        members.setdefault(root(k), []).append(k)
    return _carriers_first(model, list(members.values()))


def _along(model: Model, loop: object) -> list[int]:
    """The bodies between the two ends of a loop; the body that both hang on only where it bends between them."""
    if isinstance(loop, Loop):
        ends = [model.frame(loop.frame_a).body, model.frame(loop.frame_b).body]
        own: set[int] = set()
    else:
        names = [name for name in (loop.joint_a, loop.joint_b) if name is not None]  # type: ignore[attr-defined]
        ends = [model.joint(name).body for name in names]
        own = set(ends)
    ways = [_way(model, end) for end in ends]
    apart = set(ways[0]) ^ set(ways[1]) if len(ways) == 2 else set()
    if isinstance(loop, Loop):
        apart |= _flexible_carrier(model, loop, apart)
    return sorted(apart | own)


def _flexible_carrier(model: Model, loop: Loop, apart: set[int]) -> set[int]:
    """The body that both ends of a loop hang on, where it bends between them: it belongs to the loop."""
    hung = {(model.parents[body], model.bodies[body].node) for body in apart if model.parents[body] not in apart}
    for name in (loop.frame_a, loop.frame_b):
        frame = model.frame(name)
        hung |= {(frame.body, frame.node)} - {(body, frame.node) for body in apart}
    return {body for body, _ in hung if body >= 0} if len(hung) > 1 else set()


def _way(model: Model, body: int) -> list[int]:
    """A body and all that it hangs on."""
    found = []
    while body >= 0:
        found.append(body)
        body = model.parents[body]
    return found


def _carriers_first(model: Model, groups: list[list[int]]) -> tuple[Group, ...]:
    """Carriers first; otherwise as their first bodies come."""
    home = {body: i for i, group in enumerate(groups) for body in group}
    outer = [
        next((home[p] for b in group if (p := model.parents[b]) >= 0 and home[p] != i), -1)
        for i, group in enumerate(groups)
    ]
    placed: dict[int, int] = {}
    result: list[Group] = []
    while len(placed) < len(groups):
        for i, group in enumerate(groups):
            if i not in placed and (outer[i] < 0 or outer[i] in placed):
                placed[i] = len(result)
                result.append(group_of(model, group, placed[outer[i]] if outer[i] >= 0 else -1))
    return tuple(result)


def group_of(model: Model, bodies: Sequence[int], parent: int) -> Group:
    """Bodies of a model as one link on the link numbered `parent`."""
    members = [model.bodies[body] for body in bodies]
    coordinates = tuple(x for body in members for x in body.coordinates)
    return Group(tuple(bodies), parent, coordinates, tuple(x for body in members for x in body.rates))


def group_model(model: Model, group: Group) -> Model:
    """A group by itself, the body or node that carries it held still as the world, with the loops inside it."""
    return model.kept(("group", group.bodies), lambda: _group_model(model, group))


def _group_model(model: Model, group: Group) -> Model:
    number = {old: new for new, old in enumerate(group.bodies)}
    carrier = next((model.parents[b] for b in group.bodies if model.parents[b] not in number), -1)
    bodies: list[Body] = []
    rows = rates = 0
    for old in group.bodies:
        body, joint = model.bodies[old], model.joints[old]
        slices = {"q_slice": slice(rows, rows + joint.nq), "v_slice": slice(rates, rates + joint.nv)}
        own = replace(joint, body=number[old], **slices)
        parent = number.get(body.parent, -1)
        bodies.append(replace(body, parent=parent, joint=own, node=body.node if parent >= 0 else -1))
        rows, rates = rows + len(body.coordinates), rates + len(body.rates)
    held = next((model.bodies[b].node for b in group.bodies if model.parents[b] not in number), -1)
    frames = [replace(f, body=number[place]) for place in group.bodies for f in frames_by_body(model).get(place, ())]
    for frame in frames_by_body(model).get(carrier, ()):
        if frame.node == held:  # the node that carries the group is its world
            frames.append(replace(frame, body=-1, node=-1))
    name = f"{model.name}: {', '.join(body.name for body in bodies)}"
    loops = group_loops(model, group)
    return replace(model, name=name, bodies=tuple(bodies), frame_list=tuple(frames), loops=loops)


def frames_by_body(model: Model) -> dict[int, list[Frame]]:
    """The frames of each body; −1 for the world's."""

    def group_frames() -> dict[int, list[Frame]]:
        found: dict[int, list[Frame]] = {}
        for frame in model.frame_list:
            found.setdefault(frame.body, []).append(frame)
        return found

    return model.kept("frames by body", group_frames)


def group_loops(model: Model, group: Group) -> tuple[Loop | CoupledJoints, ...]:
    """The loops inside a group, in the model's order."""

    def loops_by_body() -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for place, loop in enumerate(model.loops):
            for body in _along(model, loop):
                found.setdefault(body, []).append(place)
        return found

    by_body = model.kept("loops by body", loops_by_body)
    places = sorted({place for body in group.bodies for place in by_body.get(body, ())})
    return tuple(model.loops[place] for place in places)
