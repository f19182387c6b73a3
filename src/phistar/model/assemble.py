"""Assembles a Model from a builder's parts: orders links, merges fixed ones, places frames and loops."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TypeVar

import numpy as np

from phistar.errors import ModelError
from phistar.model.flexible import FlexibleInertia
from phistar.model.geometry import Geometry
from phistar.model.joints import Coupling, CutKind, Fixed, Free, JointKind
from phistar.model.joints.fixed import FIXED
from phistar.model.names import unknown
from phistar.model.parts import WORLD, Body, CoupledJoints, Frame, Joint, Loop
from phistar.spatial import Inertia, Pose
from phistar.spatial.inertia import MASSLESS
from phistar.spatial.pose import IDENTITY


@dataclass(frozen=True)
class Link:
    """A link as told: `offset` places its frame in the joint's child frame.

    Told by a person, everything refers to link frames. Taken from a model, inertia and geometry are in the joint's
    child frame (`composed`), and the placement is in the parent's (`on_joint`).
    """

    name: str
    parent: str
    kind: JointKind
    joint_name: str
    placement: Pose
    offset: Pose
    inertia: Inertia
    geometry: tuple[Geometry, ...]
    composed: bool = False
    on_joint: bool = False
    node: int = -1
    flexible: FlexibleInertia | None = None


@dataclass(frozen=True)
class Place:
    """A frame as told, on a link: in its joint's child frame (`on_joint`) or in its link frame."""

    name: str
    parent: str
    placement: Pose
    role: str
    on_joint: bool = False
    node: int = -1


@dataclass(frozen=True)
class Extra:
    """Inertia and geometry added to a link, placed like a frame."""

    parent: str
    inertia: Inertia
    geometry: tuple[Geometry, ...]
    placement: Pose = IDENTITY
    on_joint: bool = False
    node: int = -1


Told = TypeVar("Told", Link, Place, Extra)


@dataclass
class Draft:
    """A moving body (or the world, at index −1) while links merge into it."""

    name: str
    inertia: Inertia = MASSLESS
    geometry: list[Geometry] = field(default_factory=list)
    parent: int = -1
    placement: Pose = IDENTITY
    kind: JointKind = FIXED
    joint_name: str = ""
    node: int = -1
    flexible: FlexibleInertia | None = None

    def merge(self, inertia: Inertia, geometry: Iterable[Geometry], pose: Pose, node: int = -1) -> None:
        """Adds what is given in a frame placed by `pose` in this body, or in the axes of one of its nodes."""
        if not inertia.is_zero and self.flexible is not None:
            self.flexible = self.flexible.with_payload(self._seat_of_payload(node), inertia, pose)
        elif not inertia.is_zero:
            self.inertia = self.inertia + inertia.transformed(pose)
        if self.flexible is not None and node >= 0:
            self.geometry.extend(item.on_node(pose, node, self.flexible.nodes[node]) for item in geometry)
        else:
            self.geometry.extend(item.transformed(pose) for item in geometry)

    def _seat_of_payload(self, node: int) -> int:
        """The node that carries what is fixed to the body's own frame: one at its origin that no mode moves."""
        assert self.flexible is not None
        if node >= 0:
            return node
        still = ~self.flexible.modes.any(axis=(1, 2)) & ~self.flexible.rotations.any(axis=(1, 2))
        found = np.flatnonzero(still & ~self.flexible.nodes.any(axis=1))
        if not len(found):
            raise ModelError(
                f"'{self.name}' bends, and has no node at its frame's origin to carry what is fixed there; fix it to "
                "one of its ends, or add a node at the origin whose modes are zero."
            )
        return int(found[0])


@dataclass(frozen=True)
class Seat:
    """Mounting of a link: its moving body (or a node of it), and its joint's child frame and link frame there."""

    body: int
    joint_frame: Pose
    link_frame: Pose
    node: int = -1

    def pose(self, item: Link | Place | Extra) -> Pose:
        """Pose of an item of this link in the moving body, or in the axes of its node."""
        if item.node >= 0:
            return item.placement
        return (self.joint_frame if item.on_joint else self.link_frame) @ item.placement

    def node_of(self, item: Link | Place | Extra) -> int:
        """The node in whose axes that is."""
        return item.node if item.node >= 0 else self.node


def on_link(item: Told, links: dict[str, Link], frames: dict[str, Place]) -> Told:
    """The item relative to a link (or the world), where it was given on a frame."""
    seen: set[str] = set()
    while item.parent not in links and item.parent in frames and item.parent != WORLD:
        if item.parent in seen:
            raise ModelError(f"The frames {', '.join(map(repr, seen))} are on each other; put one of them on a body.")
        seen.add(item.parent)
        frame = frames[item.parent]
        placement = frame.placement @ item.placement
        item = replace(item, parent=frame.parent, placement=placement, on_joint=frame.on_joint, node=frame.node)
    return item


def parents_first(links: dict[str, Link], model: str) -> list[Link]:
    """The links in the order given, but parents before children; unknown parents and cycles are refused."""
    done: set[str] = {WORLD}
    result: list[Link] = []
    for link in links.values():
        path: dict[str, Link] = {}
        name = link.name
        while name not in done:
            if name in path:
                names = list(path)
                cycle = [*names[names.index(name) :], name]
                raise ModelError(
                    f"The bodies {' → '.join(repr(item) for item in cycle)} hang on each other in a cycle; "
                    "hang one of them on the world, and close the loop with a cut joint (ModelBuilder.loop)."
                )
            path[name] = links[name]
            name = links[name].parent
            if name not in links and name != WORLD:
                raise unknown(f"body to be the parent of '{next(reversed(path))}',", name, [WORLD, *links], model)
        done.update(path)
        result.extend(reversed(path.values()))
    return result


