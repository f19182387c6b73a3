"""Values of URDF attributes: names, numbers and poses, each refused with its file and line when it makes no sense."""

import re
from typing import overload

import numpy as np

from phistar.io.urdf.notes import Notes
from phistar.io.xml import Element, quote
from phistar.spatial import Pose

# float() also reads "nan", "inf", "1_000" and digits of other scripts; a robot file may hold none of them.
# No two parts of the pattern can match the same digits, so that it stays linear on any text.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_OPTENV = re.compile(r"\$\(optenv\s+\S+\s+([^()]*)\)")
_LARGEST = 1e30  # products of a few such lengths and masses stay finite
_LONGEST_NUMBER = 200
_LONGEST_NAME = 512


def name_of(element: Element, attribute: str = "name", longest: int = _LONGEST_NAME) -> str:
    """A required, non-empty name."""
    name = element.attributes.get(attribute, "").strip()
    if not name:
        raise element.refuse(f'<{element.tag}> has no {attribute}; write <{element.tag} {attribute}="…">.')
    if len(name) > longest:
        raise element.refuse(f"the {attribute} {quote(name)} is longer than {longest} characters.")
    return name


@overload
def number(element: Element, attribute: str, default: float, largest: float = ...) -> float: ...
@overload
def number(element: Element, attribute: str, default: None = ..., largest: float = ...) -> float | None: ...
def number(element: Element, attribute: str, default: float | None = None, largest: float = _LARGEST) -> float | None:
    """One finite number; the default when the attribute is absent."""
    text = element.attributes.get(attribute)
    return default if text is None else parse_number(element, attribute, text.strip(), largest)


def required_number(element: Element, attribute: str) -> float:
    """One finite number that must be there."""
    value = number(element, attribute)
    if value is None:
        raise element.refuse(f"<{element.tag}> has no {attribute}; a number was expected.")
    return value


def vector(element: Element, attribute: str, size: int, notes: Notes) -> np.ndarray | None:
    """(size,) finite numbers separated by spaces; None when the attribute is absent.

    Commas between them and numbers in surplus are passed over as in other readers, and noted; so is a `$(optenv …)` of
    ROS, of which the numbers that it gives by default are taken.
    """
    text = element.attributes.get(attribute)
    if text is None:
        return None
    default = _OPTENV.fullmatch(text.strip())
    if default:
        notes.add("a $(optenv …) was read as what it is by default", element, text)
    words = (default[1] if default else text).split()
    if any("," in word for word in words):
        notes.add(f"commas between the numbers of {attribute} were read as spaces", element, text)
        words = " ".join(words).replace(",", " ").split()
    if len(words) > size:
        notes.add(f"of {attribute} with more than {size} numbers the first {size} were read", element, text)
        words = words[:size]
    if len(words) != size:
        raise element.refuse(f"{attribute}={quote(text)} has {len(words)} numbers; {size} were expected.")
    return np.array([parse_number(element, attribute, word) for word in words])


def origin(element: Element, notes: Notes) -> Pose:
    """The pose of <origin xyz rpy> (or quat_xyzw, of URDF 1.2) inside an element; the identity without one."""
    found = first(element, "origin", notes)
    if found is None:
        return Pose()
    xyz, rpy = vector(found, "xyz", 3, notes), vector(found, "rpy", 3, notes)
    quaternion = vector(found, "quat_xyzw", 4, notes)
    xyz = np.zeros(3) if xyz is None else xyz
    if quaternion is None:
        return Pose(xyz=xyz, rpy=rpy)
    if rpy is not None:
        raise found.refuse("<origin> gives both rpy and quat_xyzw; keep one of them.")
    length = float(np.linalg.norm(quaternion))
    if length < 1e-6:
        raise found.refuse("quat_xyzw is zero; four numbers that make a unit quaternion were expected.")
    return Pose(xyz=xyz, quaternion=quaternion / length)


def first(element: Element, tag: str, notes: Notes) -> Element | None:
    """The child with this tag; of several the first counts, as in other readers, and the rest are noted."""
    found = element.all(tag)
    for extra in found[1:]:
        notes.add(f"a second <{tag}> in one <{element.tag}> was ignored", extra)
    return found[0] if found else None


def parse_number(element: Element, attribute: str, text: str, largest: float = _LARGEST) -> float:
    """One finite number; else a refusal with file and line."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        advice = " Expand the file with xacro first." if "${" in text else ""
        raise element.refuse(
            f"{attribute} of <{element.tag}> holds {quote(text)}; a finite number was expected.{advice}"
        )
    value = float(text)
    if not abs(value) <= largest:
        raise element.refuse(
            f"{attribute} of <{element.tag}> is {quote(text)}; at most {largest:g} in size was expected."
        )
    return value
