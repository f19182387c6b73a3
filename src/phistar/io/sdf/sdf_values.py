"""Values of SDF elements, which stand between tags: texts, numbers, flags and poses."""

import numpy as np

from phistar.io.urdf.notes import Notes
from phistar.io.urdf.urdf_values import parse_number
from phistar.io.xml import Element, quote
from phistar.spatial import Pose

_ANY = float(np.finfo(float).max)
_NEVER = 1e16  # from here on a limit is none, as SDF writes it


def child(element: Element, tag: str) -> Element | None:
    """The first child with this tag."""
    return next(iter(element.all(tag)), None)


def text(element: Element, tag: str, default: str = "") -> str:
    """Text of a child, or the default where there is none."""
    found = child(element, tag)
    return default if found is None else found.text


def flag(element: Element, tag: str) -> bool:
    """Whether a child is true."""
    return text(element, tag).lower() in ("1", "true")


def number(element: Element, tag: str, default: float) -> float:
    """One finite number."""
    found = child(element, tag)
    return default if found is None or not found.text else parse_number(found, tag, found.text, _ANY)


def limit(element: Element | None, tag: str) -> float | None:
    """A limit; None where it is missing, negative for "none", or too large to be one."""
    if element is None:
        return None
    found = child(element, tag)
    if found is None or found.text.lower().lstrip("+-") in ("inf", "infinity"):
        return None
    value = parse_number(found, tag, found.text, _ANY)
    return None if abs(value) >= _NEVER else value


def vector(element: Element, tag: str, size: int, default: tuple[float, ...] | None = None) -> np.ndarray:
    """(size,) finite numbers of a child."""
    found = child(element, tag)
    if found is None:
        if default is None:
            raise element.refuse(f"<{element.tag}> has no <{tag}>; {size} numbers were expected.")
        return np.array(default)
    words = found.text.split()
    if len(words) != size:
        raise found.refuse(f"<{tag}> holds {quote(found.text)}; {size} numbers were expected.")
    return np.array([parse_number(found, tag, word) for word in words])


def pose(element: Element, notes: Notes) -> Pose:
    """<pose>x y z roll pitch yaw</pose>, in radians unless it says degrees, or with a quaternion; else the identity."""
    found = child(element, "pose")
    if found is None or not found.text:
        return Pose()
    words = found.text.split()
    quaternion = found.attributes.get("rotation_format", "euler_rpy") == "quat_xyzw"
    if len(words) != (7 if quaternion else 6):
        raise found.refuse(f"<pose> holds {quote(found.text)}; {7 if quaternion else 6} numbers were expected.")
    values = np.array([parse_number(found, "pose", word) for word in words])
    if quaternion:
        length = float(np.linalg.norm(values[3:]))
        if length < 1e-6:
            raise found.refuse("the quaternion of a <pose> is zero; one of unit length was expected.")
        return Pose(xyz=values[:3], quaternion=values[3:] / length)
    turns = np.radians(values[3:]) if found.attributes.get("degrees", "").lower() in ("1", "true") else values[3:]
    return Pose(xyz=values[:3], rpy=turns)


def relative_to(element: Element) -> str:
    """The frame that an element's pose is given in; "" where it does not say."""
    found = child(element, "pose")
    return "" if found is None else found.attributes.get("relative_to") or found.attributes.get("frame", "")
