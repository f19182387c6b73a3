"""Models, links, joints and frames of an SDF file, flattened: every link and joint with its pose in the world.

Names of nested models stand before those of their parts, as in SDF: `hand::finger`.
"""

from dataclasses import dataclass, field, replace

from phistar.io import xml
from phistar.io.packages import Folders
from phistar.io.sdf.sdf_values import child, flag, pose, relative_to, text
from phistar.io.urdf.notes import Notes
from phistar.io.urdf.urdf_values import name_of
from phistar.io.xml import Element, quote
from phistar.spatial import Pose

MODEL = "__model__"
WORLD = "world"
_MOST_INCLUDES, _DEEPEST = 200, 20
_READ = {
    "model": ("static", "link", "joint", "frame", "model", "include", "pose", "self_collide", "allow_auto_disable"),
    "world": ("model", "include", "gravity", "frame", "joint"),
}
# What only draws, or is for other programs: not told.
_UNTOLD = ("light", "scene", "physics", "gui", "plugin", "state", "atmosphere", "magnetic_field", "wind", "audio")


@dataclass(frozen=True)
class SdfLink:
    """A link at its pose in the world; a static one does not move."""

    name: str
    pose: Pose
    static: bool
    element: Element
    folders: Folders


@dataclass(frozen=True)
class SdfJoint:
    """A joint between two links, or the world and a link, at its pose in the world; `model` is that of its model."""

    name: str
    parent: str
    child: str
    pose: Pose
    model: Pose
    version: tuple[int, ...]
    element: Element


@dataclass
class Scope:
    """Contents of a file, gathered as its models are entered."""

    folders: Folders
    notes: Notes
    links: dict[str, SdfLink] = field(default_factory=dict)
    joints: list[SdfJoint] = field(default_factory=list)
    frames: dict[str, tuple[str, Pose]] = field(default_factory=dict)  # name → the link it is on, its pose in the world
    includes: int = 0

    def enter(
        self, holder: Element, version: tuple[int, ...], prefix: str = "", at: Pose | None = None, deep: int = 0
    ) -> None:
        """The models, links, joints and frames of a <world>, a <model> or the <sdf> itself, at a pose."""
        if deep > _DEEPEST:
            raise holder.refuse(f"models are nested more than {_DEEPEST} deep.")
        at, static = Pose() if at is None else at, flag(holder, "static")
        poses = _Poses(self, holder, prefix, at)
        for link in holder.all("link"):
            name = f"{prefix}{name_of(link)}"
            if name in self.links:
                raise link.refuse(f"a second link is called {quote(name)}; give each its own name.")
            self.links[name] = SdfLink(name, poses.of(name_of(link)), static, link, self.folders)
        for model in holder.all("model"):
            self.enter(model, version, f"{prefix}{name_of(model)}::", poses.of(name_of(model)), deep + 1)
        for include in holder.all("include"):
            self._include(include, prefix, poses, deep)
        for joint in holder.all("joint"):
            name, placed = f"{prefix}{name_of(joint)}", poses.of(name_of(joint))
            parent, child = self._end(joint, "parent", prefix), self._end(joint, "child", prefix)
            self.joints.append(SdfJoint(name, parent, child, placed, at, version, joint))
        for frame in holder.all("frame"):
            on = frame.attributes.get("attached_to", "")
            link = self._link(f"{prefix}{on}") if on else None
            self.frames[f"{prefix}{name_of(frame)}"] = (link or WORLD, poses.of(name_of(frame)))
        self._tell(holder)

    def _tell(self, holder: Element) -> None:
        for element in holder.children if holder.tag in _READ else ():
            if element.tag not in _READ[holder.tag] and element.tag not in _UNTOLD:
                self.notes.ignore(element, holder)

    def _include(self, include: Element, prefix: str, poses: "_Poses", deep: int) -> None:
        """<include><uri>model://name</uri></include>: the model of another file, under the name given here."""
        self.includes += 1
        address = text(include, "uri")
        if self.includes > _MOST_INCLUDES:
            raise include.refuse(f"more than {_MOST_INCLUDES} models are included.")
        tries = [address] if address.endswith((".sdf", ".world")) else [f"{address}/model.sdf", address]
        found = next((each for each in map(self.folders.find, tries) if each.path), self.folders.find(tries[0]))
        if found.path is None:
            raise include.refuse(
                f"the included model {quote(address)} {found.reason}; {self.folders.advice(tries[0])}."
            )
        root = xml.read(found.path)
        models = [*root.all("model")] if root.tag == "sdf" else []
        if len(models) != 1:
            raise include.refuse(f"{found.path} holds {len(models)} models; an included file holds one.")
        name = text(include, "name") or name_of(models[0])
        placed = (
            poses.at @ pose(include, self.notes) if child(include, "pose") else poses.at @ pose(models[0], self.notes)
        )
        inner = Scope(
            Folders.around(found.path, (self.folders.own, *self.folders.packages)),
            self.notes,
            {},
            [],
            {},
            self.includes,
        )
        inner.enter(models[0], version_of(root), f"{prefix}{name}::", placed, deep + 1)
        static = flag(include, "static")
        for link in inner.links.values():
            self.links[link.name] = replace(link, static=link.static or static)
        self.joints += inner.joints
        self.frames |= inner.frames
        self.includes = inner.includes

    def _end(self, joint: Element, role: str, prefix: str) -> str:
        """The link that a joint names, "world" for the world."""
        name = text(joint, role)
        if not name:
            raise joint.refuse(f"joint {quote(name_of(joint))} has no <{role}>.")
        found = self._link(f"{prefix}{name}") or (WORLD if name == WORLD else None)
        if found is None:
            known = ", ".join(list(self.links)[:8])
            raise joint.refuse(f"joint {quote(name_of(joint))} names {quote(name)} as its {role}; there are {known}.")
        return found

    def _link(self, name: str) -> str | None:
        """The link of a name, which may be that of a frame on it."""
        if name in self.links:
            return name
        return self.frames[name][0] if name in self.frames else None


