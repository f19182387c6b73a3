"""The tree that the links and joints of a URDF file make, in depth-first file order."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from phistar.io.urdf.urdf_joints import UrdfJoint
from phistar.io.urdf.urdf_values import name_of
from phistar.io.xml import Element, quote


def unique(elements: Sequence[Element]) -> dict[str, Element]:
    """Name → element, in file order; a name given twice is refused."""
    named: dict[str, Element] = {}
    for element in elements:
        name = name_of(element)
        if name in named:
            raise element.refuse(
                f"a second <{element.tag}> is called {quote(name)} (the first is on line {named[name].line}); "
                "give each its own name."
            )
        named[name] = element
    return named


def depth_first(links: Mapping[str, Element], joints: Sequence[UrdfJoint]) -> tuple[str, tuple[UrdfJoint, ...]]:
    """The root link, and every joint after the joint of its parent link, children in the order of the file."""
    above = _joint_above(links, joints)
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        shown = ", ".join(f"{quote(name)} (line {links[name].line})" for name in roots[:3])
        raise links[roots[1]].refuse(
            f"{len(roots)} links have no parent: {shown}{', …' if len(roots) > 3 else ''}; "
            "a URDF file has one root: join the others to it."
        )
    order = tuple(_walk(roots, joints))
    if len(order) < len(joints):
        _refuse_cycle(above, reached={joint.child for joint in order})
    return roots[0], order


def _joint_above(links: Mapping[str, Element], joints: Sequence[UrdfJoint]) -> dict[str, UrdfJoint]:
    """Link → the joint it hangs from."""
    above: dict[str, UrdfJoint] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in links:
                raise joint.element.refuse(
                    f"joint {quote(joint.name)} names the link {quote(link)}, {_nearest(link, links)}"
                )
        if joint.child in above:
            other = above[joint.child]
            raise joint.element.refuse(
                f"link {quote(joint.child)} hangs from joint {quote(joint.name)} and from joint {quote(other.name)} "
                f"(line {other.element.line}); a link has one parent."
            )
        if joint.child == "world":
            raise joint.element.refuse(f"the link 'world' is the world and cannot hang from joint {quote(joint.name)}.")
        above[joint.child] = joint
    return above


def _walk(roots: Sequence[str], joints: Sequence[UrdfJoint]) -> Iterator[UrdfJoint]:
    """Depth-first with a stack of its own: a chain of any length is walked."""
    below: dict[str, list[UrdfJoint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    stack = [joint for root in roots for joint in reversed(below.get(root, []))]
    while stack:
        joint = stack.pop()
        yield joint
        stack.extend(reversed(below.get(joint.child, [])))


def _refuse_cycle(above: Mapping[str, UrdfJoint], reached: set[str]) -> None:
    """Some joints cannot be reached from the root, and each link has one parent: walking up meets a cycle."""
    link = next(joint.child for joint in above.values() if joint.child not in reached)
    passed: set[str] = set()
    while link not in passed:
        passed.add(link)
        link = above[link].parent
    joint = above[link]
    raise joint.element.refuse(
        f"joint {quote(joint.name)} closes a cycle of links through {quote(link)}; a URDF file is a tree."
    )


def _nearest(name: str, links: Mapping[str, Element]) -> str:
    near = get_close_matches(name[:60], [link[:60] for link in list(links)[:1000]], n=3)
    return "which the file does not have" + (f"; did you mean {' or '.join(map(quote, near))}?" if near else ".")
