"""An MJCF file made into the one text that MuJoCo's parser sees: includes in place, nothing it could open or choke on.

What a model has no place for (sensors, keyframes, cameras, …) is left out here already and counted; what would change
the mechanism and cannot be read is refused with its file and line.
"""

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from phistar.io import xml
from phistar.io.packages import Folders
from phistar.io.xml import Element, quote

_LARGEST = 1e30  # products of a few such lengths and masses stay finite
_MAX_DEPTH = 490  # MuJoCo's parser goes hardly deeper
# MuJoCo's time grows faster than the numbers of these:
_MAX_ELEMENTS = 20_000
_MAX_COPIES = 500
_MAX_HULL = 2000  # vertices of which MuJoCo must find the convex hull: its time can grow with their cube
_MAX_PARAMETER = 100  # of a builtin mesh: some are numbers of vertices along a line

# Sections left out → what their children are called in a warning; those without a word go untold.
_SECTIONS = {
    "sensor": "sensors",
    "keyframe": "keyframes",
    "contact": "contact pairs and excludes",
    "custom": "custom data",
    "visual": "rendering settings",
    "statistic": "",
    "size": "",
    "extension": "",
}
_OF_PLANTS = {"sensor", "keyframe", "contact"}  # sections that a plant has a place for and a model has not
_ELEMENTS = {"camera": "cameras", "light": "lights", "texture": "textures", "skin": "skins", "layer": "", "hfield": ""}

_REFUSED = {
    "flex": "a flexible body has no place in a model of rigid bodies",
    "flexcomp": "a flexible body has no place in a model of rigid bodies",
    "composite": "its parts are not in the file; let MuJoCo 3 save the whole model and load that",
    "attach": "other files are not attached; let MuJoCo save the whole model and load that",
    "model": "other models are not read along; let MuJoCo save the whole model and load that",
    "plugin": "a plugin can change masses and forces in ways that the file does not say",
}

# Attributes that hold names and not numbers: a joint may be called "nan".
_TEXT = {
    *("name", "class", "childclass", "model", "prefix", "file", "mesh", "hfield", "material", "texture", "target"),
    *("joint", "joint1", "joint2", "jointinparent", "body", "body1", "body2", "geom", "geom1", "geom2"),
    *("site", "site1", "site2", "sidesite", "cranksite", "slidersite", "refsite", "tendon", "tendon1", "tendon2"),
}


@dataclass(frozen=True)
class Document:
    """The text for MuJoCo, one tag per line; `origins[i]` is the (file, line) that text line i + 1 came from, and
    `plant` says whether what senses and drives is wanted too."""

    text: str
    origins: tuple[tuple[str, int], ...]
    left_out: Mapping[str, int]
    plant: bool = False

    def origin(self, line: int) -> tuple[str, int]:
        """File and line of the original for a line of the text."""
        return self.origins[min(max(line, 1), len(self.origins)) - 1]


def read_document(path: str | os.PathLike[str], folders: Folders, plant: bool = False) -> Document:
    """The file with its includes, checked and written out again; for a plant with its sensors, keyframes, contacts."""
    root = xml.read(Path(path))
    if root.tag != "mujoco":
        raise root.refuse(f"the root element is <{root.tag[:60]}>; <mujoco> was expected.")
    return _Writer(folders, str(Path(path).resolve()), _OF_PLANTS if plant else set()).write(root)


@dataclass
class _Level:
    """An element whose children are being written; an included file is a level without a tag of its own."""

    children: Iterator[Element]
    element: Element
    closing: str
    copies: int