def merge_links(links: list[Link]) -> tuple[Draft, list[Draft], dict[str, Seat]]:
    """The world, the moving bodies, and where every link sits on them."""
    world, bodies = Draft(WORLD), []
    seats = {WORLD: Seat(-1, IDENTITY, IDENTITY)}
    for link in links:
        parent = seats[link.parent]
        placement, node = parent.pose(link), parent.node_of(link)
        if isinstance(link.kind, Fixed) and link.flexible is None:
            seat = Seat(parent.body, placement, placement @ link.offset, node)
        else:
            seat = Seat(len(bodies), IDENTITY, link.offset)
            told = {"kind": link.kind, "joint_name": link.joint_name, "node": node, "flexible": link.flexible}
            bodies.append(Draft(link.name, parent=parent.body, placement=placement, **told))
        draft = world if seat.body < 0 else bodies[seat.body]
        draft.merge(link.inertia, link.geometry, seat.joint_frame if link.composed else seat.link_frame, seat.node)
        seats[link.name] = seat
    return world, bodies, seats


def bodies_with_slices(drafts: list[Draft]) -> tuple[Body, ...]:
    """Bodies with their joints' slices of q and v, and after each its body's modes."""
    modes = [0 if draft.flexible is None else draft.flexible.count for draft in drafts]
    q_ends = accumulate(draft.kind.nq + m for draft, m in zip(drafts, modes, strict=True))
    v_ends = accumulate(draft.kind.nv + m for draft, m in zip(drafts, modes, strict=True))
    bodies = []
    for index, (draft, m, q_end, v_end) in enumerate(zip(drafts, modes, q_ends, v_ends, strict=True)):
        q_slice, v_slice = slice(q_end - m - draft.kind.nq, q_end - m), slice(v_end - m - draft.kind.nv, v_end - m)
        joint = Joint(draft.joint_name, draft.kind, index, q_slice, v_slice)
        inertia = draft.inertia if draft.flexible is None else draft.flexible.rigid
        more = (tuple(draft.geometry), draft.flexible, draft.node)
        bodies.append(Body(draft.name, draft.parent, joint, draft.placement, inertia, *more))
    return tuple(bodies)


def seat_frames(places: list[Place], seats: dict[str, Seat]) -> tuple[Frame, ...]:
    """The frames in the order given; a joint's frame gives way to a link or added frame of the same name."""
    taken = {place.name for place in places if place.role != "joint"}
    kept = [place for place in places if place.role != "joint" or place.name not in taken]
    found = [(item, seats[item.parent]) for item in kept]
    return tuple(Frame(item.name, at.body, at.pose(item), item.role, at.node_of(item)) for item, at in found)


def make_loop(
    name: str, a: str, b: str | None, joint: JointKind | CutKind, frames: dict[str, Frame], kinds: dict[str, JointKind]
) -> Loop | CoupledJoints:
    """One loop, checked: its frames on two bodies, or its joints with one coordinate each."""
    if isinstance(joint, Coupling):
        return _joint_coupling(name, a, b, joint, kinds)
    for frame in (a, b):
        if frame not in frames:
            raise unknown(f"frame for the loop '{name}',", frame, frames, "The model")
    if frames[a].body == frames[str(b)].body:
        raise ModelError(
            f"The loop '{name}' joins '{a}' and '{b}', which are on the same body; name two bodies' frames."
        )
    if isinstance(joint, Free):
        raise ModelError(f"The loop '{name}' has a Free joint, which constrains nothing; leave it out.")
    return Loop(name, a, str(b), joint)


def _joint_coupling(name: str, a: str, b: str | None, joint: Coupling, kinds: dict[str, JointKind]) -> CoupledJoints:
    for item in (a,) if b is None else (a, b):
        if item not in kinds:
            raise unknown(f"moving joint for the coupling '{name}',", item, kinds, "The model")
        if kinds[item].nq != 1:
            raise ModelError(f"The coupling '{name}' needs joints with one coordinate; '{item}' has {kinds[item].nq}.")
    if a == b:
        raise ModelError(f"The coupling '{name}' couples the joint '{a}' to itself; name two joints.")
    if b is None and len(joint.coefficients) > 1:
        raise ModelError(f"The coupling '{name}' has no driving joint, so it takes one coefficient, the constant.")
    return CoupledJoints(name, a, b, joint)


def passive_parts(joint: JointKind | CutKind) -> str:
    """The passive forces of a cut joint by name."""
    names = ("damping", "stiffness", "friction", "armature", "rotor_inertia")
    return " and ".join(name for name in names if np.any(getattr(joint, name, 0.0)))


def passive_force_warning(name: str, passive: str) -> str:
    """The warning for a cut joint that has passive forces."""
    return (
        f"The loop '{name}' has {passive} at its cut joint, which simulations leave out; cut another joint, or "
        "use primary joints (ps.loops.PrimaryJoints)."
    )
