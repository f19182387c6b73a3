"""XML from a stranger, read safely: no DTD, no entities, bounded size, depth and count; every element knows its line.

URDF and MJCF say everything in elements and attributes; SDF says it in the text between tags, which is kept without the
space around it.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from xml.parsers import expat

from phistar import safe_files
from phistar.errors import FileError

WHAT = "a robot file (URDF, MJCF or SDF)"
MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 500
MAX_ELEMENTS = 500_000
MAX_ATTRIBUTES = 1_000_000
MAX_ATTRIBUTE = 1_000_000  # characters in one
MAX_TAG = 4 * 1024 * 1024  # bytes
_CHUNK = 1024 * 1024
_HEAD = 64 * 1024  # characters in which a declaration is looked for


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Element:
    """One element: its tag, attributes and children in file order, the line on which it starts, and its own text."""

    tag: str
    attributes: Mapping[str, str]
    children: tuple["Element", ...]
    file: str
    line: int
    text: str = ""

    def all(self, tag: str) -> tuple["Element", ...]:
        return tuple(child for child in self.children if child.tag == tag)

    def refuse(self, sentence: str) -> FileError:
        """The error to raise about this element: `file:line: sentence`."""
        return FileError(f"{self.file}:{self.line}: {sentence}")


def quote(text: str, longest: int = 60) -> str:
    """Text of a file as it may appear in a sentence: in quotes, with no line breaks, and short."""
    return repr(text if len(text) <= longest else text[: longest - 1] + "…")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a robot file, by the rules of `phistar.safe_files`."""
    return safe_files.read_text(path, WHAT, MAX_BYTES)


def parse(text: str, file: str) -> Element:
    """The root element of XML text; `file` is the name used in messages."""
    return _Reader(file).read(_tidy_text(text))


def _tidy_text(text: str) -> str:
    """The text as other readers take it: without an end-of-file mark of old systems, and without an XML declaration
    that stands below comments or empty lines; line numbers stay."""
    text = text.rstrip("\0\x1a \t\r\n")
    start = text.find("<?xml", 0, _HEAD)
    if start > 0 and not re.sub(r"<!--.*?-->", "", text[:start], flags=re.DOTALL).strip():
        end = text.find("?>", start, start + 1000) + 2
        if end > start:
            return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def read(path: str | os.PathLike[str]) -> Element:
    """The root element of an XML file."""
    return parse(read_text(path), str(path))


class _Open(NamedTuple):
    """An element whose end tag has not been met."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element]
    words: list[str]


class _Reader:
    """Expat with handlers that refuse what a robot file has no need of."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.open: list[_Open] = []
        self.elements = 0
        self.attributes = 0
        self.root: Element | None = None
        self.parser = expat.ParserCreate("utf-8")  # overrides the declaration: the text is decoded already
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.add_text

    def read(self, text: str) -> Element:
        content = text.encode("utf-8", "surrogatepass")
        try:
            for start in range(0, len(content), _CHUNK):
                self.parser.Parse(content[start : start + _CHUNK], False)
                if start + _CHUNK - self.parser.CurrentByteIndex > MAX_TAG:
                    raise self.refuse(f"one tag or comment is longer than {MAX_TAG // 1024**2} MB.")
            self.parser.Parse(b"", True)
        except expat.ExpatError as problem:
            reason = expat.ErrorString(problem.code)
            raise FileError(
                f"{self.file}:{problem.lineno}: this is not well-formed XML ({reason}); "
                "a robot file is a URDF <robot> or an MJCF <mujoco> document."
            ) from None
        assert self.root is not None, "expat reports a document without a root as an error"
        return self.root

    def refuse(self, sentence: str) -> FileError:
        return FileError(f"{self.file}:{self.parser.CurrentLineNumber}: {sentence}")

    def doctype(self, *_: object) -> None:
        raise self.refuse(
            "the file has a <!DOCTYPE …>, which can hide entities and outside files and is never read; delete it."
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        self.attributes += len(attributes)
        if self.elements > MAX_ELEMENTS:
            raise self.refuse(f"the file has more than {MAX_ELEMENTS} elements, the most that are read.")
        if self.attributes > MAX_ATTRIBUTES:
            raise self.refuse(f"the file has more than {MAX_ATTRIBUTES} attributes, the most that are read.")
        if len(self.open) >= MAX_DEPTH:
            raise self.refuse(f"elements are nested more than {MAX_DEPTH} deep, the deepest that is read.")
        for name, value in attributes.items():
            if len(value) > MAX_ATTRIBUTE:
                raise self.refuse(f"attribute {quote(name)} of <{tag[:60]}> is longer than {MAX_ATTRIBUTE} characters.")
        self.open.append(_Open(tag, attributes, self.parser.CurrentLineNumber, [], []))

    def add_text(self, text: str) -> None:
        if self.open and not text.isspace():
            self.open[-1].words.append(text)  # together never more than the file

    def end(self, _: str) -> None:
        done = self.open.pop()
        text = "".join(done.words).strip()
        element = Element(done.tag, done.attributes, tuple(done.children), self.file, done.line, text)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