class _Writer:
    """One pass over the elements, without recursion."""

    def __init__(self, folders: Folders, path: str, kept: Set[str]) -> None:
        self.folders, self.kept = folders, kept
        self.lines: list[str] = []
        self.origins: list[tuple[str, int]] = []
        self.left_out: Counter[str] = Counter()
        self.included = {path}
        self.size = 0
        self.levels: list[_Level] = []

    def write(self, root: Element) -> Document:
        self._enter(root, 1)
        while self.levels:
            level = self.levels[-1]
            child = next(level.children, None)
            if child is None:
                self._leave()
            elif child.tag == "include":
                self._include(child, level)
            elif not self._is_left_out(child, level.element):
                self._enter(child, level.copies)
        return Document("\n".join(self.lines), tuple(self.origins), dict(self.left_out), bool(self.kept))

    def _enter(self, element: Element, copies: int) -> None:
        if element.tag in _REFUSED:
            raise element.refuse(f"<{element.tag}> cannot be read: {_REFUSED[element.tag]}.")
        if element.tag == "replicate":
            copies *= _replicas(element)
        elif element.tag == "mesh":
            _check_mesh(element)
        self.size += copies
        if self.size > _MAX_ELEMENTS or copies > _MAX_COPIES:
            raise element.refuse(
                f"the model is larger than what is read: at most {_MAX_ELEMENTS} elements, and {_MAX_COPIES} replicas."
            )
        if len(self.levels) >= _MAX_DEPTH:
            raise element.refuse(f"elements are nested more than {_MAX_DEPTH} deep, the deepest that MuJoCo reads.")
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in _finite_attributes(element))
        self._line(f"<{element.tag}{attributes}>", element)
        self.levels.append(_Level(iter(element.children), element, f"</{element.tag}>", copies))

    def _leave(self) -> None:
        level = self.levels.pop()
        if level.closing:
            self._line(level.closing, level.element)

    def _line(self, text: str, element: Element) -> None:
        self.lines.append(text)
        self.origins.append((element.file, element.line))

    def _include(self, element: Element, level: _Level) -> None:
        """MuJoCo's rule: relative to the main file, else to the including one, and each file once."""
        name = element.attributes.get("file", "")
        found, beside = self.folders.find(name), os.path.join(os.path.dirname(os.path.abspath(element.file)), name)
        if found.path is None and name:
            found = self.folders.find(beside)
        if found.path is None:
            raise element.refuse(f"the included file {quote(name)} {found.reason}; {self.folders.advice(beside)}.")
        if str(found.path) in self.included:
            raise element.refuse(f"the file {quote(name)} is included a second time; include each file once.")
        self.included.add(str(found.path))
        root = xml.read(found.path)
        self.levels.append(_Level(iter(root.children), level.element, "", level.copies))

    def _is_left_out(self, element: Element, parent: Element) -> bool:
        if element.tag in self.kept:
            return False
        if element.tag in _SECTIONS:
            count, kind = len(element.children), _SECTIONS[element.tag]
        elif parent.tag == "sensor" and _sees(element):
            count, kind = 1, f"sensors <{element.tag[:60]}>"
        elif element.tag in _ELEMENTS:
            count, kind = 1, _ELEMENTS[element.tag]
        elif element.tag == "plugin" and parent.tag in ("actuator", "sensor"):
            count, kind = 1, f"{parent.tag}s"
        else:
            return False
        if kind and count and not any(level.element.tag == "default" for level in self.levels):
            self.left_out[kind] += count
        return True


def _finite_attributes(element: Element) -> Iterator[tuple[str, str]]:
    """The attributes that MuJoCo shall see, with every number finite and of a size that can be computed with."""
    for name, value in element.attributes.items():
        if name.startswith("xmlns") or ":" in name or (element.tag == "material" and name == "texture"):
            continue
        if "%" in value:  # MuJoCo 4.0 hands names on to printf as formats, which can crash it
            raise element.refuse(
                f"{quote(name)} of <{element.tag}> holds a '%', which MuJoCo cannot be given; rename it."
            )
        if name not in _TEXT:
            for word in value.split():
                if _is_number(word) and not abs(float(word)) <= _LARGEST:
                    raise element.refuse(
                        f"{quote(name)} of <{element.tag}> holds {quote(word)}; "
                        f"a finite number of at most {_LARGEST:g} in size was expected."
                    )
        yield name, value


def _sees(element: Element) -> bool:
    """Whether a sensor looks through a camera, which is left out."""
    values = element.attributes
    return "camera" in values or "camera" in (values.get("objtype"), values.get("reftype"))


def _replicas(element: Element) -> int:
    text = element.attributes.get("count", "")
    if not (text.isascii() and text.isdigit() and len(text) < 30):
        raise element.refuse(f"<replicate> has count={quote(text)}; a positive whole number was expected.")
    return max(int(text), 1)


def _check_mesh(element: Element) -> None:
    """Refuses a mesh given by numbers on which MuJoCo would spend very long."""
    words = element.attributes.get("params", "").split()
    parameters = [max(1.0, abs(float(word))) for word in words if _is_number(word)]
    vertices = 0 if "face" in element.attributes else len(element.attributes.get("vertex", "").split()) // 3
    if max(vertices, math.prod(parameters)) > _MAX_HULL or max(parameters, default=0.0) > _MAX_PARAMETER:
        raise element.refuse(
            f"<mesh> asks for the convex hull of more than {_MAX_HULL} vertices, the most that is tried."
        )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False  # a keyword; MuJoCo knows where a number must stand
    return True
