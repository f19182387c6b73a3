"""Which parts of a scene capture what: the base, the target and the hands, by the names that the scene gives them.

[controller]
law = "grapple"
base = "base"
target = "satellite"

[[controller.hands]]
name = "left"
frame = "left/tool"
fingers = ["left_finger1", "left_finger2", "left_finger3"]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phistar.errors import FileError, ModelError

KEYS = ("base", "target", "hands")


@dataclass(frozen=True)
class HandLayout:
    """A hand by its names.

    Parameters
    ----------
    name : str
        What its readings and facts begin with: `NAME_joints`, `NAME_wrist`, `NAME_tips`.
    frame : str
        The frame at the end of the arm that carries it.
    fingers : sequence of str
        The shapes that are to touch the target: capsules and spheres touch with their ends, boxes and cylinders with
        the flat side that looks away from the arm.
    """

    name: str
    frame: str
    fingers: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fingers", tuple(self.fingers))
        if not self.name.isidentifier():
            raise ModelError(f"A hand's name stands in rules, as NAME_push does; {self.name!r:.100} cannot.")
        if not self.fingers or len(set(self.fingers)) < len(self.fingers):
            raise ModelError(f"The hand {self.name!r} needs the names of its fingers, each once: {self.fingers!r:.200}")


@dataclass(frozen=True)
class CaptureLayout:
    """Who captures what.

    Parameters
    ----------
    target : str
        The body that is to be captured; its sightings are the reading of this name, _ in the place of /.
    hands : sequence of HandLayout
        One or more, each at the end of an arm of its own.
    base : str
        The frame that carries the arms and that sightings are seen from; where it floats, the reading of this name
        tells how, _ in the place of /.

    Examples
    --------
    >>> from phistar.capture import CaptureLayout, HandLayout
    >>> hand = HandLayout("left", "left/tool", ("left_finger1", "left_finger2", "left_finger3"))
    >>> CaptureLayout("satellite", (hand,)).base
    'base'
    """

    target: str
    hands: tuple[HandLayout, ...]
    base: str = "base"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hands", tuple(self.hands))
        names = [hand.name for hand in self.hands]
        if not names or len(set(names)) < len(names):
            raise ModelError(f"A capture needs hands, each with a name of its own; they are called {names!r:.200}.")

    @property
    def target_reading(self) -> str:
        """The name of the target's sightings."""
        return self.target.replace("/", "_")

    @property
    def base_reading(self) -> str:
        """The name of the reading of a base that floats."""
        return self.base.replace("/", "_")

    @staticmethod
    def of(given: Mapping[str, Any]) -> CaptureLayout:
        """The layout that a [controller] table tells."""
        hands = given.get("hands")
        if not isinstance(hands, Sequence) or isinstance(hands, str) or not hands:
            raise FileError(
                "[controller] hands: who captures is told by [[controller.hands]], each with name, frame and fingers; "
                f"it is {hands!r:.100}."
            )
        return CaptureLayout(
            _text(given, "target", "[controller]"),
            tuple(_hand(each, f"[[controller.hands]] {number}") for number, each in enumerate(hands, 1)),
            _text(given, "base", "[controller]"),
        )


def _hand(given: Any, where: str) -> HandLayout:
    if not isinstance(given, Mapping) or set(given) != {"name", "frame", "fingers"}:
        raise FileError(f"{where}: a hand has name, frame and fingers; it is {given!r:.200}.")
    fingers = given["fingers"]
    if not isinstance(fingers, list | tuple) or not all(isinstance(each, str) for each in fingers):
        raise FileError(f"{where}, fingers: a list of names of shapes was expected; it is {fingers!r:.200}.")
    return HandLayout(_text(given, "name", where), _text(given, "frame", where), tuple(fingers))


def _text(given: Mapping[str, Any], key: str, where: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value:
        raise FileError(f"{where} {key}: a name was expected; it is {value!r:.100}.")
    return value
