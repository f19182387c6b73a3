"""Mechanisms told as a graph: links, and joints between any two of them. The spanning tree is found here.

Joints are taken into the tree in the order of their degrees of freedom, so that those left to be cut allow the most and
close with the fewest equations (Kruskal's algorithm); of equals the first told come first. A joint that a tree cannot
have (Cylindrical, Distance) is always cut, and so is each one named to be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from phistar.errors import ModelError
from phistar.model.builder import ModelBuilder
from phistar.model.geometry import Geometry
from phistar.model.joints import Coupling, CutKind, JointKind
from phistar.model.joints.reverse import reversed_kind
from phistar.model.model import Model
from phistar.model.names import unknown
from phistar.model.parts import WORLD
from phistar.spatial import Inertia, Pose
from phistar.spatial.pose import IDENTITY
from phistar.spatial.value import Value


@final
@dataclass(frozen=True, eq=False, repr=False)
class Connection(Value):
    """A joint between two links of a graph, for `from_graph`; either link may be "world".

    Parameters
    ----------
    name : str
    joint : a joint
        Such as `ps.Revolute()`; cut joints (`ps.Distance(…)`) always close loops.
    link_a, link_b : str
    on_a, on_b : Pose
        The joint's parent-side frame in link_a, and its child-side frame in link_b.

    Examples
    --------
    >>> ps.Connection("elbow", ps.Revolute(), "upper", "lower", on_a=ps.Pose(xyz=(0.4, 0, 0))).name
    'elbow'
    """

    name: str
    joint: JointKind | CutKind
    link_a: str
    link_b: str
    on_a: Pose = IDENTITY
    on_b: Pose = IDENTITY


def from_graph(
    name: str,
    links: Mapping[str, Inertia],
    connections: Sequence[Connection],
    cut: Sequence[str] = (),
    gravity: Any = (0.0, 0.0, -9.81),
    geometry: Mapping[str, Sequence[Geometry]] | None = None,
    warnings: Sequence[str] = (),
    strict: bool = True,
) -> Model:
    """Build a model from links and the joints between them; the spanning tree is found, or chosen by `cut`.

    Each link's frame, and each joint's by its name, are frames of the model; a cut joint has one at either side, its
    name with `_a` and `_b`. A joint that the tree takes from link_b to link_a is turned round (its axes point the
    other way, its coordinates keep their meaning); spherical and planar joints then measure link_a in link_b.

    Parameters
    ----------
    name : str
    links : {name: Inertia}
        Each in its link's frame.
    connections : sequence of Connection
    cut : sequence of str
        Joints that become loops.
    gravity : (3,)
        In world axes [m/s²].
    geometry : {name: shapes}, optional
        Shapes of the links, each in its link's frame.
    warnings : sequence of str
        Sentences for `model.warnings`.
    strict : bool
        Whether impossible inertias raise; else they are warnings.

    Returns
    -------
    Model

    Examples
    --------
    >>> bar = ps.Inertia(1.0, (0.5, 0, 0), np.eye(3) / 12)
    >>> joints = [
    ...     ps.Connection("a", ps.Revolute(), "world", "left"),
    ...     ps.Connection("b", ps.Revolute(), "left", "right", on_a=ps.Pose(xyz=(1, 0, 0))),
    ... ]
    >>> ps.from_graph("two bars", {"left": bar, "right": bar}, joints).nv
    2
    """
    _check(name, links, connections, cut)
    tree = _spanning([WORLD, *links], connections, set(cut))
    builder = ModelBuilder(name, gravity)
    _hang_links(builder, links, tree)
    for each in connections:
        if each not in tree:
            builder.frame(f"{each.name}_a", each.link_a, each.on_a)
            builder.frame(f"{each.name}_b", each.link_b, each.on_b)
            builder.loop(each.name, f"{each.name}_a", f"{each.name}_b", each.joint)
    for link, shapes in (geometry or {}).items():
        for shape in shapes:
            builder.geometry(link, shape)
    for warning in warnings:
        builder.warn(warning)
    return builder.build(strict=strict)


def _hang_links(builder: ModelBuilder, links: Mapping[str, Inertia], tree: Sequence[Connection]) -> None:
    """The links as bodies, each after the one it hangs on."""
    name, placed, waiting = builder.name, {WORLD}, list(tree)
    while ready := next((each for each in waiting if (each.link_a in placed) != (each.link_b in placed)), None):
        waiting.remove(ready)
        forward = ready.link_a in placed
        parent, child = (ready.link_a, ready.link_b) if forward else (ready.link_b, ready.link_a)
        place, mount = (ready.on_a, ready.on_b) if forward else (ready.on_b, ready.on_a)
        joint = ready.joint
        assert isinstance(joint, JointKind)
        if not forward:
            joint = reversed_kind(joint, f"'{ready.name}' of {name}", f"Name '{parent}' as its link_a")
        builder.body(child, parent, joint, place, links[child], joint_name=ready.name, offset=mount.inverse)
        placed.add(child)
    lost = [link for link in links if link not in placed]
    if lost:
        raise ModelError(
            f"{name}: the link '{lost[0]}' hangs on nothing that hangs on the world; connect it, with a Free joint if "
            "it floats, or cut fewer joints."
        )


def _spanning(names: list[str], connections: Sequence[Connection], cut: set[str]) -> tuple[Connection, ...]:
    """The connections that make the tree, in the order told."""
    group = {name: name for name in names}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    chosen = []
    able = [each for each in connections if isinstance(each.joint, JointKind) and each.name not in cut]
    for each in sorted(able, key=lambda item: getattr(item.joint, "nv", 0)):
        a, b = root(each.link_a), root(each.link_b)
        if a != b:
            group[b] = a
            chosen.append(each)
    return tuple(each for each in connections if each in chosen)


def _check(name: str, links: Mapping[str, Inertia], connections: Sequence[Connection], cut: Sequence[str]) -> None:
    known = [each.name for each in connections]
    for each in cut:
        if each not in known:
            raise unknown("connection to cut,", each, known, name)
    for each in connections:
        if isinstance(each.joint, Coupling):
            raise ModelError(f"{name}: '{each.name}' is a Coupling, which joins joints; tell it to a ModelBuilder.")
        for link in (each.link_a, each.link_b):
            if link not in links and link != WORLD:
                raise unknown(f"link for the joint '{each.name}',", link, [WORLD, *links], name)
        if each.link_a == each.link_b:
            raise ModelError(f"{name}: the joint '{each.name}' joins '{each.link_a}' to itself; name two links.")
    if len(set(known)) != len(known):
        twice = next(each for each in known if known.count(each) > 1)
        raise ModelError(f"{name}: there are two joints called '{twice}'; give each its own name.")
