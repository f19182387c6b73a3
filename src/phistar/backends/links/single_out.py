"""One link of a mechanism of any width with the link that carries it, as a mechanism of its own.

Links that are built alike are of one kind: they have the same joints, members, loops and modes, and hang on links of
the same build. What they differ in, the numbers of placements and inertias, is a row of constants; entries that all
links of a kind share are folded into its code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.links.link_sizes import link_parents, link_size, links_of
from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.values import joint_links
from phistar.backends.links.wide import WideLinks, bent_links
from phistar.model import Body, Frame, Model
from phistar.model.compound import group_loops, group_of
from phistar.spatial import Pose
from phistar.spatial.value import digest

POSE, INERTIA = 12, 10  # numbers of a placement, and of a body's inertia about its origin
_UPPER = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # how an inertia's six entries are ordered


@dataclass(frozen=True, eq=False)
class SingledLink:
    """Link `own` of a small mechanism, on link `own` − 1 where it is not on the world; `make(q, constants)` is that
    mechanism, `bodies` and `above` the members of both, by their numbers in the whole model."""

    make: Callable[[np.ndarray, np.ndarray], Any]
    own: int
    key: bytes
    build: bytes
    above: bytes | None
    constants: np.ndarray
    coordinates: tuple[int, ...]
    carried_by: tuple[int, ...]
    frames: tuple[tuple[int, str], ...]
    bodies: tuple[Body, ...]
    sizes: tuple[int, int, int]
    carrier_sizes: tuple[int, int, int]
    is_compound: bool


def singled_links(model: Model, frames: tuple[str, ...], decoupled: bool = False) -> list[SingledLink]:
    """Every link of a model with links of any width; `frames` are the task frames, told by their numbers."""
    at: dict[int, list[tuple[int, str]]] = {}
    for number, name in enumerate(frames):
        at.setdefault(model.frame(name).body, []).append((number, name))
    members, parents = links_of(model), link_parents(model)
    builds = [_build(model, k, bodies) for k, bodies in enumerate(members)]
    return [_single_out(model, k, members, parents[k], at, builds, decoupled) for k in range(len(builds))]


def _build(model: Model, k: int, bodies: tuple[int, ...]) -> bytes:
    """Key of a link as those on it see it: its members, and how they bend."""
    bent = [body.flexible for body in (model.bodies[b] for b in bodies) if body.flexible is not None]
    heavy = [] if model.embedding is None else model.embedding.heavy(k)
    coordinates = sum(model.joints[b].nq + model.bodies[b].modes for b in bodies)
    return digest(link_size(model, k), heavy, bent, coordinates)


def _joint_key(kind: Any) -> tuple[Any, ...]:
    """A joint's geometry and armature; its limits, springs and friction are no part of a program."""
    names = ("axis", "axis1", "axis2", "normal", "pitch")
    return type(kind).__name__, [(name, getattr(kind, name)) for name in names if hasattr(kind, name)]


def _single_out(
    model: Model,
    k: int,
    links: tuple[tuple[int, ...], ...],
    parent: int,
    at: dict[int, list[tuple[int, str]]],
    builds: list[bytes],
    decoupled: bool,
) -> SingledLink:
    members, carriers = links[k], links[parent] if parent >= 0 else ()
    number = {body: i for i, body in enumerate((*carriers, *members))}
    loops = () if model.embedding is None else group_loops(model.embedding.closed, model.embedding.groups[k])
    tasks = tuple(x for body in members for x in at.get(body, ()))
    ends = [end for loop in loops for end in (getattr(loop, "frame_a", None), getattr(loop, "frame_b", None)) if end]
    named = list(dict.fromkeys([*ends, *(name for _, name in tasks)]))
    placed = [model.frame(name) for name in named]
    constants = [_pose_numbers(model.bodies[b].placement) for b in members]
    constants += [_inertia_numbers(model.bodies[b]) for b in members]
    constants += [_pose_numbers(frame.placement) for frame in placed]
    joined = [(_loop_key(loop, named, number, model), loop.joint) for loop in loops]
    own = [
        (_joint_key(model.joints[b].kind), model.joints[b].kind.armature_diagonal, number.get(model.parents[b], -1))
        for b in members
    ]
    bent = [model.bodies[b].flexible for b in members], [model.bodies[b].node for b in members]
    at_frames = [(number.get(frame.body, -1), frame.node) for frame in placed]
    chosen = None if model.embedding is None else model.embedding.choices[k]
    above = builds[parent] if parent >= 0 else None
    told = [i for i, _ in tasks], len(named)
    key = digest(builds[k], above, own, [x or None for x in bent[0]], bent[1], joined, at_frames, chosen, told)
    local = _Local(model, k, number, tuple(loops), tuple(named), len(carriers), decoupled)
    return SingledLink(
        local.mechanism,
        1 if parent >= 0 else 0,
        key,
        builds[k],
        above,
        np.concatenate(constants),
        tuple(i for b in members for i in model.bodies[b].coordinates),
        tuple(i for b in carriers for i in model.bodies[b].coordinates),
        tasks,
        tuple(model.bodies[b] for b in members),
        link_size(model, k),
        link_size(model, parent) if parent >= 0 else (6, 0, 0),
        model.embedding is not None,
    )


