"""URDF files: links and joints as they stand, fixed links kept as frames, mimic joints as couplings."""

import os
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from phistar.errors import FileError, ModelError
from phistar.io import xml
from phistar.io.packages import FolderList, Folders
from phistar.io.urdf.notes import Notes
from phistar.io.urdf.urdf_joints import UrdfJoint, read_joint
from phistar.io.urdf.urdf_links import UrdfLink, materials, read_link
from phistar.io.urdf.urdf_tree import depth_first, unique
from phistar.io.xml import Element, quote
from phistar.model import Coupling, Fixed, Free, Model, ModelBuilder
from phistar.spatial import Pose

WORLD = "world"
ROOT = "root"
DEFAULT_GRAVITY = (0.0, 0.0, -9.81)

_READ = {
    "robot": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
}
_CONSEQUENCES = {
    "transmission": ", its mechanicalReduction too: set gear_ratio and rotor_inertia in code if they matter"
}


def load_urdf(
    path: str | os.PathLike[str],
    *,
    floating: bool = False,
    packages: FolderList = (),
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    element: Element | None = None,
) -> Model:
    """The model of a URDF file, or of its root element, read before; the arguments are those of `phistar.load`."""
    robot, notes = xml.read(path) if element is None else element, Notes()
    elements, folders, colors = _links(robot), Folders.around(path, packages), materials(robot, notes)
    joints = tuple(read_joint(joint, notes) for joint in unique(robot.all("joint")).values())
    root, order = depth_first(elements, joints)
    links = {name: read_link(link, colors, folders, notes) for name, link in elements.items()}
    _ignore_unknown(robot, notes)
    name = robot.attributes.get("name", "").strip()[:512] or Path(path).stem
    try:
        builder = ModelBuilder(name, gravity=DEFAULT_GRAVITY if gravity is None else gravity)
        _add_bodies(builder, links, root, order, floating)
        _add_couplings(builder, order, notes)
        if strict and notes.kinds:
            raise FileError(f"{path}: {notes.sentences()[0]} With strict=False this is a warning.")
        for warning in notes.sentences():
            builder.warn(warning)
        return builder.build(strict=strict)
    except ModelError as problem:
        raise ModelError(f"{path}: {problem}") from None


def _links(robot: Element) -> dict[str, Element]:
    if robot.tag != "robot":
        raise robot.refuse(f"the root element is <{robot.tag[:60]}>; <robot> was expected.")
    if not robot.all("link"):
        macros = any(child.tag.startswith("xacro:") for child in robot.children)
        advice = (
            "it is a file of xacro macros: give it the ending .xacro, or expand it with xacro first"
            if macros
            else "a robot has at least one link"
        )
        raise robot.refuse(f"the file has no <link>; {advice}.")
    return unique(robot.all("link"))


def _ignore_unknown(robot: Element, notes: Notes) -> None:
    for element in (robot, *robot.all("link"), *robot.all("joint")):
        for child in element.children:
            if child.tag not in _READ[element.tag]:
                notes.ignore(child, element, _CONSEQUENCES.get(child.tag, ""))


def _add_bodies(
    builder: ModelBuilder, links: Mapping[str, UrdfLink], root: str, order: Sequence[UrdfJoint], floating: bool
) -> None:
    """The root link, then each joint with its child link."""
    base = links[root]
    carrier = root
    if root == WORLD:
        builder.frame(WORLD, WORLD)
    if floating:
        _check_floating(order)
        carrier = _unused_name(ROOT, links) if root == WORLD else root  # floats in place of the link `world`
        builder.body(carrier, WORLD, Free(), Pose(), base.inertia, base.geometry, joint_name=ROOT)
    elif root == WORLD:
        for geometry in base.geometry:
            builder.geometry(WORLD, geometry)
    else:
        weld = _unused_name(root, {joint.name for joint in order})
        builder.body(root, WORLD, Fixed(), Pose(), base.inertia, base.geometry, joint_name=weld)
    for joint in order:
        link, parent = links[joint.child], carrier if joint.parent == root else joint.parent
        builder.body(
            joint.child, parent, joint.kind, joint.placement, link.inertia, link.geometry, joint_name=joint.name
        )


def _check_floating(order: Sequence[UrdfJoint]) -> None:
    for joint in order:
        if joint.name == ROOT:
            raise joint.element.refuse("a joint is called 'root', the name of the free joint that floating=True adds.")
        if joint.parent == WORLD and isinstance(joint.kind, Free):
            raise joint.element.refuse(f"joint {quote(joint.name)} lets the robot float already; leave floating=False.")


def _unused_name(name: str, taken: Container[str]) -> str:
    """The name, with underscores until nothing else has it."""
    while name in taken:
        name += "_"
    return name


def _add_couplings(builder: ModelBuilder, order: Sequence[UrdfJoint], notes: Notes) -> None:
    kinds = {joint.name: joint.kind for joint in order}
    for joint in order:
        if joint.mimic is None:
            continue
        mimic, driver = joint.mimic, kinds.get(joint.mimic.driver)
        if driver is None:
            notes.add("a <mimic> of a joint that the file does not have was ignored", mimic.element, mimic.driver)
        elif mimic.driver == joint.name:
            raise mimic.element.refuse(f"joint {quote(joint.name)} mimics itself; the name of another was expected.")
        elif driver.nv > 1:
            raise mimic.element.refuse("<mimic> ties joints of one coordinate; the joint it names has more.")
        elif driver.nv == 0:  # a fixed driver stays at zero
            builder.loop(f"{joint.name}_mimic", joint.name, None, joint=Coupling((mimic.offset,)))
        else:
            coupling = Coupling((mimic.offset, mimic.multiplier))
            builder.loop(f"{joint.name}_mimic", joint.name, mimic.driver, joint=coupling)
