"""SDF files, models and worlds: links stand where their poses say at q = 0, joints tie them.

A model that is not static and has no joint to the world floats in SDF. Here it stands fixed, as every robot file does,
unless `floating=True`; a warning says so.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from phistar.errors import FileError, ModelError
from phistar.io import xml
from phistar.io.packages import FolderList, Folders
from phistar.io.sdf.scope import WORLD, Scope, SdfJoint, SdfLink, version_of
from phistar.io.sdf.sdf_joints import kinds_of, mimic_of
from phistar.io.sdf.sdf_links import geometries_of, inertia_of
from phistar.io.sdf.sdf_values import child, vector
from phistar.io.urdf.notes import Notes
from phistar.io.xml import Element, quote
from phistar.model import Fixed, Free, Model, ModelBuilder
from phistar.spatial import Pose

DEFAULT_GRAVITY = (0.0, 0.0, -9.8)  # SDF's own
ROOT = "root"


def load_sdf(
    path: str | os.PathLike[str],
    *,
    floating: bool = False,
    packages: FolderList = (),
    gravity: Sequence[float] | None = None,
    strict: bool = False,
) -> Model:
    """The model of an SDF file; the arguments are those of `phistar.load`."""
    root, notes = xml.read(path), Notes()
    folders = Folders.around(path, packages)
    holder = _holder(root)
    scope = Scope(folders, notes)
    scope.enter(holder, version_of(root))
    if not scope.links:
        raise root.refuse("the file has no <link>; a model has at least one.")
    if gravity is None:
        gravity = vector(holder, "gravity", 3, DEFAULT_GRAVITY).tolist()
    try:
        builder = ModelBuilder(holder.attributes.get("name", "") or Path(path).stem, gravity=gravity)
        _Assembly(builder, scope, floating).build()
        if strict and notes.kinds:
            raise FileError(f"{path}: {notes.sentences()[0]} With strict=False this is a warning.")
        for warning in notes.sentences():
            builder.warn(warning)
        return builder.build(strict=strict)
    except ModelError as problem:
        raise ModelError(f"{path}: {problem}") from None


def _holder(root: Element) -> Element:
    """The one <world>, or the <sdf> with its models; a lone model stands for itself, so that names stay short."""
    if root.tag != "sdf":
        raise root.refuse(f"the root element is <{root.tag[:60]}>; <sdf> was expected.")
    worlds, models = root.all("world"), root.all("model")
    if len(worlds) > 1:
        raise worlds[1].refuse("a second <world>; a file with one is read.")
    holder = worlds[0] if worlds else root
    inner = holder.all("model")
    lone = len(inner) == 1 and not holder.all("include") and not holder.all("joint")
    lone = lone and all(link.attributes.get("name") != WORLD for link in inner[0].all("link"))
    if lone and child(inner[0], "pose") is None and (not worlds or child(holder, "gravity") is None):
        return inner[0]
    if not worlds and not models:
        raise root.refuse("the file has neither a <model> nor a <world>.")
    return holder


class _Assembly:
    """Links hung into a builder, each after the one that carries it."""

    def __init__(self, builder: ModelBuilder, scope: Scope, floating: bool) -> None:
        self.builder, self.scope, self.floating = builder, scope, floating
        self.placed: set[str] = {WORLD}
        self.used: set[int] = set()
        self.taken = {joint.name for joint in scope.joints}

    def build(self) -> None:
        """Hang what the world carries, then other models; joints that are left close rings, and become loops."""
        self._walk([WORLD])
        for link in self.scope.links.values():
            if link.name not in self.placed and (link.static or not self._is_child(link.name)):
                self._root(link)
        for link in self.scope.links.values():  # rings that nothing leads into
            if link.name not in self.placed:
                self._root(link)
        for number, joint in enumerate(self.scope.joints):
            if number not in self.used:
                self._close(joint)
        for name, (link, pose) in self.scope.frames.items():
            if name not in self.placed:
                self.builder.frame(name, link, self._pose(link).inverse @ pose)
        self._couple()

    def _is_child(self, name: str) -> bool:
        return any(joint.child == name and joint.parent != name for joint in self.scope.joints)

    def _pose(self, name: str) -> Pose:
        return Pose() if name == WORLD else self.scope.links[name].pose

    def _root(self, link: SdfLink) -> None:
        """A link that no joint carries: fixed, or free."""
        free = self.floating and not link.static
        if not free and not link.static:
            sentence = (
                "a model that floats in SDF, neither static nor tied to the world, stands fixed; floating=True frees it"
            )
            self.scope.notes.add(sentence, link.element, link.name)
        name = self._unused_name(ROOT if free else link.name)
        self._body(link, WORLD, Free() if free else Fixed(), Pose() if free else link.pose, name, Pose())
        self._walk([link.name])

    def _walk(self, starts: list[str]) -> None:
        """Everything that hangs on links, outward; without recursion, so that chains may be long."""
        waiting = list(starts)
        while waiting:
            name = waiting.pop()
            for number, joint in enumerate(self.scope.joints):
                if joint.parent == name and number not in self.used and joint.child not in self.placed:
                    self.used.add(number)
                    self._hang(joint)
                    waiting.append(joint.child)

    def _hang(self, joint: SdfJoint) -> None:
        if joint.child == WORLD:
            raise joint.element.refuse(f"joint {quote(joint.name)} has the world as its child; exchange the two.")
        link, kinds = self.scope.links[joint.child], kinds_of(joint, self.scope.notes)
        carrier, placement = joint.parent, self._pose(joint.parent).inverse @ joint.pose
        for number, kind in enumerate(kinds[:-1]):
            between = self._unused_name(f"{joint.name}_{number}")
            self.builder.body(between, carrier, kind, placement, joint_name=between)
            carrier, placement = between, Pose()
        self._body(link, carrier, kinds[-1], placement, joint.name, joint.pose.inverse @ link.pose)

    def _body(self, link: SdfLink, carrier: str, kind: object, placement: Pose, joint: str, offset: Pose) -> None:
        scope = self.scope
        inertia, shapes = inertia_of(link, scope.notes), geometries_of(link, scope.notes)
        if not isinstance(kind, Fixed) or offset.is_identity:
            self.builder.body(link.name, carrier, kind, placement, inertia, shapes, joint, offset)  # type: ignore[arg-type]
        else:
            self.builder.body(link.name, carrier, kind, placement @ offset, inertia, shapes, joint)
        self.placed.add(link.name)

    def _close(self, joint: SdfJoint) -> None:
        """A joint between two links that hang already: a loop."""
        kinds = kinds_of(joint, self.scope.notes)
        if len(kinds) != 1 or joint.parent == joint.child:
            raise joint.element.refuse(f"joint {quote(joint.name)} closes a ring of links, which its type cannot.")
        ends = [self._unused_name(f"{joint.name}_{side}") for side in ("parent", "child")]
        for end, link in zip(ends, (joint.parent, joint.child), strict=True):
            self.builder.frame(end, link, self._pose(link).inverse @ joint.pose)
        self.builder.loop(joint.name, *ends, joint=kinds[0])

    def _couple(self) -> None:
        for joint in self.scope.joints:
            mimic = mimic_of(joint)
            if mimic is None:
                continue
            prefix = joint.name.rpartition("::")[0]
            leader = f"{prefix}::{mimic.leader}" if prefix else mimic.leader
            if leader not in {each.name for each in self.scope.joints}:
                raise joint.element.refuse(f"joint {quote(joint.name)} mimics {quote(leader)}, which is not there.")
            self.builder.loop(self._unused_name(f"{joint.name}_mimic"), joint.name, leader, joint=mimic.coupling)

    def _unused_name(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name
