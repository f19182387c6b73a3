"""ModelBuilder: a mechanism given part by part."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from phistar.errors import ModelError
from phistar.model.assemble import (
    Extra,
    Link,
    Place,
    bodies_with_slices,
    make_loop,
    merge_links,
    on_link,
    parents_first,
    passive_force_warning,
    passive_parts,
    seat_frames,
)
from phistar.model.check import unmovable_joints
from phistar.model.flexible import FlexibleInertia
from phistar.model.geometry import Geometry
from phistar.model.joints import CutKind, Fixed, JointKind
from phistar.model.joints.fixed import FIXED
from phistar.model.model import WORLD_FRAME, Model
from phistar.model.names import unknown
from phistar.model.parts import WORLD, Body, CoupledJoints, Frame, Loop
from phistar.spatial import Inertia, Pose
from phistar.spatial.inertia import MASSLESS
from phistar.spatial.pose import IDENTITY


class ModelBuilder:
    """Builds a model from bodies, frames and loops, given in any order; `build` checks them and makes the immutable
    Model.

    Parameters
    ----------
    name : str
    gravity : (3,)
        In world axes [m/s²].

    Examples
    --------
    >>> b = ps.ModelBuilder("pendulum")
    >>> b.body("rod", joint=ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(1.0, (0, 0, -0.5), np.eye(3) / 12))
    >>> b.frame("tip", body="rod", placement=ps.Pose(xyz=(0, 0, -1)))
    >>> ps.gravity_load(b.build(), [np.pi / 2]).round(3)
    array([4.905])
    """

    def __init__(self, name: str, gravity: Any = (0.0, 0.0, -9.81)):
        self.name = _checked_name(name, "model")
        self.gravity = gravity
        self._links: dict[str, Link] = {}
        self._joint_names: set[str] = set()
        self._places: list[Place] = []
        self._place_names: set[str] = set()
        self._extras: list[Extra] = []
        self._loops: dict[str, tuple[str, str | None, JointKind | CutKind]] = {}
        self._warnings: list[str] = []

    def body(
        self,
        name: str,
        parent: str = WORLD,
        joint: JointKind = FIXED,
        placement: Pose = IDENTITY,
        inertia: Inertia | FlexibleInertia = MASSLESS,
        geometry: Iterable[Geometry] = (),
        joint_name: str | None = None,
        offset: Pose = IDENTITY,
    ) -> None:
        """Adds a body on its joint, whose parent-side frame stands at `placement` in the parent (a body or a frame).

        The body's own frame, in which inertia, geometry, children and frames are given, is the joint's child frame,
        or stands at `offset` in it (a frame off the joint's axis, as in standard Denavit-Hartenberg tables and MJCF).
        With a Fixed joint the body merges into its parent and stays as a frame. One with a FlexibleInertia (`ps.beam`)
        bends: its ends are frames, "name.root" and "name.tip" of a beam, on which others are put; its modes' entries
        stand in q and v after its joint's.
        """
        if isinstance(joint, CutKind):
            kind = type(joint).__name__
            raise ModelError(f"'{name}' was given a {kind} joint, which only a loop can have; use ModelBuilder.loop.")
        _checked_type(joint, JointKind, f"The body '{name}'", "a joint such as Revolute")
        _checked_type(placement, Pose, f"The body '{name}'", "a Pose as placement")
        _checked_type(offset, Pose, f"The body '{name}'", "a Pose as offset")
        _checked_type(inertia, (Inertia, FlexibleInertia), f"The body '{name}'", "an Inertia or a FlexibleInertia")
        flexible = inertia if isinstance(inertia, FlexibleInertia) else None
        if flexible is not None and not offset.is_identity:
            raise ModelError(f"'{name}' bends, so its frame is its joint's; leave out the offset.")
        shapes = tuple(geometry)
        for shape in shapes:
            _checked_type(shape, Geometry, f"The body '{name}'", "Geometry")
        joint_name = name if joint_name is None else joint_name
        rigid = inertia if isinstance(inertia, Inertia) else MASSLESS
        self._add_link(Link(name, parent, joint, joint_name, placement, offset, rigid, shapes, flexible=flexible))
        self._add_place(Place(joint_name, name, IDENTITY, "joint", on_joint=not isinstance(joint, Fixed)))
        self._add_place(Place(name, name, IDENTITY, "link"))
        for end, node in () if flexible is None else dict(flexible.ends).items():
            self._add_place(Place(f"{name}.{end}", name, IDENTITY, "frame", node=node))

    def frame(self, name: str, body: str, placement: Pose = IDENTITY) -> None:
        """Adds a named frame at `placement` on a body or frame.

        The world is always a frame to name; `frame("world", "world")` also lists it among the model's frames.
        """
        _checked_type(placement, Pose, f"The frame '{name}'", "a Pose as placement")
        role = "link" if name == WORLD else "frame"
        self._add_place(Place(_checked_name(name, "frame"), body, placement, role))

    def geometry(self, body: str, geometry: Geometry) -> None:
        """Adds a shape to a body (or to "world"), placed in its frame."""
        _checked_type(geometry, Geometry, f"The body '{body}'", "Geometry")
        self._extras.append(Extra(body, MASSLESS, (geometry,)))

    def loop(self, name: str, frame_a: str, frame_b: str | None, joint: JointKind | CutKind) -> None:
        """Closes a loop with a cut joint between two frames.

        A Coupling is between two joints: `frame_a` names the driven, `frame_b` the driving one, or None for a constant.
        """
        if not isinstance(joint, (JointKind, CutKind)):
            raise ModelError(
                f"The loop '{name}' needs a joint such as Revolute or Coupling; it was given {joint!r:.200}."
            )
        if _checked_name(name, "loop") in self._loops:
            raise ModelError(f"There are two loops called '{name}'; give each its own name.")
        if passive := passive_parts(joint):
            self.warn(passive_force_warning(name, passive))
        self._loops[name] = (frame_a, frame_b, joint)

    def warn(self, text: str) -> None:
        """Adds a sentence to the model's warnings."""
        self._warnings.append(text)

    def attach(self, model: Model, parent: str = WORLD, placement: Pose = IDENTITY, prefix: str = "") -> None:
        """Adds a whole model, its world fixed at `placement` on `parent`; its names get the prefix.

        Links fixed to its world merge into the parent. Its frames, loops and warnings come along, not its gravity.
        """
        _checked_type(model, Model, "ModelBuilder.attach", "a Model")
        _checked_type(placement, Pose, "ModelBuilder.attach", "a Pose as placement")
        for body in model.bodies:
            self._add_link(_reparented_link(model, body, parent, placement, prefix))
        self._extras.append(Extra(parent, model.base_inertia, model.base_geometry, placement))
        same_world = parent == WORLD and placement.is_identity
        for frame in model.frame_list:
            self._attach_frame(model, frame, parent, placement, prefix)
        ends = [end for loop in model.loops if isinstance(loop, Loop) for end in (loop.frame_a, loop.frame_b)]
        if WORLD in ends and WORLD not in model.frames and not same_world:
            self._add_place(Place(prefix + WORLD, parent, placement, "link"))
        for loop in model.loops:
            self._attach_loop(loop, prefix, same_world)
        self._warnings.extend(f"{prefix}: {text}" if prefix else text for text in model.warnings)

    def _attach_frame(self, model: Model, frame: Frame, parent: str, placement: Pose, prefix: str) -> None:
        if frame.name == WORLD and parent == WORLD and placement.is_identity:
            if WORLD not in self._place_names:
                self.frame(WORLD, WORLD)
            return
        if frame.role == "joint" and frame.name not in model.joint_indices:
            self._claim_joint(prefix + frame.name)
        if frame.body >= 0:
            carrier = prefix + model.bodies[frame.body].name
            told = {"on_joint": True, "node": frame.node}
            self._add_place(Place(prefix + frame.name, carrier, frame.placement, frame.role, **told))
        else:
            self._add_place(Place(prefix + frame.name, parent, placement @ frame.placement, frame.role))

    def _attach_loop(self, loop: Loop | CoupledJoints, prefix: str, same_world: bool) -> None:
        if isinstance(loop, CoupledJoints):
            driver = None if loop.joint_b is None else prefix + loop.joint_b
            self.loop(prefix + loop.name, prefix + loop.joint_a, driver, loop.joint)
            return
        a, b = (WORLD if name == WORLD and same_world else prefix + name for name in (loop.frame_a, loop.frame_b))
        self.loop(prefix + loop.name, a, b, loop.joint)

    def build(self, strict: bool = True) -> Model:
        """The model. What no mechanism can be raises; with strict=False, unphysical inertias and joints with no
        inertia behind them, which real files have, become warnings."""
        doubts = [
            _doubt(link.name, problem)
            for link in self._links.values()
            if not link.composed
            for problem in link.inertia.problems()
        ]
        model = self._assemble()
        doubts += unmovable_joints(model)
        if strict and doubts:
            more = f" There are {len(doubts) - 3} more faults like this." if len(doubts) > 3 else ""
            raise ModelError(" ".join(doubts[:3]) + more)
        warnings = tuple(dict.fromkeys([*self._warnings, *doubts]))
        return model._with(warnings=warnings) if warnings else model

    def _assemble(self) -> Model:
        frames = {place.name: place for place in self._places if place.role != "joint"}
        links = {name: on_link(link, self._links, frames) for name, link in self._links.items()}
        world, drafts, seats = merge_links(parents_first(links, self.name))
        extras = [on_link(extra, links, frames) for extra in self._extras]
        places = [on_link(place, links, frames) for place in self._places]
        for item in (*extras, *places):
            if item.parent not in seats:
                raise unknown("body", item.parent, seats, self.name)
        for extra in extras:
            seat = seats[extra.parent]
            draft = world if seat.body < 0 else drafts[seat.body]
            draft.merge(extra.inertia, extra.geometry, seat.pose(extra), seat.node_of(extra))
        frames = seat_frames(places, seats)
        by_name = {WORLD: WORLD_FRAME} | {frame.name: frame for frame in frames}
        kinds = {draft.joint_name: draft.kind for draft in drafts}
        loops = tuple(make_loop(name, a, b, joint, by_name, kinds) for name, (a, b, joint) in self._loops.items())
        return Model(
            self.name,
            bodies_with_slices(drafts),
            frames,
            loops,
            self.gravity,
            base_inertia=world.inertia,
            base_geometry=tuple(world.geometry),
        )

    def _stiffen(self, name: str, body: FlexibleInertia) -> None:
        """Fix what a body's nodes carry to the body, at the undeformed places."""

        def reseat(item: Any) -> Any:
            if item.parent != name or item.node < 0:
                return item
            return replace(item, placement=Pose(xyz=body.nodes[item.node]) @ item.placement, node=-1)

        self._links = {key: reseat(link) for key, link in self._links.items()}
        self._places = [reseat(place) for place in self._places]
        self._extras = [reseat(extra) for extra in self._extras]

    def _add_link(self, link: Link) -> None:
        _checked_name(link.name, "body")
        _checked_name(link.joint_name, "joint")
        if link.name == WORLD:
            raise ModelError("No body can be called 'world': that is the world itself.")
        if link.name in self._links:
            raise ModelError(
                f"There are two bodies called '{link.name}'; give each its own name, or attach with a prefix."
            )
        self._claim_joint(link.joint_name)
        self._links[link.name] = link

    def _claim_joint(self, name: str) -> None:
        if name in self._joint_names:
            raise ModelError(f"There are two joints called '{name}'; give each its own name, or attach with a prefix.")
        self._joint_names.add(name)

    def _add_place(self, place: Place) -> None:
        if place.name == WORLD and (place.parent != WORLD or not place.placement.is_identity):
            raise ModelError("Only the world itself can be called 'world'; give this frame another name, or a prefix.")
        if place.role != "joint":  # joints give way to others of their name, see assemble.seat_frames
            if place.name in self._place_names:
                raise ModelError(f"There are two frames called '{place.name}'; each body and frame needs its own name.")
            self._place_names.add(place.name)
        self._places.append(place)


def rebuild_model(
    model: Model,
    inertias: Mapping[str, Inertia],
    joints: Mapping[str, JointKind],
    placements: Mapping[str, Pose],
) -> Model:
    """The model with some bodies' inertias and placements and some joints' kinds changed; see Model.replace."""
    builder = ModelBuilder(model.name, model.gravity)
    builder.attach(model)
    for name in (*inertias, *placements):
        model.body_index(name)
    for name in joints:
        model.joint(name)
    for link in builder._links.values():
        changes = {
            **_changed_inertia(link, inertias),
            "placement": placements.get(link.name, link.placement),
            "kind": joints.get(link.joint_name, link.kind),
        }
        builder._links[link.name] = replace(link, **changes)
    for name, inertia in inertias.items():
        body = model.bodies[model.body_index(name)].flexible
        if body is not None and not isinstance(inertia, FlexibleInertia):
            builder._stiffen(name, body)
        for problem in inertia.problems() if isinstance(inertia, Inertia) else ():
            builder.warn(_doubt(name, problem))
    return builder.build(strict=False)


def _reparented_link(model: Model, body: Body, parent: str, placement: Pose, prefix: str) -> Link:
    on_base = body.parent < 0
    return Link(
        name=prefix + body.name,
        parent=parent if on_base else prefix + model.bodies[body.parent].name,
        kind=body.joint.kind,
        joint_name=prefix + body.joint.name,
        placement=placement @ body.placement if on_base else body.placement,
        offset=model.frame(body.name).placement,
        inertia=body.inertia if body.flexible is None else MASSLESS,
        geometry=body.geometry,
        composed=True,
        on_joint=not on_base,
        node=body.node,
        flexible=body.flexible,
    )


def _changed_inertia(link: Link, inertias: Mapping[str, Inertia | FlexibleInertia]) -> dict[str, Any]:
    given = inertias.get(link.name)
    if isinstance(given, FlexibleInertia):
        return {"inertia": MASSLESS, "flexible": given}
    return {} if given is None else {"inertia": given, "flexible": None}


def _doubt(link: str, problem: str) -> str:
    return f"The link '{link}' has an impossible inertia: {problem}."


def _checked_name(name: Any, what: str) -> str:
    if not isinstance(name, str) or not name:
        raise ModelError(f"A {what} needs a name, text that is not empty; it was given {name!r:.200}.")
    return name


def _checked_type(value: Any, kind: type | tuple[type, ...], owner: str, wanted: str) -> None:
    if not isinstance(value, kind):
        raise ModelError(f"{owner} needs {wanted}; it was given {value!r:.200}.")
