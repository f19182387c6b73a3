"""Joints of an SDF file: their kinds, axes, limits and passive forces."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.io.sdf.scope import SdfJoint
from phistar.io.sdf.sdf_values import child, flag, limit, number, text, vector
from phistar.io.urdf.notes import Notes
from phistar.io.xml import Element, quote
from phistar.model import Coupling, Fixed, Helical, Prismatic, Revolute, Spherical, Universal
from phistar.model.joints import JointKind

_TYPES = ("revolute", "continuous", "prismatic", "fixed", "ball", "universal", "screw", "revolute2")


@dataclass(frozen=True)
class Mimic:
    """q of the joint = multiplier · (q of the leader − reference) + offset."""

    leader: str
    coupling: Coupling


def kinds_of(joint: SdfJoint, notes: Notes) -> list[JointKind]:
    """The kinds of joint that it is, in order: two for `revolute2`, else one."""
    kind, element = joint.element.attributes.get("type", ""), joint.element
    try:
        match kind:
            case "fixed":
                return [Fixed()]
            case "ball":
                return [Spherical()]
            case "universal":
                return [Universal(axis1=_axis(joint, "axis"), axis2=_axis(joint, "axis2"))]
            case "revolute2":
                return [
                    Revolute(axis=_axis(joint, name), **_passive(element, name, True)) for name in ("axis", "axis2")
                ]
            case "revolute" | "continuous":
                return [Revolute(axis=_axis(joint, "axis"), **_passive(element, "axis", kind == "revolute"))]
            case "prismatic":
                return [Prismatic(axis=_axis(joint, "axis"), **_passive(element, "axis", True))]
            case "screw":
                return [Helical(axis=_axis(joint, "axis"), pitch=_pitch(element), **_passive(element, "axis", True))]
    except ModelError as problem:
        raise element.refuse(f"joint {quote(joint.name)}: {problem}") from None
    raise element.refuse(f"the joint type is {quote(kind)}; one of {', '.join(_TYPES)} is read.")


def mimic_of(joint: SdfJoint) -> Mimic | None:
    """<mimic joint="…"> of its axis."""
    axis = child(joint.element, "axis")
    found = None if axis is None else child(axis, "mimic")
    if found is None:
        return None
    multiplier = number(found, "multiplier", 1.0)
    offset = number(found, "offset", 0.0) - multiplier * number(found, "reference", 0.0)
    return Mimic(found.attributes.get("joint", ""), Coupling((offset, multiplier)))


def _axis(joint: SdfJoint, name: str) -> np.ndarray:
    """The axis in the joint's frame; older files, and those that say so, give it in the model's."""
    element = child(joint.element, name)
    if element is None:
        raise joint.element.refuse(f"joint {quote(joint.name)} has no <{name}>.")
    xyz, found = vector(element, "xyz", 3, (0.0, 0.0, 1.0)), child(element, "xyz")
    expressed = "" if found is None else found.attributes.get("expressed_in", "")
    if expressed and expressed != "__model__":
        raise element.refuse(f"an axis is expressed in {quote(expressed)}; the joint's own frame or __model__ is read.")
    if expressed or flag(element, "use_parent_model_frame") or joint.version < (1, 5):
        return joint.pose.rotation.T @ (joint.model.rotation @ xyz)
    return xyz


def _passive(element: Element, name: str, bounded: bool) -> dict[str, Any]:
    axis = child(element, name)
    if axis is None:
        return {}
    bounds, dynamics, given = child(axis, "limit"), child(axis, "dynamics"), {}
    lower, upper = limit(bounds, "lower"), limit(bounds, "upper")
    if bounded and lower is not None and upper is not None and lower <= upper:
        given["limits"] = (lower, upper)
    for key in ("effort", "velocity"):
        value = limit(bounds, key)
        if value is not None and value >= 0.0:  # SDF writes −1 for none
            given[key] = value
    if dynamics is not None:
        given |= {"damping": number(dynamics, "damping", 0.0), "friction": number(dynamics, "friction", 0.0)}
        given["stiffness"] = number(dynamics, "spring_stiffness", 0.0)
        if given["stiffness"]:
            given["rest"] = number(dynamics, "spring_reference", 0.0)
    return given


def _pitch(element: Element) -> float:
    """m per rad. Two conventions are in use for the older `thread_pitch`, so that only the newer word is read."""
    if not text(element, "screw_thread_pitch"):
        raise element.refuse("a screw joint needs <screw_thread_pitch>, the way of one turn in metres.")
    return number(element, "screw_thread_pitch", 0.0) / (2.0 * np.pi)
