"""Joints of a URDF file: their kind, what they connect, and what they mimic."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.io.urdf.notes import Notes
from phistar.io.urdf.urdf_values import first, name_of, number, origin, vector
from phistar.io.xml import Element, quote
from phistar.model import Fixed, Free, Planar, Prismatic, Revolute, Spherical
from phistar.model.joints import JointKind
from phistar.spatial import Pose

_ANY = float(np.finfo(float).max)  # a limit may be as large as a number gets; it enters no product
_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")


@dataclass(frozen=True)
class Mimic:
    """q of the joint = offset + multiplier · q of the driver."""

    driver: str
    multiplier: float
    offset: float
    element: Element


@dataclass(frozen=True)
class UrdfJoint:
    """A joint of the file: its child link moves by `kind` in the frame `placement` of its parent link."""

    name: str
    kind: JointKind
    parent: str
    child: str
    placement: Pose
    mimic: Mimic | None
    element: Element


def read_joint(element: Element, notes: Notes) -> UrdfJoint:
    name = name_of(element)
    if name == "world":
        raise element.refuse("a joint is called 'world', which is the name of the world; give it another name.")
    parent, child = _link(element, "parent", notes), _link(element, "child", notes)
    try:
        kind = _kind(element, notes)
    except ModelError as problem:
        raise element.refuse(f"joint {quote(name)}: {problem}") from None
    return UrdfJoint(name, kind, parent, child, origin(element, notes), _mimic(element, kind, notes), element)


def _link(element: Element, role: str, notes: Notes) -> str:
    found = first(element, role, notes)
    if found is None:
        raise element.refuse(f'joint {quote(name_of(element))} has no <{role} link="…"/>.')
    return name_of(found, "link")


def _kind(element: Element, notes: Notes) -> JointKind:
    kind = element.attributes.get("type", "")
    axis = first(element, "axis", notes)
    direction = None if axis is None else vector(axis, "xyz", 3, notes)
    direction = np.array([1.0, 0.0, 0.0]) if direction is None else direction  # URDF's default
    if kind == "fixed":
        return Fixed()
    properties = _dynamics(element, notes) | _limits(element, notes)
    if kind == "floating":
        return Free(**properties)
    if kind == "spherical":  # PyBullet's; its limits are of another kind
        return Spherical(**{name: value for name, value in properties.items() if name in ("damping", "friction")})
    if kind == "planar":
        return Planar(normal=direction, **properties)
    if kind == "revolute" or kind == "continuous":
        return Revolute(axis=direction, **properties)
    if kind == "prismatic":
        return Prismatic(axis=direction, **properties)
    raise element.refuse(f"the joint type is {quote(kind)}; one of {', '.join(_TYPES)} was expected.")


def _dynamics(element: Element, notes: Notes) -> dict[str, Any]:
    found = first(element, "dynamics", notes)
    if found is None:
        return {}
    values = {name: number(found, name, 0.0) for name in ("damping", "friction")}
    for attribute in found.attributes:
        if attribute not in values:
            notes.add(f"the attribute {quote(attribute)} of <dynamics> was ignored", found)
    return values


def _limits(element: Element, notes: Notes) -> dict[str, Any]:
    """Bounds apply to revolute and prismatic joints (absent ones are 0, as URDF says); the other kinds have none."""
    found, bounded = first(element, "limit", notes), element.attributes.get("type") in ("revolute", "prismatic")
    if found is None:
        if bounded:
            notes.add("a revolute or prismatic joint without <limit> was taken as unlimited", element)
        return {}
    limits = {name: _magnitude(found, name, notes) for name in ("effort", "velocity")}
    lower, upper = (number(found, name, 0.0, largest=_ANY) for name in ("lower", "upper"))
    if element.attributes.get("type") == "spherical":
        notes.add("the <limit> of a spherical joint was ignored", found)
    if not bounded:
        return limits
    if lower > upper:
        notes.add("a joint whose lower limit is above its upper one was taken as unlimited", found)
        return limits
    return limits | {"limits": (lower, upper)}


def _magnitude(limit: Element, attribute: str, notes: Notes) -> float | None:
    value = number(limit, attribute, largest=_ANY)
    if value is not None and value < 0:
        notes.add(f"a negative {attribute} limit was ignored", limit)
        return None
    return value


def _mimic(element: Element, kind: JointKind, notes: Notes) -> Mimic | None:
    found = first(element, "mimic", notes)
    if found is None:
        return None
    if isinstance(kind, Fixed):
        notes.add("the <mimic> of a fixed joint was ignored", found)
        return None
    if kind.nv != 1:
        raise found.refuse("<mimic> ties joints of one coordinate; this joint has more.")
    return Mimic(name_of(found, "joint"), number(found, "multiplier", 1.0), number(found, "offset", 0.0), found)