def _loop_key(loop: Any, named: list[str], number: dict[int, int], model: Model) -> tuple[Any, ...]:
    if hasattr(loop, "frame_a"):
        return named.index(loop.frame_a), named.index(loop.frame_b)
    driven = [None if name is None else number[model.joint(name).body] for name in (loop.joint_a, loop.joint_b)]
    return "coupled", *driven


def _pose_numbers(pose: Pose) -> np.ndarray:
    return np.concatenate([pose.rotation.reshape(-1), pose.translation])


def _inertia_numbers(body: Body) -> np.ndarray:
    inertia = body.inertia
    tensor = inertia.about_origin
    return np.array([inertia.mass, *(inertia.mass * inertia.com), *(tensor[i, j] for i, j in _UPPER)])


@dataclass(frozen=True, eq=False)
class _Local:
    """The bodies `number` names, carriers first, as a model; its constants may be traced."""

    model: Model
    link: int
    number: dict[int, int]
    loops: tuple[Any, ...]
    named: tuple[str, ...]
    carriers: int
    decoupled: bool

    def mechanism(self, q: np.ndarray, constants: np.ndarray) -> Any:
        """The mechanism at coordinates of the carriers and of the link itself, one after the other."""
        members = len(self.number) - self.carriers
        poses = constants[: POSE * members].reshape(members, POSE)
        inertias = constants[POSE * members : (POSE + INERTIA) * members].reshape(members, INERTIA)
        places = constants[(POSE + INERTIA) * members :].reshape(len(self.named), POSE)
        tree = self._tree(poses, places)
        still = np.zeros((self.carriers, INERTIA))
        links = replace(joint_links(tree, q), inertias=np.concatenate([still, inertias]))
        if self.model.embedding is None:
            return bent_links(links, self.decoupled)
        return self._embedding(tree, bent_links(links) if tree.is_flexible else RigidLinks(links))

    def _tree(self, poses: np.ndarray, places: np.ndarray) -> Model:
        bodies: list[Body] = []
        rows = rates = 0
        for old, new in self.number.items():
            body = self.model.bodies[old]
            joint, modes = body.joint, body.modes
            slices = {"q_slice": slice(rows, rows + joint.nq), "v_slice": slice(rates, rates + joint.nv)}
            place = body.placement if new < self.carriers else _pose(poses[new - self.carriers])
            own = replace(joint, body=new, **slices)
            bodies.append(replace(body, parent=self.number.get(body.parent, -1), joint=own, placement=place))
            rows, rates = rows + joint.nq + modes, rates + joint.nv + modes
        frames = [self._frame(name, place) for name, place in zip(self.named, places, strict=True)]
        return Model("link", tuple(bodies), tuple(frames), self.loops, self.model.gravity)

    def _frame(self, name: str, place: np.ndarray) -> Frame:
        frame = self.model.frame(name)
        return replace(frame, body=self.number.get(frame.body, -1), placement=_pose(place))

    def _embedding(self, closed: Model, links: RigidLinks | WideLinks) -> Any:
        whole = self.model.embedding
        assert whole is not None
        split = [range(self.carriers), range(self.carriers, len(self.number))]
        chosen = [whole.groups[self.link].parent, self.link]
        pairs = [(bodies, k) for bodies, k in zip(split, chosen, strict=True) if len(bodies)]
        groups = tuple(group_of(closed, bodies, place - 1) for place, (bodies, _) in enumerate(pairs))
        made = replace(whole, closed=closed, groups=groups, choices=tuple(whole.choices[k] for _, k in pairs))
        return made.compound(links)


def _pose(numbers: np.ndarray) -> Pose:
    """A placement of numbers that may be traced."""
    made = object.__new__(Pose)
    object.__setattr__(made, "rotation", numbers[:9].reshape(3, 3))
    object.__setattr__(made, "translation", numbers[9:])
    return made