class _Poses:
    """Poses in the world of the parts of one model, each given relative to another."""

    def __init__(self, scope: Scope, holder: Element, prefix: str, at: Pose) -> None:
        self.scope, self.holder, self.prefix, self.at = scope, holder, prefix, at
        self.parts = {name_of(each): each for tag in ("link", "joint", "frame", "model") for each in holder.all(tag)}
        self.known: dict[str, Pose] = {}

    def of(self, name: str, above: tuple[str, ...] = ()) -> Pose:
        if name in ("", MODEL, WORLD):
            return Pose() if name == WORLD else self.at
        if name in self.known:
            return self.known[name]
        element = self.parts.get(name)
        if element is None:
            inner = self.scope.links.get(f"{self.prefix}{name}")
            if inner is None:
                raise self.holder.refuse(f"a pose is given relative to {quote(name)}, which is not there.")
            return inner.pose
        if name in above:
            raise element.refuse(f"the pose of {quote(name)} is given relative to itself.")
        if len(above) > 200:
            raise element.refuse("poses are given relative to each other more than 200 deep.")
        base = relative_to(element) or self._default(element)
        self.known[name] = self.of(base, (*above, name)) @ pose(element, self.scope.notes)
        return self.known[name]

    def _default(self, element: Element) -> str:
        """A joint stands on its child, a frame on what it is attached to, everything else in the model."""
        if element.tag == "joint":
            return text(element, "child")
        return element.attributes.get("attached_to", "") if element.tag == "frame" else MODEL


def version_of(root: Element) -> tuple[int, ...]:
    """(1, 6) of <sdf version="1.6">; the newest where it does not say."""
    words = root.attributes.get("version", "").split(".")
    return tuple(int(word) for word in words) if all(word.isdigit() and len(word) < 4 for word in words) else (1, 12)
