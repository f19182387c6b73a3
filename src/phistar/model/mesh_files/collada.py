"""COLLADA: XML without entities, and nodes that do not multiply: one may stand in another, and that in a third.

Ten nodes that each hold the next one ten times are 1e10 meshes in two kilobytes.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from xml.parsers import expat

from phistar.model.mesh_files.limits import DEEPEST, LARGEST_TEXT, MOST_PARTS, MOST_PLACES, damaged_file_error, too_much

_MOST_DEPTH = 200  # elements within elements
_MOST_ELEMENTS = 500_000
_PRIMITIVES = ("triangles", "polylist", "polygons", "tristrips", "trifans")


@dataclass
class _Node:
    """Names of what a node, the scene or a library element holds: its own parts, and other nodes by their names."""

    parts: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)


class _Reader:
    """Counts elements, and gathers which nodes hold which."""

    def __init__(self, path: str) -> None:
        self.path, self.depth, self.elements, self.primitives = path, 0, 0, 0
        self.nodes: dict[str, _Node] = defaultdict(_Node)
        self.open: list[tuple[int, str]] = [(0, "")]
        self.texts: dict[str, int] = defaultdict(int)
        self.geometry: list[tuple[int, str]] = []  # open ones, and controllers
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text

    def doctype(self, *_: object) -> None:
        raise damaged_file_error(self.path, "it has a <!DOCTYPE …>, which can hide entities and outside files")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth, self.elements = self.depth + 1, self.elements + 1
        if self.depth > _MOST_DEPTH:
            raise damaged_file_error(self.path, f"elements are nested more than {_MOST_DEPTH} deep")
        if self.elements > _MOST_ELEMENTS:
            raise too_much(self.path, self.elements, "elements", _MOST_ELEMENTS)
        tag, holder = tag.rpartition(":")[2], self.nodes[self.open[-1][1]]
        if tag == "node":
            name = attributes.get("id") or f" node {self.elements}"  # a space: no name in the file is like it
            holder.named.append(name)
            self.open.append((self.depth, name))
        elif tag == "instance_node":
            holder.named.append(attributes.get("url", "").removeprefix("#"))
        elif tag in ("instance_geometry", "instance_controller"):
            holder.parts.append(attributes.get("url", "").removeprefix("#"))
        elif tag in ("geometry", "controller"):
            self.geometry.append((self.depth, attributes.get("id", "")))
        elif tag in _PRIMITIVES:
            self.primitives += 1

    def text(self, data: str) -> None:
        """Count the letters in which a geometry's numbers are written."""
        for _, name in self.geometry[-1:]:
            self.texts[name] += len(data)

    def end(self, _: str) -> None:
        if self.open[-1][0] == self.depth:
            self.open.pop()
        if self.geometry and self.geometry[-1][0] == self.depth:
            self.geometry.pop()
        self.depth -= 1


def check_collada(content: bytes, path: str) -> None:
    """Refuse a COLLADA file with a document type, or whose nodes come to more than are read."""
    reader = _Reader(path)
    try:
        reader.parser.Parse(content.removeprefix(b"\xef\xbb\xbf"), True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise damaged_file_error(path, f"it is not well-formed XML ({error})") from None
    if reader.primitives > MOST_PARTS:
        raise too_much(path, reader.primitives, "primitives", MOST_PARTS)
    total, letters = _places(reader, "", {}, ())
    if total > MOST_PLACES:
        raise too_much(path, total, "places of parts", MOST_PLACES)
    if letters > LARGEST_TEXT:
        raise too_much(path, letters, "letters in all places of its parts", LARGEST_TEXT)


def _places(reader: _Reader, name: str, counts: dict[str, tuple[int, int]], above: tuple[str, ...]) -> tuple[int, int]:
    """How many parts and nodes stand below one, and the letters of these parts, counted as often as they are named."""
    if name in above:
        raise damaged_file_error(reader.path, f"the node {name[:60]!r} holds itself")
    if len(above) > DEEPEST:
        raise damaged_file_error(reader.path, f"nodes stand in nodes more than {DEEPEST} deep")
    if name not in counts:
        node = reader.nodes.get(name, _Node())
        inner = (*above, name)
        below = [_places(reader, each, counts, inner) for each in node.named]
        parts = len(node.parts) + sum(1 + count for count, _ in below)
        letters = sum(reader.texts.get(each, 0) for each in node.parts) + sum(letters for _, letters in below)
        counts[name] = parts, letters
    return counts[name]
